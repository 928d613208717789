"""Rules for the kind Disease."""

from __future__ import annotations

import re
from functools import lru_cache

import numpy as np

from adaptner.terms.doubts import Doubt, raise_doubt
from adaptner.terms.hashing import mixed_word_keys, word_keys
from adaptner.terms.matches import Matches, Spans
from adaptner.terms.matching import CAPITALISED, HAS_KEY, LOWER
from adaptner.terms.rules.general import general_doubts

# Doubts that a mention may have by default.
ACCEPTED = Doubt.RELATED | Doubt.SHORT | Doubt.PATTERN | Doubt.WITH_HEAD | Doubt.JOINED | Doubt.ADJECTIVE

# Attributes that say which terminologies list a name as a disease or symptom.
_LISTS = ("mondo disease", "doid disease", "ncit disease", "efo disease", "orphanet disease", "listed symptom")
# Kinds of which a name of a disease is seldom a name too: "blood" and "skin" are synonyms of neoplasms somewhere.
_OTHER_KINDS = ("Anatomy", "Person", "Procedure", "Method", "Food", "Device", "quality")
_SURE = ("mesh disease", "mesh symptom", "efo disease", "listed symptom")
_MANY_LISTS = 3
_CLASS_BREADTH = 10  # some 500 diseases and more below: "disease", "disorder", "syndrome", "symptom"

# What may be wrong with a site, function or substance, but is no disease without it.
_HEADS = frozenset(
    "disease diseases disorder disorders syndrome syndromes abnormality abnormalities anomaly anomalies damage defect "
    "defects deficit deficits deficiency deficiencies degeneration disturbance disturbances dysfunction dysfunctions "
    "failure impairment impairments injury injuries insufficiency lesion lesions malformation malformations toxicity "
    "toxicities tumor tumors tumour tumours cancer cancers carcinoma carcinomas complications retardation".split()
)
_LACKS = frozenset("deficiency deficiencies".split())
# Adjectives of sites and functions: terminologies of anatomy list nouns.
_SITES = frozenset(
    "abdominal adrenal aortic arterial atrial behavioral behavioural biliary bronchial cardiac cardiovascular cerebellar "
    "cerebral cerebrovascular cognitive colonic colorectal corneal coronary cranial craniofacial cutaneous dental "
    "dermal endometrial endothelial esophageal facial gastric gastrointestinal glomerular haematological hematological "
    "hepatic hippocampal intestinal mental metabolic mucosal muscular myocardial neural neurological neuronal "
    "neuropsychiatric ocular oral ovarian pancreatic pituitary prostatic psychiatric pulmonary renal respiratory "
    "retinal skeletal spinal testicular thyroid tubular urinary uterine vascular venous ventricular visual".split()
)
_AND = frozenset(["and", "or", "/", "-", "and/or"])
_COMMA = frozenset([","])
_OF = frozenset(["of"])
_TYPE = frozenset(["type", "types"])
_NUMBER = re.compile(r"[IVX]+[A-Da-d]?|\d{1,2}[A-Da-d]?|[A-D]")
_SITE_KINDS = ("Anatomy", "Virus", "Bacterium")
# Doubts of a name that do not matter if a site stands before it: "disorder" alone is no disease
_OF_HEADS = Doubt.GENERAL | Doubt.RELATED
_ADJECTIVE = re.compile(r"[a-z]{4,}(?:ics?|ives?|ory|ian|ous|ese|al)$")
_ENDING = re.compile(
    r"[a-z]{3,}(?:itis|a?emias?|uria|opath(?:y|ies)|oedema|plegia|algias?|penia|megaly|toxicity|toxicities|kinesias?|"
    r"carcinomas?|sarcomas?|blastomas?|lymphomas?|adenomas?|gliomas?|rrh?agia|rrh?ea|rrhoea|trophy|osis)$"
)


def propose(m: Matches) -> Spans:
    rows = np.flatnonzero(m.has("Disease"))
    listed = m.spans(rows, _doubts(m))
    words = listed.select(~m.marked(4)[rows] & ((listed.doubts & ~np.uint32(_OF_HEADS)) == 0))
    adjectives = _adjectives(m)
    sites = _site_starts(m, adjectives)
    longer = _with_site(m, words, sites) + _of_type(m, words)
    return listed + longer + _joined(m, words + longer, sites) + adjectives + _endings(m) + _lacks(m)


