"""Where there are not few sentences but many: plain training, stopped when it helps no more.

The steps of fine-tuning were chosen for five to fifty sentences (docs/results/adaptation.md). From
a thousand on, some of them can be spared to see how well the others have been learnt.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from adaptner.adaptation.decoder_start import starting_decoder
from adaptner.adaptation.descent import SentenceBatches, take_steps
from adaptner.adaptation.fine_tune import FineTuneConfig, adaptation_facts, compute_gradients
from adaptner.adaptation.target import TargetData
from adaptner.metrics.spans import score_entities
from adaptner.models.base import Base
from adaptner.models.tagger import Tagger
from adaptner.nn.encoders.active_vocabulary import ActiveVocabulary
from adaptner.progress import ProgressCallback, no_progress
from adaptner.training.budget import Budget
from adaptner.types import LabelSet, Sentence

EARLY_STOPPING_FROM = 1000  # sentences
HELD_OUT, MOST_HELD_OUT = 0.1, 300  # share and number: F1 to a point or two, in seconds
PATIENCE = 2  # times through the sentences without a better F1


def train_with_early_stopping(
    base: Base,
    sentences: Sequence[Sentence],
    config: FineTuneConfig,
    *,
    labels: LabelSet | None = None,
    seed: int = 0,
    progress: ProgressCallback = no_progress,
) -> Tagger:
    """θ and a new φ as after the epoch that was best on sentences held out."""
    target = TargetData.of(base, sentences, labels)
    rng = random.Random(seed)
    shuffled = rng.sample(target.sentences, len(target.sentences))
    spared = min(int(HELD_OUT * len(shuffled)), MOST_HELD_OUT)
    held_out, learnt_from = shuffled[:spared], shuffled[spared:]
    generator = torch.Generator().manual_seed(seed)
    encoder = copy.deepcopy(base.model.encoder)
    decoder = starting_decoder(base, target.labels, config.decoder, generator)
    table = ActiveVocabulary(encoder, base.batcher, target.sentences)
    learned = [] if config.freeze_decoder else list(decoder.parameters())
    optimiser = config.optimiser_of(encoder, learned)
    batches = SentenceBatches(learnt_from, config.batch, rng)
    epoch = -(-len(learnt_from) // config.batch)
    trial = Tagger(encoder, decoder, table.batcher, base.method)
    best = _Best(trial, held_out)

    def fill() -> float:
        batch = table.batcher([batches.next()], [target.labels])
        assert batch.tags is not None
        loss = decoder(encoder(batch, generator), batch.tags, batch.mask).mean()
        compute_gradients(loss, optimiser.parameters)
        return float(loss.detach())

    def stop(steps: int) -> bool:
        return steps % epoch == 0 and best.is_enough(steps)

    def told(done: int, total: int, remark: str = "") -> None:
        progress(done, total, f"{remark}  F1 {best.f1:.3f}" if best.steps else remark)

    budget = Budget(config.steps_for(len(learnt_from)))
    taken = take_steps(fill, optimiser, budget, told, stop)
    if taken % epoch:  # a budget that ends within an epoch
        best.is_enough(taken)
    best.restore()
    table.restore()
    facts = adaptation_facts(base, target, best.steps, seed)
    facts |= {"held_out": len(held_out), "held_out_f1": round(best.f1, 4)}
    return Tagger(encoder, decoder, base.batcher, base.method, facts, base.folder)


class _Best:
    """The parameters after the best epoch so far."""

    def __init__(self, tagger: Tagger, held_out: Sequence[Sentence]) -> None:
        self._tagger, self._held_out = tagger, held_out
        self._kept: list[Tensor] = []
        self._worse = 0
        self.f1, self.steps = -1.0, 0

    def is_enough(self, steps: int) -> bool:
        found = self._tagger.predict_sentences(self._held_out)
        f1 = score_entities([s.entities for s in self._held_out], found).overall.f1
        self._worse += 1
        if f1 > self.f1:
            self.f1, self.steps, self._worse = f1, steps, 0
            self._kept = [p.detach().clone() for p in self._parameters()]
        return self._worse >= PATIENCE

    @torch.no_grad()
    def restore(self) -> None:
        for parameter, kept in zip(self._parameters(), self._kept, strict=True):
            parameter.copy_(kept)

    def _parameters(self) -> list[nn.Parameter]:
        return list(self._tagger.parameters())
