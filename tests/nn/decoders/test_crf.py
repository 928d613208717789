"""The CRF against enumeration of all tag paths that its scheme allows."""

from __future__ import annotations

import itertools
from functools import lru_cache

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.func import functional_call

from adaptner.nn.decoders import crf as crf_module
from adaptner.nn.decoders.crf import CRF, FORBIDDEN, TagConstraints, log_partition, viterbi
from adaptner.text.schemes import Scheme, repair_tags
from adaptner.types import LabelSet

ONE, TWO, FIVE = LabelSet(("X",)), LabelSet(("A", "B")), LabelSet(tuple("PQRST"))  # 3, 5, 11 tags
NONE_S, ONE_S, TWO_S, THREE_S = (  # of BIOES: 1, 5, 9, 13 tags
    LabelSet(tuple(labels), "bioes") for labels in ("", "X", "AB", "PQR")
)
WIDTH = 4


def named(labels: LabelSet) -> str:
    return f"{labels.scheme}, {len(labels.tags)} tags"


def well_formed(path: tuple[str, ...], labels: LabelSet) -> bool:
    return not repair_tags(path, Scheme(labels.scheme.upper()))[1]


@lru_cache
def paths_of(labels: LabelSet, length: int) -> list[tuple[int, ...]]:
    tags = labels.tags
    return [
        path
        for path in itertools.product(range(len(tags)), repeat=length)
        if well_formed(tuple(tags[i] for i in path), labels)
    ]


class Enumerated:
    """All allowed paths of one sentence with their scores, from the raw parameters."""

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

    def decode_scores(self) -> tuple[int, ...]:
        return self.paths[int(self.scores.argmax())]

    def marginals(self, count: int) -> Tensor:
        chance = (self.scores - self.log_partition).exp()
        found = torch.zeros(len(self.paths[0]), count, dtype=chance.dtype)
        for path, p in zip(self.paths, chance, strict=True):
            for t, tag in enumerate(path):
                found[t, tag] += p
        return found


def build(label_sets: list[LabelSet], lengths: list[list[int]], seed: int):
    """Stacked parameters (surplus tags of smaller tasks hold noise, which must not matter), states,
    gold tags (random allowed paths) and the mask."""
    g = torch.Generator().manual_seed(seed)
    tasks, most = len(label_sets), max(len(x.tags) for x in label_sets)

    def noise(*shape: int) -> Tensor:
        return torch.randn(shape, generator=g, dtype=torch.float64)

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


def scores_of(parameters: dict[str, Tensor], states: Tensor, limits: TagConstraints):
    return functional_call(Scores(), parameters, (states, limits))


class Scores(CRF):
    def __init__(self) -> None:
        super().__init__(WIDTH, ONE, torch.Generator())

    def forward(self, states: Tensor, limits: TagConstraints):  # type: ignore[override]
        return self._scores(states, limits)


CASES = {
    "one task": ([ONE], [[4, 2, 1]]),
    "padded tree path": ([ONE, TWO, ONE], [[4, 1], [3, 3], [1, 1]]),
    "padded step path": ([FIVE, ONE, TWO], [[3, 1], [4, 2], [2, 2]]),
    "all of length one": ([TWO, ONE], [[1, 1], [1, 1]]),
    "bioes, one task": ([ONE_S], [[5, 2, 1]]),
    "bioes, padded tree path": ([ONE_S, TWO_S, NONE_S], [[4, 1], [3, 2], [3, 1]]),
    "bioes, padded step path": ([THREE_S, ONE_S, TWO_S], [[3, 1], [4, 2], [2, 2]]),
    "bioes, all of length one": ([TWO_S, ONE_S], [[1, 1], [1, 1]]),
}


@pytest.mark.parametrize("case", CASES)
def test_loss_partition_and_best_path_equal_enumeration(case):
    label_sets, lengths = CASES[case]
    parameters, states, tags, mask = build(label_sets, lengths, seed=3)
    limits = TagConstraints(label_sets)
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
            assert tuple(best[i, j, :length].tolist()) == truth.decode_scores()


