"""A second encoder stored in a base: fine-tuned on the source corpora, with one decoder per source
domain.

It is better than the encoder trained on raw text for the labels of the sources, and worse for others
(docs/methods/named.md). It has its own file, in half precision.
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
    """Round the parameters as saving does, so that taggers made before and after it are equal."""
    for parameter in model.parameters():
        parameter.copy_(parameter.half().float())
    return model


def content(model: TaggingModel) -> bytes:
    labels = [model.labels_of(number) for number in range(len(model.domains))]
    domains = [(name, s.labels, s.scheme) for name, s in zip(model.domains, labels, strict=True)]
    encoded = torch.frombuffer(bytearray(json.dumps(domains).encode()), dtype=torch.uint8)
    tensors = {n: t.detach().half().contiguous() for n, t in model.state_dict().items()}
    return save({**tensors, _DOMAINS: encoded})


def model_of(content: bytes, encoder: Encoder, batcher: Batcher, shape: ModelShape) -> TaggingModel:
    """``encoder`` is the base's first, which has the same shape and vectors."""
    tensors = load(content)
    entries = json.loads(bytes(tensors.pop(_DOMAINS).numpy()))
    domains = {name: LabelSet(tuple(labels), scheme) for name, labels, scheme in entries}
    second = restored_encoder(encoder.config, batcher, torch.Generator())
    model = TaggingModel(second, domains, torch.Generator(), shape)
    model.load_state_dict({n: t.float() for n, t in tensors.items()})
    return model
