"""The CRF against enumeration of every tag path that BIO allows."""

from __future__ import annotations

import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.func import functional_call

from adaptner.nn import crf as crf_module
from adaptner.nn.crf import CRF, Limits, log_partition, viterbi
from adaptner.types import LabelSet

ONE, TWO, FIVE = LabelSet(("X",)), LabelSet(("A", "B")), LabelSet(tuple("PQRST"))  # 3, 5, 11 tags
WIDTH = 4


def well_formed(path: tuple[str, ...]) -> bool:
    before = "O"
    for tag in path:
        if tag[0] == "I" and (before == "O" or before[2:] != tag[2:]):
            return False
        before = tag
    return True


def paths_of(labels: LabelSet, length: int) -> list[tuple[int, ...]]:
    tags = labels.tags
    return [
        path
        for path in itertools.product(range(len(tags)), repeat=length)
        if well_formed(tuple(tags[i] for i in path))
    ]


class Enumerated:
    """One sentence of one task: every allowed path and its score, from the raw parameters."""

    def __init__(self, states: Tensor, p: dict[str, Tensor], labels: LabelSet) -> None:
        count = len(labels.tags)
        emissions = states @ p["weight"][:count].T + p["bias"][:count]
        self.paths = paths_of(labels, len(states))
        scores = []
        for path in self.paths:
            score = p["start"][path[0]] + p["end"][path[-1]]
            for t, tag in enumerate(path):
                score = score + emissions[t, tag]
            for a, b in itertools.pairwise(path):
                score = score + p["transition"][a, b]
            scores.append(score)
        self.scores = torch.stack(scores)
        self.log_partition = torch.logsumexp(self.scores, 0)

    def loss(self, tags: tuple[int, ...]) -> Tensor:
        return self.log_partition - self.scores[self.paths.index(tags)]

    def best(self) -> tuple[int, ...]:
        return self.paths[int(self.scores.argmax())]

    def marginals(self, count: int) -> Tensor:
        chance = (self.scores - self.log_partition).exp()
        found = torch.zeros(len(self.paths[0]), count, dtype=chance.dtype)
        for path, p in zip(self.paths, chance, strict=True):
            for t, tag in enumerate(path):
                found[t, tag] += p
        return found


def made(label_sets: list[LabelSet], lengths: list[list[int]], seed: int, scale: float = 1.0):
    """Stacked parameters (surplus tags of smaller tasks hold noise, which must not matter), states,
    gold tags (random allowed paths) and the mask."""
    g = torch.Generator().manual_seed(seed)
    tasks, most = len(label_sets), max(len(x.tags) for x in label_sets)

    def noise(*shape: int) -> Tensor:
        return scale * torch.randn(shape, generator=g, dtype=torch.float64)

    parameters = {
        "weight": noise(tasks, most, WIDTH),
        "bias": noise(tasks, most),
        "transition": noise(tasks, most, most),
        "start": noise(tasks, most),
        "end": noise(tasks, most),
    }
    batch, width = len(lengths[0]), max(map(max, lengths))
    states = noise(tasks, batch, width, WIDTH)
    tags = torch.zeros(tasks, batch, width, dtype=torch.long)
    for i, j in itertools.product(range(tasks), range(batch)):
        allowed = paths_of(label_sets[i], lengths[i][j])
        chosen = allowed[int(torch.randint(len(allowed), (), generator=g))]
        tags[i, j, : len(chosen)] = torch.tensor(chosen)
    mask = torch.arange(width) < torch.tensor(lengths)[..., None]
    return parameters, states, tags, mask


def decoder(labels: LabelSet) -> CRF:
    return CRF(WIDTH, labels, torch.Generator().manual_seed(0)).double()


def scores_of(parameters: dict[str, Tensor], states: Tensor, limits: Limits):
    return functional_call(Scores(), parameters, (states, limits))


class Scores(CRF):
    def __init__(self) -> None:
        super().__init__(WIDTH, ONE, torch.Generator())

    def forward(self, states: Tensor, limits: Limits):  # type: ignore[override]
        return self._scores(states, limits)


