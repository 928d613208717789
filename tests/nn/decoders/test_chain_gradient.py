"""The forward and backward recursion against autograd, finite differences and sentences one by one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from adaptner.nn.decoders.chain_gradient import (
    ChainGradient,
    PackedTags,
    chain_gradient,
    pack_order,
)
from adaptner.nn.decoders.crf import CRF
from adaptner.types import LabelSet

LABEL_SETS = [LabelSet(tuple(x), s) for s in ("bio", "bioes") for x in ("X", "PQR")]
LENGTHS = st.lists(st.integers(1, 7), min_size=1, max_size=6)
NAMES = ("emissions", "moves", "start", "end")


def random_path(labels: LabelSet, length: int, rng: np.random.Generator) -> list[int]:
    """A path that the tag scheme allows."""
    limits = CRF(1, labels, torch.Generator()).constraints
    path: list[int] = []
    while not path or limits.ends[0, path[-1]] < 0:
        path = []
        for _ in range(length):
            allowed = limits.moves[0, path[-1]] if path else limits.starts[0]
            path.append(int(rng.choice(np.flatnonzero(allowed.numpy() == 0))))
    return path


class Case:
    """Random scores of several decoders, and sentences with tags that their scheme allows."""

    def __init__(self, labels: LabelSet, lengths: list[int], decoders: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.labels, self.lengths = labels, np.array(lengths)
        tags = len(labels.tags)
        self.scores = {
            "emissions": rng.normal(scale=3, size=(decoders, sum(lengths), tags)),
            "moves": rng.normal(size=(decoders, tags, tags)),
            "start": rng.normal(size=(decoders, tags)),
            "end": rng.normal(size=(decoders, tags)),
        }
        self.weights = rng.random((decoders, len(lengths)))
        self.weights[0, 0] = 0
        self.paths = [random_path(labels, n, rng) for n in lengths]

    def computed(self, **changed: np.ndarray) -> ChainGradient:
        """By the function under test; emissions are given, and returned, sentence by sentence."""
        scores = self.scores | changed
        limits = CRF(1, self.labels, torch.Generator()).constraints
        order, places, counts = pack_order(self.lengths)
        tags = np.concatenate(self.paths)[places]
        found = chain_gradient(
            scores["emissions"][:, places],
            scores["moves"] + limits.moves.numpy(),
            scores["start"] + limits.starts.numpy(),
            scores["end"] + limits.ends.numpy(),
            PackedTags(tags, counts, self.weights[:, order]),
        )
        emissions = np.empty_like(found.emissions)
        emissions[:, places] = found.emissions
        return ChainGradient(found.value, emissions, found.moves, found.start, found.end)

    def by_autograd(self) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Of the CRF module, one sentence of one decoder at a time."""
        values, gradients = [], {name: np.zeros_like(s) for name, s in self.scores.items()}
        tags = len(self.labels.tags)
        for number, weights in enumerate(self.weights):
            crf = CRF(tags, self.labels, torch.Generator()).double()
            for p, name in ((crf.transition, "moves"), (crf.start, "start"), (crf.end, "end")):
                p.data = torch.from_numpy(self.scores[name][number : number + 1])
            crf.weight.data = torch.eye(tags, dtype=torch.float64)[None]
            crf.bias.data.zero_()
            states = torch.from_numpy(self.scores["emissions"][number]).requires_grad_()
            total = torch.zeros((), dtype=torch.float64)
            parts = states.split(self.lengths.tolist())
            for part, path, weight in zip(parts, self.paths, weights, strict=True):
                mask = torch.ones(1, 1, len(path), dtype=torch.bool)
                loss = crf(part[None, None], torch.tensor([[path]]), mask)
                total = total + weight * loss.sum()
            total.backward()
            values.append(float(total.detach()))
            for name, p in zip(NAMES, (states, crf.transition, crf.start, crf.end), strict=True):
                assert p.grad is not None
                gradients[name][number] = p.grad.numpy().reshape(gradients[name][number].shape)
        return np.array(values), gradients


@settings(max_examples=12)
@given(st.sampled_from(LABEL_SETS), LENGTHS, st.integers(1, 3), st.integers(0, 99))
def test_values_and_gradients_are_those_of_the_crf_by_autograd(labels, lengths, decoders, seed):
    case = Case(labels, lengths, decoders, seed)
    found = case.computed()
    values, gradients = case.by_autograd()
    np.testing.assert_allclose(found.value, values, rtol=1e-5, atol=1e-5)
    for name in NAMES:
        np.testing.assert_allclose(getattr(found, name), gradients[name], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_gradients_are_finite_differences_of_the_values(name):
    case = Case(LABEL_SETS[1], [3, 1], 2, 5)
    gradient = getattr(case.computed(), name)
    step = 1e-5
    for place in itertools.product(*(range(n) for n in gradient.shape)):
        up, down = case.scores[name].copy(), case.scores[name].copy()
        up[place] += step
        down[place] -= step
        values = case.computed(**{name: up}).value - case.computed(**{name: down}).value
        assert values[place[0]] / (2 * step) == pytest.approx(gradient[place], abs=1e-5)


def test_sentences_of_one_token_have_no_moves():
    found = Case(LABEL_SETS[0], [1, 1, 1], 2, 0).computed()
    assert not found.moves.any()
    np.testing.assert_allclose(found.start.sum(1), 0, atol=1e-12)


def test_scores_far_apart_give_the_values_of_the_crf():
    case = Case(LABEL_SETS[1], [6, 2], 2, 3)
    case.scores["emissions"] *= 50  # some hundred nats between the tags of a token
    found = case.computed()
    values, gradients = case.by_autograd()
    np.testing.assert_allclose(found.value, values, rtol=1e-6)
    np.testing.assert_allclose(found.emissions, gradients["emissions"], atol=1e-6)


def test_sentence_without_weight_changes_nothing():
    case = Case(LABEL_SETS[0], [3, 5], 1, 1)
    case.weights[:] = [[0.0, 0.7]]
    found = case.computed()
    case.scores["emissions"][:, :3] = 100
    assert case.computed().value == pytest.approx(found.value)
    assert not found.emissions[:, :3].any()


@settings(max_examples=30)
@given(LENGTHS)
def test_packed_order_holds_each_token_once_position_by_position(lengths):
    order, places, counts = pack_order(np.array(lengths))
    assert sorted(order.tolist()) == list(range(len(lengths)))
    expected = []
    longest_first = sorted(range(len(lengths)), key=lambda i: -lengths[i])
    for position in range(max(lengths)):
        having = [i for i in longest_first if lengths[i] > position]
        assert counts[position] == len(having)
        expected += [sum(lengths[:i]) + position for i in having]
    assert order.tolist() == longest_first
    assert places.tolist() == expected
    tags = np.zeros(len(places), dtype=np.int64)
    packed = PackedTags(tags, counts, np.ones((1, len(lengths))))
    assert packed.lengths.tolist() == [lengths[i] for i in longest_first]
