"""A method with its settings: the paper's values, then a TOML file, then the command line."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from adaptner.errors import BadConfiguration, FileMissing
from adaptner.methods import method as find_method
from adaptner.methods.method import Method


def configured(
    name: str, file: Path | None = None, overrides: dict[str, Any] | None = None
) -> Method:
    """Refused before any training starts if a setting is unknown or out of range."""
    settings: dict[str, Any] = {}
    if file is not None:
        if not file.is_file():
            raise FileMissing(file=file, hint="--config takes a TOML file")
        try:
            settings = tomllib.loads(file.read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise BadConfiguration(file=file, field="TOML", reason=str(error)) from error
    try:
        return find_method(name)(**{**settings, **(overrides or {})})
    except BadConfiguration as error:
        if str(error.facts["field"]).partition(".")[0] in settings:
            raise BadConfiguration(file=file, line=None, **error.facts) from error
        raise
