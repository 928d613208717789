"""Which kinds a label's name means: "HumanGenes" are genes, "Simple_chemical" chemicals."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from adaptner.terms.compiled import CompiledTerms
from adaptner.terms.kinds import Kind, built_in_kinds, names_of_kind
from adaptner.terms.licences import short_title, terminology_sources
from adaptner.text.label_names import label_words, normalise_name

_PLURAL = re.compile(
    r"(?<![^\W_])([A-Z]{2,})s(?![^\W_])"
)  # "SNPs", of which `label_words` makes "SN" and "Ps"
_CONNECTORS = ("or", "and")
# Words at the end of a label that do not change what it means: "GeneName", "Disease_mention"
_EMPTY_HEADS = frozenset(("name", "mention", "entity", "term", "type", "category"))
_MOST_NEAR = 5
# The terminology that prefixes of ids come from, where it is not called so.
_SOURCE_OF_PREFIX = {
    "CL": "cell-ontology",
    "NCIT": "ncit-2018",
    "NCBITaxon": "ncbi-taxonomy",
    "SO": "sequence-ontology",
}


def kinds_of_label(terms: CompiledTerms, label: str) -> tuple[str, ...]:
    """The kinds that the label's name means; none if it says nothing of them.

    In this order: the whole name ("Cell_line"), names joined by "and" or "or", names in a row
    ("Sign_symptom_illness"), the longest name at the end ("HumanGenes")."""
    known = frozenset(_kind_names(terms))
    found = _find(label_words(_PLURAL.sub(r"\1", label)), _kinds_by_name(terms))
    return tuple(kind for kind in found if kind in known)


def _find(words: Sequence[str], names: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    if not words:
        return ()
    if whole := names.get(normalise_name(words)):
        return whole
    for place in range(len(words) - 1, 0, -1):
        if words[place] in _CONNECTORS:
            sides = (words[:place], words[place + 1 :])
            return _united(_find(side, names) for side in sides)
    if normalise_name(words[-1:]) in _EMPTY_HEADS:
        return _find(words[:-1], names)
    row = [names.get(normalise_name([word]), ()) for word in words]
    # Of two different kinds the first says more of the second: a PlantDisease is a disease.
    if all(row) and (len(row) > 2 or len(set(row)) == 1):
        return _united(row)
    return next(
        (k for start in range(1, len(words)) if (k := names.get(normalise_name(words[start:])))), ()
    )


def _united(found: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(kind for kinds in found for kind in kinds))


def _node_kinds(terms: CompiledTerms) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = terms.facts.get("node_kinds", [])
    return found


def _kind_names(terms: CompiledTerms) -> list[str]:
    return [*terms.facts["kinds"], *(kind["name"] for kind in _node_kinds(terms))]


@lru_cache(maxsize=8)
def _kinds_by_name(terms: CompiledTerms) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for kind in built_in_kinds():
        if not kind.is_attribute:
            for name in names_of_kind(kind):
                key = normalise_name(label_words(name))
                found[key] = _united((found.get(key, ()), (kind.name,)))
    written_down = frozenset(found)
    for node in _node_kinds(terms):
        for name in (node["name"], *node["labels"]):
            key = normalise_name(label_words(name))
            # A name of one node may be a synonym of another: the one called so comes first.
            if key not in written_down and (key not in found or name == node["name"]):
                found[key] = (node["name"],)
    return found


def near_labels(terms: CompiledTerms, label: str) -> list[str]:
    """Names of kinds that are written nearly like ``label`` or share a word with it, the nearest first."""
    wanted = label_words(label)
    key = normalise_name(wanted) if wanted else ""
    near: dict[str, float] = {}
    known = frozenset(_kind_names(terms))
    for name, kinds in _kinds_by_name(terms).items():
        if any(kind in known for kind in kinds):
            alike = difflib.SequenceMatcher(None, key, name).ratio()
            shared = len({normalise_name([w]) for w in wanted} & set(name.split()))
            if shared or alike > 0.6:
                near[name] = alike + shared
    return sorted(near, key=lambda name: (-near[name], name))[:_MOST_NEAR]


def describe(terms: CompiledTerms, kinds: Iterable[str]) -> str:
    """What a tagger starts from, for users: "Tissues and Cells (Uberon, MeSH, Cell Ontology)"."""
    kind_of = {kind.name: kind for kind in built_in_kinds()}
    node_of = {node["name"]: node for node in _node_kinds(terms)}
    listed = dict(terms.facts["sources"])
    titles, sources = [], []
    for name in kinds:
        if kind := kind_of.get(name):
            titles.append(_plural(kind))
            sources += [source_of_root(root) for root in kind.roots]
        else:
            titles.append(f"{name[:1].upper()}{name[1:]}s")
            sources += node_of[name]["sources"]
    known = terminology_sources()
    of_sources = dict.fromkeys(
        short_title(known[source]) if source in known else source
        for source in sources
        if source in listed
    )
    return f"{_listed(titles)} ({', '.join(of_sources)})"


def source_of_root(root: str) -> str:
    """The terminology of a root of `kinds.toml`: "uberon" for "UBERON:0000479"."""
    if root.startswith(("file:", "note:")):
        return root.partition(":")[2].partition("=")[0]
    prefix = root.partition("#")[0].partition(":")[0]
    return _SOURCE_OF_PREFIX.get(prefix, prefix.lower())


def _plural(kind: Kind) -> str:
    if kind.plural:
        return kind.plural
    first, *others = label_words(kind.name)
    name = " ".join([kind.name if kind.name.isupper() else first.capitalize(), *others])
    return name if kind.name.isupper() else name + "s"


def _listed(words: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
