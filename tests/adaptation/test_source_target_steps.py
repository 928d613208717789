"""La-DTL and DATNet: their losses written out, and that each part of them counts."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from adaptner.adaptation.batch_encoding import encode_lists
from adaptner.adaptation.request import AdaptRequest
from adaptner.adaptation.source_target_steps import EncodedSide
from adaptner.corpora.bundled import bundled_corpus
from adaptner.corpora.sources import SourceDomain
from adaptner.errors import IncompatibleMethod, TooFewSentences
from adaptner.methods.datnet import DATNet, DATNetObjective, grad_loss
from adaptner.methods.la_dtl import LaDTL, LaDTLObjective, parameter_distance
from adaptner.methods.multi_cell import MultiCell
from adaptner.methods.multi_cell.algorithm import NO_CELL, MultiCellObjective
from adaptner.methods.multi_cell.language_models import LanguageModels
from adaptner.models.base import Base
from adaptner.nn.decoders.crf import CRF
from adaptner.nn.losses.mmd import label_aware_mmd
from adaptner.nn.losses.sampled_softmax import EDGE, UNKNOWN, NegativeSampler
from adaptner.training.budget import Budget
from adaptner.types import LabelSet

TINY = {
    "word_width": 6,
    "char_embedding": 4,
    "char_cnn_filters": 3,
    "char_lstm": 0,
    "hidden": 5,
    "dropout": 0.0,
}
TRAIN = bundled_corpus("gene").split("train")
LINES = bundled_corpus("cellline").split("train")


@pytest.fixture(scope="module")
def source() -> SourceDomain:
    return SourceDomain("Gene", LabelSet(("Gene",)), {"gene": list(TRAIN[:20])}, {})


@pytest.fixture(scope="module")
def base(source: SourceDomain) -> Base:
    return LaDTL(encoder=TINY, k=3, tasks=2).fit([source], Budget(3))


def sides(base: Base) -> tuple[EncodedSide, EncodedSide]:
    """A source that knows genes, a target that knows genes and cell lines."""
    both = LabelSet(("CellLine", "Gene"))
    generator = torch.Generator().manual_seed(4)
    decoders = [CRF(base.model.encoder.width, LabelSet(("Gene",)), generator)]
    decoders.append(CRF(base.model.encoder.width, both, generator))
    lists = [TRAIN[:3], [*TRAIN[5:7], *LINES[:2]]]
    parts = encode_lists(base.model.encoder, base.batcher, both, lists)
    first, second = (EncodedSide(p, d, both) for p, d in zip(parts, decoders, strict=True))
    return first, second


def naive_loss(base: Base, decoder: CRF, sentences: Any) -> float:
    total = 0.0
    for s in sentences:
        batch = base.batcher([[s]], [decoder.labels])
        assert batch.tags is not None
        total += float(decoder(base.model.encoder(batch), batch.tags, batch.mask).sum().detach())
    return total / len(sentences)


def test_reading_together_is_reading_apart(base):
    """Each side's loss, tags of one numbering read in another; sentences come back in their order."""
    first, second = sides(base)
    assert float(first.loss().detach()) == pytest.approx(
        naive_loss(base, first.decoder, TRAIN[:3]), rel=1e-4
    )
    assert float(second.loss().detach()) == pytest.approx(
        naive_loss(base, second.decoder, [*TRAIN[5:7], *LINES[:2]]), rel=1e-4
    )
    for i, s in enumerate(TRAIN[:3]):
        batch = base.batcher([[s]])
        torch.testing.assert_close(
            first.part.pooled[i], base.model.encoder(batch)[0, 0].mean(0), rtol=1e-4, atol=1e-5
        )


def test_la_dtl_adds_up(base):
    first, second = sides(base)
    config = LaDTL(
        adaptation={
            "source_share": 0.3,
            "mmd_weight": 2.0,
            "tag_weight": 0.5,
            "parameter_weight": 0.7,
        }
    ).config.adaptation
    tokens = (first.part.tokens, first.part.token_tags, second.part.tokens, second.part.token_tags)
    want = 0.3 * first.loss() + 0.7 * second.loss() + 2.0 * label_aware_mmd(*tokens, 0.5)
    want = want + 0.7 * parameter_distance(first.decoder, second.decoder)
    objective = LaDTLObjective(base, AdaptRequest(LINES[:6]), config, {"Gene": TRAIN[:20]})
    torch.testing.assert_close(objective.pair_loss(lambda: (first, second)), want)