CASES = {
    "one task": ([ONE], [[4, 2, 1]]),
    "padded tree path": ([ONE, TWO, ONE], [[4, 1], [3, 3], [1, 1]]),
    "padded step path": ([FIVE, ONE, TWO], [[3, 1], [4, 2], [2, 2]]),
    "all of length one": ([TWO, ONE], [[1, 1], [1, 1]]),
}


@pytest.mark.parametrize("case", CASES)
def test_loss_partition_and_best_path_equal_enumeration(case: str) -> None:
    label_sets, lengths = CASES[case]
    parameters, states, tags, mask = made(label_sets, lengths, seed=3)
    limits = Limits(label_sets)
    losses = functional_call(decoder(label_sets[0]), parameters, (states, tags, mask, limits))
    scores = scores_of(parameters, states, limits)
    partitions, best = log_partition(*scores, mask), viterbi(*scores, mask)
    for i, labels in enumerate(label_sets):
        own = {n: p[i] for n, p in parameters.items()}
        for j, length in enumerate(lengths[i]):
            truth = Enumerated(states[i, j, :length], own, labels)
            gold = tuple(tags[i, j, :length].tolist())
            assert losses[i, j].item() == pytest.approx(truth.loss(gold).item(), abs=1e-9)
            assert partitions[i, j].item() == pytest.approx(truth.log_partition.item(), abs=1e-9)
            assert tuple(best[i, j, :length].tolist()) == truth.best()


