"""A second θ in a base: tuned on its sources, with a φ for each of their domains.

For what the sources teach it is better than the θ of raw text; of a new type it knows less, so both are
kept (docs/methods/named.md). In a file of its own, in half precision.
"""

from __future__ import annotations

import json

import torch
from safetensors.torch import load, save

from adaptner.nn.batching.batch import Batcher
from adaptner.nn.encoders.base import Encoder
from adaptner.nn.encoders.registry import restored_encoder
from adaptner.nn.model import ModelShape, TaggingModel
from adaptner.types import LabelSet

FILE = "taught.safetensors"
_DOMAINS = "domains"


@torch.no_grad()
def rounded(model: TaggingModel) -> TaggingModel:
    """As it will be read again: taggers made before and after saving are the same."""
    for parameter in model.parameters():
        parameter.copy_(parameter.half().float())
    return model


def content(model: TaggingModel) -> bytes:
    labels = [model.labels_of(number) for number in range(len(model.domains))]
    told = [(name, own.labels, own.scheme) for name, own in zip(model.domains, labels, strict=True)]
    words = torch.frombuffer(bytearray(json.dumps(told).encode()), dtype=torch.uint8)
    tensors = {n: t.detach().half().contiguous() for n, t in model.state_dict().items()}
    return save({**tensors, _DOMAINS: words})


def model_of(content: bytes, encoder: Encoder, batcher: Batcher, shape: ModelShape) -> TaggingModel:
    """``encoder`` is the base's other: both have one shape and read the same vectors."""
    tensors = load(content)
    told = json.loads(bytes(tensors.pop(_DOMAINS).numpy()))
    domains = {name: LabelSet(tuple(labels), scheme) for name, labels, scheme in told}
    own = restored_encoder(encoder.config, batcher, torch.Generator())
    model = TaggingModel(own, domains, torch.Generator(), shape)
    model.load_state_dict({n: t.float() for n, t in tensors.items()})
    return model
