"""Finds instances of names in raw text: "diseases such as asthma and gout" (Hearst 1992), "the BRCA1 gene".

The few patterns make mistakes, so their users (``vectors/direction_training.py``,
``pretraining/gazetteer.py``) rely on many instances.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from adaptner.text.label_names import normalise_name, singular

_END_WORDS = """
the a an of in on for to with by from at as is are was were be been being which that this these
those their its his her our both other others some many several all any each such well can may
might could should would will have has had do does did not no than then also it we they them who
whom whose when where while but if so into using used via through between during after before
under over per within without including like more most etc
"""
ENDS = frozenset(_END_WORDS.split())  # words that end a noun phrase
_SEPARATORS = frozenset({",", "and", "or", "/"})
_MAX_PHRASE_WORDS = 5  # "IL - 6" has three words
_MAX_LIST_WORDS = 40
_MAX_INSTANCES = 8  # of one list
_FOR_EXAMPLE = ["e", ".", "g", "."]

NameInstance = tuple[str, str]  # a name ("disease") and the words of an instance ("breast cancer")


@dataclass(frozen=True)
class InstanceCounts:
    """Counts of instances by name, all in lower case.

    ``named`` counts instances in lists, ``compounds`` words before the name ("BRCA1 gene"), and
    ``frequency`` all words of the text.
    """

    named: dict[str, Counter[str]] = field(default_factory=dict)
    compounds: dict[str, Counter[str]] = field(default_factory=dict)
    frequency: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, sentences: Iterable[str]) -> InstanceCounts:
        counts = cls()
        for sentence in sentences:
            cased = sentence.split(" ")
            words = [word.lower() for word in cased]
            counts.frequency.update(words)
            for name, instance in find_instances(words):
                counts.named.setdefault(name, Counter())[instance] += 1
            for name, word in find_compounds(cased):
                counts.compounds.setdefault(name, Counter())[word] += 1
        return counts


def find_instances(words: Sequence[str]) -> Iterator[NameInstance]:
    """Yields the (name, instance) pairs of a sentence in lower case, in order."""
    for i in range(1, len(words) - 1):
        word = words[i]
        if word == "such" and words[i + 1] == "as":
            yield from _pairs(_before(words, i), _listed(words[i + 2 :]))
        elif word == "including":
            yield from _pairs(_before(words, i), _listed(words[i + 1 :]))
        elif word in ("and", "or") and words[i + 1] == "other":
            yield from _pairs(_after(words, i + 2), _listed_backwards(words[:i]))
        elif word == "(" and list(words[i + 1 : i + 5]) == _FOR_EXAMPLE:
            rest = words[i + 5 + (words[i + 5 : i + 6] == [","]) :]
            if ")" in rest:
                end = rest.index(")")
                yield from _pairs(_before(words, i), _listed([*rest[:end], "."]))


def find_compounds(words: Sequence[str]) -> Iterator[NameInstance]:
    """Yields ("gene", "brca1") for "the BRCA1 gene".

    The word before the name must have a capital after its first letter or end in a digit.
    """
    for before, word in pairwise(words):
        if len(word) < 3 or not (word.islower() and word.isalpha()) or word in ENDS:
            continue
        numbered = before[:1].isalpha() and before[-1:].isdigit()
        if word not in _SEPARATORS and (numbered or any(c.isupper() for c in before[1:])):
            yield singular(word), before.lower()


def _pairs(name: Sequence[str], instances: Sequence[Sequence[str]]) -> Iterator[NameInstance]:
    """Pairs the instances with the name's last word ("line") and its last two words ("cell line")."""
    for length in (1, 2):
        if len(name) >= length:
            normalised = normalise_name(name[-length:])
            for words in instances:
                instance = " ".join(words)
                if len(instance) > 1 and any(c.isalpha() for c in instance):
                    yield normalised, instance


def _is_plain(word: str) -> bool:
    return word not in ENDS and word not in _SEPARATORS and any(c.isalnum() for c in word)


def _before(words: Sequence[str], end: int) -> Sequence[str]:
    """Returns the noun phrase that ends before ``end``, ignoring a comma."""
    if end and words[end - 1] == ",":
        end -= 1
    start = end
    while start and end - start < 2 and _is_plain(words[start - 1]):
        start -= 1
    return words[start:end]


def _after(words: Sequence[str], start: int) -> Sequence[str]:
    end = start
    while end < len(words) and _is_plain(words[end]):
        end += 1
    return words[start:end] if end - start <= _MAX_PHRASE_WORDS else ()


def _listed(words: Sequence[str]) -> list[list[str]]:
    """Returns the noun phrases of the list that ``words`` begin with; a word such as "in" ends it."""
    found: list[list[str]] = []
    phrase: list[str] = []
    for word in words[:_MAX_LIST_WORDS]:
        if word in _SEPARATORS:
            if phrase:
                found.append(phrase)
            phrase = []
        elif word in ENDS or word in ".;:":
            break
        else:
            phrase.append(word)
        if len(phrase) > _MAX_PHRASE_WORDS or len(found) == _MAX_INSTANCES:
            return found
    return [*found, phrase] if phrase else found


def _listed_backwards(words: Sequence[str]) -> list[list[str]]:
    """Returns the noun phrases at the end of ``words``: "rats , mice" before "and other rodents"."""
    found: list[list[str]] = []
    end = len(words)
    while end and len(found) < _MAX_INSTANCES:
        if words[end - 1] == ",":
            end -= 1
        start = end
        while start and _is_plain(words[start - 1]):
            start -= 1
        if not 0 < end - start <= _MAX_PHRASE_WORDS:
            break
        # A verb may precede the list, so only phrases after a comma are certain.
        if found and not (start and words[start - 1] == ","):
            break
        found.append(list(words[start:end]))
        if not (start and words[start - 1] == ","):
            break
        end = start
    return found
