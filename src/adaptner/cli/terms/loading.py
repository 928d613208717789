"""The compiled file that the verbs of ``adaptner terms`` read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from adaptner.cli import options

if TYPE_CHECKING:
    from adaptner.terms.compiled import CompiledTerms

TermsFile = Annotated[
    Path | None,
    options.file(
        "--terms FILE", "A file of `adaptner terms build`.", show_default="that of the default base"
    ),
]


def load_terms(file: Path | None) -> CompiledTerms:
    """The compiled terminologies of ``file``, or of the default base; raises BaseWithoutTerms."""
    from adaptner.errors import BaseWithoutTerms
    from adaptner.terms.compiled import CompiledTerms

    if file is None:
        from adaptner.models.installed import DEFAULT, base_folder
        from adaptner.models.terms import TERMS_FILE

        folder = base_folder(DEFAULT)
        file = folder / TERMS_FILE
        if not file.exists():
            raise BaseWithoutTerms(file=folder)
    return CompiledTerms.load(file)
