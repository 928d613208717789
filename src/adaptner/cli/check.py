"""``adaptner check``: errors and likely slips in an annotated file, each with its line."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adaptner.cli import options
from adaptner.cli.common import emit_json, out, print_error, warn
from adaptner.errors import AdaptnerError, FileMissing, FileUnreadable

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
    result = examine(file, from_)
    if json:
        emit_json(result)
    else:
        _print(result)
    if result["errors"]:
        raise typer.Exit(1)


def examine(file: str, format: str | None = None) -> dict[str, Any]:
    """Read all of ``file`` and collect its errors instead of raising the first."""
    from adaptner.corpora.annotation_checks import find_issues
    from adaptner.formats import find_format
    from adaptner.text.alignment import find_problems, to_sentences

    reader = find_format(file, format)
    errors: list[AdaptnerError] = []
    repairs: list[dict[str, Any]] = []
    sentences: list[Sentence] = []
    lines: list[int] = []  # first line of each sentence's document
    documents = 0

    def add_repair(line: int, repair: TagRepair) -> None:
        was, now = repair.found, repair.corrected
        repairs.append({"line": line, "was": was, "now": now, "reason": repair.reason})

    try:
        for located in reader.read_with_lines(file, on_repair=add_repair, on_problem=errors.append):
            documents += 1
            if problems := find_problems(located.document, file, located.line):
                errors.extend(problems)
                continue
            for sentence in to_sentences(located.document, file, located.line):
                sentences.append(sentence)
                lines.append(located.line)
    except (FileMissing, FileUnreadable) as problem:
        errors.append(problem)
    entities = Counter(e.label for s in sentences for e in s.entities)
    remarks: list[dict[str, Any]] = []
    if documents and not entities and not errors:
        line, message = [*lines, 1][0], "no entity is annotated in this file"
        remarks.append({"kind": "no entities", "line": line, "message": message})
    for issue in find_issues(sentences):
        message = issue.describe(lambda number: f"line {lines[number]}")
        remarks.append({"kind": issue.kind, "line": lines[issue.number], "message": message})
    return {
        "file": file,
        "format": reader.name,
        "documents": documents,
        "sentences": len(sentences),
        "tokens": sum(len(s) for s in sentences),
        "entities": dict(entities.most_common()),
        "errors": [{"kind": type(e).__name__, "line": e.line, "message": str(e)} for e in errors],
        "repairs": repairs,
        "remarks": remarks,
    }


def _print(result: dict[str, Any]) -> None:
    file = result["file"]
    for error in result["errors"]:
        print_error(error["message"])
    for repair in result["repairs"]:
        place = f"{file}:{repair['line']}"
        warn(f"{place}: {repair['was']} read as {repair['now']} ({repair['reason']})")
    counts: Counter[str] = Counter()
    for remark in result["remarks"]:
        kind, line, message = remark["kind"], remark["line"], remark["message"]
        counts[kind] += 1
        if counts[kind] <= _MAX_SHOWN:
            out.print(f"{file}:{line}: {kind}: {message}")
    for kind, count in counts.items():
        if count > _MAX_SHOWN:
            out.print(f"... and {count - _MAX_SHOWN} more of kind {kind!r} (--json lists all)")
    labels = (f"{label} {count:,}" for label, count in result["entities"].items())
    out.print(
        f"{file}: {result['format']}, {result['documents']:,} document(s), "
        f"{result['sentences']:,} sentence(s); entities: {', '.join(labels) or 'none'}"
    )
    out.print(
        f"{len(result['errors'])} error(s), {len(result['repairs'])} repaired tag(s), "
        f"{counts.total()} remark(s)"
    )
