"""``adaptner demo``: adaptation and tagging from end to end, on corpora that come with the package."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from adaptner.cli import options
from adaptner.cli.common import emit_json, info, out

if TYPE_CHECKING:
    from adaptner.metrics.spans import Score
    from adaptner.types import Document

_SHOWN = 12  # documents in the terminal


def demo(
    output: Annotated[
        Path, options.file("-o, --output FOLDER", "Folder for the page and the tagger.")
    ] = Path("demo"),
    sentences: Annotated[
        int, options.adaptation("--sentences N", "Number of labelled sentences.", min=5, max=130)
    ] = 20,
    as_json: options.JsonFlag = False,
    quiet: options.QuietFlag = False,
    seed: options.Seed = 0,
    device: options.DeviceName = "auto",
) -> None:
    """Try adaptation on an example: find cell lines after a few labelled sentences.

    Adapts the package's base, which has never been trained on cell lines, tags unseen sentences
    and writes them as a page of HTML.

    Example: adaptner demo -o demo
    """
    from adaptner import api
    from adaptner.compute import find_device, prepare_process
    from adaptner.corpora.bundled import bundled_corpus
    from adaptner.episodes import draw_sentences
    from adaptner.metrics.spans import score_entities
    from adaptner.models.installed import default_base
    from adaptner.progress import progress_bar
    from adaptner.types import Document

    prepare_process()
    seconds: dict[str, float] = {}
    with _timed(seconds, "base"):
        base = default_base(find_device(device))
    corpus = bundled_corpus("cellline")
    support, test = draw_sentences(corpus.split("train"), sentences, seed), corpus.split("test")
    (label,) = corpus.labels.labels
    mentions = sum(len(s.entities) for s in support)
    info(f"New label {label}: {len(support)} labelled sentences with {mentions} mentions", quiet)
    with _timed(seconds, "adapt"), progress_bar("adapting", quiet) as progress:
        tagger = api.adapt(support, base, seed=seed, progress=progress)
    with _timed(seconds, "tag"):
        predicted = tagger.predict([s.text for s in test])
    score = score_entities([s.entities for s in test], predicted).overall
    documents = [Document(s.text, tuple(e)) for s, e in zip(test, predicted, strict=True)]
    page, model = output / "demo.html", output / "model"
    tagger.save(model)
    _write_page(page, documents, label, len(support), score)
    if as_json:
        emit_json(
            {
                "precision": score.precision,
                "recall": score.recall,
                "f1": score.f1,
                "sentences": len(support),
                "test_sentences": len(test),
                "seconds": seconds,
                "page": str(page),
                "model": str(model),
            }
        )
        return
    _print_documents(documents[:_SHOWN], label)
    out.print(
        f"\nprecision {score.precision:.3f}  recall {score.recall:.3f}  F1 {score.f1:.3f}"
        f"  on {len(test)} unseen sentences",
        style="bold green",
    )
    out.print(
        f"loaded the base in {seconds['base']:.1f} s, adapted to {len(support)} sentences in "
        f"{seconds['adapt']:.1f} s, tagged {len(test)} sentences in {seconds['tag']:.2f} s"
    )
    out.print(f"page: {page}   tagger: {model}")


@contextmanager
def _timed(seconds: dict[str, float], name: str) -> Iterator[None]:
    start = time.perf_counter()
    yield
    seconds[name] = time.perf_counter() - start


def _write_page(
    page: Path, documents: Sequence[Document], label: str, sentences: int, score: Score
) -> None:
    from adaptner.files import atomic_file
    from adaptner.formats.chunks import DocumentChunk
    from adaptner.tagging.page import html_page

    note = (
        f"{sentences} labelled sentences, {len(documents)} unseen ones: precision "
        f"{score.precision:.2f}, recall {score.recall:.2f}, F1 {score.f1:.2f}"
    )
    title = "Cell lines found in unseen sentences"
    with atomic_file(page) as file:
        file.writelines(html_page(map(DocumentChunk, documents), (label,), title, note))


def _print_documents(documents: Sequence[Document], label: str) -> None:
    from adaptner.cli.show import coloured

    out.print(f"\nUnseen text, tagged ({label} in colour):\n", style="bold")
    for document in documents:
        out.print(coloured(document, (label,)))
