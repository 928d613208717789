"""Rules for the kind Chemical: drugs and other chemicals."""

from __future__ import annotations

import numpy as np

from adaptner.terms.doubts import Doubt, raise_doubt
from adaptner.terms.matches import Matches, Spans
from adaptner.terms.rules.chemical_names import is_fragment, parts_of_names, structured_names
from adaptner.terms.matching import CAPITALISED, LOWER, UPPER, MIXED, DIGITS

# Doubts that a mention may have by default.
ACCEPTED = Doubt.RELATED | Doubt.PATTERN | Doubt.JOINED

_SEQUENCE_WORDS = frozenset("residue residues".split())


def _per_million(m: Matches, count: str) -> np.ndarray:
    return m.count(count) * (1e6 / m.terms.facts.get(count.partition("_")[0] + "_tokens", 1e6))


_ELEMENTS = frozenset(
    "Ag Al Au Ba Be Bi Br Ca Cd Ce Cl Cr Cs Cu Eu Fe Ga Gd Ge Hg Ir La Li Lu Mg Mn Mo Na Nd Ni Pb Pd Pt Rh Ru Sb Se Si Sm Sn Sr Tb Ti Tl Zn Zr".split()
)


def _exactly(m: Matches, words: frozenset[str]) -> np.ndarray:
    found = np.fromiter((w in words for w in m.text.words), dtype=bool, count=len(m.text.words))
    return found[m.start] & m.single


def listed(m: Matches) -> Spans:
    doubts = np.zeros(len(m), dtype=np.uint32)
    chemical, gene, chebi = m.has("Chemical"), m.has("Gene"), m.has("chebi")
    substance, drugbank = m.has("substance"), m.has("drugbank")
    drugs = drugbank | m.has("list of drugs")
    macro = m.has("macromolecule") & ~m.has("atom or ion")
    confirmed = chebi & (drugs | m.has("supplementary record", "mesh", "atom or ion")) & substance
    confirmed |= drugbank & drugs & m.has("list of drugs")
    lengths = np.fromiter(map(len, m.text.words), dtype=np.int64, count=len(m.text.words))
    first, last = lengths[m.start], lengths[m.end - 1]
    word_class = m.text.classes[m.start]

    raise_doubt(doubts, Doubt.RELATED, m.marked(2))
    # Ordinary words
    general = _per_million(m, "general_alone")
    ordinary = general > np.where(confirmed & ~macro, np.where(drugbank, 100, 30), 1)
    raise_doubt(doubts, Doubt.ORDINARY, ordinary & m.single)
    # General
    breadth = m.breadth
    raise_doubt(doubts, Doubt.GENERAL, (breadth >= 16) | (breadth >= 12) & ~confirmed & (general > 1))
    # Gene
    other = gene & ~chebi & ~drugbank
    other |= gene & (macro | m.has("peptide")) & ~drugbank
    raise_doubt(doubts, Doubt.SEVERAL_KINDS, other)
    raise_doubt(doubts, Doubt.SEVERAL_KINDS, m.has("Species") & ~chebi)
    raise_doubt(doubts, Doubt.SEVERAL_KINDS, m.has("Anatomy", "Sequence", "Procedure", "Cell", "CellularComponent", "Method", "Environment", "Food", "Disease", "Symptom", "quality") & ~drugbank)
    # roles
    raise_doubt(doubts, Doubt.ACTION, m.has("role") & ~substance)
    raise_doubt(doubts, Doubt.GENERAL, m.has("mixture or preparation") & ~chebi & ~drugs)
    raise_doubt(doubts, Doubt.GENERAL, macro & ~drugbank & ~m.has("supplementary record"))
    # Symbols
    symbol = m.single & ((word_class & (UPPER | MIXED)) > 0)
    short = symbol & (first <= 3)
    raise_doubt(doubts, Doubt.CASE, m.marked(4) & ~m.exact & m.single & ~drugs)
    raise_doubt(doubts, Doubt.SHORT, short & gene & ~(confirmed & drugs))
    raise_doubt(doubts, Doubt.SHORT, short & (first <= 2) & ~drugs)
    # measures
    classes = m.text.classes
    wordy = np.concatenate([[0], np.cumsum(((classes & DIGITS) == 0) & (lengths >= 4))])
    has_word = wordy[m.end] > wordy[m.start]
    number = (word_class & DIGITS) > 0
    raise_doubt(doubts, Doubt.PART, m.single & number)
    unit = ((m.word(-1) & (LOWER | DIGITS)) > 0) | (last == 1)
    raise_doubt(doubts, Doubt.PART, ~m.single & ~has_word & ~drugs & (~m.exact | number & unit))
    raise_doubt(doubts, Doubt.ACTION, m.has("role") & ~drugs)
    element = m.has("atom or ion") & (first <= 2) & m.single
    raise_doubt(doubts, Doubt.SHORT, element)
    doubts[element & _exactly(m, _ELEMENTS)] &= ~np.uint32(Doubt.SHORT | Doubt.SEVERAL_KINDS|Doubt.ORDINARY)
    doubts[_exactly(m, frozenset(["NO"]))] = 0
    return m.spans(chemical, doubts)


def patterns(m: Matches, known: Spans) -> Spans:
    parts = parts_of_names(m.text)
    found = []
    in_list = np.zeros(len(parts), dtype=bool)
    in_list[m.start[m.single]] = True
    single = np.flatnonzero(((parts == b"W") | (parts == b"F")) & ~in_list)
    single = single[[not is_fragment(m.text.words[i]) for i in single.tolist()]]
    singles = Spans.of(single, single + 1, doubts=Doubt.PATTERN)
    steps = np.zeros(len(parts) + 1, dtype=np.int64)
    np.add.at(steps, known.start, 1)
    np.add.at(steps, known.end, -1)
    listed_word = (np.cumsum(steps[:-1]) > 0) & ((parts == b".") | (parts == b"E"))
    parts[listed_word] = b"X"
    for span in structured_names(b"".join(parts.tolist()).decode(), m.text.words):
        found.append(span)
    if not found:
        return singles
    array = np.array(found)
    return singles + Spans.of(array[:, 0], array[:, 1], doubts=Doubt.PATTERN | Doubt.JOINED)


def propose(m: Matches) -> Spans:
    found = listed(m)
    return found + patterns(m, found.select((found.doubts & ~np.uint32(ACCEPTED)) == 0))
