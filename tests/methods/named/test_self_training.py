"""Self-training: the pseudo-labels of unlabelled sentences and their weights."""

from __future__ import annotations

import random
from itertools import pairwise, product

import pytest
import torch
from builders import equal_parameters, sentence
from terms_base_kit import default_base_without_terms

from adaptner.corpora.bundled import bundled_corpus
from adaptner.errors import TooFewSentences, UsageError
from adaptner.methods.named.algorithm import adapt_named
from adaptner.methods.named.config import LinearFitConfig
from adaptner.methods.named.decoder_fit import fit_linear_decoder
from adaptner.methods.named.encoder_choice import EncodedTarget
from adaptner.methods.named.self_training import (
    encode_in_batches,
    fit_with_unlabelled,
    pseudo_label,
    sample_sentences,
)
from adaptner.models.base import Base
from adaptner.nn.decoders.crf import CRF
from adaptner.types import Sentence

CONFIG = LinearFitConfig()


@pytest.fixture(scope="module")
def base() -> Base:
    torch.set_num_threads(1)
    return default_base_without_terms()


@pytest.fixture(scope="module")
def support() -> list[Sentence]:
    return [s for s in bundled_corpus("cellline").split("train") if s.entities][:5]


@pytest.fixture(scope="module")
def text() -> list[Sentence]:
    return list(bundled_corpus("cellline").split("dev"))


def decoder_of(base: Base, support: list[Sentence]) -> CRF:
    decoder = fit_linear_decoder(EncodedTarget.of(base, support, CONFIG), CONFIG).decoder
    assert isinstance(decoder, CRF)
    return decoder


def test_pseudo_label_is_the_best_path_weighted_by_its_least_certain_tag(base, support):
    """Compared with all paths of a sentence of six words."""
    decoder = decoder_of(base, support)
    text = "We grew HeLa cells and K562"
    (part,) = encode_in_batches(base, [sentence(text)], decoder.labels)
    labelled = pseudo_label(decoder, part, CONFIG)
    scores = decoder.tag_scores(part.states)[0, 0].detach().double()
    moves, start, end = (
        m[0].detach().double() for m in decoder._moves(scores[None], decoder.constraints)
    )

    def path(tags: tuple[int, ...]) -> torch.Tensor:
        total = start[tags[0]] + end[tags[-1]] + scores[range(len(tags)), list(tags)].sum()
        return total + sum(moves[a, b] for a, b in pairwise(tags))

    paths = list(product(range(3), repeat=6))
    values = torch.stack([path(tags) for tags in paths])
    best = paths[int(values.argmax())]
    assert labelled.tags[0, 0].tolist() == list(best)
    chances = values.softmax(0)
    sure = [
        float(sum(p for p, tags in zip(chances, paths, strict=True) if tags[t] == best[t]))
        for t in range(6)
    ]
    assert any(best)
    assert float(labelled.weights[0, 0]) == pytest.approx(
        CONFIG.unlabelled_weight * min(sure), rel=1e-4
    )


def test_sentence_without_a_prediction_has_no_weight(base, support):
    decoder = decoder_of(base, support)
    (part,) = encode_in_batches(base, [sentence("We thank them")], decoder.labels)
    labelled = pseudo_label(decoder, part, CONFIG)
    assert not labelled.tags.any()
    assert float(labelled.weights) == 0


def test_text_with_zero_weight_changes_nothing(base, support, text):
    ignoring = CONFIG.model_copy(update={"unlabelled_weight": 0.0})
    with_it = fit_with_unlabelled(EncodedTarget.of(base, support, ignoring), text, ignoring)
    for mine, theirs in zip(
        with_it.decoder.parameters(),
        fit_linear_decoder(EncodedTarget.of(base, support, CONFIG), CONFIG).decoder.parameters(),
        strict=True,
    ):
        assert torch.allclose(mine, theirs, atol=1e-5)


def test_labels_of_the_text_are_not_read(base, support, text):
    labelled = fit_with_unlabelled(EncodedTarget.of(base, support, CONFIG), text, CONFIG)
    bare = fit_with_unlabelled(
        EncodedTarget.of(base, support, CONFIG), [s.without_entities() for s in text], CONFIG
    )
    assert any(s.entities for s in text)
    assert equal_parameters(labelled.decoder, bare.decoder)
    assert not equal_parameters(labelled.decoder, decoder_of(base, support))
    assert labelled.facts["unlabelled"] == len([s for s in text if len(s) > 1])


def test_self_training_makes_the_pseudo_labels_more_likely(base, support, text):
    before = decoder_of(base, support)
    after = fit_with_unlabelled(EncodedTarget.of(base, support, CONFIG), text, CONFIG).decoder
    assert isinstance(after, CRF)
    costs = [0.0, 0.0]  # before, after
    for part in encode_in_batches(
        base, [s.without_entities() for s in text if len(s) > 1], before.labels
    ):
        labelled = pseudo_label(before, part, CONFIG)
        for place, decoder in enumerate((before, after)):
            with torch.no_grad():
                losses = decoder(labelled.states, labelled.tags, labelled.mask)
            costs[place] += float((labelled.weights * losses).sum())
    assert costs[1] < costs[0]


def test_long_text_is_sampled_without_overlong_sentences(text):
    endless = sentence("a " * 90)
    found = sample_sentences([endless, *text * 50], 40, random.Random(3))
    assert len(found) == 40
    assert endless.text not in {s.text for s in found}
    assert not any(s.entities for s in found)
    assert found == sample_sentences([endless, *text * 50], 40, random.Random(3))


def test_text_without_a_usable_sentence_is_refused(base, support):
    with pytest.raises(TooFewSentences, match="2 to 80 words"):
        fit_with_unlabelled(
            EncodedTarget.of(base, support, CONFIG), [sentence("Introduction")], CONFIG
        )


def test_text_is_refused_if_the_encoder_is_fine_tuned(base, text):
    many = LinearFitConfig(fine_tune_from=3)
    train = bundled_corpus("cellline").split("train")[:20]
    with pytest.raises(UsageError, match="--unlabelled has no use"):
        adapt_named(EncodedTarget.of(base, train, many), many, unlabelled=text)
