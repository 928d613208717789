"""adaptner: named-entity recognition from five to fifty labelled sentences.

>>> import adaptner as an
>>> tagger = an.adapt("sentences.jsonl", base="my-base")      # doctest: +SKIP
>>> tagger.predict(["HeLa cells were grown overnight."])      # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from adaptner.version import __version__ as __version__

__all__ = ["Entity", "Sentence", "Tagger", "adapt", "load", "read", "suggest"]

if TYPE_CHECKING:
    from adaptner.api import Tagger, adapt, load, read, suggest
    from adaptner.types import Entity, Sentence


def __getattr__(name: str) -> Any:
    # torch is loaded when it is needed, not when the package is named: --help must answer at once
    if name not in __all__:
        raise AttributeError(f"module 'adaptner' has no attribute {name!r}")
    from importlib import import_module

    home = "adaptner.types" if name in ("Entity", "Sentence") else "adaptner.api"
    return getattr(import_module(home), name)
