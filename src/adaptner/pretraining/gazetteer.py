"""A gazetteer of the instances of names in a text, which gives weak labels to the same text.

After "diseases such as asthma", every occurrence of asthma is labelled as a disease. The labels are
noisy and incomplete, so learning from them (``nn/heads/label_name_head.py``) needs hundreds of
thousands of sentences.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from adaptner.text.hearst_patterns import ENDS, InstanceCounts

MIN_INSTANCES = 20  # different instances that a name needs
MAX_NAMES = 1500
_COMMON_WORDS = 400  # most frequent words, which are not instances on their own
_COMPOUND_WEIGHT = 0.25  # of "the BRCA1 gene" relative to "genes such as BRCA1"
# Words such as "about" and "provide" occur in lists by mistake, so an instance must be listed in this
# share of its occurrences or this often.
_MIN_LISTED_SHARE, _MIN_LISTED_COUNT = 1 / 400, 8

Phrase = tuple[str, ...]
TokenSpan = tuple[int, int]


@dataclass(frozen=True)
class Gazetteer:
    """Names, and for each lower-case phrase in ``kinds`` the indices of its names and their
    confidences. ``common`` words are neither instances nor parts of them."""

    names: tuple[str, ...]
    kinds: Mapping[Phrase, tuple[np.ndarray, np.ndarray]]
    common: frozenset[str]

    def __post_init__(self) -> None:
        lengths: dict[str, set[int]] = defaultdict(set)
        for phrase in self.kinds:
            lengths[phrase[0]].add(len(phrase))
        longest_first = {word: sorted(numbers, reverse=True) for word, numbers in lengths.items()}
        object.__setattr__(self, "_lengths", longest_first)

    @classmethod
    def of(cls, instances: InstanceCounts) -> Gazetteer:
        counts: dict[str, dict[str, float]] = {
            name: dict(counter)
            for name, counter in instances.named.items()
            if len(counter) >= MIN_INSTANCES
        }
        for name, counter in instances.compounds.items():
            if name in counts:
                for word, count in counter.items():
                    if count > 1:
                        counts[name][word] = counts[name].get(word, 0) + _COMPOUND_WEIGHT * count
        usable = [n for n in sorted(counts) if _is_informative(n)]
        usable.sort(key=lambda n: -sum(c**0.5 for c in counts[n].values()))
        names = tuple(usable[:MAX_NAMES])
        common = frozenset(w for w, _ in instances.frequency.most_common(_COMMON_WORDS))
        found: dict[Phrase, dict[int, float]] = {}
        for number, name in enumerate(names):
            for instance, weight in counts[name].items():
                phrase = tuple(instance.split(" "))
                if _is_instance(phrase, common):
                    found.setdefault(phrase, {})[number] = weight
        kinds = {}
        for phrase, by_name in found.items():
            occurrences = max(1, min(instances.frequency[word] for word in phrase))
            listed = np.array(list(by_name.values()), dtype=np.float32)
            often_enough = max(by_name.values()) >= _MIN_LISTED_COUNT
            if often_enough or sum(by_name.values()) / occurrences >= _MIN_LISTED_SHARE:
                kinds[phrase] = (np.array(list(by_name)), listed / (listed + 1))
        return cls(names, kinds, common)

    def spans(self, words: Sequence[str]) -> list[TokenSpan]:
        """Returns the spans of instances in a lower-case sentence: from left to right,
        and the longest at each position."""
        lengths: dict[str, list[int]] = self._lengths  # type: ignore[attr-defined]
        found: list[TokenSpan] = []
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

    def uncertain_neighbours(self, words: Sequence[str], spans: Sequence[TokenSpan]) -> set[int]:
        """Returns positions next to an instance that may belong to it, two before and one after.

        For example, "hypertrophic" in "hypertrophic cardiomyopathy" if only the second word is known.
        """
        inside = {i for start, end in spans for i in range(start, end)}
        found = set()
        for start, end in spans:
            for positions in ((start - 1, start - 2), (end,)):
                for i in positions:
                    if not 0 <= i < len(words) or i in inside:
                        break
                    if words[i] in self.common or not words[i].isalpha():
                        break
                    found.add(i)
        return found


def _is_informative(name: str) -> bool:
    last = name.split(" ")[-1]
    return len(last) > 2 and last.isalpha() and last not in ENDS


def _is_instance(phrase: Phrase, common: frozenset[str]) -> bool:
    if len(phrase) == 1 and (phrase[0] in common or len(phrase[0]) < 2):
        return False
    ends = (phrase[0], phrase[-1])
    return all(w not in ENDS and any(c.isalnum() for c in w) for w in ends)
