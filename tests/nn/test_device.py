"""Everything in ``nn`` computes on the device of its model, with the results of the CPU."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch
from bilevel_cases import SUPPORT as TASKS
from pretend_device import MisplacedTensor, PretendTensor, pretend_device
from torch import Generator, Tensor

from adaptner.nn.batching.word_batch import WordBatcher
from adaptner.nn.encoders.active_vocabulary import ActiveVocabulary, restrict_batch, rows_in_use
from adaptner.nn.encoders.config import EncoderConfig, TransformerConfig
from adaptner.nn.encoders.recurrent import RecurrentEncoder
from adaptner.nn.encoders.transformer import window_attention
from adaptner.nn.encoders.transformer.encoder import TransformerEncoder
from adaptner.nn.encoders.transformer.subwords import SubwordBatcher, subword_batcher
from adaptner.nn.encoders.word_cache import WordCache
from adaptner.nn.heads.label_name_head import LabelNameHead, WeakLabels
from adaptner.nn.losses.distillation import distillation_loss
from adaptner.nn.losses.mmd import label_aware_mmd, maximum_mean_discrepancy
from adaptner.nn.losses.perturbation import virtual_adversary, word_layer, worst_offset
from adaptner.nn.model import ModelShape, TaggingModel, tag_scores
from adaptner.types import LabelSet
from adaptner.vectors.four_bit import FourBitTable
from adaptner.vectors.ngrams import NgramVectors
from adaptner.vectors.word_vectors import WordVectors

LABELS = [LabelSet(("G",)), LabelSet(("D", "E"))]
DOMAINS = {"gene": LABELS[0], "drug": LABELS[1]}
CPU = torch.device("cpu")


@pytest.fixture
def device() -> Iterator[torch.device]:
    with pretend_device() as device:
        yield device


def noise() -> Generator:
    return Generator().manual_seed(3)


def vectors() -> WordVectors:
    rng = np.random.default_rng(0)
    words = ("the", "gene", "p53", "aspirin", "mg")
    ngrams = NgramVectors(FourBitTable.of(rng.normal(size=(20, 4)).astype(np.float32)), 2, 3)
    return WordVectors(words, rng.normal(size=(5, 4)).astype(np.float32), ngrams)


def recurrent_model(config: EncoderConfig, shape: ModelShape) -> tuple[TaggingModel, WordBatcher]:
    batcher = WordBatcher(vectors(), "aegimnprst53")
    generator = Generator().manual_seed(0)
    encoder = RecurrentEncoder(config, batcher, generator)
    return TaggingModel(encoder, DOMAINS, generator, shape), batcher


def config(**changes: object) -> EncoderConfig:
    sizes = {"char_embedding": 2, "char_cnn_filters": 2, "char_lstm": 2, "hidden": 2}
    return EncoderConfig.model_validate({**sizes, **changes})


def learning_step(model: TaggingModel, batcher: object, device: torch.device) -> list[Tensor]:
    """Losses and gradients of a step over two tasks, on the CPU."""
    model.to(device)
    batch = batcher(TASKS, LABELS).to(device)  # type: ignore[operator]
    rows = rows_in_use(model.encoder, [batch])
    batch = restrict_batch(batch, rows)
    parameters = model.stack_tasks([0, 1], rows)
    parameters = {n: p.detach().requires_grad_() for n, p in parameters.items()}
    losses = model.losses(parameters, batch, [0, 1], noise=noise())
    gradients = torch.autograd.grad(
        losses.total.sum(), list(parameters.values()), allow_unused=True, materialize_grads=True
    )
    ones = losses.total.new_ones(2)
    weights = {"encoder": ones, "decoder": ones, "head": ones}
    named = dict(zip(parameters, gradients, strict=True))
    model.add_gradients([0, 1], named, weights, rows)
    assert all(p.grad is None or p.grad.device == device for p in model.parameters())
    return [losses.total.cpu(), *(g.cpu() for g in gradients)]


def assert_same(found: list[Tensor], expected: list[Tensor]) -> None:
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6)


ENCODERS = {
    "lstm": config(),
    "gru": config(recurrent="gru"),
    "cells": config(recurrent="cells-3"),
    "tuned words": config(tune_words=True),
    "lexical features": config(lexical_features=True),
    "language model": config(language_model_width=3),
}
SHAPES = {
    "crf": ModelShape(),
    "softmax": ModelShape(decoder="softmax"),
    "mean head": ModelShape(head="mean"),
    "attention head": ModelShape(head="attention", reversal=True),
    "shared decoder": ModelShape(shared=True, head="mean"),
}
CASES = [(ENCODERS[name], ModelShape(head="mean")) for name in ENCODERS] + [
    (config(), shape) for shape in SHAPES.values()
]


@pytest.mark.parametrize(("encoder", "shape"), CASES, ids=[*ENCODERS, *SHAPES])
def test_learning_step_equals_the_cpus(device, encoder, shape):
    expected = learning_step(*recurrent_model(encoder, shape), CPU)
    assert_same(learning_step(*recurrent_model(encoder, shape), device), expected)


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("lora", [0, 2])
def test_transformer_step_equals_the_cpus(tiny_transformer, monkeypatch, packed, lora):
    if not packed:
        monkeypatch.setattr(window_attention, "FAMILIES", ())
    if lora:
        pytest.importorskip("peft")
    settings = TransformerConfig(
        name=str(tiny_transformer), max_length=16, lora=lora, network_dropout=False
    )

    def model() -> tuple[TaggingModel, SubwordBatcher]:
        batcher = subword_batcher(settings)
        generator = Generator().manual_seed(0)
        encoder = TransformerEncoder(settings, batcher, generator)
        return TaggingModel(encoder, DOMAINS, generator), batcher

    expected = learning_step(*model(), CPU)
    other = model()  # transformers itself loads weights by way of PyTorch's meta device
    with pretend_device() as device:
        assert_same(learning_step(*other, device), expected)


@pytest.mark.parametrize("decoder", ["crf", "softmax", "prototypes"])
def test_tags_and_confidences_equal_the_cpus(device, decoder):
    def tagged(place: torch.device) -> list[Tensor]:
        shape = ModelShape.model_validate({"decoder": decoder})
        model, batcher = recurrent_model(config(lexical_features=True), shape)
        model.to(place)
        decoder_ = model.decoder_of(0)
        if decoder == "prototypes":
            means = torch.arange(3.0 * model.encoder.width).view(1, 3, -1).to(place) / 50
            decoder_.set_means(means, torch.ones(1, 3, dtype=torch.bool).to(place))
        batch = batcher(TASKS[:1]).to(place)
        cache = WordCache()
        scores = [tag_scores(model.encoder, decoder_, batch, cache) for _ in range(2)]
        tags = decoder_.decode_scores(scores[1], batch.mask)
        states = model.encoder(batch)
        found = [*scores, tags, decoder_.path_confidence(scores[0], batch.mask, tags)]
        found += [decoder_.decode(states, batch.mask), decoder_.marginals(states, batch.mask)]
        if decoder == "crf":
            found.append(decoder_.log_marginals(states, batch.mask))
        assert all(x.device == place for x in found)
        return [x.detach().cpu() for x in found]

    assert_same(tagged(device), tagged(CPU))


def test_losses_over_states_equal_the_cpus(device):
    generator = Generator().manual_seed(1)
    first, second = (torch.randn(n, 4, generator=generator) for n in (300, 7))
    tags = torch.arange(300) % 3, torch.arange(7) % 3

    def losses(place: torch.device) -> list[Tensor]:
        a, b = (x.to(place).requires_grad_() for x in (first, second))
        one, other = (x.to(place) for x in tags)
        mask = torch.ones(7, dtype=torch.bool).to(place)
        probabilities = b.detach().softmax(-1)
        values = [
            maximum_mean_discrepancy(a, b),
            label_aware_mmd(a, one, b, other),
            distillation_loss(probabilities, b.log_softmax(-1), mask),
        ]
        gradients = torch.autograd.grad(sum(values), [a, b])
        return [x.detach().cpu() for x in (*values, *gradients)]

    assert_same(losses(device), losses(CPU))


def test_label_name_head_equals_the_cpus(device):
    states = torch.randn(6, 4, generator=Generator().manual_seed(1))

    def loss(place: torch.device) -> list[Tensor]:
        head = LabelNameHead(4, 3, Generator().manual_seed(0)).to(place)
        labels = WeakLabels(
            *(
                torch.tensor(x, device=place)
                for x in ([0, 1, 2, 0, 0, 1], [1, 5], [0, 2], [1.0, 0.5])
            )
        )
        return [head(states.to(place), labels, noise()).detach().cpu()]

    assert_same(loss(device), loss(CPU))


def test_adversarial_offsets_equal_the_cpus(device):
    def values(place: torch.device) -> list[Tensor]:
        model, batcher = recurrent_model(config(), ModelShape())
        model.to(place)
        batch = batcher(TASKS[:1], LABELS[:1]).to(place)
        decoder, layer = model.decoder_of(0), word_layer(model.encoder)

        def log_marginals() -> Tensor:
            return decoder.log_marginals(model.encoder(batch), batch.mask)

        def loss() -> Tensor:
            return decoder(model.encoder(batch), batch.tags, batch.mask).mean()

        virtual = virtual_adversary(layer, log_marginals, batch.mask, 0.1, noise())
        return [x.detach().cpu() for x in (virtual, *worst_offset(layer, loss, 0.1))]

    assert_same(values(device), values(CPU))


def test_active_vocabulary_restores_its_rows_on_the_device(device):
    model, batcher = recurrent_model(config(tune_words=True), ModelShape())
    expected = model.encoder.words.table.detach().clone()
    model.to(device)
    vocabulary = ActiveVocabulary(model.encoder, batcher, TASKS[0])
    assert model.encoder.words.table.shape[1] < expected.shape[1]
    vocabulary.restore()
    assert isinstance(model.encoder.words.table, PretendTensor)
    assert torch.equal(model.encoder.words.table.cpu(), expected)


def test_batch_on_another_device_raises(device):
    model, batcher = recurrent_model(config(), ModelShape())
    model.to(device)
    with pytest.raises(MisplacedTensor):
        model.encoder(batcher(TASKS[:1]))
