"""The parameters that a decoder starts adaptation with (docs/results/adaptation.md)."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from adaptner.models.base import Base
from adaptner.nn.model import TagDecoder, make_decoder
from adaptner.types import LabelSet

# fresh: noise, as in the papers; mean: the mean of the source decoders. In either case, a base with one
# decoder for all domains (homogeneous setting) keeps its parameters of the target's tags.
DecoderStart = Literal["fresh", "mean"]


def starting_decoder(
    base: Base, labels: LabelSet, start: DecoderStart, generator: torch.Generator
) -> TagDecoder:
    """A new decoder for ``labels``, of the base's kind."""
    encoder = base.model.encoder
    decoder = make_decoder(base.model.shape.decoder, encoder.width, labels, generator)
    assert decoder.kind != "prototypes"  # has no weights to start from
    decoder.to(encoder.device)
    sources = [d for d in tag_decoders(base) if len(d.labels)]
    if start == "mean":
        set_to_mean(decoder, sources)
    if base.model.shape.shared:
        keep_known_tags(decoder, sources)
    return decoder


def tag_decoders(base: Base) -> list[TagDecoder]:
    decoders = (base.model.decoder_of(domain) for domain in range(len(base.model.decoder)))
    return [decoder for decoder in decoders if decoder.kind != "prototypes"]


def shared_tags(decoder: TagDecoder, other: TagDecoder) -> tuple[Tensor, Tensor]:
    """The numbers that the tags of both decoders have in the first and in the second."""
    shared = [tag for tag in decoder.labels.tags if tag in other.labels.index]
    first, second = (torch.tensor([d.labels.index[t] for t in shared]) for d in (decoder, other))
    return first, second


@torch.no_grad()
def keep_known_tags(decoder: TagDecoder, sources: list[TagDecoder]) -> None:
    """Copy the parameters of the tags that a source decoder shares with ``decoder``."""
    for source in sources:
        rows, source_rows = shared_tags(decoder, source)
        for (name, p), known in zip(decoder.named_parameters(), source.parameters(), strict=True):
            if name == "transition":
                p[0, rows[:, None], rows] = known[0, source_rows[:, None], source_rows]
            else:
                p[0, rows] = known[0, source_rows]


@torch.no_grad()
def set_to_mean(decoder: TagDecoder, sources: list[TagDecoder]) -> None:
    """Set O to the mean of the sources' O, and B-x, I-x, ... to the means of B, I, ... over all labels
    of all sources.

    Transitions between two different labels stay as they are, and so does everything if no source has
    a label."""
    if not sources:
        return

    def rows(labels: LabelSet, number: int) -> Tensor:
        """O and the tags of the label with this number."""
        tags_per_label = (len(labels.tags) - 1) // len(labels)
        first = 1 + tags_per_label * number
        return torch.tensor([0, *range(first, first + tags_per_label)])

    source_parameters = [
        (dict(source.named_parameters()), rows(source.labels, number))
        for source in sources
        for number in range(len(source.labels))
    ]
    for name, p in decoder.named_parameters():
        square = name == "transition"
        values = [
            parameters[name][0][of][:, of] if square else parameters[name][0][of]
            for parameters, of in source_parameters
        ]
        mean = torch.stack(values).mean(0)
        for number in range(len(decoder.labels)):
            of = rows(decoder.labels, number)
            p[(0, of[:, None], of) if square else (0, of)] = mean
