"""Multi-Cell: its losses token by token, and learning from text instead of labels."""

from __future__ import annotations

import math

import pytest
import torch
from source_target_pair import (
    DOMAIN,
    GENES,
    REQUEST,
    SOURCE,
    SOURCES,
    SUPPORT,
    TINY,
    encode_pair,
    label_loss,
    make_base,
    parameter_sum,
)

from adaptner.adaptation.batch_encoding import encode_lists
from adaptner.errors import IncompatibleMethod, TooFewSentences
from adaptner.methods.multi_cell import MultiCell
from adaptner.methods.multi_cell.algorithm import NO_CELL, MultiCellObjective
from adaptner.methods.multi_cell.config import MultiCellTuneConfig
from adaptner.methods.multi_cell.language_models import LanguageModels
from adaptner.models.base import Base
from adaptner.nn.losses.sampled_softmax import EDGE, UNKNOWN, NegativeSampler
from adaptner.types import LabelSet


@pytest.fixture(scope="module")
def base() -> Base:
    return make_base("multi-cell")


def test_base_has_a_cell_for_every_label_and_one_for_none(base):
    assert base.model.encoder.config.recurrent == "cells-2"
    assert base.model.encoder.recurrent.cells == 2


def test_base_without_cells_is_refused():
    with pytest.raises(IncompatibleMethod, match="no cells"):
        MultiCell(encoder=TINY).adapt(make_base("la-dtl"), GENES[:5], sources=[DOMAIN])


def test_loss_equals_the_sum_over_single_tokens(base):
    """Cell lines have no cell, so their tokens have neither a type nor an attention loss."""
    config = MultiCellTuneConfig(source_share=0.3, type_weight=2.0, attention_weight=0.5)
    objective = MultiCellObjective(base, REQUEST, config, SOURCES)
    sides = encode_pair(base, objective.encode)
    width = base.model.encoder.width
    expected = 0.0
    for share, sentences, side in zip((0.3, 0.7), (SOURCE, SUPPORT), sides, strict=True):
        expected += share * label_loss(base, side.decoder, sentences)
        type_loss, attention_loss, count = 0.0, 0.0, 0
        for s in sentences:
            outputs = objective.encode(base.batcher([[s]]))[0, 0, :, width:].detach().double()
            for tag, values in zip(s.tags, outputs, strict=True):
                if tag.endswith("CellLine"):
                    continue
                cell = 0 if tag == "O" else 1
                scores, forwards, backwards = values[:2], values[2:4], values[4:]
                type_loss -= float(scores.log_softmax(-1)[cell])
                attention_loss -= (math.log(forwards[cell]) + math.log(backwards[cell])) / 2
                count += 1
        expected += share * (2.0 * type_loss + 0.5 * attention_loss) / count
    found = objective.pair_loss(lambda: sides)
    assert float(found.detach()) == pytest.approx(expected, rel=1e-4)
    assert NO_CELL in objective.cells.types_of(sides[1]).tolist()


def test_every_loss_changes_the_tagger(base):
    cases = [{}, {"type_weight": 0}, {"attention_weight": 0}]
    found = {parameter_sum("multi-cell", base, GENES[30:36], settings=s) for s in cases}
    assert len(found) == 3


def test_language_model_loss_equals_the_sum_over_single_words(base):
    """Jia2019's eq. 8, for the text of source and target."""
    encoder, text = base.model.encoder, [s.without_entities() for s in SUPPORT]
    generator = torch.Generator().manual_seed(1)
    config = MultiCellTuneConfig(negatives=7)
    models = LanguageModels([GENES[:8], text], encoder.width, config, generator)
    lists = [GENES[:3], text[:2]]
    parts = encode_lists(encoder, base.batcher, LabelSet(("Gene",)), lists, encoder.device)
    generator.manual_seed(5)
    found = float(models(parts, lists).detach())
    generator.manual_seed(5)
    negatives = [NegativeSampler(c).draw(7, generator) for c in models.vocabulary.counts]
    expected, half = 0.0, encoder.width // 2
    table = models.words.table.detach().double()
    for sentences, sampled in zip(lists, negatives, strict=True):
        for s in sentences:
            numbers = [models.vocabulary.number.get(w, UNKNOWN) for w in s.tokens]
            states = encoder(base.batcher([[s]]))[0, 0].detach().double()
            for place, state in enumerate(states):
                after = numbers[place + 1] if place + 1 < len(numbers) else EDGE
                before = numbers[place - 1] if place else EDGE
                for word, direction in ((after, state[:half]), (before, state[half:])):
                    scores = {
                        x: float(table[x, :-1] @ direction + table[x, -1])
                        for x in {word, *sampled.tolist()}
                    }
                    total = math.log(sum(map(math.exp, scores.values())))
                    expected += (total - scores[word]) / (2 * len(sentences))
    assert found == pytest.approx(expected, rel=1e-5)


def test_zero_shot_reads_the_text_without_its_labels(base):
    text = GENES[30:40]
    unlabelled = [s.without_entities() for s in text]
    zero_shot = {"zero_shot": True}

    def learn(text, **settings) -> float:
        settings = {**zero_shot, **settings}
        return parameter_sum("multi-cell", base, [], unlabelled=text, settings=settings)

    assert learn(text) == learn(unlabelled)
    assert len({learn(text), learn(text, lm_weight=0), learn(text, type_weight=0)}) == 3
    with pytest.raises(TooFewSentences, match="raw text"):
        learn([])


def test_zero_shot_tagger_has_the_labels_of_the_sources(base):
    settings = {"steps": 1, "epochs": 0, "zero_shot": True}
    tagger = MultiCell(encoder=TINY, adaptation=settings).adapt(
        base, [], sources=[DOMAIN], unlabelled=GENES[30:40]
    )
    assert tagger.labels.labels == ("Gene",)
    assert (tagger.facts["unlabelled"], tagger.facts["source_sentences"]) == (10, 20)
