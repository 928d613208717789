"""Compiles files of terminologies and lists, with what raw text says about their names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from adaptner.corpora.raw_text import sentences_of_files
from adaptner.errors import FileMissing, NoUsableNames
from adaptner.progress import ProgressCallback, Shown
from adaptner.terms.abbreviations import add_meanings, count_definitions
from adaptner.terms.build import compile_concepts
from adaptner.terms.compiled import CompiledTerms
from adaptner.terms.concepts import Concept
from adaptner.terms.dictionary import Dictionary
from adaptner.terms.licences import terminology_sources
from adaptner.terms.readers import ENDINGS, read_concepts
from adaptner.terms.readers.files import plain_name
from adaptner.terms.statistics import (
    NameCounts,
    add_counts,
    frequent_mentions,
    in_batches,
    ordinary_words,
)

# NLM calls MeSH's files after the year: "desc2026.xml", "c2026.bin".
_NLM_NAMES = (
    (re.compile(r"(?:desc|d)\d{4}"), "mesh"),
    (re.compile(r"(?:supp|c)\d{4}"), "mesh-supplementary"),
)
_EXAMPLES = 5
_SAMPLE_EVERY, _MOST_IN_SAMPLE = 40, 30_000  # sentences for the examples


@dataclass(frozen=True)
class Sources:
    """The files to compile by name, and those that are left out because they may not ship."""

    files: Mapping[str, Path]
    left_out: tuple[str, ...] = ()


def find_sources(paths: Sequence[Path], only_shippable: bool = False) -> Sources:
    """Returns files and those in folders, known ones in the order of ``licences.toml``, which is that of ids.
    A file replaces an earlier one of the same name: "mesh.tsv.xz" and "desc2026.xml" are both "mesh"."""
    found: dict[str, Path] = {}
    for path in paths:
        for file in _terminologies_in(path) if path.is_dir() else [path]:
            if not file.exists():
                raise FileMissing(file=file, hint="give terminologies or lists of names")
            found[source_name(file)] = file
    known = list(terminology_sources())
    names = [name for name in known if name in found] + [
        name for name in found if name not in known
    ]
    found = {name: found[name] for name in names}
    if not only_shippable:
        return Sources(found)
    shipping = {name for name, source in terminology_sources().items() if source.ships}
    left_out = tuple(name for name in found if name not in shipping)
    return Sources({name: file for name, file in found.items() if name in shipping}, left_out)


def _terminologies_in(folder: Path) -> list[Path]:
    files = sorted(p for p in folder.iterdir() if plain_name(p).suffix.lower() in ENDINGS)
    return [file for file in files if file.is_file() and not file.name.startswith(".")]


def source_name(path: Path) -> str:
    stem = plain_name(path).stem
    return next((name for pattern, name in _NLM_NAMES if pattern.fullmatch(stem)), stem)


def compile_files(
    sources: Sources,
    shown: Shown,
    *,
    text: Sequence[Path] = (),
    general: Sequence[Path] = (),
    exclude: Sequence[str] = (),
) -> CompiledTerms:
    """Returns the compiled names. ``text`` and ``general`` are raw texts of the field and of any other, one
    tokenised sentence a line."""
    with shown("reading names") as progress:
        terms = compile_concepts(
            _reading(sources.files, progress),
            confirmed_by={
                name: source.only_confirmed_by
                for name, source in terminology_sources().items()
                if source.only_confirmed_by
            },
            exclude=exclude,
        )
    if not len(terms):
        raise NoUsableNames(known=", ".join(terms.facts["kinds"]))
    if text or general:
        _add_statistics(terms, shown, text, general)
    return terms


def _reading(
    files: Mapping[str, Path], progress: ProgressCallback
) -> Iterator[tuple[str, Iterator[Concept]]]:
    sizes = [file.stat().st_size for file in files.values()]
    for i, (name, file) in enumerate(files.items()):
        progress(100 * sum(sizes[:i]) // max(1, sum(sizes)), 100, name)
        yield name, read_concepts(file)


def _add_statistics(
    terms: CompiledTerms, shown: Shown, text: Sequence[Path], general: Sequence[Path]
) -> None:
    definitions: Counter[tuple[str, str]] = Counter()
    words: dict[str, Counter[str]] = {}
    sample: list[Sequence[str]] = []
    counts: dict[str, np.ndarray] = {}
    for name, texts in (("field", text), ("general", general)):
        of_text = NameCounts(terms)
        with shown(f"counting in {name} text") as progress:
            tokenised = (s.split(" ") for s in sentences_of_files(texts, progress) if texts)
            for batch in in_batches(tokenised):
                of_text.add(batch)
                if name == "field":
                    definitions.update(count_definitions(batch))
                    sample += batch[::_SAMPLE_EVERY]
        words[name] = of_text.words
        terms.facts[f"{name}_tokens"] = max(1, of_text.tokens)
        counts |= {f"{name}_{count}": values for count, values in of_text.counts.items()}
    add_counts(terms, counts)
    terms.arrays["ordinary_words"] = ordinary_words(words["general"], words["field"])
    add_meanings(terms, definitions)
    step = 1 + len(sample) // _MOST_IN_SAMPLE
    terms.facts["examples"] = frequent_mentions(Dictionary(terms), sample[::step], _EXAMPLES)
