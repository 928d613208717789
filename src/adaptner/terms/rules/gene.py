"""Rules for the kind Gene: genes and what they make, as single names ("p53", "insulin", "nerve growth factor").

By default a mention is bare, without "gene", "protein", "human": so it is in 13 of the 15 corpora on which the rules
were chosen (dev of bc2gm and jnlpba, train of 13 others). Figures in comments are the F1 that the mean of the 15 loses
without the rule. The rules were written with errors in these corpora in view; the lists have only words that anybody
in the field would write down, no names.
"""

from __future__ import annotations

import re

import numpy as np

from adaptner.terms.doubts import Doubt, raise_doubt
from adaptner.terms.hashing import mixed_symbol_keys, word_keys
from adaptner.terms.matches import Matches, Spans
from adaptner.terms.matching import CAPITALISED, LOWER, Text

# Doubts that a mention may have by default. HIGHER: 9 corpora mark families and complexes such as NF-kappa B (bc2gm
# and jnlpba +2.3), 6 do not (bionlp09 and bionlp13ge -6).
# DEFINED_OTHERWISE: the long forms of many genes are in no list.
ACCEPTED = Doubt.RELATED | Doubt.PATTERN | Doubt.HIGHER | Doubt.DEFINED_OTHERWISE


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_OTHER_KINDS = (
    "Disease", "Anatomy", "Cell", "CellLine", "CellularComponent", "Method", "Procedure", "Person",
    "Environment", "Food", "AminoAcid", "Sequence", "BiologicalProcess", "quality",
)  # fmt: skip
_ORDINARY_RATE = 1.0  # in a million words of general text
_COMMON_RATE, _RARE_RATE = 1.0, 5.0  # in a million words of field text
_MOST_INSIDE = 0.5  # "kinase" is part of a longer name in half of its places
_CLASS_BREADTH = 9  # some 250 concepts and more below: "kinase", "cytokine", "receptor"
_LEAST_SHARE = 1 / 3  # of the definitions of a symbol in raw text, if it usually is a gene
_OTHER_RATE = 0.05  # one place in twenty defines the symbol as something else
_WELL_KNOWN = 100  # definitions

# Words that only genes and their products have after them.
_PROOF = _words("gene genes mrna mrnas protein proteins promoter")
# What some corpora take into the mention after a gene, and before it.
_HEADS = _PROOF | _words(
    "antigen antigens cdna complex complexes domain domains element elements enhancer family isoform isoforms kinase "
    "kinases locus polypeptide polypeptides promoters receptor receptors site sites subunit subunits transcript "
    "transcripts"
)
_MODIFIERS = _words("bovine chicken drosophila human mouse murine rat recombinant yeast")
# What genes and proteins are: the last word of many a long form of an abbreviation.
_CLASSES = _words(
    "activator antigen channel coactivator enzyme factor gene kinase ligand oncogene phosphatase polypeptide protein "
    "receptor repressor subunit transporter"
)
_GREEK = _words("alpha beta gamma delta epsilon zeta kappa α β γ δ ε ζ κ")
_ROMAN = frozenset(["II", "III", "IV", "V", "VI"])
_HYPHEN = frozenset("-‐‑–")
_DOT = frozenset(".")
_FIGURE = frozenset(["fig", "figs", "n", "p"])  # "Fig. 2", "p < 0": symbols have no borders
_BETWEEN_SYMBOLS = _words("= < > , . ; % ° ± × + * & # ′ ' \" ≥ ≤ ~ @ : → ^ !")


def propose(m: Matches) -> Spans:
    unlisted = _unlisted(m)
    m = m.select(m.has("Gene"))
    is_class = m.single & m.starts_with(_CLASSES)
    rows = (m.letters[:2].sum(0) > 0) & ~_has_exact(m) & ~is_class
    return _with_neighbours(m.text, m.spans(rows, _doubts(m)) + unlisted)


def _doubts(m: Matches) -> np.ndarray:
    lower, upper, digits = m.letters
    word = m.single & (digits == 0) & ((m.word(-1) & (LOWER | CAPITALISED)) > 0)
    word &= (lower + upper > 3) | ~m.exact
    words = ~m.single & (lower >= 4)
    doubts = np.zeros(len(m), dtype=np.uint32)
    raise_doubt(doubts, Doubt.RELATED, m.marked(2))
    _doubt_words(m, doubts, word, words)
    _doubt_symbols(m, doubts, ~word & ~words)
    return doubts


def _other_kind(m: Matches) -> np.ndarray:
    chemical = m.has("Chemical") & ~m.has(
        "enzyme or protein heading", "protein family", "human or rodent gene"
    )
    chemical |= m.has("chebi")
    other: np.ndarray = m.has(*_OTHER_KINDS) | chemical & ~m.has("family or complex")
    return other


