"""Jobs that a request for a table is turned into."""

from __future__ import annotations

from dataclasses import replace

import pytest
from reproduce_kit import TABLE, TINY, copied_data, planned, request

from adaptner.adaptation.fine_tune import FineTuneConfig
from adaptner.errors import BadConfiguration, FileMissing, InvalidToml, UnknownName, UsageError
from adaptner.reproduce.report.from_plan import comparability_notes
from adaptner.reproduce.report.plan_display import plan_summary
from adaptner.reproduce.run.request import RunRequest, plan_request
from adaptner.reproduce.run.runner import run_id_of
from adaptner.reproduce.tables.protocols import protocol_of

pytestmark = pytest.mark.slow


def test_quick_has_one_base_per_domain_and_paper_one_per_size(everything):
    quick = planned("hgda/3", everything)
    assert (len(quick.bases), len(quick.draws)) == (4 * 4, 4 * 8 * 4 * 5)
    assert {job.spec["settings"]["k"] for job in quick.bases} == {10}
    assert {job.spec["limit"] for job in quick.draws} == {1500}
    paper = planned("hgda/3", everything, profile="paper")
    assert (len(paper.bases), len(paper.draws)) == (4 * 4 * 4, 4 * 8 * 4 * 20)
    assert {job.spec["limit"] for job in paper.draws} == {None}
    assert {job.spec["iterations"] for job in paper.bases} == {10_000}
    k = {job.key: job.spec["settings"]["k"] for job in paper.bases}
    assert all(k[job.spec["base"]] == job.spec["size"] for job in paper.draws)
    hgda = next(job.spec["settings"] for job in paper.bases if job.spec["learner"] == "hgda")
    assert hgda["optimiser"]["name"] == "sgd"
    assert hgda["optimiser"]["momentum"] == 0.9


def test_paper_adapts_pretrained_bases_by_the_appendix(everything):
    names = ("hgda", "metaner", "in-domain")
    plan = planned("hgda/3", everything, profile="paper", methods=names, draws=1)
    default = FineTuneConfig().model_dump(mode="json")
    for job in plan.draws:
        adaptation, size = job.spec["settings"]["adaptation"], job.spec["size"]
        if job.spec["method"] == "in-domain":
            assert adaptation == default
            continue
        rate = {5: 3.95e-3, 10: 5.59e-3, 20: 7.91e-3, 50: 1.25e-2}[size]
        optimiser = adaptation["optimiser"]
        assert optimiser["rate"] == pytest.approx(rate, rel=1e-3)
        assert {**optimiser, "rate": 0} == {
            "name": "sgd",
            "rate": 0,
            "momentum": 0.9,
            "weight_decay": 1e-6,
            "clip": 5.0,
            "schedule": "linear",
        }
        assert adaptation["encoder_scale"] == 1.0
        assert (adaptation["steps"], adaptation["epochs"]) == (default["steps"], default["epochs"])
    assert "HGDA's appendix" in " ".join(comparability_notes(plan))
    quick = planned("hgda/3", everything, methods=("hgda",), draws=1)
    assert {j.spec["settings"]["adaptation"]["optimiser"]["name"] for j in quick.draws} == {"adamw"}
    assert "HGDA's appendix" not in " ".join(comparability_notes(quick))


def test_tables_with_the_same_cells_share_all_jobs(everything):
    keys = [{job.key for job in planned(f"hgda/{n}", everything).jobs} for n in (3, 4, 5)]
    assert keys[0] == keys[1] == keys[2]
    metabioner = {job.key for job in planned("metabioner/3", everything).jobs}
    assert keys[0] < metabioner  # which goes on to 100 sentences
    (hardness,) = planned("hgda/1", everything).jobs
    assert hardness.key in keys[0]


def test_methods_with_the_same_base_method_share_a_base(everything):
    names = ("finetuning", "multitask", "dann", "agg", "metaner", "in-domain")
    plan = planned("metaner/3", everything, methods=names, targets=("SEC",))
    base = {job.spec["method"]: job.base for job in plan.draws}
    assert base["finetuning"] == base["multitask"] == base["dann"]
    assert len(set(base.values())) == 4
    homogeneous = planned(
        "metaner/2", everything, methods=("d-shift", "finetuning", "agg"), targets=("wikigold",)
    )
    assert len(homogeneous.bases) == 1
    assert [j.spec["method"] for j in homogeneous.draws].count("d-shift") == 1


def test_draws_name_sources_only_if_the_method_reads_them_again(everything):
    plan = planned("metaner/3", everything, methods=("finetuning", "dann"), targets=("SEC",))
    for job in plan.draws:
        assert ("sources" in job.spec) == (job.spec["method"] == "dann")


def test_a_method_that_cannot_run_is_skipped_with_the_reason(everything):
    plan = planned("hgda/3", everything, methods=("maml", "d-shift"), sizes=("5",), draws=1)
    assert {job.spec["method"] for job in plan.draws} == {"maml"}
    assert "other labels" in plan.skipped["d-shift"]


