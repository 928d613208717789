"""One file or folder per published method, found by its name and imported when it is asked for.

What methods of one family share is in ``families``; ``base`` says what a method is.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from functools import cache
from types import ModuleType

from adaptner.methods.base import Method
from adaptner.registry import Registry

# Modules of this folder that are no methods.
_SHARED = {"base", "configuration", "families", "pretrained_transformer", "transformer_settings"}


@cache
def _own() -> Mapping[str, str]:
    """``metaner_zero.py`` is ``metaner-zero``."""
    modules = (module.name for module in pkgutil.iter_modules(__path__))
    return {name.replace("_", "-"): f"{__name__}.{name}" for name in modules if name not in _SHARED}


_METHODS = Registry("method", "adaptner.methods", _own)


def method(name: str) -> type[Method]:
    """The method of that name; no other is imported."""
    found = _METHODS.get(name)
    if isinstance(found, ModuleType):  # one of ours: the one class that it gives a name
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
