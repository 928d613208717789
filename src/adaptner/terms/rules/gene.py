"""Rules for the kind Gene: genes and their products."""

from __future__ import annotations

import re

import numpy as np

from adaptner.terms.doubts import Doubt, raise_doubt
from adaptner.terms.matches import Matches, Spans
from adaptner.terms.matching import CAPITALISED, DIGITS, LOWER, Text

# Doubts that a mention may have by default.
ACCEPTED = Doubt.RELATED | Doubt.PATTERN

_OTHER_KINDS = (
    "Disease", "Anatomy", "Cell", "CellLine", "CellularComponent", "Method", "Procedure", "Person",
    "Environment", "Food", "AminoAcid", "Sequence", "BiologicalProcess", "quality",
)  # fmt: skip
_HEADS = frozenset(
    "gene genes protein proteins mrna mrnas promoter promoters cdna polypeptide polypeptides "
    "antigen antigens receptor receptors kinase kinases site sites element elements domain domains enhancer "
    "locus subunit subunits family isoform isoforms complex complexes transcript transcripts".split()
)
_LACK = frozenset("deficiency deficiencies".split())
_RECEPTOR = frozenset(["receptor"])
_MODIFIERS = frozenset("human mouse murine rat yeast drosophila bovine chicken recombinant".split())
_PROOF = frozenset("gene genes mrna mrnas protein proteins promoter".split())
_GREEK = frozenset("alpha beta gamma delta epsilon zeta kappa α β γ δ ε ζ κ".split())
_HYPHEN = frozenset("-‐‑–")
_NO_SYMBOL = frozenset("= < > , . ; % ° ± × + * & # ′ ' \" ≥ ≤ ~ @ : → ^ !".split())
_DOT = frozenset(".")
_FIGURE = frozenset("fig figs p n".split())


def propose(m: Matches) -> Spans:
    lower, upper, digits = m.letters
    length = lower + upper + digits
    mammal = m.has("human or rodent gene")
    approved = m.has("approved gene symbol")
    family = m.has("protein family")
    heading = m.has("enzyme or protein heading")
    complexes = m.has("family or complex")
    chemical = m.has("chebi") | m.has("Chemical") & ~heading & ~family & ~mammal
    other_kind = m.has(*_OTHER_KINDS) | chemical & ~complexes
    word = m.single & (digits == 0) & ((m.word(-1) & (LOWER | CAPITALISED)) > 0) & ((length > 3) | ~m.exact)
    words = ~m.single & (lower >= 4)
    name = word | words
    symbol = ~name
    seen = m.count("field_inside") + m.count("field_alone")
    inside = m.count("field_inside") / np.maximum(1, seen)
    general = m.rate("general_alone")
    field = m.rate("field_alone")
    defined = m.count("defined").astype(float)
    as_gene = m.count("defined_as_gene")
    doubts = np.zeros(len(m), dtype=np.uint32)
    raise_doubt(doubts, Doubt.RELATED, m.marked(2))
    # words
    proper = (m.count("field_lower") < 0.1 * seen) & ((m.word(-1) & CAPITALISED) > 0) & mammal
    rare = mammal & (length > 4) & (field < 5)
    raise_doubt(doubts, Doubt.ORDINARY, word & ~heading & ~((proper | rare) & (general < 1)))
    raise_doubt(doubts, Doubt.SEVERAL_KINDS, name & other_kind & ~(mammal & heading))
    raise_doubt(doubts, Doubt.GENERAL, word & ~mammal & ((inside > 0.55) | (m.breadth > 9)))
    raise_doubt(doubts, Doubt.GENERAL, name & m.text.passes(is_plural)[m.end - 1] & ~mammal)
    raise_doubt(doubts, Doubt.GENERAL, words & ((inside > 0.4) | (m.breadth > 7)))
    raise_doubt(doubts, Doubt.ORDINARY, words & ~mammal & ~family & ~heading)
    raise_doubt(doubts, Doubt.HIGHER, words & ~mammal & ~complexes & (field > 1))
    # symbols
    proof = m.is_word(_PROOF)
    usual = (as_gene * 3 > defined) & (defined > 0)
    other_meaning = (defined - as_gene > 0.02 * seen) & ~usual & (defined > 0)
    raise_doubt(doubts, Doubt.SHORT, symbol & (length <= 2) & ~proof & ~(usual & (defined >= 100)))
    raise_doubt(doubts, Doubt.SEVERAL_KINDS, symbol & (m.has("chebi") | other_kind & (length <= 3)) & ~approved & ~heading & ~complexes & ~proof)
    raise_doubt(doubts, Doubt.OTHER_MEANING, symbol & other_meaning & ((digits == 0) | (length <= 3)) & ~proof)
    unsure = ~usual & ~(approved & ~other_meaning) & ~((digits == 2) & (lower == 1))
    raise_doubt(doubts, Doubt.SHORT, symbol & (length == 3) & unsure & ~proof)
    raise_doubt(doubts, Doubt.ORDINARY, symbol & (digits == 0) & (general > 1) & ~(mammal & usual) & ~proof)
    raise_doubt(doubts, Doubt.ORDINARY, symbol & ~mammal & ~family & ~heading & ~usual & ((length <= 3) | (digits == 0)))
    raise_doubt(doubts, Doubt.HIGHER, m.marked(4) & ~mammal & ~heading & complexes)
    raise_doubt(doubts, Doubt.PART, symbol & (inside > 0.5) & m.is_word(_HYPHEN))
    raise_doubt(doubts, Doubt.CASE, symbol & ~m.exact & (lower < 2) & (length <= 4))
    raise_doubt(doubts, Doubt.CASE, m.single & m.marked(4) & ~m.exact & name & (length <= 3))
    number = ((m.word(0) & DIGITS) > 0) | m.is_word(_GREEK)
    number |= m.is_word(_HYPHEN) & (((m.word(1) & DIGITS) > 0) | m.is_word(_GREEK, 1))
    raise_doubt(doubts, Doubt.PART, symbol & (digits == 0) & number)
    # all
    barred = np.concatenate([[0], np.cumsum(m.text.is_one_of(_NO_SYMBOL))])
    barred = barred[m.end] - barred[m.start]
    dotted = m.text.is_one_of(_DOT)[np.minimum(m.start + 1, len(m.text.words) - 1)]
    dotted &= (barred == 1) & (upper > 0) & m.exact & ~m.starts_with(_FIGURE) & (length > 2)
    raise_doubt(doubts, Doubt.JOINED, ~m.single & ~words & ((barred > 0) & ~dotted | m.starts_with(_FIGURE)))
    raise_doubt(doubts, Doubt.WITH_HEAD, ~m.single & m.ends_with(_PROOF) & ends_after_gene(m))
    raise_doubt(doubts, Doubt.WITHIN_OTHER, m.is_word(_LACK))
    raise_doubt(doubts, Doubt.PART, m.is_word(_RECEPTOR))
    rows = m.has("Gene") & (lower + upper > 0) & ~superseded(m)
    return with_variants(m, m.spans(rows, doubts) + unlisted(m))