def test_a_missing_corpus_skips_only_its_targets(tmp_path):
    data = copied_data(tmp_path)
    for file in (data / "cellline").iterdir():
        file.unlink()
    (data / "cellline").rmdir()
    plan = plan_request(TINY, TABLE, request(tmp_path / "out", data=data))
    assert "no such file" in plan.skipped["cellline"]
    assert {job.spec["target"][0] for job in plan.draws} == {"gene", "species"}
    only = replace(TINY, groups=TINY.groups[:1])
    with pytest.raises(FileMissing, match="corpora list"):
        plan_request(only, TABLE, request(tmp_path / "out", data=data))
    with pytest.raises(FileMissing, match="--data"):
        plan_request(TINY, TABLE, request(tmp_path / "out", data=tmp_path / "nowhere"))


def test_missing_vectors_raise_an_error_with_the_option(everything, tmp_path):
    with pytest.raises(FileMissing, match="--vectors"):
        planned("hgda/3", everything, vectors=tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("changes", "error", "hint"),
    [
        ({"methods": ("hgdaa",)}, UnknownName, "did you mean 'hgda'"),
        ({"targets": ("ncbi-diseas",)}, UnknownName, "did you mean 'ncbi-disease'"),
        ({"profile": "quik"}, UnknownName, "did you mean 'quick'"),
        ({"sizes": ("many",)}, UsageError, "--sizes 5 20 50"),
        ({"sizes": ("0",)}, UsageError, "neither"),
        ({"sizes": ("120%",)}, UsageError, "neither"),
    ],
)
def test_unknown_names_raise_an_error_with_a_suggestion(everything, changes, error, hint):
    with pytest.raises(error, match=hint):
        planned("hgda/3", everything, **changes)


def test_targets_are_found_by_name_place_or_column(everything):
    for spelled in ("ncbi-disease", "bio8/ncbi-disease", "NCBI", "ncbi"):
        plan = planned("hgda/3", everything, targets=(spelled,), methods=("maml",), draws=1)
        assert {job.spec["target"][0] for job in plan.draws} == {"bio8/ncbi-disease"}


def test_sizes_may_be_numbers_or_shares(everything):
    options = {"methods": ("metaner",), "targets": ("SEC",), "draws": 1}
    plan = planned("metaner/3", everything, sizes=("20", "5%,100%"), **options)
    assert [(j.spec["size"], j.spec["share"]) for j in plan.draws] == [
        (20, None),
        (None, 5.0),
        (None, 100.0),
    ]


@pytest.mark.parametrize(
    ("table", "changes", "refused"),
    [
        ("hgda/3", {"sizes": ("20", "100")}, "100"),
        ("hgda/3", {"sizes": ("20%",)}, "20%"),
        ("metabioner/3", {}, "100"),  # one of the table's sizes
        ("jia2019/4", {}, "0"),
        ("metaner/3", {}, "100%"),
    ],
)
def test_only_small_draws_can_be_from_sentences_with_entities(everything, table, changes, refused):
    with pytest.raises(UsageError, match=f"{refused} can only be drawn from all sentences"):
        planned(table, everything, draws_from="with-entities", **changes)
    with pytest.raises(UnknownName, match="did you mean 'with-entities'"):
        planned(table, everything, draws_from="with-entity", **changes)


def test_draws_that_have_a_base_each_cannot_be_crossed_with_bases(everything):
    with pytest.raises(UsageError, match="each draw has a base of its own"):
        planned("pdaln/1", everything, bases=3)
    paper = planned("pdaln/1", everything, bases=2, profile="paper", draws=1, methods=("d-shift",))
    assert {job.spec["seed"] for job in paper.bases} == {0, 1}


def test_a_table_may_set_the_number_of_bases(everything):
    table = replace(protocol_of("hgda/3"), bases=2)
    for bases, expected in ((None, 2), (1, 1)):
        asked = RunRequest(data=everything / "data", bases=bases, draws=1, methods=("maml",))
        plan = plan_request(table, TABLE, asked)
        assert {job.spec["seed"] for job in plan.bases} == set(range(expected))
        assert plan.profile.name == "quick"


def test_notes_and_plan_name_kind_of_draw_and_bases(everything):
    asked = {"draws_from": "with-entities", "bases": 3, "draws": 4}
    plan = planned("hgda/3", everything, **asked)
    assert (
        "4 draws from sentences with entities crossed with 3 bases" in comparability_notes(plan)[0]
    )
    facts = plan_summary(plan, everything / "data", 1)
    assert (facts["draws_from"], facts["bases_per_domain"]) == ("with-entities", 3)


def test_a_repeated_request_has_the_same_run_id(everything):
    first, again = planned("hgda/3", everything), planned("hgda/3", everything)
    assert run_id_of(first) == run_id_of(again)
    assert run_id_of(first) != run_id_of(
        planned("hgda/4", everything)
    )  # the same jobs, another table


