"""MultiTask, AGG and DANN: steps over target and sources against a naive transcription."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import torch
from naive_tagger import (
    Lexicon,
    Values,
    domain_loss,
    gradient,
    label_loss,
    leaves,
    under,
    values_of,
)

import adaptner.adaptation.joint_training as joint_tune
import adaptner.nn.heads.attention_head as attention_head
from adaptner.adaptation.joint_training import adversary_ramp
from adaptner.corpora.sources import SourceDomain
from adaptner.errors import SourcesNeeded
from adaptner.methods.agg import AGG
from adaptner.methods.base import Method
from adaptner.methods.dann import DANN
from adaptner.methods.finetuning import FineTuning
from adaptner.methods.multitask import MultiTask
from adaptner.models.base import Base
from adaptner.nn.batching.word_batch import WordBatcher
from adaptner.nn.encoders.config import EncoderConfig
from adaptner.nn.encoders.recurrent import RecurrentEncoder
from adaptner.nn.model import Losses, ModelShape, TaggingModel
from adaptner.training.budget import Budget
from adaptner.types import LabelSet, Sentence
from adaptner.vectors.word_vectors import WordVectors

WORDS = ("the", "of", "gene", "dose", "cell", "never")
TABLE = np.random.default_rng(3).normal(size=(6, 3)).astype(np.float32)
VECTORS = WordVectors(WORDS, TABLE)
SOURCES = {"gene": ("G",), "drug": ("D", "E"), "species": ("S",)}
NEW = ("N", "G")  # a source has the second label


def corpus(labels: tuple[str, ...], name: str, size: int) -> list[Sentence]:
    rng = random.Random(name)
    found = []
    for number in range(size):
        tokens = [rng.choice((*WORDS[:-1], "Gene", "Ras")) for _ in range(rng.randint(1, 4))]
        tokens[-1] = f"{name[0]}{number}"  # distinct tokens, across domains too
        tags = ["O"] * len(tokens)
        if number % 4:
            at = rng.randrange(len(tokens))
            label = labels[number % len(labels)]
            tags[at] = f"B-{label}"
            if at + 1 < len(tokens) and rng.random() < 0.5:
                tags[at + 1] = f"I-{label}"
        found.append(Sentence.from_tokens(tokens, tags))
    return found


CORPORA = {name: corpus(labels, name, 5 + i) for i, (name, labels) in enumerate(SOURCES.items())}
TARGET = corpus(NEW, "new", 5)
TEXT = corpus(NEW, "raw", 6)


def domains(*names: str) -> list[SourceDomain]:
    return [SourceDomain(n, LabelSet(SOURCES[n]), {n: CORPORA[n]}, {}) for n in names]


@pytest.fixture
def _double() -> Iterator[None]:
    """New tensors are float64, like the base."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def base(shared: bool = False, scheme: str = "bioes", tuned: bool = True) -> Base:
    batcher = WordBatcher(VECTORS, "gendosr123")
    g = torch.Generator().manual_seed(0)
    config = EncoderConfig(
        char_embedding=2,
        char_cnn_widths=(2, 3),
        char_cnn_filters=2,
        char_lstm=0,
        recurrent="gru",
        hidden=2,
        dropout=0.0,
        tune_words=tuned,
    )
    encoder = RecurrentEncoder(config, batcher, g)
    labels = {n: LabelSet(x, scheme) for n, x in SOURCES.items()}  # type: ignore[arg-type]
    model = TaggingModel(encoder, labels, g, ModelShape(shared=shared)).double()
    return Base(model, batcher, "finetuning", {}, {"vectors": "given", "iterations": 1})


OPTIONS: dict[str, Any] = {
    "batch": 3,
    "encoder_scale": 0.5,
    "source_tasks": 2,
    "source_weight": 0.7,
    "optimiser": {
        "name": "sgd",
        "rate": 0.4,
        "momentum": 0.0,
        "weight_decay": 0.0,
        "clip": 1e9,
        "schedule": "constant",
    },
}
METHODS: dict[str, type[Method]] = {"multitask": MultiTask, "agg": AGG, "dann": DANN}


@dataclass
class Spy:
    """The model of a run, its parameters before the first step, and the data and losses of each step."""

    model: Any = None
    start: Values = field(default_factory=dict)
    tasks: list[list[list[Sentence]]] = field(default_factory=list)
    losses: list[Losses] = field(default_factory=list)


