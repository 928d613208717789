"""Names of objects that are imported only when somebody asks for them.

Names may point upwards in the layers, imports may not: a saved model that says ``recurrent =
"cells-9"`` reaches a part of the method Multi-Cell although ``nn`` knows no method.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from adaptner.errors import UnknownName, did_you_mean


class Registry:
    """Built-in names and, after them, those that other packages declare as entry points."""

    def __init__(self, kind: str, group: str, builtin: Callable[[], Mapping[str, str]]) -> None:
        """``builtin`` gives for each name ``module:attribute`` or a module; ``group`` names the entry points."""
        self.kind, self.group, self._builtin = kind, group, builtin

    def names(self) -> list[str]:
        return sorted({*self._builtin(), *(point.name for point in entry_points(group=self.group))})

    def get(self, name: str) -> Any:
        """The object of that name; only its own module is imported."""
        builtin = self._builtin()
        if name in builtin:
            return load(builtin[name])
        for point in entry_points(group=self.group, name=name):
            return point.load()
        names = self.names()
        raise UnknownName(
            kind=self.kind, name=name, near=did_you_mean(name, names), known=", ".join(names)
        )


def load(reference: str) -> Any:
    """The object behind ``module:attribute``, or the module itself."""
    module, _, attribute = reference.partition(":")
    found = import_module(module)
    return getattr(found, attribute) if attribute else found
