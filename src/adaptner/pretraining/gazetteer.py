"""What a text names, looked up in the text itself: weak labels for running text.

"diseases such as asthma" says once what asthma is; wherever asthma stands, it is one then. The labels
are noisy, and many things of a kind are never listed: what learns from them (``nn/heads/label_name_head.py``)
must do so from hundreds of thousands of sentences.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from adaptner.text.hearst_patterns import ENDS, InstanceCounts

LEAST = 20  # different things that a name must be said of
MOST = 1500  # names
_COMMON = 400  # most frequent words: never a thing by themselves, and never part of a longer name
_COMPOUND = 0.25  # what "the BRCA1 gene" counts against "genes such as BRCA1"
# "about" and "provide" are listed now and then: a thing is listed once in so many times, or often.
_SELDOM, _OFTEN = 1 / 400, 8

Phrase = tuple[str, ...]
Span = tuple[int, int]


@dataclass(frozen=True)
class Gazetteer:
    """``kinds``: for each phrase, in lower case, the numbers of its names and how sure each is."""

    names: tuple[str, ...]
    kinds: Mapping[Phrase, tuple[np.ndarray, np.ndarray]]
    common: frozenset[str]

    def __post_init__(self) -> None:
        lengths: dict[str, set[int]] = defaultdict(set)
        for phrase in self.kinds:
            lengths[phrase[0]].add(len(phrase))
        first = {word: sorted(found, reverse=True) for word, found in lengths.items()}
        object.__setattr__(self, "_lengths", first)

    @classmethod
    def of(cls, instances: InstanceCounts) -> Gazetteer:
        counts: dict[str, dict[str, float]] = {
            name: dict(said) for name, said in instances.named.items() if len(said) >= LEAST
        }
        for name, said in instances.compounds.items():
            if name in counts:
                for word, count in said.items():
                    if count > 1:
                        counts[name][word] = counts[name].get(word, 0) + _COMPOUND * count
        usable = [n for n in sorted(counts) if _says_something(n)]
        usable.sort(key=lambda n: -sum(c**0.5 for c in counts[n].values()))
        names = tuple(usable[:MOST])
        common = frozenset(w for w, _ in instances.frequency.most_common(_COMMON))
        found: dict[Phrase, dict[int, float]] = {}
        for number, name in enumerate(names):
            for thing, often in counts[name].items():
                phrase = tuple(thing.split(" "))
                if _is_thing(phrase, common):
                    found.setdefault(phrase, {})[number] = often
        kinds = {}
        for phrase, own in found.items():
            seen = max(1, min(instances.frequency[word] for word in phrase))
            if sum(own.values()) / seen >= _SELDOM or max(own.values()) >= _OFTEN:
                listed = np.array(list(own.values()), dtype=np.float32)
                kinds[phrase] = (np.array(list(own)), listed / (listed + 1))
        return cls(names, kinds, common)

    def spans(self, words: Sequence[str]) -> list[Span]:
        """Where in a sentence in lower case things stand: from the left, the longest at each place."""
        lengths: dict[str, list[int]] = self._lengths  # type: ignore[attr-defined]
        found: list[Span] = []
        free = 0
        for start, word in enumerate(words):
            if start < free or word not in lengths:
                continue
            for end in (start + length for length in lengths[word]):
                if end <= len(words) and tuple(words[start:end]) in self.kinds:
                    found.append((start, end))
                    free = end
                    break
        return found

    def unsure(self, words: Sequence[str], spans: Sequence[Span]) -> set[int]:
        """Places beside a thing that may belong to it: "hypertrophic" of "hypertrophic
        cardiomyopathy", where only the second word is known. Up to two before, and one after."""
        inside = {i for start, end in spans for i in range(start, end)}
        found = set()
        for start, end in spans:
            for places in ((start - 1, start - 2), (end,)):
                for i in places:
                    if not 0 <= i < len(words) or i in inside:
                        break
                    if words[i] in self.common or not words[i].isalpha():
                        break
                    found.add(i)
        return found


def _says_something(name: str) -> bool:
    last = name.split(" ")[-1]
    return len(last) > 2 and last.isalpha() and last not in ENDS


def _is_thing(phrase: Phrase, common: frozenset[str]) -> bool:
    if len(phrase) == 1 and (phrase[0] in common or len(phrase[0]) < 2):
        return False
    ends = (phrase[0], phrase[-1])
    return all(w not in ENDS and any(c.isalnum() for c in w) for w in ends)
