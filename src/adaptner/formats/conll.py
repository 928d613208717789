"""CoNLL: a token and its tag a line, a blank line after each sentence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from adaptner.errors import (
    AdaptnerError,
    EmptyFile,
    EntityNotRepresentable,
    LoneCarriageReturn,
    MixedSchemes,
    RaggedColumns,
    SentenceTooLong,
    TooFewColumns,
    UnknownTag,
)
from adaptner.formats.base import LocatedDocument, LocatingReader, RepairCallback, ignore_repairs
from adaptner.formats.lines import (
    MAX_LINE_BYTES,
    ProblemCallback,
    bounded_lines,
    decode_line,
    open_for_reading,
    open_for_writing,
    raise_problem,
)
from adaptner.text.alignment import to_sentences
from adaptner.text.schemes import Scheme, SchemeDetector, from_bio, parse_tag, repair_tags, to_bio
from adaptner.types import OUTSIDE, Document, Sentence

_DOCUMENT_START = "-DOCSTART-"
MAX_SENTENCE_TOKENS = 200_000  # tokens; a file without blank lines must not fill the memory


class ConllFormat(LocatingReader):
    """Two or more columns parted by tabs or spaces: the token first, the tag last.

    The scheme (IOB1, BIO, BIOES) is found in a first pass over the file and the tags are read as
    BIO. Lines that begin with -DOCSTART- part documents and are passed over; '#' is a token like
    any other. Each sentence is one document whose text is its tokens joined by one space.
    """

    name = "conll"
    endings: tuple[str, ...] = (".conll", ".tsv", ".iob", ".iob2", ".bio")

    def read_with_lines(
        self,
        path: str | Path,
        report: RepairCallback = ignore_repairs,
        problems: ProblemCallback = raise_problem,
    ) -> Iterator[LocatedDocument]:
        with open_for_reading(path) as file:
            try:
                scheme = _detected(file, path)
            except MixedSchemes as problem:
                problems(problem)
                scheme = None
            file.seek(0)
            empty = True
            for sentence in _sentences(file, path, problems):
                empty = False
                if sentence.spoiled or scheme is None:
                    continue
                yield LocatedDocument(sentence.lines[0], _document(sentence, scheme, report))
            if empty:
                problems(EmptyFile(file=path, unit="token and its tag"))

    def write(
        self, documents: Iterable[Document], path: str | Path, scheme: Scheme = Scheme.BIO
    ) -> None:
        with open_for_writing(path) as file:
            for number, document in enumerate(documents, start=1):
                for sentence in to_sentences(document):
                    _refuse_unwritable(sentence, path, number)
                    for token, tag in zip(
                        sentence.tokens, from_bio(sentence.tags, scheme), strict=True
                    ):
                        file.write(f"{token}\t{tag}\n")
                    file.write("\n")


def _document(sentence: _TaggedLines, scheme: Scheme, report: RepairCallback) -> Document:
    if sentence.all_outside():
        read = Sentence.from_tokens(sentence.tokens)
    else:
        tags, repairs = repair_tags(sentence.tags, scheme)
        for one in repairs:
            report(sentence.lines[one.position], one)
        bio = tags if scheme is Scheme.BIO else to_bio(tags, scheme)
        read = Sentence.from_tokens(sentence.tokens, bio)
    return Document(read.text, read.entities, token_spans=read.token_spans)


def _refuse_unwritable(sentence: Sentence, path: str | Path, number: int) -> None:
    for entity in sentence.entities:
        if _has_space(entity.label):
            raise EntityNotRepresentable(
                file=path,
                what=f"label {entity.label!r} of document {number}",
                format="conll",
                reason="white space parts its columns",
            )
    for token in sentence.tokens:
        if _has_space(token) or token == _DOCUMENT_START or token.startswith("\ufeff"):
            raise EntityNotRepresentable(
                file=path,
                what=f"token {token!r} of document {number}",
                format="conll",
                reason="it would not be read back as a token",
            )


def _has_space(text: str) -> bool:
    return any(c.isspace() for c in text)


@dataclass(slots=True)
class _TaggedLines:
    """The lines of one sentence; ``spoiled`` if one of them was at fault."""

    tokens: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    spoiled: bool = False

    def all_outside(self) -> bool:
        return self.tags.count(OUTSIDE) == len(self.tags)


def _detected(file: BinaryIO, path: str | Path) -> Scheme:
    """The scheme of the sound sentences; the faults of others are left for the second pass."""
    detector = SchemeDetector("line")
    for sentence in _sentences(file, path, lambda problem: None):
        if not (sentence.spoiled or sentence.all_outside()):
            detector.add(sentence.tags, sentence.lines)
    try:
        return detector.scheme()
    except MixedSchemes as problem:
        raise MixedSchemes(file=path, evidence=problem.facts["evidence"]) from None


def _sentences(
    file: BinaryIO, path: str | Path, problems: ProblemCallback
) -> Iterator[_TaggedLines]:
    columns = _Columns(path)
    for first_line, block in _blocks(file):
        if len(block) > MAX_SENTENCE_TOKENS:
            problems(SentenceTooLong(file=path, line=first_line, most=f"{MAX_SENTENCE_TOKENS:,}"))
            yield _TaggedLines(spoiled=True)
            continue
        sound = columns.of_sound_block(block)
        if sound is not None:
            numbers = list(range(first_line, first_line + len(block)))
            yield _TaggedLines(*sound, numbers)
        else:
            yield from _line_by_line(block, first_line, path, columns, problems)


def _blocks(file: BinaryIO) -> Iterator[tuple[int, list[bytes]]]:
    """The number of the first line and the lines of each stretch between blank lines; of one that is
    too long, one line too many."""
    block: list[bytes] = []
    first = 1
    for number, raw in bounded_lines(file):
        if raw.isspace():
            if block:
                yield first, block
                block = []
        elif not block:
            first, block = number, [raw]
        elif len(block) <= MAX_SENTENCE_TOKENS:
            block.append(raw)
    if block:
        yield first, block


def _line_by_line(
    block: Sequence[bytes],
    first_line: int,
    path: str | Path,
    columns: _Columns,
    problems: ProblemCallback,
) -> Iterator[_TaggedLines]:
    """Slow, but knows the place of every fault."""
    sentence = _TaggedLines()
    for number, raw in enumerate(block, start=first_line):
        try:
            pair = columns.token_and_tag(decode_line(raw, path, number), number)
        except AdaptnerError as problem:
            sentence.spoiled = True
            problems(problem)
            continue
        if pair is not None:
            sentence.tokens.append(pair[0])
            sentence.tags.append(pair[1])
            sentence.lines.append(number)
        elif sentence.tokens or sentence.spoiled:
            yield sentence
            sentence = _TaggedLines()
    if sentence.tokens or sentence.spoiled:
        yield sentence


class _Columns:
    """Parts the lines of one file into columns, as its first token line does."""

    def __init__(self, path: str | Path) -> None:
        self._path = path
        self._separator: str | None = None
        self._count = 0
        self._known_tags: set[str] = set()

    def of_sound_block(self, block: Sequence[bytes]) -> tuple[list[str], list[str]] | None:
        """Tokens and tags of a block in which all is as in the lines before; None if unsure."""
        raw = b"".join(block)
        if len(raw) > MAX_LINE_BYTES:  # perhaps in one line
            return None
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError:
            return None
        if _DOCUMENT_START in text or "\0" in text or "\ufeff" in text:
            return None
        text = text.replace("\r\n", "\n").removesuffix("\n")
        if self._separator is None or "\r" in text:
            return None
        if self._separator == "\t" and " " in text:
            return None
        rows = [line.split(self._separator) for line in text.split("\n")]
        tokens = [row[0] for row in rows]
        tags = [row[-1] for row in rows]
        as_before = all(len(row) == self._count for row in rows)
        if as_before and all(tokens) and self._known_tags.issuperset(tags):
            return tokens, tags
        return None

    def token_and_tag(self, line: str, number: int) -> tuple[str, str] | None:
        """None for a line between sentences."""
        line = line.rstrip(" \t")
        if not line:
            return None
        if line.startswith(_DOCUMENT_START) and line[len(_DOCUMENT_START) :][:1] in ("", " ", "\t"):
            return None
        if "\r" in line:
            raise LoneCarriageReturn(file=self._path, line=number, position=line.index("\r") + 1)
        if self._separator is None:
            self._separator = "\t" if "\t" in line else " "
        parts = line.split("\t") if self._separator == "\t" else line.replace("\t", " ").split(" ")
        if self._separator == " ":
            parts = [part for part in parts if part]
        if len(parts) != self._count:
            if self._count:
                raise RaggedColumns(
                    file=self._path, line=number, found=len(parts), expected=self._count
                )
            if len(parts) < 2:
                self._separator = None
                raise TooFewColumns(file=self._path, line=number)
            self._count = len(parts)
        token, tag = parts[0], parts[-1].strip(" ")
        if not token.strip(" "):
            raise TooFewColumns(file=self._path, line=number)
        if tag not in self._known_tags:
            try:
                parse_tag(tag)
            except UnknownTag:
                raise UnknownTag(file=self._path, line=number, tag=tag) from None
            self._known_tags.add(tag)
        return token, tag
