"""Which kinds a label's name means: "HumanGenes" are genes, "Simple_chemical" chemicals."""

from __future__ import annotations

from functools import cache

from adaptner.terms.compiled import CompiledTerms
from adaptner.terms.kinds import built_in_kinds
from adaptner.text.label_names import label_words, normalise_name


@cache
def _kinds_by_name() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for kind in built_in_kinds():
        if not kind.is_attribute:
            for name in (kind.name, *kind.labels):
                found.setdefault(normalise_name(label_words(name)), []).append(kind.name)
    return found


def kinds_of_label(terms: CompiledTerms, label: str) -> tuple[str, ...]:
    """The kinds whose name the label ends with, the longest name first; none if no kind has it."""
    words = label_words(label)
    for start in range(len(words)):
        names = _kinds_by_name().get(normalise_name(words[start:]), ())
        if known := tuple(dict.fromkeys(n for n in names if n in terms.facts["kinds"])):
            return known
    return ()
