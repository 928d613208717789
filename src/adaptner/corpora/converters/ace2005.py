"""Converts ACE 2005 (LDC2006T06): ``.sgm`` texts and ``.apf.xml`` annotations of six domains.

As in MetaNER 5.2.1, only the innermost of nested mentions are kept, so that "17,000 [U.S.] Army
soldiers" has one. Named, nominal, and pronominal mentions count with their whole extent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from adaptner.corpora.converters.ace_text import AceText, read_sgm
from adaptner.corpora.converters.folders import ConversionProgress, ConversionResult
from adaptner.corpora.converters.sentences import TaggedTokens, split_80_10_10
from adaptner.errors import RawFilesMissing, RawFileUnusable
from adaptner.progress import no_progress
from adaptner.text.alignment import to_sentences
from adaptner.text.tokenizer import tokenize
from adaptner.types import Document, Entity

DOMAINS = ("bc", "bn", "cts", "nw", "un", "wl")

_FINAL = "timex2norm"  # folder of the adjudicated version of each document
_LAYOUT = "give the folder data/English of ACE 2005 (LDC2006T06), with bc, bn, cts, nw, un, and wl"


@dataclass(frozen=True)
class _Mention:
    first: int  # first and last character as the file counts them
    last: int
    label: str
    text: str


def convert_ace2005(folder: Path, progress: ConversionProgress = no_progress) -> ConversionResult:
    """Returns one corpus per domain, with our sentences and tokens and random splits."""
    files = _annotations(folder)
    if not files:
        raise RawFilesMissing(
            file=folder, what=".apf.xml file of a domain of ACE 2005", layout=_LAYOUT
        )
    sentences: dict[str, list[TaggedTokens]] = {}
    left_out: Counter[str] = Counter()
    for number, (path, domain) in enumerate(files, start=1):
        sentences.setdefault(domain, []).extend(_document(path, left_out))
        progress(number, len(files))
    return ConversionResult(
        {f"general/ace2005-{d}": split_80_10_10(sentences[d]) for d in DOMAINS if d in sentences},
        left_out,
    )


def _annotations(folder: Path) -> list[tuple[Path, str]]:
    """Returns one annotation file of each document and its domain, sorted by domain and name."""
    selected: dict[tuple[str, str], Path] = {}
    for path in sorted(folder.rglob("*.apf.xml")):
        parts = [part.lower() for part in (folder.name, *path.relative_to(folder).parts[:-1])]
        domains = [part for part in parts if part in DOMAINS]
        if not domains or {"arabic", "chinese"} & set(parts):
            continue
        key = (domains[-1], path.name)
        if key not in selected or _FINAL in parts:
            selected[key] = path
    return [(path, domain) for (domain, _), path in sorted(selected.items())]


def _document(path: Path, left_out: Counter[str]) -> list[TaggedTokens]:
    sgm = path.with_name(path.name.removesuffix(".apf.xml") + ".sgm")
    if not sgm.is_file():
        raise RawFileUnusable(
            file=path, reason=f"{sgm.name} is missing in its folder", source="LDC2006T06"
        )
    mentions = _mentions(path)
    text = _best_match(read_sgm(sgm), mentions, path)
    found = [m for m in mentions if text.matches(m.first, m.last, m.text)]
    left_out["mentions whose offsets do not match their text"] += len(mentions) - len(found)
    innermost = _innermost(found, left_out)
    result: list[TaggedTokens] = []
    used = 0
    for start, end in text.spans:
        inside = [m for m in innermost if start <= m.first and m.last < end]
        used += len(inside)
        result += _tagged(text, start, end, inside, left_out)
    left_out["mentions outside sentences (speakers, headings)"] += len(innermost) - used
    return result


def _mentions(path: Path) -> list[_Mention]:
    try:
        root = ElementTree.parse(path).getroot()
        found = []
        for entity in root.iter("entity"):
            for mention in entity.iter("entity_mention"):
                extent = mention.find("extent/charseq")
                if extent is None:
                    raise ValueError(f"mention {mention.get('ID')} has no extent")
                first, last = int(extent.attrib["START"]), int(extent.attrib["END"])
                found.append(_Mention(first, last, entity.attrib["TYPE"], extent.text or ""))
    except (ElementTree.ParseError, ValueError, KeyError) as error:
        raise RawFileUnusable(file=path, reason=f"{error}", source="LDC2006T06") from None
    return found


def _best_match(texts: Sequence[AceText], mentions: Sequence[_Mention], path: Path) -> AceText:
    """Returns the text in which the offsets of most mentions match; raises if less than half do."""
    matches = [sum(t.matches(m.first, m.last, m.text) for m in mentions) for t in texts]
    best = max(range(len(texts)), key=lambda i: matches[i])
    if matches[best] * 2 < len(mentions):
        reason = (
            f"the offsets of only {matches[best]} of {len(mentions)} mentions match the .sgm file, "
            "which may have been changed"
        )
        raise RawFileUnusable(file=path, reason=reason, source="LDC2006T06")
    return texts[best]


def _innermost(mentions: Sequence[_Mention], left_out: Counter[str]) -> list[_Mention]:
    """Returns the mentions that contain no other; of mentions with the same extent, the first."""
    distinct = list({(m.first, m.last): m for m in reversed(mentions)}.values())
    kept: list[_Mention] = []
    # Sorted by end and then by length, a mention comes after all mentions inside it.
    for mention in sorted(distinct, key=lambda m: (m.last, -m.first)):
        if not kept or kept[-1].last < mention.first:
            kept.append(mention)
        elif mention.first <= kept[-1].first:
            left_out["mentions around others"] += 1
        else:
            left_out["mentions that overlap another"] += 1
    left_out["mentions with the extent of another"] += len(mentions) - len(distinct)
    return kept


def _tagged(
    text: AceText, start: int, end: int, mentions: Sequence[_Mention], left_out: Counter[str]
) -> list[TaggedTokens]:
    words = text.between(start, end)
    tokens = tokenize(words)
    starts, ends = {a for a, _ in tokens}, {b for _, b in tokens}
    entities = []
    for mention in mentions:
        first, last = text.place(start, mention.first), text.place(start, mention.last + 1)
        if first in starts and last in ends:
            entities.append(Entity(first, last, mention.label))
        else:
            left_out["mentions that begin or end inside a word"] += 1
    return [
        TaggedTokens(s.tokens, s.tags)
        for s in to_sentences(Document(words, tuple(entities)))
        if s.tokens
    ]
