"""Training `named` on sources: the encoder and the decoders of the base are kept, a decoder is added."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from builders import equal_parameters
from terms_base_kit import default_base_without_terms

from adaptner.corpora.bundled import bundled_corpus
from adaptner.corpora.corpus import group_by_domain
from adaptner.corpora.sources import source_domains
from adaptner.methods import method
from adaptner.metrics.spans import score_tags
from adaptner.models.base import Base
from adaptner.nn.decoders.crf import CRF
from adaptner.nn.heads.label_probes import LabelProbes
from adaptner.training.budget import Budget

SETTINGS = {"k": 4, "tasks": 2}


@pytest.fixture(scope="module")
def start() -> Base:
    torch.set_num_threads(1)
    return default_base_without_terms().of_domains(["Disease"])


@pytest.fixture(scope="module")
def learnt(start: Base) -> Base:
    return method("named")(**SETTINGS).fit(sources("cellline"), Budget(60), start=start)


def sources(*names: str) -> list:
    return source_domains(group_by_domain([bundled_corpus(n) for n in names]))


def test_encoder_of_the_start_is_unchanged(start, learnt):
    assert equal_parameters(learnt.model.encoder, start.model.encoder)
    assert learnt.label_probes is start.label_probes


def test_decoders_of_the_start_are_kept(start, learnt):
    assert learnt.model.domains == ("Disease", "CellLine")
    assert equal_parameters(learnt.model.decoder_of(0), start.model.decoder_of(0))


def test_decoder_of_a_new_source_is_trained(learnt):
    decoder = learnt.model.decoder_of(1)
    assert isinstance(decoder, CRF)
    test = bundled_corpus("cellline").split("test")
    guessed, gold = [], []
    for sentence in test:
        batch = learnt.batcher([[sentence]])
        with torch.no_grad():
            best = decoder.decode(learnt.model.encoder(batch), batch.mask)[0, 0]
        guessed.append([decoder.labels.tags[i] for i in best.tolist()])
        gold.append(list(sentence.tags))
    assert score_tags(gold, guessed).overall.f1 > 0.6


def test_gradient_is_that_of_the_label_losses(start):
    """One step of plain descent against autograd on the decoder."""
    options = {"name": "sgd", "rate": 0.01, "momentum": 0.0, "weight_decay": 0.0, "clip": 1e9}
    settings = {**SETTINGS, "tasks": 1, "optimiser": {**options, "schedule": "constant"}}
    chosen = method("named")(**settings, decoder_scale=3.0)
    own = sources("cellline")
    before = chosen.fit(own, Budget(0), start=start).model.decoder_of(1)
    after = chosen.fit(own, Budget(1), start=start).model.decoder_of(1)
    from random import Random

    from adaptner.episodes import TaskSource

    task = TaskSource([d.corpora for d in own], 4).sample(Random(0))
    batch = start.batcher([[*task.support, *task.query]], [before.labels])
    with torch.no_grad():
        states = start.model.encoder(batch)
    loss = before(states, batch.tags, batch.mask).mean()
    slopes = torch.autograd.grad(loss, list(before.parameters()))
    for p, q, slope in zip(before.parameters(), after.parameters(), slopes, strict=True):
        torch.testing.assert_close(q, p - 0.03 * slope, atol=1e-5, rtol=1e-4)


def test_encoder_is_trained_without_a_start():
    base = method("named")(**SETTINGS).fit(sources("cellline"), Budget(1))
    untouched = method("named")(**SETTINGS).fit(sources("cellline"), Budget(0))
    assert not equal_parameters(base.model.encoder, untouched.model.encoder)


def test_domains_can_be_removed_and_restored(start, learnt, tmp_path):
    assert learnt.of_domains([]).model.domains == ()
    named = replace(learnt, label_probes=None).of_domains(["CellLine"])
    assert named.model.domains == ("CellLine",)
    learnt.save(tmp_path / "base")
    again = Base.load(tmp_path / "base")
    assert again.model.domains == learnt.model.domains
    assert isinstance(again.label_probes, LabelProbes)
    assert equal_parameters(again.model, learnt.model)


def test_decoders_of_another_shape_are_not_kept(start):
    shared = method("named")(**SETTINGS, decoders="shared")
    base = shared.fit(sources("cellline", "drug"), Budget(1), start=start)
    assert base.model.domains == ("CellLine", "Drug")
    assert base.label_probes is start.label_probes
