"""``adaptner evaluate``: the few-shot protocol on one corpus."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adaptner.cli.common import SEEDS, JsonFlag, QuietFlag, emit_json, info, out
from adaptner.cli.options import DeviceName

if TYPE_CHECKING:
    import torch

    from adaptner.corpora.corpus import Corpus
    from adaptner.corpora.sources import SourceDomain
    from adaptner.methods.base import Method
    from adaptner.models.base import Base

SIZES = "5,10,20,50"


def evaluate(
    target: Annotated[str, typer.Option(help="Corpus folder: draws from train, scored on test.")],
    base: Annotated[
        Path | None, typer.Option(help="A base: its folder, or a name of `adaptner bases`.")
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(help="Adapts the base instead of its own; without --base, pretrains one too."),
    ] = None,
    sources: Annotated[
        list[str] | None,
        typer.Option(
            help="Corpus folders to pretrain on; with --base, for methods that need sources at "
            "adaptation too."
        ),
    ] = None,
    vectors: Annotated[Path | None, typer.Option(help="Without --base: word vectors.")] = None,
    encoder: Annotated[
        str | None,
        typer.Option(
            help="Without --base: a pretrained transformer: minilm, a folder, or a Hugging Face name; "
            "settings suit it (docs/transformers.md)."
        ),
    ] = None,
    download: Annotated[
        bool,
        typer.Option("--download", help="Fetch the transformer from the Hugging Face hub."),
    ] = False,
    iterations: Annotated[int, typer.Option(min=0, help="Without --base: of pretraining.")] = 1000,
    config: Annotated[
        Path | None, typer.Option(help="TOML file with settings, over those of base and method.")
    ] = None,
    sizes: Annotated[
        str | None,
        typer.Option(help=f"Sentences a draw, comma-separated; {SIZES} unless --shares are given."),
    ] = None,
    shares: Annotated[
        str | None, typer.Option(help="Draws in percent of the train split, comma-separated.")
    ] = None,
    draws: Annotated[int, typer.Option(min=1, help="Draws a size or share.")] = 20,
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
    device: DeviceName = "auto",
    as_json: JsonFlag = False,
    quiet: QuietFlag = False,
) -> None:
    """Adapt to draws of the target's train split and score on its test split.

    Draw s of size n is random.Random(s).sample(range(N), n); mean and sd are over the draws.
    A method that makes use of unlabelled text gets the train split without its labels, and its
    rows say so; `named`, for which text is an extra, gets none.

    Example: adaptner evaluate --base base --target bio8/ncbi-disease --sizes 5,20 --draws 5

    Example: adaptner evaluate --method agg --sources drug/ gene/ --target cell/ --shares 5,10,100
    """
    import json

    from adaptner import api
    from adaptner.compute import find_device, prepare_process
    from adaptner.corpora.corpus import load_corpus
    from adaptner.episodes import draw_sentences
    from adaptner.evaluation.protocol import evaluate_few_shot
    from adaptner.evaluation.tables import rich_table, summarise
    from adaptner.files import atomic_file
    from adaptner.methods.configuration import make_method, method_for_base
    from adaptner.methods.transformer_settings import check_encoder
    from adaptner.models.installed import load_base
    from adaptner.progress import progress_bar
    from adaptner.training.budget import Budget

    prepare_process()
    counts, percents = _sizes(sizes, shares), _shares(shares)
    if base is not None:
        _refuse("--vectors", vectors)
        _refuse("--encoder", encoder)
        start = load_base(base, find_device(device))
        chosen = method_for_base(method, start, config)
        api.check_given(chosen, start, sources or ())
        chosen.check(start)
    else:
        chosen = make_method(_named(method), config, encoder=encoder)
        check_encoder(chosen, download=download, vectors=vectors)
    corpus = load_corpus(target)
    test = corpus.split("test")
    draw_sentences(corpus.split("train"), max([1, *counts]), seed)  # too few? known before the work
    if base is not None:
        domains = api.sources_for(sources or (), test)
        _tell_removed(domains, quiet)
    else:
        domains, start = _pretrained(
            chosen, sources, corpus, vectors, iterations, seed, find_device(device), quiet
        )
    rows = []
    total = (len(counts) + len(percents)) * draws
    with progress_bar(f"{corpus.name}: {total} draws", quiet) as progress:
        for row in evaluate_few_shot(
            chosen,
            start,
            corpus,
            counts,
            range(seed, seed + draws),
            shares=percents,
            sources=domains,
            limit=limit,
            budget=None if steps is None else Budget(steps),
        ):
            rows.append(row.as_dict())
            progress(len(rows), total, f"size {row.size}: F1 {row.f1:.3f}")
    result = {"rows": rows, "summary": summarise(rows)}
    if output is not None:
        with atomic_file(output) as file:
            json.dump(result, file, indent=1)
    if as_json:
        emit_json(result)
    else:
        out.print(rich_table(result["summary"]))
        info(f"{len(test[:limit]):,} test sentences, strict spans", quiet)


def _sizes(text: str | None, shares: str | None) -> list[int]:
    from adaptner.errors import UsageError

    if text is None:
        if shares is not None:
            return []
        text = SIZES
    try:
        sizes = [int(part) for part in text.split(",")]
    except ValueError:
        sizes = [0]
    if min(sizes) < 1 or len(set(sizes)) < len(sizes):
        raise UsageError(
            problem=f"--sizes {text}: not a list of different sizes", remedy="write e.g. 5,10,20"
        )
    return sizes


def _shares(text: str | None) -> list[float]:
    from adaptner.errors import UsageError

    if text is None:
        return []
    try:
        shares = [float(part) for part in text.split(",")]
    except ValueError:
        shares = [0]
    if not all(0 < share <= 100 for share in shares) or len(set(shares)) < len(shares):
        raise UsageError(
            problem=f"--shares {text}: not a list of different shares, in percent",
            remedy="write e.g. 5,10,100",
        )
    return shares


def _refuse(option: str, given: object) -> None:
    """What pretraining would need means nothing where the base is there already."""
    from adaptner.errors import UsageError

    if given is not None:
        raise UsageError(
            problem=f"{option} has no use with --base, which is trained already",
            remedy=f"leave out {option}, or give --method and --sources instead of --base",
        )


def _named(method: str | None) -> str:
    from adaptner.errors import UsageError

    if method is None:
        raise UsageError(problem="nothing to evaluate", remedy="give --base BASE or --method NAME")
    return method


def _tell_removed(domains: Sequence[SourceDomain], quiet: bool) -> None:
    removed = sum(d.removed for d in domains)
    if domains:
        info(f"{removed} source sentences left out: they stand in the target's test set", quiet)


def _pretrained(
    chosen: Method,
    sources: list[str] | None,
    corpus: Corpus,
    vectors: Path | None,
    iterations: int,
    seed: int,
    device: torch.device,
    quiet: bool,
) -> tuple[list[SourceDomain], Base]:
    """A base in memory from the sources, without the sentences of the target's test set."""
    from adaptner.corpora.corpus import group_by_domain, load_corpus
    from adaptner.corpora.sources import source_domains
    from adaptner.errors import UsageError
    from adaptner.progress import progress_bar
    from adaptner.training.budget import Budget
    from adaptner.training.loop import TrainingRun
    from adaptner.vectors.word_vectors import read_vectors

    if not sources:
        raise UsageError(problem=f"{chosen.name} needs sources", remedy="add --sources DIR DIR ...")
    domains = source_domains(
        group_by_domain(load_corpus(spec) for spec in sources), corpus.split("test")
    )
    _tell_removed(domains, quiet)
    _refuse_foreign_labels(chosen, domains, corpus)
    table = None if vectors is None else read_vectors(vectors)
    with progress_bar(chosen.title, quiet) as progress:
        base = chosen.fit(
            domains,
            Budget(iterations),
            vectors=table,
            seed=seed,
            run=TrainingRun(progress=progress, device=device),
        )
    return domains, base


def _refuse_foreign_labels(chosen: Method, domains: Sequence[SourceDomain], corpus: Corpus) -> None:
    """A base that could not be used as it is need not be pretrained first."""
    from adaptner.errors import HeterogeneousTarget

    known = sorted({label for d in domains for label in d.labels.labels})
    if not chosen.capabilities.adapts and not set(corpus.labels.labels) <= set(known):
        raise HeterogeneousTarget(
            method=chosen.name,
            known=", ".join(known),
            target=", ".join(corpus.labels.labels),
            reason="will not know them all",
        )
