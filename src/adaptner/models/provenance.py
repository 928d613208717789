"""Which data the parts of a base were trained on; methods decide by it what they may reuse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict


class Provenance(BaseModel):
    """The method that made a base, and where its encoder and its decoders come from."""

    model_config = ConfigDict(frozen=True)

    method: str = "named"
    sources: tuple[str, ...] = ()  # domains that this method was trained on
    encoder_from: Literal["raw text", "sources"] = "raw text"
    decoders_from: Literal["sources", "none"] = "none"
    parent: Provenance | None = None  # of the base that training started from

    @classmethod
    def trained(
        cls, method: str, sources: Sequence[str], parent: Provenance | None = None
    ) -> Provenance:
        """Of a base whose encoder and decoders were trained on ``sources``, if there are any."""
        return cls(
            method=method,
            sources=tuple(sources),
            encoder_from="sources" if sources else "raw text",
            decoders_from="sources" if sources else "none",
            parent=parent,
        )

    def keeping_encoder(self) -> Provenance:
        """The same for a method that changed nothing of its parent's encoder."""
        if self.parent is None:
            return self
        return self.model_copy(update={"encoder_from": self.parent.encoder_from})

    @classmethod
    def of_facts(cls, method: str, facts: Mapping[str, Any]) -> Provenance:
        """Read from the facts of a manifest that was written before it held a provenance."""
        start = facts.get("start")
        parent = None if start is None else cls.of_facts(start["method"], start)
        found = cls.trained(method, [s["domain"] for s in facts.get("sources", ())], parent)
        return found.keeping_encoder() if method == "named" else found
