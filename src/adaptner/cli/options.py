"""Options that several verbs share, and the groups in which `--help` lists options."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, TypeVar

import typer

Number = TypeVar("Number", int, float)

SEEDS = 2**32 - 1  # the largest seed that all generators accept

file_option = partial(typer.Option, rich_help_panel="Input and output")
adaptation_option = partial(typer.Option, rich_help_panel="Adaptation")
research_option = partial(typer.Option, rich_help_panel="Research")
machine_option = partial(typer.Option, rich_help_panel="Machine")

JsonFlag = Annotated[bool, file_option("--json", help="Print the result as JSON.")]
QuietFlag = Annotated[bool, file_option("--quiet", "-q", help="Print errors only.")]
FormatFrom = Annotated[
    str | None,
    file_option(
        "--from",
        metavar="FORMAT",
        show_default="by the ending",
        help="Format of the input: conll, jsonl or text.",
    ),
]
ModelFolder = Annotated[
    Path, typer.Argument(metavar="MODEL", help="Folder of a tagger, made by `adaptner adapt`.")
]

Seed = Annotated[
    int, machine_option(metavar="N", min=0, max=SEEDS, help="Seed of the random numbers.")
]
Jobs = Annotated[
    int, machine_option(metavar="N", min=1, help="Number of worker processes (one thread each).")
]
RayAddress = Annotated[
    str | None,
    machine_option(
        metavar="ADDRESS", help="Work on a Ray cluster instead: HOST:PORT, auto or local."
    ),
]
DeviceName = Annotated[
    str,
    machine_option(metavar="NAME", help="Device: auto (cuda, mps or cpu), cpu, cuda or mps."),
]
Resume = Annotated[
    bool, machine_option("--resume", help="Continue an interrupted run from its last checkpoint.")
]

Sources = Annotated[
    list[str],
    file_option(
        metavar="FOLDER...",
        help="Source corpora, each FOLDER or DOMAIN=FOLDER; several may follow.",
    ),
]
BaseFolder = Annotated[
    Path | None,
    file_option(metavar="BASE", help="A base: its folder or a name listed by `adaptner bases`."),
]
VectorsFile = Annotated[
    Path | None,
    file_option(
        metavar="FILE", help="Word vectors: .safetensors, .npy + .vocab.txt, .vec, .txt or .bin."
    ),
]
MethodName = Annotated[
    str | None, research_option(metavar="NAME", help="A method listed by `adaptner methods`.")
]
ConfigFile = Annotated[
    Path | None, research_option(metavar="FILE", help="TOML file with settings of the method.")
]
Encoder = Annotated[
    str | None,
    research_option(
        metavar="NAME",
        help="Pretrained transformer: minilm, a folder or a Hugging Face name "
        "(docs/transformers.md).",
    ),
]
Download = Annotated[
    bool,
    machine_option("--download", help="Download the transformer from the Hugging Face hub."),
]
HeldOut = Annotated[
    list[str] | None,
    research_option(
        "--held-out",
        metavar="FOLDER...",
        help="Corpora whose test sentences are removed from the sources.",
    ),
]
Iterations = Annotated[
    int, research_option(metavar="N", min=0, help="Outer iterations of pretraining.")
]
Limit = Annotated[
    int | None,
    research_option(metavar="N", min=1, help="Score only the first N test sentences."),
]
Draws = Annotated[int, research_option(metavar="N", min=1, help="Number of draws per size.")]


def number_list(
    option: str,
    text: str,
    kind: type[Number],
    accepts: Callable[[Number], bool] = math.isfinite,
    description: str = "different numbers",
) -> list[Number]:
    """The comma-separated numbers of ``text``.

    Raises unless all of them are accepted and different; ``description`` says so in the message."""
    from adaptner.errors import UsageError

    try:
        numbers = [kind(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if not numbers or not all(map(accepts, numbers)) or len(set(numbers)) < len(numbers):
        raise UsageError(
            problem=f"{option} {text}: not a list of {description}",
            remedy=f"separate them by commas, e.g. {option} {'5,20' if kind is int else '0.03,0.1'}",
        )
    return numbers


def size_list(text: str) -> list[int]:
    """The numbers of sentences of ``--sizes``."""
    return number_list(
        "--sizes", text, int, lambda size: size > 0, "different positive whole numbers"
    )
