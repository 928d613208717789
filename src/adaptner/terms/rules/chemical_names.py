"""Chemical names that are in no list: systematic names, formulas, codes of compounds, ions with their charge.

A text becomes a string with a letter for each token, by its part in names. Names are found in that string.
"""

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
    "meth|eth(?:yl|oxy|an|en|yn)|prop(?:yl|ion|ano|oxy|en|yn)|but(?:yl|oxy|an|en|yr)|pent(?:yl|an|en|oxy)|"
    "hex(?:yl|an|en)|hept(?:yl|an|en)|oct(?:yl|an|en)|dec(?:yl|an|en)|phen(?:yl|ox|ol)|benz|hydrox|hydro|chlor|fluor|"
    "brom|iod|nitr|cyan|amin|amid|imid|oxo|carbox|carbon|sulf|sulph|phosph|acet|form(?:yl|am)|pyr(?:i|r|a|o)|azol|azin|"
    "quinol|indol|fur(?:an|yl)|thio|thien|piper|morphol|azid|azo|glyc|gluc|galact|mann|ribo|xyl|tolu|naphth|anthra|silox|"
    "silan|bor(?:o|an)|selen|tellur|ol(?:e|o)yl|palmit|stear|lin[ao]l|laur|myrist|chol|ster|purin|cycl|oxid|peroxi|"
    "ferr|cupr|stann"
)
_ENDING = re.compile(
    "(?:yl|oxy|ano|eno|oxo|azo|thio|amino|chloro|bromo|fluoro|iodo|nitro|cyano|hydro|imino|ate|ite|ide|ine|in|ane|ene|"
    "yne|one|ol|ole|ium|oic|ose|nitrile|thiol|ester|ether|ylic|osan|yde|furan|cyclo)s?$"
)
_FRAGMENT = re.compile("(?:yl|oxy|o|ic|dien|ylates?)$")
# Second words of names: salts, esters, hydrates.
_TAILS = frozenset(
    "acid acids ester esters salt salts ether ethers anhydride hydrate alcohol HCl HBr hydrochloride hydrobromide sodium "
    "potassium calcium magnesium chloride bromide iodide sulfate sulphate phosphate acetate maleate tartrate citrate "
    "nitrate mesylate besylate fumarate succinate gluconate oxide hydroxide carbonate".split()
)
_ISOMERS = frozenset(
    "alpha beta gamma delta epsilon omega cis trans tert sec iso bis tris rac meso endo exo ortho meta para syn anti "
    "α β γ δ ε ω RS SR poly mono di tri".split()
)
_LOCANT = re.compile(
    r"\d{1,2}(?:[a-z]{1,2}|[A-Z]{1,2}|[a-z][RSEZ])?|[1-9]?[NOSREZDLCHPa-hlnompt]|[IV]{1,3}|i{1,3}"
)
_ISOTOPE = re.compile(r"(?:.*-)?\d{1,3}[HCNOPSIF]")
_CODE_WORD = re.compile(r"[A-Z]{2,4}\d{3,6}")
_FORMULA = re.compile(r"(?:[A-Z][a-z]?\d{0,2}){2,}")
_SYMBOL = re.compile(r"[A-Z][a-z]?")
_PUNCTUATION = dict.fromkeys("-–−‐", "h") | {",": "c", "+": "p", "±": "p"}
_PUNCTUATION |= dict.fromkeys("([{", "o") | dict.fromkeys(")]}", "x") | dict.fromkeys("'′\"″’", "q")

_RUN = re.compile("[WXFELShcoxqp]{2,60}")
_CORE = re.compile("[WF]|XE|xX")
_ONLY_LOCANTS = re.compile("[LShcq]+")
# The number of a compound or of a reference
_NUMBER_IN_BRACKETS = re.compile("o[LSpc]+x$")
_CODE = re.compile("K|AhN")
_CATIONS = frozenset(
    "H K Na Li Ag Cs Rb Ca Mg Zn Fe Cu Mn Co Ni Cd Hg Pb Al Ba Sr Cr Au La Gd NAD NADP".split()
)
_CHARGES = frozenset(["+", "1", "2", "3"])


def parts_of_names(text: Text) -> np.ndarray:
    """A letter for each token of a text."""
    return text.values(part_of_name, "S1")


def part_of_name(word: str) -> str:
    """W a systematic word, F a formula, E a tail such as "acid", L a locant, S a sign of an isomer, K the code of a
    compound, A capitals, N a long number, small letters for punctuation, "." anything else."""
    if word in _PUNCTUATION:
        return _PUNCTUATION[word]
    if word in _ISOMERS:
        return "S"
    if not (word.isalnum() and word.isascii()):
        return "."
    if _LOCANT.fullmatch(word) or _ISOTOPE.fullmatch(word):
        return "L"
    if word in _TAILS:
        return "E"
    if is_formula(word):
        return "F"
    if word.isdigit():
        return "N" if 3 <= len(word) <= 6 else "."
    if word.isupper():
        if word.isalpha():
            return "A" if len(word) <= 4 else "."
        return "K" if _CODE_WORD.fullmatch(word) else "."
    return "W" if is_systematic(word) else "."


def is_formula(word: str) -> bool:
    """Whether the word is written as symbols of several elements with numbers: "H2O2", "Fe2O3"."""
    if not (3 <= len(word) <= 15 and any(c.isdigit() for c in word) and _FORMULA.fullmatch(word)):
        return False
    symbols = set(_SYMBOL.findall(word))
    if len(symbols) < 2 or not ELEMENTS.issuperset(symbols):
        return False
    # "H3K4" and "NP1" are none.
    return "O" in symbols or {"C", "H"} <= symbols or any(len(symbol) == 2 for symbol in symbols)


