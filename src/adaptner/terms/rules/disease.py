"""Rules for the kind Disease: diseases, symptoms and injuries.

Most names of diseases are words, and the terminologies agree on them: what many list, or MeSH has among its
diseases, is one. Text also makes names that no list has, of a site and what is wrong with it ("renal injury").

The worth of a rule is the F1 that is lost without it: the mean over the dev splits of ncbi-disease and bc5cdr-disease
and the train splits of biored, tmvar3 and variome. The lists of sites, heads and endings were extended after reading
what was missed there.
"""

from __future__ import annotations

import re
from functools import lru_cache

import numpy as np

from adaptner.terms.doubts import Doubt, raise_doubt
from adaptner.terms.hashing import mixed_word_keys, word_keys
from adaptner.terms.matches import Matches, Spans
from adaptner.terms.rules.general import general_doubts, word_list

# Doubts that a mention may have by default.
ACCEPTED = (
    Doubt.RELATED | Doubt.SHORT | Doubt.PATTERN | Doubt.WITH_HEAD | Doubt.JOINED | Doubt.ADJECTIVE
)

# Attributes that say which terminologies list a name as a disease or symptom.
_LISTS = (
    "mondo disease",
    "doid disease",
    "ncit disease",
    "efo disease",
    "orphanet disease",
    "listed symptom",
)
_MANY_LISTS = (
    3  # worth 2.4, as how much a name is trusted that other kinds or general text have too
)
# A name of so many diseases or symptoms (the logarithm to 2 of how many are below) names none: "disorder"
_CLASS_BREADTH = 10  # worth 1.4
# Kinds of which a disease seldom shares a name: "blood" and "skin" are synonyms of neoplasms somewhere.
# Worth 2.2.
_OTHER_KINDS = ("Anatomy", "Person", "Procedure", "Method", "Food", "Device", "quality")
# Doubts of a name that do not matter when a site stands before it: "lung disorder"
_OF_HEADS = np.uint32(Doubt.GENERAL | Doubt.RELATED)
# An abbreviation that raw text defines this often is a disease if this share of the definitions is one. Worth 0.4,
# with the abbreviations in no list.
_OFTEN_DEFINED, _LEAST_SHARE = 10, 0.15
_DEFINED, _MOSTLY = 2, 0.5  # the same for abbreviations in no list

# What may be wrong with a site or function, but is no disease without it. Worth 0.6.
_HEADS = word_list(
    "abnormality abnormalities anomaly anomalies complications damage defect defects deficit deficits degeneration "
    "deficiency deficiencies disease diseases disorder disorders disturbance disturbances dysfunction dysfunctions "
    "failure impairment impairments injury injuries insufficiency lesion lesions malformation malformations "
    "retardation symptom symptoms syndrome syndromes toxicity toxicities"
)
# Adjectives of sites and functions: terminologies of anatomy list nouns.
_SITES = word_list(
    "abdominal aortic arterial atrial behavioral behavioural biliary bronchial cardiac cardiovascular cerebellar cerebral "
    "cognitive colonic colorectal corneal coronary craniofacial cutaneous dental endometrial endothelial esophageal "
    "extrapyramidal facial gastric gastrointestinal glomerular hematological hepatic intestinal mental metabolic mucosal "
    "muscular myocardial neural neurological neuronal ocular oral ovarian pancreatic prostatic psychiatric psychomotor "
    "psychotic pulmonary renal respiratory retinal skeletal spinal testicular tubular urinary uterine vascular venous "
    "ventricular visual"
)
# Part of the mention in the corpora on inherited diseases, rare in the others; worth 0.4.
_INHERITED = word_list("autosomal dominant genetic hereditary inherited recessive")
_BEFORE_HEADS = _SITES | _INHERITED
_SITE_KINDS = ("Anatomy", "Virus", "Bacterium")
# How bad, how long, how it runs: a convention. Taking these into the mention costs 1.9, on all five corpora.
_MODIFIERS = word_list(
    "acute advanced bilateral chronic congenital early familial idiopathic isolated metastatic mild moderate persistent "
    "primary progressive recurrent secondary severe sporadic transient"
)
_LACK = frozenset(["deficiency", "deficiencies"])
_GREEK = word_list("alpha beta gamma delta a b α β γ δ")
_AND = frozenset(["and", "or", "/", "-", "and/or"])
_COMMA, _HYPHEN, _OF = frozenset([","]), frozenset(["-"]), frozenset(["of"])
_TYPE = frozenset(["type", "types"])
_NUMBER = re.compile(r"[IVX]+[A-Da-d]?|\d{1,2}[A-Da-d]?|[A-D]")
_ADJECTIVE = re.compile(r"[a-z]{2,}(?:ic|ive|ory|ian|ous|ese|al)s?")
_ENDING = re.compile(
    r"[a-z]{3,}(?:itis|osis|a?emias?|uria|opath(?:y|ies)|oedema|plegia|algias?|penia|megaly|toxicit(?:y|ies)|kinesias?|"
    r"(?:carcin|sarc|blast|lymph|aden|gli)omas?|rrh?agia|rrho?ea|trophy)"
)