def test_the_distance_of_two_crfs_over_the_tags_they_share(base):
    first, second = sides(base)
    mine, theirs = second.decoder, first.decoder
    total = 0.0
    for a in ("O", "B-Gene", "I-Gene"):
        i, j = mine.labels.index[a], theirs.labels.index[a]
        for name in ("weight", "bias", "start", "end"):
            p, q = getattr(mine, name)[0, i], getattr(theirs, name)[0, j]
            total += float((p - q).square().sum().detach())
        for b in ("O", "B-Gene", "I-Gene"):
            k, l_ = mine.labels.index[b], theirs.labels.index[b]
            total += float((mine.transition[0, i, k] - theirs.transition[0, j, l_]).detach()) ** 2
    assert float(parameter_distance(theirs, mine).detach()) == pytest.approx(total, rel=1e-5)
    assert float(parameter_distance(mine, mine).detach()) == 0


def test_grad_of_a_case_by_hand():
    """Two source sentences, one target sentence; r is the probability of the source."""
    source = torch.tensor([[0.9, 0.1], [0.4, 0.6]]).log()
    target = torch.tensor([[0.3, 0.7]]).log()
    ours = (0.1**2 * math.log(0.9) + 0.6**2 * math.log(0.4)) / 2
    theirs = 0.3**2 * math.log(0.7)
    want = -0.25 * ours - 0.75 * theirs
    assert float(grad_loss(source, target, 0.25, 2.0)) == pytest.approx(want)
    plain = -0.5 * (math.log(0.9) + math.log(0.4)) / 2 - 0.5 * math.log(0.7)
    assert float(grad_loss(source, target, 0.5, 0.0)) == pytest.approx(plain)


def test_the_discriminator_is_resisted(base):
    """θ's gradient of GRAD is turned round, the discriminator's own is not."""
    config = DATNet(adaptation={"radius": 0}).config.adaptation
    objective = DATNetObjective(base, AdaptRequest(LINES[:6]), config, {"Gene": TRAIN[:20]})
    first, second = sides(base)
    logs = {}
    for reversal in (True, False):
        objective.head.reversal = reversal
        found = [
            objective.head.scores(s.part.states, s.part.mask)[0].log_softmax(-1)
            for s in (first, second)
        ]
        loss = grad_loss(*found, 0.25, 2.0)
        given = [first.part.states, objective.head.weight]
        logs[reversal] = torch.autograd.grad(loss, given, retain_graph=True)
    torch.testing.assert_close(logs[True][0], -logs[False][0])
    torch.testing.assert_close(logs[True][1], logs[False][1])


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        (LaDTL, [{"mmd_weight": 0}, {"parameter_weight": 0}, {"source_share": 0.1}]),
        (DATNet, [{"aux_weight": 0}, {"radius": 0}, {"focal_alpha": 0.5}, {"focal_gamma": 0}]),
    ],
)
def test_every_part_counts(kind, changes, base, source):
    def learnt(**settings: Any) -> float:
        steps = {"steps": 4, "epochs": 0, "batch": 3, **settings}
        tagger = kind(encoder=TINY, adaptation=steps).adapt(base, LINES[:6], sources=[source])
        assert tagger.labels.labels == ("CellLine",)
        assert tagger.facts["source_sentences"] == 20
        return sum(float(p.detach().double().abs().sum()) for p in tagger.parameters())

    found = [learnt()] + [learnt(**own) for own in changes]
    assert all(map(math.isfinite, found))
    assert len(set(found)) == len(found)


# --- Multi-Cell -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cells(source: SourceDomain) -> Base:
    return MultiCell(encoder=TINY, k=3, tasks=2).fit([source], Budget(2))


def test_a_cell_for_every_label_and_one_for_none(cells):
    assert cells.model.encoder.config.recurrent == "cells-2"
    assert cells.model.encoder.recurrent.cells == 2


def test_a_base_without_cells_is_refused(base, source):
    with pytest.raises(IncompatibleMethod, match="no cells"):
        MultiCell(encoder=TINY).adapt(base, TRAIN[:5], sources=[source])