@pytest.mark.parametrize("case", CASES)
def test_tree_and_step_paths_agree_with_their_gradients(case, monkeypatch):
    label_sets, lengths = CASES[case]
    parameters, states, tags, mask = build(label_sets, lengths, seed=4)
    results = []
    for up_to in (0, 99):
        monkeypatch.setattr(crf_module, "_TREE_UP_TO", up_to)
        leaves = {n: p.clone().requires_grad_() for n, p in parameters.items()}
        losses = functional_call(
            decoder(label_sets[0]), leaves, (states, tags, mask, TagConstraints(label_sets))
        )
        results.append((losses.detach(), torch.autograd.grad(losses.sum(), [*leaves.values()])))
    torch.testing.assert_close(results[0], results[1], atol=1e-10, rtol=0)


@pytest.mark.parametrize(("few", "many"), [(ONE, FIVE), (ONE_S, THREE_S)], ids=["bio", "bioes"])
def test_surplus_tags_of_a_padded_task_get_no_gradient(few, many):
    parameters, states, tags, mask = build([few, many], [[3, 2], [3, 1]], seed=5)
    leaves = {n: p.requires_grad_() for n, p in parameters.items()}
    losses = functional_call(
        decoder(few), leaves, (states, tags, mask, TagConstraints([few, many]))
    )
    count = len(few.tags)
    for name, gradient in zip(
        leaves, torch.autograd.grad(losses.sum(), [*leaves.values()]), strict=True
    ):
        assert gradient[0, count:].abs().max() == 0, name
        assert gradient[0, :count].abs().max() > 0, name
        assert gradient[1, count:].abs().max() > 0, name


@pytest.mark.parametrize("labels", [ONE, TWO, FIVE, ONE_S, TWO_S, THREE_S], ids=named)
def test_marginals_equal_enumeration_and_sum_to_one(labels):
    lengths = [[3, 2, 1]]
    parameters, states, _, mask = build([labels], lengths, seed=6)
    crf = decoder(labels)
    crf.load_state_dict(parameters)
    found = crf.marginals(states, mask)
    assert not found.requires_grad
    torch.testing.assert_close(found.sum(-1), mask.double())
    own = {n: p[0] for n, p in parameters.items()}
    for j, length in enumerate(lengths[0]):
        truth = Enumerated(states[0, j, :length], own, labels).marginals(len(labels.tags))
        torch.testing.assert_close(found[0, j, :length], truth, atol=1e-9, rtol=0)
    with torch.no_grad():  # prediction runs without gradients
        torch.testing.assert_close(crf.marginals(states, mask), found)


@pytest.mark.parametrize("labels", [ONE, FIVE, ONE_S, THREE_S], ids=named)
def test_bias_gradient_is_expected_minus_observed_counts(labels):
    parameters, states, tags, mask = build([labels], [[4, 2]], seed=7)
    crf = decoder(labels)
    crf.load_state_dict(parameters)
    (gradient,) = torch.autograd.grad(crf(states, tags, mask).sum(), [crf.bias])
    seen = torch.nn.functional.one_hot(tags, len(labels.tags)) * mask[..., None]
    expected = crf.marginals(states, mask)
    torch.testing.assert_close(gradient, (expected - seen).sum((1, 2)))


@settings(max_examples=60)
@given(
    labels=st.sampled_from([ONE, TWO, FIVE, ONE_S, TWO_S, THREE_S]),
    lengths=st.lists(st.integers(1, 7), min_size=1, max_size=4),
    seed=st.integers(0, 10_000),
)
def test_forbidden_moves_are_never_decoded(labels, lengths, seed):
    """Even if the emissions favour a forbidden move."""
    g = torch.Generator().manual_seed(seed)
    crf = CRF(WIDTH, labels, g)
    states = 200 * torch.randn(1, len(lengths), max(lengths), WIDTH, generator=g)
    mask = (torch.arange(max(lengths)) < torch.tensor(lengths)[:, None])[None]
    for row, length in zip(crf.decode(states, mask)[0].tolist(), lengths, strict=True):
        assert well_formed(tuple(labels.tags[i] for i in row[:length]), labels)


