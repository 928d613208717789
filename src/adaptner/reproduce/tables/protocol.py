"""Types that say which corpora fill the columns of a published table, and which methods its rows.

The protocols themselves are in ``protocols/``.
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

# The name of a transformer in published rows, and of our variant that fills them.
BERT = "bert"

# "news/scitech:whole": all sentences are scored, and their text is training data without labels
# (transductive, because the raw text of Jia2019 is not available).
WHOLE_SUFFIX = ":whole"

Variants = Mapping[str, Mapping[str, Any]]  # name -> settings


def folder_of(place: str) -> str:
    """Returns the folder of a corpus, relative to the data folder."""
    return place.removesuffix(WHOLE_SUFFIX)


@dataclass(frozen=True)
class TargetCorpus:
    """A target: ``corpus`` is its folder, relative to the data folder. ``note`` says why results
    cannot be compared with the published ``column``; it is empty if they can."""

    corpus: str
    column: str | None = None
    note: str = ""

    @property
    def name(self) -> str:
        return folder_of(self.corpus).rpartition("/")[2]


@dataclass(frozen=True)
class TargetGroup:
    """Targets that share their sources, and therefore a base.

    Source sentences that occur in the test split of a ``held_out`` corpus (default: of a target) are
    left out. Groups with the same sources and held-out corpora share a base. ``sizes`` replace those
    of the table, and ``settings_by_method`` apply to these targets only.
    """

    name: str
    targets: tuple[TargetCorpus, ...]
    sources: tuple[str, ...]
    sizes: tuple[int, ...] = ()
    held_out: tuple[TargetCorpus, ...] = ()
    settings_by_method: Variants = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class Protocol:
    """What fills a table. A size of 0 is zero-shot.

    ``settings`` apply to all methods. ``quick`` and, for single methods, ``quick_by_method`` are
    added in profiles without recipes. ``rows`` names our method for rows that do not, ``extra`` lists
    methods without a published row. ``variants`` are settings for rows that are variants of a method.

    ``transformers`` are methods that have a second row with a transformer as encoder. It is run if
    the user names one, with the settings ``transformer`` and ``transformer_by_method``.

    ``source_sentences``: in profiles without recipes, each draw of the target draws that many
    sentences of each source corpus, and therefore has its own base. Otherwise ``bases`` of them are
    crossed with all draws, unless the user asks for another number.

    ``paper_adaptation``: in profiles with recipes, the name of the settings by which pretrained bases are
    adapted, without a transformer (``settings.ADAPTATIONS``).

    ``hardness`` tables are filled from the records of a base, without draws. ``reason`` says why
    nothing fills the table.
    """

    table: str
    groups: tuple[TargetGroup, ...] = ()
    vectors: str | None = None
    sizes: tuple[int, ...] = ()
    shares: tuple[float, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    quick: Mapping[str, Any] = field(default_factory=dict)
    quick_by_method: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    rows: Mapping[str, str] = field(default_factory=dict)
    variants: Mapping[str, Variants] = field(default_factory=dict)
    transformers: tuple[str, ...] = ()
    transformer: Mapping[str, Any] = field(default_factory=dict)
    transformer_by_method: Variants = field(default_factory=dict)
    source_sentences: int | None = None
    paper_adaptation: str = ""
    bases: int = 1
    extra: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    hardness: bool = False
    quick_draws: int | None = None
    reason: str = ""

    @property
    def targets(self) -> tuple[TargetCorpus, ...]:
        return tuple(target for group in self.groups for target in group.targets)

    @property
    def columns(self) -> dict[str, str]:
        """Our corpus for each published column that has one."""
        return {t.column: t.name for t in self.targets if t.column is not None}


@dataclass(frozen=True)
class RowFilling:
    """A published row with our method for it, or the reason why there is none. ``any_encoder`` rows
    are filled with or without a transformer, as the user requests."""

    row: PublishedRow
    method: str | None
    reason: str = ""
    any_encoder: bool = False

    @property
    def label(self) -> str:
        return row_label(self.row)

    def is_run(self, encoder: str | None) -> bool:
        """True if the row is filled in a run with this transformer, or without one if it is None."""
        if self.method is None:
            return False
        if encoder is None:
            return self.row.encoder != BERT
        return self.row.encoder == BERT or (self.row.encoder is None and self.any_encoder)


def fillings(protocol: Protocol, table: PublishedTable) -> list[RowFilling]:
    """Returns the filling of each printed row."""
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
        return RowFilling(row, None, f"{row.method} is not implemented")
    with_variant = [name for name, variants in protocol.variants.items() if row.method in variants]
    named = row.method_id or protocol.rows.get(row.method or "") or next(iter(with_variant), None)
    if named is None:
        titles = {m.title.lower(): name for name, m in known.items()}
        named = titles.get((row.method or "").lower())
    if named is None:
        return RowFilling(row, None, f"{row.method} is not among our methods")
    if named not in known:
        return RowFilling(row, None, f"{named} is not implemented")
    if row.setting == UNSUPERVISED and not known[named].capabilities.zero_shot:
        return RowFilling(row, None, f"{named} needs labelled sentences of the target")
    if protocol.sizes and row.size is not None and row.size not in protocol.sizes:
        return RowFilling(row, None, f"size {row.size} is not run")
    return RowFilling(row, named, any_encoder=named in protocol.transformers)


def find_table(name: str) -> tuple[Paper, PublishedTable]:
    """Returns the published table called ``hgda/3``, ``HGDA 3`` or ``HGDA Table 3``."""
    tables = {f"{p.name}/{t.id}": (p, t) for p in papers() for t in p.tables}
    key = "/".join(
        part for part in name.lower().replace("/", " ").split() if part not in ("table", "tab.")
    )
    if key not in tables:
        raise UnknownName(
            kind="table", name=name, near=did_you_mean(key, list(tables)), known=", ".join(tables)
        )
    return tables[key]
