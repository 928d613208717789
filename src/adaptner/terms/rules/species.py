"""Rules for the kind Species, and for kinds below it.

Worths are what the mean F1 of seven corpora (dev of linnaeus and s800, train of bionlp13cg, biored,
hunflair-chebi, hunflair-cellfinder and tmvar3; words for people accepted) loses without a rule.
"""

from __future__ import annotations

import re

import numpy as np

from adaptner.terms.doubts import Doubt, raise_doubt
from adaptner.terms.matches import Matches, Spans
from adaptner.terms.matching import CAPITALISED, CLOSES, LATIN, LETTER, LOWER, MIXED, UPPER


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Doubts that a mention may have by default.
ACCEPTED = Doubt.RELATED | Doubt.SHORT | Doubt.PATTERN

# Words for people in reports on them; MeSH's tree of persons has many more, mostly professions. Accepting them
# is worth 14: five of seven corpora have them, s800 and hunflair-cellfinder lose 4 and 5.
_PEOPLE = _words(
    "patient patients inpatient inpatients outpatient outpatients woman women man men child "
    "children boy boys girl girls infant infants adult adults person persons people "
    "participant participants volunteer volunteers individual individuals"
)
# Adjectives of animals that reports use like the noun ("murine cells"), young animals, monkeys. Worth 0.9.
_ANIMALS = _words(
    "murine bovine porcine ovine equine canine feline simian avian caprine leporine lapine "
    "monkey monkeys chick chicks calf calves piglet piglets foal foals heifer heifers"
)
# Adjectives of groups: as doubtful as the groups.
_GROUPS = _words("viral retroviral lentiviral adenoviral bacterial fungal mammalian vertebrate")
# Listed for some species, but they mean any. Worth 0.1.
_GENERAL = _words(
    "bacterium bacteria virus viruses phage phages bacteriophage bacteriophages organism "
    "organisms strain"
)
_UNITS = _words("µm μm")  # the key of "mum", a flower
# Words of biology that look like Latin and follow the name of a genus.
_NOT_EPITHETS = _words(
    "virus species bacteria larva larvae pupa pupae data genus taxa flora "
    "analysis humans medium serum means"
)
_OTHER_KINDS = (
    "Disease",
    "Gene",
    "Anatomy",
    "CellLine",
    "Device",
    "Method",
    "Sequence",
    "AminoAcid",
)

# A genus alone is doubtful (worth 0.7) unless field text has it this often in a million words, mostly alone, and far more
# often than general text: "Arabidopsis", "Drosophila".
_GENUS_RATE, _GENUS_SHARE, _GENUS_FACTOR = 5.0, 0.7, 100
_BROAD = 8  # common names of groups of 256 and more taxa are too general: "insects"

_VIRUS = re.compile(r"[A-Za-z]*V(?:[0-9IVX]{0,3}[A-Za-z]?|[a-z]{2,3}[0-9]{0,3})")
_LEAST_DEFINITIONS, _SHARE = 3, 0.6  # of an abbreviation in raw text
_DOT, _HYPHEN = frozenset("."), frozenset("-")
_SP, _NOV = frozenset({"sp", "spp", "gen", "comb"}), frozenset({"nov", "n"})
_BELOW_SPECIES = _words("subsp ssp var pv bv f")
_TYPES = frozenset({"type", "serotype", "genotype"})
_VIRUSES = frozenset({"virus", "viruses"})


def propose(m: Matches, kind: str = "Species") -> Spans:
    """Mentions of taxa; ``kind`` may be one of the kinds below Species, such as Virus."""
    doubts = _doubts(m)
    of_kind = m.has(kind)
    spans = m.spans(of_kind, doubts) + _unlisted_binomials(
        m, m.has("genus") & of_kind, kind == "Species"
    )
    if kind == "Species":
        spans += _spans_of(m, _ANIMALS, Doubt.RELATED)
        spans += _spans_of(m, _GROUPS, Doubt.HIGHER)
        spans += _spans_of(m, _PEOPLE, Doubt.PERSON)
        spans += _unlisted_abbreviations(m)
    return spans + _extended(m, spans)


def _doubts(m: Matches) -> np.ndarray:
    doubts = np.zeros(len(m), dtype=np.uint32)
    taxon, common = m.has("taxon"), m.has("common name of taxon")
    # "Khat": a single word with a capital that is no genus; scientific names of species have two. Worth 1.8.
    word = m.single & m.has("species rank") & ~m.has("genus", "higher taxon", "Virus")
    common |= taxon & word
    scientific = taxon & ~common
    known = _is_abbreviated_binomial(m) & m.has("abbreviated taxon")
    _doubt_writing(m, doubts, scientific, known)
    _doubt_ranks(m, doubts, scientific, common)
    _doubt_words(m, doubts, scientific, common, known)
    # "nude mice", "Wistar rats": a convention, worth 0.0
    ends = m.end[m.single & m.has("Species") & ((doubts & (Doubt.HIGHER | Doubt.GENERAL)) == 0)]
    breed = ~taxon & ~m.single & ~known & np.isin(m.end, ends)
    raise_doubt(doubts, Doubt.WITH_MODIFIER, breed)
    raise_doubt(doubts, Doubt.PERSON, ~m.single & m.ends_with(_PEOPLE))  # "old woman" is a fish
    # "hepatitis B virus (HBV)" has two mentions. Worth 0.7.
    raise_doubt(doubts, Doubt.JOINED, (m.word(-1) & CLOSES) > 0)
    return doubts


