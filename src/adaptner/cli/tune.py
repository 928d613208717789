"""``adaptner tune``: choose steps and rates of fine-tuning on source domains."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from adaptner.cli import options
from adaptner.cli.common import info
from adaptner.errors import UsageError

if TYPE_CHECKING:
    from adaptner.methods.base import Method

ROWS = ".rows.jsonl"


def tune(
    sources: options.Sources,
    output: Annotated[
        Path | None,
        options.file(
            "-o, --output FILE",
            f"TOML file for --config; the records of all trials go to a {ROWS} file next to it.",
        ),
    ] = None,
    base: Annotated[
        Path | None,
        options.file("--base FOLDER", "Tune the method of this base and store the choice in it."),
    ] = None,
    vectors: options.VectorsFile = None,
    as_json: options.JsonFlag = False,
    quiet: options.QuietFlag = False,
    method: options.MethodName = None,
    config: options.ConfigFile = None,
    validate_on: Annotated[
        list[str] | None,
        options.research(
            "--validate-on DOMAIN...", "Source domains to validate on.", show_default="each in turn"
        ),
    ] = None,
    held_out: options.HeldOut = None,
    iterations: options.Iterations = 1000,
    sizes: Annotated[
        str, options.research("--sizes N,N,...", "Numbers of sentences to draw.")
    ] = "5,20,50",
    draws: options.Draws = 3,
    draws_from: options.DrawsFromFlag = "all",
    limit: Annotated[
        int, options.research("--limit N", "Maximum number of dev sentences to score.", min=1)
    ] = 400,
    rates: Annotated[
        str, options.research("--rates X,X,...", "Search grid: learning rates of the decoder.")
    ] = "0.03,0.1",
    encoder_scales: Annotated[
        str,
        options.research(
            "--encoder-scales X,X,...",
            "Search grid: rate of the encoder relative to the decoder's.",
        ),
    ] = "0.1",
    epochs: Annotated[
        str, options.research("--epochs N,N,...", "Search grid: epochs over the sentences.")
    ] = "5,10,20",
    steps: Annotated[
        str, options.research("--steps N,N,...", "Search grid: minimum number of steps.")
    ] = "20",
    device: options.DeviceName = "auto",
    seed: options.Seed = 0,
    resume: options.Resume = False,
) -> None:
    """Choose the steps and learning rates of adaptation on source domains.

    Each source domain in turn is the validation domain: a base is pretrained on the others, and
    every setting of the grid is adapted to draws of the domain's train split and scored on its dev
    split. No test split is read. The best mean F1 wins; among settings within half a point of it,
    the one with the fewest steps.

    Example: adaptner tune --method hgda --sources drug/ gene/ species/ -o tuned.toml
    """
    from adaptner.cli.tune_output import check_output, report, write_toml
    from adaptner.compute import find_device, prepare_process
    from adaptner.corpora.corpus import load_corpus
    from adaptner.episodes import check_draws
    from adaptner.evaluation import tuning
    from adaptner.progress import progress_bar
    from adaptner.vectors.word_vectors import read_vectors

    if resume and output is None:
        raise UsageError(
            problem="--resume: no records to continue", remedy="give the -o of the run"
        )
    check_output(output)
    grid = tuning.SearchGrid(
        rates=options.number_list("--rates", rates, float),
        encoder_scales=options.number_list("--encoder-scales", encoder_scales, float),
        epochs=options.number_list("--epochs", epochs, int),
        steps=options.number_list("--steps", steps, int),
    )
    counts = options.size_list(sizes)
    kind = check_draws(draws_from, counts)
    prepare_process()
    learner = _make_method(method, base, config)
    info("reading the corpora ...", quiet)
    plan = tuning.TuningPlan(
        learner,
        [load_corpus(source) for source in sources],
        grid,
        validate_on or (),
        counts,
        draws,
        limit,
        iterations,
        seed,
        None if vectors is None else read_vectors(vectors),
        [s for corpus in held_out or () for s in load_corpus(corpus).split("test")],
        kind,
    )
    choice = tuning.tune(
        plan,
        None if output is None else output.with_suffix(ROWS),
        resume=resume,
        device=find_device(device),
        bars=lambda title: progress_bar(title, quiet),
        tell=lambda message: info(message, quiet),
    )
    write_toml(choice, output, config)
    if base is not None:
        tuning.store(choice, base)
    report(choice, as_json, quiet)
    for path in (output, base):
        if path is not None:
            info(f"the choice is in {path}", quiet or as_json)


def _make_method(name: str | None, base: Path | None, config: Path | None) -> Method:
    from adaptner.evaluation.tuning.choice import refuse_other_method
    from adaptner.methods.configuration import make_method, method_for_base
    from adaptner.models.base import Base

    if base is None:
        return make_method(name or "hgda", config)
    start = Base.load(base)
    refuse_other_method(start, name or start.method)
    return method_for_base(None, start, config)
