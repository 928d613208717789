"""ACE 2005 (LDC2006T06): ``.sgm`` texts and ``.apf.xml`` annotations of six domains.

MetaNER 5.2.1: of nested entities only the innermost are kept, so that "17,000 [U.S.] Army soldiers"
has one entity. They are mentions by their whole extent, named, nominal or pronoun.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from adaptner.corpora.converters.ace_text import AceText, read_sgm
from adaptner.corpora.converters.folders import (
    ConversionProgress,
    ConversionResult,
    no_conversion_progress,
)
from adaptner.corpora.converters.sentences import TaggedTokens, split_80_10_10
from adaptner.errors import RawFilesMissing, RawFileUnusable
from adaptner.text.alignment import to_sentences
from adaptner.text.tokenizer import tokenize
from adaptner.types import Document, Entity

DOMAINS = ("bc", "bn", "cts", "nw", "un", "wl")

_FINAL = "timex2norm"  # of the versions of each document the adjudicated one
_LAYOUT = (
    "give the folder data/English of ACE 2005 (LDC2006T06): bc, bn, cts, nw, un and wl are in it"
)


@dataclass(frozen=True)
class _Mention:
    first: int  # as the file counts characters; both ends are in it
    last: int
    label: str
    text: str


def convert_ace2005(
    folder: Path, progress: ConversionProgress = no_conversion_progress
) -> ConversionResult:
    """Six corpora, one a domain; sentences and tokens are ours, splits are drawn."""
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
    """Each document's annotation once, with its domain, in the order of their names."""
    chosen: dict[tuple[str, str], Path] = {}
    for path in sorted(folder.rglob("*.apf.xml")):
        parts = [part.lower() for part in (folder.name, *path.relative_to(folder).parts[:-1])]
        domains = [part for part in parts if part in DOMAINS]
        if not domains or {"arabic", "chinese"} & set(parts):
            continue
        key = (domains[-1], path.name)
        if key not in chosen or _FINAL in parts:
            chosen[key] = path
    return [(path, domain) for (domain, _), path in sorted(chosen.items())]


def _document(path: Path, left_out: Counter[str]) -> list[TaggedTokens]:
    sgm = path.with_name(path.name.removesuffix(".apf.xml") + ".sgm")
    if not sgm.is_file():
        raise RawFileUnusable(file=path, reason=f"{sgm.name} is not beside it", source="LDC2006T06")
    mentions = _mentions(path)
    text = _fitting(read_sgm(sgm), mentions, path)
    sound = [m for m in mentions if text.says(m.first, m.last, m.text)]
    left_out["mentions whose text is not at their place"] += len(mentions) - len(sound)
    innermost = _innermost(sound, left_out)
    result: list[TaggedTokens] = []
    used = 0
    for start, end in text.stretches:
        inside = [m for m in innermost if start <= m.first and m.last < end]
        used += len(inside)
        result += _tagged(text, start, end, inside, left_out)
    left_out["mentions outside of sentences (speakers, headings)"] += len(innermost) - used
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


def _fitting(texts: Sequence[AceText], mentions: Sequence[_Mention], path: Path) -> AceText:
    """The way of counting characters by which the mentions are where they say."""
    fits = [sum(t.says(m.first, m.last, m.text) for m in mentions) for t in texts]
    best = max(range(len(texts)), key=lambda i: fits[i])
    if fits[best] * 2 < len(mentions):
        reason = f"only {fits[best]} of {len(mentions)} mentions are where it says; has the .sgm file changed?"
        raise RawFileUnusable(file=path, reason=reason, source="LDC2006T06")
    return texts[best]


def _innermost(mentions: Sequence[_Mention], left_out: Counter[str]) -> list[_Mention]:
    """Those that no other mention lies in; of two with one extent the first."""
    distinct = list({(m.first, m.last): m for m in reversed(mentions)}.values())
    kept: list[_Mention] = []
    # By their ends, and the shortest first: what a mention holds has been kept, or holds what was.
    for mention in sorted(distinct, key=lambda m: (m.last, -m.first)):
        if not kept or kept[-1].last < mention.first:
            kept.append(mention)
        elif mention.first <= kept[-1].first:
            left_out["mentions around others"] += 1
        else:
            left_out["mentions that overlap another"] += 1
    left_out["second mentions of one extent"] += len(mentions) - len(distinct)
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
