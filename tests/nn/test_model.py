"""Stacked parameters, the losses of eq. 1, and gradients added to the model."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from builders import sentence

from adaptner.nn.batching.word_batch import WordBatch, WordBatcher
from adaptner.nn.encoders.config import EncoderConfig
from adaptner.nn.encoders.recurrent import RecurrentEncoder
from adaptner.nn.model import ModelShape, TaggingModel, group_of
from adaptner.types import LabelSet, Sentence
from adaptner.vectors.word_vectors import WordVectors

VECTORS = WordVectors(("a", "b"), np.array([[1, -1], [0.5, 2]], dtype=np.float32))
DOMAINS = {"gene": LabelSet(("G",)), "drug": LabelSet(("D", "E")), "other": LabelSet(("O1",))}
GENE = [sentence("a b c", "O B-G I-G"), sentence("b", "O")]
DRUG = [sentence("c a", "B-E I-E"), sentence("b b a d", "B-D O B-E O")]


def build(head: str = "mean") -> tuple[TaggingModel, WordBatcher]:
    batcher = WordBatcher(VECTORS, "abc")
    g = torch.Generator().manual_seed(0)
    config = EncoderConfig(char_embedding=2, char_cnn_filters=2, char_lstm=2, hidden=2)
    encoder = RecurrentEncoder(config, batcher, g)
    return TaggingModel(encoder, DOMAINS, g, ModelShape(head=head)).double(), batcher


def batch_of(batcher: WordBatcher, tasks: list[list[Sentence]], domains: list[int]) -> WordBatch:
    labels = list(DOMAINS.values())
    return batcher(tasks, [labels[d] for d in domains])


def test_every_parameter_belongs_to_a_group():
    model, _ = build()
    assert {group_of(n) for n in model.stack_tasks([0])} == {"encoder", "decoder", "head"}
    assert {group_of(n) for n in build(head="none")[0].stack_tasks([0])} == {"encoder", "decoder"}


def test_stacking_repeats_the_encoder_and_pads_decoders():
    model, _ = build()
    stacked = model.stack_tasks([0, 1, 0])
    own = dict(model.named_parameters())
    for name, value in stacked.items():
        assert len(value) == 3
        assert not value.requires_grad
        if group_of(name) != "decoder":
            assert all(torch.equal(value[i], own[name][0]) for i in range(3))
    transition = stacked["decoder.transition"]
    assert transition.shape == (3, 5, 5)
    assert torch.equal(transition[0, :3, :3], own["decoder.0.transition"][0])
    assert torch.equal(transition[1], own["decoder.1.transition"][0])
    assert torch.equal(transition[0], transition[2])
    # a single small decoder is not padded
    assert model.stack_tasks([0])["decoder.transition"].shape == (1, 3, 3)


@pytest.mark.parametrize("per_token", [False, True])
def test_losses_at_once_equal_separate_losses(per_token):
    model, batcher = build()
    tasks, domains = [GENE, DRUG, GENE], [0, 1, 0]
    together = model.losses(
        model.stack_tasks(domains),
        batch_of(batcher, tasks, domains),
        domains,
        aux_weight=0.3,
        per_token=per_token,
    )
    assert together.aux is not None
    torch.testing.assert_close(together.total, together.label + 0.3 * together.aux)
    for i, (task, domain) in enumerate(zip(tasks, domains, strict=True)):
        # through the module: encoder, then decoder and head, one sentence at a time
        label, aux = 0.0, 0.0
        for s in task:
            one = batch_of(batcher, [[s]], [domain])
            states = model.encoder(one)
            label += model.decoder[domain](states, one.tags, one.mask).sum()
            aux += model.head(states, one.mask, torch.tensor([domain])).sum()
        count = sum(map(len, task)) if per_token else len(task)
        torch.testing.assert_close(together.label[i], label / count)
        torch.testing.assert_close(together.aux[i], aux / len(task))


def test_total_without_a_head_is_the_label_loss():
    model, batcher = build(head="none")
    losses = model.losses(model.stack_tasks([0]), batch_of(batcher, [GENE], [0]), [0])
    assert losses.aux is None
    assert torch.equal(losses.total, losses.label)


def test_losses_do_not_change_the_module():
    model, batcher = build()
    before = {n: p.clone() for n, p in model.named_parameters()}
    parameters = {n: (p + 1).requires_grad_() for n, p in model.stack_tasks([0]).items()}
    model.losses(parameters, batch_of(batcher, [GENE], [0]), [0]).total.sum().backward()
    for name, p in model.named_parameters():
        assert p.grad is None
        assert torch.equal(p, before[name])


def test_gradients_are_weighted_and_absent_domains_have_none():
    model, _ = build()
    domains = [1, 0, 1]
    gradients = {
        n: torch.arange(1.0, p.numel() + 1, dtype=torch.float64).view(p.shape)
        for n, p in model.stack_tasks(domains).items()
    }
    weights = {
        "encoder": torch.tensor([0.5, 0.3, 0.2], dtype=torch.float64),
        "decoder": torch.tensor([0.1, 0.7, 0.2], dtype=torch.float64),
        "head": torch.tensor([0.6, 0.1, 0.3], dtype=torch.float64),
    }
    model.add_gradients(domains, gradients, weights)  # type: ignore[arg-type]
    for name, p in model.named_parameters():
        group = group_of(name)
        if name.startswith("decoder.2."):
            assert p.grad is None, name
            continue
        assert p.grad is not None, name
        assert p.grad.shape == p.shape
        if group != "decoder":
            expected = sum(weights[group][i] * gradients[name][i] for i in range(3))
        else:
            _, number, rest = name.split(".")
            stacked = gradients[f"decoder.{rest}"]
            expected = sum(
                weights[group][i] * stacked[i] for i in range(3) if domains[i] == int(number)
            )
            expected = expected[tuple(slice(0, n) for n in p.shape[1:])]
        torch.testing.assert_close(p.grad[0], expected)


def test_gradients_are_accumulated():
    model, _ = build()
    ones = {n: torch.ones_like(p) for n, p in model.stack_tasks([0]).items()}
    weights = {g: torch.ones(1, dtype=torch.float64) for g in ("encoder", "decoder", "head")}
    for _ in range(2):
        model.add_gradients([0], ones, weights)  # type: ignore[arg-type]
    for name, p in model.named_parameters():
        if name.startswith(("decoder.1", "decoder.2")):
            assert p.grad is None
        else:
            assert p.grad is not None
            assert torch.equal(p.grad, torch.full_like(p, 2)), name


def test_stacked_gradients_equal_module_gradients():
    """Stacking, differentiating and adding with weight 1 equals backward on the module."""
    model, batcher = build()
    domains, tasks = [1, 0, 1], [DRUG, GENE, DRUG[::-1]]
    start = {n: p.clone().requires_grad_() for n, p in model.stack_tasks(domains).items()}
    losses = model.losses(start, batch_of(batcher, tasks, domains), domains, aux_weight=0.5)
    found = torch.autograd.grad(losses.total.sum(), [*start.values()])
    weights = {g: torch.ones(3, dtype=torch.float64) for g in ("encoder", "decoder", "head")}
    model.add_gradients(domains, dict(zip(start, found, strict=True)), weights)  # type: ignore[arg-type]
    gathered = {n: p.grad for n, p in model.named_parameters()}
    model.zero_grad(set_to_none=True)
    for task, domain in zip(tasks, domains, strict=True):
        one = batch_of(batcher, [task], [domain])
        states = model.encoder(one)
        label = model.decoder[domain](states, one.tags, one.mask).mean()
        aux = model.head(states, one.mask, torch.tensor([domain])).sum()
        (label + 0.5 * aux).backward()
    for name, p in model.named_parameters():
        if p.grad is None:
            assert gathered[name] is None
        else:
            torch.testing.assert_close(gathered[name], p.grad, msg=name)
