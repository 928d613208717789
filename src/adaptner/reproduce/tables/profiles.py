"""How much a run may cost: ``quick`` for a look within the hour, ``paper`` to the letter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from adaptner.errors import UnknownName, did_you_mean


@dataclass(frozen=True)
class Profile:
    """``k``: one base at that K serves all sizes; None: one base a size, with K = T'. ``recipes``:
    settings of ``reproduce/tables/recipes`` where a method has one, else our defaults. ``limit``: so many
    test sentences at most. ``settings``: the user's, for every method, on top of the table's."""

    name: str
    iterations: int
    draws: int
    limit: int | None
    k: int | None
    recipes: bool
    seed: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def changed(self, **given: Any) -> Profile:
        """With what the user asked for. One that learns or scores otherwise is ``custom``; fewer or
        other draws of the same thing are not."""
        told = {name: value for name, value in given.items() if value is not None}
        found = replace(self, **told)
        kept = ("iterations", "limit", "settings")
        same = all(getattr(found, name) == getattr(self, name) for name in kept)
        return found if same else replace(found, name="custom")


PROFILES = {
    # 600 iterations at K = 10 take about four minutes on one core.
    "quick": Profile("quick", iterations=600, draws=5, limit=1500, k=10, recipes=False),
    # HGDA's appendix; MetaBioNER: 10,000 iterations; 20 draws, whole test sets (rulings).
    "paper": Profile("paper", iterations=10_000, draws=20, limit=None, k=None, recipes=True),
}


def profile_of(name: str) -> Profile:
    if name not in PROFILES:
        known = list(PROFILES)
        raise UnknownName(
            kind="profile", name=name, near=did_you_mean(name, known), known=", ".join(known)
        )
    return PROFILES[name]
