"""adaptner check: everything wrong or odd in an annotated file, each with its place."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adaptner.cli.common import JsonFlag, emit_json, out, print_error, warn
from adaptner.errors import AdaptnerError

if TYPE_CHECKING:
    from adaptner.text.schemes import TagRepair
    from adaptner.types import Sentence

_SHOWN = 20  # of each kind of remark; --json has them all


def check(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="File to check (- is standard input).")
    ],
    from_: Annotated[
        str | None, typer.Option("--from", help="Format: conll, jsonl or text.")
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Check an annotated file and say what it holds.

    All errors are listed with their lines, not only the first; repaired tags are warnings;
    duplicates, labels seen once and uneven annotation are remarks. Exit code 1 if there is an
    error.

    Example: adaptner check train.jsonl
    """
    findings = examine(file, from_)
    if json:
        emit_json(findings.as_json())
    else:
        _print(findings)
    if findings.errors:
        raise typer.Exit(1)


@dataclass
class Findings:
    file: str
    format: str
    errors: list[AdaptnerError] = field(default_factory=list)
    repairs: list[tuple[int, TagRepair]] = field(default_factory=list)
    documents: int = 0
    sentences: list[Sentence] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)  # of the document of each sentence

    @property
    def labels(self) -> Counter[str]:
        return Counter(e.label for s in self.sentences for e in s.entities)

    def remarks(self) -> list[dict[str, Any]]:
        """What is legal but may be a slip."""
        from adaptner.corpora.annotation_checks import find_issues

        found: list[dict[str, Any]] = []
        if self.documents and not self.labels and not self.errors:
            found.append(
                {
                    "kind": "no entities",
                    "line": self.lines[0] if self.lines else 1,
                    "message": "nothing is marked in this file",
                }
            )
        for one in find_issues(self.sentences):
            message = one.describe(lambda number: f"line {self.lines[number]}")
            found.append({"kind": one.kind, "line": self.lines[one.number], "message": message})
        return found

    def as_json(self) -> dict[str, Any]:
        return {
            "file": self.file,
            "format": self.format,
            "documents": self.documents,
            "sentences": len(self.sentences),
            "tokens": sum(len(s) for s in self.sentences),
            "entities": dict(self.labels.most_common()),
            "errors": [
                {"kind": type(e).__name__, "line": e.line, "message": str(e)} for e in self.errors
            ],
            "repairs": [
                {"line": line, "was": r.found, "now": r.corrected, "reason": r.reason}
                for line, r in self.repairs
            ],
            "remarks": self.remarks(),
        }


def examine(file: str, format: str | None = None) -> Findings:
    """Read all of ``file``, going on after each error."""
    from adaptner.errors import FileMissing, FileUnreadable
    from adaptner.formats import find_format
    from adaptner.text.alignment import find_problems, to_sentences

    reader = find_format(file, format)
    findings = Findings(file, reader.name)
    try:
        for located in reader.read_with_lines(
            file,
            report=lambda line, repair: findings.repairs.append((line, repair)),
            problems=findings.errors.append,
        ):
            findings.documents += 1
            if problems := find_problems(located.document, file, located.line):
                findings.errors.extend(problems)
                continue
            for sentence in to_sentences(located.document, file, located.line):
                findings.sentences.append(sentence)
                findings.lines.append(located.line)
    except (FileMissing, FileUnreadable) as problem:
        findings.errors.append(problem)
    return findings


def _print(findings: Findings) -> None:
    for error in findings.errors:
        print_error(str(error))
    for line, repair in findings.repairs:
        warn(f"{findings.file}:{line}: {repair.found} read as {repair.corrected} ({repair.reason})")
    shown: Counter[str] = Counter()
    for remark in findings.remarks():
        shown[remark["kind"]] += 1
        if shown[remark["kind"]] <= _SHOWN:
            line, message = remark["line"], remark["message"]
            out.print(f"{findings.file}:{line}: {remark['kind']}: {message}", markup=False)
    for kind, count in shown.items():
        if count > _SHOWN:
            out.print(f"... and {count - _SHOWN} more of kind {kind!r} (--json lists all)")
    entities = findings.labels
    listed = ", ".join(f"{label} {count:,}" for label, count in entities.most_common()) or "none"
    out.print(
        f"{findings.file}: {findings.format}, {findings.documents:,} document(s), "
        f"{len(findings.sentences):,} sentence(s); entities: {listed}",
        markup=False,
    )
    out.print(
        f"{len(findings.errors)} error(s), {len(findings.repairs)} repaired tag(s), "
        f"{sum(shown.values())} remark(s)"
    )
