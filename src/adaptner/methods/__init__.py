"""The published methods, one file or folder each, imported when asked for by name.

`base` defines what a method is, `families` has what several methods share.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from functools import cache
from types import ModuleType

from adaptner.methods.base import Method
from adaptner.registry import Registry

# Modules of this package that are not methods.
_SHARED = {"base", "configuration", "families", "pretrained_transformer", "transformer_settings"}


@cache
def _builtin() -> Mapping[str, str]:
    """The modules by name: ``metaner_zero.py`` is ``metaner-zero``."""
    modules = (module.name for module in pkgutil.iter_modules(__path__))
    return {name.replace("_", "-"): f"{__name__}.{name}" for name in modules if name not in _SHARED}


_METHODS = Registry("method", "adaptner.methods", _builtin)


def method(name: str) -> type[Method]:
    """The method of that name, whose module alone is imported. Raises UnknownName."""
    found = _METHODS.get(name)
    if isinstance(found, ModuleType):  # a built-in one: its only class
        found = next(
            value
            for value in vars(found).values()
            if isinstance(value, type)
            and value.__module__ == found.__name__
            and issubclass(value, Method)
        )
    kind: type[Method] = found
    return kind


def methods() -> dict[str, type[Method]]:
    """Every method by name, all imported."""
    return {name: method(name) for name in _METHODS.names()}
