"""Where φ starts at adaptation (ruling: Decoders; docs/results/adaptation.md)."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from adaptner.models.base import Base
from adaptner.nn.decoders.crf import CRF
from adaptner.nn.decoders.softmax_tags import SoftmaxDecoder
from adaptner.nn.model import TAG_DECODERS, TagDecoder
from adaptner.types import LabelSet

# fresh: noise, as in the papers; mean: what the source decoders agree on. A base with one decoder
# for all domains (homogeneous setting) keeps what it knows of the target's tags in either case.
DecoderStart = Literal["fresh", "mean"]


def starting_decoder(
    base: Base, labels: LabelSet, start: DecoderStart, generator: torch.Generator
) -> TagDecoder:
    """Of the kind that the base has."""
    make = TAG_DECODERS[base.model.shape.decoder]
    decoder = make(base.model.encoder.width, labels, generator)
    sources = [d for d in tag_decoders(base) if len(d.labels)]
    if start == "mean":
        set_to_mean(decoder, sources)
    if base.model.shape.shared:
        keep_known_tags(decoder, sources)
    return decoder


def tag_decoders(base: Base) -> list[TagDecoder]:
    return [d for d in base.model.decoder if isinstance(d, (CRF, SoftmaxDecoder))]


@torch.no_grad()
def keep_known_tags(decoder: TagDecoder, sources: list[TagDecoder]) -> None:
    """Copy, tag by tag, what a source decoder knows of the tags of ``decoder``."""
    for source in sources:
        shared = [t for t in decoder.labels.tags if t in source.labels.index]
        mine = torch.tensor([decoder.labels.index[t] for t in shared])
        theirs = torch.tensor([source.labels.index[t] for t in shared])
        for (name, p), known in zip(decoder.named_parameters(), source.parameters(), strict=True):
            if name == "transition":
                p[0, mine[:, None], mine] = known[0, theirs[:, None], theirs]
            else:
                p[0, mine] = known[0, theirs]


@torch.no_grad()
def set_to_mean(decoder: TagDecoder, sources: list[TagDecoder]) -> None:
    """What the source decoders agree on: O from O, and every B-x, I-x, ... from the mean over the
    sources and their labels of B, I, ... Moves between two different labels keep their noise, and
    so does all where no source has a label."""
    if not sources:
        return

    def rows(labels: LabelSet, number: int) -> Tensor:  # O, and the tags of the number-th label
        each = (len(labels.tags) - 1) // len(labels)
        return torch.tensor([0, *range(1 + each * number, 1 + each * (number + 1))])

    known = [
        (dict(s.named_parameters()), rows(s.labels, i))
        for s in sources
        for i in range(len(s.labels))
    ]
    for name, p in decoder.named_parameters():
        square = name == "transition"
        parts = [own[name][0][r][:, r] if square else own[name][0][r] for own, r in known]
        mean = torch.stack(parts).mean(0)
        for number in range(len(decoder.labels)):
            mine = rows(decoder.labels, number)
            p[(0, mine[:, None], mine) if square else (0, mine)] = mean
