"""What a text calls by which name: "diseases such as asthma and gout" (Hearst 1992).

Read from raw, tokenised, lower-cased text with a handful of patterns, and wrong now and then: what is
made of it (``training/senses.py``) is a mean over many instances.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from adaptner.text.naming import name_of

_END_WORDS = """
the a an of in on for to with by from at as is are was were be been being which that this these
those their its his her our both other others some many several all any each such well can may
might could should would will have has had do does did not no than then also it we they them who
whom whose when where while but if so into using used via through between during after before
under over per within without including like more most etc
"""
_ENDS = frozenset(_END_WORDS.split())  # what ends a noun phrase
_JOINTS = frozenset({",", "and", "or", "/"})
_LONGEST = 4  # words of a noun phrase
_REACH = 40  # words that a list of instances may take
_MOST = 8  # instances of one list
_SHORTEST = 3  # letters of a word that says something of its kind

Named = tuple[str, str]  # a name and a word of what it is said of


def named_in(words: Sequence[str]) -> Iterator[Named]:
    """(name, word) pairs of a sentence, in order."""
    for i in range(1, len(words) - 1):
        word, after = words[i], words[i + 1]
        if word == "such" and after == "as":
            yield from _pairs(_before(words, i), _listed(words[i + 2 :]))
        elif word == "including":
            yield from _pairs(_before(words, i), _listed(words[i + 1 :]))
        elif word in ("and", "or") and after == "other":
            yield from _pairs(_after(words, i + 2), _listed_backwards(words[:i]))


def count_named(sentences: Iterable[str]) -> tuple[dict[str, Counter[str]], Counter[str]]:
    """For each name the words it is said of, and how often each word of the text occurs."""
    named: dict[str, Counter[str]] = {}
    frequency: Counter[str] = Counter()
    for sentence in sentences:
        words = sentence.lower().split(" ")
        frequency.update(words)
        for name, word in named_in(words):
            named.setdefault(name, Counter())[word] += 1
    return named, frequency


def _pairs(name: Sequence[str], instances: Sequence[Sequence[str]]) -> Iterator[Named]:
    """The name's last word ("line") and its last two ("cell line") are both names of the instances;
    of an instance the last two words tell its kind."""
    for length in (1, 2):
        if len(name) >= length:
            called = name_of(name[-length:])
            for instance in instances:
                for word in instance[-2:]:
                    if len(word) >= _SHORTEST and any(c.isalpha() for c in word):
                        yield called, word


def _is_plain(word: str) -> bool:
    return word not in _ENDS and word not in _JOINTS and any(c.isalnum() for c in word)


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
        elif word in _ENDS or word in ".;:":
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
