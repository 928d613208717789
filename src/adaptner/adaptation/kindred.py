"""What a base has learnt of a label from its sources: a φ of the same kind, if there is one.

It is of the same kind if it has the same name and the given sentences do not deny it, or if it tags them
as they are marked: a curator's "T1" may be somebody else's "Gene".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from adaptner.nn.crf import CRF
from adaptner.text.naming import name_of, same_kind, words_of
from adaptner.training.base import Base
from adaptner.types import OUTSIDE, LabelSet

# Of what both mark, F1 with one mistake more than there is. Drugs, genes, diseases and species have at
# most 0.4 with each other's φ, and more than 0.5 with their own (docs/results/few-shot.md).
AGREES = 0.5
DENIES, DENIED_BY = (
    0.2,
    5,
)  # less than that over so many mentions: the name means something else here


@dataclass(frozen=True)
class Kin:
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


@dataclass(frozen=True)
class Marked:
    """Sentences as φ reads them, with their tags."""

    states: Tensor  # (1, B, L, width)
    tags: Tensor
    mask: Tensor


def kindred(
    base: Base, labels: LabelSet, marked: Sequence[Marked], *, by_name: bool = True
) -> dict[str, Kin]:
    """For each of ``labels`` the kin that it has among the base's sources."""
    sources = [
        Kin(d, label)
        for d in base.model.decoder
        if isinstance(d, CRF) and d.labels.scheme == labels.scheme
        for label in d.labels.labels
    ]
    found = {}
    for label in labels.labels if sources else ():
        mentions = sum(len(_borders(part.tags, labels, label)) for part in marked)
        agrees = [agreement(kin, marked, labels, label) for kin in sources]
        named = [i for i, kin in enumerate(sources) if by_name and _is_name(label, kin.label)]
        if named and (mentions < DENIED_BY or agrees[named[0]] >= DENIES):
            found[label] = sources[named[0]]
            continue
        best = max(range(len(sources)), key=agrees.__getitem__)
        if agrees[best] > AGREES:
            found[label] = sources[best]
    return found


def agreement(kin: Kin, marked: Iterable[Marked], labels: LabelSet, label: str) -> float:
    """2 r / (f + m + 1): r mentions are found right, f are found, m are marked."""
    right = found = there = 0
    for part in marked:
        guessed = _borders(
            kin.decoder.decode(part.states, part.mask), kin.decoder.labels, kin.label
        )
        meant = _borders(part.tags, labels, label)
        right += len(guessed & meant)
        found, there = found + len(guessed), there + len(meant)
    return 2 * right / (found + there + 1)


def _is_name(label: str, known: str) -> bool:
    """Whether the label ends in what ``known`` is called: "HumanGenes" are genes."""
    words, kinds = words_of(label), same_kind(name_of(words_of(known) or [known]))
    return any(name_of(words[start:]) in kinds for start in range(len(words)))


def _tags(labels: LabelSet, label: str) -> dict[str, int]:
    """The numbers of O and of the label's tags, by how they begin."""
    own = {tag[0]: i for tag, i in labels.index.items() if tag[2:] == label}
    return {OUTSIDE: labels.index[OUTSIDE], **own}


def _borders(tags: Tensor, labels: LabelSet, label: str) -> set[tuple[int, int, int]]:
    """Row, first token and end of every mention of the label."""
    own = _tags(labels, label)
    begins, goes_on = {own.get(p) for p in "BS"}, {own.get(p) for p in "IE"}
    found = set()
    for row, path in enumerate(tags[0].tolist()):
        for first, tag in enumerate(path):
            if tag in begins:
                end = first + 1
                while end < len(path) and path[end] in goes_on:
                    end += 1
                found.add((row, first, end))
    return found
