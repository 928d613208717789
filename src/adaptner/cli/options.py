"""Options that several verbs share, and the groups in which `--help` lists options."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

Number = TypeVar("Number", int, float)


def argument(metavar: str, help: str) -> Any:
    return typer.Argument(metavar=metavar, help=help)


def _option(panel: str, declaration: str, help: str, **settings: Any) -> Any:
    """An option declared as `--help` shows it: its names and its metavar, "-o, --output FILE"."""
    words = declaration.split()
    names = [word.rstrip(",") for word in words if word.startswith("-")]
    metavar = None if words[-1].startswith("-") else words[-1]
    return typer.Option(*names, metavar=metavar, help=help, rich_help_panel=panel, **settings)


file = partial(_option, "Input and output")
adaptation = partial(_option, "Adaptation")
research = partial(_option, "Research")
machine = partial(_option, "Machine")

JsonFlag = Annotated[bool, file("--json", "Print the result as JSON.")]
QuietFlag = Annotated[bool, file("--quiet, -q", "Print errors only.")]
FormatFrom = Annotated[
    str | None,
    file(
        "--from FORMAT", "Format of the input: conll, jsonl or text.", show_default="by the ending"
    ),
]
ModelFolder = Annotated[Path, argument("MODEL", "Folder of a tagger, made by `adaptner adapt`.")]

# The maximum is the largest seed that all generators accept
seed = partial(machine, "--seed N", min=0, max=2**32 - 1)
Seed = Annotated[int, seed("Seed of the random numbers.")]
Jobs = Annotated[int, machine("--jobs N", "Number of worker processes (one thread each).", min=1)]
RayAddress = Annotated[
    str | None, machine("--ray ADDRESS", "Work on a Ray cluster instead: HOST:PORT, auto or local.")
]
DeviceName = Annotated[
    str, machine("--device NAME", "Device: auto (cuda, mps or cpu), cpu, cuda or mps.")
]
Resume = Annotated[
    bool, machine("--resume", "Continue an interrupted run from its last checkpoint.")
]

Sources = Annotated[
    list[str],
    file(
        "--sources FOLDER...", "Source corpora, each FOLDER or DOMAIN=FOLDER; several may follow."
    ),
]
BaseFolder = Annotated[
    Path | None, file("--base BASE", "A base: its folder or a name listed by `adaptner bases`.")
]
OwnNames = Annotated[
    list[str] | None,
    file("--terms LABEL=FILE", "Your own names for a label, beside those of the base; repeatable."),
]
KeepAll = Annotated[
    bool, file("--keep-all", "Use all names of --terms, ordinary words and numbers too.")
]
VectorsFile = Annotated[
    Path | None,
    file("--vectors FILE", "Word vectors: .safetensors, .npy + .vocab.txt, .vec, .txt or .bin."),
]
MethodName = Annotated[
    str | None, research("--method NAME", "A method listed by `adaptner methods`.")
]
ConfigFile = Annotated[
    Path | None, research("--config FILE", "TOML file with settings of the method.")
]
Encoder = Annotated[
    str | None,
    research(
        "--encoder NAME",
        "Pretrained transformer: minilm, a folder or a Hugging Face name (docs/transformers.md).",
    ),
]
Download = Annotated[
    bool, machine("--download", "Download the transformer from the Hugging Face hub.")
]
HeldOut = Annotated[
    list[str] | None,
    research("--held-out FOLDER...", "Corpora whose test sentences are removed from training."),
]
Iterations = Annotated[int, research("--iterations N", "Outer iterations of pretraining.", min=0)]
Limit = Annotated[
    int | None, research("--limit N", "Score only the first N test sentences.", min=1)
]
Draws = Annotated[int, research("--draws N", "Number of draws per size.", min=1)]

DrawsFromFlag = Annotated[
    str,
    research(
        "--draws-from KIND",
        "Draw from all sentences, or only from those with-entities (below 100 sentences).",
    ),
]

Texts = Annotated[
    list[Path], argument("TEXT...", "Text files (.txt, .gz, .xz) or folders of them.")
]
VectorsOutput = Annotated[Path, file("-o, --output FILE", "The .safetensors file to write.")]


def number_list(
    option: str,
    text: str,
    kind: type[Number],
    accepts: Callable[[Number], bool] = math.isfinite,
    description: str = "",
) -> list[Number]:
    """The comma-separated numbers of ``text``.

    Raises unless all of them are accepted and different; ``description`` says so in the message."""
    from adaptner.errors import UsageError

    description = description or f"different {'whole ' if kind is int else ''}numbers"

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
    description = "different positive whole numbers"
    return number_list("--sizes", text, int, lambda size: size > 0, description)