def _doubts(m: Matches) -> np.ndarray:
    general = general_doubts(m)
    doubts = general & ~np.uint32(Doubt.ORDINARY | Doubt.CASE)
    ordinary = (general & np.uint32(Doubt.ORDINARY)) > 0
    lists = sum(m.has(name).astype(np.int8) for name in _LISTS)
    in_mesh = m.has("mesh disease")
    symptom = m.has("mesh symptom")
    sure = in_mesh | (lists >= _MANY_LISTS)
    symbol = m.marked(4)
    # Words
    raise_doubt(doubts, Doubt.GENERAL, (m.breadth >= _CLASS_BREADTH) & ~in_mesh & ~m.has("Cancer"))
    raise_doubt(doubts, Doubt.ORDINARY, ordinary & ~sure & ~symptom)
    other = np.where(symptom, m.has("Procedure", "Method"), m.has(*_OTHER_KINDS))
    process = m.has("pathologic finding") & m.has("BiologicalProcess") & ~symptom & (lists < 2)
    raise_doubt(doubts, Doubt.SEVERAL_KINDS, ~symbol & ~sure & (other | process))
    # Symbols
    gene = m.has("human or rodent gene")
    letters = np.array([sum(map(len, m.text.words[a:b])) for a, b in zip(m.start.tolist(), m.end.tolist())], dtype=np.int64)
    raise_doubt(doubts, Doubt.CASE, symbol & ~m.exact)
    odd = m.text.passes(_is_mark)
    marks = np.concatenate([[0], np.cumsum(odd)])
    raise_doubt(doubts, Doubt.CASE, symbol & (marks[m.end] > marks[m.start]))
    digits = np.array([any(c.isdigit() for w in m.text.words[a:b] for c in w) for a, b in zip(m.start.tolist(), m.end.tolist())], dtype=bool)
    raise_doubt(doubts, Doubt.SEVERAL_KINDS, symbol & gene & digits)
    raise_doubt(doubts, Doubt.OTHER_MEANING, symbol & (letters <= 2) & ((lists < 2) | gene & (lists < 3)))
    return doubts


def _site_starts(m: Matches, adjectives: Spans) -> np.ndarray:
    """For each position the beginning of the longest name of a site that ends before it, or the position."""
    starts = np.arange(len(m.text.words) + 1)
    is_site = m.has(*_SITE_KINDS) & ~m.marked(4) & ~m.has("mesh disease")
    rows = np.flatnonzero(is_site)
    np.minimum.at(starts, m.end[rows], m.start[rows])
    at = np.flatnonzero(m.text.is_one_of(_SITES))
    np.minimum.at(starts, at + 1, at)
    np.minimum.at(starts, adjectives.end, adjectives.start)
    return starts[starts]  # "left ventricular": two in a row


def _with_site(m: Matches, names: Spans, sites: np.ndarray) -> Spans:
    """ "renal injury", "cerebral edema", "diabetic foot" """
    at = np.flatnonzero(m.text.is_one_of(_HEADS))
    start, end = np.concatenate([names.start, at]), np.concatenate([names.end, at + 1])
    begin = sites[start]
    fits = begin < start
    return Spans.of(begin[fits], end[fits], doubts=Doubt.PATTERN)


def _lacks(m: Matches) -> Spans:
    """ "PAH deficiency", "deficiency of PAH" """
    thing = m.has("Gene", "Chemical")
    lacks, of = m.text.is_one_of(_LACKS), m.text.is_one_of(_OF)
    after = thing & m.is_word(_LACKS)
    before = thing & of[m.start - 1] & lacks[np.maximum(m.start - 2, 0)]
    return Spans.of(m.start[after], m.end[after] + 1, doubts=Doubt.PATTERN) + Spans.of(
        m.start[before] - 2, m.end[before], doubts=Doubt.PATTERN
    )


def _of_type(m: Matches, names: Spans) -> Spans:
    """ "type IIB von Willebrand disease", "spinocerebellar ataxia type 3" """
    words = m.text.is_one_of(_TYPE)
    number = m.text.passes(_is_number)
    before = number[names.start - 1] & words[np.maximum(names.start - 2, 0)]
    last = len(words) - 1
    after = words[np.minimum(names.end, last)] & number[np.minimum(names.end + 1, last)]
    return Spans.of(names.start[before] - 2, names.end[before], doubts=Doubt.PATTERN) + Spans.of(
        names.start[after], names.end[after] + 2, doubts=Doubt.WITH_HEAD
    )