def test_multi_cell_adds_up(cells):
    """The two further losses token by token, of what a listener hears; cell lines have no cell."""
    told = {"source_share": 0.3, "type_weight": 2.0, "attention_weight": 0.5}
    config = MultiCell(adaptation=told).config.adaptation
    objective = MultiCellObjective(cells, AdaptRequest(LINES[:6]), config, {"Gene": TRAIN[:20]})
    encoder, generator = cells.model.encoder, torch.Generator().manual_seed(1)
    both = LabelSet(("CellLine", "Gene"))
    decoders = [CRF(encoder.width, labels, generator) for labels in (LabelSet(("Gene",)), both)]
    lists = [TRAIN[:3], [*TRAIN[5:7], *LINES[:2]]]
    parts = encode_lists(objective.encode, cells.batcher, both, lists)
    found = objective.pair_loss(
        lambda: tuple(EncodedSide(p, d, both) for p, d in zip(parts, decoders, strict=True))
    )
    want = 0.0
    for share, own, decoder in zip((0.3, 0.7), lists, decoders, strict=True):
        want += share * naive_loss(cells, decoder, own)
        said, looked, count = 0.0, 0.0, 0
        for s in own:
            batch = cells.batcher([[s]])
            seen = objective.encode(batch)[0, 0, :, encoder.width :].detach().double()
            for tag, (score, forth, back) in zip(
                s.tags, ((v[:2], v[2:4], v[4:]) for v in seen), strict=True
            ):
                if tag.endswith("CellLine"):
                    continue
                cell = 0 if tag == "O" else 1
                said -= float(score.log_softmax(-1)[cell])
                looked -= (math.log(forth[cell]) + math.log(back[cell])) / 2
                count += 1
        want += share * (2.0 * said + 0.5 * looked) / count
    assert float(found.detach()) == pytest.approx(want, rel=1e-4)
    second = EncodedSide(parts[1], decoders[1], both)
    assert NO_CELL in objective.cells.types_of(second).tolist()


def test_every_loss_of_multi_cell_counts(cells, source):
    def learnt(**settings: Any) -> float:
        steps = {"steps": 3, "epochs": 0, "batch": 3, **settings}
        tagger = MultiCell(encoder=TINY, adaptation=steps).adapt(
            cells, TRAIN[30:36], sources=[source]
        )
        return sum(float(p.detach().double().abs().sum()) for p in tagger.parameters())

    found = [learnt(), learnt(type_weight=0), learnt(attention_weight=0)]
    assert len(set(found)) == 3


# --- Multi-Cell without labels --------------------------------------------------------------------


def test_language_models_read_both_sides(cells):
    """Against the loss of Jia2019's eq. 8, sentence by sentence."""
    encoder, text = cells.model.encoder, [s.without_entities() for s in LINES[:6]]
    generator = torch.Generator().manual_seed(1)
    config = MultiCell(adaptation={"negatives": 7}).config.adaptation
    language = LanguageModels([TRAIN[:8], text], encoder.width, config, generator)
    lists = [TRAIN[:3], text[:2]]
    parts = encode_lists(encoder, cells.batcher, LabelSet(("Gene",)), lists)
    generator.manual_seed(5)
    found = float(language(parts, lists).detach())
    generator.manual_seed(5)
    draws = [NegativeSampler(c).draw(7, generator) for c in language.vocabulary.counts]
    want, half = 0.0, encoder.width // 2
    table = language.words.table.detach().double()
    for own, negatives in zip(lists, draws, strict=True):
        for s in own:
            numbers = [language.vocabulary.number.get(w, UNKNOWN) for w in s.tokens]
            states = encoder(cells.batcher([[s]]))[0, 0].detach().double()
            for place, state in enumerate(states):
                after = numbers[place + 1] if place + 1 < len(numbers) else EDGE
                before = numbers[place - 1] if place else EDGE
                for word, direction in ((after, state[:half]), (before, state[half:])):
                    score = {
                        x: float(table[x, :-1] @ direction + table[x, -1])
                        for x in {word, *negatives.tolist()}
                    }
                    total = math.log(sum(map(math.exp, score.values())))
                    want += (total - score[word]) / (2 * len(own))
    assert found == pytest.approx(want, rel=1e-5)


def test_multi_cell_without_labels_reads_the_text_alone(cells, source):
    def learnt(text: Any, **settings: Any) -> float:
        steps = {"steps": 3, "epochs": 0, "batch": 3, "zero_shot": True, **settings}
        tagger = MultiCell(encoder=TINY, adaptation=steps).adapt(
            cells, [], sources=[source], unlabelled=text
        )
        assert tagger.facts["unlabelled"] == len(text)
        assert tagger.labels.labels == ("Gene",)
        return sum(float(p.detach().double().abs().sum()) for p in tagger.parameters())

    text = TRAIN[30:40]
    bare = [s.without_entities() for s in text]
    assert learnt(text) == learnt(bare)
    assert len({learnt(bare), learnt(bare, lm_weight=0), learnt(bare, type_weight=0)}) == 3
    with pytest.raises(TooFewSentences, match="raw text"):
        learnt([])
