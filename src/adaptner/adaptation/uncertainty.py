"""How unsure a tagger is of each token of a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import torch

from adaptner.models.tagger import WINDOW, Tagger
from adaptner.types import Sentence

AT_ONCE = 64  # sentences


@torch.no_grad()
def token_entropies(
    tagger: Tagger, sentences: Iterable[Sentence]
) -> Iterator[tuple[Sentence, list[float]]]:
    """Each sentence with the entropy of its tokens' tags, in nats. What has no token, or more than
    anybody would mark by hand (``WINDOW``), is left out."""
    fit = (s for s in sentences if 0 < len(s) <= WINDOW)
    while some := list(islice(fit, AT_ONCE)):
        yield from zip(some, _entropies(tagger, some), strict=True)


def _entropies(tagger: Tagger, sentences: Sequence[Sentence]) -> list[list[float]]:
    batch = tagger.batcher([sentences]).to(tagger.encoder.device)
    chances = tagger.decoder.marginals(tagger.encoder(batch), batch.mask)
    nats = torch.special.entr(chances).sum(-1)[0]
    rows: list[list[float]] = [[]] * len(sentences)
    for row, place in enumerate(batch.order[0]):
        rows[place] = nats[row, : len(sentences[place])].tolist()
    return rows
