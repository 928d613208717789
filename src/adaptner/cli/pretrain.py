"""``adaptner pretrain``: train a base on source corpora."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from adaptner.cli import options
from adaptner.cli.common import emit_json, info
from adaptner.errors import UsageError


def pretrain(
    sources: options.Sources,
    output: Annotated[Path, options.file("-o, --output FOLDER", "Folder for the base.")],
    vectors: options.VectorsFile = None,
    start: Annotated[
        Path | None,
        options.file(
            "--start BASE",
            "Start from the encoder and vectors of this base (folder or installed name).",
        ),
    ] = None,
    as_json: options.JsonFlag = False,
    quiet: options.QuietFlag = False,
    method: Annotated[
        str, options.research("--method NAME", "A method listed by `adaptner methods`.")
    ] = "hgda",
    config: options.ConfigFile = None,
    encoder: options.Encoder = None,
    second_encoder: Annotated[
        bool,
        options.research(
            "--second-encoder",
            "Keep the base of --start unchanged and add the new encoder to it as a second "
            "one, for targets whose labels the sources cover.",
        ),
    ] = False,
    held_out: options.HeldOut = None,
    iterations: options.Iterations = 1000,
    k: Annotated[
        int | None,
        options.research(
            "--k N", "Support and query sentences per task.", min=1, show_default="of the method"
        ),
    ] = None,
    seconds: Annotated[
        float | None, options.research("--seconds X", "Stop after this time, if it comes first.")
    ] = None,
    device: options.DeviceName = "auto",
    seed: options.Seed = 0,
    resume: options.Resume = False,
    download: options.Download = False,
) -> None:
    """Train a base on source corpora that have many labelled sentences.

    The folder holds the base, its model card and the records of the run (configuration,
    metrics.jsonl, hardness.jsonl). A run that was interrupted and continued with --resume gives
    the same bytes as an uninterrupted one.

    Example: adaptner pretrain --sources drug/ gene/ species/ --vectors w2v.npy -o base

    Example: adaptner pretrain --method named --start biomedical --sources mine/ -o base

    Example: adaptner pretrain --encoder minilm --sources drug/ gene/ -o base
    """
    from adaptner.compute import find_device, prepare_process
    from adaptner.corpora.corpus import load_corpus
    from adaptner.methods.configuration import make_method
    from adaptner.methods.transformer_settings import check_encoder
    from adaptner.models.installed import base_folder
    from adaptner.pretraining.from_sources import pretrain as pretrain_base
    from adaptner.progress import progress_bar
    from adaptner.training.budget import Budget

    _check(seconds, start, vectors)
    prepare_process()
    if start is not None:
        start = base_folder(start)
    learner = make_method(method, config, {} if k is None else {"k": k}, encoder)
    check_encoder(learner, download=download, vectors=vectors, start=start)
    info("reading the corpora ...", quiet)
    corpora = [load_corpus(source) for source in sources]
    excluded = [load_corpus(source) for source in held_out or ()]
    with progress_bar(learner.title, quiet) as progress:
        base = pretrain_base(
            learner,
            corpora,
            Budget(iterations, seconds),
            output,
            vectors=vectors,
            start=start,
            second_encoder=second_encoder,
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


def _check(seconds: float | None, start: Path | None, vectors: Path | None) -> None:
    if seconds is not None and not seconds > 0:  # also refuses NaN
        raise UsageError(
            problem=f"--seconds {seconds}: not a positive time", remedy="give more seconds"
        )
    if start is not None and vectors is not None:
        raise UsageError(
            problem="--start and --vectors: the base of --start has its own vectors",
            remedy="leave out --vectors",
        )
