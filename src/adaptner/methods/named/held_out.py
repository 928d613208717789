"""Cross-validation of the decoder fit: every sentence is tagged by a decoder not trained on it.

The encoder does not change, so its states are reused, and the decoders of all folds are fitted side
by side.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from adaptner.methods.named.config import LinearFitConfig
from adaptner.methods.named.decoder_fit import fit_decoder, penalties_of
from adaptner.methods.named.encoder_choice import MAX_FEW_SHOT, EncodedTarget
from adaptner.models.mentions import HeldOutPredictions, mentions_of
from adaptner.nn.decoders.crf import CRF
from adaptner.progress import ProgressCallback, no_progress
from adaptner.types import Sentence

FOLDS = 5
TOLERANCE = 3e-3  # coarser than for the tagger's own fit: the same F1 in 60% of the time
GROUP, GROUPS = 16, 4  # minimum size, and maximum number, of groups of similar length


@dataclass(frozen=True)
class CrossValidation:
    """Predictions in the order of the target's sentences: by decoders not trained on the sentence, and by
    the decoder before the fit."""

    fitted: list[HeldOutPredictions]
    start: list[HeldOutPredictions]

    @property
    def fit_loses(self) -> bool:
        """Whether the start finds more than the fit does."""
        return f1_of(self.fitted) < f1_of(self.start)

    def of_tagger(self, encoded: EncodedTarget) -> list[HeldOutPredictions]:
        """The predictions of the tagger that is made: a dictionary stays if the fit loses."""
        stays = encoded.starts_as_dictionary and self.fit_loses
        return self.start if stays else self.fitted


def validate(
    encoded: EncodedTarget,
    config: LinearFitConfig,
    *,
    seed: int = 0,
    progress: ProgressCallback = no_progress,
) -> CrossValidation | None:
    """`cross_validate`, once for each seed. None if there are too many sentences, or all are the same."""
    sentences = encoded.target.sentences
    if len(sentences) > MAX_FEW_SHOT or len({s.text for s in sentences}) < 2:
        return None
    if seed not in encoded.validations:
        found = cross_validate(encoded, config, seed=seed, progress=progress)
        encoded.validations[seed] = found
    return encoded.validations[seed]


def f1_of(predictions: Sequence[HeldOutPredictions]) -> float:
    right = sum(own.right(m) for own in predictions for m in own.found)
    return 2 * right / max(1, sum(len(own.found) + len(own.gold) for own in predictions))


def cross_validate(
    encoded: EncodedTarget,
    config: LinearFitConfig,
    *,
    seed: int = 0,
    progress: ProgressCallback = no_progress,
) -> CrossValidation:
    """At least two of the target's sentences must differ."""
    sentences, labels = encoded.target.sentences, encoded.target.labels
    fold_of = assign_folds(sentences, random.Random(seed))
    count = 1 + max(fold_of)
    batches = [encoded.encoded.select(places) for places in group_by_length(sentences)]
    folds = torch.arange(count)[:, None]
    training = []
    for batch in batches:
        tested = torch.tensor([fold_of[place] for place in batch.order]) == folds
        weights = batch.weights * ~tested.to(batch.weights.device)
        training.append(replace(batch, weights=_with_start(weights)))
    for batch in encoded.raw(config):
        weights = batch.weights.expand(count, -1)
        training.append(replace(batch, weights=_with_start(weights)))
    # All sentences decide which source labels match, as they do for the tagger.
    decoder = stack_copies(encoded.prior(config), count + 1)
    fit_decoder(
        decoder,
        training,
        penalties_of(encoded, config),
        config.linear_steps,
        tolerance=TOLERANCE,
        progress=progress,
    )
    found: dict[int, HeldOutPredictions] = {}
    at_start: dict[int, HeldOutPredictions] = {}
    for batch in batches:
        mask = batch.mask.expand(count + 1, -1, -1)
        with torch.no_grad():
            scores = decoder.tag_scores(batch.states)
        tags = decoder.decode_scores(scores, mask)
        confidence = decoder.path_confidence(scores, mask, tags)
        for row, place in enumerate(batch.order):
            length, fold = len(sentences[place]), fold_of[place]
            for decoder_number, into in ((fold, found), (count, at_start)):
                of_tokens = confidence[:, decoder_number, row, :length].T.tolist()
                predicted = mentions_of(
                    tags[decoder_number, row, :length].tolist(), of_tokens, labels
                )
                gold = mentions_of(batch.tags[0, row, :length].tolist(), of_tokens, labels)
                into[place] = HeldOutPredictions(frozenset(m[:3] for m in gold), tuple(predicted))
    places = range(len(sentences))
    return CrossValidation([found[p] for p in places], [at_start[p] for p in places])


def _with_start(weights: Tensor) -> Tensor:
    """The weights of the folds' decoders, and of one that nothing moves from the start."""
    return torch.cat([weights, torch.zeros_like(weights[:1])])


def group_by_length(sentences: Sequence[Sentence]) -> list[list[int]]:
    """The places of the sentences in groups of similar length, so that padding stays small."""
    order = sorted(range(len(sentences)), key=lambda i: len(sentences[i]))
    size = max(GROUP, -(-len(order) // GROUPS))
    return [order[at : at + size] for at in range(0, len(order), size)]


def assign_folds(sentences: Sequence[Sentence], rng: random.Random) -> list[int]:
    """The fold of each sentence. Mentions are spread evenly, and sentences with the same text share
    a fold, because one would give the other's labels away."""
    groups: dict[str, list[int]] = {}
    for place, sentence in enumerate(sentences):
        groups.setdefault(sentence.text, []).append(place)
    count = min(FOLDS, len(groups))
    shuffled = rng.sample(sorted(groups.values()), len(groups))
    shuffled.sort(key=lambda group: -len(sentences[group[0]].entities))
    fold_of = [0] * len(sentences)
    for number, group in enumerate(shuffled):
        turn, step = divmod(number, count)
        # Back and forth, so that the first fold does not get the most mentions in every turn.
        for place in group:
            fold_of[place] = step if turn % 2 == 0 else count - 1 - step
    return fold_of


def stack_copies(decoder: CRF, count: int) -> CRF:
    """``count`` copies of a decoder, stacked as the tasks of one."""
    stacked = copy.deepcopy(decoder)
    for parameter in stacked.parameters():
        parameter.data = parameter.data.expand(count, *parameter.shape[1:]).clone()
    return stacked