@pytest.fixture
def spy(monkeypatch: pytest.MonkeyPatch) -> Spy:
    found = Spy()

    class Watched(TaggingModel):
        def __init__(self, *given: Any, **options: Any) -> None:
            super().__init__(*given, **options)
            found.model = self

        def losses(self, *given: Any, **options: Any) -> Losses:
            found.start = found.start or values_of(self)
            losses = super().losses(*given, **options)
            found.losses.append(losses)
            return losses

    made = WordBatcher.__call__

    def call(self: WordBatcher, tasks: Sequence[Sequence[Sentence]], labels: Any = None) -> Any:
        if labels is not None:
            found.tasks.append([list(task) for task in tasks])
        return made(self, tasks, labels)

    monkeypatch.setattr(joint_tune, "TaggingModel", Watched)
    monkeypatch.setattr(WordBatcher, "__call__", call)
    return found


def domain_of(task: list[Sentence], names: Sequence[str]) -> int:
    for number, name in enumerate(names):
        if all(s in CORPORA[name] for s in task):
            return number
    raise AssertionError("the sentences are not of one source")


@dataclass
class Naive:
    """Joint steps of gradient descent, one task and one sentence at a time."""

    values: Values
    lexicon: Lexicon
    names: Sequence[str]
    tags: list[tuple[str, ...]]  # of each decoder
    adversary: float | None
    steps: int

    def number(self, domain: int) -> int:
        return domain if len(self.tags) > 1 else 0

    def label(self, p: Values, task: list[Sentence], domain: int) -> torch.Tensor:
        number = self.number(domain)
        phi = under(p, f"decoder.{number}.")
        return label_loss(p, phi, self.tags[number], self.lexicon, task)

    def step(self, done: int, tasks: list[list[Sentence]]) -> tuple[float, float]:
        p = leaves(self.values)
        target, *others = tasks
        assert all(s in TARGET for s in target)
        text = others.pop() if self.adversary is not None else []
        label = self.label(p, target, len(self.names))
        for task in others:
            share = OPTIONS["source_weight"] / len(others)
            label = label + share * self.label(p, task, domain_of(task, self.names))
        gradients = gradient(label, p)
        domain = torch.zeros(())
        if self.adversary is not None:
            gamma = under(p, "head.")
            domain = domain_loss(p, gamma, 1, self.lexicon, text) / 2
            for task in others:
                domain = domain + domain_loss(p, gamma, 0, self.lexicon, task) / (2 * len(others))
            lam = self.adversary * (2 / (1 + math.exp(-10 * done / self.steps)) - 1)
            for name, slope in gradient(domain, p).items():
                # The encoder's gradient is reversed, and its weight grows with the steps done.
                gradients[name] = gradients[name] + (
                    slope if name.startswith("head.") else -lam * slope
                )
        for name, slope in gradients.items():
            rate = OPTIONS["optimiser"]["rate"] * (0.5 if name.startswith("encoder.") else 1.0)
            self.values[name] = self.values[name] - rate * slope
        return label.item(), domain.item()


def run(
    name: str,
    given: Base,
    names: Sequence[str] = ("species", "gene"),
    steps: int = 3,
    text: Sequence[Sentence] = (),
    **options: Any,
):
    kind = METHODS[name]
    adaptation = {**OPTIONS, **({"aux_weight": 0.9} if name == "dann" else {}), **options}
    return kind(adaptation=adaptation).adapt(
        given,
        TARGET,
        sources=domains(*names),
        unlabelled=text,
        budget=Budget(steps),
        seed=1,
    )


CASES = {
    "multitask": ("multitask", {}),
    "multitask, one decoder before": ("multitask", {"shared": True}),
    "multitask, frozen vectors": ("multitask", {"tuned": False}),
    "multitask, bio": ("multitask", {"scheme": "bio"}),
    "agg": ("agg", {}),
    "agg, one decoder before": ("agg", {"shared": True}),
    "dann": ("dann", {}),
    "dann, one decoder before": ("dann", {"shared": True}),
}


