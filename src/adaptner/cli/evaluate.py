"""``adaptner evaluate``: the few-shot protocol on one corpus."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from adaptner.cli.common import SEEDS, JsonFlag, QuietFlag, emit_json, out, remark


def evaluate(
    target: Annotated[str, typer.Option(help="Corpus folder: draws from train, scored on test.")],
    base: Annotated[Path | None, typer.Option(help="A base made by `adaptner pretrain`.")] = None,
    method: Annotated[
        str | None, typer.Option(help="Instead of --base: pretrain with this method first.")
    ] = None,
    sources: Annotated[
        list[str] | None, typer.Option(help="With --method: corpus folders to pretrain on.")
    ] = None,
    vectors: Annotated[Path | None, typer.Option(help="With --method: word vectors.")] = None,
    iterations: Annotated[int, typer.Option(min=0, help="With --method: of pretraining.")] = 1000,
    config: Annotated[
        Path | None, typer.Option(help="TOML file with the method's settings.")
    ] = None,
    sizes: Annotated[str, typer.Option(help="Sentences a draw, comma-separated.")] = "5,10,20,50",
    draws: Annotated[int, typer.Option(min=1, help="Draws a size.")] = 20,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Score only the first N test sentences.")
    ] = None,
    steps: Annotated[int | None, typer.Option(min=1, help="Fine-tuning steps.")] = None,
    seed: Annotated[
        int, typer.Option(min=0, max=SEEDS, help="Of the first draw, and of pretraining.")
    ] = 0,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Also write the JSON here.")
    ] = None,
    as_json: JsonFlag = False,
    quiet: QuietFlag = False,
) -> None:
    """Adapt to draws of the target's train split and score on its test split.

    Draw s of size n is random.Random(s).sample(range(N), n); mean and sd are over the draws.

    Example: adaptner evaluate --base base --target bio8/ncbi-disease --sizes 5,20 --draws 5
    """
    import json

    from adaptner.corpora.corpus import load_corpus
    from adaptner.episodes import draw
    from adaptner.evaluation.protocol import few_shot
    from adaptner.evaluation.tables import rich_table, summarise
    from adaptner.files import atomic_file
    from adaptner.methods.configuration import configured
    from adaptner.training.base import Base
    from adaptner.training.budget import Budget
    from adaptner.training.progress import bar
    from adaptner.training.settings import prepare_process

    prepare_process()
    wanted = _sizes(sizes)
    _refuse_idle_options(base, sources, vectors)
    corpus = load_corpus(target)
    draw(corpus.split("train"), max(wanted), seed)  # too few sentences? known before the work
    corpus.split("test")
    if base is not None:
        start = Base.load(base)
        settings = start.config if method is None and config is None else {}
        chosen = configured(method or start.method, config, settings)
    else:
        chosen = configured(_named(method), config)
        start = _pretrained(chosen, sources, corpus, vectors, iterations, seed, quiet)
    rows = []
    total = len(wanted) * draws
    with bar(f"{corpus.name}: {draws} draws of {sizes}", quiet) as watch:
        for row in few_shot(
            chosen,
            start,
            corpus,
            wanted,
            range(seed, seed + draws),
            limit=limit,
            budget=None if steps is None else Budget(steps),
        ):
            rows.append(row.as_dict())
            watch(len(rows), total, f"size {row.size}: F1 {row.f1:.3f}")
    result = {"rows": rows, "summary": summarise(rows)}
    if output is not None:
        with atomic_file(output) as file:
            json.dump(result, file, indent=1)
    if as_json:
        emit_json(result)
    else:
        out.print(rich_table(result["summary"]))
        remark(f"{len(corpus.split('test')[:limit]):,} test sentences, strict spans", quiet)


def _sizes(text: str) -> list[int]:
    from adaptner.errors import BadUsage

    try:
        sizes = [int(part) for part in text.split(",")]
    except ValueError:
        sizes = [0]
    if min(sizes) < 1 or len(set(sizes)) < len(sizes):
        raise BadUsage(
            problem=f"--sizes {text}: not a list of different sizes", remedy="write e.g. 5,10,20"
        )
    return sizes


def _refuse_idle_options(
    base: Path | None, sources: list[str] | None, vectors: Path | None
) -> None:
    """What pretraining would need means nothing where the base is there already."""
    from adaptner.errors import BadUsage

    for name, value in (("--sources", sources), ("--vectors", vectors)):
        if base is not None and value:
            raise BadUsage(
                problem=f"{name} has no use with --base, which is trained already",
                remedy=f"leave out {name}, or give --method instead of --base",
            )


def _named(method: str | None) -> str:
    from adaptner.errors import BadUsage

    if method is None:
        raise BadUsage(problem="nothing to evaluate", remedy="give --base BASE or --method NAME")
    return method


def _pretrained(chosen, sources, corpus, vectors, iterations, seed, quiet):  # type: ignore[no-untyped-def]
    """A base in memory from the sources, without the sentences of the target's test set."""
    from adaptner.corpora.corpus import group_by_domain, load_corpus
    from adaptner.errors import BadUsage
    from adaptner.methods.method import source_domains
    from adaptner.nn.vectors import read_vectors
    from adaptner.training.budget import Budget
    from adaptner.training.loop import Run
    from adaptner.training.progress import bar

    if not sources:
        raise BadUsage(problem=f"{chosen.name} needs sources", remedy="add --sources DIR DIR ...")
    domains = source_domains(
        group_by_domain(load_corpus(spec) for spec in sources), corpus.split("test")
    )
    removed = sum(d.removed for d in domains)
    remark(f"{removed} source sentences left out: they stand in the target's test set", quiet)
    table = None if vectors is None else read_vectors(vectors)
    with bar(chosen.title, quiet) as watch:
        return chosen.fit(
            domains, Budget(iterations), vectors=table, seed=seed, run=Run(watch=watch)
        )
