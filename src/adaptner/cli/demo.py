"""``adaptner demo``: the main job from end to end, on corpora that come with the package."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from adaptner.cli.common import SEEDS, JsonFlag, QuietFlag, emit_json, info, out


def demo(
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Folder for the page and the model.")
    ] = Path("demo"),
    sentences: Annotated[int, typer.Option(min=5, max=130, help="Labelled sentences.")] = 20,
    seed: Annotated[
        int, typer.Option(min=0, max=SEEDS, help="Of the draw and of the adaptation.")
    ] = 0,
    as_json: JsonFlag = False,
    quiet: QuietFlag = False,
) -> None:
    """Adapt to a new entity type (cell lines) from labelled sentences and tag unseen text.

    The base has read papers and abstracts; nobody has ever shown it a cell line.

    Example: adaptner demo -o demo
    """
    from adaptner import api
    from adaptner.cli.show import terminal
    from adaptner.compute import prepare_process
    from adaptner.corpora.bundled import bundled_corpus
    from adaptner.episodes import draw_sentences
    from adaptner.files import atomic_file
    from adaptner.formats.chunks import DocumentChunk
    from adaptner.metrics.spans import score_entities
    from adaptner.models.installed import default_base
    from adaptner.progress import progress_bar
    from adaptner.tagging.page import page
    from adaptner.types import Document

    prepare_process()
    show = not as_json
    begun = time.perf_counter()
    base = default_base()
    prepared = time.perf_counter() - begun
    corpus = bundled_corpus("cellline")
    support, test = draw_sentences(corpus.split("train"), sentences, seed), corpus.split("test")
    label = corpus.labels.labels[0]
    mentions = sum(len(s.entities) for s in support)
    info(f"New type {label}: {len(support)} labelled sentences with {mentions} mentions", quiet)

    begun = time.perf_counter()
    with progress_bar("adapting", quiet) as progress:
        tagger = api.adapt(support, base, seed=seed, progress=progress)
    adapted = time.perf_counter() - begun
    begun = time.perf_counter()
    found = tagger.predict([s.text for s in test])
    tagged = time.perf_counter() - begun
    score = score_entities([s.entities for s in test], found).overall

    documents = [Document(s.text, tuple(e)) for s, e in zip(test, found, strict=True)]
    tagger.save(output / "model")
    summary = (
        f"{len(support)} labelled sentences, {len(test)} unseen ones: precision "
        f"{score.precision:.2f}, recall {score.recall:.2f}, F1 {score.f1:.2f}"
    )
    with atomic_file(output / "demo.html") as file:
        title = "Cell lines found in unseen sentences"
        file.writelines(page(map(DocumentChunk, documents), (label,), title, summary))
    if as_json:
        emit_json(
            {
                "precision": score.precision,
                "recall": score.recall,
                "f1": score.f1,
                "sentences": len(support),
                "test_sentences": len(test),
                "seconds": {"base": prepared, "adapt": adapted, "tag": tagged},
                "page": str(output / "demo.html"),
                "model": str(output / "model"),
            }
        )
    if show:
        out.print(f"\nUnseen text, tagged ({label} in colour):\n", style="bold")
        for document in documents[:12]:
            out.print(terminal(document, (label,)))
        out.print(
            f"\nprecision {score.precision:.3f}  recall {score.recall:.3f}  F1 {score.f1:.3f}"
            f"  on {len(test)} unseen sentences",
            style="bold green",
        )
        out.print(
            f"base ready in {prepared:.1f} s, adapted to {len(support)} sentences in {adapted:.1f} s, "
            f"{len(test)} sentences tagged in {tagged:.2f} s"
        )
        out.print(f"page: {output / 'demo.html'}   model: {output / 'model'}")
