"""Profiles of a run: ``quick`` for a first look within an hour, ``paper`` for the paper's protocol."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from adaptner.episodes import DrawsFrom
from adaptner.errors import UnknownName


@dataclass(frozen=True)
class Profile:
    """``k`` is the K of one base for all sizes; None means one base per size, with K = T'.

    ``recipes`` selects the settings of ``reproduce/tables/recipes`` instead of our defaults.
    ``limit`` is the maximum number of test sentences. ``settings`` come from the user and apply to
    all methods, after those of the table. ``seed`` is that of the first base and of the first draw;
    each of the ``bases`` is adapted to all draws.
    """

    name: str
    iterations: int
    draws: int
    limit: int | None
    k: int | None
    recipes: bool
    seed: int = 0
    bases: int = 1
    draws_from: DrawsFrom = "all"
    settings: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def changed(self, **fields: Any) -> Profile:
        """Returns the profile with ``fields`` that are not None. It is called ``custom`` if training
        or scoring differ, but not if only draws or bases do."""
        profile = replace(self, **{k: v for k, v in fields.items() if v is not None})
        same = all(
            getattr(profile, name) == getattr(self, name)
            for name in ("iterations", "limit", "settings")
        )
        return profile if same else replace(profile, name="custom")


PROFILES = {
    # 600 iterations at K = 10 take about four minutes on one core.
    "quick": Profile("quick", iterations=600, draws=5, limit=1500, k=10, recipes=False),
    # HGDA's appendix and MetaBioNER: 10,000 iterations, 20 draws, whole test sets.
    "paper": Profile("paper", iterations=10_000, draws=20, limit=None, k=None, recipes=True),
}


def profile_of(name: str) -> Profile:
    if name not in PROFILES:
        raise UnknownName.among(PROFILES, kind="profile", name=name)
    return PROFILES[name]