@pytest.mark.slow
@pytest.mark.usefixtures("_double")
@pytest.mark.parametrize("case", CASES)
def test_joint_steps_equal_the_naive_ones(case, spy):
    name, shape = CASES[case]
    given, names, steps = base(**shape), ("species", "gene"), 3
    before = values_of(given.model)
    text = TEXT if name == "dann" else []
    tagger = run(name, given, names, steps, text)
    start = dict(spy.start)
    if "encoder.words.table" in start:  # restricted during the run
        start["encoder.words.table"] = before["encoder.words.table"]
    naive = Naive(
        dict(start),
        Lexicon(WORDS, TABLE, given.batcher.alphabet),
        names,
        [d.labels.tags for d in spy.model.decoder],
        0.9 if name == "dann" else None,
        steps,
    )
    assert len(naive.tags) == (1 if name == "agg" else 3)
    assert len(spy.tasks) == steps
    for done, tasks in enumerate(spy.tasks):
        assert len(tasks) == 1 + OPTIONS["source_tasks"] + (name == "dann")
        label, domain = naive.step(done, tasks)
        found = spy.losses[done]
        weights = torch.tensor([1.0, 0.35, 0.35, 0.0][: len(tasks)])
        assert (found.label @ weights).item() == pytest.approx(label, abs=1e-9)
        if name == "dann":
            assert found.aux is not None
            shares = torch.tensor([0.0, 0.25, 0.25, 0.5])
            assert (found.aux @ shares).item() == pytest.approx(domain, abs=1e-9)
        else:
            assert found.aux is None
    after = values_of(spy.model)
    assert set(after) == set(naive.values)
    for parameter, value in after.items():
        torch.testing.assert_close(value, naive.values[parameter], atol=1e-9, rtol=0, msg=parameter)
        assert (value - start[parameter]).abs().max() > 1e-7, parameter
    assert any(parameter.startswith("head.") for parameter in after) == (name == "dann")
    # The tagger has the joint model's encoder and the target's decoder; the base has not changed.
    assert tagger.encoder is spy.model.encoder
    assert tagger.decoder is spy.model.decoder[0 if name == "agg" else 2]
    assert all(torch.equal(v, before[n]) for n, v in values_of(given.model).items())
    assert tagger.method == name
    assert tagger.facts["steps"] == steps
    assert tagger.facts["source_sentences"] == sum(len(CORPORA[n]) for n in names)


def test_adversary_ramp_rises_from_zero_to_one():
    assert adversary_ramp(0) == 0
    assert adversary_ramp(0.1) == pytest.approx(math.tanh(0.5))
    assert adversary_ramp(0.5) == pytest.approx(math.tanh(2.5))
    assert 0.9999 < adversary_ramp(1) < 1


@pytest.mark.usefixtures("_double")
def test_source_smaller_than_a_batch_is_repeated(spy):
    """The target's batch keeps its size, so that the target is read as often as in fine-tuning."""
    small = [SourceDomain("gene", LabelSet(("G",)), {"gene": CORPORA["gene"][:2]}, {})]
    MultiTask(adaptation=OPTIONS).adapt(base(), TARGET, sources=small, budget=Budget(2))
    assert [[len(task) for task in tasks] for tasks in spy.tasks] == [[3, 3, 3]] * 2


# --- start of the decoders ------------------------------------------------------------------------


def assert_tags_equal(
    joint: Values,
    joint_tags: Sequence[str],
    of_base: Values,
    base_tags: Sequence[str],
    of: set[str],
) -> None:
    for tag in of:
        i, k = joint_tags.index(tag), base_tags.index(tag)
        for name in ("weight", "bias", "start", "end"):
            assert torch.equal(joint[name][i], of_base[name][k]), (name, tag)
        for other in of:
            j, m = joint_tags.index(other), base_tags.index(other)
            assert joint["transition"][i, j] == of_base["transition"][k, m], (tag, other)