def propose(m: Matches) -> Spans:
    rows = np.flatnonzero(m.has("Disease"))
    listed = m.spans(rows, _doubts(m))
    adjectives = _adjectives(m)
    sites = _site_starts(m, adjectives)
    words = _words(m, rows, listed)
    longer = _with_site(m, words, sites, _HEADS) + _with_type(m, words)
    names = listed + longer + _joined(m, words + longer, sites) + _lack(m)
    names = names + adjectives + _with_ending(m) + _abbreviations(m)
    return names + _with_modifier(m, names)


def _doubts(m: Matches) -> np.ndarray:
    general = general_doubts(m)
    doubts = general & ~np.uint32(Doubt.ORDINARY | Doubt.CASE)
    ordinary = (general & np.uint32(Doubt.ORDINARY)) > 0
    lists = np.sum([m.has(name) for name in _LISTS], axis=0)
    in_mesh, symptom, symbol = m.has("mesh disease"), m.has("mesh symptom"), m.marked(4)
    sure = in_mesh | (lists >= _MANY_LISTS)
    wide = (m.breadth >= _CLASS_BREADTH) & ~in_mesh & ~m.has("Cancer")
    raise_doubt(doubts, Doubt.GENERAL, wide)
    # Diseases are in the news: general text does not make "anxiety" an ordinary word. Worth 0.9.
    raise_doubt(doubts, Doubt.ORDINARY, ordinary & ~sure & ~symptom)
    measured = m.has("Procedure", "Method") & (lists == 0)  # "body weight"
    other = np.where(symptom, measured, m.has(*_OTHER_KINDS))
    process = m.has("pathologic finding") & m.has("BiologicalProcess") & (lists < 2)
    process &= ~symptom & ~m.has("listed symptom")
    raise_doubt(doubts, Doubt.SEVERAL_KINDS, ~symbol & ~sure & (other | process))
    raise_doubt(doubts, Doubt.WITHIN_OTHER, m.within("Species"))  # "hepatitis B virus"
    # Inverted names with their comma, and symbols across marks: "D/D"
    raise_doubt(doubts, Doubt.CASE, _contains(m, m.text.is_one_of(_COMMA)))
    raise_doubt(doubts, Doubt.CASE, symbol & (~m.exact | _contains(m, m.text.passes(_is_mark))))
    # Genes are named after the disease, and diseases after the gene: "PKD1"
    gene = m.has("human or rodent gene")
    letters = m.letters.sum(axis=0)
    raise_doubt(doubts, Doubt.SEVERAL_KINDS, symbol & gene & (m.letters[2] > 0))
    few_lists = m.single & (letters <= 2) & ((lists < 2) | (gene & (lists < _MANY_LISTS)))
    defined, share = _meanings(m)
    often = m.single & (defined[m.start] >= _OFTEN_DEFINED)
    other = np.where(often, share[m.start] < _LEAST_SHARE, few_lists)
    raise_doubt(doubts, Doubt.OTHER_MEANING, symbol & other)
    return doubts


def _contains(m: Matches, marked: np.ndarray) -> np.ndarray:
    """Whether each match contains one of the marked positions."""
    before = np.zeros(len(marked) + 1, dtype=np.int64)
    before[1:] = np.cumsum(marked)
    found: np.ndarray = before[m.end] > before[m.start]
    return found


def _is_mark(word: str) -> bool:
    return not word[:1].isalnum() and word != "-"


def _words(m: Matches, rows: np.ndarray, listed: Spans) -> Spans:
    """The listed names that can be part of longer ones."""
    return listed.select(~m.marked(4)[rows] & ((listed.doubts & ~_OF_HEADS) == 0))


