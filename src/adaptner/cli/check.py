"""``adaptner check``: errors and likely slips in an annotated file, each with its line."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adaptner.cli import options
from adaptner.cli.common import emit_json, out, print_error, warn
from adaptner.errors import AdaptnerError

if TYPE_CHECKING:
    from adaptner.text.schemes import TagRepair
    from adaptner.types import Sentence

_MAX_SHOWN = 20  # remarks of each kind; --json lists all


def check(
    file: Annotated[str, options.argument("FILE", "Annotated file; - is standard input.")],
    from_: options.FormatFrom = None,
    json: options.JsonFlag = False,
) -> None:
    """Check an annotated file for errors and likely slips.

    Lists every error with its line, warns of ill-formed tags that were repaired, and remarks on
    duplicates, labels that occur once and mentions that are annotated unevenly. The exit code is 1
    if there is an error.

    Example: adaptner check my.jsonl
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
    lines: list[int] = field(default_factory=list)  # first line of each sentence's document

    @property
    def labels(self) -> Counter[str]:
        return Counter(e.label for s in self.sentences for e in s.entities)

    def remarks(self) -> list[dict[str, Any]]:
        """What is legal but may be a slip."""
        from adaptner.corpora.annotation_checks import find_issues

        remarks: list[dict[str, Any]] = []
        if self.documents and not self.labels and not self.errors:
            line, message = [*self.lines, 1][0], "no entity is annotated in this file"
            remarks.append({"kind": "no entities", "line": line, "message": message})
        for issue in find_issues(self.sentences):
            message = issue.describe(lambda number: f"line {self.lines[number]}")
            line = self.lines[issue.number]
            remarks.append({"kind": issue.kind, "line": line, "message": message})
        return remarks

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
    """Read all of ``file`` and collect its errors instead of raising the first."""
    from adaptner.errors import FileMissing, FileUnreadable
    from adaptner.formats import find_format
    from adaptner.text.alignment import find_problems, to_sentences

    reader = find_format(file, format)
    findings = Findings(file, reader.name)
    try:
        for located in reader.read_with_lines(
            file,
            on_repair=lambda line, repair: findings.repairs.append((line, repair)),
            on_problem=findings.errors.append,
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
        print_error(error)
    for line, repair in findings.repairs:
        warn(f"{findings.file}:{line}: {repair.found} read as {repair.corrected} ({repair.reason})")
    counts: Counter[str] = Counter()
    for remark in findings.remarks():
        kind, line, message = remark["kind"], remark["line"], remark["message"]
        counts[kind] += 1
        if counts[kind] <= _MAX_SHOWN:
            out.print(f"{findings.file}:{line}: {kind}: {message}", markup=False)
    for kind, count in counts.items():
        if count > _MAX_SHOWN:
            out.print(f"... and {count - _MAX_SHOWN} more of kind {kind!r} (--json lists all)")
    labels = findings.labels.most_common()
    entities = ", ".join(f"{label} {count:,}" for label, count in labels) or "none"
    out.print(
        f"{findings.file}: {findings.format}, {findings.documents:,} document(s), "
        f"{len(findings.sentences):,} sentence(s); entities: {entities}",
        markup=False,
    )
    out.print(
        f"{len(findings.errors)} error(s), {len(findings.repairs)} repaired tag(s), "
        f"{counts.total()} remark(s)"
    )
