"""The base that is there without any data of the user's: trained once on the package's own corpora.

It stands in until a base trained on real corpora is shipped."""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path
from typing import Any

from adaptner.corpora.own import own_corpus
from adaptner.errors import AdaptnerError
from adaptner.methods import method
from adaptner.training.base import Base
from adaptner.training.budget import Budget
from adaptner.training.pretraining import pretrain
from adaptner.training.progress import Watch, silent

SOURCES = ("disease", "drug", "gene", "species")
ITERATIONS = 400
# A small encoder: there are 640 sentences to learn from.
SETTINGS: dict[str, Any] = {
    "k": 10,
    "encoder": {"word_width": 50, "hidden": 64},
}


def demo_base(watch: Watch = silent) -> Base:
    """From the cache, or trained now (about a minute) and put there."""
    corpora = [own_corpus(name) for name in SOURCES]
    chosen = method("hgda")(**SETTINGS)
    facts = [ITERATIONS, chosen.config.model_dump_json(), *(c.sha256 for c in corpora)]
    name = sha256(repr(facts).encode()).hexdigest()[:16]
    folder = cache_folder() / f"demo-base-{name}"
    try:
        return Base.load(folder)
    except AdaptnerError:
        return pretrain(chosen, corpora, Budget(ITERATIONS), folder, resume=True, watch=watch)


def cache_folder() -> Path:
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root) / "adaptner"
