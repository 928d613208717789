"""The CoNLL format: one token and its tag per line, and a blank line after each sentence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, NoReturn

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
from adaptner.formats.base import Format, LocatedDocument, RepairCallback, ignore_repairs
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
MAX_SENTENCE_TOKENS = 200_000  # limits the memory that a file without blank lines needs


class ConllFormat(Format):
    """Two or more columns separated by tabs or spaces, with the token first and the tag last.

    A first pass over the file detects the scheme (IOB1, BIO, BIOES), and the tags are converted to
    BIO. Lines that begin with -DOCSTART- separate documents and are skipped; '#' is an ordinary
    token. Each sentence becomes a document whose text is its tokens joined by spaces.
    """

    name = "conll"
    endings = (".conll", ".tsv", ".iob", ".iob2", ".bio")

    def read_with_lines(
        self,
        path: str | Path,
        on_repair: RepairCallback = ignore_repairs,
        on_problem: ProblemCallback = raise_problem,
    ) -> Iterator[LocatedDocument]:
        with open_for_reading(path) as file:
            try:
                scheme = _detect_scheme(file, path)
            except MixedSchemes as problem:
                on_problem(problem)
                scheme = None
            file.seek(0)
            empty = True
            for sentence in _sentences(file, path, on_problem):
                empty = False
                if not sentence.faulty and scheme is not None:
                    document = _to_document(sentence, scheme, on_repair)
                    yield LocatedDocument(sentence.lines[0], document)
            if empty:
                on_problem(EmptyFile(file=path, unit="token and its tag"))

    def write(
        self, documents: Iterable[Document], path: str | Path, scheme: Scheme = Scheme.BIO
    ) -> None:
        with open_for_writing(path) as file:
            for number, document in enumerate(documents, start=1):
                for sentence in to_sentences(document):
                    _check_writable(sentence, path, number)
                    for token, tag in zip(
                        sentence.tokens, from_bio(sentence.tags, scheme), strict=True
                    ):
                        file.write(f"{token}\t{tag}\n")
                    file.write("\n")


def _to_document(lines: _TaggedLines, scheme: Scheme, on_repair: RepairCallback) -> Document:
    bio = None
    if not lines.all_outside():
        tags, repairs = repair_tags(lines.tags, scheme)
        for repair in repairs:
            on_repair(lines.lines[repair.position], repair)
        bio = tags if scheme is Scheme.BIO else to_bio(tags, scheme)
    sentence = Sentence.from_tokens(lines.tokens, bio)
    return Document(sentence.text, sentence.entities, token_spans=sentence.token_spans)


def _check_writable(sentence: Sentence, path: str | Path, number: int) -> None:
    def refuse(what: str, reason: str) -> NoReturn:
        what = f"{what} of document {number}"
        raise EntityNotRepresentable(file=path, what=what, format="conll", reason=reason)

    for entity in sentence.entities:
        if _has_space(entity.label):
            refuse(f"label {entity.label!r}", "white space separates the columns")
    for token in sentence.tokens:
        if _has_space(token) or token == _DOCUMENT_START or token.startswith("\ufeff"):
            refuse(f"token {token!r}", "it would not be read as one token")


def _has_space(text: str) -> bool:
    return any(c.isspace() for c in text)


@dataclass(slots=True)
class _TaggedLines:
    """The lines of one sentence; ``faulty`` if one of them contains an error."""

    tokens: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    faulty: bool = False

    def all_outside(self) -> bool:
        return self.tags.count(OUTSIDE) == len(self.tags)


def _detect_scheme(file: BinaryIO, path: str | Path) -> Scheme:
    """Returns the scheme of the valid sentences; the second pass reports the errors of others."""
    detector = SchemeDetector("line")
    for sentence in _sentences(file, path, lambda problem: None):
        if not (sentence.faulty or sentence.all_outside()):
            detector.add(sentence.tags, sentence.lines)
    try:
        return detector.scheme()
    except MixedSchemes as problem:
        raise MixedSchemes(file=path, evidence=problem.facts["evidence"]) from None


def _sentences(
    file: BinaryIO, path: str | Path, on_problem: ProblemCallback
) -> Iterator[_TaggedLines]:
    columns = _Columns(path)
    for first_line, block in _blocks(file):
        if len(block) > MAX_SENTENCE_TOKENS:
            on_problem(SentenceTooLong(file=path, line=first_line, most=f"{MAX_SENTENCE_TOKENS:,}"))
            yield _TaggedLines(faulty=True)
            continue
        tokens_and_tags = columns.parse_block(block)
        if tokens_and_tags is not None:
            line_numbers = list(range(first_line, first_line + len(block)))
            yield _TaggedLines(*tokens_and_tags, line_numbers)
        else:
            yield from _parse_lines(block, first_line, path, columns, on_problem)


def _blocks(file: BinaryIO) -> Iterator[tuple[int, list[bytes]]]:
    """Yields the blocks between blank lines, with the number of their first line.

    A block longer than MAX_SENTENCE_TOKENS is cut one line after that.
    """
    block: list[bytes] = []
    first_line = 1
    for number, raw in bounded_lines(file):
        if raw.isspace():
            if block:
                yield first_line, block
                block = []
        elif not block:
            first_line, block = number, [raw]
        elif len(block) <= MAX_SENTENCE_TOKENS:
            block.append(raw)
    if block:
        yield first_line, block


def _parse_lines(
    block: Sequence[bytes],
    first_line: int,
    path: str | Path,
    columns: _Columns,
    on_problem: ProblemCallback,
) -> Iterator[_TaggedLines]:
    """Parses a block line by line, which is slower but locates every error."""
    sentence = _TaggedLines()
    for number, raw in enumerate(block, start=first_line):
        try:
            token_and_tag = columns.parse_line(decode_line(raw, path, number), number)
        except AdaptnerError as problem:
            sentence.faulty = True
            on_problem(problem)
            continue
        if token_and_tag is not None:
            sentence.tokens.append(token_and_tag[0])
            sentence.tags.append(token_and_tag[1])
            sentence.lines.append(number)
        elif sentence.tokens or sentence.faulty:
            yield sentence
            sentence = _TaggedLines()
    if sentence.tokens or sentence.faulty:
        yield sentence


class _Columns:
    """Splits the lines of one file; the first token line determines separator and columns."""

    def __init__(self, path: str | Path) -> None:
        self._path = path
        self._separator: str | None = None
        self._count = 0
        self._known_tags: set[str] = set()

    def parse_block(self, block: Sequence[bytes]) -> tuple[list[str], list[str]] | None:
        """Returns tokens and tags of a block like the lines before; None if it may have errors."""
        raw = b"".join(block)
        if len(raw) > MAX_LINE_BYTES:  # A single line may be too long.
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
        regular = all(len(row) == self._count for row in rows)
        if regular and all(tokens) and self._known_tags.issuperset(tags):
            return tokens, tags
        return None

    def parse_line(self, line: str, number: int) -> tuple[str, str] | None:
        """Returns token and tag, or None for a blank or -DOCSTART- line; raises on errors."""
        line = line.rstrip(" \t")
        if not line:
            return None
        if line.startswith(_DOCUMENT_START) and line[len(_DOCUMENT_START) :][:1] in ("", " ", "\t"):
            return None
        if "\r" in line:
            raise LoneCarriageReturn(file=self._path, line=number, position=line.index("\r") + 1)
        if self._separator is None:
            self._separator = "\t" if "\t" in line else " "
        if self._separator == "\t":
            columns = line.split("\t")
        else:
            columns = [column for column in line.replace("\t", " ").split(" ") if column]
        if len(columns) != self._count:
            if self._count:
                raise RaggedColumns(
                    file=self._path, line=number, found=len(columns), expected=self._count
                )
            if len(columns) < 2:
                self._separator = None
                raise TooFewColumns(file=self._path, line=number)
            self._count = len(columns)
        token, tag = columns[0], columns[-1].strip(" ")
        if not token.strip(" "):
            raise TooFewColumns(file=self._path, line=number)
        if tag not in self._known_tags:
            try:
                parse_tag(tag)
            except UnknownTag:
                raise UnknownTag(file=self._path, line=number, tag=tag) from None
            self._known_tags.add(tag)
        return token, tag
