"""Published facts about corpora beside our own counts of the corpora at hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from adaptner.corpora.catalogue import ACCESS, find
from adaptner.corpora.corpus import SPLITS, Corpus, load_corpus
from adaptner.corpora.statistics import Statistics, corpus_statistics
from adaptner.errors import FileMissing
from adaptner.reproduce.report.document import (
    Block,
    Bullets,
    Paragraph,
    ReportPage,
    ReportRow,
    ReportTable,
    Section,
    TableCell,
    table_cell,
)
from adaptner.reproduce.report.html import html_page
from adaptner.reproduce.report.markdown import markdown_page
from adaptner.reproduce.report.request import table_name
from adaptner.reproduce.tables.published import (
    Paper,
    PublishedRow,
    PublishedTable,
    paper,
    row_label,
)

DatasetRemarks = Callable[[str], None]

# A published corpus -> where ours lies, best first. A split behind a colon: the row is about it only.
CORPORA: Mapping[str, tuple[str, ...]] = {
    "NCBI": ("bio8/ncbi-disease",),
    "BC5CDR-disease": ("bio8/bc5cdr-disease",),
    "BC5CDR-drug": ("bio8/bc5cdr-chem",),
    "BC4CHEMD": ("bio8/bc4chemd", "bio8/bc4chemd-sub"),
    "JNLPBA": ("bio8/jnlpba",),
    "BC2GM": ("bio8/bc2gm",),
    "LINNAEUS": ("bio8/linnaeus",),
    "S800": ("bio8/s800",),
    **{d: (f"general/ace2005-{d.lower()}",) for d in ("BC", "BN", "CTS", "NW", "UN", "WL")},
    "CoNLL03": ("news/conll03",),
    "CoNLL": ("news/conll03",),
    **{f"CoNLL-2003 {split}": (f"news/conll03:{split}",) for split in SPLITS},
    "OntoNotes5.0": ("general/ontonotes5",),
    "WikiGold": ("general/wikigold",),
    "Wikigold": ("general/wikigold",),
    "WNUT17": ("general/wnut17",),
    "WNUT 2016": ("general/wnut16:train",),
    "Webpage": ("general/webpage",),
    "BioNLP13PC": ("bio-extra/bionlp13pc",),
    "BioNLP13CG": ("bio-extra/bionlp13cg",),
    "MIT Movie": ("general/mit-movie",),
    "MIT Restaurant": ("general/mit-restaurant",),
    "Re3d": ("general/re3d",),
    "SEC": ("general/sec",),
    "SciTech": ("news/scitech",),
    "CBS News": ("news/scitech",),
    "Reuters": ("raw/reuters",),
    "CBS SciTech News": ("raw/cbs-scitech",),
}
REMARKS: Mapping[str, str] = {
    "bio8/bc4chemd-sub": "a tenth of BC4CHEMD, in a split of our own",
    "general/wikigold": "gold sentences only, in a split of ours; MetaNER's train and dev are silver",
    "general/webpage": "gold labels are at hand for dev and test only",
    "general/wnut16:train": "the train split, which has the published number of tweets",
    "news/scitech": "one set, without splits; 4,138 tokens of 2,824 entities",
}
LEGEND = (
    "In each cell: our count, then the published figure: = the same as printed, else how far "
    "ours is off. – not counted; † a known slip of the paper."
)


def dataset_report(
    source: str | Paper,
    table: str | PublishedTable,
    data_folder: str | Path,
    told: DatasetRemarks = lambda what: None,
) -> tuple[str, str]:
    """Markdown and HTML. ``told`` hears of every corpus before it is read, which may take a while."""
    found = paper(source) if isinstance(source, str) else source
    wanted = found.table(table) if isinstance(table, str) else table
    folder = Path(data_folder)
    if not folder.is_dir():
        raise FileMissing(file=folder, hint="--data is a folder with corpora, group by group")
    document = _document(found, wanted, _Shelf(folder, told))
    return markdown_page(document), html_page(document)


@dataclass(frozen=True)
class _Held:
    """A corpus at hand, or a split of it, and what it holds."""

    place: str
    corpus: Corpus
    figures: Statistics
    splits: tuple[str, ...]

    def sum(self, counts: Mapping[str, int]) -> int:
        return sum(counts.get(split, 0) for split in self.splits)

    def of_type(self, label: str, split: str) -> int:
        sentences = self.corpus.split(split) if split in self.corpus.splits else ()
        return Counter(e.label for s in sentences for e in s.entities)[label]


@dataclass
class _Shelf:
    """Reads every corpus once."""

    folder: Path
    told: DatasetRemarks
    read: dict[str, Corpus] = field(default_factory=dict)
    counted: dict[str, Statistics] = field(default_factory=dict)

    def held(self, published: str) -> _Held | str:
        """The corpus that stands for a published one, or why there is none."""
        places = CORPORA.get(published)
        if places is None:
            return "no corpus of ours stands for it"
        for place in places:
            name, _, split = place.partition(":")
            if (self.folder / name).is_dir():
                corpus = self._corpus(name)
                splits = (split,) if split else corpus.splits
                return _Held(place, corpus, self.counted[name], splits)
        known = find(places[0].partition(":")[0])
        return f"{ACCESS[known.access]}; to be had: {known.obtain or known.address or known.note}"

    def _corpus(self, name: str) -> Corpus:
        if name not in self.read:
            self.told(name)
            self.read[name] = load_corpus(self.folder / name)
            self.counted[name] = corpus_statistics(self.read[name])
        return self.read[name]


def _count(held: _Held, row: PublishedRow, column: str) -> float | None:
    """Our figure for a column, or None where it is not a count of a corpus."""
    figures = held.figures
    split, _, what = column.partition(" ")
    if column == "unique tokens":
        return figures.unique_tokens
    if column == "% sentences with entities":
        return figures.percent_with_entities
    if column in ("types", "types before mapping"):
        return len(figures.mentions_per_type)
    if column in SPLITS:
        return figures.sentences.get(column)
    if column in ("mentions", "entities"):
        return held.sum(figures.mentions)
    if column == "sentences":
        return held.sum(figures.sentences)
    if column == "tokens":
        return held.sum(figures.tokens)
    if split in SPLITS and what == "sentences":
        return figures.sentences.get(split)
    if split in SPLITS and what == "entities":
        return figures.mentions.get(split)
    if column in figures.mentions_per_type and row.setting in SPLITS:
        return held.of_type(column, str(row.setting))
    return None


def _document(source: Paper, table: PublishedTable, shelf: _Shelf) -> ReportPage:
    rows = []
    remarks: dict[str, list[str]] = {}  # a remark -> the rows it is about
    for row in table.rows:
        held = shelf.held(row.corpus or "")
        if isinstance(held, str):
            remarks.setdefault(f"not at hand: {held}", []).append(row_label(row))
        elif held.place in REMARKS:
            remarks.setdefault(REMARKS[held.place], []).append(row_label(row))
        rows.append(_row(source, table, row, held))
    header = [
        TableCell("corpus"),
        TableCell("ours"),
        *(TableCell(column) for column in table.columns),
    ]
    lead: list[Block] = [
        Paragraph(LEGEND, quiet=True),
        ReportTable(header, rows, names=2),
        Paragraph(f"The published figures: {table.protocol}.", quiet=True),
    ]
    if shelf.read and all(table_cell(e).text == "–" for row in rows for e in row.entries[2:]):
        lead.append(
            Paragraph("These are settings of the method: no count of ours stands beside them.")
        )
    slips = [
        (s.corpus or s.column or "the table", s.note) for s in source.slips if s.table == table.id
    ]
    about = Bullets([(", ".join(labels), said) for said, labels in remarks.items()])
    sections = [Section("About the corpora", [about], open=True)] if remarks else []
    if slips:
        sections.append(Section("Known slips of the published table (†)", [Bullets(slips)]))
    return ReportPage(
        title=f"{source.short}, {table_name(table)}: {table.caption}",
        above=f"Corpora of “{source.title}” ({source.year}), beside our own counts",
        lead=lead,
        sections=sections,
    )


def _row(source: Paper, table: PublishedTable, row: PublishedRow, held: _Held | str) -> ReportRow:
    place = "" if isinstance(held, str) else held.place.replace(":", ", ")
    cells = [
        TableCell(row_label(row)),
        TableCell(place or "not at hand", tip=held if isinstance(held, str) else ""),
    ]
    for column in table.columns:
        published = table.value(row, column)
        slipped = any(
            s.table == table.id and (s.corpus, s.setting) in ((row.corpus, row.setting), (row.corpus, None))
            and s.column in (None, column)
            for s in source.slips
        )  # fmt: skip
        count = None if isinstance(held, str) else _count(held, row, column)
        cells.append(_entry(table, count, published, "†" if slipped else ""))
    return ReportRow(cells)


def _entry(
    table: PublishedTable, count: float | None, published: float | None, slip: str
) -> TableCell:
    thousand = table.unit == "thousand"
    shown = "" if published is None else f"{published:,.{table.decimals}f}{'K' if thousand else ''}"
    if count is None:
        return TableCell("–", under=f"{shown}{slip}", tone="missing")
    ours = f"{count:,}" if isinstance(count, int) else f"{count:,.1f}"
    if published is None:
        return TableCell(ours, under="not in the paper")
    if round(count / (1000 if thousand else 1), table.decimals) == published:
        return TableCell(ours, under=f"{shown}{slip} =", tone="within")
    wanted = published * (1000 if thousand else 1)
    off = f"{100 * (count / wanted - 1):+.1f} %".replace("-", "−") if wanted else "≠"
    return TableCell(ours, under=f"{shown}{slip}, {off}", tone="not comparable")
