"""Recurrent layers by their name in a configuration."""

from __future__ import annotations

from torch import Generator

from adaptner.nn.rnn.bidirectional import BidirectionalLayer
from adaptner.registry import Registry

LAYERS = Registry(
    "recurrent layer",
    "adaptner.recurrent_layers",
    lambda: {
        "lstm": "adaptner.nn.rnn.bidirectional:BiLSTM",
        "gru": "adaptner.nn.rnn.gru:BiGRU",
        # loaded only for models that name it: `nn` does not import methods
        "cells": "adaptner.methods.multi_cell.compositional_lstm:CompositionalLSTM",
    },
)


def make_recurrent_layer(
    kind: str, inputs: int, hidden: int, generator: Generator
) -> BidirectionalLayer:
    """The layer called ``kind``: ``lstm``, ``gru``, or ``cells-N``, a compositional LSTM of N cells."""
    name, _, number = kind.partition("-")
    sizes = (inputs, hidden, int(number)) if number else (inputs, hidden)
    layer: BidirectionalLayer = LAYERS.get(name)(*sizes, generator)
    return layer
