"""Matches a target's labels with the labels of a base's source decoders.

Two labels match if their names agree and the annotated sentences do not contradict it, or if the
source decoder tags these sentences as they are annotated: a curator's "T1" may be another's "Gene".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from adaptner.methods.named.encoded import EncodedSentences
from adaptner.models.base import Base
from adaptner.nn.decoders.crf import CRF
from adaptner.text.label_names import equivalent_names, label_words, normalise_name
from adaptner.types import OUTSIDE, LabelSet

# Decoders of drugs, genes, diseases and species agree by at most 0.4 with mentions of one of the
# others, and mostly by more than 0.5 with mentions of their own label (docs/results/few-shot.md).
MIN_AGREEMENT = 0.5
# A name means something else if the agreement is below this, given at least so many mentions.
NAME_CONTRADICTED_BELOW, MIN_MENTIONS_TO_CONTRADICT = 0.2, 5

MentionKeys = set[tuple[int, int, int, int]]  # batch, row, first token, end token


@dataclass(frozen=True)
class LabelMatch:
    """A label of a source decoder."""

    decoder: CRF
    label: str

    @torch.no_grad()
    def copy_to(self, decoder: CRF, label: str) -> None:
        """Copy the scores of this label's tags to those of ``label``, relative to O in each decoder.
        A decoder without other labels then has the same distribution as the source decoder."""
        target_tags = _tag_numbers(decoder.labels, label)
        source_tags = _tag_numbers(self.decoder.labels, self.label)
        device = decoder.weight.device
        into = torch.tensor(list(target_tags.values()), device=device)
        taken = torch.tensor([source_tags[prefix] for prefix in target_tags], device=device)
        parameters = dict(decoder.named_parameters())
        for name, source in self.decoder.named_parameters():
            outside: tuple[int, ...] = (0,)
            places: tuple[Tensor, ...] = (into,)
            source_places: tuple[Tensor, ...] = (taken,)
            if name == "transition":
                outside, places, source_places = (
                    (0, 0),
                    (into[:, None], into),
                    (taken[:, None], taken),
                )
            values = parameters[name][0]
            if name == "weight":
                values = values[:, : source.shape[-1]]
            outside_score = values[outside].clone()
            values[places] = source[0][source_places] + (outside_score - source[0][outside])
            values[outside] = outside_score  # exactly, without rounding

    def mentions(self, batches: Sequence[EncodedSentences]) -> MentionKeys:
        """The mentions of this label that the source decoder finds."""
        width = self.decoder.weight.shape[-1]  # without the columns of terminologies
        paths = (self.decoder.decode(batch.states[..., :width], batch.mask) for batch in batches)
        return _mentions(paths, self.decoder.labels, self.label)


def match_labels(
    base: Base, labels: LabelSet, batches: Sequence[EncodedSentences], *, by_name: bool = True
) -> dict[str, LabelMatch]:
    """The matching source label for each of ``labels`` that has one."""
    sources = [
        LabelMatch(decoder, label)
        for decoder in base.model.decoder
        if isinstance(decoder, CRF) and decoder.labels.scheme == labels.scheme
        for label in decoder.labels.labels
    ]
    predicted = [source.mentions(batches) for source in sources]
    found = {}
    for label in labels.labels if sources else ():
        annotated = _mentions((batch.tags for batch in batches), labels, label)
        agreements = [agreement(mentions, annotated) for mentions in predicted]
        namesakes = [
            i for i, source in enumerate(sources) if by_name and _names_agree(label, source.label)
        ]
        if namesakes and (
            len(annotated) < MIN_MENTIONS_TO_CONTRADICT
            or agreements[namesakes[0]] >= NAME_CONTRADICTED_BELOW
        ):
            found[label] = sources[namesakes[0]]
            continue
        best = max(range(len(sources)), key=agreements.__getitem__)
        if agreements[best] > MIN_AGREEMENT:
            found[label] = sources[best]
    return found


def agreement(predicted: MentionKeys, annotated: MentionKeys) -> float:
    """F1 with one more mistake than was made, so that one lucky mention is not enough."""
    return 2 * len(predicted & annotated) / (len(predicted) + len(annotated) + 1)


def _names_agree(label: str, source_label: str) -> bool:
    """Whether ``label`` ends with a name of the source label: "HumanGenes" are genes."""
    words = label_words(label)
    names = equivalent_names(normalise_name(label_words(source_label) or [source_label]))
    return any(normalise_name(words[start:]) in names for start in range(len(words)))


def _tag_numbers(labels: LabelSet, label: str) -> dict[str, int]:
    """The numbers of O and of the label's tags, by prefix."""
    tags = {tag[0]: i for tag, i in labels.index.items() if tag[2:] == label}
    return {OUTSIDE: labels.index[OUTSIDE], **tags}


def _mentions(paths: Iterable[Tensor], labels: LabelSet, label: str) -> MentionKeys:
    numbers = _tag_numbers(labels, label)
    first_tags, inner_tags = {numbers.get(p) for p in "BS"}, {numbers.get(p) for p in "IE"}
    found = set()
    for batch, tags in enumerate(paths):
        for row, path in enumerate(tags[0].tolist()):
            for first in (i for i, tag in enumerate(path) if tag in first_tags):
                end = first + 1
                while end < len(path) and path[end] in inner_tags:
                    end += 1
                found.add((batch, row, first, end))
    return found
