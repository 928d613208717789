"""Reads what callers pass: files, texts, sentences, corpora and bases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from adaptner import compute, formats
from adaptner.corpora.corpus import group_by_domain, load_corpus
from adaptner.corpora.raw_text import ENDINGS, find_text_files
from adaptner.corpora.sentence_stream import ChainedSentences, RawTextFiles
from adaptner.corpora.sources import SourceDomain, source_domains
from adaptner.errors import EmptyFile, TermsNeeded, UnknownName
from adaptner.models.base import Base
from adaptner.models.installed import default_base, load_base
from adaptner.terms.dictionary import Dictionary
from adaptner.text.alignment import to_sentences
from adaptner.types import Document, Sentence

SourceSpec = str | Path | SourceDomain
Unlabelled = str | Path | Sentence


def read(path: str | Path, format: str | None = None) -> list[Sentence]:
    """Return the labelled sentences of a file (CoNLL or JSON Lines).

    The file's ending decides the format unless ``format`` names it. Raises EmptyFile if the file has
    no sentence.

    >>> sentences = read("sentences.jsonl")                          # doctest: +SKIP
    """
    sentences = list(formats.read_sentences(path, format))
    if not sentences:
        raise EmptyFile(file=path, unit="labelled sentence")
    return sentences


def as_list(value: Any, single: type) -> list[Any]:
    """``value`` as a list; a path or an object of type ``single`` may be passed without one."""
    return [value] if isinstance(value, (str, Path, single)) else list(value)


def read_sources(
    sources: Iterable[SourceSpec], held_out: Iterable[Sentence] = ()
) -> list[SourceDomain]:
    """The source domains of corpora, without the sentences that occur in ``held_out``."""
    specs = list(sources)
    corpora = [load_corpus(spec) for spec in specs if not isinstance(spec, SourceDomain)]
    domains = [spec for spec in specs if isinstance(spec, SourceDomain)]
    return domains + source_domains(group_by_domain(corpora), held_out)


def read_text(texts: Iterable[Unlabelled]) -> list[Sentence]:
    """The unlabelled sentences, in memory."""
    return [s for item in texts for s in sentences_of(item) if len(s)]


def stream_text(texts: Sequence[Unlabelled]) -> Iterable[Sentence]:
    """The unlabelled sentences. Raw text files are read again in every iteration, other texts are in
    memory. Raises EmptyFile at once if a raw text file has no sentence."""
    parts: list[Iterable[Sentence]] = []
    for item in texts:
        if not isinstance(item, Sentence) and str(item).lower().endswith(ENDINGS):
            file = RawTextFiles(tuple(find_text_files([Path(item)])))
            if next(iter(file), None) is None:
                raise EmptyFile(file=str(item), unit="sentence")
            parts.append(file)
        else:
            parts.append(sentences_of(item))
    return ChainedSentences(tuple(parts))


def sentences_of(item: Unlabelled) -> list[Sentence]:
    """The sentences of a file or a text, or a single sentence, without labels."""
    if isinstance(item, Sentence):
        return [Sentence(item.text, item.token_spans)]
    endings = [ending for format in formats.FORMATS.values() for ending in format.endings]
    if isinstance(item, str) and not item.lower().endswith((*endings, *ENDINGS)):
        return to_sentences(Document(item))
    if str(item).lower().endswith((".gz", ".xz")):
        return list(RawTextFiles(tuple(find_text_files([Path(item)]))))
    # Labels are dropped before tokenising, so that misaligned ones are no error here.
    documents = (Document(d.text, token_spans=d.token_spans) for d in formats.read(item))
    return [sentence for document in documents for sentence in to_sentences(document)]


def with_own_names(
    base: Base, lists: Mapping[str, str | Path], labels: Iterable[str], *, keep_all: bool = False
) -> tuple[Base, dict[str, dict[str, str]]]:
    """``base`` with the names of lists for labels beside those of its terminologies, and the names that are
    not used, with the reasons. Raises UsageError for a list whose label is not among ``labels``, and
    TermsNeeded for a base without terminologies."""
    from adaptner.terms.own_names import compile_list
    from adaptner.terms.readers import read_concepts

    known = list(labels)
    for label in lists:
        if label not in known:
            raise UnknownName.among(known, kind="label", name=label)
    if base.dictionary is None:
        raise TermsNeeded(file=base.folder, labels=", ".join(lists))
    own = {
        label: compile_list(label, read_concepts(file), base.dictionary.terms, keep_all=keep_all)
        for label, file in lists.items()
    }
    names = {label: found.terms for label, found in own.items()}
    dropped = {label: dict(found.dropped) for label, found in own.items() if found.dropped}
    return replace(base, dictionary=Dictionary(base.dictionary.terms, names)), dropped


def find_base(base: str | Path | Base | None, device: str) -> Base:
    """The base in a folder or with a name, by default that of the package, on the named device. With
    "auto", a loaded base stays where it is."""
    where = compute.find_device(device)
    if base is None:
        return default_base(where)
    if not isinstance(base, Base):
        return load_base(base, where)
    return base if device == "auto" else base.to(where)
