"""The few-shot protocol: what each draw gives to the method, and what its row says of it."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from tiny import TINY_ENCODER

from adaptner.corpora.bundled import bundled_corpus
from adaptner.corpora.corpus import group_by_domain
from adaptner.corpora.sources import SourceDomain, source_domains
from adaptner.episodes import draw_sentences, draw_share
from adaptner.errors import UsageError
from adaptner.evaluation.protocol import PROTOCOL, evaluate_few_shot
from adaptner.evaluation.tables import summarise
from adaptner.methods import method
from adaptner.methods.base import Capabilities, Method
from adaptner.methods.configuration import without_labels
from adaptner.models.base import Base
from adaptner.nn.encoders.base import Encoder
from adaptner.training.budget import Budget

TARGET = bundled_corpus("cellline")
TRAIN, TEST = TARGET.split("train"), TARGET.split("test")
QUICK = {"adaptation": {"steps": 2, "epochs": 0}}


class EncoderAt(Encoder):
    """An encoder with a single parameter."""

    table = None

    def __init__(self, value: float) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.tensor([value]))

    def forward(self, batch: Any, noise: Any = None) -> Any:
        raise NotImplementedError


class Recorder:
    """Stands for a method and for the tagger it makes, which finds all and nothing else."""

    name = "recorder"

    def __init__(self, unlabelled: bool = False) -> None:
        self.capabilities = Capabilities(text="in memory" if unlabelled else "unused")
        self.facts = {"steps": 7}
        self.encoder = EncoderAt(4.0)
        self.calls: list[dict[str, Any]] = []

    def protocol_text(self, train: Any) -> list[Any]:
        return Method.protocol_text(self, train)

    def adapt(self, base: Any, support: Any, **given: Any) -> Recorder:
        self.calls.append({"base": base, "support": support, **given})
        return self

    def predict_sentences(self, sentences: Any) -> list[Any]:
        return [s.entities for s in sentences]


BASE = SimpleNamespace(
    method="maker",
    facts={"encoder_change": 8.0},
    model=SimpleNamespace(encoder=EncoderAt(1.0)),
)


def rows_of(recorder: Recorder, sizes: Any, seeds: Any, **options: Any) -> list[Any]:
    return list(evaluate_few_shot(recorder, BASE, TARGET, sizes, seeds, **options))


def test_corpus_of_a_single_set_is_scored_without_the_draw():
    """Ruling PDALN, SciTech: labelled sentences are drawn from the one set there is."""
    whole = replace(TARGET, sentences={"train": TRAIN, "test": TRAIN})
    seen: list[Any] = []

    class Watching(Recorder):
        def predict_sentences(self, sentences: Any) -> list[Any]:
            seen.append(sentences)
            return super().predict_sentences(sentences)

    (row,) = evaluate_few_shot(Watching(), BASE, whole, [10], [0])
    drawn = draw_sentences(TRAIN, 10, 0)
    assert row.sentences == 120
    assert [s for s in TRAIN if s in seen[0]] == list(seen[0])
    assert not [s for s in drawn if s in seen[0]]


def test_sizes_come_before_shares_each_with_all_seeds():
    recorder = Recorder()
    rows = rows_of(recorder, [3, 5], [0, 1], shares=[5, 2.5])
    drawn = [(r.size, r.share, r.seed) for r in rows]
    sizes = [(3, None, 0), (3, None, 1), (5, None, 0), (5, None, 1)]
    assert drawn == [*sizes, (6, 5, 0), (6, 5, 1), (3, 2.5, 0), (3, 2.5, 1)]  # of 130 sentences
    support = [call["support"] for call in recorder.calls]
    assert support[:2] == [draw_sentences(TRAIN, 3, 0), draw_sentences(TRAIN, 3, 1)]
    assert support[4:6] == [draw_share(TRAIN, 5, 0), draw_share(TRAIN, 5, 1)]
    assert [call["seed"] for call in recorder.calls] == [0, 1] * 4
    assert [r.entities for r in rows] == [sum(len(s.entities) for s in own) for own in support]


def test_share_of_100_percent_is_the_whole_train_split():
    recorder = Recorder()
    (row,) = rows_of(recorder, [], [3], shares=[100])
    assert (row.size, row.share) == (len(TRAIN), 100)
    assert set(recorder.calls[0]["support"]) == set(TRAIN)


def test_row_records_draw_scores_and_costs():
    (row,) = rows_of(Recorder(), [4], [2], limit=10)
    facts = row.as_dict()
    assert facts.pop("seconds") >= 0
    assert facts.pop("entities") >= 0
    n = sum(len(s.entities) for s in TEST[:10])
    tokens = sum(tag != "O" for s in TEST[:10] for tag in s.tags)
    assert tokens > n > 0
    assert facts == {
        "corpus": "cellline",
        "method": "recorder",
        "base": "maker",
        "size": 4,
        "share": None,
        "seed": 2,
        "precision": 1.0,
        "recall": 1.0,
        "f1": 1.0,
        "steps": 7,
        "sentences": 10,
        "unlabelled": 0,
        "protocol": PROTOCOL,
        "data": TARGET.sha256,
        "draws_from": "all",
        "encoder_change": 3.0,
        "base_encoder_change": 8.0,
        "by_type": {"CellLine": {"correct": n, "predicted": n, "gold": n, "tokens": tokens}},
    }
    assert rows_of(Recorder(), [4], [2])[0].sentences == len(TEST)


def test_draws_with_entities_have_a_protocol_of_their_own_and_the_same_test_split():
    recorder = Recorder()
    mixed = [s if i % 2 else s.without_entities() for i, s in enumerate(TRAIN)]
    target = replace(TARGET, sentences={"train": mixed, "test": TEST})
    kind = "with-entities"
    (row,) = evaluate_few_shot(recorder, BASE, target, [5], [3], draws_from=kind)
    assert recorder.calls[0]["support"] == draw_sentences(mixed, 5, 3, kind)
    assert row.entities >= 5
    assert row.draws_from == kind
    assert row.protocol == "few-shot/draws-with-entities/strict-micro-f1" != PROTOCOL
    assert row.sentences == len(TEST)
    for amounts in ({"sizes": [100]}, {"sizes": [], "shares": [10]}):
        with pytest.raises(UsageError, match="can only be drawn from all sentences"):
            rows_of(recorder, **{"seeds": [0], "draws_from": kind, **amounts})


def test_noise_changes_the_seed_of_adaptation_but_not_the_draw():
    recorder = Recorder()
    (row,) = rows_of(recorder, [5], [3], noise=1000)
    assert recorder.calls[0]["seed"] == 1003
    assert recorder.calls[0]["support"] == draw_sentences(TRAIN, 5, 3)
    assert row.seed == 3


def test_method_with_optional_text_gets_none():
    recorder = Recorder(unlabelled=True)
    recorder.capabilities = Capabilities(text="streamed", text_in_protocol=False)
    rows_of(recorder, [5], [0])
    assert list(recorder.calls[0]["unlabelled"]) == []


def test_unlabelled_text_is_the_train_split_without_labels():
    user, other = Recorder(unlabelled=True), Recorder()
    for recorder in (user, other):
        rows_of(recorder, [3], [0])
    text = user.calls[0]["unlabelled"]
    assert [s.tokens for s in text] == [s.tokens for s in TRAIN]
    assert not any(s.entities for s in text)
    assert list(other.calls[0]["unlabelled"]) == []


def test_sources_labels_and_budget_reach_the_method():
    recorder, sources, budget = Recorder(), [object()], Budget(3)
    rows_of(recorder, [3], [0], sources=sources, budget=budget)
    (call,) = recorder.calls
    assert call["base"] is BASE
    assert call["sources"] is sources
    assert call["budget"] is budget
    assert call["labels"] == TARGET.labels


# --- with methods that are there ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def sources() -> list[SourceDomain]:
    return source_domains(group_by_domain([bundled_corpus(n) for n in ("disease", "drug")]))


@pytest.fixture(scope="module")
def base(sources: list[SourceDomain]) -> Base:
    return method("finetuning")(encoder=TINY_ENCODER, k=3, tasks=2).fit(sources, Budget(1))


@pytest.mark.parametrize(
    ("name", "text"), [("dann", 130), ("agg", 0), ("multitask", 0), ("maml", 0), ("in-domain", 0)]
)
def test_rows_record_the_unlabelled_sentences_used(base, sources, name, text):
    chosen = method(name)(**QUICK)
    rows = list(
        evaluate_few_shot(chosen, base, TARGET, [3], [0], shares=[5], sources=sources, limit=3)
    )
    assert [r.unlabelled for r in rows] == [text, text]
    assert {(r.method, r.base, r.steps) for r in rows} == {(name, "finetuning", 2)}
    summary = summarise([r.as_dict() for r in rows])
    assert [s.get("unlabelled", 0) for s in summary] == [text, text]


def test_rows_record_how_far_the_encoder_moved(base, sources):
    """Against a plain sum over all parameters."""
    chosen = method("finetuning")(**QUICK)
    (row,) = evaluate_few_shot(chosen, base, TARGET, [3], [0], limit=3)
    adapted = chosen.adapt(base, draw_sentences(TRAIN, 3, 0), labels=TARGET.labels, seed=0).encoder
    pairs = zip(adapted.parameters(), base.model.encoder.parameters(), strict=True)
    squares = sum(float(((new - old).detach() ** 2).sum()) for new, old in pairs)
    assert row.encoder_change == pytest.approx(squares**0.5, rel=1e-5) != 0
    untrained = method("finetuning")(encoder=TINY_ENCODER, k=3, tasks=2).fit(sources, Budget(0))
    assert untrained.facts["encoder_change"] == 0
    pairs = zip(base.model.encoder.parameters(), untrained.model.encoder.parameters(), strict=True)
    squares = sum(float(((new - old).detach() ** 2).sum()) for new, old in pairs)
    assert row.base_encoder_change == pytest.approx(squares**0.5, rel=1e-5) != 0


def test_dann_without_its_adversary_uses_no_text(base, sources):
    chosen = method("dann")(adaptation={"steps": 1, "epochs": 0, "aux_weight": 0})
    (row,) = evaluate_few_shot(chosen, base, TARGET, [3], [0], sources=sources, limit=3)
    assert row.unlabelled == 0


@pytest.mark.parametrize("name", ["dann", "crossdomain-lm"])
def test_size_zero_is_zero_shot(base, sources, name):
    """No sentence is drawn; the text of the train split is all there is of the target."""
    chosen = without_labels(method(name)(**QUICK))
    (row,) = evaluate_few_shot(
        chosen, base, bundled_corpus("drug"), [0], [0], sources=sources, limit=3
    )
    assert (row.size, row.entities, row.unlabelled, row.steps) == (0, 0, 130, 2)
