"""STM+ELMO: a language model learns from raw text, and a tagger reads its states (Jia2019, 4.2, 4.4)."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from pydantic import Field

from adaptner.adaptation.fine_tune import FineTuneConfig, fine_tune
from adaptner.adaptation.target import TargetData
from adaptner.corpora.sentence_stream import SentenceStream
from adaptner.methods.families.raw_text import RawTextConfig, text_or_labelled
from adaptner.methods.stm_elmo.language_modelling import learn_language_model
from adaptner.models.base import Base
from adaptner.models.tagger import Tagger
from adaptner.nn.encoders.recurrent import RecurrentEncoder
from adaptner.progress import ProgressCallback, no_progress
from adaptner.training.budget import Budget
from adaptner.training.loop import TrainingRun
from adaptner.training.optimiser import OptimiserConfig
from adaptner.types import LabelSet, Sentence


class ContextualConfig(RawTextConfig, FineTuneConfig):
    lm_text: Literal["both", "source", "target"] = Field(
        "both", description="whose raw text the language model reads: STM+ELMO, (SRC), (TGT)"
    )
    lm_steps: int | None = Field(
        None, ge=0, description="of the language model; None: as the tagger"
    )
    lm_batch: int = Field(30, ge=1, description="sentences a step of the language model")
    # context.py's: the first guess of all that learns from raw text here, not chosen by trials
    lm_optimiser: OptimiserConfig = OptimiserConfig(name="adamw", rate=3e-3, weight_decay=1e-3)
    zero_shot: bool = Field(False, description="STM-SOURCE: the sources' labels are learnt from")


def adapt_stm_elmo(
    base: Base,
    sentences: Sequence[Sentence],
    sources: Mapping[str, Sequence[Sentence]],
    config: ContextualConfig,
    *,
    labels: LabelSet | None = None,
    unlabelled: Iterable[Sentence] = (),
    budget: Budget | None = None,
    seed: int = 0,
    progress: ProgressCallback = no_progress,
) -> Tagger:
    """First the language model, from the text of ``sources`` and ``unlabelled`` (where there is none,
    ``sentences``); then the tagger, which leaves it as it is: from ``sentences`` (STM-TARGET) or, in
    zero-shot learning, from ``sources`` (STM-SOURCE) and nothing else."""
    pool = [s for own in sources.values() for s in own]
    learnt: Sequence[Sentence] = sentences
    if config.zero_shot:
        learnt, labels = pool, TargetData.unseen(base, sources, labels).labels
    TargetData.of(base, learnt, labels)  # what is wrong with them is said before any learning
    budget = budget or Budget(config.steps_for(sum(1 for s in learnt if len(s))))
    first = Budget(budget.steps if config.lm_steps is None else config.lm_steps, budget.seconds)
    text, unlabelled_used = _text(text_or_labelled(unlabelled, sentences), sources, config)
    total = first.steps + budget.steps
    own = replace(base, model=copy.deepcopy(base.model))
    encoder = own.model.encoder
    assert isinstance(encoder, RecurrentEncoder)  # the method has checked the base
    assert encoder.language_model is not None
    learn_language_model(
        encoder.language_model,
        base.batcher,
        text,
        first,
        optimiser=config.lm_optimiser,
        batch=config.lm_batch,
        negatives=config.negatives,
        vocabulary=config.vocabulary,
        seed=seed,
        run=TrainingRun(progress=lambda done, _, remark="": progress(done, total, remark)),
    )
    tagger = fine_tune(
        own,
        learnt,
        config,
        labels=labels,
        budget=budget,
        seed=seed,
        progress=lambda done, _, remark="": progress(first.steps + done, total, remark),
    )
    tagger.facts |= {
        "sentences": 0 if config.zero_shot else tagger.facts["sentences"],
        "source_sentences": len(pool),
        "unlabelled": unlabelled_used,
        "lm_steps": first.steps,
    }
    return tagger


def _text(
    own: Iterable[Sentence], sources: Mapping[str, Sequence[Sentence]], config: ContextualConfig
) -> tuple[SentenceStream, int]:
    """What the language model reads, mixed, and how many sentences of it are the target's."""
    parts: list[SentenceStream] = []
    if config.lm_text != "target":
        parts += config.texts_of_sources(sources.values())
    used = 0
    if config.lm_text != "source":
        parts.append(config.text_of_target(own))
        used = sum(1 for _ in parts[-1])
    return SentenceStream(tuple(parts), None, config.max_words), used
