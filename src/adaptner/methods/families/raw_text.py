"""The raw text that language models read: the user's, the sources' own, or files."""

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

    negatives: int = Field(50, ge=1, description="words drawn a batch")
    vocabulary: int = Field(100_000, ge=1, description="most words that are guessed")
    max_words: int = Field(100, ge=2, description="words of a raw sentence that are read")
    source_text: tuple[str, ...] = Field((), description="files; else the source corpora's text")
    target_text: tuple[str, ...] = Field((), description="files, instead of the text given")
    source_sentences: int | None = Field(None, ge=1, description="of raw text, at most")
    target_sentences: int | None = Field(None, ge=1, description="of raw text, at most")

    def text_of_target(self, given: Iterable[Sentence]) -> SentenceStream:
        parts = _files(self.target_text) or (given,)
        found = SentenceStream(parts, self.target_sentences, self.max_words)
        if not has_sentences(found):
            raise TooFewSentences(
                found=0, what="the target's raw text", needed=1, option="--unlabelled TEXT"
            )
        return found

    def texts_of_sources(self, sources: Iterable[Sequence[Sentence]]) -> list[SentenceStream]:
        """One for each source; the files, where there are any, for every one of them."""
        files = _files(self.source_text)
        return [
            SentenceStream(files or (own,), self.source_sentences, self.max_words)
            for own in sources
        ]


def text_or_labelled(
    unlabelled: Iterable[Sentence], labelled: Sequence[Sentence]
) -> Iterable[Sentence]:
    """Where there is no text without labels, the labelled sentences serve, without theirs."""
    return (
        unlabelled
        if has_sentences(unlabelled)
        else [s.without_entities() for s in labelled if len(s)]
    )


def has_sentences(text: Iterable[Sentence]) -> bool:
    return any(len(sentence) for sentence in text)


def _files(names: Sequence[str]) -> tuple[RawTextFiles, ...]:
    return (RawTextFiles(tuple(find_text_files([Path(name) for name in names]))),) if names else ()
