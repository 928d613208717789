"""A base used without adaptation, which needs a target with the sources' labels."""

from __future__ import annotations

import copy
from collections.abc import Sequence

from adaptner.errors import HeterogeneousTarget
from adaptner.models.base import Base
from adaptner.models.tagger import Tagger
from adaptner.types import LabelSet, Sentence


def use_base_unchanged(
    base: Base, support: Sequence[Sentence], method: str, *, labels: LabelSet | None = None
) -> Tagger:
    """A tagger with the base's encoder and its one decoder of all domains.

    ``support`` only tells which labels are wanted. Raises HeterogeneousTarget if the base has several
    decoders or does not know all wanted labels."""
    wanted = base.labels.with_labels(
        (*(labels.labels if labels else ()), *LabelSet.of(support).labels)
    )
    if not base.model.shape.shared or not base.labels.includes(wanted):
        raise HeterogeneousTarget(
            method=method,
            target=", ".join(wanted.labels) or "none",
            known=", ".join(base.labels.labels),
            reason="does not know all of them"
            if base.model.shape.shared
            else "has a decoder for each of its domains",
        )
    facts = {"steps": 0, "sentences": 0, "seed": 0, "base": base.method}
    encoder, decoder = copy.deepcopy((base.model.encoder, base.model.decoder_of(0)))
    return Tagger(encoder, decoder, base.batcher, base.method, facts, base.folder)
