"""What φ makes of sentences it has not learnt from: every sentence is left out once.

θ stays as it is, so that its states are computed once, and the folds' φ are fitted side by side.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Sequence
from dataclasses import replace

import torch

from adaptner.methods.named.decoder_fit import (
    EncodedSentences,
    LinearFitConfig,
    decoder_prior,
    fit_decoder,
    known_from_sources,
    stronger_penalties,
)
from adaptner.models.base import Base
from adaptner.models.mentions import HeldOutPredictions, mentions_of
from adaptner.nn.decoders.crf import CRF
from adaptner.progress import ProgressCallback, no_progress
from adaptner.types import LabelSet, Sentence

FOLDS = 5
TOLERANCE = 3e-3  # coarser than that of the fit: the same F1 in 60% of the time
GROUP, GROUPS = 16, 4  # sentences at least, groups at most


def cross_validate(
    base: Base,
    sentences: Sequence[Sentence],
    labels: LabelSet,
    config: LinearFitConfig,
    *,
    seed: int = 0,
    progress: ProgressCallback = no_progress,
) -> list[HeldOutPredictions]:
    """In the order of ``sentences``, none of which is empty; two or more, not all alike."""
    fold = folds_of(sentences, random.Random(seed))
    count = 1 + max(fold)
    parts = [
        (places, EncodedSentences.of(base, [sentences[i] for i in places], labels, config))
        for places in of_like_length(sentences)
    ]
    folds = torch.arange(count)[:, None]
    fitted = []
    for places, part in parts:
        own = torch.tensor([fold[places[i]] for i in part.order])
        fitted.append(replace(part, shares=part.shares * (own != folds)))
    # from where the fit starts; which kind it is, all sentences have a say in
    taught = known_from_sources(base, labels, config, [part for _, part in parts])
    decoder = side_by_side(decoder_prior(base, labels, config, taught), count)
    firm = stronger_penalties(config, labels, taught)
    fit_decoder(decoder, fitted, firm, config.linear_steps, tolerance=TOLERANCE, progress=progress)
    found: dict[int, HeldOutPredictions] = {}
    for places, part in parts:
        mask = part.mask.expand(count, -1, -1)
        with torch.no_grad():
            scores = decoder.tag_scores(part.states)
        tags = decoder.best(scores, mask)
        sure = decoder.path_confidence(scores, mask, tags)
        for row, place in enumerate(part.order):
            number = places[place]
            length, task = len(sentences[number]), fold[number]
            known = sure[:, task, row, :length].T.tolist()
            guessed = mentions_of(tags[task, row, :length].tolist(), known, labels)
            gold = mentions_of(part.tags[0, row, :length].tolist(), known, labels)
            found[number] = HeldOutPredictions(frozenset(m[:3] for m in gold), tuple(guessed))
    return [found[i] for i in range(len(sentences))]


def of_like_length(sentences: Sequence[Sentence]) -> list[list[int]]:
    """Places of the sentences, in groups that the longest does not pad much."""
    order = sorted(range(len(sentences)), key=lambda i: len(sentences[i]))
    size = max(GROUP, -(-len(order) // GROUPS))
    return [order[at : at + size] for at in range(0, len(order), size)]


def folds_of(sentences: Sequence[Sentence], rng: random.Random) -> list[int]:
    """The fold of each sentence: mentions are spread evenly, and sentences of the same text stay
    together, else the one would tell of the other."""
    groups: dict[str, list[int]] = {}
    for number, sentence in enumerate(sentences):
        groups.setdefault(sentence.text, []).append(number)
    count = min(FOLDS, len(groups))
    shuffled = rng.sample(sorted(groups.values()), len(groups))
    shuffled.sort(key=lambda group: -len(sentences[group[0]].entities))
    fold = [0] * len(sentences)
    for place, group in enumerate(shuffled):
        turn, step = divmod(place, count)
        for number in group:  # to and fro, so that the first fold has not the most of every round
            fold[number] = step if turn % 2 == 0 else count - 1 - step
    return fold


def side_by_side(decoder: CRF, count: int) -> CRF:
    """``count`` copies as the tasks of one decoder."""
    several = copy.deepcopy(decoder)
    for parameter in several.parameters():
        parameter.data = parameter.data.expand(count, *parameter.shape[1:]).clone()
    return several
