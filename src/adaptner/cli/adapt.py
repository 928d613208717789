"""``adaptner adapt``: a tagger from a few labelled sentences."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from adaptner.cli.common import SEEDS, JsonFlag, QuietFlag, emit_json, remark, warn


def adapt(
    sentences: Annotated[Path, typer.Argument(help="Labelled sentences (.jsonl or .conll).")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder for the model.")],
    base: Annotated[
        Path | None, typer.Option(help="A base; without it, the one the package brings.")
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, max=SEEDS, help="Of the new decoder and dropout.")
    ] = 0,
    from_: Annotated[
        str | None, typer.Option("--from", help="Format, if the ending does not tell.")
    ] = None,
    as_json: JsonFlag = False,
    quiet: QuietFlag = False,
) -> None:
    """Make a tagger from five to fifty labelled sentences.

    The labels are yours: they need not occur in any source, and there may be several. Include
    sentences without an entity, as they come.

    Example: adaptner adapt my.jsonl -o model
    """
    from adaptner import api
    from adaptner.adaptation.demo_base import demo_base
    from adaptner.errors import NoEntities
    from adaptner.training.base import Base
    from adaptner.training.progress import bar

    given = api.read(sentences, from_)
    counts = Counter(e.label for s in given for e in s.entities)
    if not counts:
        raise NoEntities(file=sentences, sentences=len(given))
    for label, count in counts.items():
        if count == 1:
            warn(f"label {label!r} has one mention only: do not expect it to be learnt", quiet)
    if len(given) == 1:
        warn("one sentence only: the tagger will know little more than its words", quiet)
    if base is None:
        with bar("preparing the package's base (once)", quiet) as watch:
            start = demo_base(watch)
    else:
        start = Base.load(base)
    begun = time.perf_counter()
    with bar("adapting", quiet) as watch:
        tagger = api.adapt(given, start, seed=seed, watch=watch)
    seconds = time.perf_counter() - begun
    tagger.save(output)
    if as_json:
        facts = {**tagger.facts, "labels": dict(counts), "seconds": round(seconds, 3)}
        emit_json({"model": str(output), **facts})
    else:
        seen = ", ".join(f"{label} ({count})" for label, count in counts.most_common())
        remark(
            f"{len(given)} sentences, mentions of {seen}; adapted in {seconds:.1f} s; "
            f"model in {output}",
            quiet,
        )
