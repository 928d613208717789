"""WPZ: its episodes and its adaptation against loops over tokens, and gradients by finite differences."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch
from builders import random_tensor, sentence
from naive_tagger import Lexicon, Values, gold_tags, gradient, leaves, states_of, values_of
from torch import Tensor

import adaptner.methods.wpz.adaptation as wpz_adaptation
from adaptner.adaptation.fine_tune import FineTuneConfig
from adaptner.adaptation.loop import restrict_vocabulary, run
from adaptner.adaptation.request import AdaptRequest
from adaptner.adaptation.sentence_batches import SentenceBatches
from adaptner.corpora.sources import SourceDomain
from adaptner.episodes import TaskSource
from adaptner.methods.families.source_pretrained import FitContext, build_model
from adaptner.methods.wpz import WPZ
from adaptner.methods.wpz.adaptation import PrototypeEpisodes, episode_loss
from adaptner.models.base import Base
from adaptner.nn.batching.word_batch import WordBatcher
from adaptner.nn.encoders.config import EncoderConfig
from adaptner.nn.encoders.recurrent import RecurrentEncoder
from adaptner.nn.model import ModelShape, TaggingModel
from adaptner.training.budget import Budget
from adaptner.training.checkpoint import TrainingState
from adaptner.training.optimiser import Optimiser, OptimiserConfig
from adaptner.types import LabelSet, Sentence
from adaptner.vectors.word_vectors import WordVectors

LABELS = LabelSet(("X", "Y"))
WORDS = ("the", "of", "gene", "dose")
VECTORS = WordVectors(WORDS, np.random.default_rng(3).normal(size=(4, 3)).astype(np.float32))
ENCODER = EncoderConfig(
    char_embedding=2,
    char_cnn_widths=(2, 3),
    char_cnn_filters=2,
    char_lstm=0,
    recurrent="gru",
    hidden=2,
    dropout=0.0,
    tune_words=True,
)


EPISODES = [  # support and query
    (
        [sentence("the gene dose", "O B-X I-X"), sentence("p53", "B-X")],
        [sentence("of p53", "O B-X"), sentence("the dose of gene", "O B-Y O B-X")],
    ),
    (
        [sentence("dose dose", "B-Y I-Y"), sentence("of the p53 of", "O O B-X B-Y")],
        [sentence("gene gene the", "B-X O B-Y"), sentence("dose of", "B-Y I-Y")],
    ),
]


def make_model() -> tuple[TaggingModel, WordBatcher]:
    batcher = WordBatcher(VECTORS, "dehnop35")
    g = torch.Generator().manual_seed(0)
    encoder = RecurrentEncoder(ENCODER, batcher, g)
    shape = ModelShape(decoder="prototypes", shared=True)
    model = TaggingModel(encoder, {"x": LABELS, "y": LABELS}, g, shape).double()
    with torch.no_grad():
        for p in model.parameters():  # far from their small initial values
            p.copy_(torch.randn(p.shape, generator=g, dtype=torch.float64))
    return model, batcher


TUNE = FineTuneConfig(
    batch=5,
    encoder_scale=0.5,
    optimiser=OptimiserConfig(
        name="sgd", rate=0.2, momentum=0, weight_decay=0, clip=1e9, schedule="constant"
    ),
)


def base_of(model: TaggingModel, batcher: WordBatcher) -> Base:
    return Base(model, batcher, "wpz", {}, {"vectors": "given", "iterations": 1})


def lexicon_of(batcher: WordBatcher) -> Lexicon:
    return Lexicon(WORDS, VECTORS.table, batcher.alphabet)


def episode(model: TaggingModel, batcher: WordBatcher, numbers: list[int], p: Values) -> Tensor:
    support, query = (
        batcher([EPISODES[n][half] for n in numbers], [LABELS] * len(numbers)) for half in (0, 1)
    )
    states = model.states(p, support), model.states(p, query)
    outside, classes = p["decoder.outside"], len(LABELS.tags)
    return episode_loss(states[0], support, states[1], query, outside, classes)


def naive_means(values: Values, lexicon: Lexicon, support: list[Sentence], labels: LabelSet):
    members: dict[str, list[Tensor]] = {}
    for s in support:
        tags = gold_tags(s, labels.scheme == "bioes")
        for state, tag in zip(states_of(values, lexicon, s.tokens), tags, strict=True):
            members.setdefault(tag, []).append(state)
    members.pop("O", None)
    return {tag: sum(states) / len(states) for tag, states in members.items()}


def naive_episode(
    values: Values,
    outside: Tensor,
    lexicon: Lexicon,
    support: list[Sentence],
    query: list[Sentence],
    labels: LabelSet = LABELS,
) -> Tensor:
    """The loss of Fritzler et al. as a loop over tokens."""
    means = naive_means(values, lexicon, support, labels)
    total = torch.zeros((), dtype=torch.float64)
    for s in query:
        tags = gold_tags(s, labels.scheme == "bioes")
        for state, tag in zip(states_of(values, lexicon, s.tokens), tags, strict=True):
            scores = {"O": outside}
            for known, mean in means.items():
                scores[known] = -((state - mean) ** 2).sum()
            if tag in scores:
                total = total + torch.stack(list(scores.values())).exp().sum().log() - scores[tag]
    return total / len(query)


def test_episode_loss_equals_a_loop_over_tokens():
    model, batcher = make_model()
    lexicon = lexicon_of(batcher)
    values = values_of(model)
    outside = model.decoder_of(0).outside.detach()[0]
    found = episode(model, batcher, [0, 1], model.stack_tasks([0, 1]))
    for g, (support, query) in enumerate(EPISODES):
        expected = naive_episode(values, outside, lexicon, support, query)
        assert found[g].item() == pytest.approx(expected.item(), abs=1e-10)


def test_tasks_at_once_equal_separate_tasks():
    model, batcher = make_model()

    def with_gradients(numbers: list[int]) -> tuple[Tensor, Values]:
        at = {n: p.requires_grad_() for n, p in model.stack_tasks([0] * len(numbers)).items()}
        losses = episode(model, batcher, numbers, at)
        found = torch.autograd.grad(losses.sum(), list(at.values()))
        return losses.detach(), dict(zip(at, found, strict=True))

    losses, gradients = with_gradients([0, 1, 0])
    for g, number in enumerate([0, 1, 0]):
        alone, own = with_gradients([number])
        torch.testing.assert_close(losses[g], alone[0], atol=1e-12, rtol=0)
        for name, value in own.items():
            torch.testing.assert_close(gradients[name][g], value[0], atol=1e-12, rtol=0, msg=name)
    assert abs(losses[0] - losses[1]) > 0.1


def test_episode_gradient_equals_finite_differences():
    """For every parameter of the encoder, which affects means and query states, and for the score of O."""
    model, batcher = make_model()
    start, step = model.stack_tasks([0, 1]), 1e-5
    at = {n: p.clone().requires_grad_() for n, p in start.items()}
    found = torch.autograd.grad(episode(model, batcher, [0, 1], at).sum(), list(at.values()))
    for number, (name, gradient_) in enumerate(zip(at, found, strict=True)):
        value = start[name]
        towards = random_tensor(*value.shape, seed=number)
        with torch.no_grad():
            ahead = episode(model, batcher, [0, 1], {**start, name: value + step * towards})
            behind = episode(model, batcher, [0, 1], {**start, name: value - step * towards})
        expected = (ahead - behind) / (2 * step)
        ours = (gradient_ * towards).reshape(len(value), -1).sum(1)
        torch.testing.assert_close(ours, expected, atol=1e-7, rtol=1e-6, msg=name)
        assert expected.abs().max() > 1e-3, name


def corpus(label: str, seed: int) -> list[Sentence]:
    rng = random.Random(seed)
    found = []
    for number in range(8):
        tokens = [rng.choice((*WORDS, "p53")) for _ in range(rng.randint(1, 4))]
        tokens[0] = f"s{number}"
        tags = [rng.choice(("O", f"B-{label}")) for _ in tokens]
        if tags[-1][0] == "B":
            tokens.append("end")
            tags.append(f"I-{label}")
        found.append(Sentence.from_tokens(tokens, tags))
    return found


@pytest.mark.parametrize("scheme", ["bio", "bioes"])
def test_iteration_equals_a_naive_transcription(scheme):
    """The gradient is the mean over the sampled episodes."""
    sources = [
        SourceDomain(n, LabelSet((n,)), {n: corpus(n, seed)}, {}) for seed, n in enumerate("XY")
    ]
    method = WPZ(k=3, tasks=3, encoder=ENCODER.model_dump(), scheme=scheme)
    generator = torch.Generator().manual_seed(1)
    model, batcher = build_model(sources, method.config, VECTORS, 1, generator)
    model.double()
    with torch.no_grad():
        model.decoder_of(0).outside.fill_(-0.3)
        model.encoder.recurrent.input_weight.mul_(2)
    state = TrainingState(
        model, Optimiser(model.parameters(), method.config.optimiser), random.Random(1), generator
    )
    report = method.iteration(FitContext(model, batcher, sources, state))(1)

    source, rng = TaskSource([d.corpora for d in sources], 3), random.Random(1)
    drawn = [source.sample(rng) for _ in range(3)]
    assert {task.domain for task in drawn} == {0, 1}
    lexicon = lexicon_of(batcher)
    theta = leaves(values_of(model.encoder))
    theta = {f"encoder.{n}": v for n, v in theta.items()}
    outside = torch.tensor(-0.3, dtype=torch.float64, requires_grad=True)
    labels = LabelSet(("X", "Y"), scheme)  # type: ignore[arg-type]
    losses = [
        naive_episode(theta, outside, lexicon, list(t.support), list(t.query), labels)
        for t in drawn
    ]
    mean = sum(losses) / 3
    assert report.loss == pytest.approx(mean.item(), abs=1e-9)
    expected = gradient(mean, {**theta, "decoder.0.outside": outside})
    found = dict(model.named_parameters())
    assert set(found) == set(expected)
    for name, p in found.items():
        torch.testing.assert_close(p.grad[0], expected[name], atol=1e-9, rtol=0, msg=name)
        assert p.grad.abs().max() > 1e-4, name


@pytest.mark.parametrize("at_once", [1, 3, 7, 64])
def test_means_from_batches_equal_means_of_one_pass(at_once, monkeypatch):
    model, batcher = make_model()
    sentences = [*corpus("X", 5), *corpus("Y", 6), *(s for half in EPISODES[0] for s in half)]
    labels = LabelSet(("X", "Y", "Z"))
    monkeypatch.setattr(wpz_adaptation, "ENCODING_BATCH", at_once)
    request = AdaptRequest(sentences, labels)
    objective = PrototypeEpisodes(base_of(model, batcher), request, TUNE)
    restrict_vocabulary(objective)
    means, seen = objective.target_means()
    expected = naive_means(values_of(model), lexicon_of(batcher), sentences, labels)
    assert {labels.tags[t] for t in seen[0].nonzero().flatten().tolist()} == set(expected)
    assert "B-Z" not in expected
    for tag, mean in expected.items():
        torch.testing.assert_close(means[0, labels.index[tag]], mean, atol=1e-12, rtol=0)
    assert not means.requires_grad


def test_target_step_is_an_episode_of_two_halves():
    model, batcher = make_model()
    sentences = [*corpus("X", 5), *corpus("Y", 6)]
    request = AdaptRequest(sentences, budget=Budget(2), seed=4)
    tagger = run(PrototypeEpisodes(base_of(model, batcher), request, TUNE))
    lexicon = lexicon_of(batcher)
    batches = SentenceBatches(sentences, 5, random.Random(4))
    theta = {n: v for n, v in values_of(model).items() if n.startswith("encoder.")}
    outside = model.decoder_of(0).outside.detach()[0]
    for _ in range(2):
        drawn = batches.next()
        at = {**leaves(theta), "outside": outside.clone().requires_grad_()}
        loss = naive_episode(at, at["outside"], lexicon, drawn[:2], drawn[2:])
        slopes = gradient(loss, at)
        theta = {n: v - 0.1 * slopes[n] for n, v in theta.items()}
        outside = outside - 0.2 * slopes["outside"]
    learnt = {f"encoder.{n}": v for n, v in values_of(tagger.encoder).items()}
    for name, value in theta.items():
        torch.testing.assert_close(learnt[name], value, atol=1e-9, rtol=0, msg=name)
    decoder = tagger.decoder
    assert decoder.outside.item() == pytest.approx(outside.item(), abs=1e-9)
    assert abs(decoder.outside.item() - model.decoder_of(0).outside.item()) > 1e-3
    # the means of all sentences, encoded after training
    for tag, mean in naive_means(learnt, lexicon, sentences, LABELS).items():
        row = tagger.labels.index[tag]
        assert decoder.seen[0, row]
        torch.testing.assert_close(decoder.means[0, row], mean, atol=1e-9, rtol=0)
    assert not decoder.seen[0, 0]


def test_single_sentence_gives_means_without_a_step():
    model, batcher = make_model()
    request = AdaptRequest(EPISODES[0][0][:1])
    tagger = run(PrototypeEpisodes(base_of(model, batcher), request, TUNE))
    assert tagger.facts["steps"] == 0
    assert tagger.decoder.outside.item() == model.decoder_of(0).outside.item()
    lexicon = lexicon_of(batcher)
    expected = naive_means(values_of(model), lexicon, EPISODES[0][0][:1], tagger.labels)
    assert set(expected) == {"B-X", "I-X"}
    for tag, mean in expected.items():
        row = tagger.labels.index[tag]
        torch.testing.assert_close(tagger.decoder.means[0, row], mean, atol=1e-12, rtol=0)
