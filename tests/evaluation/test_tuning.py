"""Steps and rates chosen on source domains: the right ones, from dev splits only, also resumed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tiny import TINY_ENCODER

from adaptner import api
from adaptner.corpora.bundled import bundled_corpus
from adaptner.corpora.corpus import Corpus
from adaptner.episodes import draw_sentences
from adaptner.errors import (
    AdaptnerError,
    BadConfiguration,
    DiskFull,
    OutputExists,
    RunNotResumable,
    TooFewDomains,
    TooFewSentences,
    TrainingDiverged,
    UnknownName,
    UsageError,
)
from adaptner.evaluation import tuning
from adaptner.evaluation.tuning import SearchGrid, Setting, TuningPlan, choose, store, tune
from adaptner.evaluation.tuning.choice import SettingScore, refuse_other_method
from adaptner.evaluation.tuning.plan import PROCEDURE
from adaptner.methods import method as find_method
from adaptner.methods.base import Method, MethodConfig
from adaptner.methods.hgda import HGDA
from adaptner.models.base import Base
from adaptner.pretraining.from_sources import pretrain
from adaptner.training.budget import Budget
from adaptner.types import LabelSet, Sentence
from adaptner.vectors.word_vectors import WordVectors

TINY = {"k": 3, "tasks": 2, "encoder": TINY_ENCODER}


# --- a world in which every score is known ------------------------------------------------------------

DEV = 100  # sentences with one entity each: finding the first n of them has F1 2n / (n + 100)


def sentences(word: str, count: int, label: str) -> tuple[Sentence, ...]:
    texts = [f"{word} number {i} is one that stands in no other corpus" for i in range(count)]
    return tuple(Sentence.from_tokens(text.split(), [f"B-{label}", *["O"] * 10]) for text in texts)


class NoTest(Mapping[str, Any]):
    """Splits of a corpus; whoever opens the test split fails."""

    def __init__(self, splits: Mapping[str, tuple[Sentence, ...]]) -> None:
        self._splits = splits

    def __getitem__(self, name: str) -> tuple[Sentence, ...]:
        assert name != "test", "the test split was read"
        return self._splits[name]

    def __iter__(self) -> Iterator[str]:
        return iter((*self._splits, "test"))

    def __len__(self) -> int:
        return len(self._splits) + 1


def corpus(label: str, splits: Mapping[str, tuple[Sentence, ...]] | None = None) -> Corpus:
    if splits is None:
        splits = {
            "train": sentences(f"{label}-train", 60, label),
            "dev": sentences(f"{label}-dev", DEV, label),
        }
    name = label.lower()
    labels = LabelSet((label, "OnlyInTest"))
    return Corpus(name, label, labels, f"checksum of {name}", Path(name), NoTest(splits))


WORLD = [corpus("Drug"), corpus("Gene"), corpus("Disease")]
Find = Callable[[str, float, int], int]  # label, rate, steps -> how many mentions are found


class Fake(Method):
    """Finds as many mentions as ``find`` says, and remembers all it was given."""

    name = "fake"
    title = "Fake"
    paper = "none"
    Config = MethodConfig
    find: Find
    fits: list[Any]
    adapts: list[Any]
    stop_after: int | None  # adaptations

    def fit(self, sources, budget, *, vectors=None, seed=0, run=None):
        self.fits.append(([d.name for d in sources], [len(d.sentences) for d in sources]))
        return SimpleNamespace(method=self.name, budget=budget, seed=seed)

    def adapt(self, base, support, **given):
        if self.stop_after is not None and len(self.adapts) == self.stop_after:
            raise KeyboardInterrupt
        config = self.config.adaptation
        steps = config.steps_for(len(support))
        self.adapts.append((base, support, given))
        found = type(self).find(given["labels"].labels[0], config.optimiser.rate, steps)

        def predict(scored: list[Sentence]) -> list[list[Any]]:
            self.adapts[-1] += (scored,)
            return [list(s.entities) if i < found else [] for i, s in enumerate(scored)]

        return SimpleNamespace(facts={"steps": steps}, predict_sentences=predict)


def fake(find: Find, stop_after: int | None = None) -> Fake:
    kind = type("Fake", (Fake,), {"find": staticmethod(find), "stop_after": stop_after})
    kind.fits, kind.adapts = [], []
    return kind()


def f1(found: int, of: int = DEV) -> float:
    return 2 * found / (found + of)


def timeless(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**row, "seconds": 0} for row in rows]


SMALL = SearchGrid(rates=(0.03, 0.1), epochs=(5, 20))


# --- the choice -----------------------------------------------------------------------------------------


def test_best_mean_is_chosen():
    def find(label: str, rate: float, steps: int) -> int:
        return (
            {"Drug": 10, "Gene": 30, "Disease": 50}[label]
            + (20 if rate == 0.1 else 0)
            + steps // 10
        )

    method = fake(find)
    choice = tune(TuningPlan(method, WORLD, SMALL, sizes=(5, 50), draws=2))
    assert choice.chosen.setting == Setting(0.1, 0.1, 20, 20)
    assert choice.chosen.steps == {5: 20, 50: 100}
    at_5 = [f1(n) for n in (32, 52, 72)]
    at_50 = [f1(n) for n in (40, 60, 80)]
    assert choice.chosen.by_size[5] == pytest.approx(sum(at_5) / 3)
    assert choice.chosen.by_size[50] == pytest.approx(sum(at_50) / 3)
    assert choice.chosen.by_domain["Gene"] == pytest.approx((f1(52) + f1(60)) / 2)
    assert choice.chosen.mean == pytest.approx(sum(at_5 + at_50) / 6)
    assert [r.setting for r in choice.results] == SMALL.settings()
    assert len(choice.rows) == 3 * 2 * 2 * 4
    assert choice.adaptation["optimiser"] == {
        **method.config.adaptation.optimiser.model_dump(),
        "rate": 0.1,
    }
    assert (choice.adaptation["steps"], choice.adaptation["epochs"]) == (20, 20)
    assert choice.adaptation["batch"] == method.config.adaptation.batch  # not in the grid


def test_setting_must_be_good_on_all_validation_domains():
    def find(label: str, rate: float, steps: int) -> int:
        if rate == 0.1:
            return 90 if label == "Drug" else 10
        return 50

    grid = SearchGrid(epochs=(5,))
    assert tune(TuningPlan(fake(find), WORLD, grid)).chosen.setting.rate == 0.03
    only = tune(TuningPlan(fake(find), WORLD, grid, validate_on=["Drug"]))
    assert only.chosen.setting.rate == 0.1
    assert list(only.chosen.by_domain) == ["Drug"]


def result(mean: float, steps: int, rate: float = 0.1) -> SettingScore:
    return SettingScore(
        Setting(rate, 0.1, 0, steps), {5: mean}, {"Drug": mean}, mean, {5: steps}, 0
    )


@pytest.mark.parametrize(
    ("results", "chosen"),
    [
        ([result(0.500, 20), result(0.504, 40)], 0),  # a tie: fewer steps
        ([result(0.504, 40), result(0.500, 20)], 1),  # in whatever order
        ([result(0.500, 20), result(0.505, 40)], 0),  # half a point is within half a point
        ([result(0.1 + 0.2, 20), result(0.305, 40)], 0),  # whatever binary fractions say
        ([result(0.500, 20), result(0.506, 40)], 1),  # better by more
        ([result(0.500, 20), result(0.504, 20, 0.03)], 1),  # as many steps: the better
        ([result(0.500, 20), result(0.500, 20, 0.03)], 0),  # all the same: the first of the grid
        (
            [result(0.496, 10), result(0.500, 20), result(0.504, 40)],
            1,
        ),  # near the best, not near another
    ],
)
def test_ties_go_to_fewer_steps(results, chosen):
    assert choose(results) is results[chosen]


def test_ties_of_a_whole_run_go_to_fewer_steps():
    plan = TuningPlan(fake(lambda label, rate, steps: 50), WORLD, SMALL, sizes=(50,), draws=1)
    assert tune(plan).chosen.setting == Setting(0.03, 0.1, 5, 20)
    better = fake(lambda label, rate, steps: 50 + (steps >= 100))  # two thirds of a point
    assert tune(replace(plan, method=better)).chosen.setting.epochs == 20


def test_diverged_setting_scores_zero():
    def find(label: str, rate: float, steps: int) -> int:
        if rate == 0.1:
            raise TrainingDiverged(loss="nan", iteration=3, rates=rate, kept="nothing")
        return 1

    choice = tune(TuningPlan(fake(find), WORLD, SearchGrid(epochs=(5,)), sizes=(5,), draws=1))
    assert choice.chosen.setting.rate == 0.03
    assert [(r.mean, r.diverged) for r in choice.results][1] == (0.0, 3)
    assert [r["steps"] for r in choice.rows] == [20, 3] * 3


# --- what is read -----------------------------------------------------------------------------------------


def test_draws_come_from_train_scores_from_dev_and_the_test_split_is_never_read():
    """``NoTest`` fails at any look into the test split, and its label must not be known either."""
    method = fake(lambda label, rate, steps: 10)
    grid = SearchGrid(rates=(0.1,), epochs=(5,))
    plan = TuningPlan(method, WORLD, grid, sizes=(5, 20), draws=2, seed=7, limit=40, iterations=9)
    rows = tune(plan).rows
    assert [(r["validation_domain"], r["size"], r["seed"]) for r in rows[:5]] == [
        *(("Drug", 5, 7), ("Drug", 5, 8), ("Drug", 20, 7), ("Drug", 20, 8)),
        ("Gene", 5, 7),
    ]
    for row, (base, support, given, scored) in zip(rows, method.adapts, strict=True):
        played = next(c for c in WORLD if c.domain == row["validation_domain"])
        assert support == draw_sentences(played.split("train"), row["size"], row["seed"])
        assert scored == list(played.split("dev")[:40])
        assert row["sentences"] == 40
        assert row["f1"] == f1(10, 40)
        assert given["labels"].labels == (played.domain,)
        assert given["seed"] == row["seed"]
        assert (list(given["sources"]), list(given["unlabelled"])) == ([], [])
        assert (base.budget.steps, base.seed) == (9, 7)


def test_draws_with_entities_are_drawn_recorded_and_part_of_the_procedure():
    half = tuple(
        s if i % 2 else s.without_entities() for i, s in enumerate(WORLD[0].split("train"))
    )
    world = [corpus("Drug", {"train": half, "dev": WORLD[0].split("dev")}), *WORLD[1:]]
    method, kind = fake(lambda label, rate, steps: 10), "with-entities"
    grid = SearchGrid(rates=(0.1,), epochs=(5,))
    plan = TuningPlan(method, world, grid, ["Drug"], sizes=(5,), draws=3, draws_from=kind)
    choice = tune(plan)
    for row, (_, support, _, scored) in zip(choice.rows, method.adapts, strict=True):
        assert support == draw_sentences(half, 5, row["seed"], kind)
        assert row["draws_from"] == kind
        assert scored == list(world[0].split("dev"))[:400]
    assert choice.facts()["procedure"] == f"{PROCEDURE}/draws-with-entities"
    assert plan.fingerprint() != replace(plan, draws_from="all").fingerprint()
    refused(UsageError, "100 can only", method, world, sizes=(5, 100), draws_from=kind)
    more = {"sizes": (sum(bool(s.entities) for s in half) + 1,)}
    refused(TooFewSentences, "counting only sentences", method, world, **more, draws_from=kind)
    TuningPlan(method, world, **more)


def test_without_a_dev_split_the_rest_of_train_is_scored():
    repeated = sentences("Cell", 30, "Cell")
    method = fake(lambda label, rate, steps: 5)
    cells = corpus("Cell", {"train": (*repeated, repeated[0])})
    grid = SearchGrid(rates=(0.1,), epochs=(5,))
    tune(TuningPlan(method, [*WORLD, cells], grid, ["Cell"], sizes=(10,), draws=3))
    for _, support, _, scored in method.adapts:
        assert scored == [s for s in cells.split("train") if s not in support]  # nor a twin of it
        assert not set(scored) & set(support)


def test_base_is_not_pretrained_on_its_validation_domain():
    taken = WORLD[0].split("dev")[:7]  # seven sentences of Drug's dev split stand in Disease too
    disease = WORLD[2].split("train")
    twins = corpus("Disease", {"train": (*disease, *taken), "dev": WORLD[2].split("dev")})
    method = fake(lambda label, rate, steps: 1)
    tune(TuningPlan(method, [*WORLD[:2], twins], SearchGrid((0.1,)), sizes=(5,), draws=1))
    assert method.fits == [
        (["Gene", "Disease"], [160, 160]),  # of 167
        (["Drug", "Disease"], [160, 167]),
        (["Drug", "Gene"], [160, 160]),
    ]


def test_first_corpus_of_a_domain_validates_and_none_is_a_source():
    second = replace(corpus("Drug", {"train": sentences("other", 20, "Drug")}), name="second")
    method = fake(lambda label, rate, steps: 1)
    choice = tune(
        TuningPlan(method, [*WORLD, second], SearchGrid((0.1,)), ["Drug"], sizes=(5,), draws=1)
    )
    assert method.fits == [(["Gene", "Disease"], [160, 160])]
    assert {r["corpus"] for r in choice.rows} == {"drug"}


def test_settings_with_equal_steps_run_once():
    method = fake(lambda label, rate, steps: steps)
    choice = tune(TuningPlan(method, WORLD, SearchGrid(), ["Drug"], sizes=(5, 20), draws=1))
    # at 5 sentences 20 steps whatever the epochs, at 20 sentences 20, 20 and 40; two rates
    assert len(method.adapts) == 2 * 1 + 2 * 2
    assert [r["steps"] for r in choice.rows] == [20] * 6 + [20, 20, 40] * 2
    assert [r["f1"] for r in choice.rows] == [f1(r["steps"]) for r in choice.rows]


# --- resuming ---------------------------------------------------------------------------------------------


def known(label: str, rate: float, steps: int) -> int:
    return len(label) + int(100 * rate) + steps // 5


PLAN = TuningPlan(fake(known), WORLD, SMALL, sizes=(5, 50), draws=2)
EACH = 2 * (2 + 4)  # adaptations a played target: 2 draws, 2 settings that differ at 5, 4 at 50


@pytest.mark.parametrize("after", [0, 1, EACH - 1, EACH, EACH + 3, 3 * EACH - 1])
def test_interrupted_run_continues_to_the_same_numbers(tmp_path, after):
    whole = tune(PLAN, tmp_path / "whole.jsonl")
    file = tmp_path / "rows.jsonl"
    cut = fake(known, stop_after=after)
    with pytest.raises(KeyboardInterrupt):
        tune(replace(PLAN, method=cut), file)
    kept = len(file.read_text().splitlines())
    assert kept >= after
    with open(file, "ab") as torn:
        torn.write(b'{"iteration": 999, "pl')  # by a kill in mid-line

    messages: list[str] = []
    rest = fake(known)
    resumed = tune(replace(PLAN, method=rest), file, resume=True, tell=messages.append)
    assert timeless(resumed.rows) == timeless(whole.rows)
    assert resumed.results == whole.results
    assert resumed.chosen == whole.chosen
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert lines == resumed.rows
    assert len(rest.adapts) <= 3 * EACH - after + 1  # a twin in steps may be adapted again
    assert len(rest.fits) == 3 - after // EACH
    assert any("again" in line for line in messages) == (kept % (len(lines) // 3) > 0)


def test_finished_run_repeats_no_trial(tmp_path):
    file = tmp_path / "rows.jsonl"
    whole = tune(PLAN, file)
    before = file.read_bytes()
    rest = fake(known)
    assert tune(replace(PLAN, method=rest), file, resume=True).rows == whole.rows
    assert (rest.fits, rest.adapts) == ([], [])
    assert file.read_bytes() == before
    tune(replace(PLAN, method=rest), file)  # and without --resume begins anew
    assert len(rest.fits) == 3


def test_run_continues_if_only_settings_of_the_grid_differ(tmp_path):
    """A base tuned with --base has other steps afterwards; its run is still the same run."""
    file = tmp_path / "rows.jsonl"
    interrupted(file)
    method = type(fake(known))(adaptation={"steps": 7, "optimiser": {"rate": 0.5}})
    resumed = tune(replace(PLAN, method=method), file, resume=True)
    assert timeless(resumed.rows) == timeless(tune(PLAN).rows)


def interrupted(file: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        tune(replace(PLAN, method=fake(known, stop_after=5)), file)


@pytest.mark.parametrize(
    "changed",
    [
        {"sizes": (5, 49)},
        {"draws": 3},
        {"seed": 1},
        {"limit": 399},
        {"iterations": 999},
        {"validate_on": ["Drug"]},
        {"grid": SearchGrid(rates=(0.03, 0.2), epochs=(5, 20))},
        {"corpora": [replace(WORLD[0], sha256="another"), *WORLD[1:]]},
        {"vectors": WordVectors(("a",), np.zeros((1, 3), np.float32))},
        {"method": type(fake(known))(adaptation={"batch": 9})},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_run_with_other_settings_or_data_is_not_continued(tmp_path, changed):
    file = tmp_path / "rows.jsonl"
    interrupted(file)
    before = file.read_bytes()
    with pytest.raises(RunNotResumable, match="differ"):
        tune(replace(PLAN, **changed), file, resume=True)
    assert file.read_bytes() == before


def test_unfinished_run_is_not_overwritten(tmp_path):
    file = tmp_path / "rows.jsonl"
    interrupted(file)
    before = file.read_bytes()
    with pytest.raises(UsageError, match="--resume"):
        tune(PLAN, file)
    assert file.read_bytes() == before


@pytest.mark.parametrize("resume", [False, True])
@pytest.mark.parametrize("content", [b"my notes\n", b'{"text": "HeLa"}\n', b"[]\n", b"\xff\n"])
def test_foreign_file_is_not_overwritten(tmp_path, content, resume):
    file = tmp_path / "rows.jsonl"
    file.write_bytes(content)
    with pytest.raises(OutputExists):
        tune(PLAN, file, resume=resume)
    assert file.read_bytes() == content


def test_missing_records_are_refused(tmp_path):
    file = tmp_path / "rows.jsonl"
    interrupted(file)
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[:2] + lines[3:]))
    with pytest.raises(RunNotResumable, match="missing"):
        tune(PLAN, file, resume=True)


# --- real methods -----------------------------------------------------------------------------------------

OWN = [bundled_corpus(name) for name in ("disease", "drug", "gene")]
ONE = SearchGrid(rates=(0.1,), epochs=(2,), steps=(3,))


def poisoned(given: Corpus) -> Corpus:
    return replace(given, sentences=NoTest({n: given.split(n) for n in ("train", "dev")}))


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["hgda", "metaner", "wpz", "in-domain", "agg", "multitask", "dann", "crossdomain-lm"]
)
def test_every_method_that_adapts_is_tuned_by_the_same_procedure(name, monkeypatch):
    kind = find_method(name)
    seen: list[dict[str, Any]] = []
    adapt = kind.adapt

    def watched(self, base, support, **given):
        seen.append(given)
        return adapt(self, base, support, **given)

    monkeypatch.setattr(kind, "adapt", watched)
    plan = TuningPlan(kind(**TINY), [poisoned(c) for c in OWN], ONE, ["Gene"], (4, 30), 1, 10, 2)
    first, again = tune(plan), tune(plan)
    assert timeless(first.rows) == timeless(again.rows)
    assert [r["steps"] for r in first.rows] == [3, 6]
    assert all(r["sentences"] == 10 and 0 <= r["f1"] <= 1 for r in first.rows)
    domains = ["Disease", "Drug"] if kind.capabilities.reads_sources else []
    text = 130 if kind.capabilities.reads_text and kind.capabilities.text_in_protocol else 0
    for given in seen:
        assert [d.name for d in given["sources"]] == domains
        assert len(given["unlabelled"]) == text
        assert not any(s.entities for s in given["unlabelled"])


def refused(error: type[AdaptnerError], match: str, *arguments: Any, **options: Any) -> None:
    with pytest.raises(error, match=match) as caught:
        TuningPlan(*arguments, **options)
    assert "What to do" in str(caught.value)


@pytest.mark.parametrize("name", ["d-shift", "metaner-zero"])
def test_method_without_steps_is_refused(name):
    refused(UsageError, f"{name} takes no step", find_method(name)(), OWN)


def test_impossible_plans_are_refused_before_any_work():
    method = fake(known)
    refused(UsageError, "retrain = false", find_method("wpz")(retrain=False), OWN)
    refused(TooFewDomains, "1 source domain.*fake needs at least 2", method, OWN[:1])
    refused(
        TooFewDomains,
        "2 source domain.*metaner needs at least 3",
        find_method("metaner")(),
        OWN[:2],
    )
    refused(UnknownName, "did you mean 'Gene'", method, OWN, validate_on=["Genes"])
    refused(TooFewSentences, "131 are needed", method, OWN, sizes=(5, 131))
    refused(BadConfiguration, "optimiser.rate", method, OWN, SearchGrid(rates=(0.1, -0.1)))
    refused(BadConfiguration, "steps", method, OWN, SearchGrid(steps=(0,)))
    refused(BadConfiguration, "encoder_scale", method, OWN, SearchGrid(encoder_scales=(0.0,)))
    no_dev = corpus("Cell", {"train": sentences("Cell", 20, "Cell")})
    refused(TooFewSentences, "no dev split.* 21 are needed", method, [*OWN, no_dev], sizes=(20,))
    bare = [Sentence(s.text, s.token_spans) for s in WORLD[0].split("dev")]
    empty = corpus("Drug", {"train": WORLD[0].split("train"), "dev": tuple(bare)})
    refused(UsageError, "none of the 3 sentences", method, [empty, *WORLD[1:]], limit=3)
    assert (method.fits, method.adapts) == ([], [])


# --- the choice in a base -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tuned") / "base"
    pretrain(HGDA(**TINY), OWN[:2], Budget(2), folder)
    return folder


@pytest.fixture(scope="module")
def choice() -> tuning.Choice:
    plan = TuningPlan(HGDA(**TINY), OWN, ONE, ["Gene"], (4,), 1, 10, 2)
    return tune(plan)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def copied(saved: Path, folder: Path) -> dict[str, bytes]:
    folder.mkdir()
    for name, content in contents(saved).items():
        (folder / name).write_bytes(content)
    return contents(folder)


def test_base_adapts_with_the_stored_choice(saved, choice, tmp_path):
    before = copied(saved, tmp_path / "base")
    store(choice, tmp_path / "base")
    after = contents(tmp_path / "base")
    assert {name for name in before if before[name] != after[name]} == {"manifest.json", "card.md"}
    base = Base.load(tmp_path / "base")
    assert base.config["adaptation"] == choice.adaptation
    assert {**base.config, "adaptation": 0} == {**Base.load(saved).config, "adaptation": 0}
    tuned = base.facts["tuning"]
    assert {**base.facts, "tuning": 0} == {**Base.load(saved).facts, "tuning": 0}
    assert (tuned["validation_domains"], tuned["draws"], tuned["sizes"]) == (["Gene"], 1, [4])
    assert tuned["grid"] == {"rates": [0.1], "encoder_scales": [0.1], "epochs": [2], "steps": [3]}
    assert (tuned["iterations"], tuned["mean_f1"]) == (2, choice.chosen.mean)
    assert '"epochs": 2' in (tmp_path / "base" / "card.md").read_text()
    support = bundled_corpus("cellline").split("train")[:8]
    assert api.adapt(support, tmp_path / "base").facts["steps"] == 3
    assert api.adapt(support, saved).facts["steps"] == 20


def test_choice_is_stored_completely_or_not_at_all(saved, choice, tmp_path, monkeypatch):
    before = copied(saved, tmp_path / "base")

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("adaptner.files.os.replace", full)
        with pytest.raises(DiskFull):
            store(choice, tmp_path / "base")
    assert contents(tmp_path / "base") == before


def test_base_of_another_method_is_refused(saved):
    with pytest.raises(UsageError, match="a base of hgda, not of maml"):
        refuse_other_method(Base.load(saved), "maml")
    refuse_other_method(Base.load(saved), "hgda")
