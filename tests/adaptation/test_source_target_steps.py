"""Encoding a batch of the source and one of the target in one pass."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from source_target_pair import SOURCE, SUPPORT, encode_pair, label_loss, make_base

from adaptner.adaptation.batch_encoding import encode_lists
from adaptner.models.base import Base
from adaptner.types import LabelSet


@pytest.fixture(scope="module")
def base() -> Base:
    return make_base("la-dtl")


def test_label_losses_of_both_sides_equal_those_of_single_sentences(base):
    """Each decoder numbers the tags of the two sides' common labels in its own way."""
    source, target = encode_pair(base)
    for side, sentences in ((source, SOURCE), (target, SUPPORT)):
        expected = label_loss(base, side.decoder, sentences)
        assert float(side.loss().detach()) == pytest.approx(expected, rel=1e-4)


def test_encoded_sentences_are_in_the_order_of_their_list(base):
    lists: list[list[Any]] = [list(SOURCE), list(SUPPORT)]
    labels, encoder = LabelSet(("CellLine", "Gene")), base.model.encoder
    parts = encode_lists(encoder, base.batcher, labels, lists, encoder.device)
    for part, sentences in zip(parts, lists, strict=True):
        for pooled, sentence in zip(part.pooled, sentences, strict=True):
            alone = base.model.encoder(base.batcher([[sentence]]))[0, 0].mean(0)
            torch.testing.assert_close(pooled, alone, rtol=1e-4, atol=1e-5)
