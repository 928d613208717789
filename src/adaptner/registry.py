"""Finds objects by name and imports them only when asked for.

A lower layer can thus use a higher one without importing it: the setting ``recurrent = "cells-9"`` of a
saved model loads a part of the method Multi-Cell, although ``nn`` imports no method.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from adaptner.errors import UnknownName


class Registry:
    """Names that are built in, followed by those of the entry points of other packages."""

    def __init__(self, kind: str, group: str, builtin: Callable[[], Mapping[str, str]]) -> None:
        """``builtin`` returns ``module:attribute`` or a module for each name; ``group`` is that of the
        entry points."""
        self.kind, self.group, self._builtin = kind, group, builtin

    def names(self) -> list[str]:
        return sorted({*self._builtin(), *(point.name for point in entry_points(group=self.group))})

    def get(self, name: str) -> Any:
        """Return the object of that name, importing only its module. Raises UnknownName."""
        builtin = self._builtin()
        if name in builtin:
            return load(builtin[name])
        for point in entry_points(group=self.group, name=name):
            return point.load()
        raise UnknownName.among(self.names(), kind=self.kind, name=name)


def load(reference: str) -> Any:
    """Import ``module:attribute`` or a module."""
    module, _, attribute = reference.partition(":")
    found = import_module(module)
    return getattr(found, attribute) if attribute else found
