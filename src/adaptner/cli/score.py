"""``adaptner score``: precision, recall and F1 of predicted entities."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rich.table import Table

from adaptner.cli import options
from adaptner.cli.common import emit_json, out, warn
from adaptner.errors import WordCountMismatch

if TYPE_CHECKING:
    from adaptner.metrics.spans import Score, Scores
    from adaptner.types import Document


def score(
    gold: Annotated[Path, options.argument("GOLD", "File with the correct entities.")],
    predicted: Annotated[Path, options.argument("PREDICTED", "File with the predicted entities.")],
    from_: options.FormatFrom = None,
    as_json: options.JsonFlag = False,
) -> None:
    """Compute precision, recall and F1 of predicted entities.

    An entity is correct if both its borders and its label are. The two files must hold the same
    texts in the same order; their formats may differ.

    Example: adaptner score gold.conll predicted.jsonl
    """
    from adaptner.formats import read
    from adaptner.metrics.spans import score_entities

    repairs: Counter[Path] = Counter()

    def documents(file: Path) -> Iterator[Document]:
        return read(file, from_, on_repair=lambda line, repair: repairs.update([file]))

    pairs = list(_aligned(documents(gold), documents(predicted), predicted))
    for file, count in repairs.items():
        warn(f"{file}: {count} ill-formed tag(s), read as conlleval reads them")
    scores = score_entities([g.entities for g, _ in pairs], [p.entities for _, p in pairs])
    if as_json:
        by_label = {label: _as_json(of_label) for label, of_label in scores.by_label.items()}
        overall = _as_json(scores.overall)
        emit_json({"documents": len(pairs), "overall": overall, "by_label": by_label})
    else:
        out.print(_as_table(scores, len(pairs)))


def _aligned(
    gold: Iterator[Document], predicted: Iterator[Document], file: Path
) -> Iterator[tuple[Document, Document]]:
    """Pairs of documents. Raises if their texts differ, since offsets could not be compared."""
    for number, (g, p) in enumerate(zip_longest(gold, predicted), start=1):
        if g is None or p is None:
            shorter = "gold" if g is None else "predicted"
            reason = f"the {shorter} file has only {number - 1}"
            raise WordCountMismatch(file=file, number=number, reason=reason)
        if g.text != p.text:
            name = g.id or p.id
            raise WordCountMismatch(
                file=file,
                number=f"{number} ({name})" if name else str(number),
                reason=_first_difference(g.text, p.text),
            )
        yield g, p


def _first_difference(gold: str, predicted: str) -> str:
    pairs = zip(gold, predicted, strict=False)
    length = min(len(gold), len(predicted))
    position = next((i for i, (a, b) in enumerate(pairs) if a != b), length)
    start, end = max(0, position - 10), position + 20
    return (
        f"{gold[start:end]!r} in gold, {predicted[start:end]!r} in predicted (character {position})"
    )


def _as_json(score: Score) -> dict[str, Any]:
    return {
        "precision": score.precision,
        "recall": score.recall,
        "f1": score.f1,
        "true_positives": score.true_positives,
        "predicted": score.predicted,
        "support": score.gold,
    }


def _as_table(scores: Scores, documents: int) -> Table:
    table = Table(title=f"{documents} document(s)", title_justify="left")
    table.add_column("label")
    for name in ("precision", "recall", "F1", "support"):
        table.add_column(name, justify="right")
    for label, of_label in scores.by_label.items():
        table.add_row(label, *_cells(of_label))
    table.add_section()
    table.add_row("overall", *_cells(scores.overall), style="bold")
    return table


def _cells(score: Score) -> list[str]:
    return [*(f"{v:.4f}" for v in (score.precision, score.recall, score.f1)), str(score.gold)]