@pytest.mark.parametrize("lifted", ["moves", "starts", "ends"])
@pytest.mark.parametrize("labels", [TWO, TWO_S], ids=named)
def test_enumeration_without_constraints_differs(labels, lifted):
    """Without one of the constraints the best path is ill-formed, so the test above can fail."""
    g = torch.Generator().manual_seed(1)
    crf = CRF(WIDTH, labels, g)
    states, mask = 200 * torch.randn(1, 40, 7, WIDTH, generator=g), torch.ones(1, 40, 7).bool()
    free = TagConstraints([labels])
    setattr(free, lifted, torch.zeros_like(getattr(free, lifted)))
    rows = viterbi(*crf._scores(states, free), mask)[0].tolist()
    kept = all(well_formed(tuple(labels.tags[i] for i in row), labels) for row in rows)
    assert kept == (labels.scheme == "bio" and lifted == "ends")  # BIO has no constraint on ends


@pytest.mark.parametrize("labels", [TWO, TWO_S, FIVE, THREE_S], ids=named)
def test_constraints_allow_exactly_the_well_formed_paths(labels):
    """Every path of up to three tags has a penalty if and only if it is ill-formed."""
    limits = TagConstraints([labels])
    moves, starts, ends = (x[0] != 0 for x in (limits.moves, limits.starts, limits.ends))
    for length in (1, 2, 3):
        allowed = set(paths_of(labels, length))
        for path in itertools.product(range(len(labels.tags)), repeat=length):
            met = starts[path[0]] or ends[path[-1]]
            met = met or any(moves[a, b] for a, b in itertools.pairwise(path))
            assert bool(met) == (path not in allowed), path
    if labels.scheme == "bio":
        assert not ends.any()


@pytest.mark.parametrize("length", [1, 2, 7, 40])
@pytest.mark.parametrize("labels", ["", "X", "AB", "PQRST"])
def test_both_schemes_allow_the_same_number_of_paths(labels, length):
    """Both schemes describe the same mentions, so a CRF with zero scores has the same partition."""
    mask = torch.ones(1, 1, length).bool()
    sums = []
    for scheme in ("bio", "bioes"):
        limits = TagConstraints([LabelSet(tuple(labels), scheme)])  # type: ignore[arg-type]
        scores = [x.double() for x in (limits.moves, limits.starts, limits.ends)]
        emissions = torch.zeros(1, 1, length, limits.starts.shape[1], dtype=torch.float64)
        sums.append(log_partition(emissions, *scores, mask))
    torch.testing.assert_close(sums[0], sums[1], atol=1e-9, rtol=1e-12)


def test_cached_constraints_are_not_changed():
    """Changing one set of constraints does not change the next one."""
    labels = LabelSet(("seen", "nowhere", "else"), "bioes")
    with torch.inference_mode():
        TagConstraints([labels]).moves.fill_(7)
    limits = TagConstraints([labels])
    assert set(limits.moves.unique().tolist()) == {FORBIDDEN, 0}
    assert not any(x.is_inference() for x in (limits.moves, limits.starts, limits.ends))


@pytest.mark.parametrize("labels", [ONE, FIVE, ONE_S, THREE_S], ids=named)
def test_extreme_scores_stay_finite_in_float32(labels):
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


@pytest.mark.parametrize("sets", [[ONE, FIVE], [ONE_S, THREE_S]], ids=["bio", "bioes"])
def test_padding_has_no_influence(sets):
    parameters, states, tags, mask = build(sets, [[4, 2], [3, 1]], seed=8)
    limits = TagConstraints(sets)
    crf = decoder(sets[0])
    before = functional_call(crf, parameters, (states, tags, mask, limits))
    states = torch.where(mask[..., None], states, 77.0)
    tags = torch.where(mask, tags, 2)
    torch.testing.assert_close(
        functional_call(crf, parameters, (states, tags, mask, limits)), before
    )


def test_partition_can_be_differentiated_twice():
    parameters, states, _, mask = build([ONE, TWO], [[3, 1], [2, 2]], seed=9)
    inputs = [x.requires_grad_() for x in scores_of(parameters, states, TagConstraints([ONE, TWO]))]

    def function(*scores: Tensor) -> Tensor:
        return log_partition(*scores, mask)

    assert torch.autograd.gradgradcheck(function, inputs)