def _is_abbreviated_binomial(m: Matches) -> np.ndarray:
    """Whether it is written as "E. coli"; as "E coli" only if the epithet looks like one. Worth 0.8 where the
    taxonomy has it, 3.5 together with those that look alike (`_unlisted_binomials`)."""
    classes = m.text.classes
    first, last = classes[m.start], m.word(-1)
    dotted = m.text.is_one_of(_DOT)[m.start + 1]
    latin = ((last & LATIN) > 0) & ~m.starts_with(frozenset("ai"))
    found: np.ndarray = (
        ((first & LETTER) > 0)
        & ((first & LOWER) == 0)
        & np.where(dotted, (last & LOWER) > 0, latin)
        & (m.end - m.start == 2 + dotted)
        & ~m.ends_with(_NOT_EPITHETS)
    )
    return found


def _doubt_writing(
    m: Matches, doubts: np.ndarray, scientific: np.ndarray, known: np.ndarray
) -> None:
    """Scientific names have a capital; keys have no borders between words, so that "CA, USA" is Causa."""
    first = m.text.classes[m.start]
    virus = m.has("Virus")
    raise_doubt(
        doubts, Doubt.CASE, scientific & m.single & ~m.exact & ~virus & ((first & CAPITALISED) == 0)
    )
    several = ~m.single & ~known
    raise_doubt(doubts, Doubt.CASE, several & ((first & LETTER) > 0))
    raise_doubt(doubts, Doubt.CASE, several & scientific & m.has("genus") & ~m.has("species rank"))
    raise_doubt(
        doubts,
        Doubt.CASE,
        m.has("abbreviated taxon") & ~m.has("taxon", "organism in MeSH") & ~known,
    )
    species = m.has("Species")
    length = m.end - m.start
    odd = (m.single & ~m.exact & ((first & (UPPER | MIXED)) > 0)) | ((length == 2) & ~known)
    short = [i for i in np.flatnonzero(odd & species).tolist() if len(_joined(m, i)) <= 4]
    doubts[short] |= np.uint32(Doubt.CASE)
    acronym = m.exact & species & (length <= 4) & ((first & CAPITALISED) == 0)
    share = m.abbreviation_share("Species")
    other = [
        i
        for i in np.flatnonzero(acronym & ~(share > _SHARE)).tolist()
        if share[i] < 1 - _SHARE or not _VIRUS.fullmatch(_joined(m, i))
    ]
    doubts[other] |= np.uint32(Doubt.OTHER_MEANING)


def _joined(m: Matches, row: int) -> str:
    return "".join(filter(str.isalnum, m.text.words[m.start[row] : m.end[row]]))


def _doubt_ranks(
    m: Matches, doubts: np.ndarray, scientific: np.ndarray, common: np.ndarray
) -> None:
    genus, rank, higher = m.has("genus"), m.has("species rank"), m.has("higher taxon")
    virus = m.has("Virus")
    alone = m.rate("field_alone")
    in_use = (
        (alone > _GENUS_RATE)
        & (alone > _GENUS_SHARE * (alone + m.rate("field_inside")))
        & (alone > _GENUS_FACTOR * m.rate("general_alone"))
    )
    broad = m.breadth > _BROAD
    raise_doubt(doubts, Doubt.HIGHER, genus & scientific & ~rank & ~in_use & ~virus)
    raise_doubt(doubts, Doubt.HIGHER, higher & ~rank & ~genus & (scientific | broad))
    raise_doubt(doubts, Doubt.HIGHER, ~scientific & ~common & np.where(virus, broad, m.breadth > 3))
    general = m.has("form of organisms", "group of organisms") | m.single & m.starts_with(_GENERAL)
    raise_doubt(doubts, Doubt.GENERAL, general)


def _doubt_words(
    m: Matches, doubts: np.ndarray, scientific: np.ndarray, common: np.ndarray, known: np.ndarray
) -> None:
    general, field = m.rate("general_alone"), m.rate("field_alone")
    in_mesh = m.has("organism in MeSH")
    chemical = m.has("chebi") & ~in_mesh
    # Worth 1.0: animals of laboratories and farms, and plants that cause allergies, are meant where they are
    # named. Other names that general text has as often are words: "permit" (worth 0.6).
    confirmed = (in_mesh | m.has("Chemical") & ~chemical) & ~scientific
    ordinary = (general > 1) & (field < np.where(scientific, 4, 1) * general) & ~confirmed
    # "Fisher", "Fig": mostly written with a capital, which common names have not. Worth 3.9.
    capitals = m.count("field_capitalised") + m.count("general_capitalised")
    capitalised = (m.text.classes[m.start] & CAPITALISED) > 0
    name = capitalised & (capitals > 2 * (m.count("field_lower") + m.count("general_lower")))
    single = m.single & ~known
    raise_doubt(
        doubts, Doubt.ORDINARY, single & (ordinary | name & ~scientific | m.starts_with(_UNITS))
    )
    part = m.count("field_inside") > 5 * m.count("field_alone")  # "marrow", "ray": worth 0.4
    raise_doubt(doubts, Doubt.WITHIN_OTHER, single & part & ~scientific)
    raise_doubt(doubts, Doubt.SEVERAL_KINDS, single & m.has(*_OTHER_KINDS) & scientific)
    raise_doubt(doubts, Doubt.SEVERAL_KINDS, single & chemical)
    raise_doubt(
        doubts, Doubt.WITHIN_OTHER, single & m.within("CellLine") & (scientific | capitalised)
    )


