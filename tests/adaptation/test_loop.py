"""The loop of adaptation: steps, schedule, stages, vocabulary, facts and divergence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from adaptner.adaptation.fine_tune import FineTuneConfig, FineTuningObjective
from adaptner.adaptation.loop import run
from adaptner.adaptation.request import AdaptRequest
from adaptner.corpora.bundled import bundled_corpus
from adaptner.errors import TooFewSentences, TrainingDiverged
from adaptner.models.base import Base
from adaptner.training.budget import Budget
from adaptner.training.optimiser import Optimiser, OptimiserConfig
from adaptner.types import Sentence

SENTENCES = [s for s in bundled_corpus("species").split("train") if s.entities][:6]
PLAIN_SGD = OptimiserConfig(name="sgd", rate=1.0, momentum=0, weight_decay=0, clip=1e9)


class OneNumber(FineTuningObjective):
    """Minimises one number with slope 1 instead of the label loss."""

    def __init__(self, base: Base, **options: Any) -> None:
        self.number = nn.Parameter(torch.zeros(1))
        self.values: list[float] = []
        super().__init__(base, AdaptRequest(SENTENCES, **options), FineTuneConfig())

    def optimiser(self) -> Optimiser:
        return Optimiser([self.number], PLAIN_SGD)

    def loss(self) -> Tensor:
        self.values.append(self.number.item())
        return self.number.sum()


class TwoStages(OneNumber):
    def stages(self, budget: Budget) -> Iterator[Budget]:
        yield Budget(2)
        self.values.append(100.0)
        yield Budget(2)

    def finish(self, steps: int) -> None:
        self.values.append(1000.0 + steps)

    def facts(self) -> dict[str, object]:
        return {"extra": 1}


class Stopped(OneNumber):
    def is_finished(self, steps: int) -> bool:
        return steps == 3


def test_schedule_falls_over_the_budget_and_progress_follows_each_step(base):
    seen: list[tuple[int, int, str]] = []
    objective = OneNumber(base, budget=Budget(4), progress=lambda *step: seen.append(step))
    tagger = run(objective)
    assert objective.values == [0.0, -1.0, -1.75, -2.25]  # rates of 1, 3/4, 2/4
    assert objective.number.item() == -2.5
    assert [step[:2] for step in seen] == [(n, 4) for n in (1, 2, 3, 4)]
    assert seen[1][2] == "loss -1.00"
    assert tagger.facts == {"steps": 4, "sentences": 6, "seed": 0, "base": base.method}


def test_each_stage_has_a_new_optimiser_and_schedule(base):
    seen: list[tuple[int, int]] = []
    objective = TwoStages(
        base, budget=Budget(4), progress=lambda done, total, _="": seen.append((done, total))
    )
    tagger = run(objective)
    assert objective.values == [0.0, -1.0, 100.0, -1.5, -2.5, 1004.0]
    assert seen == [(n, 4) for n in (1, 2, 3, 4)]
    assert (tagger.facts["steps"], tagger.facts["extra"]) == (4, 1)


def test_no_step_is_taken_without_a_budget(base):
    objective = OneNumber(base, budget=Budget(0))
    assert run(objective).facts["steps"] == 0
    assert objective.values == []


def test_objective_can_stop_before_the_budget_is_spent(base):
    assert run(Stopped(base, budget=Budget(9))).facts["steps"] == 3


def test_steps_know_only_the_words_of_their_sentences(base):
    class TableSize(OneNumber):
        def loss(self) -> Tensor:
            sizes.append(self.encoder.get_parameter(self.encoder.table).shape[1])
            return super().loss()

    sizes: list[int] = []
    tagger = run(TableSize(base, budget=Budget(1)))
    table = base.model.encoder.table
    assert table is not None
    whole = base.model.encoder.get_parameter(table).shape
    assert sizes[0] < whole[1]
    assert tagger.encoder.get_parameter(table).shape == whole
    assert tagger.batcher is base.batcher


class Diverging(OneNumber):
    def compute_gradients(self, parameters: Sequence[nn.Parameter]) -> float:
        loss, slope = self.bad if len(self.values) == 1 else (1.0, 1.0)
        self.values.append(loss)
        self.number.grad = torch.full((1,), slope)
        return loss


@pytest.mark.parametrize("bad", [(float("nan"), 1.0), (float("inf"), 1.0), (1.0, float("nan"))])
def test_loss_or_gradient_that_is_not_finite_stops_the_run(base, bad):
    objective = Diverging(base, budget=Budget(5))
    objective.bad = bad
    with pytest.raises(TrainingDiverged, match="iteration 2"):
        run(objective)
    assert len(objective.values) == 2


def test_target_text_is_the_unlabelled_sentences_or_the_labelled_ones_without_labels():
    empty, plain = Sentence("", ()), Sentence.from_tokens(["a", "b"])
    labelled = Sentence.from_tokens(["a", "b"], ["B-X", "O"])
    assert AdaptRequest([labelled], unlabelled=[empty, plain]).target_text() == [plain]
    assert AdaptRequest([empty, labelled], unlabelled=[empty]).target_text() == [plain]
    with pytest.raises(TooFewSentences, match="raw text"):
        AdaptRequest([empty]).target_text()
