"""``adaptner evaluate``: the few-shot protocol on one corpus."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from adaptner.cli import options
from adaptner.cli.common import emit_json, info, out
from adaptner.errors import HeterogeneousTarget, UsageError

if TYPE_CHECKING:
    from adaptner.corpora.corpus import Corpus
    from adaptner.corpora.sources import SourceDomain
    from adaptner.methods.base import Method

SIZES = "5,10,20,50"


def evaluate(
    target: Annotated[
        str,
        options.file(
            "--target FOLDER", "Target corpus: draws from its train split, scored on test."
        ),
    ],
    base: options.BaseFolder = None,
    sources: Annotated[
        list[str] | None,
        options.file(
            "--sources FOLDER...",
            "Source corpora to pretrain on; with --base, for methods that also adapt on sources.",
        ),
    ] = None,
    vectors: options.VectorsFile = None,
    output: Annotated[
        Path | None, options.file("-o, --output FILE", "Also write the JSON here.")
    ] = None,
    as_json: options.JsonFlag = False,
    quiet: options.QuietFlag = False,
    method: options.MethodName = None,
    config: options.ConfigFile = None,
    encoder: options.Encoder = None,
    iterations: options.Iterations = 1000,
    sizes: Annotated[
        str | None,
        options.research(
            "--sizes N,N,...",
            "Numbers of sentences to draw.",
            show_default=f"{SIZES} without --shares",
        ),
    ] = None,
    shares: Annotated[
        str | None,
        options.research("--shares X,X,...", "Draw these percentages of the train split."),
    ] = None,
    draws: options.Draws = 20,
    draws_from: options.DrawsFromFlag = "all",
    limit: options.Limit = None,
    steps: Annotated[
        int | None,
        options.research(
            "--steps N", "Number of adaptation steps.", min=1, show_default="of the method"
        ),
    ] = None,
    device: options.DeviceName = "auto",
    seed: options.Seed = 0,
    download: options.Download = False,
) -> None:
    """Measure few-shot F1 on a corpus, over repeated draws of labelled sentences.

    Adapts a base to each draw from the train split and scores on the test split; shows mean and sd
    over the draws. Without --base, the method is first pretrained on --sources. Draw s of size n is
    random.Random(s).sample(range(N), n) over the N sentences of --draws-from. Methods that need unlabelled text get the train split
    without its labels, and their rows say so.

    Example: adaptner evaluate --base biomedical --target bio8/ncbi-disease --sizes 5,20 --draws 5

    Example: adaptner evaluate --method agg --sources drug/ gene/ --target cell/ --shares 5,10,100
    """
    from adaptner.api.adaptation import check_inputs
    from adaptner.api.inputs import read_sources
    from adaptner.compute import find_device, prepare_process
    from adaptner.corpora.corpus import load_corpus
    from adaptner.episodes import check_draws, draw_sentences
    from adaptner.evaluation.protocol import evaluate_few_shot
    from adaptner.methods.configuration import method_for_base
    from adaptner.models.installed import load_base
    from adaptner.progress import progress_bar
    from adaptner.training.budget import Budget
    from adaptner.training.loop import TrainingRun
    from adaptner.vectors.word_vectors import read_vectors

    prepare_process()
    place = find_device(device)
    counts, percentages = _amounts(sizes, shares)
    kind = check_draws(draws_from, counts, percentages)
    start = None
    if base is None:
        learner = _method_to_pretrain(method, config, encoder, download, vectors)
    else:
        _refuse_with_base(vectors=vectors, encoder=encoder)
        start = load_base(base, place)
        learner = method_for_base(method, start, config)
        check_inputs(learner, start, sources or ())
        learner.check(start)
    corpus = load_corpus(target)
    # raises if there are too few
    draw_sentences(corpus.split("train"), max([1, *counts]), seed, kind)
    domains = read_sources(sources or (), corpus.split("test"))
    if domains:
        removed = sum(domain.removed for domain in domains)
        info(f"{removed} source sentences removed: they occur in the target's test set", quiet)
    if start is None:
        _check_sources(learner, domains, corpus)
        table = None if vectors is None else read_vectors(vectors)
        with progress_bar(learner.title, quiet) as progress:
            run = TrainingRun(progress=progress, device=place)
            start = learner.fit(domains, Budget(iterations), vectors=table, seed=seed, run=run)
    scores = evaluate_few_shot(
        learner,
        start,
        corpus,
        counts,
        range(seed, seed + draws),
        shares=percentages,
        sources=domains,
        limit=limit,
        budget=None if steps is None else Budget(steps),
        draws_from=kind,
    )
    rows: list[dict[str, Any]] = []
    total = (len(counts) + len(percentages)) * draws
    with progress_bar(f"{corpus.name}: {total} draws", quiet) as progress:
        for score in scores:
            rows.append(score.as_dict())
            progress(len(rows), total, f"size {score.size}: F1 {score.f1:.3f}")
    _report(rows, output, as_json)
    if not as_json:
        info(f"{len(corpus.split('test')[:limit]):,} test sentences, strict spans", quiet)


def _amounts(sizes: str | None, shares: str | None) -> tuple[list[int], list[float]]:
    """The numbers of ``--sizes`` and the percentages of ``--shares``."""
    if sizes is None and shares is None:
        sizes = SIZES
    counts: list[int] = []
    percentages: list[float] = []
    if sizes is not None:
        counts = options.size_list(sizes)
    if shares is not None:
        description = "different percentages above 0 and up to 100"
        percentages = options.number_list(
            "--shares", shares, float, lambda share: 0 < share <= 100, description
        )
    return counts, percentages


def _method_to_pretrain(
    name: str | None, config: Path | None, encoder: str | None, download: bool, vectors: Path | None
) -> Method:
    from adaptner.methods.configuration import make_method
    from adaptner.methods.transformer_settings import check_encoder

    if name is None:
        raise UsageError(problem="nothing to evaluate", remedy="give --base BASE or --method NAME")
    learner = make_method(name, config, encoder=encoder)
    check_encoder(learner, download=download, vectors=vectors)
    return learner


def _refuse_with_base(**arguments: object) -> None:
    for name, value in arguments.items():
        if value is not None:
            raise UsageError(
                problem=f"--{name} cannot be used with --base, which is pretrained already",
                remedy=f"leave out --{name}, or give --method and --sources instead of --base",
            )


def _check_sources(learner: Method, domains: Sequence[SourceDomain], corpus: Corpus) -> None:
    """Raise before pretraining if the base could not be used on the target."""
    if not domains:
        raise UsageError(
            problem=f"{learner.name} needs sources", remedy="add --sources DIR DIR ..."
        )
    known = sorted({label for domain in domains for label in domain.labels.labels})
    if not learner.capabilities.adapts and not set(corpus.labels.labels) <= set(known):
        raise HeterogeneousTarget(
            method=learner.name,
            known=", ".join(known),
            target=", ".join(corpus.labels.labels),
            reason="will not know them all",
        )


def _report(rows: list[dict[str, Any]], output: Path | None, as_json: bool) -> None:
    from adaptner.evaluation.tables import rich_table, summarise
    from adaptner.files import atomic_file

    result = {"rows": rows, "summary": summarise(rows)}
    if output is not None:
        with atomic_file(output) as file:
            json.dump(result, file, indent=1)
    if as_json:
        emit_json(result)
    else:
        out.print(rich_table(result["summary"]))