def _spans_of(m: Matches, words: frozenset[str], doubt: Doubt) -> Spans:
    at = np.flatnonzero(m.text.is_one_of(words))
    return Spans.of(at, at + 1, doubts=doubt)


def _unlisted_binomials(m: Matches, genus: np.ndarray, any_kind: bool) -> Spans:
    """A genus with a word that looks like an epithet, or with "sp."; "X. novus" if ``any_kind``."""
    text, classes, words = m.text, m.text.classes, m.text.words
    dot = text.is_one_of(_DOT)
    latin = ((classes & LATIN) > 0) & ~text.is_one_of(_NOT_EPITHETS)
    genus = genus & m.single & ((classes[m.start] & CAPITALISED) > 0)
    full = genus & latin[m.end]
    unnamed = genus & m.is_word(_SP)
    end = m.end[unnamed] + 1
    at: list[int] = []
    if any_kind:
        begins = (classes[:-2] & (LETTER | CAPITALISED)) > 0
        at = np.flatnonzero(dot[1:-1] & latin[2:] & begins).tolist()
    short = [
        i for i in at if len(words[i]) <= 2 and words[i][0].isupper() and len(words[i + 2]) > 4
    ]
    return (
        Spans.of(short, [i + 3 for i in short], doubts=Doubt.PATTERN)
        + Spans.of(m.start[full], m.end[full] + 1, doubts=Doubt.PATTERN)
        + Spans.of(m.start[unnamed], end + dot[end], doubts=Doubt.PATTERN)
    )


def _is_virus(word: str) -> bool:
    return _VIRUS.fullmatch(word) is not None


def _unlisted_abbreviations(m: Matches) -> Spans:
    """Abbreviations that raw text defines as names of species: "HPV", "PRRSV". Worth 0.2 (s800 1.7)."""
    found = _defined_as_species(m)
    found[m.start[m.exact & m.has("Species")]] = False
    at = np.flatnonzero(found)
    return Spans.of(at, at + 1, doubts=Doubt.PATTERN)


def _defined_as_species(m: Matches) -> np.ndarray:
    """For each position, whether its word abbreviates names of species in most definitions of raw text."""
    of_species = m.definitions("Species")
    common = (of_species >= _LEAST_DEFINITIONS) & (of_species > _SHARE * m.definitions())
    return common & ((m.text.classes & (UPPER | MIXED)) > 0)  # not "At", A. thaliana


def _is_strain(word: str) -> bool:
    return (
        len(word) > 1 and word[0].isupper() and (word.isupper() or any(c.isdigit() for c in word))
    )


def _is_short_number(word: str) -> bool:
    return word.isdigit() and len(word) < 3


def _extended(m: Matches, spans: Spans) -> Spans:
    """ "EBV-2"; "dengue virus type 2"; "E. coli K12"; "Bacillus novus sp. nov."; "B. rapa subsp. rapa"."""
    text = m.text
    last = len(text.words) - 1
    spans = spans.select((spans.doubts & ~np.uint32(ACCEPTED)) == 0)
    first = spans.end
    second = np.minimum(first + 1, last)
    dot = text.is_one_of(_DOT)
    word = np.minimum(second + dot[second], last)  # after "sp" or "sp."
    several = first - spans.start > 1
    acronym = text.passes(_is_virus)[spans.start] & ~several & text.is_one_of(_HYPHEN)[first]
    virus = text.is_one_of(_VIRUSES)[first - 1] & text.is_one_of(_TYPES)[first]
    number = (acronym | virus) & text.passes(_is_short_number)[second]
    new = several & text.is_one_of(_SP)[first] & text.is_one_of(_NOV)[word]
    below = several & text.is_one_of(_BELOW_SPECIES)[first] & ((text.classes[word] & LATIN) > 0)
    strain = several & text.passes(_is_strain)[first]
    end = np.select(
        [number, new, below, strain],
        [second + 1, word + 1 + dot[np.minimum(word + 1, last)], word + 1, first + 1],
        -1,
    )
    doubt = np.where(strain, np.uint32(Doubt.STRAIN), np.where(number, 0, np.uint32(Doubt.PATTERN)))
    rows = end > 0
    return Spans.of(spans.start[rows], end[rows], doubts=(spans.doubts | doubt)[rows])
