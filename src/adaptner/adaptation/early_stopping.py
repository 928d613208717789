"""Fine-tuning on many sentences, stopped when F1 on held-out sentences no longer improves.

The number of steps of fine-tuning was chosen for five to fifty sentences
(docs/results/adaptation.md). From a thousand on, some can be held out to measure progress.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from adaptner.adaptation.fine_tune import FineTuneConfig, FineTuningObjective
from adaptner.adaptation.loop import run
from adaptner.adaptation.request import AdaptRequest
from adaptner.adaptation.sentence_batches import SentenceBatches
from adaptner.metrics.spans import score_entities
from adaptner.models.base import Base
from adaptner.models.tagger import Tagger
from adaptner.progress import ProgressCallback, no_progress
from adaptner.training.budget import Budget
from adaptner.types import LabelSet, Sentence

EARLY_STOPPING_FROM = 1000  # sentences
# Share and maximum number of held-out sentences: they give F1 to a point or two within seconds.
HELD_OUT, MAX_HELD_OUT = 0.1, 300
PATIENCE = 2  # epochs without a better F1


class EarlyStopping(FineTuningObjective):
    """Fine-tuning that keeps the parameters of the epoch with the best F1 on held-out sentences."""

    def build(self) -> None:
        super().build()
        shuffled = self.rng.sample(self.target.sentences, len(self.target.sentences))
        held_out = min(int(HELD_OUT * len(shuffled)), MAX_HELD_OUT)
        self.held_out, self.train = shuffled[:held_out], shuffled[held_out:]
        self.batches = SentenceBatches(self.train, self.config.batch, self.rng)
        self.steps_per_epoch = -(-len(self.train) // self.config.batch)
        self.best_f1, self.best_steps = -1.0, 0
        self._best_parameters: list[Tensor] = []
        self._epochs_without_gain = 0

    def epoch_size(self) -> int:
        return len(self.train)

    def stages(self, budget: Budget) -> Iterator[Budget]:
        self._tagger = Tagger(self.encoder, self.decoder, self.batcher, self.base.method)
        yield budget

    def is_finished(self, steps: int) -> bool:
        return steps % self.steps_per_epoch == 0 and self._evaluate(steps)

    def finish(self, steps: int) -> None:
        if steps % self.steps_per_epoch:  # the budget ended within an epoch
            self._evaluate(steps)
        with torch.no_grad():
            for parameter, best in zip(
                self._tagger.parameters(), self._best_parameters, strict=True
            ):
                parameter.copy_(best)

    def describe(self, loss: float) -> str:
        remark = super().describe(loss)
        return f"{remark}  F1 {self.best_f1:.3f}" if self.best_steps else remark

    def facts(self) -> dict[str, object]:
        return {
            "steps": self.best_steps,
            "held_out": len(self.held_out),
            "held_out_f1": round(self.best_f1, 4),
        }

    def _evaluate(self, steps: int) -> bool:
        """Whether patience has run out."""
        found = self._tagger.predict_sentences(self.held_out)
        f1 = score_entities([s.entities for s in self.held_out], found).overall.f1
        self._epochs_without_gain += 1
        if f1 > self.best_f1:
            self.best_f1, self.best_steps, self._epochs_without_gain = f1, steps, 0
            self._best_parameters = [p.detach().clone() for p in self._tagger.parameters()]
        return self._epochs_without_gain >= PATIENCE


def train_with_early_stopping(
    base: Base,
    sentences: Sequence[Sentence],
    config: FineTuneConfig,
    *,
    labels: LabelSet | None = None,
    seed: int = 0,
    progress: ProgressCallback = no_progress,
) -> Tagger:
    """Train the base's encoder and a new decoder until F1 on held-out sentences stops improving."""
    request = AdaptRequest(sentences, labels, seed=seed, progress=progress)
    return run(EarlyStopping(base, request, config))
