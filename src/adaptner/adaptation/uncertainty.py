"""The uncertainty of a tagger about each token."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import torch

from adaptner.models.tagger import WINDOW, Tagger
from adaptner.types import Sentence

BATCH = 64  # sentences


@torch.no_grad()
def token_entropies(
    tagger: Tagger, sentences: Iterable[Sentence]
) -> Iterator[tuple[Sentence, list[float]]]:
    """Each sentence with the entropy of its tokens' tags, in nats. Skips empty sentences and those longer
    than ``WINDOW``, which nobody would annotate by hand."""
    fit = (s for s in sentences if 0 < len(s) <= WINDOW)
    while batch := list(islice(fit, BATCH)):
        yield from zip(batch, _entropies(tagger, batch), strict=True)


def _entropies(tagger: Tagger, sentences: Sequence[Sentence]) -> list[list[float]]:
    batch, states = tagger.states(sentences)
    chances = tagger.decoder.marginals(states, batch.mask)
    nats = torch.special.entr(chances).sum(-1)[0]
    rows: list[list[float]] = [[]] * len(sentences)
    for row, place in enumerate(batch.order[0]):
        rows[place] = nats[row, : len(sentences[place])].tolist()
    return rows
