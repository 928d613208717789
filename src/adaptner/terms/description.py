"""What terminologies know about a name, and whether its matches are used."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from adaptner.terms.compiled import COUNTS
from adaptner.terms.dictionary import RULES, Dictionary, rule_of
from adaptner.terms.doubts import Doubt
from adaptner.text.tokenizer import tokenize


@dataclass(frozen=True)
class NameDescription:
    """``concepts`` are pairs of an id and the file it is from. ``doubts`` are those that keep the name out,
    for each kind: none if it is used."""

    kinds: tuple[str, ...]
    concepts: tuple[tuple[str, str], ...]
    counts: dict[str, int]
    doubts: dict[str, tuple[str, ...]]


def describe(dictionary: Dictionary, name: str) -> NameDescription | None:
    """Describes a name, as if a text were this name alone; None if it is no name and nothing proposes it."""
    terms = dictionary.terms
    tokens = [name[a:b] for a, b in tokenize(name)]
    if not tokens:
        return None
    matches = dictionary.matches([tokens])
    whole = (matches.start == 1) & (matches.end == 1 + len(tokens))
    entries = matches.entry[whole].tolist()
    kinds = [
        kind
        for kind in terms.facts["kinds"]
        if (matches.kinds[whole] & terms.mask_of([kind])).any()
    ]
    concepts = [number for entry in entries for number in terms.concepts_of(entry)]
    doubts: dict[str, tuple[str, ...]] = {}
    asked = dict.fromkeys([*kinds, *(kind for kind in RULES if kind in terms.facts["kinds"])])
    for kind, spans in dictionary.propose(matches, asked).items():
        here = (spans.start == 1) & (spans.end == 1 + len(tokens))
        if here.any():
            not_accepted = spans.doubts[here] & ~np.uint32(rule_of(kind)[1] | Doubt.DEFINED)
            fewest = min(not_accepted.tolist(), key=int.bit_count)
            doubts[kind] = tuple(d.name for d in Doubt if d.name and d & fewest)
    if not entries and not doubts:
        return None
    return NameDescription(
        kinds=tuple(kinds),
        concepts=tuple(dict.fromkeys((terms.id_of(n), terms.source_of(n)) for n in concepts)),
        counts={
            f"{text}_{count}": int(
                terms.counts(f"{text}_{count}")[np.array(entries, dtype=int)].max(initial=0)
            )
            for text in ("field", "general")
            for count in COUNTS
        },
        doubts=doubts,
    )
