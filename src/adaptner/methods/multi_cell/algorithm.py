"""Steps without a label of the target: one batch of a source with its labels, one of the target's text,
and language models that read both (Jia and Zhang 2020, unsupervised)."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence

import torch
from pydantic import BaseModel, ConfigDict, Field
from torch import Generator, Tensor, nn

from adaptner.adaptation.batch_encoding import EncodedBatch, EncodeFunction, encode_lists
from adaptner.adaptation.descent import SentenceBatches, take_steps
from adaptner.adaptation.fine_tune import adaptation_facts, compute_gradients
from adaptner.adaptation.joint_training import add_target_domain
from adaptner.adaptation.source_target_steps import (
    EncodedSide,
    ObjectiveFactory,
    SourceTargetConfig,
)
from adaptner.adaptation.target import TargetData
from adaptner.errors import TooFewSentences
from adaptner.models.base import Base
from adaptner.models.tagger import Tagger
from adaptner.nn.decoders.crf import CRF
from adaptner.nn.encoders.active_vocabulary import ActiveVocabulary
from adaptner.nn.losses.sampled_softmax import (
    UNKNOWN,
    LanguageModelInput,
    NegativeSampler,
    OutputWordTable,
    embedded_words,
    language_model_loss,
)
from adaptner.progress import ProgressCallback, no_progress
from adaptner.training.budget import Budget
from adaptner.training.vocabulary import Vocabulary
from adaptner.types import LabelSet, Sentence


class TextConfig(BaseModel):
    """50 negatives are NCRF++'s and Jia2019's; the weight is 1, as the other losses' are."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    zero_shot: bool = Field(False, description="no labelled sentence of the target, but its text")
    lm_weight: float = Field(1.0, ge=0, description="of the language models, without labels")
    negatives: int = Field(50, ge=1, description="words drawn a batch, for the language models")
    vocabulary: int = Field(100_000, ge=1, description="most words that are guessed")


class TextTuneConfig(TextConfig, SourceTargetConfig):
    pass


class LanguageModels(nn.Module):
    """One of the source and one of the target over one table of words, which all words of both share."""

    def __init__(
        self, texts: Sequence[Sequence[Sentence]], width: int, config: TextConfig, noise: Generator
    ) -> None:
        super().__init__()
        self.known = Vocabulary.of(texts, most=config.vocabulary)
        self.words = OutputWordTable(len(self.known), width // 2, noise)
        self._draws = [NegativeSampler(counts) for counts in self.known.counts]
        self._negatives, self._noise = config.negatives, noise

    def forward(self, parts: Sequence[EncodedBatch], lists: Sequence[Sequence[Sentence]]) -> Tensor:
        """Eq. 8 of Jia2019, of a part for each text; the sum."""
        total = self.words.table.new_zeros(())
        for part, own, draws in zip(parts, lists, self._draws, strict=True):
            reading = LanguageModelInput(
                self._numbers(part, own), draws.draw(self._negatives, self._noise)
            )
            rows = embedded_words([reading])
            total = total + language_model_loss(
                part.states[0], reading.words, part.mask[0], self.words.table[rows], rows,
                reading.negatives,
            )  # fmt: skip
        return total

    def _numbers(self, part: EncodedBatch, sentences: Sequence[Sentence]) -> Tensor:
        found = torch.zeros(part.mask.shape[1:], dtype=torch.long)
        found[part.mask[0]] = torch.tensor(
            [self.known.number.get(word, UNKNOWN) for s in sentences for word in s.tokens]
        )
        return found


def adapt_multi_cell(
    base: Base,
    sentences: Sequence[Sentence],
    sources: Mapping[str, Sequence[Sentence]],
    config: TextTuneConfig,
    objective: ObjectiveFactory,
    *,
    labels: LabelSet | None = None,
    unlabelled: Iterable[Sentence] = (),
    budget: Budget | None = None,
    seed: int = 0,
    progress: ProgressCallback = no_progress,
) -> Tagger:
    """What ``objective`` makes has ``side_loss``, of the source's side. Of ``sentences`` the text alone
    is looked at, where there is no other."""
    text = [s.without_entities() for s in unlabelled if len(s)] or [
        s.without_entities() for s in sentences if len(s)
    ]
    if not text:
        raise TooFewSentences(
            found=0, what="the target's raw text", needed=1, option="--unlabelled TEXT"
        )
    target = TargetData.unseen(base, sources, labels)
    pool = [s for own in sources.values() for s in own]
    generator, rng = torch.Generator().manual_seed(seed), random.Random(seed)
    model = add_target_domain(base, list(sources), target.labels, True, False, generator)
    decoder, width = model.decoder_of(0), model.encoder.width
    assert isinstance(decoder, CRF)
    bound = objective(model, generator)
    encode: EncodeFunction = getattr(bound, "encode", model.encoder)
    side_loss: Callable[[EncodedSide], Tensor] = getattr(bound, "side_loss")  # noqa: B009 (a module's part)
    language = LanguageModels([pool, text], width, config, generator)
    table = ActiveVocabulary(model.encoder, base.batcher, [*pool, *text])
    others = [*decoder.parameters(), *bound.parameters(), *language.parameters()]
    optimiser = config.optimiser_of(model.encoder, others)
    batches = SentenceBatches(pool, config.batch, rng), SentenceBatches(text, config.batch, rng)

    def fill() -> float:
        lists = [own.next() for own in batches]
        parts = encode_lists(encode, table.batcher, decoder.labels, lists, generator)
        loss: Tensor = side_loss(EncodedSide(parts[0], decoder, decoder.labels))
        if config.lm_weight:
            states = [EncodedBatch(p.states[..., :width], p.mask, p.tags) for p in parts]
            loss = loss + config.lm_weight * language(states, lists)
        compute_gradients(loss, optimiser.parameters)
        return float(loss.detach())

    steps = take_steps(fill, optimiser, budget or Budget(config.steps_for(len(pool))), progress)
    table.restore()
    facts = adaptation_facts(base, target, steps, seed) | {
        "source_sentences": len(pool),
        "unlabelled": len(text),
    }
    return Tagger(model.encoder, decoder, base.batcher, base.method, facts, base.folder)
