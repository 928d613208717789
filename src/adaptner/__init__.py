"""adaptner: named-entity recognition from five to fifty labelled sentences.

>>> import adaptner as an
>>> tagger = an.adapt("sentences.jsonl", base="my-base")      # doctest: +SKIP
>>> tagger.predict(["HeLa cells were grown overnight."])      # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from adaptner.version import __version__ as __version__

__all__ = ["Entity", "Sentence", "Tagger", "adapt", "load", "read", "suggest", "tagger"]

if TYPE_CHECKING:
    from adaptner.api import Tagger, adapt, load, read, suggest, tagger
    from adaptner.types import Entity, Sentence


def __getattr__(name: str) -> Any:
    # Imported on first use, so that `adaptner --help` does not wait for torch.
    if name not in __all__:
        raise AttributeError(f"module 'adaptner' has no attribute {name!r}")
    from importlib import import_module

    module = "adaptner.types" if name in ("Entity", "Sentence") else "adaptner.api"
    return getattr(import_module(module), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
