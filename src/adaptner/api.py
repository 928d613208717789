"""The public functions behind ``import adaptner``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from adaptner import formats
from adaptner.adaptation.demo_base import demo_base
from adaptner.adaptation.tagger import Tagger
from adaptner.errors import EmptyFile
from adaptner.methods import method as find_method
from adaptner.text.alignment import sentences_of
from adaptner.training.base import Base
from adaptner.training.progress import Watch, silent
from adaptner.training.settings import prepare_process
from adaptner.types import Document, Sentence

__all__ = ["Tagger", "adapt", "load", "read"]


def read(path: str | Path, format: str | None = None) -> list[Sentence]:
    """The labelled sentences of a file (CoNLL, JSON Lines or plain text)."""
    sentences = [
        sentence
        for placed in formats.find(path, format).placed(path)
        for sentence in sentences_of(placed.document, path, placed.line)
    ]
    if not sentences:
        raise EmptyFile(file=path, unit="labelled sentence")
    return sentences


def adapt(
    sentences: str | Path | Iterable[Sentence | Document],
    base: str | Path | Base | None = None,
    *,
    seed: int = 0,
    watch: Watch = silent,
) -> Tagger:
    """A tagger from a few labelled sentences (a file, or what ``read`` gives) and a base; without
    one, from the base the package brings (trained at its first use).

    >>> tagger = adapt("sentences.jsonl", base="my-base")            # doctest: +SKIP
    """
    prepare_process()
    if isinstance(sentences, (str, Path)):
        given: Sequence[Sentence] = read(sentences)
    else:
        given = [
            part
            for item in sentences
            for part in (sentences_of(item) if isinstance(item, Document) else [item])
        ]
    if base is None:
        base = demo_base(watch)
    elif not isinstance(base, Base):
        base = Base.load(base)
    chosen = find_method(base.method)(**base.config)
    return chosen.adapt(base, given, seed=seed, watch=watch)


def load(folder: str | Path) -> Tagger:
    """A tagger saved by ``Tagger.save`` or ``adaptner adapt -o``."""
    prepare_process()
    return Tagger.load(folder)
