"""Where the terminologies come from, and what of them may be part of a base.

``licences.toml`` contains the facts; its first lines explain the fields.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any


@dataclass(frozen=True)
class Licence:
    id: str
    title: str
    url: str
    ships: bool


@dataclass(frozen=True)
class TerminologySource:
    """The facts about one terminology."""

    name: str
    title: str
    source: tuple[str, ...]
    licences: tuple[str, ...]
    attribution: str
    base: str
    ships: bool
    version: str = ""
    only_confirmed_by: tuple[str, ...] = ()
    note: str = ""


@cache
def _facts() -> dict[str, Any]:
    source = resources.files("adaptner.terms") / "licences.toml"
    return tomllib.loads(source.read_text(encoding="utf-8"))


@cache
def licences() -> dict[str, Licence]:
    """Returns the known licences by their ids."""
    return {id: Licence(id, **facts) for id, facts in _facts()["licence"].items()}


@cache
def terminology_sources() -> dict[str, TerminologySource]:
    """Returns the facts about all known terminologies by their names."""
    sources = (TerminologySource(**_frozen(facts)) for facts in _facts()["terminology"])
    return {source.name: source for source in sources}


def shipped_sources(base: str) -> list[TerminologySource]:
    """Returns the terminologies whose names are part of ``base`` ("biomedical", "general")."""
    return [s for s in terminology_sources().values() if s.ships and s.base == base]


def short_title(source: TerminologySource) -> str:
    """Returns what people call a terminology: "MeSH" for "Medical Subject Headings (MeSH), descriptors"."""
    title, _, rest = source.title.partition(" (")
    short = rest.partition(")")[0]
    return short if short and "," not in short else title.partition(",")[0]


def attribution_text(sources: Iterable[TerminologySource]) -> str:
    """Returns the credits that every copy of names from ``sources`` must carry."""
    sources = list(sources)
    lines = []
    for source in sources:
        version = f" ({source.version})" if source.version else ""
        names = ", ".join(source.licences)
        lines.append(f"{source.name}: {source.title}{version}. {source.attribution}. [{names}]")
    used = [known for known in licences().values() if any(known.id in s.licences for s in sources)]
    titles = (f"{known.id}: {known.title} {known.url}".rstrip() for known in used)
    return "\n".join([*lines, "", *titles, "", _facts()["changes"], ""])


def _frozen(facts: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(v) if isinstance(v, list) else v for key, v in facts.items()}
