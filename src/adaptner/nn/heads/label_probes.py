"""Linear probes for label names: for each name, a direction in the encoder's state space.

``vectors/label_directions.py`` judges a word without its context; these probes judge a token in context.
They are trained on raw text (``nn/heads/label_name_head.py``) and saved with a base in a separate file.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import torch
from safetensors.torch import load, save
from torch import Tensor

from adaptner.vectors.label_directions import longest_known_suffix

BORDER_OUTSIDE, BORDER_BEGIN, BORDER_INSIDE = range(3)  # rows of the border scores
LABEL_PROBES_FILE = "names.safetensors"
_TENSORS = ("weight", "bias", "border_weight", "border_bias")
_NAMES = "names"


@dataclass(frozen=True, eq=False)
class LabelProbes:
    """The log odds that name i applies to a token with state s are weight[i] · s + bias[i].

    The scores of the borders (outside, begin, inside) are computed in the same way. All tensors are
    on the CPU."""

    names: tuple[str, ...]
    weight: Tensor  # (names, states)
    bias: Tensor  # (names,)
    border_weight: Tensor  # (3, states)
    border_bias: Tensor  # (3,)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_rows", {name: i for i, name in enumerate(self.names)})

    def row(self, label: str) -> int | None:
        return longest_known_suffix(label, self._rows)  # type: ignore[attr-defined]

    def content(self) -> bytes:
        """The bytes of a safetensors file, in half precision."""
        values = (self.weight, self.bias, self.border_weight, self.border_bias)
        tensors = dict(zip(_TENSORS, (t.half().contiguous() for t in values), strict=True))
        words = torch.frombuffer(bytearray(json.dumps(self.names).encode()), dtype=torch.uint8)
        return save({**tensors, _NAMES: words})

    @classmethod
    def of(cls, content: bytes) -> LabelProbes:
        tensors = load(content)
        names = json.loads(bytes(tensors[_NAMES].numpy()))
        weight, bias, *borders = (tensors[name].float() for name in _TENSORS)
        if weight.shape[:1] != bias.shape or len(names) != len(bias):
            raise ValueError(f"{len(names)} names for {len(weight)} directions")
        return cls(tuple(names), weight, bias, *borders)
