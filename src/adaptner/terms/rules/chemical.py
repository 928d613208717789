"""Rules for the kind Chemical: drugs and other chemicals."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from adaptner.terms.doubts import Doubt, raise_doubt
from adaptner.terms.matches import Matches, Spans
from adaptner.terms.matching import CAPITALISED, DIGITS, LOWER, MIXED, UPPER
from adaptner.terms.rules.chemical_names import charged_atoms, codes_of_compounds, is_fragment, parts_of_names, structured_names

# Doubts that a mention may have by default.
ACCEPTED = Doubt.RELATED | Doubt.PATTERN | Doubt.JOINED

_METALS = frozenset(
    "Ag Al Au Ba Be Bi Br Ca Cd Ce Cl Cr Cs Cu Eu Fe Ga Gd Ge Hg Ir La Li Lu Mg Mn Mo Na Nd Ni Pb Pd Pt Rh Ru Sb Se Si Sm Sn Sr Tb Ti Tl Zn Zr".split()
)
_UNITS = frozenset(["mm"])
_SEQUENCE = frozenset("nucleotide nucleotides nucleoside nucleosides base bases".split())


def _per_million(m: Matches, count: str) -> np.ndarray:
    return m.count(count) * (1e6 / m.terms.facts.get(count.partition("_")[0] + "_tokens", 1e6))


def _exactly(m: Matches, words: frozenset[str]) -> np.ndarray:
    found = np.zeros(len(m), dtype=bool)
    rows = np.flatnonzero(m.single & m.exact)
    found[rows] = [m.text.words[i] in words for i in m.start[rows].tolist()]
    return found


def listed(m: Matches) -> Spans:
    doubts = np.zeros(len(m), dtype=np.uint32)
    classes = m.text.classes
    chemical, gene, chebi = m.has("Chemical"), m.has("Gene"), m.has("chebi")
    substance, drugbank, atom = m.has("substance"), m.has("drugbank"), m.has("atom or ion")
    drugs = drugbank | m.has("list of drugs")
    macro = m.has("macromolecule", "peptide") & ~atom
    confirmed = chebi & substance & (drugs | m.has("supplementary record", "mesh", "atom or ion"))
    confirmed |= drugbank & m.has("list of drugs")
    lengths = m.text.values(len, "i4")
    before = np.concatenate([[0], np.cumsum(np.where(classes & 1, lengths, 0))])
    letters = before[m.end] - before[m.start]
    last = lengths[m.end - 1]
    word_class = classes[m.start]

    raise_doubt(doubts, Doubt.RELATED, m.marked(2))
    # Ordinary words
    general = _per_million(m, "general_alone")
    ordinary = general > np.where(confirmed & ~macro, np.where(drugbank, 100, np.where(atom, 30, 10)), 1)
    raise_doubt(doubts, Doubt.ORDINARY, ordinary & m.single)
    # General
    breadth = m.breadth
    raise_doubt(doubts, Doubt.GENERAL, breadth >= 16)
    raise_doubt(doubts, Doubt.GENERAL, m.single & m.starts_with(_SEQUENCE))
    raise_doubt(doubts, Doubt.GENERAL, macro & ~m.has("peptide") & ~drugbank & ~m.has("supplementary record"))
    # Gene
    raise_doubt(doubts, Doubt.SEVERAL_KINDS, gene & ~chebi & ~drugbank)
    raise_doubt(doubts, Doubt.SEVERAL_KINDS, gene & macro & m.has("human or rodent gene", "gene of other organism", "protein family"))
    raise_doubt(doubts, Doubt.SEVERAL_KINDS, m.has("Species", "Food", "Environment") & ~chebi)
    raise_doubt(doubts, Doubt.SEVERAL_KINDS, m.has("Anatomy", "Procedure", "Cell", "CellularComponent", "Method", "BiologicalProcess", "Disease", "Symptom", "quality", "Sequence") & ~drugbank)
    raise_doubt(doubts, Doubt.WITHIN_OTHER, m.within("human or rodent gene"))
    # roles
    raise_doubt(doubts, Doubt.ACTION, m.has("role") & ~(substance & drugs))
    # Symbols
    wordy = np.concatenate([[0], np.cumsum(((classes & DIGITS) == 0) & (lengths >= 4))])
    has_word = wordy[m.end] > wordy[m.start]
    symbol = ~has_word & ((m.single & ((word_class & (UPPER | MIXED)) > 0)) | ~m.single)
    short = symbol & (letters <= 3)
    raise_doubt(doubts, Doubt.CASE, m.marked(4) & ~m.exact & m.single & ~drugs)
    raise_doubt(doubts, Doubt.SHORT, short & gene & ~(confirmed & drugs))
    raise_doubt(doubts, Doubt.SHORT, symbol & (letters <= 2) & ~drugs)
    element = m.single & atom & (letters <= 2)
    metal = element & _exactly(m, _METALS) & ~m.preceded_by(_UNITS)
    raise_doubt(doubts, Doubt.SHORT, element)
    doubts[metal] &= ~np.uint32(Doubt.SHORT | Doubt.SEVERAL_KINDS | Doubt.ORDINARY)
    doubts[_exactly(m, frozenset(["NO"]))] = 0
    # measures
    number = (word_class & DIGITS) > 0
    raise_doubt(doubts, Doubt.PART, m.single & number)
    unit = ((m.word(-1) & (LOWER | DIGITS)) > 0) | (last == 1)
    raise_doubt(doubts, Doubt.PART, ~m.single & ~has_word & ~drugs & (~m.exact | number & unit))
    # parts
    hyphen = frozenset("-–")
    raise_doubt(doubts, Doubt.PART, m.has("chemical group or class") & m.single & (m.is_word(hyphen) | m.preceded_by(hyphen)))
    return m.spans(chemical, doubts)


def unlisted(m: Matches, known: Spans) -> Spans:
    """Names made by patterns; ``known`` are names that may be parts of them."""
    words = m.text.words
    parts = parts_of_names(m.text)
    single = np.zeros(len(parts), dtype=bool)
    single[m.start[m.single]] = True
    at = np.flatnonzero(((parts == b"W") | (parts == b"F")) & ~single)
    at = at[[not is_fragment(words[i]) for i in at.tolist()]]
    found = Spans.of(at, at + 1, doubts=Doubt.PATTERN)
    found += _spans(charged_atoms(parts, words), 0)
    steps = np.zeros(len(parts) + 1, dtype=np.int64)
    np.add.at(steps, known.start, 1)
    np.add.at(steps, known.end, -1)
    free = (parts == b".") | (parts == b"A") | (parts == b"N") | (parts == b"K")
    parts[(np.cumsum(steps[:-1]) > 0) & free] = b"X"
    string = parts.tobytes().decode()
    codes = _spans(codes_of_compounds(string), Doubt.PATTERN | Doubt.SHORT)
    found += codes.select(~np.isin(codes.start * 64 + codes.end, m.start * 64 + m.end))
    return found + _spans(structured_names(string, words), Doubt.PATTERN | Doubt.JOINED)


def _spans(found: Iterable[tuple[int, int]], doubts: int) -> Spans:
    borders = np.array(list(found), dtype=np.int64).reshape(-1, 2)
    return Spans.of(borders[:, 0], borders[:, 1], doubts=doubts)


def propose(m: Matches) -> Spans:
    found = listed(m)
    return found + unlisted(m, found.select((found.doubts & ~np.uint32(ACCEPTED)) == 0))
