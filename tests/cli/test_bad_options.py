"""Options, methods and configurations that cannot be used are refused before any work."""

from __future__ import annotations

import pytest
from cli_kit import DISEASE, GOOD, OWN, SOURCE_OPTIONS, listing, refused

from adaptner.methods.families.source_pretrained import SourcePretrainedMethod

# What a method cannot use or lacks: exit code and words. OTHER is a corpus the base knows nothing of.
MISUSES = {
    "joint without sources": (("--method", "agg"), 1, "given: none", "(Disease, Medicine)"),
    "sources of other domains": (("--method", "agg", "--sources", "OTHER"), 1, "given: Gene"),
    "sources with other labels": (
        ("--method", "multitask", "--sources", "Medicine=OTHER"),
        *(1, "Medicine, with labels that the base does not know: Gene"),
    ),
    "sources that are idle": (
        ("--sources", "OTHER"),
        *(2, "--sources has no use with hgda", "agg, crossdomain-lm, dann"),
    ),
    "sources that are idle with another": (
        ("--method", "maml", "--sources", "OTHER"),
        *(2, "--sources has no use with maml", "agg, crossdomain-lm, dann"),
    ),
    "another decoder": (("--method", "wpz"), 1, "wpz cannot adapt a base made by hgda"),
    "as it is, but not shared": (("--method", "d-shift"), 1, "a decoder for each of its domains"),
    "unknown": (("--method", "hgdaa"), 2, "did you mean 'hgda'"),
    "a setting of another": (("--method", "maml", "--config", "JOINT"), 2, "source_tasks: "),
    "a setting the base's own has not": (("--config", "JOINT"), 2, "adaptation.source_tasks: "),
}


VERBS = {
    "adapt": ("adapt", "FILE", "--base", "BASE", "-o", "OUT"),
    "evaluate": ("evaluate", "--base", "BASE", "--target", OWN / "cellline", "-o", "OUT"),
}


ADAPT_MISUSES = {
    "neither labels nor --zero-shot": ((), 2, "no labelled sentences"),
    "a method that needs labels": (
        *(("--zero-shot", "--method", "finetuning"), 2),
        "finetuning needs labelled sentences",
    ),
    "labels all the same": (
        *(("MINE", "--zero-shot", "--method", "crossdomain-lm", "--sources", DISEASE), 2),
        "no use in zero-shot learning",
    ),
    "no text": (
        *(("--zero-shot", "--method", "crossdomain-lm", "--sources", DISEASE), 1),
        "raw text",
    ),
    "text without use": (
        *(("MINE", "--unlabelled", "MINE"), 2),
        *("--unlabelled has no use with hgda", "--method: cross"),
    ),
    "text without use with another method": (
        *(("MINE", "--unlabelled", "MINE", "--method", "agg", "--sources", DISEASE), 2),
        "--unlabelled has no use with agg",
        "--method: crossdomain-lm, dann, multi-cell, named, pdaln, self-train, stm-elmo",
    ),
}


UNLABELLED = {
    "empty": ("more.txt", b" \n", 1, "contains no sentences"),
    "Latin-1": ("more.txt", "Ménière".encode("latin-1"), 1, "UTF-8"),
    "not JSON": ("more.jsonl", b"TP53 fell.\n", 1, "not a JSON object"),
    "of no format": ("more.docx", b"PK", 2, "cannot determine the file format"),
}


CONFIGS = {
    "unknown key": ("kay = 3", "kay"),
    "unknown key inside": ("encoder = {hiden = 3}", "encoder.hiden"),
    "out of range": ("k = 0", "k"),
    "of a wrong kind": ('tasks = "many"', "tasks"),
    "not TOML": ("k 3", "TOML"),
    "not UTF-8": ("# \xe9", "TOML"),
}


def test_draw_larger_than_the_corpus_is_refused_before_any_work(call, base):
    target = ("--target", OWN / "cellline", "--sizes", "5,131")
    answer = call("evaluate", "--base", base, *target, "--json", "-q")
    refused(answer, 1, "130 sentence(s)", "131", "--sizes")


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("name", MISUSES)
def test_method_that_does_not_suit_the_call_is_refused(call, base, tmp_path, name, verb, mine):
    (tmp_path / "joint.toml").write_text("adaptation = {source_tasks = 2}")
    places = {
        "OTHER": OWN / "gene",
        "Medicine=OTHER": f"Medicine={OWN / 'gene'}",
        "JOINT": tmp_path / "joint.toml",
        "FILE": mine,
        "BASE": base,
        "OUT": tmp_path / "out",
    }
    options, code, *says = MISUSES[name]
    answer = call(*(places.get(a, a) for a in (*VERBS[verb], *options)))
    refused(answer, code, *says)
    assert listing(tmp_path) == ["joint.toml", "mine.jsonl"]


@pytest.mark.parametrize("name", ADAPT_MISUSES)
def test_impossible_adaptation_is_refused(call, base, tmp_path, name, mine):
    options, code, *says = ADAPT_MISUSES[name]
    given = [mine if o == "MINE" else o for o in options]
    refused(call("adapt", "--base", base, "-o", tmp_path / "out", *given), code, *says)
    assert listing(tmp_path) == ["mine.jsonl"]