def _site_starts(m: Matches, adjectives: Spans) -> np.ndarray:
    """For each position the beginning of the longest site that ends before it, or the position itself."""
    starts = np.arange(len(m.text.words) + 1)
    rows = np.flatnonzero(m.has(*_SITE_KINDS) & ~m.marked(4) & ~m.has("mesh disease"))
    np.minimum.at(starts, m.end[rows], m.start[rows])
    at = np.flatnonzero(m.text.is_one_of(_BEFORE_HEADS))
    np.minimum.at(starts, at + 1, at)
    np.minimum.at(starts, adjectives.end, adjectives.start)
    return starts[starts]  # two in a row: "left ventricular"


def _with_site(m: Matches, names: Spans, sites: np.ndarray, heads: frozenset[str]) -> Spans:
    """ "renal injury", "cerebral edema", "diabetic foot". Worth 1.9."""
    at = np.flatnonzero(m.text.is_one_of(heads))
    start, end = np.concatenate([names.start, at]), np.concatenate([names.end, at + 1])
    begin = sites[start]
    fits = begin < start
    return Spans.of(begin[fits], end[fits], doubts=Doubt.PATTERN)


def _lack(m: Matches) -> Spans:
    """ "PAH deficiency", "deficiency of PAH". Worth 0.3 on ncbi-disease, nothing elsewhere."""
    substance = m.has("Gene", "Chemical")
    lack, of = m.text.is_one_of(_LACK), m.text.is_one_of(_OF)
    first = substance & m.is_word(_LACK)
    second = substance & of[m.start - 1] & lack[np.maximum(m.start - 2, 0)]
    return Spans.of(
        np.concatenate([m.start[first], m.start[second] - 2]),
        np.concatenate([m.end[first] + 1, m.end[second]]),
        doubts=Doubt.PATTERN,
    )


def _with_type(m: Matches, names: Spans) -> Spans:
    """ "type IIB von Willebrand disease", "beta-thalassemia", "spinocerebellar ataxia type 3". Worth 0.3."""
    last = len(m.text.words) - 1
    before, second = names.start - 1, np.maximum(names.start - 2, 0)
    after, third = np.minimum(names.end, last), np.minimum(names.end + 1, last)
    word, number = m.text.is_one_of(_TYPE), m.text.passes(_is_number)
    first = word[second] & number[before]
    first |= m.text.is_one_of(_GREEK)[second] & m.text.is_one_of(_HYPHEN)[before]
    behind = word[after] & number[third]
    return Spans.of(second[first], names.end[first], doubts=Doubt.PATTERN) + Spans.of(
        names.start[behind], names.end[behind] + 2, doubts=Doubt.WITH_HEAD
    )


def _with_modifier(m: Matches, names: Spans) -> Spans:
    """ "severe asthma" """
    rows = np.flatnonzero(m.text.is_one_of(_MODIFIERS)[names.start - 1])
    doubts = names.doubts[rows] | np.uint32(Doubt.WITH_MODIFIER)
    return Spans.of(names.start[rows] - 1, names.end[rows], names.entry[rows], doubts)


def _joined(m: Matches, names: Spans, sites: np.ndarray) -> Spans:
    """ "breast, lung and/or ovarian cancer" as one mention. Worth 3.8 on ncbi-disease, 0.1 on the others."""
    begins_with_site = np.zeros(len(sites), dtype=bool)
    begins_with_site[sites[sites < np.arange(len(sites))]] = True
    joins = m.text.is_one_of(_AND)
    between = joins | m.text.is_one_of(_COMMA)
    rows = begins_with_site[names.start] & joins[names.start - 1] & (names.end - names.start > 1)
    found = []
    for start, end in zip(names.start[rows].tolist(), names.end[rows].tolist(), strict=True):
        begin = start
        while True:
            at = begin
            while between[at - 1]:  # ends at the barrier in front of a sentence
                at -= 1
            if at == begin or sites[at] == at:
                break
            begin = int(sites[at])
        if begin < start:
            found.append((begin, end))
    return Spans.of([a for a, _ in found], [b for _, b in found], doubts=Doubt.JOINED)


def _adjectives(m: Matches) -> Spans:
    """ "diabetic", "nephrotoxic", "hypertensive": one of the nouns that they may come from is a disease. Worth 0.9."""
    at = np.flatnonzero(m.text.passes(_is_adjective) & ~_names_another_thing(m))
    keys, owners = [], []
    for place in at.tolist():
        of_nouns = _noun_keys(m.text.words[place])
        keys += of_nouns
        owners += [place] * len(of_nouns)
    entry = m.terms.find(mixed_word_keys(np.array(keys, dtype=np.uint64)))
    row = np.maximum(entry, 0)
    kinds = m.terms.kinds_of(row)
    is_disease = (kinds & m.terms.mask_of(_NOUNS)).any(axis=1) & (entry >= 0)
    is_tumour = (kinds & m.terms.mask_of(["Cancer"])).any(axis=1)  # "adenomatous" says of what kind
    is_class = m.terms.breadth(row) >= _CLASS_BREADTH
    places = np.unique(np.array(owners, dtype=np.int64)[is_disease & ~is_tumour & ~is_class])
    return Spans.of(places, places + 1, doubts=Doubt.ADJECTIVE)


