"""Rules for the kind Chemical: drugs and other chemicals.

The thresholds and lists were chosen by reading errors in the dev splits of bc5cdr-chem and bc4chemd-sub and in the
train splits of five other corpora. A number beside a rule is what it is worth there: points of F1, mean of seven.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from adaptner.terms.doubts import Doubt, raise_doubt
from adaptner.terms.matches import Matches, Spans
from adaptner.terms.matching import DIGITS, FUNCTION, HAS_KEY, LOWER
from adaptner.terms.rules.chemical_names import (
    charged_atoms,
    codes_of_compounds,
    is_fragment,
    parts_of_names,
    structured_names,
)

# Doubts that a mention may have by default.
ACCEPTED = Doubt.RELATED | Doubt.PATTERN

# How often in a million words of general text a name may be and still be no ordinary word: one in DrugBank and
# another list ("iron" 34), one in ChEBI and another list ("alcohol" 25), any other.
_MAX_RATE_OF_DRUG, _MAX_RATE_OF_CONFIRMED, _MAX_RATE = 100.0, 30.0, 1.0
_CLASS_BREADTH = 16  # some 32,000 concepts below: "molecule", "lipid", "organic compound"
# A name of one of these kinds is a chemical only if DrugBank has it too.
_OTHER_KINDS = (
    "Anatomy", "Procedure", "Cell", "CellularComponent", "Method", "BiologicalProcess", "Disease", "Symptom", "quality",
    "Sequence",
)  # fmt: skip
# Symbols of elements that are neither words, letters nor common abbreviations. Others need a charge or a formula.
_CLEAR_ELEMENTS = frozenset(
    "Ag Al Au Ba Be Bi Br Ca Cd Ce Cl Cr Cs Cu Eu Fe Ga Gd Ge Hg Ir La Li Lu Mg Mn Mo Na Nd Ni Pb Pd Pt Rh Ru Sb Se "
    "Si Sm Sn Sr Tb Ti Tl Zn Zr".split()
)
_PRESSURE = frozenset(["mm", "cm"])  # "mm Hg"
_NITRIC_OXIDE = frozenset(["NO"])  # in capitals it was a chemical 58 times of 71
# Units of sequences: in text about genes they count positions.
_UNITS_OF_SEQUENCES = frozenset(
    ["nucleotide", "nucleotides", "nucleoside", "nucleosides", "base", "bases"]
)
_DEFINED = 3  # definitions of an abbreviation in raw text
_COMMON = 30
_MOSTLY, _SELDOM = 0.5, 0.2  # share of chemicals
_HYPHENS = frozenset("-–‐")
_HEADS = frozenset(
    "derivative derivatives analog analogs analogue analogues compound compounds agent agents drug drugs inhibitor "
    "inhibitors agonist agonists antagonist antagonists blocker blockers antibiotic antibiotics preparation "
    "preparations product products supplement supplements residue residues group groups complex complexes".split()
)


def propose(m: Matches) -> Spans:
    listed = m.spans(m.has("Chemical"), _doubts(m))
    names = listed.select((listed.doubts & ~np.uint32(ACCEPTED)) == 0)
    parts = parts_of_names(m.text)
    # With its charge by default, as five of the corpora mark it. 0.3
    charged = _spans(charged_atoms(parts, m.text.words))
    bare = np.isin(listed.start, charged.start) & ~np.isin(_places(listed), _places(charged))
    raise_doubt(listed.doubts, Doubt.PART, bare)
    return (
        listed
        + charged
        + _unlisted(m, parts, names)
        + _with_heads(m, names)
        + _residues(m)
        + _abbreviations(m, parts)
    )


def _doubts(m: Matches) -> np.ndarray:
    doubts = np.zeros(len(m), dtype=np.uint32)
    classes = m.text.classes
    lengths = m.text.values(len, "i4") * ((classes & HAS_KEY) > 0)
    gene, chebi, substance = m.has("Gene"), m.has("chebi"), m.has("substance")
    drugbank, atom, peptide = m.has("drugbank"), m.has("atom or ion"), m.has("peptide")
    listed_drug = drugbank | m.has("list of drugs")
    confirmed = chebi & substance & (listed_drug | atom | m.has("mesh")) | drugbank & m.has(
        "list of drugs"
    )
    macromolecule = (m.has("macromolecule") | peptide) & ~atom

    raise_doubt(doubts, Doubt.RELATED, m.marked(2))
    # Words of general language: "results", "more" and "life" are brands. 7.5; 4.6 of them because
    # names that several lists confirm may be frequent.
    allowed = np.where(drugbank, _MAX_RATE_OF_DRUG, _MAX_RATE_OF_CONFIRMED)
    allowed = np.where(confirmed & ~macromolecule, allowed, _MAX_RATE)
    raise_doubt(doubts, Doubt.ORDINARY, m.single & (m.rate("general_alone") > allowed))
    # Classes of things; proteins, nucleic acids and polymers. 1.1
    raise_doubt(doubts, Doubt.GENERAL, m.breadth >= _CLASS_BREADTH)
    raise_doubt(doubts, Doubt.GENERAL, m.single & m.starts_with(_UNITS_OF_SEQUENCES))
    many = macromolecule & ~peptide & ~drugbank & ~m.has("supplementary record")
    raise_doubt(doubts, Doubt.GENERAL, many)
    # What a chemical does, and not what it is. 0.7: six corpora gain up to 4.4, ddi loses 6.0
    raise_doubt(doubts, Doubt.ACTION, m.has("role") & ~(substance & listed_drug))

    # Names of something else too. 2.1
    in_gene_lists = m.has("human or rodent gene", "gene of other organism", "protein family")
    several = gene & ~chebi & ~drugbank | gene & macromolecule & in_gene_lists
    several |= m.has("Species", "Food", "Environment") & ~chebi
    several |= m.has(*_OTHER_KINDS) & ~drugbank
    raise_doubt(doubts, Doubt.SEVERAL_KINDS, several)
    # "rapamycin" in "target of rapamycin". 0.4
    raise_doubt(doubts, Doubt.WITHIN_OTHER, m.within("human or rodent gene"))

    # Symbols. 0.5; that some elements and NO count 0.3
    words = np.concatenate([[0], np.cumsum((lengths >= 4) & ((classes & DIGITS) == 0))])
    has_word = words[m.end] > words[m.start]
    size = np.concatenate([[0], np.cumsum(lengths)])
    letters = size[m.end] - size[m.start]
    symbol = ~has_word & (~m.single | ((classes[m.start] & LOWER) == 0))
    raise_doubt(doubts, Doubt.CASE, m.single & m.marked(4) & ~m.exact & ~listed_drug)
    ambiguous = (gene | m.has("CellLine")) & ~(confirmed & listed_drug)
    raise_doubt(doubts, Doubt.SHORT, symbol & (letters <= 3) & ambiguous)
    raise_doubt(doubts, Doubt.SHORT, symbol & (letters <= 2) & ~confirmed)
    element = m.single & atom & (letters <= 2)
    raise_doubt(doubts, Doubt.SHORT, element)
    clear = element & _is_exactly(m, _CLEAR_ELEMENTS) & ~m.preceded_by(_PRESSURE)
    doubts[clear] &= ~np.uint32(Doubt.SHORT | Doubt.SEVERAL_KINDS | Doubt.ORDINARY)
    doubts[_is_exactly(m, _NITRIC_OXIDE)] = 0
    # What raw text defines an abbreviation as. 0.7
    defined, share = _meanings(m)
    defined, share = np.where(symbol & m.single, defined[m.start], 0), share[m.start]
    raise_doubt(doubts, Doubt.OTHER_MEANING, (defined >= _COMMON) & (share < _SELDOM))
    sure = m.exact & (defined >= _DEFINED) & (share > _MOSTLY)
    doubts[sure] &= ~np.uint32(Doubt.SHORT | Doubt.SEVERAL_KINDS | Doubt.GENERAL)
    # "25 mg" and "n = 6" are names too, without their spaces and marks. 0.2
    number = (classes[m.start] & DIGITS) > 0
    unit = ((m.word(-1) & (LOWER | DIGITS)) > 0) | (lengths[m.end - 1] == 1)
    measure = ~has_word & ~m.single & ~listed_drug & (~m.exact | number & unit)
    raise_doubt(doubts, Doubt.PART, measure | m.single & number)
    # "methyl" in "methyl-…"
    group = m.single & m.has("chemical group or class")
    raise_doubt(doubts, Doubt.PART, group & (m.is_word(_HYPHENS) | m.preceded_by(_HYPHENS)))
    return doubts


def _unlisted(m: Matches, parts: np.ndarray, names: Spans) -> Spans:
    """Names made by patterns. ``names`` are listed names, which may be parts of them.

    Single words and formulas are worth 0.3, structured names 0.7 (bc4chemd-sub 2.3), codes next to nothing.
    """
    words = m.text.words
    in_list = np.zeros(len(parts), dtype=bool)
    in_list[m.start[m.single]] = True
    at = np.flatnonzero(((parts == b"W") | (parts == b"F")) & ~in_list)
    at = at[[not is_fragment(words[i]) for i in at.tolist()]]
    steps = np.zeros(len(parts) + 1, dtype=np.int64)
    np.add.at(steps, names.start, 1)
    np.add.at(steps, names.end, -1)
    parts = parts.copy()
    parts[(np.cumsum(steps[:-1]) > 0) & np.isin(parts, (b".", b"A", b"N", b"K"))] = b"X"
    string = parts.tobytes().decode()
    codes = _spans(codes_of_compounds(string), Doubt.PATTERN)
    codes = codes.select(~np.isin(_places(codes), _places(m)))
    structured = _spans(structured_names(string, words), Doubt.PATTERN)
    return Spans.of(at, at + 1, doubts=Doubt.PATTERN) + codes + structured


def _with_heads(m: Matches, names: Spans) -> Spans:
    """Names with a word such as "derivatives": few corpora mark it."""
    rows = np.flatnonzero(m.text.is_one_of(_HEADS)[names.end])
    longer = names.select(rows)
    raise_doubt(longer.doubts, Doubt.WITH_HEAD, np.ones(len(longer), dtype=bool))
    return Spans(longer.start, longer.end + 1, longer.entry, longer.doubts)


def _residues(m: Matches) -> Spans:
    """Positions in proteins, such as "Ser-473": few corpora mark them."""
    digits = (m.text.classes & DIGITS) > 0
    hyphen = m.text.is_one_of(_HYPHENS)
    rows = m.single & m.has("AminoAcid")
    last = len(digits) - 1
    found = []
    for skipped in (0, 1):
        number = m.end + skipped
        at = rows & digits[np.minimum(number, last)]
        if skipped:
            at &= hyphen[np.minimum(m.end, last)]
        longer = m.spans(at, Doubt.WITH_MODIFIER)
        found.append(Spans(longer.start, longer.end + 1 + skipped, longer.entry, longer.doubts))
    return found[0] + found[1]


def _abbreviations(m: Matches, parts: np.ndarray) -> Spans:
    """Abbreviations in no list that raw text mostly defines as chemicals: biored 1.1, bionlp13cg -0.8."""
    defined, share = _meanings(m)
    fits = (defined >= _DEFINED) & (share > _MOSTLY)
    fits &= ((m.text.classes & FUNCTION) == 0) & (parts != b"L")  # "As", "III"
    fits[m.start[m.single & m.has("Chemical")]] = False
    at = np.flatnonzero(fits)
    return Spans.of(at, at + 1, doubts=Doubt.PATTERN)


def _meanings(m: Matches) -> tuple[np.ndarray, np.ndarray]:
    """For each position how often raw text defines its word as an abbreviation, and the share of chemicals."""
    defined = m.definitions()
    return defined, m.definitions("Chemical") / np.maximum(defined, 1)


def _is_exactly(m: Matches, words: frozenset[str]) -> np.ndarray:
    """Whether the match is one of ``words``, with its case."""
    found = np.zeros(len(m), dtype=bool)
    rows = np.flatnonzero(m.single & m.exact)
    found[rows] = [m.text.words[i] in words for i in m.start[rows].tolist()]
    return found


def _places(spans: Spans | Matches) -> np.ndarray:
    """A number for each span: the same for the same place."""
    places: np.ndarray = spans.start * 1_000 + (spans.end - spans.start)
    return places


def _spans(found: Iterable[tuple[int, int]], doubts: int = 0) -> Spans:
    borders = np.array(list(found), dtype=np.int64).reshape(-1, 2)
    return Spans.of(borders[:, 0], borders[:, 1], doubts=doubts)
