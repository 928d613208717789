"""``adaptner pretrain``: learn a base from source corpora."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from adaptner.cli.common import SEEDS, JsonFlag, QuietFlag, emit_json, info
from adaptner.cli.options import DeviceName


def pretrain(
    sources: Annotated[
        list[str],
        typer.Option(
            help="Corpus folders, each DIR or DOMAIN=DIR; several may follow one --sources."
        ),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder for the base.")],
    method: Annotated[str, typer.Option(help="See `adaptner methods`.")] = "hgda",
    config: Annotated[
        Path | None, typer.Option(help="TOML file with the method's settings.")
    ] = None,
    iterations: Annotated[int, typer.Option(min=0, help="Outer iterations.")] = 1000,
    seconds: Annotated[
        float | None, typer.Option(help="Stop after so many seconds, if earlier.")
    ] = None,
    k: Annotated[
        int | None, typer.Option("--k", min=1, help="Support and query sentences a task.")
    ] = None,
    vectors: Annotated[
        Path | None,
        typer.Option(help="Word vectors: .safetensors, .npy + .vocab.txt, .vec, .txt or .bin."),
    ] = None,
    encoder: Annotated[
        str | None,
        typer.Option(
            help="Learn with a pretrained transformer: minilm, a folder, or a Hugging Face name; "
            "settings suit it (docs/transformers.md)."
        ),
    ] = None,
    download: Annotated[
        bool,
        typer.Option("--download", help="Fetch the transformer from the Hugging Face hub."),
    ] = False,
    start: Annotated[
        Path | None,
        typer.Option(
            help="A base to start from, a folder or the name of an installed one: its encoder and "
            "vectors instead of new ones."
        ),
    ] = None,
    beside: Annotated[
        bool,
        typer.Option(
            "--beside",
            help="Keep the base of --start as it is and put what is learnt beside it, as a second "
            "encoder: for targets whose labels the sources have taught.",
        ),
    ] = False,
    held_out: Annotated[
        list[str] | None,
        typer.Option("--held-out", help="Corpus whose test sentences must not be learnt from."),
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, max=SEEDS, help="Of parameters, tasks and dropout.")
    ] = 0,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with an interrupted run.")
    ] = False,
    device: DeviceName = "auto",
    as_json: JsonFlag = False,
    quiet: QuietFlag = False,
) -> None:
    """Learn a base from label-rich source corpora.

    The output folder is also the run: configuration, metrics.jsonl, hardness.jsonl, and a model
    card. An interrupted run goes on with --resume and ends in the same bytes.

    Example: adaptner pretrain --method hgda --sources drug/ gene/ species/ --vectors w2v.npy -o base

    Example: adaptner pretrain --method named --start biomedical --sources mine/ -o base

    Example: adaptner pretrain --method finetuning --start biomedical --beside --sources mine/ -o base

    Example: adaptner pretrain --encoder minilm --sources drug/ gene/ species/ -o base
    """
    from adaptner.compute import find_device, prepare_process
    from adaptner.corpora.corpus import load_corpus
    from adaptner.errors import UsageError
    from adaptner.methods.configuration import make_method
    from adaptner.methods.transformer_settings import check_encoder
    from adaptner.models.installed import base_folder
    from adaptner.pretraining.from_sources import pretrain as run
    from adaptner.progress import progress_bar
    from adaptner.training.budget import Budget

    if seconds is not None and not seconds > 0:  # not a number is not above zero either
        raise UsageError(problem=f"--seconds {seconds}: no time at all", remedy="give more seconds")
    if start is not None and vectors is not None:
        raise UsageError(
            problem="--start and --vectors: a base has vectors of its own",
            remedy="leave out --vectors",
        )
    if start is not None:
        start = base_folder(start)
    prepare_process()
    overrides = {} if k is None else {"k": k}
    chosen = make_method(method, config, overrides, encoder)
    check_encoder(chosen, download=download, vectors=vectors, start=start)
    info("reading the corpora ...", quiet)
    corpora = [load_corpus(spec) for spec in sources]
    excluded = [load_corpus(spec) for spec in held_out or ()]
    with progress_bar(f"{chosen.title}", quiet) as progress:
        base = run(
            chosen,
            corpora,
            Budget(iterations, seconds),
            output,
            vectors=vectors,
            start=start,
            beside=beside,
            held_out=excluded,
            seed=seed,
            resume=resume,
            device=find_device(device),
            progress=progress,
            tell=lambda message: info(message, quiet),
        )
    if as_json:
        emit_json({"base": str(output), "method": base.method, **base.facts})
    else:
        info(f"{base.facts['iterations']} iterations; base in {output}", quiet)
