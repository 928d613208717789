"""The raw text that language models read: the user's, that of the source corpora, or files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from adaptner.corpora.raw_text import find_text_files
from adaptner.corpora.sentence_stream import RawTextFiles, SentenceStream
from adaptner.errors import TooFewSentences
from adaptner.types import Sentence


class RawTextConfig(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    negatives: int = Field(50, ge=1, description="Negative samples of a batch.")
    vocabulary: int = Field(100_000, ge=1, description="Maximum number of words to predict.")
    max_words: int = Field(
        100, ge=2, description="Maximum words of a raw sentence; the rest is cut off."
    )
    source_text: tuple[str, ...] = Field(
        (), description="Files to read instead of the source corpora's text."
    )
    target_text: tuple[str, ...] = Field(
        (), description="Files to read instead of the unlabelled text."
    )
    source_sentences: int | None = Field(
        None, ge=1, description="Maximum raw sentences of each source."
    )
    target_sentences: int | None = Field(
        None, ge=1, description="Maximum raw sentences of the target."
    )

    def text_of_target(self, unlabelled: Iterable[Sentence]) -> SentenceStream:
        parts = _files(self.target_text) or (unlabelled,)
        text = SentenceStream(parts, self.target_sentences, self.max_words)
        if not has_sentences(text):
            raise TooFewSentences(
                found=0, what="the target's raw text", needed=1, option="--unlabelled TEXT"
            )
        return text

    def texts_of_sources(self, sources: Iterable[Sequence[Sentence]]) -> list[SentenceStream]:
        """A text for each source: its sentences or, if files are set, all files."""
        files = _files(self.source_text)
        return [
            SentenceStream(files or (sentences,), self.source_sentences, self.max_words)
            for sentences in sources
        ]


def text_or_labelled(
    unlabelled: Iterable[Sentence], labelled: Sequence[Sentence]
) -> Iterable[Sentence]:
    """The unlabelled text or, if it is empty, the labelled sentences without their labels."""
    if has_sentences(unlabelled):
        return unlabelled
    return [s.without_entities() for s in labelled if len(s)]


def has_sentences(text: Iterable[Sentence]) -> bool:
    return any(len(sentence) for sentence in text)


def _files(names: Sequence[str]) -> tuple[RawTextFiles, ...]:
    return (RawTextFiles(tuple(find_text_files([Path(name) for name in names]))),) if names else ()
