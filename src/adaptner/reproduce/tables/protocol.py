"""How a published table is filled: which corpora stand for its columns, which methods for its rows.

The protocols themselves are in ``protocols.py``. A row that we cannot fill yet has a reason instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from adaptner.errors import UnknownName, did_you_mean
from adaptner.reproduce.tables.published import (
    UNSUPERVISED,
    Paper,
    PublishedRow,
    PublishedTable,
    papers,
    row_label,
)

# What published tables call a row's transformer, and our variant that fills it.
BERT = "bert"

# "news/scitech:whole": all sentences are scored, and their text is learnt from without labels
# (transductive: the raw text of Jia2019 cannot be had).
WHOLE = ":whole"

Variants = Mapping[str, Mapping[str, Any]]  # name -> settings


def folder_of(place: str) -> str:
    """The folder of a corpus below the data folder."""
    return place.removesuffix(WHOLE)


@dataclass(frozen=True)
class TargetCorpus:
    """A corpus that is adapted to: ``corpus`` is its folder below the data folder. ``note`` says why
    figures on it do not compare with the column's; it is empty where they do."""

    corpus: str
    column: str | None = None
    note: str = ""

    @property
    def name(self) -> str:
        return folder_of(self.corpus).rpartition("/")[2]


@dataclass(frozen=True)
class TargetGroup:
    """Targets that share their sources, and so a base. No source is learnt from with a sentence that
    stands in the test split of one of the targets."""

    name: str
    targets: tuple[TargetCorpus, ...]
    sources: tuple[str, ...]
    sizes: tuple[int, ...] = ()  # in place of the table's
    held_out: tuple[
        TargetCorpus, ...
    ] = ()  # in place of the targets: groups with the same share a base
    own: Variants = field(
        default_factory=dict, hash=False
    )  # settings of a method, on these targets


@dataclass(frozen=True)
class Protocol:
    """What fills a table. A size of 0 is zero-shot. ``settings`` are those of all methods; ``quick`` and, for one method each,
    ``quick_own`` go on top of them where a profile does not follow recipes. ``rows`` names our
    method where the table's row does not; ``variants`` are settings on top of a method's, by the
    row's name; ``transformers`` are methods with a row of their own that has one for an encoder, run
    when one is named, with the settings ``transformer`` and, for one method each,
    ``transformer_own``; ``extra`` are methods worth a row that the paper does not have.
    ``source_sentences``: where a profile does not follow recipes, so many of each source corpus, drawn
    anew with each draw of the target, which so has a base of its own."""

    table: str
    groups: tuple[TargetGroup, ...] = ()
    vectors: str | None = None
    sizes: tuple[int, ...] = ()
    shares: tuple[float, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    quick: Mapping[str, Any] = field(default_factory=dict)
    quick_own: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    rows: Mapping[str, str] = field(default_factory=dict)
    variants: Mapping[str, Variants] = field(default_factory=dict)
    transformers: tuple[str, ...] = ()
    transformer: Mapping[str, Any] = field(default_factory=dict)
    transformer_own: Variants = field(default_factory=dict)
    source_sentences: int | None = None
    extra: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    hardness: bool = False  # filled from the records of a base; nothing is drawn
    quick_draws: int | None = None
    reason: str = ""  # why nothing fills it, where nothing does

    @property
    def targets(self) -> tuple[TargetCorpus, ...]:
        return tuple(target for group in self.groups for target in group.targets)

    @property
    def columns(self) -> dict[str, str]:
        """The paper's column -> our corpus, where one stands for it."""
        return {t.column: t.name for t in self.targets if t.column is not None}


@dataclass(frozen=True)
class RowFilling:
    """A row of a published table and our method for it, or the reason why there is none."""

    row: PublishedRow
    method: str | None
    reason: str = ""
    either: bool = False  # it is filled with a transformer or without, as is asked for

    @property
    def label(self) -> str:
        return row_label(self.row)

    def is_run(self, encoder: str | None) -> bool:
        """Rows with a transformer are filled where one is named, and no others then but those that may
        have any encoder (PDALN's own)."""
        if self.method is None:
            return False
        if encoder is None:
            return self.row.encoder != BERT
        return self.row.encoder == BERT or (self.row.encoder is None and self.either)


def fillings(protocol: Protocol, table: PublishedTable) -> list[RowFilling]:
    """One for each printed row."""
    return [_filling(protocol, row) for row in table.rows]


def _filling(protocol: Protocol, row: PublishedRow) -> RowFilling:
    from adaptner.methods import methods

    known = methods()
    if protocol.reason:
        return RowFilling(row, None, protocol.reason)
    if protocol.hardness:
        return RowFilling(row, "hgda")
    if row.encoder == BERT:
        if row.method_id in protocol.transformers:
            return RowFilling(row, row.method_id)
        return RowFilling(row, None, f"{row.method} is to come")
    varied = [name for name, own in protocol.variants.items() if row.method in own]
    named = row.method_id or protocol.rows.get(row.method or "") or next(iter(varied), None)
    if named is None:
        titles = {m.title.lower(): name for name, m in known.items()}
        named = titles.get((row.method or "").lower())
    if named is None:
        return RowFilling(row, None, f"{row.method} is not among our methods")
    if named not in known:
        return RowFilling(row, None, f"{named} is to come")
    if row.setting == UNSUPERVISED and not known[named].capabilities.zero_shot:
        return RowFilling(row, None, f"{named} needs labelled sentences of the target")
    if protocol.sizes and row.size is not None and row.size not in protocol.sizes:
        return RowFilling(row, None, f"size {row.size} is not run")
    return RowFilling(row, named, either=named in protocol.transformers)


def find_table(name: str) -> tuple[Paper, PublishedTable]:
    """``hgda/3``, ``HGDA 3``, ``HGDA Table 3``: the published table of that name."""
    every = {f"{p.name}/{t.id}": (p, t) for p in papers() for t in p.tables}
    spelled = "/".join(
        part for part in name.lower().replace("/", " ").split() if part not in ("table", "tab.")
    )
    if spelled not in every:
        raise UnknownName(
            kind="table", name=name, near=did_you_mean(spelled, list(every)), known=", ".join(every)
        )
    return every[spelled]