def is_systematic(word: str) -> bool:
    """Whether the word is built as chemical names are: "dimethyl", "pyrrolidinium"."""
    if len(word) < 5 or not word[1:].islower():
        return False
    word = word.lower()
    ending = _ENDING.search(word)
    return ending is not None and _PART.search(word, 0, max(ending.start(), 5)) is not None


def is_fragment(word: str) -> bool:
    """Whether the word is only the beginning of a name, or a verb: "methoxy", "carboxylic", "acetylates"."""
    return _FRAGMENT.search(word) is not None


def structured_names(parts: str, words: list[str]) -> Iterator[tuple[int, int]]:
    """Names of several tokens, held together by hyphens and brackets; ``parts`` has "X" for listed names.

    "6 - amino - thieno [ 2 , 3 - b ] pyridine", "[ 3H ] leucine", "bupropion HCl"
    """
    for run in _RUN.finditer(parts):
        if _CORE.search(run[0]):
            tokens = words[run.start() : run.end()]
            for begin, end in _names_in(run[0], tokens):
                yield run.start() + begin, run.start() + end


def _names_in(run: str, words: list[str]) -> Iterator[tuple[int, int]]:
    begin = 0
    for i in range(1, len(run) + 1):
        if i == len(run) or not _held_together(run, i, words):
            for piece in _balanced(run, begin, i):
                first, last = _trimmed(run, *piece)
                if (
                    last - first > 1
                    and _CORE.search(run, first, last)
                    and not is_fragment(words[last - 1])
                ):
                    yield first, last
            begin = i


def _held_together(run: str, i: int, words: list[str]) -> bool:
    """Whether the tokens before and at ``i`` belong to one name."""
    before, after = run[i - 1], run[i]
    following = run[i + 1 : i + 2]
    if after == "c":  # "2,3-", but not "ethanol, methanol"
        return before in "LSq" and following != "" and following in "LSo"
    if before == "c":
        return i >= 2 and run[i - 2] in "LSq" and after in "LSo"
    if "h" in (before, after) or before == "o":
        return True
    if after == "o":
        close = run.find("x", i)  # "indeno [1,2-b]", but not "fluorouracil (5-FU)"
        return (
            before in "WXL" and close > 0 and _ONLY_LOCANTS.fullmatch(run, i + 1, close) is not None
        )
    if after in "xqp":
        return True
    if before == "x":
        opened = run.rfind("o", 0, i - 1)
        inside = run[opened + 1 : i - 1]
        label = _ISOTOPE.fullmatch("".join(words[opened + 1 : i - 1]))  # "[3H] leucine"
        joint = run[opened - 1 : opened]
        fused = joint == "W" and _ONLY_LOCANTS.fullmatch(inside)  # "indeno [1,2-b] quinoline"
        part = "W" in inside or (joint == "h" and "X" in inside)
        return after in "WFX" and bool(label or fused or part)
    if after in "LS":  # "adenosine 5'-phosphate"
        return before in "WXE" and following != "" and following in "hqc"
    return before in "WX" and after in "WE"


def _balanced(run: str, begin: int, end: int) -> Iterator[tuple[int, int]]:
    """The stretches between brackets that have no partner."""
    opened: list[int] = []
    alone = [end]
    for i in range(begin, end):
        if run[i] == "o":
            opened.append(i)
        elif run[i] == "x":
            if opened:
                opened.pop()
            else:
                alone.append(i)
    for i in sorted(alone + opened):
        yield begin, i
        begin = i + 1


def _trimmed(run: str, begin: int, end: int) -> tuple[int, int]:
    """A stretch without what no name begins or ends with."""
    while begin < end:
        if run[begin] in "hcqpE" or (
            run[begin] in "LS" and run[begin + 1 : begin + 2] not in ("h", "c", "q")
        ):
            begin += 1
        elif run[end - 1] in "hcpqLS":
            end -= 1
        elif run[begin] == "o" and _partner(run, begin) == end - 1:
            begin, end = begin + 1, end - 1
        elif number := _NUMBER_IN_BRACKETS.search(run, begin, end):
            end = number.start()
        else:
            break
    return begin, end


def _partner(run: str, opening: int) -> int:
    """Where the bracket at ``opening`` is closed."""
    depth = 0
    for i in range(opening, len(run)):
        depth += (run[i] == "o") - (run[i] == "x")
        if depth == 0:
            return i
    return -1


def charged_atoms(parts: np.ndarray, words: list[str]) -> Iterator[tuple[int, int]]:
    """Ions with their charge: "K +", "Ca2 +", "Ca ( 2 + )"."""
    for plus in np.flatnonzero(parts == b"p").tolist():
        begin, end = plus - 1, plus + 1
        if words[begin] in _CHARGES:
            begin -= 1
        if words[begin] == "(":
            if words[end] != ")":
                continue
            begin, end = begin - 1, end + 1
        symbol = words[begin]
        if words[plus] == "+" and (
            symbol in _CATIONS or (symbol[-1:] in _CHARGES and symbol[:-1] in _CATIONS)
        ):
            yield begin, end


def codes_of_compounds(parts: str) -> Iterator[tuple[int, int]]:
    """Codes that firms give: "MK - 801", "AMN082"."""
    return (found.span() for found in _CODE.finditer(parts))
