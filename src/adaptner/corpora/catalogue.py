"""The catalogue of known corpora: where they are from, under which licence, and their checksums.

``catalogue.toml`` holds facts only; a corpus is a folder ``DATA/group/name`` with one ``.conll`` file
a split, and it is the corpus of the catalogue if the SHA-256 of each file is.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from posixpath import commonpath, dirname
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

from adaptner.corpora.corpus import SPLITS
from adaptner.errors import UnknownName, did_you_mean
from adaptner.files import digest

# How a corpus is come by, and what `corpora list` calls one that is not there.
ACCESS = MappingProxyType(
    {
        "public": "obtainable",
        "copy": "by copy",
        "by-hand": "by hand",
        "licensed": "licensed",
        "unavailable": "not available",
    }
)


@dataclass(frozen=True)
class CatalogueEntry:
    """What is known of one corpus; the head of ``catalogue.toml`` says what the fields mean."""

    name: str
    domain: str
    licence: str
    access: str
    papers: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    sentences: Mapping[str, int] = field(default_factory=dict)
    sha256: Mapping[str, str] = field(default_factory=dict)
    raw: Mapping[str, str] = field(default_factory=dict)
    conversion: Mapping[str, Any] = field(default_factory=dict)
    repository: str = ""
    commit: str = ""
    how: str = ""
    obtain: str = ""
    note: str = ""

    @property
    def group(self) -> str:
        return self.name.partition("/")[0]

    @property
    def short(self) -> str:
        return self.name.partition("/")[2]

    @property
    def address(self) -> str:
        """Where people can look at what it is made from."""
        if not self.repository:
            return ""
        folder = commonpath([dirname(p) for p in self.raw.values() if "://" not in p])
        return f"https://github.com/{self.repository}/tree/{self.commit}/{quote(folder)}"

    def url(self, part: str) -> str:
        """The address of the raw file for one part of the conversion."""
        path = self.raw[part]
        if "://" in path:
            return path
        return f"https://github.com/{self.repository}/raw/{self.commit}/{quote(path)}"

    def folder(self, data: Path) -> Path:
        return data / self.group / self.short

    def file(self, data: Path, split: str) -> Path:
        return self.folder(data) / f"{split}.conll"


@dataclass(frozen=True)
class CorpusFiles:
    """What a data folder has of a corpus: split by split, whether it is the catalogue's."""

    same: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    unverified: tuple[str, ...] = ()  # there, but the catalogue knows no checksum of it
    found: Mapping[str, str] = field(default_factory=dict)

    @property
    def whole(self) -> bool:
        return bool(self.same) and not self.changed and not self.missing


def catalogue() -> tuple[CatalogueEntry, ...]:
    """Every corpus we know of, in the order of the file."""
    return _load()


def find_entry(name: str) -> CatalogueEntry:
    """The corpus called ``name``: ``group/name``, or the name alone."""
    (entry,) = _named(name) or (None,)
    if entry is None:
        raise _unknown(name)
    return entry


def select_entries(names: Sequence[str]) -> list[CatalogueEntry]:
    """The corpora that ``names`` mean, each once. A group's name means those of the group that
    can be fetched."""
    chosen: dict[str, CatalogueEntry] = {}
    for name in names:
        found = _named(name) or [
            e for e in catalogue() if e.group == name.strip("/") and e.access in ("public", "copy")
        ]
        if not found:
            raise _unknown(name)
        chosen |= {entry.name: entry for entry in found}
    return list(chosen.values())


def check_files(entry: CatalogueEntry, data: Path) -> CorpusFiles:
    """Reads the files of ``entry`` that are in ``data`` and compares their checksums."""
    splits = tuple(entry.sha256) or SPLITS
    found = {s: digest(p) for s in splits if (p := entry.file(data, s)).is_file()}
    if not entry.sha256:
        return CorpusFiles(unverified=tuple(found), found=found)
    return CorpusFiles(
        same=tuple(s for s in found if found[s] == entry.sha256[s]),
        changed=tuple(s for s in found if found[s] != entry.sha256[s]),
        missing=tuple(s for s in splits if s not in found),
        found=found,
    )


def describe_state(entry: CatalogueEntry, data: Path | None) -> str:
    """In a few words: there and unchanged, or else how to come by it."""
    if data is None:
        return ACCESS[entry.access]
    seen = check_files(entry, data)
    if not seen.found:
        return ACCESS[entry.access]
    if seen.changed:
        return f"changed: {', '.join(seen.changed)}"
    if seen.missing:
        return f"incomplete: no {', '.join(seen.missing)}"
    return "here" if seen.same else "here, no checksum known"


def _named(name: str) -> list[CatalogueEntry]:
    return [e for e in catalogue() if name.strip("/") in (e.name, e.short)][:1]


def _unknown(name: str) -> UnknownName:
    entries = catalogue()
    known = [e.name for e in entries] + [e.short for e in entries]
    close = did_you_mean(name, known + sorted({e.group for e in entries}))
    return UnknownName(
        kind="corpus", name=name, near=close, known="those of `adaptner corpora list`"
    )


@cache
def _load() -> tuple[CatalogueEntry, ...]:
    source = resources.files("adaptner.corpora") / "catalogue.toml"
    facts = tomllib.loads(source.read_text(encoding="utf-8"))
    return tuple(_entry(corpus) for corpus in facts["corpus"])


def _entry(facts: dict[str, Any]) -> CatalogueEntry:
    return CatalogueEntry(**{key: _frozen(value) for key, value in facts.items()})


def _frozen(value: Any) -> Any:
    if isinstance(value, dict):
        return MappingProxyType(value)
    return tuple(value) if isinstance(value, list) else value
