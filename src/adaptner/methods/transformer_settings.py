"""What ``--encoder NAME`` means for a method: a pretrained θ, HGDA*'s tag head, and rates for both.

The rates of BiLSTMs would wreck a pretrained network. HGDA's own (SGD at 1e-5 · √(K / 32)) are in
``reproduce/recipes``; these are AdamW's, chosen on source domains (docs/results/transformers.md).
"""

from __future__ import annotations

from typing import Any

from adaptner.methods.method import Method

OUTER_RATE, INNER_RATE = 5e-5, 1e-3
ADAPTATION: dict[str, Any] = {
    "steps": 100,
    "optimiser": {"name": "adamw", "rate": 1e-3},
    "encoder_scale": 0.1,
}


def transformer_settings(kind: type[Method], name: str) -> dict[str, Any]:
    """As overrides of the method's configuration; what it has no use for is left out."""
    settings: dict[str, Any] = {
        "encoder": {"kind": "transformer", "name": name},
        "tag_head": "softmax",
        "optimiser": {"name": "adamw", "rate": OUTER_RATE},
        "inner_rate": INNER_RATE,
        "adaptation": ADAPTATION,
    }
    return {field: value for field, value in settings.items() if field in kind.Config.model_fields}
