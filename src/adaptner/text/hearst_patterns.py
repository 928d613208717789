"""What a text calls by which name: "diseases such as asthma and gout" (Hearst 1992), "the BRCA1 gene".

Read from raw, tokenised text with a handful of patterns, and wrong now and then: what is made of it
(``vectors/direction_training.py``, ``pretraining/gazetteer.py``) rests on many instances.
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
ENDS = frozenset(_END_WORDS.split())  # what ends a noun phrase
_JOINTS = frozenset({",", "and", "or", "/"})
_LONGEST = 5  # words of a noun phrase; "IL - 6" are three
_REACH = 40  # words that a list of instances may take
_MOST = 8  # instances of one list
_FOR_EXAMPLE = ["e", ".", "g", "."]

NameInstance = tuple[str, str]  # a name, and the words of what it is said of


@dataclass(frozen=True)
class InstanceCounts:
    """``named``: for each name what lists say it of; ``compounds``: what stands before the name where
    it looks like a name itself; both in lower case, with how often. ``frequency``: of each word."""

    named: dict[str, Counter[str]] = field(default_factory=dict)
    compounds: dict[str, Counter[str]] = field(default_factory=dict)
    frequency: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, sentences: Iterable[str]) -> InstanceCounts:
        found = cls()
        for sentence in sentences:
            cased = sentence.split(" ")
            words = [word.lower() for word in cased]
            found.frequency.update(words)
            for name, instance in find_instances(words):
                found.named.setdefault(name, Counter())[instance] += 1
            for name, word in find_compounds(cased):
                found.compounds.setdefault(name, Counter())[word] += 1
        return found


def find_instances(words: Sequence[str]) -> Iterator[NameInstance]:
    """(name, instance) pairs of a sentence in lower case, in order."""
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
    """("gene", "brca1") of "the BRCA1 gene": the word before has a capital inside, or ends in a digit."""
    for before, word in pairwise(words):
        if len(word) < 3 or not (word.islower() and word.isalpha()) or word in ENDS:
            continue
        numbered = before[:1].isalpha() and before[-1:].isdigit()
        if word not in _JOINTS and (numbered or any(c.isupper() for c in before[1:])):
            yield singular(word), before.lower()


def _pairs(name: Sequence[str], instances: Sequence[Sequence[str]]) -> Iterator[NameInstance]:
    """The name's last word ("line") and its last two ("cell line") are both names of the instances."""
    for length in (1, 2):
        if len(name) >= length:
            called = normalise_name(name[-length:])
            for instance in instances:
                said = " ".join(instance)
                if len(said) > 1 and any(c.isalpha() for c in said):
                    yield called, said


def _is_plain(word: str) -> bool:
    return word not in ENDS and word not in _JOINTS and any(c.isalnum() for c in word)


def _before(words: Sequence[str], end: int) -> Sequence[str]:
    """The noun phrase that ends before ``end``, a comma aside."""
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
    return words[start:end] if end - start <= _LONGEST else ()


def _listed(words: Sequence[str]) -> list[list[str]]:
    """The noun phrases of the list that ``words`` begin with. One that a word such as "in" ends may
    be cut short: it is left out, unless it is all there is."""
    found: list[list[str]] = []
    phrase: list[str] = []
    for word in words[:_REACH]:
        if word in _JOINTS:
            if phrase:
                found.append(phrase)
            phrase = []
        elif word in ENDS or word in ".;:":
            break
        else:
            phrase.append(word)
        if len(phrase) > _LONGEST or len(found) == _MOST:
            return found
    return [*found, phrase] if phrase else found


def _listed_backwards(words: Sequence[str]) -> list[list[str]]:
    """The noun phrases that end where ``words`` do: "rats , mice" of "rats , mice and other rodents"."""
    found: list[list[str]] = []
    end = len(words)
    while end and len(found) < _MOST:
        if words[end - 1] == ",":
            end -= 1
        start = end
        while start and _is_plain(words[start - 1]):
            start -= 1
        if not 0 < end - start <= _LONGEST:
            break
        # before the list stands a verb or more: only what a comma parts from it is sure
        if found and not (start and words[start - 1] == ","):
            break
        found.append(list(words[start:end]))
        if not (start and words[start - 1] == ","):
            break
        end = start
    return found
