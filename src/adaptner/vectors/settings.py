"""The settings and checks that both ways of making word vectors share."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from adaptner.errors import ExtraMissing, UsageError
from adaptner.vectors.subword_file import ENDING


class VectorSettings(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    width: int = Field(
        200,
        ge=2,
        multiple_of=2,
        description="Dimensions of a vector; even, because two share a byte.",
    )
    window: int = Field(5, ge=1, description="Context words on each side.")
    least: int = Field(5, ge=1, description="Occurrences that a word needs for its own vector.")
    min_gram: int = Field(4, ge=1, description="Characters of the shortest n-grams.")
    max_gram: int = Field(5, ge=1, description="Characters of the longest n-grams.")
    buckets: int = Field(100_000, ge=1, description="Rows shared by the n-grams.")
    seed: int = Field(0, ge=0, lt=2**31, description="Random seed of the computation.")
    lower: bool = Field(True, description="Lower-case the text.")


class WalkSettings(BaseModel):
    """Ten walks of 20 steps from each of MeSH's 30,764 headings are 17.8 million words."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    per_heading: int = Field(10, ge=1, description="Walks that start at each heading.")
    steps: int = Field(20, ge=0, description="Steps of a walk after its start.")


def check_call(verb: str, package: str, output: Path) -> None:
    """Raise ExtraMissing if ``package`` is not installed and UsageError for a bad output file."""
    if find_spec(package) is None:
        raise ExtraMissing(what=f"vectors {verb}", package=package, extra="vectors")
    if output.suffix != ENDING or output.is_dir():
        problem = f"-o {output}: not a file name ending in {ENDING}"
        raise UsageError(problem=problem, remedy=f"for example: -o {output.stem}{ENDING}")
