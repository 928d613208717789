"""Options that several commands of ``adaptner vectors`` share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from adaptner.cli.options import file_option, machine_option, research_option

Texts = Annotated[
    list[Path],
    typer.Argument(metavar="TEXT...", help="Text files (.txt, .gz, .xz) or folders of them."),
]
VectorsOutput = Annotated[
    Path,
    file_option("-o", "--output", metavar="FILE", help="The .safetensors file to write."),
]
Width = Annotated[
    int, research_option(metavar="N", min=2, help="Numbers per word vector, an even number.")
]
Window = Annotated[
    int, research_option(metavar="N", min=1, help="Context words on each side of a word.")
]
MinCount = Annotated[
    int,
    research_option(
        "--min-count",
        metavar="N",
        min=1,
        help="Rarer words have only the vectors of their n-grams.",
    ),
]
NgramLengths = Annotated[
    str, research_option("--ngrams", metavar="A-B", help="Lengths of the character n-grams.")
]
Buckets = Annotated[
    int, research_option(metavar="N", min=1, help="Number of rows that the n-grams share.")
]
KeepCase = Annotated[
    bool,
    file_option("--keep-case", help="Distinguish Words from words instead of lower-casing."),
]
Tokenise = Annotated[
    bool,
    file_option("--tokenise", help="Tokenise the text, which otherwise has spaces between tokens."),
]
VectorSeed = Annotated[
    int,
    machine_option("--seed", metavar="N", min=0, max=2**31 - 1, help="Seed of the random numbers."),
]
