"""Rules for the kind Species."""

from __future__ import annotations

import re

import numpy as np

from adaptner.terms.doubts import Doubt, raise_doubt
from adaptner.terms.matches import Matches, Spans
from adaptner.terms.matching import CAPITALISED, LATIN, LETTER, LOWER, MIXED, UPPER

# Doubts that a mention may have by default.
ACCEPTED = Doubt.RELATED | Doubt.SHORT | Doubt.PATTERN

# Words for people in reports on them; MeSH's tree of persons has many more, mostly professions.
_PEOPLE = frozenset(
    "patient patients inpatient inpatients outpatient outpatients woman women man men child children boy boys "
    "girl girls infant infants adult adults person persons people participant participants volunteer volunteers "
    "individual individuals".split()
)
# Adjectives of animals that reports use like the noun ("murine cells").
_ADJECTIVES = frozenset(
    "murine bovine porcine ovine equine canine feline simian avian caprine leporine lapine".split()
)
_OTHER_KINDS = ("Disease", "Gene", "Anatomy", "CellLine", "Device", "Method", "Sequence", "AminoAcid")
_DOT = frozenset(".")
_SP = frozenset({"sp", "spp"})
_ORDINARY = frozenset("name names permit permits mate mates spot spots µm μm".split())
_GENUS_RATE, _GENUS_SHARE, _GENUS_FACTOR, _BROAD = 5.0, 0.7, 100, 8
_VIRUS = re.compile(r"[A-Za-z]*V[0-9IVX]{0,3}[A-Za-z]?")
# Words of biology that end like Latin and follow the name of a genus.
_NOT_EPITHETS = frozenset(
    "virus species bacteria larva larvae pupa pupae data mutant genus strain phyla taxa flora analysis".split()
)


def propose(m: Matches) -> Spans:
    species = m.has("Species", "abbreviated taxon")
    return (
        m.spans(species, _doubts(m))
        + _words(m, _ADJECTIVES, Doubt.RELATED)
        + _words(m, _PEOPLE, Doubt.PERSON)
        + _unlisted_binomials(m)
    )


def _doubts(m: Matches) -> np.ndarray:
    doubts = np.zeros(len(m), dtype=np.uint32)
    taxon, common = m.has("taxon"), m.has("common name of taxon")
    scientific = taxon & ~common
    short_form = _is_abbreviated_binomial(m)
    known = short_form & m.has("abbreviated taxon")
    _doubt_writing(m, doubts, scientific, known)
    _doubt_ranks(m, doubts, scientific, taxon & common)
    _doubt_words(m, doubts, scientific, known)
    # Breeds: "nude mice", "Wistar rats"
    ends = m.end[m.single & m.has("Species")]
    raise_doubt(doubts, Doubt.STRAIN, ~taxon & ~m.single & ~known & np.isin(m.end, ends))
    return doubts


def _is_abbreviated_binomial(m: Matches) -> np.ndarray:
    """"E. coli"; "E coli" only if the epithet looks like one."""
    classes = m.text.classes
    first, last = classes[m.start], m.word(-1)
    dotted = m.text.is_one_of(_DOT)[m.start + 1]
    return (
        ((first & LETTER) > 0)
        & ((first & LOWER) == 0)
        & (np.where(dotted, last & LOWER, last & LATIN) > 0)
        & (m.end - m.start == 2 + dotted)
    )


def _doubt_writing(m: Matches, doubts: np.ndarray, scientific: np.ndarray, known: np.ndarray) -> None:
    """Scientific names have a capital; keys have no borders between words, so that "CA, USA" is Causa."""
    first = m.text.classes[m.start]
    raise_doubt(doubts, Doubt.CASE, scientific & m.single & ~m.exact & ((first & CAPITALISED) == 0))
    letter = (first & LETTER) > 0
    several = ~m.single & ~known
    raise_doubt(doubts, Doubt.CASE, several & letter)
    raise_doubt(doubts, Doubt.CASE, several & m.has("genus") & ~m.has("species rank"))
    raise_doubt(doubts, Doubt.CASE, m.has("abbreviated taxon") & ~m.has("Species") & ~known)
    words = m.text.words
    odd = m.single & ~m.exact & ((first & (UPPER | MIXED)) > 0) & m.has("Species")
    rows = [i for i in np.flatnonzero(odd).tolist() if len(words[m.start[i]]) <= 4]
    doubts[rows] |= np.uint32(Doubt.CASE)
    for i in np.flatnonzero(m.exact & m.has("Species") & (m.end - m.start <= 4)).tolist():
        if not _VIRUS.fullmatch("".join(filter(str.isalnum, words[m.start[i] : m.end[i]]))):
            doubts[i] |= np.uint32(Doubt.OTHER_MEANING)


