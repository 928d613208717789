"""Chemical names that are in no list: systematic names, formulas, codes of compounds, charges.

Each word is one letter of a string, by its part in names; names are then found in that string."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from adaptner.terms.matching import Text

ELEMENTS = frozenset(
    "H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga Ge As Se Br Kr Rb Sr Y Zr Nb "
    "Mo Tc Ru Rh Pd Ag Cd In Sn Sb Te I Xe Cs Ba La Ce Pr Nd Pm Sm Eu Gd Tb Dy Ho Er Tm Yb Lu Hf Ta W Re Os Ir Pt Au "
    "Hg Tl Pb Bi Po At Rn Fr Ra Ac Th Pa U Np Pu Am Cm D".split()
)
# Parts of systematic names, and how such names end. "methylation" and "hydroxylase" end otherwise.
_PART = re.compile(
    "meth|eth(?:yl|oxy|an|en|yn)|prop(?:yl|ion|ano|oxy|en|yn)|but(?:yl|oxy|an|en|yr)|pent(?:yl|an|en|oxy)|hex(?:yl|an|en)|"
    "hept(?:yl|an|en)|oct(?:yl|an|en)|dec(?:yl|an|en)|phen(?:yl|ox|ol)|benz|hydrox|hydro|chlor|fluor|brom|iod|nitr|cyan|amin|amid|"
    "imid|oxo|carbox|carbon|sulf|sulph|phosph|acet|form(?:yl|am)|pyr(?:i|r|a|o)|azol|azin|quinol|indol|fur(?:an|yl)|thio|"
    "piper|morphol|azid|azo|glyc|gluc|galact|mann|ribo|xyl|tolu|naphth|anthra|silox|silan|bor(?:o|an)|selen|tellur|"
    "ol(?:e|o)yl|palmit|stear|lin[ao]l|laur|myrist|chol|ster|purin|cycl|oxid|peroxi|ferr|cupr|stann"
)
_ENDING = re.compile(
    "(?:yl|oxy|ano|eno|oxo|azo|thio|amino|chloro|bromo|fluoro|iodo|nitro|cyano|hydroxy|hydro|imino|oate|ate|ite|ide|ine|"
    "in|ane|ene|yne|one|ol|ole|amide|imide|ium|oic|enoic|anoic|ose|oside|azine|idine|nitrile|diol|dione|thiol|ester|"
    "ether|dehyde|ylic|ulose|osan|yde|furan|cyclo)s?$"
)
_TAIL = frozenset(
    "acid acids ester esters salt salts ether ethers anhydride hydrate alcohol HCl HBr hydrochloride hydrobromide sodium "
    "potassium calcium magnesium chloride bromide iodide sulfate sulphate phosphate acetate maleate tartrate citrate "
    "nitrate mesylate besylate fumarate succinate gluconate oxide hydroxide carbonate".split()
)
_STEREO = frozenset(
    "alpha beta gamma delta epsilon omega cis trans tert sec iso bis tris rac meso endo exo ortho meta para syn anti "
    "α β γ δ ε ω RS SR poly mono di tri".split()
)
_LOCANT = re.compile(r"\d{1,2}(?:[a-z]{1,2}|[A-Z]{1,2}|[a-z][RSEZ])?$|[1-9]?[NOSREZDLCHPdlnompt]$|[IV]{1,3}$|i{1,3}$")
_ISOTOPE = re.compile(r"(?:.*-)?\d{1,3}[HCNOPSIF]$")
_COMPOUND = re.compile(r"[A-Z]{2,4}\d{3,6}$")
_FORMULA = re.compile(r"(?:[A-Z][a-z]?\d{0,2}){2,}$")
_SYMBOL = re.compile(r"[A-Z][a-z]?")
_PUNCTUATION = {"-": "h", "–": "h", "−": "h", "‐": "h", ",": "c", "(": "o", "[": "o", "{": "o", ")": "x", "]": "x", "}": "x",
                "'": "q", "′": "q", '"': "q", "''": "q", "″": "q", "’": "q", "+": "p", "±": "p", "/": "s"}


def is_formula(word: str) -> bool:
    """Whether the word is written as symbols of several elements with numbers: "H2O2", "Fe2O3"."""
    if not 3 <= len(word) <= 15 or not _FORMULA.match(word) or not any(c.isdigit() for c in word):
        return False
    symbols = set(_SYMBOL.findall(word))
    if len(symbols) < 2 or not ELEMENTS.issuperset(symbols):
        return False
    # "H3K4" and "CD4" are none.
    return "O" in symbols or {"C", "H"} <= symbols or any(len(symbol) == 2 for symbol in symbols)


def is_systematic(word: str) -> bool:
    """Whether the word is built as chemical names are: "dimethyl", "pyrrolidinium"."""
    if len(word) < 5 or not word[1:].islower():
        return False
    word = word.lower()
    ending = _ENDING.search(word)
    return bool(ending and _PART.search(word, 0, max(ending.start(), 4)))


def is_fragment(word: str) -> bool:
    """Whether the word can only be the beginning of a name: "methoxy", "carboxylic"."""
    return _FRAGMENT.search(word) is not None


def part_of_name(word: str) -> str:
    """W systematic word, F formula, E "acid", L locant, S sign of an isomer, K code of a compound, A capitals,
    N long number, small letters for punctuation, "." anything else."""
    if word in _PUNCTUATION:
        return _PUNCTUATION[word]
    if not word.isalnum() or not word.isascii() and word not in _STEREO:
        return "."
    if _LOCANT.match(word) or _ISOTOPE.match(word):
        return "L"
    if word in _STEREO:
        return "S"
    if word in _TAIL:
        return "E"
    if is_formula(word):
        return "F"
    if word.isdigit():
        return "N" if 3 <= len(word) <= 6 else "."
    if word.isupper():
        return "A" if 2 <= len(word) <= 4 and word.isalpha() else "K" if _COMPOUND.match(word) else "."
    return "W" if is_systematic(word) else "."


def parts_of_names(text: Text) -> np.ndarray:
    """A letter for each token of a text."""
    return text.values(part_of_name, "S1")


_RUN = re.compile("[WXFELShcoxqp]{2,}")
_CORE = re.compile("[WF]|XE|xX")
_LOCANTS = re.compile("[LShcq]+$")
_LAST_GROUP = re.compile("o[LSpc]+x$")
_WHOLE_GROUP = re.compile(r"o[^ox]*x$")
_FRAGMENT = re.compile("(?:yl|oxy|o|ic|dien|yl(?:ate|ates))$")


def structured_names(parts: str, words: list[str]) -> Iterator[tuple[int, int]]:
    """Names of several tokens held together by hyphens and brackets. ``parts`` has "X" for listed names."""
    for run in _RUN.finditer(parts):
        if not _CORE.search(run[0]):
            continue
        yield from _names_in(run[0], run.start(), words)


def _names_in(run: str, offset: int, words: list[str]) -> Iterator[tuple[int, int]]:
    begin = 0
    for i in range(1, len(run)):
        if not _held_together(run, i, words, offset):
            yield from _trimmed(run, begin, i, offset, words)
            begin = i
    yield from _trimmed(run, begin, len(run), offset, words)


def _held_together(run: str, i: int, words: list[str], offset: int) -> bool:
    """Whether the tokens before and at ``i`` belong to one name."""
    a, b = run[i - 1], run[i]
    if b == "c" or a == "c":  # "2,3-", but not "ethanol, methanol"
        if b == "c":
            return a in "LSq" and i + 1 < len(run) and run[i + 1] in "LSo"
        return i >= 2 and run[i - 2] in "LSq" and b in "LSo"
    if a == "h" or b == "h":
        return True
    if b == "o":
        if a in "o":
            return True
        close = run.find("x", i)  # "indeno [1,2-b]"
        return a in "WXL" and close > 0 and _LOCANTS.match(run, i + 1, close) is not None
    if a == "o" or b == "x" or b == "q" or b == "p":
        return True
    if a == "x":
        if b in "WFX":
            begin = run.rfind("o", 0, i - 1)
            inside = run[begin + 1 : i - 1]
            return begin == 0 and _ISOTOPE.match("".join(words[offset + begin + 1 : offset + i - 1])) is not None or "W" in inside or "X" in inside and begin > 0 and run[begin - 1] == "h"
        return False
    if a in "WXE" and b in "LS":  # "adenosine 5'-phosphate"
        return i + 1 < len(run) and run[i + 1] in "hqc"
    return a in "WX" and b in "WE"


def _trimmed(run: str, begin: int, end: int, offset: int, words: list[str]) -> Iterator[tuple[int, int]]:
    # Brackets without a partner end a name.
    depth, opened = 0, []
    for i in range(begin, end):
        if run[i] == "o":
            opened.append(i)
        elif run[i] == "x":
            if not opened:
                yield from _trimmed(run, begin, i, offset, words)
                yield from _trimmed(run, i + 1, end, offset, words)
                return
            opened.pop()
    if opened:
        yield from _trimmed(run, begin, opened[0], offset, words)
        yield from _trimmed(run, opened[0] + 1, end, offset, words)
        return
    while begin < end and (run[begin] in "hcqpE" or run[begin] in "LS" and (begin + 1 == end or run[begin + 1] not in "hcq")):
        begin += 1
    while begin < end and (run[end - 1] in "hcopq" or run[end - 1] in "LS"):
        end -= 1
    if end > begin and _WHOLE_GROUP.match(run, begin, end):  # only in brackets
        begin, end = begin + 1, end - 1
    last = _LAST_GROUP.search(run, begin, end)
    if last:  # "(4)" is a number of a compound or of a reference
        end = last.start()
    if end - begin > 1 and _CORE.search(run, begin, end) and not is_fragment(words[offset + end - 1]):
        yield offset + begin, offset + end


_CATIONS = frozenset("H K Na Li Ag Cs Rb Ca Mg Zn Fe Cu Mn Co Ni Cd Hg Pb Al Ba Sr Cr Au La Gd NAD NADP".split())


def charged_atoms(parts: np.ndarray, words: list[str]) -> Iterator[tuple[int, int]]:
    """Ions with their charge: "K +", "Ca2 +", "Ca ( 2 + )"."""
    for plus in np.flatnonzero(parts == b"p").tolist():
        if words[plus] != "+":
            continue
        begin, end = plus - 1, plus + 1
        if words[begin] in ("+", "1", "2", "3"):
            begin -= 1
        if words[begin] == "(":
            if words[end] != ")":
                continue
            begin, end = begin - 1, end + 1
        symbol = words[begin]
        if symbol in _CATIONS or symbol[-1:] in ("2", "3") and symbol[:-1] in _CATIONS:
            yield begin, end


_CODE = re.compile("K|AhN")


def codes_of_compounds(parts: str) -> Iterator[tuple[int, int]]:
    """Codes that firms give: "MK - 801", "AMN082"."""
    return (found.span() for found in _CODE.finditer(parts))