def _doubt_words(m: Matches, doubts: np.ndarray, word: np.ndarray, words: np.ndarray) -> None:
    """Names such as "insulin" (``word``) and "nerve growth factor" (``words``)."""
    mammal = m.has("human or rodent gene")
    heading = m.has("enzyme or protein heading")
    length = m.letters.sum(0)
    seen = m.count("field_inside") + m.count("field_alone")
    inside = m.count("field_inside") > _MOST_INSIDE * seen
    field = m.rate("field_alone")
    # A word is a gene's symbol, mostly a fly's ("white", "hedgehog"), unless MeSH lists it as an enzyme or protein, or
    # it is rare, or written with a capital inside sentences ("Nanog"): 9.8, of which the exceptions for symbols 0.4
    proper = (m.count("field_lower") < 0.1 * seen) & ((m.word(-1) & CAPITALISED) > 0)
    named = mammal & (proper | (length > 4) & (field < _RARE_RATE))
    named &= m.rate("general_alone") < _ORDINARY_RATE
    raise_doubt(doubts, Doubt.ORDINARY, word & ~heading & ~named)
    # "chromatin", "calcium": 0.9
    raise_doubt(doubts, Doubt.SEVERAL_KINDS, (word | words) & _other_kind(m) & ~(mammal & heading))
    # "kinase", "transcription factor", "tyrosine kinase": 0.2 and 0.4
    general = inside | (m.breadth > _CLASS_BREADTH)
    raise_doubt(doubts, Doubt.GENERAL, (word & ~mammal | words) & general)
    common = ~mammal & ~m.has("family or complex") & (field > _COMMON_RATE)
    raise_doubt(doubts, Doubt.GENERAL, words & common)
    # "actin protein" in a list: 0.1
    raise_doubt(doubts, Doubt.WITH_HEAD, words & m.ends_with(_PROOF) & _ends_after_another(m))


def _doubt_symbols(m: Matches, doubts: np.ndarray, symbol: np.ndarray) -> None:
    """Names such as "TNF", "p53", "IL-2"."""
    lower, upper, digits = m.letters
    length = lower + upper + digits
    mammal = m.has("human or rodent gene")
    approved = m.has("approved gene symbol")
    family = m.has("family or complex")
    heading = m.has("enzyme or protein heading")
    seen = m.count("field_inside") + m.count("field_alone")
    defined = np.where(m.single, m.definitions()[m.start], 0)
    as_gene = np.where(m.single, m.definitions("Gene")[m.start], 0)
    usual = (defined > 0) & (as_gene > _LEAST_SHARE * defined)
    unusual = (defined - as_gene > _OTHER_RATE * seen) & ~usual
    alone = np.zeros(len(m), dtype=np.uint32)
    # Two letters mean anything, three mean a gene if they usually do, or if the symbol is approved or that of a
    # family: 0.9 and 0.4; approved symbols alone 0.5, counts of definitions alone 0.9
    raise_doubt(alone, Doubt.SHORT, (length <= 2) & ~(usual & (defined >= _WELL_KNOWN)))
    p53 = (digits == 2) & (lower == 1)
    unsure = ~usual & ~(approved & ~unusual) & ~family & ~p53
    second = np.minimum(m.start + 1, len(m.text.words) - 1)
    written = mammal & (m.text.is_one_of(_HYPHEN) | m.text.is_one_of(_DOT))[second]  # "AP-1"
    raise_doubt(alone, Doubt.SHORT, (length == 3) & unsure & ~(written & ~m.single))
    # 0.5
    raise_doubt(alone, Doubt.OTHER_MEANING, unusual & ((digits == 0) | (length <= 3)))
    # "LPS", "cDNA": 0.3
    several = (m.has("chebi") | m.has("Disease") & ~usual) & ~approved
    several |= _other_kind(m) & ~mammal
    raise_doubt(alone, Doubt.SEVERAL_KINDS, several & ~heading & ~family)
    # "CAT", and symbols of flies, fish and yeast without a digit: 0.03 beside what is above
    ordinary = (digits == 0) & (m.rate("general_alone") > _ORDINARY_RATE) & ~(mammal & usual)
    other = ~mammal & ~m.has("protein family") & ~heading & ~usual
    mixed = (lower > 0) & (upper > 1)
    ordinary |= other & ((length <= 3) | (digits == 0) & ~mixed)
    raise_doubt(alone, Doubt.ORDINARY, ordinary)
    # A word such as "gene" behind takes these doubts away: 0.6
    doubts |= np.where(symbol & ~m.is_word(_PROOF), alone, np.uint32(0))
    raise_doubt(doubts, Doubt.HIGHER, m.marked(4) & family & ~mammal & ~heading)
    raise_doubt(doubts, Doubt.CASE, symbol & ~m.exact & (lower < 2) & (length <= 4))
    # "P = 0" and "1, 2", but not "PU.1": 0.7
    between = np.concatenate([[0], np.cumsum(m.text.is_one_of(_BETWEEN_SYMBOLS))])
    between = between[m.end] - between[m.start]
    dotted = m.text.is_one_of(_DOT)[second]
    dotted &= (between == 1) & m.exact & (upper > 0) & (length > 2)
    broken = (between > 0) & ~dotted | m.starts_with(_FIGURE)
    raise_doubt(doubts, Doubt.JOINED, symbol & ~m.single & broken)


