"""STM+ELMO: a language model learns from raw text, then a tagger reads its states (Jia2019, sections
4.2 and 4.4)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

from pydantic import Field

from adaptner.adaptation.fine_tune import FineTuneConfig, FineTuningObjective
from adaptner.adaptation.target import TargetData
from adaptner.corpora.sentence_stream import SentenceStream
from adaptner.methods.families.raw_text import RawTextConfig, text_or_labelled
from adaptner.methods.stm_elmo.language_modelling import learn_language_model
from adaptner.nn.encoders.recurrent import RecurrentEncoder
from adaptner.training.budget import Budget
from adaptner.training.loop import TrainingRun
from adaptner.training.optimiser import OptimiserConfig


class ContextualConfig(RawTextConfig, FineTuneConfig):
    lm_text: Literal["both", "source", "target"] = Field(
        "both",
        description="Whose raw text the language model reads: STM+ELMO reads both, STM+ELMO (SRC) the "
        "source's and STM+ELMO (TGT) the target's.",
    )
    lm_steps: int | None = Field(
        None, ge=0, description="Steps of the language model; as many as the tagger's if not set."
    )
    lm_batch: int = Field(30, ge=1, description="Sentences in a batch of the language model.")
    # The optimiser of pretraining on text; it was not chosen by trials.
    lm_optimiser: OptimiserConfig = OptimiserConfig(name="adamw", rate=3e-3, weight_decay=1e-3)
    zero_shot: bool = Field(
        False,
        description="Learn from the labels of the sources instead of the target's (STM-SOURCE).",
    )


class STMElmoObjective(FineTuningObjective):
    """Fine-tuning on the target (STM-TARGET) or, with ``zero_shot``, on the sources (STM-SOURCE), after
    the encoder's language model has learnt; its parameters are then fixed."""

    config: ContextualConfig

    def build(self) -> None:
        super().build()
        self.text, self.target_text_size = self._text()
        self.lm_steps = 0

    def target_data(self) -> TargetData:
        target = super().target_data()
        if not self.zero_shot:
            return target
        return TargetData.of(self.base, self.source_sentences, target.labels)

    def stages(self, budget: Budget) -> Iterator[Budget]:
        config, progress = self.config, self.request.progress
        self.lm_steps = budget.steps if config.lm_steps is None else config.lm_steps
        total = self.lm_steps + budget.steps
        assert isinstance(self.encoder, RecurrentEncoder)  # the method has checked the base
        assert self.encoder.language_model is not None
        learn_language_model(
            self.encoder.language_model,
            self.base.batcher,
            self.text,
            Budget(self.lm_steps, budget.seconds),
            config,
            seed=self.request.seed,
            run=TrainingRun(progress=lambda done, _, remark="": progress(done, total, remark)),
        )
        self.request = replace(
            self.request,
            progress=lambda done, _, remark="": progress(self.lm_steps + done, total, remark),
        )
        yield budget

    def facts(self) -> dict[str, object]:
        return {
            "sentences": 0 if self.zero_shot else len(self.target.sentences),
            "source_sentences": len(self.source_sentences),
            "unlabelled": self.target_text_size,
            "lm_steps": self.lm_steps,
        }

    def _text(self) -> tuple[SentenceStream, int]:
        """The mixed text that the language model reads, and how many of its sentences are the
        target's."""
        config, request = self.config, self.request
        parts: list[SentenceStream] = []
        if config.lm_text != "target":
            parts += config.texts_of_sources(self.sources.values())
        target_sentences = 0
        if config.lm_text != "source":
            text = text_or_labelled(request.unlabelled, request.support)
            parts.append(config.text_of_target(text))
            target_sentences = sum(1 for _ in parts[-1])
        return SentenceStream(tuple(parts), None, config.max_words), target_sentences
