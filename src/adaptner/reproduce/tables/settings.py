"""What a method is told in a run: its defaults or recipe, the table's settings, the user's, a row's own,
the profile's K."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib import resources
from typing import Any

from adaptner.methods import method
from adaptner.methods.base import Method
from adaptner.methods.configuration import without_labels
from adaptner.methods.transformer_settings import transformer_settings
from adaptner.models.renamed_fields import current_settings
from adaptner.reproduce.tables.profiles import Profile
from adaptner.reproduce.tables.protocol import BERT, Protocol


def method_for_cell(
    name: str,
    protocol: Protocol,
    profile: Profile,
    size: int | None,
    variant: str = "",
    own: Mapping[str, Any] | None = None,
    encoder: str | None = None,
) -> Method:
    """The method as it runs in a cell; ``size`` is None where a share is drawn, 0 where no labelled
    sentence is. ``own`` are settings for the targets of the cell; ``encoder``: the transformer to
    learn with."""
    found = method(name)()
    layers: list[Any]
    if encoder is not None:
        layers = [transformer_settings(type(found), encoder), protocol.transformer]
        layers.append(protocol.transformer_own.get(name, {}))
        if profile.recipes:
            layers += [recipe(f"{name}-{BERT}"), {"encoder": {"name": encoder}}]
    else:
        layers = [recipe(name)] if profile.recipes else []
        layers.append(protocol.settings)
        if not profile.recipes:
            layers += [protocol.quick, protocol.quick_own.get(name, {})]
    layers += [current_settings(name, profile.settings), own or {}]
    if variant:
        layers.append(protocol.variants[name][variant])
    if k := profile.k or size:
        layers.append({"k": k})
    for layer in layers:
        found = type(found)(found.config, **layer)
    return without_labels(found) if size == 0 else found


def recipe(name: str) -> dict[str, Any]:
    """The settings of the paper's run; a method without a recipe has them as its defaults."""
    file = resources.files("adaptner.reproduce.tables") / "recipes" / f"{name}.toml"
    return tomllib.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


def learner_of(chosen: Method) -> Method:
    """The method that learns the base which ``chosen`` adapts, told the same about learning."""
    told = chosen.config.model_dump(mode="json", exclude={"adaptation"})
    return method(chosen.base_method or chosen.name)(**told)
