"""PDALN's steps against its equations written out, sentence by sentence and token by token."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from source_target_pair import TINY
from torch import Tensor, nn

from adaptner.adaptation.loop import restrict_vocabulary, run
from adaptner.adaptation.request import AdaptRequest
from adaptner.corpora.bundled import bundled_corpus
from adaptner.corpora.sources import SourceDomain
from adaptner.methods.pdaln import PDALN
from adaptner.methods.pdaln.algorithm import PDALNObjective, StepSentences
from adaptner.methods.pdaln.config import PDALNTuneConfig, split_budget
from adaptner.methods.pdaln.distillation import FixedTeacher, MeanTeacher
from adaptner.methods.pdaln.text_perturbation import perturb
from adaptner.models.base import Base
from adaptner.models.tagger import Tagger
from adaptner.training.budget import Budget
from adaptner.types import LabelSet, Sentence

TRAIN = bundled_corpus("gene").split("train")
SOURCE, ANNOTATED, TEXT = TRAIN[:20], TRAIN[40:48], [s.without_entities() for s in TRAIN[50:60]]


@pytest.fixture(scope="module")
def base() -> Base:
    domain = SourceDomain("Gene", LabelSet(("Gene",)), {"gene": list(SOURCE)}, {})
    return PDALN(encoder=TINY, k=3, tasks=2).fit([domain], Budget(3))


def make_objective(base: Base, **settings: Any) -> PDALNObjective:
    config = PDALNTuneConfig(batch=4, **settings)
    support = [] if config.zero_shot else ANNOTATED
    request = AdaptRequest(support, unlabelled=TEXT, seed=1)
    objective = PDALNObjective(base, request, config, {"Gene": SOURCE})
    restrict_vocabulary(objective)
    return objective


def adapt(base: Base, support: Sequence[Sentence] = ANNOTATED, **options: Any) -> Tagger:
    settings = options.pop("settings", {})
    request = AdaptRequest(support, **options)
    config = PDALNTuneConfig(batch=4, **settings)
    return run(PDALNObjective(base, request, config, {"Gene": SOURCE}))


class Naive:
    """The terms of eqs 2 and 5 to 7, with each sentence encoded by itself."""

    def __init__(self, objective: PDALNObjective) -> None:
        self.objective = objective

    def states(self, sentence: Sentence) -> Tensor:
        batch = self.objective.batcher([[sentence]])
        return self.objective.encoder(batch)[0, 0]

    def pooled(self, sentences: Sequence[Sentence]) -> list[Tensor]:
        return [self.states(s).mean(0) for s in sentences]

    def crf(self, sentences: Sequence[Sentence]) -> Tensor:
        decoder = self.objective.decoder
        total = torch.zeros(())
        for s in sentences:
            tags = torch.tensor([[decoder.labels.tag_ids(s)]])
            mask = torch.ones(1, 1, len(s), dtype=torch.bool)
            total = total + decoder(self.states(s)[None, None], tags, mask).sum()
        return total / len(sentences)

    def discrepancy(self, first: Sequence[Tensor], second: Sequence[Tensor]) -> Tensor:
        points = torch.stack([*first, *second])
        square = (points[:, None] - points).square().sum(-1)
        middle = float(square.sum()) / (len(points) * (len(points) - 1))
        kernel = torch.stack([(-square / (middle * 2.0**u)).exp() for u in range(-2, 3)]).mean(0)
        n = len(first)
        return kernel[:n, :n].mean() + kernel[n:, n:].mean() - 2 * kernel[:n, n:].mean()

    def discrepancy_by_tag(self, first: Sequence[Sentence], second: Sequence[Sentence]) -> Tensor:
        sides = []
        for sentences in (first, second):
            states: dict[str, list[Tensor]] = {}
            for s in sentences:
                for tag, state in zip(s.tags, self.states(s), strict=True):
                    states.setdefault(tag, []).append(state)
            sides.append(states)
        total = torch.zeros(())
        for tag in sides[0].keys() & sides[1].keys():
            total = total + 0.25 * self.discrepancy(sides[0][tag], sides[1][tag])
        return total

    def contrast(self, plain: Sequence[Sentence], distorted: Sequence[Sentence]) -> Tensor:
        weight = self.objective.projection.weight.detach()
        z, bar = (
            [v / v.norm() for v in (weight.T @ h for h in self.pooled(side))]
            for side in (plain, distorted)
        )
        total = torch.zeros(())
        for i in range(len(z)):
            others = [v for j in range(len(z)) if j != i for v in (z[j], bar[j])]
            below = sum((z[i] @ v / 0.05).exp() for v in (bar[i], *others))
            total = total - ((z[i] @ bar[i] / 0.05).exp() / below).log()
        return total / len(z)

    def marginals(self, encoder: nn.Module, decoder: nn.Module, sentence: Sentence) -> Tensor:
        batch = self.objective.batcher([[sentence]])
        return decoder.marginals(encoder(batch), batch.mask)[0, 0].detach()


def step_sentences(zero_shot: bool = False) -> StepSentences:
    return StepSentences(list(SOURCE[:3]), [] if zero_shot else list(ANNOTATED[:2]), TEXT[:4])


def distorted_copies(objective: PDALNObjective, sentences: StepSentences) -> list[Sentence]:
    """The copies that the next step will draw."""
    rng = random.Random()
    rng.setstate(objective.rng.getstate())
    return [perturb(s, objective.synonyms, rng) for own in sentences for s in own]


@torch.no_grad()
def test_equation_8(base):
    objective = make_objective(base, zero_shot=True, text_weight=0.7)
    naive, sentences = Naive(objective), step_sentences(zero_shot=True)
    distorted = distorted_copies(objective, sentences)
    source, _, text = sentences
    expected = naive.crf(source) + naive.contrast([*source, *text], distorted)
    expected += 0.7 * naive.discrepancy(naive.pooled(source), naive.pooled(text))
    torch.testing.assert_close(objective.alignment_loss(sentences)[0], expected)


@torch.no_grad()
def test_equations_9_and_10(base):
    """They differ only in the source of the first sentences, D_s or D_aug."""
    objective = make_objective(base, sentence_weight=0.7, word_weight=3.0)
    naive, sentences = Naive(objective), step_sentences()
    distorted = distorted_copies(objective, sentences)
    source, annotated, text = sentences
    expected = naive.crf(source) + naive.crf(annotated)
    expected += naive.contrast([*source, *annotated, *text], distorted)
    target = naive.pooled([*annotated, *text])
    expected += 0.7 * naive.discrepancy(naive.pooled(source), target)
    expected += 3.0 * naive.discrepancy_by_tag(source, annotated)
    torch.testing.assert_close(objective.alignment_loss(sentences)[0], expected)


@torch.no_grad()
def test_equation_11(base, monkeypatch):
    objective = make_objective(base, distil_weight=0.3)
    naive, sentences = Naive(objective), step_sentences()
    student = objective.encoder, objective.decoder
    teachers = [naive.marginals(*student, s) for s in sentences.source]
    objective.teacher = objective.new_teacher()
    for p in (*student[0].parameters(), *student[1].parameters()):
        p.add_(0.1 * torch.randn(p.shape, generator=torch.Generator().manual_seed(2)))
    monkeypatch.setattr(objective, "draw", lambda: sentences)
    state = objective.rng.getstate()
    expected = 0.7 * objective.alignment_loss(sentences)[0]
    students = [naive.marginals(*student, s) for s in sentences.source]
    costs = [
        -float((p * q.log().clamp(min=-1e9)).nansum(-1)[n])
        for p, q in zip(teachers, students, strict=True)
        for n in range(len(p))
    ]
    expected = expected + 0.3 * sum(costs) / len(costs)
    objective.rng.setstate(state)
    torch.testing.assert_close(objective.loss(), expected, rtol=1e-4, atol=1e-4)


def parameters_of(*modules: nn.Module) -> list[Tensor]:
    return [p.detach().clone() for module in modules for p in module.parameters()]


def all_equal(first: list[Tensor], second: list[Tensor]) -> bool:
    return all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


def watch_teachers(
    base: Base, monkeypatch: pytest.MonkeyPatch, kind: type[FixedTeacher], **settings: Any
) -> tuple[list[list[bool]], list[bool], Tagger]:
    """For each round, whether the teacher is unchanged after each step, and whether it equalled the
    student at the start."""
    unchanged: list[list[bool]] = []
    equals_student: list[bool] = []
    starts: dict[FixedTeacher, list[Tensor]] = {}
    loss = kind.loss

    def watched(self: FixedTeacher, sentences: Any, student: Any) -> Tensor:
        if self not in starts:
            starts[self] = parameters_of(self.encoder, self.decoder)
            current = parameters_of(self.student_encoder, self.student_decoder)
            equals_student.append(all_equal(current, starts[self]))
            unchanged.append([])
        result = loss(self, sentences, student)
        unchanged[-1].append(all_equal(parameters_of(self.encoder, self.decoder), starts[self]))
        return result

    monkeypatch.setattr(kind, "loss", watched)
    settings = {"rounds": 2, "first_share": 0.25, **settings}
    return unchanged, equals_student, adapt(base, budget=Budget(8), settings=settings)


def test_fixed_teacher_does_not_change_within_a_round(base, monkeypatch):
    unchanged, equals_student, tagger = watch_teachers(base, monkeypatch, FixedTeacher)
    assert unchanged == [[True] * 3, [True] * 3]
    assert equals_student == [True, True]
    assert tagger.facts["steps"] == 8


def test_mean_teacher_changes_within_a_round(base, monkeypatch):
    unchanged, equals_student, _ = watch_teachers(
        base, monkeypatch, MeanTeacher, self_training="mean-teacher"
    )
    assert unchanged == [[True, False, False]] * 2  # in the first step it equals the student
    assert equals_student == [True, True]


def test_mean_teacher_is_a_running_mean(base):
    objective = make_objective(base, self_training="mean-teacher", teacher_decay=0.75)
    teacher = objective.new_teacher()
    assert isinstance(teacher, MeanTeacher)
    weight = objective.decoder.weight.detach().clone()
    with torch.no_grad():
        objective.decoder.weight.add_(1.0)
    for share in (0.25, 1 - 0.75**2):
        teacher.loss(list(SOURCE[:3]), objective.alignment_loss(step_sentences())[1])
        torch.testing.assert_close(teacher.decoder.weight.detach(), weight + share)


@pytest.mark.parametrize(
    ("steps", "settings", "expected"),
    [
        (100, {}, [50, 25, 25]),
        (3, {}, [2, 1]),
        (1, {}, [1]),
        (0, {}, []),
        (10, {"rounds": 0}, [10]),
        (10, {"zero_shot": True}, [10]),
    ],
)
def test_first_stage_and_rounds_share_the_steps(steps, settings, expected):
    parts = split_budget(Budget(steps), PDALNTuneConfig(**settings))
    assert [part.steps for part in parts] == expected


def test_stages_spend_the_whole_budget():
    for steps in range(1, 30):
        for rounds in range(5):
            parts = list(split_budget(Budget(steps, 6.0), PDALNTuneConfig(rounds=rounds)))
            assert sum(part.steps for part in parts) == steps
            assert sum(part.seconds or 0 for part in parts) == pytest.approx(6.0)


ABLATIONS: dict[str, dict[str, Any]] = {
    "all of PDALN": {},
    "w/o L_c": {"contrast_weight": 0.0},
    "w/o L_MMD^d": {"sentence_weight": 0.0},
    "w/o L_MMD^w": {"word_weight": 0.0},
    "w/o L_distill": {"distil_weight": 0.0},
    "w/o D_aug": {"augment": False},
    "w/ MT": {"self_training": "mean-teacher"},
    "w/ VAT": {"self_training": "vat"},
    "1:1": {"source_ratio": 1},
    "confident teacher": {"confidence": 0.999},
    "eq. 9 alone": {"rounds": 0},
}


def test_every_ablation_learns_something_else(base):
    found = []
    for settings in ABLATIONS.values():
        tagger = adapt(base, unlabelled=TEXT, budget=Budget(6), settings=settings)
        found.append(sum(float(p.detach().double().abs().sum()) for p in tagger.parameters()))
    assert all(map(math.isfinite, found))
    assert len(set(found)) == len(ABLATIONS)


def test_facts_and_progress_cover_all_stages(base):
    seen: list[tuple[int, int]] = []
    tagger = adapt(
        base,
        unlabelled=[*TEXT, Sentence("", ())],
        budget=Budget(5),
        progress=lambda done, total, remark="": seen.append((done, total)),
    )
    facts = tagger.facts
    assert (facts["steps"], facts["sentences"]) == (5, 8)
    assert (facts["source_sentences"], facts["unlabelled"]) == (20, 10)
    # There are fewer than 5 · 8 source sentences with a mention, so all of them are used.
    with_mention = sum(bool(s.entities) for s in SOURCE)
    assert facts["augmented"] == 4 * 8 + 2 * with_mention
    assert "built-in" in facts["synonyms"]
    assert seen == [(n, 5) for n in range(1, 6)]


def test_budget_in_seconds_ends_the_run(base):
    tagger = adapt(base, budget=Budget(100_000, seconds=0.2))
    assert 0 < tagger.facts["steps"] < 1000


def test_target_with_new_labels_has_no_augmented_data(base):
    support = bundled_corpus("cellline").split("train")[:5]
    tagger = adapt(base, support, budget=Budget(4))
    assert tagger.facts["augmented"] == 0
    assert tagger.labels.labels == ("CellLine", "Gene")