@pytest.mark.usefixtures("_double")
@pytest.mark.parametrize("name", ["multitask", "dann"])
def test_source_decoders_are_copied_and_the_target_has_a_new_one(name, spy):
    given, names = base(), ("species", "drug", "gene")  # not in the base's order
    run(name, given, names, steps=1)
    before = values_of(given.model)
    for number, own in enumerate(names):
        there = list(SOURCES).index(own)
        joint, of_base = under(spy.start, f"decoder.{number}."), under(before, f"decoder.{there}.")
        assert set(joint) == set(of_base) == {"weight", "bias", "transition", "start", "end"}
        assert all(torch.equal(v, of_base[n]) for n, v in joint.items()), own
        assert spy.model.labels_of(number) == given.model.labels_of(there)
    # The target's decoder is random although a source has one of its labels.
    labels = LabelSet(NEW, "bioes")
    assert spy.model.labels_of(3) == labels
    gene = under(before, "decoder.0.")
    joint = under(spy.start, "decoder.3.")
    for tag in ("O", "B-G", "S-G"):
        there = LabelSet(("G",), "bioes").index[tag]
        assert not torch.equal(joint["weight"][labels.index[tag]], gene["weight"][there])


@pytest.mark.usefixtures("_double")
def test_target_keeps_tags_of_a_base_with_one_decoder(spy):
    given = base(shared=True)
    run("multitask", given, ("gene",), steps=1)
    (source,) = given.model.decoder
    known = values_of(source)
    assert all(torch.equal(v, known[n]) for n, v in under(spy.start, "decoder.0.").items())
    target = spy.model.labels_of(1)
    kept = {"O", "B-G", "I-G", "E-G", "S-G"}
    assert_tags_equal(
        under(spy.start, "decoder.1."), target.tags, known, source.labels.tags, of=kept
    )
    assert "B-N" in target.tags  # random


@pytest.mark.usefixtures("_double")
@pytest.mark.parametrize("shared", [True, False])
def test_decoder_of_agg_has_the_labels_of_all_domains(shared, spy):
    given = base(shared=shared)
    tagger = run("agg", given, ("species", "drug"), steps=1)
    every = {*NEW, *SOURCES["species"], *SOURCES["drug"]}
    if shared:  # the base's decoder has the labels of all its domains
        every |= {*SOURCES["gene"]}
    assert set(tagger.labels.labels) == every
    assert tagger.labels.scheme == "bioes"
    before = values_of(given.model)
    joint = under(spy.start, "decoder.0.")
    for own in ("species", "drug"):
        there = 0 if shared else list(SOURCES).index(own)
        tags = {f"{p}-{x}" for p in "BIES" for x in SOURCES[own]}
        labels = given.model.labels_of(there)
        assert_tags_equal(
            joint, tagger.labels.tags, under(before, f"decoder.{there}."), labels.tags, of=tags
        )


# --- unlabelled text ------------------------------------------------------------------------------


@pytest.mark.usefixtures("_double")
def test_labels_of_unlabelled_text_are_never_read(spy):
    """Text with unknown labels, with wrong ones or without any gives the same tagger."""
    bare = [Sentence.from_tokens(s.tokens) for s in TEXT]
    poisoned = [Sentence.from_tokens(s.tokens, ["B-POISON"] * len(s)) for s in TEXT]
    wrong = [Sentence.from_tokens(s.tokens, ["B-N"] * len(s)) for s in TEXT]
    taggers = [run("dann", base(), text=text) for text in (bare, poisoned, wrong, TEXT)]
    assert all(not s.entities for tasks in spy.tasks for s in tasks[-1])
    assert taggers[1].labels == LabelSet(NEW, "bioes")
    first = values_of(taggers[0])
    for tagger in taggers[1:]:
        assert all(torch.equal(v, first[n]) for n, v in values_of(tagger).items())
    # The text itself is read.
    other = run("dann", base(), text=bare[:3])
    assert not all(torch.equal(v, first[n]) for n, v in values_of(other).items())
    assert taggers[0].facts["unlabelled"] == len(TEXT)


@pytest.mark.usefixtures("_double")
def test_without_text_the_labelled_sentences_are_its_text(spy):
    tagger = run("dann", base())
    words = {s.tokens for s in TARGET}
    assert all(s.tokens in words and not s.entities for tasks in spy.tasks for s in tasks[-1])
    assert tagger.facts["unlabelled"] == len(TARGET)