@pytest.mark.parametrize("case", CASES)
def test_tree_and_step_paths_agree_with_their_gradients(
    case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    label_sets, lengths = CASES[case]
    parameters, states, tags, mask = made(label_sets, lengths, seed=4)
    results = []
    for up_to in (0, 99):
        monkeypatch.setattr(crf_module, "_TREE_UP_TO", up_to)
        leaves = {n: p.clone().requires_grad_() for n, p in parameters.items()}
        losses = functional_call(
            decoder(label_sets[0]), leaves, (states, tags, mask, Limits(label_sets))
        )
        results.append((losses.detach(), torch.autograd.grad(losses.sum(), [*leaves.values()])))
    torch.testing.assert_close(results[0], results[1], atol=1e-10, rtol=0)


def test_surplus_tags_of_a_padded_task_get_no_gradient() -> None:
    parameters, states, tags, mask = made([ONE, FIVE], [[3, 2], [3, 1]], seed=5)
    leaves = {n: p.requires_grad_() for n, p in parameters.items()}
    losses = functional_call(decoder(ONE), leaves, (states, tags, mask, Limits([ONE, FIVE])))
    for name, gradient in zip(
        leaves, torch.autograd.grad(losses.sum(), [*leaves.values()]), strict=True
    ):
        assert gradient[0, 3:].abs().max() == 0, name
        assert gradient[0, :3].abs().max() > 0, name
        assert gradient[1, 3:].abs().max() > 0, name


@pytest.mark.parametrize("labels", [ONE, TWO, FIVE], ids=lambda x: f"{len(x.tags)} tags")
def test_marginals_equal_enumeration_and_sum_to_one(labels: LabelSet) -> None:
    lengths = [[3, 2, 1]]
    parameters, states, _, mask = made([labels], lengths, seed=6)
    crf = decoder(labels)
    crf.load_state_dict(parameters)
    found = crf.marginals(states, mask)
    assert not found.requires_grad
    torch.testing.assert_close(found.sum(-1), mask.double())
    own = {n: p[0] for n, p in parameters.items()}
    for j, length in enumerate(lengths[0]):
        truth = Enumerated(states[0, j, :length], own, labels).marginals(len(labels.tags))
        torch.testing.assert_close(found[0, j, :length], truth, atol=1e-9, rtol=0)
    with torch.no_grad():  # predicting runs without gradients, marginals must still come
        torch.testing.assert_close(crf.marginals(states, mask), found)


@pytest.mark.parametrize("labels", [ONE, FIVE], ids=["tree", "steps"])
def test_gradient_by_the_bias_is_expected_minus_seen(labels: LabelSet) -> None:
    parameters, states, tags, mask = made([labels], [[4, 2]], seed=7)
    crf = decoder(labels)
    crf.load_state_dict(parameters)
    (gradient,) = torch.autograd.grad(crf(states, tags, mask).sum(), [crf.bias])
    seen = torch.nn.functional.one_hot(tags, len(labels.tags)) * mask[..., None]
    expected = crf.marginals(states, mask)
    torch.testing.assert_close(gradient, (expected - seen).sum((1, 2)))


@settings(max_examples=30, deadline=None)
@given(
    labels=st.sampled_from([ONE, TWO, FIVE]),
    lengths=st.lists(st.integers(1, 7), min_size=1, max_size=4),
    seed=st.integers(0, 10_000),
)
def test_no_forbidden_move_is_ever_decoded(labels: LabelSet, lengths: list[int], seed: int) -> None:
    """However loudly the emissions ask for one."""
    g = torch.Generator().manual_seed(seed)
    crf = CRF(WIDTH, labels, g)
    states = 200 * torch.randn(1, len(lengths), max(lengths), WIDTH, generator=g)
    mask = (torch.arange(max(lengths)) < torch.tensor(lengths)[:, None])[None]
    for row, length in zip(crf.decode(states, mask)[0].tolist(), lengths, strict=True):
        assert well_formed(tuple(labels.tags[i] for i in row[:length]))


def test_the_oracle_would_notice_forbidden_moves() -> None:
    """Without limits the best path of such states is ill-formed: the test above can fail."""
    g = torch.Generator().manual_seed(1)
    crf = CRF(WIDTH, TWO, g)
    states, mask = 200 * torch.randn(1, 8, 7, WIDTH, generator=g), torch.ones(1, 8, 7).bool()
    free = Limits([TWO])
    free.moves, free.starts = torch.zeros_like(free.moves), torch.zeros_like(free.starts)
    rows = viterbi(*crf._scores(states, free), mask)[0].tolist()
    assert not all(well_formed(tuple(TWO.tags[i] for i in row)) for row in rows)


@pytest.mark.parametrize("labels", [ONE, FIVE], ids=["tree", "steps"])
def test_extreme_scores_stay_finite_in_float32(labels: LabelSet) -> None:
    g = torch.Generator().manual_seed(2)
    crf = CRF(WIDTH, labels, g)
    states = 500 * torch.randn(1, 3, 60, WIDTH, generator=g)
    mask = torch.arange(60) < torch.tensor([[60, 31, 1]])[..., None]
    loss = crf(states, torch.zeros(1, 3, 60, dtype=torch.long), mask)
    assert loss.isfinite().all()
    assert (loss >= -1e-2).all()
    gradients = torch.autograd.grad(loss.sum(), [*crf.parameters()])
    assert all(x.isfinite().all() for x in gradients)
    marginals = crf.marginals(states, mask)
    torch.testing.assert_close(marginals.sum(-1), mask.float(), atol=1e-3, rtol=0)


def test_what_stands_in_the_padding_does_not_matter() -> None:
    parameters, states, tags, mask = made([ONE, FIVE], [[4, 2], [3, 1]], seed=8)
    limits = Limits([ONE, FIVE])
    crf = decoder(ONE)
    before = functional_call(crf, parameters, (states, tags, mask, limits))
    states = torch.where(mask[..., None], states, 77.0)
    tags = torch.where(mask, tags, 2)
    torch.testing.assert_close(
        functional_call(crf, parameters, (states, tags, mask, limits)), before
    )


def test_partition_can_be_differentiated_twice() -> None:
    parameters, states, _, mask = made([ONE, TWO], [[3, 1], [2, 2]], seed=9)
    inputs = [x.requires_grad_() for x in scores_of(parameters, states, Limits([ONE, TWO]))]

    def function(*scores: Tensor) -> Tensor:
        return log_partition(*scores, mask)

    assert torch.autograd.gradgradcheck(function, inputs)


def test_a_fresh_decoder_keeps_the_width_and_takes_the_labels() -> None:
    fresh = decoder(ONE).fresh(FIVE, torch.Generator().manual_seed(1))
    assert fresh.weight.shape == (1, 11, WIDTH)
    assert fresh.labels == FIVE
    again = decoder(ONE).fresh(FIVE, torch.Generator().manual_seed(1))
    assert torch.equal(fresh.weight, again.weight)
