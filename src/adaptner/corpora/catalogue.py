"""The catalogue of known corpora: their origin, licence, and checksums.

``catalogue.toml`` contains facts about corpora, no text of them. A corpus is a folder
``DATA/group/name`` with one ``.conll`` file per split, whose SHA-256 must be that of the catalogue.
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

# The kinds of access, and how `corpora list` describes a corpus that is not in the data folder
ACCESS = {
    "public": "obtainable",
    "copy": "by copy",
    "by-hand": "by hand",
    "licensed": "licensed",
    "unavailable": "not available",
}


@dataclass(frozen=True)
class CatalogueEntry:
    """The facts about one corpus; ``catalogue.toml`` explains the fields."""

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
    def short_name(self) -> str:
        return self.name.partition("/")[2]

    @property
    def address(self) -> str:
        """The web page of the folder with its raw files, or ""."""
        if not self.repository:
            return ""
        folder = commonpath([dirname(p) for p in self.raw.values() if "://" not in p])
        return f"https://github.com/{self.repository}/tree/{self.commit}/{quote(folder)}"

    def url(self, part: str) -> str:
        """Returns the address of the raw file for one part of the conversion."""
        path = self.raw[part]
        if "://" in path:
            return path
        return f"https://github.com/{self.repository}/raw/{self.commit}/{quote(path)}"

    def folder(self, data: Path) -> Path:
        return data / self.group / self.short_name

    def file(self, data: Path, split: str) -> Path:
        return self.folder(data) / f"{split}.conll"


@dataclass(frozen=True)
class CorpusFiles:
    """The splits of a corpus in a data folder, compared with the checksums of the catalogue."""

    verified: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    unverified: tuple[str, ...] = ()  # present, but the catalogue has no checksum
    sha256: Mapping[str, str] = field(default_factory=dict)  # of the files that are present

    @property
    def complete(self) -> bool:
        return bool(self.verified) and not self.changed and not self.missing


@cache
def catalogue() -> tuple[CatalogueEntry, ...]:
    """Returns all known corpora in the order of the file."""
    source = resources.files("adaptner.corpora") / "catalogue.toml"
    facts = tomllib.loads(source.read_text(encoding="utf-8"))
    return tuple(
        CatalogueEntry(**{key: _frozen(value) for key, value in corpus.items()})
        for corpus in facts["corpus"]
    )


def find_entry(name: str) -> CatalogueEntry:
    """Returns the corpus called ``name``, with or without its group; raises UnknownName."""
    for entry in _entries_named(name):
        return entry
    raise _unknown_name(name)


def select_entries(names: Sequence[str]) -> list[CatalogueEntry]:
    """Returns the corpora called ``names``, each once.

    The name of a group stands for the corpora of the group that can be fetched.
    """
    selected: dict[str, CatalogueEntry] = {}
    for name in names:
        found = _entries_named(name) or [
            e for e in catalogue() if e.group == name.strip("/") and e.access in ("public", "copy")
        ]
        if not found:
            raise _unknown_name(name)
        selected |= {entry.name: entry for entry in found}
    return list(selected.values())


def check_files(entry: CatalogueEntry, data: Path) -> CorpusFiles:
    """Compares the checksums of the files of ``entry`` in ``data`` with the catalogue."""
    splits = tuple(entry.sha256) or SPLITS
    sha256 = {s: digest(p) for s in splits if (p := entry.file(data, s)).is_file()}
    if not entry.sha256:
        return CorpusFiles(unverified=tuple(sha256), sha256=sha256)
    return CorpusFiles(
        verified=tuple(s for s in sha256 if sha256[s] == entry.sha256[s]),
        changed=tuple(s for s in sha256 if sha256[s] != entry.sha256[s]),
        missing=tuple(s for s in splits if s not in sha256),
        sha256=sha256,
    )


def describe_state(entry: CatalogueEntry, data: Path | None) -> str:
    """Describes in a few words whether the corpus is in ``data`` or how to obtain it."""
    if data is None:
        return ACCESS[entry.access]
    files = check_files(entry, data)
    if not files.sha256:
        return ACCESS[entry.access]
    if files.changed:
        return f"changed: {', '.join(files.changed)}"
    if files.missing:
        return f"incomplete: no {', '.join(files.missing)}"
    return "here" if files.verified else "here, no checksum known"


def _entries_named(name: str) -> list[CatalogueEntry]:
    return [e for e in catalogue() if name.strip("/") in (e.name, e.short_name)][:1]


def _unknown_name(name: str) -> UnknownName:
    entries = catalogue()
    known = [e.name for e in entries] + [e.short_name for e in entries]
    close = did_you_mean(name, known + sorted({e.group for e in entries}))
    return UnknownName(
        kind="corpus", name=name, near=close, known="the corpora in `adaptner corpora list`"
    )


def _frozen(value: Any) -> Any:
    if isinstance(value, dict):
        return MappingProxyType(value)
    return tuple(value) if isinstance(value, list) else value
