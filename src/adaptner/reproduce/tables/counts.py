"""Compares the papers' tables about corpora with our counts of the same corpora."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adaptner.corpora.corpus import Corpus, load_corpus
from adaptner.corpora.statistics import Statistics, corpus_statistics
from adaptner.progress import ProgressCallback, no_progress
from adaptner.reproduce.tables.protocols.biomedical import BIO8
from adaptner.reproduce.tables.protocols.metaner import FIVE_TARGETS
from adaptner.reproduce.tables.published import PublishedRow, PublishedTable

if TYPE_CHECKING:
    from rich.table import Table

_HGDA = {t.column or "": t.corpus for group in BIO8 for t in group.targets}
_NOTES = {t.column or "": t.note for group in BIO8 for t in group.targets if t.note}
_METANER = {
    "CoNLL03": "news/conll03",
    "WikiGold": "general/wikigold",
    "WNUT17": "general/wnut17",
    **{t.column or "": t.corpus for t in FIVE_TARGETS.targets},
}
_JIA = {
    "CoNLL": "news/conll03",
    "BioNLP13PC": "bio-extra/bionlp13pc",
    "BioNLP13CG": "bio-extra/bionlp13cg",
    "CBS News": "news/scitech",
}
_PDALN = {
    **{f"CoNLL-2003 {split}": f"news/conll03:{split}" for split in ("train", "dev", "test")},
    "SciTech": "news/scitech",
    "WNUT 2016": "general/wnut16:train",
    "Webpage": "general/webpage",
    "Wikigold": "general/wikigold",
}

# Table -> the paper's name of a corpus -> its folder, relative to the data folder; FOLDER:SPLIT is a
# single split.
PLACES: dict[str, dict[str, str]] = {
    "hgda/2": _HGDA,
    "metabioner/2": _HGDA,
    "metaner/1": {},  # ACE2005
    "metaner/4": _METANER,
    "jia2019/1": _JIA,
    "jia2019/2": _JIA,
    "pdaln/data": _PDALN,
}

LICENSED = "requires a licence (see `adaptner corpora list`)"  # ACE2005, OntoNotes


@dataclass(frozen=True)
class CorpusCounts:
    """A printed row with our values, None in columns that we cannot count. ``reason`` says why there
    are no values."""

    row: PublishedRow
    ours: tuple[float | None, ...]
    reason: str = ""

    @property
    def note(self) -> str:
        """How our corpus differs from the paper's."""
        return _NOTES.get(self.row.corpus or "", "")


def count_corpora(
    name: str, table: PublishedTable, data: Path, progress: ProgressCallback = no_progress
) -> list[CorpusCounts]:
    """Returns our counts for each row. Only one corpus is in memory at a time."""
    places = PLACES[name]
    found: list[CorpusCounts] = []
    loaded: dict[str, tuple[Corpus, Statistics]] = {}
    for number, row in enumerate(table.rows, 1):
        place = places.get(row.corpus or "")
        progress(number, len(table.rows), row.corpus or "")
        folder, _, split = (place or "").partition(":")
        if place is None or not (data / folder).is_dir():
            reason = LICENSED if place is None else f"{data / folder} does not exist"
            found.append(CorpusCounts(row, (None,) * len(table.columns), reason))
            continue
        if place not in loaded:
            corpus = load_corpus(data / folder)
            if split:
                corpus = replace(corpus, sentences={split: corpus.split(split)})
            loaded = {place: (corpus, corpus_statistics(corpus))}
        corpus, figures = loaded[place]
        scale = 1000 if table.unit == "thousand" else 1
        values = [_value(column, row, corpus, figures) for column in table.columns]
        ours = tuple(None if v is None else round(v / scale, table.decimals) for v in values)
        found.append(CorpusCounts(row, ours))
    return found


def as_facts(table: PublishedTable, rows: list[CorpusCounts]) -> list[dict[str, Any]]:
    return [
        {
            "corpus": counts.row.corpus,
            "setting": counts.row.setting,
            "published": dict(zip(table.columns, counts.row.values, strict=True)),
            "ours": dict(zip(table.columns, counts.ours, strict=True)),
            "reason": counts.reason,
            "note": counts.note,
        }
        for counts in rows
    ]


def counts_table(table: PublishedTable, rows: list[CorpusCounts]) -> Table:
    from rich import box
    from rich.table import Table

    shown = Table(title=table.caption, box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    shown.add_column("corpus")
    shown.add_column("")
    for column in table.columns:
        shown.add_column(column, justify="right")
    for counts in rows:
        name = ", ".join(part for part in (counts.row.corpus, counts.row.setting) if part)
        shown.add_row(name, "paper", *(_figure(v, table) for v in counts.row.values))
        ours = [counts.reason] if counts.reason else [_figure(v, table) for v in counts.ours]
        shown.add_row("", "ours", *ours)
    notes = [f"{c.row.corpus}: {c.note}" for c in rows if c.note]
    shown.caption = "; ".join(notes) or None
    return shown


def _figure(value: float | None, table: PublishedTable) -> str:
    return "" if value is None else f"{value:,.{table.decimals}f}"


_CORPUS_COUNTS: dict[str, Callable[[Statistics], float]] = {
    "unique tokens": lambda s: s.unique_tokens,
    "% sentences with entities": lambda s: s.percent_with_entities,
    "types": lambda s: len(s.mentions_per_type),
    "mentions": lambda s: sum(s.mentions.values()),
    "entities": lambda s: sum(s.mentions.values()),
    "sentences": lambda s: sum(s.sentences.values()),
    "tokens": lambda s: sum(s.tokens.values()),
    "types before mapping": lambda s: len(s.mentions_per_type),
}


def _value(column: str, row: PublishedRow, corpus: Corpus, figures: Statistics) -> float | None:
    if column in _CORPUS_COUNTS:
        return _CORPUS_COUNTS[column](figures)
    split, _, what = column.partition(" ")
    if split in ("train", "dev", "test"):  # "train", "train sentences", "train entities"
        by_split = figures.mentions if what == "entities" else figures.sentences
        return by_split.get(split)
    if row.setting in corpus.splits:  # columns are types, rows are splits
        return Counter(e.label for s in corpus.split(row.setting) for e in s.entities)[column]
    return None