def _has_exact(m: Matches) -> np.ndarray:
    """Whether the match before has the same span, and is found with its case."""
    found = np.zeros(len(m), dtype=bool)
    same_span = (m.start[1:] == m.start[:-1]) & (m.end[1:] == m.end[:-1])
    found[1:] = same_span & m.exact[:-1] & ~m.exact[1:]
    return found


def _ends_after_another(m: Matches) -> np.ndarray:
    """Whether another match begins with it and ends one token before it."""
    places = m.start.astype(np.int64) << 32 | m.end
    return np.isin(places - 1, places)


# "p53", "Abc12", "lacZ" that no list has: 0.3 (bc2gm 1.3)
_LIKE_GENE = re.compile(r"p\d{2,3}([A-Za-z]\w*)?|[A-Z][a-z]{2,4}\d{1,2}p?|[a-z]{3}[A-Z]")
_NOT_GENES = _words(  # amino acids in three letters, words before numbers
    "ala arg asn asp cys gln glu gly his ile leu lys met phe pro ser thr trp tyr val chr day del eqn exon exp fig figs "
    "ref step tab type"
)
# A letter for species or state before a symbol: "hMLH1", "pStat3": 0.1
_PREFIXED = re.compile(r"[hmrbpsc][A-Z][A-Za-z]+\d*[A-Za-z]?|[hmrpc][A-Z]+\d+[A-Za-z]?")


def _looks_like_gene(word: str) -> bool:
    return (
        3 <= len(word) <= 10
        and bool(_LIKE_GENE.fullmatch(word))
        and word.rstrip("0123456789p").lower() not in _NOT_GENES
    )


def _has_prefix(word: str) -> bool:
    return bool(_PREFIXED.fullmatch(word)) and 4 <= word_keys(word[1:]).exact_length < 10


def _unlisted(m: Matches) -> Spans:
    """Words that look like a gene, or that have a gene after a letter, and are in no list of any kind."""
    free = np.ones(len(m.text.words), dtype=bool)
    free[m.start[m.single]] = False
    classes = np.flatnonzero(m.text.is_one_of(_CLASSES))
    like = np.flatnonzero(m.text.passes(_looks_like_gene) & free)
    prefixed = np.flatnonzero(m.text.passes(_has_prefix) & free)
    keys = [word_keys(m.text.words[i][1:]).exact for i in prefixed.tolist()]
    entry = m.terms.find(mixed_symbol_keys(np.array(keys, dtype=np.uint64)))
    kinds = m.terms.kinds_of(entry)
    is_gene = (kinds & m.terms.mask_of(["human or rodent gene", "family or complex"])).any(1)
    known = (entry >= 0) & is_gene
    return (
        Spans.of(classes, classes + 1, doubts=Doubt.GENERAL)
        + Spans.of(like, like + 1, doubts=Doubt.PATTERN)
        + Spans.of(prefixed[known], prefixed[known] + 1, entry[known], Doubt.PATTERN)
    )


def _is_number(word: str) -> bool:
    return word in _ROMAN or word.lower() in _GREEK


def _with_neighbours(text: Text, spans: Spans) -> Spans:
    """The spans, and each with the number, the heads and the modifier that stand beside it."""
    number = text.passes(_is_number)
    after_hyphen = text.is_one_of(_HYPHEN) & np.append(number[1:], False)
    # "PKC zeta", "collagenase IV": 0.2
    spans = spans + _extended(spans, number + 2 * after_hyphen, Doubt.PATTERN)
    heads = text.is_one_of(_HEADS)
    headed = _extended(spans, heads, Doubt.WITH_HEAD)
    spans = spans + headed + _extended(headed, heads, Doubt.WITH_HEAD)
    rows = np.flatnonzero(text.is_one_of(_MODIFIERS)[spans.start - 1])
    modified = spans.select(rows)
    return spans + Spans.of(
        modified.start - 1, modified.end, modified.entry, modified.doubts | Doubt.WITH_MODIFIER
    )


def _extended(spans: Spans, tokens: np.ndarray, doubt: Doubt) -> Spans:
    """The spans with the ``tokens`` (at each position, how many belong together) that follow them, if any do."""
    more = tokens[spans.end].astype(np.int64)
    rows = np.flatnonzero(more)
    doubts = spans.doubts[rows] & ~np.uint32(Doubt.HIGHER) | np.uint32(doubt)
    return Spans(spans.start[rows], spans.end[rows] + more[rows], spans.entry[rows], doubts)
