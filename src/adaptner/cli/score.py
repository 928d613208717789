"""``adaptner score``: how well do predicted entities match the gold ones?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adaptner.cli.common import JsonFlag, emit_json, out, warn

if TYPE_CHECKING:
    from rich.table import Table

    from adaptner.metrics.spans import Score, Scores
    from adaptner.types import Document


def score(
    gold: Annotated[Path, typer.Argument(help="File with the right entities.")],
    predicted: Annotated[Path, typer.Argument(help="File with the predicted entities.")],
    format: Annotated[
        str | None,
        typer.Option("--from", help="Format of both files; else each by its own ending."),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Precision, recall and F1 of predicted entities, by type and overall.

    An entity is right when its borders and its type are.

    The two files hold the same texts in the same order; their formats may differ.

    Example: adaptner score gold.conll predicted.jsonl
    """
    from adaptner.formats import read
    from adaptner.metrics.spans import score_entities

    repairs: Counter[Path] = Counter()

    def documents(file: Path) -> Iterator[Document]:
        return read(file, format, report=lambda line, repair: repairs.update([file]))

    pairs = list(_corresponding(documents(gold), documents(predicted), predicted))
    for file, count in repairs.items():
        warn(f"{file}: {count} ill-formed tag(s), read as conlleval reads them")
    scores = score_entities([g.entities for g, _ in pairs], [p.entities for _, p in pairs])
    if as_json:
        emit_json(_as_json(scores, len(pairs)))
    else:
        out.print(_as_table(scores, len(pairs)))


def _corresponding(
    gold: Iterator[Document], predicted: Iterator[Document], file: Path
) -> Iterator[tuple[Document, Document]]:
    """Document pairs with equal texts; anything else would score offsets into different texts."""
    from adaptner.errors import WordCountMismatch

    for number, (g, p) in enumerate(zip_longest(gold, predicted), start=1):
        if g is None or p is None:
            short = "gold" if g is None else "predicted"
            reason = f"the {short} file has only {number - 1}"
            raise WordCountMismatch(file=file, number=number, reason=reason)
        if g.text != p.text:
            reason = _first_difference(g.text, p.text)
            raise WordCountMismatch(file=file, number=_named(number, g, p), reason=reason)
        yield g, p


def _named(number: int, gold: Document, predicted: Document) -> str:
    name = gold.id or predicted.id
    return f"{number} ({name})" if name else str(number)


def _first_difference(gold: str, predicted: str) -> str:
    at = next((i for i, (a, b) in enumerate(zip(gold, predicted, strict=False)) if a != b), None)
    if at is None:
        at = min(len(gold), len(predicted))
    start = max(0, at - 10)
    return (
        f"{gold[start : at + 20]!r} in gold, {predicted[start : at + 20]!r} in predicted "
        f"(character {at})"
    )


def _as_json(scores: Scores, documents: int) -> dict[str, Any]:
    return {
        "documents": documents,
        "overall": _numbers(scores.overall),
        "by_label": {label: _numbers(s) for label, s in scores.by_label.items()},
    }


def _numbers(score: Score) -> dict[str, Any]:
    return {
        "precision": score.precision,
        "recall": score.recall,
        "f1": score.f1,
        "true_positives": score.true_positives,
        "predicted": score.predicted,
        "support": score.gold,
    }


def _as_table(scores: Scores, documents: int) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(title=f"{documents} document(s)", title_justify="left")
    table.add_column("type")
    for name in ("precision", "recall", "F1", "support"):
        table.add_column(name, justify="right")
    for label, one in scores.by_label.items():
        # Text, not str: a label may hold square brackets, which rich would read as markup.
        table.add_row(Text(label), *_columns(one))
    table.add_section()
    table.add_row("overall", *_columns(scores.overall), style="bold")
    return table


def _columns(score: Score) -> list[str]:
    return [*(f"{v:.4f}" for v in (score.precision, score.recall, score.f1)), str(score.gold)]
