"""``adaptner tune``: steps and rates of fine-tuning, chosen on source domains."""

from __future__ import annotations

import json
import math
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adaptner.cli.common import SEEDS, JsonFlag, QuietFlag, emit_json, info, out, warn
from adaptner.cli.options import DeviceName

if TYPE_CHECKING:
    from adaptner.evaluation.tuning import Choice

ROWS = ".rows.jsonl"
OPENING = "# adaptner tune "  # by which a file of ours is known
NOT_OF_THE_RESULT = ("--resume", "--json", "--quiet", "-q")  # a resumed run gives the same file


def tune(
    sources: Annotated[
        list[str],
        typer.Option(
            help="Corpus folders, each DIR or DOMAIN=DIR; several may follow one --sources."
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="TOML file for --config; the rows go beside it."),
    ] = None,
    base: Annotated[
        Path | None,
        typer.Option(help="Store the choice in this base; its method and settings are tuned."),
    ] = None,
    method: Annotated[
        str | None, typer.Option(help="See `adaptner methods`; default: the base's, or hgda.")
    ] = None,
    play: Annotated[
        list[str] | None, typer.Option(help="A domain that plays the target; default: each.")
    ] = None,
    config: Annotated[
        Path | None, typer.Option(help="TOML file with the method's settings.")
    ] = None,
    iterations: Annotated[int, typer.Option(min=0, help="Of learning each base.")] = 1000,
    vectors: Annotated[
        Path | None,
        typer.Option(help="Word vectors: .safetensors, .npy + .vocab.txt, .vec, .txt or .bin."),
    ] = None,
    held_out: Annotated[
        list[str] | None,
        typer.Option("--held-out", help="Corpus whose test sentences must not be used here."),
    ] = None,
    sizes: Annotated[str, typer.Option(help="Sentences a draw, comma-separated.")] = "5,20,50",
    draws: Annotated[int, typer.Option(min=1, help="Draws a size.")] = 3,
    limit: Annotated[int, typer.Option(min=1, help="Score at most N dev sentences.")] = 400,
    rates: Annotated[str, typer.Option(help="Grid: rates of the decoder.")] = "0.03,0.1",
    encoder_scales: Annotated[
        str, typer.Option(help="Grid: the encoder's rate over the decoder's.")
    ] = "0.1",
    epochs: Annotated[str, typer.Option(help="Grid: times through the sentences.")] = "5,10,20",
    steps: Annotated[str, typer.Option(help="Grid: steps at least.")] = "20",
    seed: Annotated[
        int, typer.Option(min=0, max=SEEDS, help="Of the first draw, and of learning.")
    ] = 0,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with an interrupted run.")
    ] = False,
    device: DeviceName = "auto",
    as_json: JsonFlag = False,
    quiet: QuietFlag = False,
) -> None:
    """Choose steps and rates of fine-tuning on source domains.

    Each source domain in turn plays the target: a base is learnt from the others, and every
    setting of the grid is adapted to draws of its train split and scored on its dev split; no test
    split is read. The best mean F1 wins; within half a point, the fewest steps.

    An interrupted run goes on with --resume; the base it was at is learnt again.

    Example: adaptner tune --method hgda --sources drug/ gene/ species/ -o tuned.toml
    """
    from adaptner.compute import find_device, prepare_process
    from adaptner.corpora.corpus import load_corpus
    from adaptner.errors import UsageError
    from adaptner.evaluation import tuning
    from adaptner.evaluation.tuning.choice import refuse_other_method
    from adaptner.files import atomic_file
    from adaptner.methods.configuration import make_method, method_for_base
    from adaptner.models.base import Base
    from adaptner.progress import progress_bar
    from adaptner.vectors.word_vectors import read_vectors

    if resume and output is None:
        raise UsageError(problem="--resume: no rows to go on from", remedy="give the -o of the run")
    if output is not None:
        _refuse_foreign(output)
    grid = tuning.SearchGrid(
        rates=_numbers("--rates", rates, float),
        encoder_scales=_numbers("--encoder-scales", encoder_scales, float),
        epochs=_numbers("--epochs", epochs, int),
        steps=_numbers("--steps", steps, int),
    )
    wanted = _numbers("--sizes", sizes, int)
    if min(wanted) < 1:
        raise UsageError(
            problem=f"--sizes {sizes}: no sentence at all", remedy="write e.g. 5,20,50"
        )
    prepare_process()
    if base is None:
        chosen = make_method(method or "hgda", config)
    else:
        start = Base.load(base)
        refuse_other_method(start, method or start.method)
        chosen = method_for_base(None, start, config)
    info("reading the corpora ...", quiet)
    plan = tuning.TuningPlan(
        chosen,
        [load_corpus(spec) for spec in sources],
        grid,
        play or (),
        wanted,
        draws,
        limit,
        iterations,
        seed,
        None if vectors is None else read_vectors(vectors),
        [s for spec in held_out or () for s in load_corpus(spec).split("test")],
    )
    choice = tuning.tune(
        plan,
        None if output is None else output.with_suffix(ROWS),
        resume=resume,
        device=find_device(device),
        bars=lambda title: progress_bar(title, quiet),
        tell=lambda message: info(message, quiet),
    )
    if output is not None:
        with atomic_file(output) as file:
            file.write(_toml(choice, config))
    if base is not None:
        tuning.store(choice, base)
    lost = sum(result.diverged for result in choice.results)
    if lost:
        warn(f"{lost} of {len(choice.rows)} adaptations diverged and count as F1 0", quiet)
    if as_json:
        emit_json(_json(choice))
    else:
        out.print(_table(choice))
        info(_summary(choice), quiet)
        for kept in (output, base):
            if kept is not None:
                info(f"the choice is in {kept}", quiet)