def _doubt_ranks(m: Matches, doubts: np.ndarray, scientific: np.ndarray, common: np.ndarray) -> None:
    genus, rank, higher = m.has("genus"), m.has("species rank"), m.has("higher taxon")
    alone = m.count("field_alone")
    in_use = (
        (alone > _GENUS_RATE * 1e-6 * m.terms.facts.get("field_tokens", 1e6))
        & (alone > _GENUS_SHARE * (alone + m.count("field_inside")))
        & (alone > _GENUS_FACTOR * m.count("general_alone"))
    )
    raise_doubt(doubts, Doubt.HIGHER, genus & scientific & ~rank & ~in_use)
    broad = m.breadth > _BROAD
    raise_doubt(doubts, Doubt.HIGHER, higher & ~rank & ~genus & (scientific | broad))
    raise_doubt(doubts, Doubt.HIGHER, ~scientific & ~common & (m.breadth > 3))
    raise_doubt(doubts, Doubt.GENERAL, m.has("form of organisms", "group of organisms"))


def _doubt_words(m: Matches, doubts: np.ndarray, scientific: np.ndarray, known: np.ndarray) -> None:
    facts = m.terms.facts
    general = m.count("general_alone") * (1e6 / facts.get("general_tokens", 1e6))
    field = m.count("field_alone") * (1e6 / facts.get("field_tokens", 1e6))
    confirmed = m.has("organism in MeSH", "Food", "Chemical") & ~scientific
    ordinary = (general > 1) & (field < 4 * general) & ~confirmed
    # "Fisher", "China": nearly always with a capital, which common names have not
    name = m.count("field_capitalised") + m.count("general_capitalised") > 4 * (
        m.count("field_lower") + m.count("general_lower")
    )
    name &= ~scientific & ~m.exact
    part = m.count("field_inside") > 5 * m.count("field_alone")
    single = m.single & ~known
    raise_doubt(doubts, Doubt.ORDINARY, single & (ordinary | name | m.text.is_one_of(_ORDINARY)[m.start]))
    raise_doubt(doubts, Doubt.WITHIN_OTHER, single & part & ~scientific)
    raise_doubt(doubts, Doubt.SEVERAL_KINDS, single & m.has(*_OTHER_KINDS) & scientific)
    raise_doubt(doubts, Doubt.WITHIN_OTHER, single & m.within("Disease", "CellLine", "Gene") & scientific)


def _words(m: Matches, words: frozenset[str], doubt: Doubt) -> Spans:
    at = np.flatnonzero(m.text.is_one_of(words))
    return Spans.of(at, at + 1, doubts=doubt)


def _unlisted_binomials(m: Matches) -> Spans:
    """A genus, or its initial, with a word that looks like an epithet; a genus with "sp."."""
    text, classes = m.text, m.text.classes
    dot = text.is_one_of(_DOT)
    latin = ((classes & LATIN) > 0) & ~text.is_one_of(_NOT_EPITHETS)
    at = np.flatnonzero(dot[1:-1] & latin[2:])
    words = text.words
    at = np.array(
        [i for i in at.tolist() if len(words[i]) <= 2 and words[i][:1].isupper() and len(words[i + 2]) > 4 and words[i][1:].islower() | (len(words[i]) == 1)],
        dtype=np.int64,
    )
    short = Spans.of(at, at + 3, doubts=Doubt.PATTERN)
    genus = m.has("genus") & m.single & ((classes[m.start] & CAPITALISED) > 0)
    latin_next = genus & latin[m.end]
    full = Spans.of(m.start[latin_next], m.end[latin_next] + 1, doubts=Doubt.PATTERN)
    sp = genus & m.is_word(_SP)
    end = m.end[sp] + 1
    unnamed = Spans.of(m.start[sp], end + dot[end], doubts=Doubt.PATTERN)
    return short + full + unnamed