_NOUNS = ("mesh disease", "mesh symptom", "efo disease", "listed symptom")


def _with_ending(m: Matches) -> Spans:
    """Words in no list that end as diseases do: "excitotoxicity". Worth 0.1."""
    fits = m.text.passes(_has_ending).copy()
    fits[m.start[m.single]] = False
    at = np.flatnonzero(fits)
    return Spans.of(at, at + 1, doubts=Doubt.PATTERN)


def _names_another_thing(m: Matches) -> np.ndarray:
    """For each position, whether its word is a name, but none of a disease."""
    found = np.zeros(len(m.text.words), dtype=bool)
    found[m.start[m.single & ~m.marked(4) & ~m.has("quality")]] = True
    found[m.start[m.single & m.has("Disease")]] = False
    return found


def _abbreviations(m: Matches) -> Spans:
    """Abbreviations in no list that raw text mostly defines as diseases. Worth 0.1."""
    defined, share = _meanings(m)
    fits = (share > _MOSTLY) & (defined >= _DEFINED)
    fits[m.start[m.single & m.has("Disease")]] = False
    at = np.flatnonzero(fits)
    return Spans.of(at, at + 1, doubts=Doubt.PATTERN)


def _meanings(m: Matches) -> tuple[np.ndarray, np.ndarray]:
    """For each position how often raw text defines its word as an abbreviation, and the share of diseases."""
    defined = m.definitions()
    return defined, m.definitions("Disease") / np.maximum(defined, 1)


def _is_number(word: str) -> bool:
    return _NUMBER.fullmatch(word) is not None


@lru_cache(maxsize=100_000)
def _is_adjective(word: str) -> bool:
    return _ADJECTIVE.fullmatch(word.lower()) is not None


@lru_cache(maxsize=100_000)
def _has_ending(word: str) -> bool:
    return _ENDING.fullmatch(word.lower()) is not None


@lru_cache(maxsize=100_000)
def _noun_keys(adjective: str) -> list[int]:
    return [word_keys(noun).singular for noun in _nouns(adjective.lower())]


def _nouns(adjective: str) -> list[str]:
    """What an adjective may come from: "ischemia" for "ischemic", "psychosis" for "psychotic" """
    if adjective.endswith("s") and not adjective.endswith("ous"):
        adjective = adjective[:-1]  # "diabetics"
    if adjective.endswith("tic"):
        endings, cut = ["tia", "ty", "tes", "tis", "tism", "sis", "sy", "sia", "", "ticity"], 3
    elif adjective.endswith("ic"):
        endings, cut = ["ia", "y", "es", "is", "ism", "icity"], 2
    elif adjective.endswith(("ive", "ory")):
        endings, cut = ["ion"], 3
    elif adjective.endswith("ian"):
        endings, cut = ["ism"], 3
    elif adjective.endswith("ese"):
        endings, cut = ["ity"], 1
    elif adjective.endswith("tous"):
        endings, cut = ["", "t"], 4
    elif adjective.endswith("ous"):
        endings, cut = [""], 3
    else:
        endings, cut = ["", "a"], 2  # "aneurysmal", "anginal"
    return [adjective[:-cut] + ending for ending in endings]


def propose_cancer(m: Matches) -> Spans:
    """Neoplasms: as diseases, but "breast cancer cells" are cells. Worth 10 on bionlp13cg, where
    general rules have 61."""
    rows = np.flatnonzero(m.has("Cancer"))
    listed = m.spans(rows, _doubts(m))
    sites = _site_starts(m, Spans.of([], []))
    words = _words(m, rows, listed)
    longer = _with_site(m, words, sites, frozenset())
    names = listed + longer + _joined(m, words + longer, sites)
    before_cells = m.text.is_one_of(_CELLS)[np.minimum(names.end, len(m.text.words) - 1)]
    raise_doubt(names.doubts, Doubt.WITHIN_OTHER, before_cells)
    return names + _with_modifier(m, names)


_CELLS = word_list("cell cells line lines")