def _numbers(option: str, text: str, kind: Callable[[str], Any]) -> list[Any]:
    from adaptner.errors import UsageError

    try:
        numbers = [kind(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if not numbers or not all(map(math.isfinite, numbers)) or len(set(numbers)) < len(numbers):
        what = "whole numbers" if kind is int else "numbers"
        raise UsageError(
            problem=f"{option} {text}: not a list of different {what}",
            remedy=f"part them by commas, e.g. {option} {'5,20' if kind is int else '0.03,0.1'}",
        )
    return numbers


def _refuse_foreign(output: Path) -> None:
    """Somebody's settings are not overwritten."""
    from adaptner.errors import OutputExists

    if output.exists():
        with open(output, "rb") as file:
            if not file.readline().startswith(OPENING.encode()):
                raise OutputExists(file=output, kind="written by `adaptner tune`")


# --- what is shown -------------------------------------------------------------------------------


def _cells(choice: Choice) -> tuple[list[str], list[list[str]]]:
    sizes = choice.plan.sizes
    header = ["", "rate", "scale", "epochs", "steps", *(f"F1@{n}" for n in sizes), "mean"]
    body = [
        [
            "*" if result is choice.chosen else "",
            f"{result.setting.rate:g}",
            f"{result.setting.encoder_scale:g}",
            str(result.setting.epochs),
            "/".join(str(result.steps[n]) for n in sizes),
            *(f"{result.by_size[n]:.4f}" for n in sizes),
            f"{result.mean:.4f}",
        ]
        for result in choice.results
    ]
    return header, body


def _table(choice: Choice):  # type: ignore[no-untyped-def]
    from rich.table import Table

    header, body = _cells(choice)
    sizes = "/".join(map(str, choice.plan.sizes))
    table = Table(caption=f"* chosen; scale: encoder's rate over decoder's; steps at {sizes}")
    for name in header:
        table.add_column(name, justify="right", no_wrap=True)
    for cells in body:
        table.add_row(*cells, style="bold green" if cells[0] else None)
    return table


def _summary(choice: Choice) -> str:
    plan, by_domain = choice.plan, choice.chosen.by_domain
    scored = ", ".join(f"{name} {f1:.4f}" for name, f1 in by_domain.items())
    return (
        f"{plan.method.name}, played targets: {scored}; {plan.draws} draw(s) a size, at most "
        f"{plan.limit} dev sentences, {plan.iterations} iterations, seed {plan.seed}"
    )


def _json(choice: Choice) -> dict[str, Any]:
    settings = [
        {
            **vars(result.setting),
            "steps_by_size": result.steps,
            "f1_by_size": result.by_size,
            "f1_by_domain": result.by_domain,
            "mean_f1": result.mean,
            "diverged": result.diverged,
            "chosen": result is choice.chosen,
        }
        for result in choice.results
    ]
    return {
        "method": choice.plan.method.name,
        "adaptation": choice.adaptation,
        "tuning": choice.facts(),
        "settings": settings,
        "rows": choice.rows,
    }


def _toml(choice: Choice, config: Path | None) -> str:
    """The settings of --config with the chosen adaptation, so that this file takes its place."""
    import tomllib

    words = [word for word in sys.argv[1:] if word not in NOT_OF_THE_RESULT]
    command = f"adaptner {shlex.join(words)}"
    given = {} if config is None else tomllib.loads(config.read_text(encoding="utf-8"))
    header, body = _cells(choice)
    widths = [max(map(len, column)) for column in zip(header, *body, strict=True)]
    rows = [
        "  ".join(cell.rjust(width) for cell, width in zip(cells, widths, strict=True))
        for cells in (header, *body)
    ]
    notes = ["Chosen by the procedure of docs/tuning.md (*).", _summary(choice), "", *rows]
    settings = _blocks({**given, "adaptation": choice.adaptation})
    return "\n".join([_commented(command.splitlines()), *settings, _commented(notes)])


def _commented(lines: list[str]) -> str:
    return "".join(f"# {line}".rstrip() + "\n" for line in lines)


def _blocks(table: dict[str, Any], name: str = "") -> list[str]:
    """``table`` as TOML, itself and each table in it; what is None is left out."""
    own = [f"[{name}]"] if name else []
    for key, value in table.items():
        if value is not None and not isinstance(value, dict):
            own.append(f"{key} = {_value(value)}")
    blocks = ["\n".join(own) + "\n"] if own else []
    for key, value in table.items():
        if isinstance(value, dict):
            blocks += _blocks(value, f"{name}.{key}" if name else key)
    return blocks


def _value(value: Any) -> str:
    if isinstance(value, bool | str):
        return json.dumps(value, ensure_ascii=False)  # JSON's are TOML's too
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    return repr(value)
