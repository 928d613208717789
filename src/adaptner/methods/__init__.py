"""One file per published method. A file that defines a named ``Method`` is found by itself."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from adaptner.errors import UnknownName, nearest
from adaptner.methods.base import Method


@cache
def methods() -> dict[str, type[Method]]:
    """Every method by name."""
    found: dict[str, type[Method]] = {}
    for module in pkgutil.iter_modules(__path__):
        for value in vars(importlib.import_module(f"{__name__}.{module.name}")).values():
            if isinstance(value, type) and issubclass(value, Method) and hasattr(value, "name"):
                found[value.name] = value
    return dict(sorted(found.items()))


def method(name: str) -> type[Method]:
    known = methods()
    if name not in known:
        names = list(known)
        raise UnknownName(
            kind="method", name=name, near=nearest(name, names), known=", ".join(names)
        )
    return known[name]
