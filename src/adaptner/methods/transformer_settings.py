"""What ``--encoder NAME`` means for a method: a pretrained θ, HGDA*'s tag head, and rates for both.

The rates of BiLSTMs would wreck a pretrained network. HGDA's own (SGD at 1e-5 · √(K / 32)) are in
``reproduce/tables/recipes``; these are AdamW's, those of adaptation chosen on source domains
(docs/results/transformers.md), the others not tuned.
"""

from __future__ import annotations

from typing import Any

from adaptner.errors import UsageError
from adaptner.methods.base import Method
from adaptner.nn.encoders.transformer.encoder import TransformerConfig
from adaptner.nn.encoders.transformer.pretrained import download_pretrained, find_folder

OUTER_RATE, INNER_RATE = 5e-5, 1e-3
ADAPTATION: dict[str, Any] = {
    "steps": 100,
    "optimiser": {"name": "adamw", "rate": 1e-3},
    "encoder_scale": 0.05,
}


def transformer_settings(kind: type[Method], name: str) -> dict[str, Any]:
    """As overrides of the method's configuration; what it has no use for is left out."""
    if "transformer" not in kind.capabilities.encoders:
        raise UsageError(
            problem=f"--encoder: {kind.name} is made for a recurrent encoder and takes no transformer",
            remedy="leave out --encoder, or name another method",
        )
    settings: dict[str, Any] = {
        "encoder": {"kind": "transformer", "name": name},
        "tag_head": "softmax" if "softmax" in kind.capabilities.decoders else "crf",
        "optimiser": {"name": "adamw", "rate": OUTER_RATE},
        "inner_rate": INNER_RATE,
        "adaptation": ADAPTATION,
    }
    return {field: value for field, value in settings.items() if field in kind.Config.model_fields}


def check_encoder(
    method: Method, *, download: bool = False, vectors: object = None, start: object = None
) -> None:
    """Before any work: a transformer that is not here is refused or, if that is asked for, fetched;
    so is what has no use beside one."""
    encoder = getattr(method.config, "encoder", None)
    if not isinstance(encoder, TransformerConfig):
        if download:
            raise UsageError(
                problem="--download: no transformer is named", remedy="name it with --encoder"
            )
        return
    for option, given in (("--vectors", vectors), ("--start", start)):
        if given is not None:
            raise UsageError(
                problem=f"{option} has no use with a transformer, which has vectors of its own",
                remedy=f"leave out {option}, or the transformer",
            )
    if download:
        download_pretrained(encoder.name)
    find_folder(encoder.name)