@pytest.mark.parametrize("method", ["dann", "crossdomain-lm"])  # held in memory, and streamed
@pytest.mark.parametrize("name", UNLABELLED)
def test_unreadable_unlabelled_text_is_refused(call, base, tmp_path, name, method, mine):
    file, content, code, says = UNLABELLED[name]
    (tmp_path / file).write_bytes(content)
    more = ("--method", method, "--sources", DISEASE, "--unlabelled", tmp_path / file)
    adapt = ("adapt", mine, "--base", base, "-o", tmp_path / "out", *more)
    refused(call(*adapt), code, tmp_path / file, says)
    assert listing(tmp_path) == ["mine.jsonl", file]


@pytest.mark.parametrize(
    ("options", "code", "says"),
    [
        (("--method", "agg"), 1, "own domains (Disease, Drug, Gene, Species)"),
        (("--method", "maml", *SOURCE_OPTIONS), 2, "--sources has no use"),
        (("--method", "nonsense"), 2, "'nonsense'"),
        (("--method", "maml", "--config", "nowhere.toml"), 1, "nowhere.toml"),
    ],
    ids=lambda value: " ".join(map(str, value[:2])) if isinstance(value, tuple) else None,
)
def test_wrong_call_is_refused_before_a_base_is_loaded(
    call, tmp_path, monkeypatch, options, code, says, mine
):
    loaded = "adaptner.models.installed.default_base"
    monkeypatch.setattr(loaded, lambda: pytest.fail("a base was loaded"))
    answer = call("adapt", mine, "-o", tmp_path / "out", *options)
    refused(answer, code, says)
    assert listing(tmp_path) == ["mine.jsonl"]


def test_target_with_unknown_labels_is_refused_before_pretraining(call, monkeypatch):
    def fit(*_: object, **__: object) -> None:
        pytest.fail("a base was made")

    monkeypatch.setattr(SourcePretrainedMethod, "fit", fit)
    for name in ("d-shift", "metaner-zero"):
        answer = call("evaluate", "--method", name, *SOURCE_OPTIONS, "--target", OWN / "cellline")
        refused(answer, 1, f"{name} uses the base unchanged", "Disease, Drug", "CellLine")


@pytest.mark.parametrize(
    "arguments",
    [
        ("pretrain", *SOURCE_OPTIONS, "-o", "OUT", "--method", "hgdaa"),
        ("evaluate", "--target", OWN / "cellline", *SOURCE_OPTIONS, "--method", "hgdaa"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_unknown_method_names_the_nearest(call, tmp_path, arguments):
    answer = call(*(tmp_path / "out" if a == "OUT" else a for a in arguments))
    refused(answer, 2, "'hgdaa'", "did you mean 'hgda'", "maml")
    assert listing(tmp_path) == []


@pytest.mark.parametrize("name", CONFIGS)
def test_a_bad_configuration_is_refused_before_any_work(call, tmp_path, name):
    text, says = CONFIGS[name]
    file = tmp_path / "config.toml"
    file.write_bytes(text.encode("latin-1"))
    answer = call("pretrain", *SOURCE_OPTIONS, "--config", file, "-o", tmp_path / "base")
    refused(answer, 2, file, f"{says}: ")
    assert listing(tmp_path) == ["config.toml"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("pretrain", *SOURCE_OPTIONS, "-o", "OUT", "--iterations", -1),
        ("pretrain", *SOURCE_OPTIONS, "-o", "OUT", "--k", 0),
        ("pretrain", *SOURCE_OPTIONS, "-o", "OUT", "--seed", -1),
        ("pretrain", *SOURCE_OPTIONS, "-o", "OUT", "--seed", 2**70),
        ("pretrain", *SOURCE_OPTIONS, "-o", "OUT", "--seconds", -1),
        ("pretrain", *SOURCE_OPTIONS, "-o", "OUT", "--seconds", "nan"),
        ("adapt", "FILE", "-o", "OUT", "--seed", -1),
        ("evaluate", "--base", "BASE", "--target", OWN / "cellline", "--sizes", "-5"),
        ("evaluate", "--base", "BASE", "--target", OWN / "cellline", "--sizes", "5,x"),
        ("evaluate", "--base", "BASE", "--target", OWN / "cellline", "--sizes", ""),
        *(
            ("evaluate", "--base", "BASE", "--target", OWN / "cellline", "--shares", wrong)
            for wrong in ("0", "-5", "101", "5,5.0", "5,x", "5%", "nan", "")
        ),
        ("evaluate", "--base", "BASE", "--target", OWN / "cellline", "--draws", 0),
        ("evaluate", "--base", "BASE", "--target", OWN / "cellline", "--limit", -1),
        ("evaluate", "--base", "BASE", "--target", OWN / "cellline", "--seed", -1),
        ("evaluate", "--target", OWN / "cellline"),
        ("evaluate", "--target", OWN / "cellline", "--method", "hgda"),
        ("hardness", "BASE", "--iteration", -1),
        ("hardness", "BASE", "--iteration", 3),
        ("demo", "-o", "OUT", "--sentences", -1),
    ],
    ids=lambda arguments: " ".join([arguments[0], *map(str, arguments[-2:])]).replace(str(OWN), ""),
)
def test_numbers_out_of_range_are_a_wrong_call(call, base, tmp_path, arguments):
    (tmp_path / "mine.jsonl").write_bytes(GOOD)
    places = {"OUT": tmp_path / "out", "BASE": base, "FILE": tmp_path / "mine.jsonl"}
    answer = call(*(places.get(a, a) for a in arguments))
    assert answer.code == 2, answer.err
    assert answer.out == ""
    assert answer.err
    assert "Traceback" not in answer.err
    assert listing(tmp_path) == ["mine.jsonl"]