@pytest.mark.usefixtures("_double")
def test_empty_sentences_of_the_text_are_ignored(spy):
    blank = Sentence("", ())
    with_blanks = values_of(run("dann", base(), text=[blank, *TEXT, blank]))
    without = values_of(run("dann", base(), text=TEXT))
    assert all(torch.equal(v, without[n]) for n, v in with_blanks.items())
    run("dann", base(), text=[blank])  # no text is left: the labelled sentences replace it
    assert all(s.tokens in {t.tokens for t in TARGET} for s in spy.tasks[-1][-1])


@pytest.mark.usefixtures("_double")
def test_multitask_does_not_read_unlabelled_text():
    with_text, without = (values_of(run("multitask", base(), text=t)) for t in (TEXT, []))
    assert all(torch.equal(v, without[n]) for n, v in with_text.items())


# --- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", METHODS)
def test_empty_sources_and_unknown_source_labels_are_refused(name):
    empty = SourceDomain("drug", LabelSet(("D", "E")), {"drug": [Sentence("", ())]}, {})
    with pytest.raises(SourcesNeeded, match="drug"):
        METHODS[name]().adapt(base(), TARGET, sources=[*domains("gene"), empty])
    other = SourceDomain("drug", LabelSet(("S",)), {"drug": CORPORA["species"]}, {})
    with pytest.raises(SourcesNeeded, match="S"):
        METHODS[name]().adapt(base(), TARGET, sources=[*domains("gene"), other])


# --- effect of the adversary ----------------------------------------------------------------------


def distinguishable(marks: tuple[str, str], label: str, seed: int, size: int) -> list[Sentence]:
    """Sentences with words that reveal their domain; entities look alike in all domains."""
    rng = random.Random(seed)
    found = []
    for _ in range(size):
        tokens = [rng.choice(("a", "b", "c", "d", *marks)) for _ in range(rng.randint(3, 6))]
        tokens[rng.randrange(len(tokens))] = rng.choice(marks)
        tags = ["O"] * len(tokens)
        at = rng.randrange(len(tokens))
        tokens.insert(at, f"{rng.choice('mnpq')}{rng.randrange(10)}")
        tags.insert(at, f"B-{label}")
        found.append(Sentence.from_tokens(tokens, tags))
    return found


@pytest.mark.slow
def test_discriminator_stays_near_chance_only_with_the_reversal(spy, monkeypatch):
    """Chance is a loss of ln 2. The entities are learnt with and without the reversal."""
    sources = [
        SourceDomain(
            "one", LabelSet(("X",)), {"1": distinguishable(("the", "of"), "X", 1, 60)}, {}
        ),
        SourceDomain("two", LabelSet(("Y",)), {"2": distinguishable(("in", "on"), "Y", 2, 60)}, {}),
    ]
    support = distinguishable(("der", "von"), "Z", 3, 20)
    text = distinguishable(("der", "von"), "Z", 4, 60)
    test = distinguishable(("der", "von"), "Z", 5, 40)
    encoder = {
        "word_width": 6,
        "char_embedding": 4,
        "char_cnn_filters": 6,
        "char_lstm": 0,
        "hidden": 12,
        "dropout": 0.0,
    }
    given = FineTuning(encoder=encoder, k=5, tasks=2).fit(sources, Budget(5))
    adaptation = {
        "batch": 8,
        "source_tasks": 2,
        "aux_weight": 0.8,
        "encoder_scale": 0.3,
        "optimiser": {"name": "adamw", "rate": 0.02, "weight_decay": 0.0, "schedule": "constant"},
    }
    steps, ends = 100, {}
    for reversal in (True, False):
        if not reversal:
            monkeypatch.setattr(attention_head, "reverse_gradient", lambda states: states)
        spy.losses.clear()
        tagger = DANN(adaptation=adaptation).adapt(
            given, support, sources=sources, unlabelled=text, budget=Budget(steps), seed=0
        )
        costs = [
            (losses.aux[-1] + losses.aux[1:-1].mean()).item() / 2
            for losses in spy.losses
            if losses.aux is not None
        ]
        assert len(costs) == steps
        ends[reversal] = sum(costs[-50:]) / 50
        right = sum(
            [(e.start, e.end, e.label) for e in found]
            == [(e.start, e.end, e.label) for e in sentence.entities]
            for sentence, found in zip(test, tagger.predict_sentences(test), strict=True)
        )
        assert right > 0.8 * len(test)
    assert abs(ends[True] - math.log(2)) < 0.15
    assert ends[False] < 0.3