def _joined(m: Matches, names: Spans, sites: np.ndarray) -> Spans:
    """ "breast and ovarian cancer" as one mention"""
    is_site_start = np.zeros(len(m.text.words) + 1, dtype=bool)
    is_site_start[sites[sites < np.arange(len(sites))]] = True
    joins, comma = m.text.is_one_of(_AND), m.text.is_one_of(_COMMA)
    rows = np.flatnonzero(is_site_start[names.start] & joins[names.start - 1] & (names.end - names.start > 1))
    found = []
    for start, end in zip(names.start[rows].tolist(), names.end[rows].tolist()):
        begin = start
        while True:
            at = begin
            while at > 0 and (joins[at - 1] or comma[at - 1]):
                at -= 1
            if at == begin or sites[at] == at:
                break
            begin = int(sites[at])
        if begin < start:
            found.append((begin, end))
    return Spans.of([a for a, _ in found], [b for _, b in found], doubts=Doubt.JOINED)


def _is_mark(word: str) -> bool:
    return not word[:1].isalnum() and word != "-"


@lru_cache(maxsize=100_000)
def _is_number(word: str) -> bool:
    return _NUMBER.fullmatch(word) is not None


@lru_cache(maxsize=100_000)
def _is_adjective(word: str) -> bool:
    return _ADJECTIVE.match(word.lower()) is not None


@lru_cache(maxsize=100_000)
def _has_ending(word: str) -> bool:
    return _ENDING.match(word.lower()) is not None


@lru_cache(maxsize=100_000)
def _nouns(word: str) -> tuple[str, ...]:
    """What an adjective may come from: "ischemia" for "ischemic", "psychosis" for "psychotic" """
    if word.endswith("s") and not word.endswith("ous"):
        word = word[:-1]
    if word.endswith("ic"):
        stem = word[:-2]
        nouns = [stem + "ia", stem + "y", stem + "es", stem + "is", word + "ity"]
        if word.endswith("tic"):
            nouns += [word[:-3] + "sis", word[:-3] + "sy", word[:-3] + "sia", word[:-3]]
        return tuple(nouns)
    if word.endswith("ive"):
        return (word[:-3] + "ion",)
    if word.endswith("ory"):
        return (word[:-3] + "ion",)
    if word.endswith("ian"):
        return (word[:-3] + "ism",)
    if word.endswith("ese"):
        return (word[:-1] + "ity",)
    if word.endswith("tous"):
        return (word[:-4], word[:-3])
    if word.endswith("ous"):
        return (word[:-3],)
    return (word[:-1], word[:-2])


def _adjectives(m: Matches) -> Spans:
    """ "diabetic", "nephrotoxic", "hypertensive" """
    at = np.flatnonzero(m.text.passes(_is_adjective) & ~_names_something_else(m))
    keys, owners = [], []
    for place in at.tolist():
        for noun in _nouns(m.text.words[place].lower()):
            keys.append(word_keys(noun).singular)
            owners.append(place)
    if not keys:
        return Spans.of([], [])
    entries = m.terms.find(mixed_word_keys(np.array(keys, dtype=np.uint64)))
    sets = m.terms.arrays["kind_sets"][m.terms.arrays["kind_set"][np.maximum(entries, 0)]]
    known = (entries >= 0) & ((sets & m.terms.mask_of(_SURE)) != 0).any(1) & ((sets & m.terms.mask_of(["Cancer"])) == 0).all(1)
    places = np.unique(np.array(owners)[known])
    return Spans.of(places, places + 1, doubts=Doubt.ADJECTIVE)


def _names_something_else(m: Matches) -> np.ndarray:
    """For each position, whether its word is a name, but none of a disease."""
    named = np.zeros(len(m.text.words), dtype=bool)
    named[m.start[m.single & ~m.marked(4)]] = True
    named[m.start[m.single & m.has("Disease")]] = False
    return named


def _endings(m: Matches) -> Spans:
    """Words that no list has, but that end as diseases do: "excitotoxicity" """
    at = np.flatnonzero(m.text.passes(_has_ending) & ~_names_something_else(m))
    return Spans.of(at, at + 1, doubts=Doubt.PATTERN)