def with_variants(m: Matches, spans: Spans) -> Spans:
    """The spans, and the same with what stands beside them: "alpha", "gene", "human"."""
    numbered = extended(spans, ends_of_numbers(m.text), Doubt.PATTERN)
    receptors = extended(spans, m.text.is_one_of(_RECEPTOR), Doubt.PATTERN)
    spans = spans + numbered + receptors
    heads = m.text.is_one_of(_HEADS)
    headed = extended(spans, heads, Doubt.WITH_HEAD)
    headed = headed + extended(headed, heads, Doubt.WITH_HEAD)
    spans = spans + headed
    before = m.text.is_one_of(_MODIFIERS)[spans.start - 1]
    modified = spans.select(np.flatnonzero(before))
    modified = Spans.of(modified.start - 1, modified.end, modified.entry, modified.doubts | Doubt.WITH_MODIFIER)
    return spans + modified


def extended(spans: Spans, lengths: np.ndarray, doubt: Doubt) -> Spans:
    """The spans that some tokens follow, with these; ``lengths``: how many begin at each position."""
    longer = lengths[np.minimum(spans.end, len(lengths) - 1)].astype(np.int64)
    rows = longer > 0
    end = spans.end[rows] + longer[rows]
    doubts = spans.doubts[rows] & ~np.uint32(Doubt.PART | Doubt.HIGHER | Doubt.WITHIN_OTHER) | np.uint32(doubt)
    return Spans(spans.start[rows], end, spans.entry[rows], doubts)


def ends_of_numbers(text: Text) -> np.ndarray:
    """How many tokens a number has that begins at each position: "alpha" 1, "- II" 2; 0 if none does."""
    number = text.is_one_of(_GREEK) | text.passes(is_roman)
    after_hyphen = text.is_one_of(_HYPHEN) & np.append(number[1:], False)
    return number + 2 * after_hyphen


def is_roman(word: str) -> bool:
    return word in ("II", "III", "IV", "V", "VI")


def unlisted(m: Matches) -> Spans:
    """Symbols that no list has, but that look like genes."""
    at = m.text.passes(looks_like_gene)
    known = np.zeros(len(at), dtype=bool)
    known[m.start[m.single]] = True
    at = np.flatnonzero(at & ~known)
    return Spans.of(at, at + 1, doubts=Doubt.PATTERN)


_LIKE_GENE = re.compile(r"p\d{2,3}([A-Za-z]\w*)?|[A-Z][a-z]{2,4}\d{1,2}p?|[a-z]{3}[A-Z]")
_NOT_GENE = frozenset("ala arg asn asp cys gln glu gly his ile leu lys met phe pro ser thr trp tyr val "
    "fig figs day tab ref exp type step eqn chr exon del".split())


def looks_like_gene(word: str) -> bool:
    return bool(3 <= len(word) <= 10 and _LIKE_GENE.fullmatch(word)) and word.rstrip("0123456789p").lower() not in _NOT_GENE


def is_plural(word: str) -> bool:
    return word[-1:] == "s" and word[-2:-1] not in "suia" and word.islower() and len(word) > 3


def superseded(m: Matches) -> np.ndarray:
    """Whether the same span is a gene with its case, too."""
    gene = m.has("Gene")
    exact = np.zeros(len(m), dtype=bool)
    if len(m) > 1:
        same = (m.start[1:] == m.start[:-1]) & (m.end[1:] == m.end[:-1])
        exact[1:] = same & m.exact[:-1] & gene[:-1]
    return exact & ~m.exact


def ends_after_gene(m: Matches) -> np.ndarray:
    """Whether a gene begins with the match and ends one token before it."""
    gene = m.has("Gene")
    shorter = m.start[gene].astype(np.int64) << 32 | m.end[gene]
    return np.isin(m.start.astype(np.int64) << 32 | (m.end - 1), shorter)
