"""PDALN's steps against its equations written out, sentence by sentence and token by token."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import Tensor

from adaptner.corpora.bundled import bundled_corpus
from adaptner.corpora.sources import SourceDomain
from adaptner.methods.pdaln import PDALN
from adaptner.methods.pdaln import algorithm as module
from adaptner.methods.pdaln.algorithm import PDALNTraining, adapt_pdaln
from adaptner.methods.pdaln.config import PDALNTuneConfig, stages
from adaptner.methods.pdaln.distillation import FixedTeacher, MeanTeacher
from adaptner.methods.pdaln.text_perturbation import perturb
from adaptner.models.base import Base
from adaptner.training.budget import Budget
from adaptner.types import LabelSet, Sentence

TINY = {
    "word_width": 6,
    "char_embedding": 4,
    "char_cnn_filters": 3,
    "char_lstm": 0,
    "hidden": 5,
    "dropout": 0.0,
}
TRAIN = bundled_corpus("gene").split("train")
SOURCE, ANNOTATED, TEXT = TRAIN[:20], TRAIN[40:48], [s.without_entities() for s in TRAIN[50:60]]


@pytest.fixture(scope="module")
def base() -> Base:
    domain = SourceDomain("Gene", LabelSet(("Gene",)), {"gene": list(SOURCE)}, {})
    return PDALN(encoder=TINY, k=3, tasks=2).fit([domain], Budget(3))


def scene(base: Base, **changes: Any) -> PDALNTraining:
    config = PDALNTuneConfig(batch=4, **changes)
    sentences = [] if config.zero_shot else ANNOTATED
    return PDALNTraining(base, sentences, {"Gene": SOURCE}, config, None, TEXT, 1)


class Naive:
    """The terms of eqs 5 to 7, each sentence read by itself."""

    def __init__(self, made: PDALNTraining) -> None:
        self.made = made

    def states(self, sentence: Sentence) -> Tensor:
        batch = self.made.table.batcher([[sentence]])
        return self.made.model.encoder(batch)[0, 0]

    def pooled(self, sentences: Sequence[Sentence]) -> list[Tensor]:
        return [self.states(s).mean(0) for s in sentences]

    def crf(self, sentences: Sequence[Sentence]) -> Tensor:
        decoder = self.made.decoder
        total = torch.zeros(())
        for s in sentences:
            tags = torch.tensor([[decoder.labels.tag_ids(s)]])
            mask = torch.ones(1, 1, len(s), dtype=torch.bool)
            total = total + decoder(self.states(s)[None, None], tags, mask).sum()
        return total / len(sentences)

    def discrepancy(self, ours: Sequence[Tensor], theirs: Sequence[Tensor]) -> Tensor:
        every = torch.stack([*ours, *theirs])
        square = (every[:, None] - every).square().sum(-1)
        middle = float(square.sum()) / (len(every) * (len(every) - 1))
        kernel = torch.stack([(-square / (middle * 2.0**u)).exp() for u in range(-2, 3)]).mean(0)
        n = len(ours)
        return kernel[:n, :n].mean() + kernel[n:, n:].mean() - 2 * kernel[:n, n:].mean()

    def by_tag(self, ours: Sequence[Sentence], theirs: Sequence[Sentence]) -> Tensor:
        sides = []
        for sentences in (ours, theirs):
            found: dict[str, list[Tensor]] = {}
            for s in sentences:
                for tag, state in zip(s.tags, self.states(s), strict=True):
                    found.setdefault(tag, []).append(state)
            sides.append(found)
        both = [y for y in sides[0] if y in sides[1]]
        total = torch.zeros(())
        for y in both:
            total = total + 0.25 * self.discrepancy(sides[0][y], sides[1][y])
        return total

    def contrast(self, plain: Sequence[Sentence], changed: Sequence[Sentence]) -> Tensor:
        weight = self.made.contrast.weight.detach()
        z, bar = (
            [v / v.norm() for v in (weight.T @ h for h in self.pooled(side))]
            for side in (plain, changed)
        )
        total = torch.zeros(())
        for i in range(len(z)):
            others = [v for j in range(len(z)) if j != i for v in (z[j], bar[j])]
            below = sum((z[i] @ v / 0.05).exp() for v in (bar[i], *others))
            total = total - ((z[i] @ bar[i] / 0.05).exp() / below).log()
        return total / len(z)


def drawn(zero_shot: bool = False) -> module.StepSentences:
    return list(SOURCE[:3]), [] if zero_shot else list(ANNOTATED[:2]), TEXT[:4]


def copies(made: PDALNTraining, lists: module.StepSentences, state: Any) -> list[Sentence]:
    """The distorted sentences that the step will draw from the generator in ``state``."""
    rng = random.Random()
    rng.setstate(state)
    return [perturb(s, made.synonyms, rng) for own in lists for s in own]


@torch.no_grad()
def test_equation_8(base):
    made = scene(base, zero_shot=True, text_weight=0.7)
    naive, lists = Naive(made), drawn(zero_shot=True)
    changed = copies(made, lists, made.rng.getstate())
    source, _, text = lists
    want = naive.crf(source) + naive.contrast([*source, *text], changed)
    want += 0.7 * naive.discrepancy(naive.pooled(source), naive.pooled(text))
    torch.testing.assert_close(made.domain_loss(lists)[0], want)


@torch.no_grad()
def test_equations_9_and_10(base):
    """They differ in what is drawn first, D_s or D_aug."""
    made = scene(base, sentence_weight=0.7, word_weight=3.0)
    naive, lists = Naive(made), drawn()
    changed = copies(made, lists, made.rng.getstate())
    source, annotated, text = lists
    want = naive.crf(source) + naive.crf(annotated)
    want += naive.contrast([*source, *annotated, *text], changed)
    want += 0.7 * naive.discrepancy(naive.pooled(source), naive.pooled([*annotated, *text]))
    want += 3.0 * naive.by_tag(source, annotated)
    torch.testing.assert_close(made.domain_loss(lists)[0], want)


def marginals(made: PDALNTraining, encoder: Any, decoder: Any, s: Sentence) -> Tensor:
    batch = made.table.batcher([[s]])
    return decoder.marginals(encoder(batch), batch.mask)[0, 0].detach()


@torch.no_grad()
def test_equation_11(base, monkeypatch):
    made = scene(base, distil_weight=0.3)
    loss = made.round()
    before = made.model.encoder, made.decoder
    teacher = [[p.clone() for p in m.parameters()] for m in before]
    for p in (*made.model.encoder.parameters(), *made.decoder.parameters()):
        p.add_(0.1 * torch.randn(p.shape, generator=torch.Generator().manual_seed(2)))
    lists = drawn()
    monkeypatch.setattr(made, "_drawn", lambda _: lists)
    state = made.rng.getstate()
    want = 0.7 * made.domain_loss(lists)[0]
    students = [marginals(made, *before, s) for s in lists[0]]
    for part, values in zip(before, teacher, strict=True):
        for p, value in zip(part.parameters(), values, strict=True):
            p.data, value.data = value.data.clone(), p.data.clone()
    teachers = [marginals(made, *before, s) for s in lists[0]]
    for part, values in zip(before, teacher, strict=True):  # the student again
        for p, value in zip(part.parameters(), values, strict=True):
            p.data = value.data
    costs = [
        -float((says * thinks.log().clamp(min=-1e9)).nansum(-1)[n])
        for says, thinks in zip(teachers, students, strict=True)
        for n in range(len(says))
    ]
    want = want + 0.3 * sum(costs) / len(costs)
    made.rng.setstate(state)
    torch.testing.assert_close(loss(), want, rtol=1e-4, atol=1e-4)


def moved(base: Base, monkeypatch: pytest.MonkeyPatch, kind: type[FixedTeacher], **changes: Any):
    """Whether the teacher at the end of each step of two rounds is as it was at the round's start, and
    whether each was at its start the student."""
    found: list[list[bool]] = []
    began: list[bool] = []
    plain = kind.term
    starts: dict[int, list[Tensor]] = {}
    kept: list[FixedTeacher] = []  # so that no two have one id

    def values(*parts: torch.nn.Module) -> list[Tensor]:
        return [p.detach().clone() for part in parts for p in part.parameters()]

    def term(self: FixedTeacher, sentences: Any, student: Any) -> Tensor:
        first = id(self) not in starts
        if first:
            kept.append(self)
            starts[id(self)] = values(self.encoder, self.decoder)
            began.append(_equal(values(*self._student), starts[id(self)]))
            found.append([])
        result = plain(self, sentences, student)
        found[-1].append(_equal(values(self.encoder, self.decoder), starts[id(self)]))
        return result

    monkeypatch.setattr(kind, "term", term)
    config = PDALNTuneConfig(batch=4, rounds=2, first_share=0.25, **changes)
    tagger = adapt_pdaln(base, ANNOTATED, {"Gene": SOURCE}, config, budget=Budget(8))
    return found, began, tagger


def _equal(one: list[Tensor], other: list[Tensor]) -> bool:
    return all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


def test_the_teacher_does_not_move_within_a_round(base, monkeypatch):
    found, began, tagger = moved(base, monkeypatch, FixedTeacher)
    assert found == [[True] * 3, [True] * 3]
    assert began == [True, True]
    assert tagger.facts["steps"] == 8


def test_a_mean_teacher_does(base, monkeypatch):
    found, began, _ = moved(base, monkeypatch, MeanTeacher, self_training="mean-teacher")
    assert found == [[True, False, False]] * 2  # at first it is the student
    assert began == [True, True]


def test_a_mean_teacher_is_a_running_mean(base):
    made = scene(base, self_training="mean-teacher", teacher_decay=0.75)
    teacher = made._opinion()
    assert isinstance(teacher, MeanTeacher)
    weight = made.decoder.weight.detach().clone()
    with torch.no_grad():
        made.decoder.weight.add_(1.0)
    for share in (0.25, 1 - 0.75**2):
        teacher.term(list(SOURCE[:3]), made.domain_loss(drawn())[1])
        torch.testing.assert_close(teacher.decoder.weight.detach(), weight + share)


def test_stages_share_the_steps():
    config = PDALNTuneConfig()
    assert list(stages(100, config)) == [50, 25, 25]
    assert list(stages(3, config)) == [2, 1]
    assert list(stages(1, config)) == [1]
    assert list(stages(10, config.model_copy(update={"rounds": 0}))) == [10]
    assert list(stages(10, config.model_copy(update={"zero_shot": True}))) == [10]
    for steps in range(1, 30):
        for rounds in range(5):
            assert sum(stages(steps, config.model_copy(update={"rounds": rounds}))) == steps


ABLATIONS = {
    "w/o L_c": {"contrast_weight": 0.0},
    "w/o L_MMD^d": {"sentence_weight": 0.0},
    "w/o L_MMD^w": {"word_weight": 0.0},
    "w/o L_distill": {"distil_weight": 0.0},
    "w/o D_aug": {"augment": False},
    "w/ MT": {"self_training": "mean-teacher"},
    "w/ VAT": {"self_training": "vat"},
    "1:1": {"source_ratio": 1},
    "sure": {"confidence": 0.999},
    "eq. 9 alone": {"rounds": 0},
}


def test_every_part_can_be_left_out_and_counts(base):
    """Each setting learns, and none learns the same as another."""

    def learnt(**changes: Any) -> float:
        config = PDALNTuneConfig(batch=4, **changes)
        tagger = adapt_pdaln(
            base, ANNOTATED, {"Gene": SOURCE}, config, unlabelled=TEXT, budget=Budget(6)
        )
        total = sum(float(p.detach().double().abs().sum()) for p in tagger.parameters())
        assert math.isfinite(total)
        return total

    found = [learnt()] + [learnt(**changes) for changes in ABLATIONS.values()]
    assert len(set(found)) == len(found)


def test_what_is_said_of_a_run(base):
    config = PDALNTuneConfig(batch=4)
    watched: list[tuple[int, int]] = []
    tagger = adapt_pdaln(
        base,
        ANNOTATED,
        {"Gene": SOURCE},
        config,
        unlabelled=[*TEXT, Sentence("", ())],
        budget=Budget(5),
        progress=lambda done, total, remark="": watched.append((done, total)),
    )
    facts = tagger.facts
    assert (facts["steps"], facts["sentences"]) == (5, 8)
    assert (facts["source_sentences"], facts["unlabelled"]) == (20, 10)
    # fewer source sentences with a mention than 5 · 8: all of them
    able = sum(bool(s.entities) for s in SOURCE)
    assert facts["augmented"] == 4 * 8 + 2 * able
    assert "built-in" in facts["synonyms"]
    assert watched == [(n, 5) for n in range(1, 6)]


def test_seconds_end_it(base):
    config = PDALNTuneConfig(batch=4)
    tagger = adapt_pdaln(
        base, ANNOTATED, {"Gene": SOURCE}, config, budget=Budget(100_000, seconds=0.2)
    )
    assert 0 < tagger.facts["steps"] < 1000


def test_a_target_with_labels_of_its_own(base):
    """No anchors: the rounds learn from the source's sentences as they are."""
    lines = bundled_corpus("cellline").split("train")[:5]
    config = PDALNTuneConfig(batch=4)
    tagger = adapt_pdaln(base, lines, {"Gene": SOURCE}, config, budget=Budget(4))
    assert tagger.facts["augmented"] == 0
    assert tagger.labels.labels == ("CellLine", "Gene")
