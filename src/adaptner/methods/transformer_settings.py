"""The settings behind ``--encoder NAME``: a pretrained transformer, HGDA*'s tag head, and their rates.

The rates of BiLSTMs would destroy a pretrained network. HGDA's rates (SGD at 1e-5 · √(K / 32)) are in
``reproduce/tables/recipes``. The rates here are for AdamW; those of adaptation were chosen on source
domains (docs/results/transformers.md), the others were not tuned.
"""

from __future__ import annotations

from typing import Any

from adaptner.errors import UsageError
from adaptner.methods.base import Method
from adaptner.nn.encoders.config import TransformerConfig
from adaptner.nn.encoders.transformer.pretrained import download_pretrained, find_folder

OUTER_RATE, INNER_RATE = 5e-5, 1e-3
ADAPTATION: dict[str, Any] = {
    "steps": 100,
    "optimiser": {"name": "adamw", "rate": 1e-3},
    "encoder_scale": 0.05,
}


def transformer_settings(kind: type[Method], name: str) -> dict[str, Any]:
    """Overrides of the method's configuration, without those that the method does not have.

    Raises UsageError if the method cannot use a transformer."""
    if "transformer" not in kind.capabilities.encoders:
        raise UsageError(
            problem=f"--encoder: {kind.name} needs a recurrent encoder and cannot use a transformer",
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
    """Check, before any work, that the method's transformer is installed, or download it.

    Raises UsageError for arguments that cannot be combined with a transformer."""
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
                problem=f"{option} cannot be used with a transformer, which has its own vectors",
                remedy=f"leave out {option} or the transformer",
            )
    if download:
        download_pretrained(encoder.name)
    find_folder(encoder.name)