def test_another_budget_or_limit_makes_the_profile_custom(everything):
    assert planned("hgda/3", everything, draws=2).profile.name == "quick"
    assert planned("hgda/3", everything, iterations=2).profile.name == "custom"
    assert planned("hgda/3", everything, limit=2).profile.name == "custom"


def test_config_applies_to_every_method_and_variants_go_on_top(everything, tmp_path):
    file = tmp_path / "short.toml"
    file.write_text("[adaptation]\nsteps = 7\ncontrast_weight = 0.3\n")
    plan = planned("pdaln/2", everything, config=file, methods=("pdaln",), draws=1)
    assert plan.profile.name == "custom"
    settings = {job.spec["variant"]: job.spec["settings"]["adaptation"] for job in plan.draws}
    assert {own["steps"] for own in settings.values()} == {7}
    assert (settings[""]["contrast_weight"], settings["w/o L_c"]["contrast_weight"]) == (0.3, 0.0)
    assert '"steps": 7' in " ".join(comparability_notes(plan))
    before = planned("pdaln/2", everything, methods=("pdaln",), draws=1)
    assert {job.key for job in plan.bases} == {job.key for job in before.bases}
    file.write_text("[adaptation]\nstep = 7\n")
    with pytest.raises(BadConfiguration) as raised:
        planned("pdaln/2", everything, config=file)
    assert str(raised.value).startswith(f"{file}: adaptation.step: ")
    assert "pretrain" not in str(raised.value)  # it is not the command that was called
    file.write_text("[adaptation\n")
    with pytest.raises(InvalidToml, match=r"\[adaptation\]") as raised:
        planned("pdaln/2", everything, config=file)
    assert "pretrain" not in str(raised.value)


def test_without_target_labels_every_method_is_zero_shot(everything):
    plan = planned("jia2019/4", everything, draws=1)
    assert {job.spec["size"] for job in plan.draws} == {0}
    settings = {job.spec["method"]: job.spec["settings"]["adaptation"] for job in plan.draws}
    assert set(settings) == {"d-shift", "self-train", "dann", "stm-elmo", "crossdomain-lm"}
    texts = {
        job.spec["variant"]: job.spec["settings"]["adaptation"]["lm_text"]
        for job in plan.draws
        if job.spec["method"] == "stm-elmo"
    }
    assert texts == {"": "both", "STM+ELMO(SRC)": "source", "STM+ELMO(TGT)": "target"}
    assert settings["stm-elmo"]["zero_shot"]
    # Table 5 is about two rows of Table 4, and runs nothing that is not there
    fifth = planned("jia2019/5", everything, draws=1)
    assert {job.key for job in fifth.jobs} <= {job.key for job in plan.jobs}
    assert settings["dann"]["zero_shot"]
    assert settings["crossdomain-lm"]["zero_shot"]
    requested = planned("jia2019/4", everything, methods=("finetuning", "d-shift"), draws=1)
    assert "needs labelled sentences" in requested.skipped["finetuning"]
    facts = plan_summary(plan, everything / "data", 1)
    assert all(row["sizes"] == [0] for row in facts["grid"])
    by_amount = planned("jia2019/raw-amount", everything, draws=1)
    cut = {
        job.spec["variant"]: tuple(
            job.spec["settings"]["adaptation"][name]
            for name in ("source_sentences", "target_sentences")
        )
        for job in by_amount.draws
    }
    assert cut["SRC: 250; TGT: 250"] == (250, 250)
    assert cut["SRC: 100%; TGT: 1,000"] == (None, 1000)
    assert cut["SRC: 500; TGT: 100%"] == (500, None)


def test_variants_change_settings_of_their_method(everything):
    plan = planned("jia2019/3", everything, methods=("crossdomain-lm",), targets=("13PC",), draws=1)
    settings = {
        job.spec["variant"]: {
            name: job.spec["settings"]["adaptation"][name]
            for name in ("data", "domain_size", "task_size", "mixed_text", "zero_shot")
        }
        for job in plan.draws
    }
    final = {
        "data": "all",
        "domain_size": 8,
        "task_size": 8,
        "mixed_text": False,
        "zero_shot": False,
    }
    assert settings == {
        "": final,
        "MULTITASK(NER+LM)": {**final, "domain_size": 0, "task_size": 0},
        "CO-LM": {**final, "data": "target", "domain_size": 0},
        "CO-NER": {**final, "data": "ner", "task_size": 0},
        "MIX-DATA": {**final, "mixed_text": True},
    }
    assert len(plan.bases) == 1  # nothing is learnt in it, and all share it
    assert plan.bases[0].spec["iterations"] == 0
    assert {job.spec["settings"]["adaptation"]["steps"] for job in plan.draws} == {1000}
    paper = planned(
        "jia2019/3", everything, methods=("crossdomain-lm",), targets=("13PC",), profile="paper"
    )
    adaptation = paper.draws[0].spec["settings"]["adaptation"]
    assert (adaptation["optimiser"]["name"], adaptation["optimiser"]["rate"]) == ("sgd", 0.015)
    assert (adaptation["batch"], adaptation["epochs"]) == (30, 100)
