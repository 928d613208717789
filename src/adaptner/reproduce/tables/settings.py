"""Makes the method of a cell from its defaults or recipe, the settings of table, user and row, and K."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Mapping
from importlib import resources
from typing import Any

from adaptner.methods import method
from adaptner.methods.base import Method
from adaptner.methods.configuration import without_labels
from adaptner.methods.transformer_settings import transformer_settings
from adaptner.models.renamed_fields import current_settings
from adaptner.reproduce.tables.profiles import Profile
from adaptner.reproduce.tables.protocol import BERT, Protocol


def sgd(size: int) -> dict[str, Any]:
    """HGDA's appendix at adaptation, for encoder and decoder: SGD at the rate of eq. 3 for T' sentences.
    The paper gives no number of steps."""
    return {
        "encoder_scale": 1.0,
        "optimiser": {
            "name": "sgd",
            "rate": 1e-2 * math.sqrt(size / 32),
            "momentum": 0.9,
            "weight_decay": 1e-6,
            "clip": 5.0,
            "schedule": "linear",
        },
    }


# Named settings of adaptation, by the number of labelled sentences.
ADAPTATIONS: dict[str, Callable[[int], dict[str, Any]]] = {"sgd": sgd}


def method_for_cell(
    name: str,
    protocol: Protocol,
    profile: Profile,
    size: int | None,
    variant: str = "",
    target_settings: Mapping[str, Any] | None = None,
    encoder: str | None = None,
) -> Method:
    """Returns the method of a cell. Later settings override earlier ones.

    ``size`` is None if a share is drawn and 0 for zero-shot. ``target_settings`` apply to the targets
    of the cell only. ``encoder`` is the name of a transformer.
    """
    cell_method = method(name)()
    layers: list[Any]
    if encoder is not None:
        layers = [transformer_settings(type(cell_method), encoder), protocol.transformer]
        layers.append(protocol.transformer_by_method.get(name, {}))
        if profile.recipes:
            layers += [recipe(f"{name}-{BERT}"), {"encoder": {"name": encoder}}]
    else:
        layers = [recipe(name)] if profile.recipes else []
        layers.append(protocol.settings)
        if (
            profile.recipes
            and protocol.paper_adaptation
            and size
            and _has_trained_base(cell_method)
        ):
            layers.append({"adaptation": ADAPTATIONS[protocol.paper_adaptation](size)})
        if not profile.recipes:
            layers += [protocol.quick, protocol.quick_by_method.get(name, {})]
    layers += [current_settings(name, profile.settings), target_settings or {}]
    if variant:
        layers.append(protocol.variants[name][variant])
    if k := profile.k or size:
        layers.append({"k": k})
    for layer in layers:
        cell_method = type(cell_method)(cell_method.config, **layer)
    return without_labels(cell_method) if size == 0 else cell_method


def recipe(name: str) -> dict[str, Any]:
    """Returns the settings of the paper's run; empty if they are the defaults of the method."""
    file = resources.files("adaptner.reproduce.tables") / "recipes" / f"{name}.toml"
    return tomllib.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


def _has_trained_base(adapter: Method) -> bool:
    return method(adapter.base_method or adapter.name).trains_base


def learner_of(adapter: Method) -> Method:
    """Returns the method, with the same settings, that trains the base which ``adapter`` adapts."""
    settings = adapter.config.model_dump(mode="json", exclude={"adaptation"})
    return method(adapter.base_method or adapter.name)(**settings)
