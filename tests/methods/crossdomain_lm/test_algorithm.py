"""Jia2019's Algorithm 1: its step by a naive transcription, its order of updates, zero-shot learning
that reads no label, and its language models."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
import pytest
import torch
from modules_kit import same
from torch.func import functional_call

from adaptner.adaptation.loop import restrict_vocabulary, run
from adaptner.adaptation.request import AdaptRequest
from adaptner.corpora.bundled import bundled_corpus
from adaptner.corpora.corpus import group_by_domain
from adaptner.corpora.sources import SourceDomain, source_domains
from adaptner.errors import (
    BadConfiguration,
    SourcesNeeded,
    TooFewSentences,
    TrainingDiverged,
    UnknownLabels,
)
from adaptner.methods import method
from adaptner.methods.crossdomain_lm.algorithm import CrossDomainObjective
from adaptner.methods.crossdomain_lm.config import CrossDomainConfig
from adaptner.methods.crossdomain_lm.network import LM, NER, DomainTaskStep
from adaptner.models.base import Base
from adaptner.models.provenance import Provenance
from adaptner.models.tagger import Tagger
from adaptner.nn.losses.sampled_softmax import (
    NegativeSampler,
    neighbour_words,
    sampled_softmax_losses,
)
from adaptner.nn.model import TaggingModel
from adaptner.training.budget import Budget
from adaptner.training.optimiser import OptimiserConfig
from adaptner.types import Entity, LabelSet, Sentence
from adaptner.vectors.word_vectors import WordVectors

TINY = {"word_width": 12, "char_embedding": 6, "char_cnn_filters": 6, "hidden": 10, "dropout": 0.2}
# The paper's settings but for the rate, so that a few steps are enough to see.
CONFIG = CrossDomainConfig(
    batch=6,
    steps=4,
    epochs=0,
    optimiser=OptimiserConfig(name="sgd", rate=0.1, momentum=0.0, weight_decay=0.0, clip=1e9),
    encoder_scale=1.0,
)


@pytest.fixture(scope="module")
def sources() -> list[SourceDomain]:
    return source_domains(group_by_domain([bundled_corpus("gene")]))


@pytest.fixture(scope="module")
def base(sources: list[SourceDomain]) -> Base:
    return method("crossdomain-lm")(encoder=TINY).fit(sources, Budget(0))


def labelled(sources: list[SourceDomain]) -> dict[str, list[Sentence]]:
    return {d.name: d.sentences for d in sources}


def target() -> tuple[Sentence, ...]:
    return bundled_corpus("cellline").split("train")[:20]


def make_objective(
    base: Base, sources: list[SourceDomain], config: CrossDomainConfig
) -> CrossDomainObjective:
    request = AdaptRequest(target(), unlabelled=target(), seed=3)
    objective = CrossDomainObjective(base, request, config, labelled(sources))
    restrict_vocabulary(objective)
    return objective


def take_steps(
    objective: CrossDomainObjective, count: int
) -> Iterator[tuple[list[DomainTaskStep], list[list[Sentence]], list[float]]]:
    """The tasks, sentences and losses of each of ``count`` steps at a constant rate."""
    optimiser = objective.optimiser()
    for tasks, sentences in islice(objective.steps(), count):
        losses = objective.step_gradients(tasks, sentences)
        optimiser.step(0.0)
        yield tasks, sentences, losses.tolist()


def vectors_of(sources: list[SourceDomain]) -> WordVectors:
    words = (s.tokens for d in sources for s in d.sentences)
    return WordVectors.random(words, 12, np.random.default_rng(0))


def adapt(
    base: Base, sources: list[SourceDomain], config: CrossDomainConfig = CONFIG, **given: Any
) -> Tagger:
    support = given.pop("support", target())
    request = AdaptRequest(support, **given)
    return run(CrossDomainObjective(base, request, config, labelled(sources)))


# --- one step -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "lexical", [False, True]
)  # lexical features are not for the language models
def test_step_equals_algorithm_1_task_by_task(sources, lexical):
    """Lines 3 to 17: each task generates its BiLSTM by the sum of equation 2, the gradients are added
    up, and one step of gradient descent follows."""
    # Dropout and negatives are drawn for all tasks at once, so there is no dropout here, and the naive
    # computation uses the same negatives.
    encoder = {**TINY, "dropout": 0.0, "lexical_features": lexical, "tune_words": not lexical}
    vectors = vectors_of(sources) if lexical else None
    base = method("crossdomain-lm")(encoder=encoder).fit(sources, Budget(0), vectors=vectors)
    objective = make_objective(base, sources, CONFIG)
    naive = copy.deepcopy(objective.network)
    draws = objective.generator.clone_state()
    ((tasks, drawn, _),) = take_steps(objective, 1)

    generator, encoder = naive.recurrent, naive.model.encoder
    sizes = {n: p.numel() for n, p in encoder.recurrent.named_parameters()}
    total = torch.zeros(())
    order = [(0, NER), (0, LM), (1, NER), (1, LM)]  # source NER, source LM, target NER, target LM
    assert [(t.domain, t.task) for t in tasks] == order
    for (domain, task), sentences in zip(order, drawn, strict=True):
        flat = torch.zeros(sum(sizes.values()))
        for u in range(8):
            for v in range(8):
                flat = flat + (
                    generator.weight[8 * u + v]
                    * generator.domains[domain, u]
                    * generator.tasks[task, v]
                )
        parameters = dict(encoder.named_parameters())
        for (name, size), own in zip(sizes.items(), flat.split(list(sizes.values())), strict=True):
            assert own.numel() == size
            known = parameters[f"recurrent.{name}"]
            parameters[f"recurrent.{name}"] = own.view(known.shape)
        labels = naive.model.labels_of(domain) if task == NER else LabelSet(())
        batch = objective.batcher([sentences], [labels])
        states = functional_call(encoder, parameters, (batch,))
        if task == NER:
            decoder = naive.model.decoder_of(domain)
            total = total + decoder(states, batch.tags, batch.mask).mean()
            continue
        words = objective.vocabulary.numbers(sentences, batch, 0)
        negatives = NegativeSampler(objective.vocabulary.counts[domain]).draw(50, draws)
        table = naive.words.table
        for wanted, half in zip(neighbour_words(words, batch.mask[0]), (0, 1), strict=True):
            own = states[0, ..., 10 * half : 10 * half + 10][batch.mask[0]]
            losses = sampled_softmax_losses(own, table, wanted[batch.mask[0]], negatives)
            total = total + losses.sum() / (2 * len(sentences))
    total.backward()
    with torch.no_grad():
        for p in naive.parameters():
            if p.grad is not None:
                p -= 0.1 * p.grad
    for (name, p), q in zip(objective.network.named_parameters(), naive.parameters(), strict=True):
        torch.testing.assert_close(p, q, atol=2e-5, rtol=1e-4, msg=name)


def test_parameters_change_only_at_the_end_of_a_step(base, sources):
    objective = make_objective(base, sources, CONFIG)
    before = copy.deepcopy(objective.network)
    optimiser = objective.optimiser()
    for tasks, sentences in islice(objective.steps(), 2):
        objective.step_gradients(tasks, sentences)
        assert same(objective.network, before)
    optimiser.step(0.0)
    assert not same(objective.network, before)


def test_gradients_of_word_tables_are_sparse(base, sources):
    objective = make_objective(base, sources, CONFIG)
    objective.step_gradients(*next(objective.steps()))
    network = objective.network
    for table in (network.words.table, network.model.encoder.words.table):
        assert table.grad.is_sparse
        assert table.grad._nnz() < table.shape[-2]
    assert network.recurrent.weight.grad.shape == network.recurrent.weight.shape


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, [(0, NER), (0, LM), (1, NER), (1, LM)]),
        ({"zero_shot": True}, [(0, NER), (0, LM), (1, LM)]),
        ({"data": "target", "domain_size": 0}, [(1, NER), (1, LM)]),  # CO-LM
        ({"data": "ner", "task_size": 0}, [(0, NER), (1, NER)]),  # CO-NER
        ({"mixed_text": True}, [(0, NER), (0, LM), (1, NER), (1, LM)]),  # MIX-DATA
        ({"domain_size": 0, "task_size": 0}, [(0, NER), (0, LM), (1, NER), (1, LM)]),
    ],
)
def test_configuration_decides_the_tasks_of_a_step(settings, expected, base, sources):
    config = CONFIG.model_copy(update=settings)
    objective = make_objective(base, sources, config)
    assert [(t.domain, t.task) for t in objective.tasks(1)] == expected
    assert (objective.network.words is None) == (settings.get("data") == "ner")
    tagger = adapt(base, sources, config)
    assert tagger.facts["steps"] == 4
    assert all(bool(p.isfinite().all()) for p in tagger.parameters())


def test_mixed_text_is_the_text_of_source_and_target(base, sources):
    objective = make_objective(base, sources, CONFIG.model_copy(update={"mixed_text": True}))
    assert objective.vocabulary.sentences == (180, 180)  # 160 of the source and 20 of the target
    assert torch.equal(*objective.vocabulary.counts)


def test_sources_alternate_from_step_to_step(base):
    both = source_domains(group_by_domain([bundled_corpus("gene"), bundled_corpus("drug")]))
    base = method("crossdomain-lm")(encoder=TINY).fit(both, Budget(0))
    objective = make_objective(base, both, CONFIG)
    assert [objective.tasks(i)[0].domain for i in (1, 2, 3)] == [0, 1, 0]
    assert {t.domain for t in objective.tasks(1)[2:]} == {2}


def test_tagger_has_the_generated_layer_of_the_target(base, sources):
    objective = make_objective(base, sources, CONFIG)
    wanted = objective.network.recurrent([(1, NER)])
    objective.finish(0)
    for name, p in objective.network.model.encoder.recurrent.named_parameters():
        assert torch.equal(p, wanted[name])


def test_every_task_starts_from_a_trained_base(sources):
    settings = {"encoder": {**TINY, "char_lstm": 0}, "k": 3, "tasks": 2}
    trained = method("finetuning")(**settings).fit(sources, Budget(2))
    objective = make_objective(trained, sources, CONFIG)
    for name, p in trained.model.encoder.recurrent.named_parameters():
        for domain in (0, 1):
            found = objective.network.recurrent([(domain, NER), (domain, LM)])[name]
            torch.testing.assert_close(found, p.expand_as(found), atol=1e-5, rtol=1e-4)


# --- language models ------------------------------------------------------------------------------


def test_perplexity_falls_on_bundled_text(base, sources):
    config = CONFIG.model_copy(
        update={"batch": 20, "optimiser": OptimiserConfig(name="adamw", rate=2e-2)}
    )
    objective = make_objective(base, sources, config)
    perplexities: dict[int, list[float]] = {0: [], 1: []}
    for tasks, sentences, losses in take_steps(objective, 40):
        for task, own, loss in zip(tasks, sentences, losses, strict=True):
            if task.task == LM:  # eq. 8 is a sum over tokens, averaged over sentences
                per_token = loss * len(own) / sum(map(len, own))
                perplexities[task.domain].append(math.exp(per_token))
    for values in perplexities.values():
        assert sum(values[-5:]) < 0.7 * sum(values[:5])


# --- zero-shot ------------------------------------------------------------------------------------

ZERO = CONFIG.model_copy(update={"zero_shot": True})


class Poisoned(Sentence):
    """A sentence of the target whose labels must not be read."""

    @property
    def entities(self) -> tuple[Entity, ...]:  # type: ignore[override]
        raise AssertionError("a label of the target was read")

    @entities.setter
    def entities(self, value: tuple[Entity, ...]) -> None:
        pass


def poisoned() -> list[Sentence]:
    found = []
    for sentence in target():
        bad = object.__new__(Poisoned)
        for name in ("text", "token_spans", "start"):
            object.__setattr__(bad, name, getattr(sentence, name))
        found.append(bad)
    return found


def test_zero_shot_reads_no_label_of_the_target(base, sources):
    with pytest.raises(AssertionError, match="a label of the target"):
        poisoned()[0].tags  # noqa: B018
    bare = [s.without_entities() for s in target()]
    as_text = adapt(base, sources, ZERO, support=(), unlabelled=poisoned())
    as_support = adapt(base, sources, ZERO, support=poisoned())
    without = adapt(base, sources, ZERO, support=(), unlabelled=bare)
    assert same(as_text, without)
    assert same(as_support, without)
    chosen = method("crossdomain-lm")(adaptation=ZERO.model_dump())
    through = chosen.adapt(base, poisoned(), sources=sources, seed=0)
    assert same(through, without)
    assert without.labels.labels == ("Gene",)
    assert without.facts["sentences"] == 0
    assert without.facts["unlabelled"] == 20


def test_supervised_learning_reads_labels_of_the_target(base, sources):
    with pytest.raises(AssertionError, match="a label of the target"):
        adapt(base, sources, CONFIG, support=poisoned())


def test_zero_shot_refuses_labels_that_no_source_has(base, sources):
    with pytest.raises(UnknownLabels) as error:
        adapt(base, sources, ZERO, labels=LabelSet(("CellLine",)))
    assert "CellLine" in str(error.value)
    assert "Gene" in str(error.value)


def generated_layers(objective: CrossDomainObjective) -> list[torch.Tensor]:
    """The generated parameters of NER in the source and in the target."""
    found = objective.network.recurrent([(0, NER), (1, NER)]).values()
    return list(torch.cat([part.detach().flatten(1) for part in found], 1))


def test_target_without_labels_starts_as_the_source(base, sources):
    """No step trains NER of the target, so a random start would stay unrelated to the source."""
    source, target_layer = generated_layers(make_objective(base, sources, ZERO))
    assert torch.equal(source, target_layer)
    objective = make_objective(base, sources, ZERO)
    assert len(list(take_steps(objective, 3))) == 3
    source, target_layer = generated_layers(objective)
    assert not torch.equal(source, target_layer)  # the language models separate them
    assert float(torch.cosine_similarity(source, target_layer, 0)) > 0.9
    at_random = ZERO.model_copy(update={"near_start": False})
    for config in (at_random, CONFIG):  # with labels, the start is random, as in the paper
        source, target_layer = generated_layers(make_objective(base, sources, config))
        assert abs(float(torch.cosine_similarity(source, target_layer, 0))) < 0.9


def test_zero_shot_without_text_is_refused(base, sources):
    with pytest.raises(TooFewSentences, match="raw text"):
        adapt(base, sources, ZERO, support=())


@pytest.mark.parametrize("data", ["target", "ner"])
def test_zero_shot_with_partial_data_is_refused(data):
    with pytest.raises(BadConfiguration, match="zero_shot"):
        method("crossdomain-lm")(adaptation={"zero_shot": True, "data": data})


# --- a base trained on raw text alone -------------------------------------------------------------


@pytest.fixture
def raw_text_base(sources: list[SourceDomain]) -> Base:
    """Like the shipped base: no domain, no label, and an encoder with lexical features."""
    encoder = {**TINY, "char_lstm": 0, "tune_words": False, "lexical_features": True}
    base = method("crossdomain-lm")(encoder=encoder).fit(
        sources, Budget(0), vectors=vectors_of(sources)
    )
    alone = TaggingModel(base.model.encoder, {}, torch.Generator().manual_seed(2))
    assert alone.domains == ()
    return replace(base, model=alone, facts={"iterations": 4}, provenance=Provenance())


def test_raw_text_base_accepts_any_sources_and_starts_from_its_layers(raw_text_base, sources):
    chosen = method("crossdomain-lm")(adaptation=CONFIG.model_dump())
    unmoved = method("crossdomain-lm")(adaptation={**CONFIG.model_dump(), "encoder_scale": 1e-9})
    bare = [s.without_entities() for s in target()]
    tagger = chosen.adapt(raw_text_base, target(), sources=sources, unlabelled=bare)
    assert tagger.facts["source_sentences"] == 160
    assert tagger.labels.labels == ("CellLine",)
    before = dict(raw_text_base.model.encoder.named_parameters())
    kept = unmoved.adapt(raw_text_base, target(), sources=sources, unlabelled=bare)
    for name, p in kept.encoder.named_parameters():
        torch.testing.assert_close(p, before[name], atol=1e-5, rtol=1e-4)
    without = method("crossdomain-lm")(adaptation=ZERO.model_dump())
    zero = without.adapt(raw_text_base, (), sources=sources, unlabelled=bare)
    assert (zero.labels.labels, zero.facts["sentences"]) == (("Gene",), 0)


def test_raw_text_base_without_sources_learns_from_the_target_alone(raw_text_base):
    """This is CO-LM: NER and language modelling of the target, without domain embeddings."""
    bare = [s.without_entities() for s in target()]
    chosen = method("crossdomain-lm")(adaptation=CONFIG.model_dump())
    co_lm = CONFIG.model_copy(update={"data": "target", "domain_size": 0})
    found = chosen.adapt(raw_text_base, target(), unlabelled=bare)
    request = AdaptRequest(target(), unlabelled=bare)
    assert same(found, run(CrossDomainObjective(raw_text_base, request, co_lm, {})))
    assert (found.facts["source_sentences"], found.facts["unlabelled"]) == (0, 20)
    without = method("crossdomain-lm")(adaptation=ZERO.model_dump())
    with pytest.raises(SourcesNeeded, match=r"given: none\n.*any: it has learnt from raw text"):
        without.adapt(raw_text_base, (), unlabelled=bare)


# --- raw text -------------------------------------------------------------------------------------


def test_text_is_read_from_files_up_to_a_limit(base, sources, tmp_path):
    for name in ("source", "target"):
        lines = [s.text for s in bundled_corpus("drug").split("train")[:30]]
        (tmp_path / f"{name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    config = CONFIG.model_copy(
        update={
            "source_text": (str(tmp_path / "source.txt"),),
            "target_text": (str(tmp_path / "target.txt"),),
            "target_sentences": 7,
        }
    )
    objective = make_objective(base, sources, config)
    assert objective.vocabulary.sentences[1] == 7
    assert objective.vocabulary.sentences[0] >= 30
    assert adapt(base, sources, config).facts["unlabelled"] == 7


# --- the run --------------------------------------------------------------------------------------


def test_divergence_raises(base, sources):
    wild = OptimiserConfig(name="sgd", rate=1e30, momentum=0.0, clip=1e30)
    with pytest.raises(TrainingDiverged):
        adapt(base, sources, CONFIG.model_copy(update={"optimiser": wild}))


def test_frozen_vectors_are_not_trained(sources):
    chosen = method("crossdomain-lm")(encoder={**TINY, "tune_words": False})
    base = chosen.fit(sources, Budget(0), vectors=vectors_of(sources))
    tagger = adapt(base, sources)
    assert not list(tagger.encoder.words.parameters())
