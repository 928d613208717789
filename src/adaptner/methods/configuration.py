"""Makes methods: the paper's settings, overridden by a TOML file, overridden by arguments."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from adaptner.adaptation.fine_tune import FineTuneConfig
from adaptner.errors import BadConfiguration, FileMissing, InvalidToml, UsageError
from adaptner.methods import method as find_method
from adaptner.methods import methods
from adaptner.methods.base import Method
from adaptner.models.base import Base
from adaptner.models.renamed_fields import current_settings


def make_method(
    name: str,
    file: Path | None = None,
    overrides: dict[str, Any] | None = None,
    encoder: str | None = None,
) -> Method:
    """Make a method. ``encoder`` is a transformer, with settings for one, unless the file names
    another. Raises BadConfiguration if a setting is unknown or out of range."""
    kind = find_method(name)
    settings = {}
    if encoder is not None:
        from adaptner.methods.transformer_settings import transformer_settings

        settings = transformer_settings(kind, encoder)
    return _overridden(kind(**settings), file, overrides or {})


def method_for_base(name: str | None, base: Base, file: Path | None = None) -> Method:
    """Make the method that adapts ``base``: the base's own if ``name`` is None, or another.

    The base's own method has all settings of the base. Another takes over only the adaptation settings
    that all methods have (steps, batch, rates, ...). The file overrides either.
    """
    kind = find_method(base.method if name is None else name)
    if kind.name == base.method:
        return _overridden(kind(**base.config), file, {})
    of_base = base.config.get("adaptation", {})
    fields = type(kind().config.adaptation).model_fields
    common = {
        name: of_base[name]
        for name, field in FineTuneConfig.model_fields.items()
        # A method that restricts a field, because it has no decoder to freeze, say, keeps its own.
        if name in of_base and fields[name].annotation == field.annotation
    }
    return _overridden(kind(adaptation=common), file, {})


def without_labels(chosen: Method) -> Method:
    """The method in its zero-shot form. Raises UsageError if it has none."""
    if not chosen.capabilities.zero_shot:
        able = ", ".join(name for name, kind in methods().items() if kind.capabilities.zero_shot)
        raise UsageError(
            problem=f"{chosen.name} needs labelled sentences of the target",
            remedy=f"give them instead of --zero-shot, or name one of these with --method: {able}",
        )
    field = type(chosen.config.adaptation).model_fields.get("zero_shot")
    if field is None or field.annotation is not bool:
        return chosen  # it never reads labelled sentences
    return type(chosen)(chosen.config, adaptation={"zero_shot": True})


def _overridden(start: Method, file: Path | None, overrides: dict[str, Any]) -> Method:
    settings = {} if file is None else current_settings(start.name, read_settings(file))
    for name in settings.keys() - start.Config.model_fields.keys():
        raise BadConfiguration(file=file, field=name, reason=f"{start.name} has no such setting")
    try:
        return type(start)(start.config, **{**settings, **overrides})
    except BadConfiguration as error:
        if str(error.facts["field"]).partition(".")[0] in settings:
            raise BadConfiguration(file=file, line=None, **error.facts) from error
        raise


def read_settings(file: Path) -> dict[str, Any]:
    if not file.is_file():
        raise FileMissing(file=file, hint="--config takes a TOML file")
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidToml(file=file, field="TOML", reason=str(error)) from error
