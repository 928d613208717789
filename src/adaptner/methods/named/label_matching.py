"""What a base has learnt of a label from its sources: a φ of the same kind, if there is one.

It is of the same kind if it has the same name and the given sentences do not deny it, or if it tags them
as they are marked: a curator's "T1" may be somebody else's "Gene".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from adaptner.models.base import Base
from adaptner.nn.decoders.crf import CRF
from adaptner.text.label_names import equivalent_names, label_words, normalise_name
from adaptner.types import OUTSIDE, LabelSet

# By ``agreement``: drugs, genes, diseases and species have at most 0.4 with each other's φ, and mostly
# more than 0.5 with their own (docs/results/few-shot.md).
MIN_AGREEMENT = 0.5
# Less than that, over so many mentions: the name means something else here.
DENIES, DENIED_BY = 0.2, 5

Mentions = set[tuple[int, int, int, int]]  # part, row, first token and end of each


@dataclass(frozen=True)
class LabelMatch:
    """The tags of ``label`` in a source's φ."""

    decoder: CRF
    label: str

    @torch.no_grad()
    def put(self, decoder: CRF, label: str) -> None:
        """The same of ``label`` in ``decoder``, against its own O: where it has no other label, both
        are one distribution."""
        mine, theirs = _tags(decoder.labels, label), _tags(self.decoder.labels, self.label)
        here, there = torch.tensor(list(mine.values())), torch.tensor([theirs[p] for p in mine])
        own = dict(decoder.named_parameters())
        for name, known in self.decoder.named_parameters():
            outside: tuple[int, ...] = (0,)  # O
            places: tuple[Tensor, ...] = (here,)
            sources: tuple[Tensor, ...] = (there,)
            if name == "transition":
                outside, places, sources = (0, 0), (here[:, None], here), (there[:, None], there)
            mine_of, theirs_of = own[name][0], known[0]
            kept = mine_of[outside].clone()
            mine_of[places] = theirs_of[sources] + (kept - theirs_of[outside])
            mine_of[outside] = kept  # to the last bit

    def mentions(self, marked: Sequence[EncodedTags]) -> Mentions:
        """What it finds in the sentences."""
        paths = (self.decoder.decode(part.states, part.mask) for part in marked)
        return _mentions(paths, self.decoder.labels, self.label)


@dataclass(frozen=True)
class EncodedTags:
    """Sentences as φ reads them, with their tags."""

    states: Tensor  # (1, B, L, width)
    tags: Tensor
    mask: Tensor


def match_labels(
    base: Base, labels: LabelSet, marked: Sequence[EncodedTags], *, by_name: bool = True
) -> dict[str, LabelMatch]:
    """For each of ``labels`` the kin that it has among the base's sources."""
    sources = [
        LabelMatch(d, label)
        for d in base.model.decoder
        if isinstance(d, CRF) and d.labels.scheme == labels.scheme
        for label in d.labels.labels
    ]
    guessed = [kin.mentions(marked) for kin in sources]
    found = {}
    for label in labels.labels if sources else ():
        meant = _mentions((part.tags for part in marked), labels, label)
        agrees = [agreement(each, meant) for each in guessed]
        named = [i for i, kin in enumerate(sources) if by_name and _is_name(label, kin.label)]
        if named and (len(meant) < DENIED_BY or agrees[named[0]] >= DENIES):
            found[label] = sources[named[0]]
            continue
        best = max(range(len(sources)), key=agrees.__getitem__)
        if agrees[best] > MIN_AGREEMENT:
            found[label] = sources[best]
    return found


def agreement(guessed: Mentions, meant: Mentions) -> float:
    """F1 with one mistake more than there is, so that one lucky mention is not enough."""
    return 2 * len(guessed & meant) / (len(guessed) + len(meant) + 1)


def _is_name(label: str, known: str) -> bool:
    """Whether the label ends in what ``known`` is called: "HumanGenes" are genes."""
    words, kinds = (
        label_words(label),
        equivalent_names(normalise_name(label_words(known) or [known])),
    )
    return any(normalise_name(words[start:]) in kinds for start in range(len(words)))


def _tags(labels: LabelSet, label: str) -> dict[str, int]:
    """The numbers of O and of the label's tags, by how they begin."""
    own = {tag[0]: i for tag, i in labels.index.items() if tag[2:] == label}
    return {OUTSIDE: labels.index[OUTSIDE], **own}


def _mentions(paths: Iterable[Tensor], labels: LabelSet, label: str) -> Mentions:
    own = _tags(labels, label)
    begins, goes_on = {own.get(p) for p in "BS"}, {own.get(p) for p in "IE"}
    found = set()
    for part, tags in enumerate(paths):
        for row, path in enumerate(tags[0].tolist()):
            for first in (i for i, tag in enumerate(path) if tag in begins):
                end = first + 1
                while end < len(path) and path[end] in goes_on:
                    end += 1
                found.add((part, row, first, end))
    return found
