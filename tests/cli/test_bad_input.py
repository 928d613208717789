"""Every bad input: a message with place and remedy, exit code 1 or 2, and nothing half-written."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from cli_kit import OWN, TINY, Call, contents, jsonl, listing, refused

from adaptner.methods.families.source_pretrained import SourcePretrainedMethod

GOOD = jsonl(("TP53 fell in HeLa cells.", [(0, 4, "Gene")]))
GOOD_CONLL = b"TP53\tB-Gene\nfell\tO\n\n"
SOURCES = ("--sources", OWN / "disease", OWN / "drug")


@dataclass(frozen=True)
class Fault:
    """A file that cannot be used, the line at fault (None: the whole file) and a word for it."""

    name: str
    ending: str
    content: bytes
    line: int | None
    says: str


FAULTS = [
    Fault("empty", ".jsonl", b"", None, "contains no sentences"),
    Fault("blank", ".jsonl", b" \n\n", None, "contains no sentences"),
    Fault("empty", ".conll", b"", None, "contains no sentences"),
    Fault("blank", ".conll", b"\n \n\n", None, "contains no sentences"),
    Fault("unknown prefix", ".conll", GOOD_CONLL + b"p53\tQ-Gene\n", 4, "'Q-Gene'"),
    Fault("no prefix", ".conll", GOOD_CONLL + b"p53\tGene\n", 4, "'Gene'"),
    Fault("ragged columns", ".conll", GOOD_CONLL + b"p53\tNN\tO\n", 4, "3 column(s)"),
    Fault("one column", ".conll", b"p53\nfell\n", 1, "only one column"),
    Fault("mixed schemes", ".conll", b"a\tB-X\nb\tE-X\n\na\tI-X\nb\tI-X\n", None, "one scheme"),
    Fault("Latin-1", ".conll", GOOD_CONLL + "Ménière\tO\n".encode("latin-1"), 4, "UTF-8"),
    Fault("Latin-1", ".jsonl", GOOD + '{"text": "Ménière"}\n'.encode("latin-1"), 2, "UTF-8"),
    Fault("UTF-16", ".jsonl", GOOD.decode().encode("utf-16"), 1, "UTF-16"),
    Fault("NUL", ".conll", GOOD_CONLL + b"p\x0053\tO\n", 4, "NUL"),
    Fault("NUL", ".jsonl", GOOD + b'{"text": "p\x0053"}\n', 2, "NUL"),
    Fault("not JSON", ".jsonl", GOOD + b"TP53 fell.\n", 2, "not a JSON object"),
    Fault("cut off", ".jsonl", GOOD + GOOD[:30], 2, "not a JSON object"),
    Fault("no text", ".jsonl", GOOD + b'{"entities": []}\n', 2, '"text" is missing'),
    Fault("past the end", ".jsonl", GOOD + jsonl(("p53", [(0, 4, "Gene")])), 2, "0-4"),
    Fault("before the start", ".jsonl", GOOD + jsonl(("p53", [(-1, 2, "Gene")])), 2, "-1-2"),
    Fault("inside out", ".jsonl", GOOD + jsonl(("p53", [(2, 1, "Gene")])), 2, "2-1"),
    Fault("empty label", ".jsonl", GOOD + jsonl(("p53", [(0, 3, "")])), 2, "label"),
    Fault(
        "off the tokens", ".jsonl", GOOD + jsonl(("the p53", [(4, 6, "Gene")])), 2, "'p53' (4-7)"
    ),
    Fault(
        "overlapping",
        ".jsonl",
        GOOD + jsonl(("p53 gene", [(0, 3, "Gene"), (0, 8, "Gene")])),
        2,
        "overlap",
    ),
]
faults = pytest.mark.parametrize("fault", FAULTS, ids=[f"{f.name}{f.ending}" for f in FAULTS])


@pytest.mark.slow
@faults
def test_adapt_refuses(call: Call, base: Path, tmp_path: Path, fault: Fault) -> None:
    file = tmp_path / f"mine{fault.ending}"
    file.write_bytes(fault.content)
    place = f"{file}: " if fault.line is None else f"{file}:{fault.line}: "
    answer = call("adapt", file, "--base", base, "-o", tmp_path / "model")
    refused(answer, 1, place, fault.says)
    assert listing(tmp_path) == [file.name]


@pytest.mark.slow
@faults
def test_check_tells(call: Call, tmp_path: Path, fault: Fault) -> None:
    file = tmp_path / f"mine{fault.ending}"
    file.write_bytes(fault.content)
    answer = call("check", file)
    assert answer.code == 1
    place = f"{file}: " if fault.line is None else f"{file}:{fault.line}: "
    for fragment in (place, fault.says, "What to do: "):
        assert fragment in answer.err
    (error, *_) = json.loads(call("check", file, "--json").out)["errors"]
    assert error["line"] == fault.line


@faults
def test_convert_writes_nothing(call: Call, tmp_path: Path, fault: Fault) -> None:
    file = tmp_path / f"mine{fault.ending}"
    file.write_bytes(fault.content)
    (tmp_path / "out.conll").write_text("earlier")
    refused(call("convert", file, tmp_path / "out.conll"), 1, file, fault.says)
    assert listing(tmp_path) == sorted([file.name, "out.conll"])
    assert (tmp_path / "out.conll").read_text() == "earlier"


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ("pretrain", "--sources", OWN / "drug", "CORPUS", "-o", "OUT"),
        ("evaluate", "--base", "BASE", "--target", "CORPUS", "-o", "OUT"),
        ("corpora", "stats", "CORPUS"),
    ],
    ids=lambda arguments: arguments[0],
)
@faults
def test_a_corpus_with_a_bad_file_is_refused(
    call: Call, base: Path, tmp_path: Path, fault: Fault, arguments: tuple[object, ...]
) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / f"train{fault.ending}").write_bytes(fault.content)
    (corpus / "test.jsonl").write_bytes(GOOD)
    places = {"CORPUS": corpus, "OUT": tmp_path / "out", "BASE": base}
    answer = call(*(places.get(a, a) for a in arguments))  # type: ignore[call-overload]
    refused(answer, 1, corpus / f"train{fault.ending}", fault.says)
    assert [p.name for p in tmp_path.iterdir()] == ["corpus"]


@pytest.mark.parametrize("content", [jsonl(("Nothing here.", [])), b"Nothing\tO\n"])
def test_no_labelled_entity(call: Call, base: Path, tmp_path: Path, content: bytes) -> None:
    file = tmp_path / ("mine.jsonl" if content.startswith(b"{") else "mine.conll")
    file.write_bytes(content)
    answer = call("adapt", file, "--base", base, "-o", tmp_path / "model")
    refused(answer, 1, f"{file}: ", "none of the 1 sentence(s)")
    assert listing(tmp_path) == [file.name]


def test_a_target_without_any_entity(call: Call, base: Path, tmp_path: Path) -> None:
    for split in ("train", "test"):
        (tmp_path / f"{split}.jsonl").write_bytes(jsonl(("Nothing here.", [])))
    refused(call("evaluate", "--base", base, "--target", tmp_path, "--sizes", 1), 1, "entity")


# --- odd, but it works ------------------------------------------------------------------------------


def test_one_sentence_works_with_a_warning(call: Call, base: Path, tmp_path: Path) -> None:
    (tmp_path / "one.jsonl").write_bytes(GOOD)
    answer = call("adapt", tmp_path / "one.jsonl", "--base", base, "-o", tmp_path / "model")
    assert answer.code == 0
    assert "warning: one sentence only" in answer.err
    assert call("tag", tmp_path / "model", stdin="TP53 fell.").code == 0


def test_a_label_with_one_mention_works_with_a_warning(
    call: Call, base: Path, tmp_path: Path
) -> None:
    sentences = [
        ("TP53 fell.", [(0, 4, "Gene")]),
        ("p53 and HeLa", [(0, 3, "Gene"), (8, 12, "Cell")]),
    ]
    (tmp_path / "two.jsonl").write_bytes(jsonl(*sentences))
    answer = call("adapt", tmp_path / "two.jsonl", "--base", base, "-o", tmp_path / "model")
    assert answer.code == 0
    assert "warning: sentence 2: label Cell occurs only here" in answer.err
    assert "label Gene" not in answer.err


@pytest.mark.parametrize("ending", [".jsonl", ".conll"])
@pytest.mark.parametrize("mark", [b"\xef\xbb\xbf", b""], ids=["BOM", "no BOM"])
@pytest.mark.parametrize("newline", [b"\r\n", b"\n"], ids=["CRLF", "LF"])
def test_byte_order_marks_and_line_ends_change_nothing(
    call: Call, tmp_path: Path, ending: str, mark: bytes, newline: bytes
) -> None:
    file = tmp_path / f"mine{ending}"
    content = GOOD if ending == ".jsonl" else GOOD_CONLL
    file.write_bytes(mark + content.replace(b"\n", newline))
    answer = call("convert", file, "-", "--to", "jsonl", "-q")
    assert answer.code == 0
    (document,) = answer.records()
    assert document["text"].split()[:2] == ["TP53", "fell"]
    assert [e["text"] for e in document["entities"]] == ["TP53"]


def test_a_byte_order_mark_and_crlf_do_not_disturb_adaptation(
    call: Call, base: Path, tmp_path: Path
) -> None:
    plain, odd = tmp_path / "plain.jsonl", tmp_path / "odd.jsonl"
    plain.write_bytes(GOOD * 2)
    odd.write_bytes(b"\xef\xbb\xbf" + (GOOD * 2).replace(b"\n", b"\r\n"))
    for file in (plain, odd):
        assert call("adapt", file, "--base", base, "-o", tmp_path / file.stem).code == 0
    assert contents(tmp_path / "plain") == contents(tmp_path / "odd")


@pytest.mark.slow
@pytest.mark.parametrize("way", ["text", "conll"])
def test_a_line_of_100_000_tokens_is_tagged_whole(
    call: Call, eager_model: Path, tmp_path: Path, way: str
) -> None:
    words = ["The", "HeLa", "line", "is", "old"] * 20_000
    text = " ".join(words)
    content = {
        "text": text,
        "conll": "".join(f"{word}\tO\n" for word in words),
    }[way]
    file = tmp_path / "long"
    file.write_text(content)
    answer = call("tag", eager_model, file, "--from", way)
    assert answer.code == 0, answer.err
    (document,) = answer.records()
    assert document["text"] == text
    entities = document["entities"]
    assert all(text[e["start"] : e["end"]] == e["text"] for e in entities)
    assert len([e for e in entities if "HeLa" in e["text"]]) > 15_000  # to the very end
    assert entities[-1]["end"] > len(text) - 100


# --- learning ---------------------------------------------------------------------------------------


def test_a_loss_that_is_no_number_stops_the_run_and_keeps_the_last_good_state(
    call: Call, tmp_path: Path
) -> None:
    (tmp_path / "wild.toml").write_text(TINY + "base_rate = 1e30\n")
    run = ("pretrain", *SOURCES, "--config", tmp_path / "wild.toml", "-o", tmp_path / "base")
    answer = call(*run, "--iterations", 5)
    refused(answer, 1, "the loss became", "lower the learning rates", "checkpoint.safetensors")
    assert "manifest.json" not in listing(tmp_path / "base")
    from safetensors.torch import load_file

    kept = load_file(tmp_path / "base" / "checkpoint.safetensors")
    assert all(bool(t.isfinite().all()) for n, t in kept.items() if n.startswith("model."))


def test_adaptation_that_diverges_writes_no_model(call: Call, base: Path, tmp_path: Path) -> None:
    wild = tmp_path / "wild"
    shutil.copytree(base, wild)
    manifest = json.loads((wild / "manifest.json").read_text())
    manifest["config"]["adaptation"]["optimiser"]["rate"] = 1e30
    (wild / "manifest.json").write_text(json.dumps(manifest))
    (tmp_path / "mine.jsonl").write_bytes(GOOD * 3)
    answer = call("adapt", tmp_path / "mine.jsonl", "--base", wild, "-o", tmp_path / "model")
    refused(answer, 1, "the loss became", "nothing had been written")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["mine.jsonl", "wild"]


TOO_FEW = [
    (("--sources", OWN / "disease"), "at least two"),
    ((*SOURCES, "--k", 200), "--k"),
]


@pytest.mark.parametrize(("arguments", "says"), TOO_FEW, ids=["domains", "sentences"])
def test_sources_that_do_not_suffice(
    call: Call, config: Path, tmp_path: Path, arguments: tuple[object, ...], says: str
) -> None:
    answer = call("pretrain", "--config", config, *arguments, "-o", tmp_path / "base")
    refused(answer, 1, says)
    assert "manifest.json" not in listing(tmp_path / "base")


def test_sources_that_do_not_suffice_leave_no_folder(
    call: Call, config: Path, tmp_path: Path
) -> None:
    call("pretrain", "--config", config, "--sources", OWN / "drug", "-o", tmp_path / "base")
    assert listing(tmp_path) == []


def test_a_draw_larger_than_the_corpus_is_known_before_the_work(call: Call, base: Path) -> None:
    target = ("--target", OWN / "cellline", "--sizes", "5,131")
    answer = call("evaluate", "--base", base, *target, "--json", "-q")
    refused(answer, 1, "130 sentence(s)", "131", "--sizes")


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
        *(2, "--sources has no use where hgda adapts", "agg, crossdomain-lm, dann"),
    ),
    "sources that are idle with another": (
        ("--method", "maml", "--sources", "OTHER"),
        *(2, "--sources has no use where maml adapts", "agg, crossdomain-lm, dann"),
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


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("name", MISUSES)
def test_a_method_that_does_not_suit_the_call(
    call: Call, base: Path, tmp_path: Path, name: str, verb: str
) -> None:
    (tmp_path / "mine.jsonl").write_bytes(GOOD * 2)
    (tmp_path / "joint.toml").write_text("adaptation = {source_tasks = 2}")
    places = {
        "OTHER": OWN / "gene",
        "Medicine=OTHER": f"Medicine={OWN / 'gene'}",
        "JOINT": tmp_path / "joint.toml",
        "FILE": tmp_path / "mine.jsonl",
        "BASE": base,
        "OUT": tmp_path / "out",
    }
    options, code, *says = MISUSES[name]
    answer = call(*(places.get(a, a) for a in (*VERBS[verb], *options)))  # type: ignore[call-overload]
    refused(answer, code, *says)
    assert listing(tmp_path) == ["joint.toml", "mine.jsonl"]


def test_unlabelled_text_for_a_method_that_makes_no_use_of_it(
    call: Call, base: Path, tmp_path: Path
) -> None:
    (tmp_path / "mine.jsonl").write_bytes(GOOD * 2)
    adapt = ("adapt", tmp_path / "mine.jsonl", "--base", base, "-o", tmp_path / "out")
    text = ("--unlabelled", tmp_path / "mine.jsonl")
    refused(call(*adapt, *text), 2, "--unlabelled has no use where hgda adapts", "--method: cross")
    joint = ("--method", "agg", "--sources", OWN / "disease")
    refused(
        call(*adapt, *joint, *text),
        2,
        "--unlabelled has no use where agg",
        "--method: crossdomain-lm, dann, multi-cell, named, pdaln, self-train, stm-elmo",
    )
    assert listing(tmp_path) == ["mine.jsonl"]


ZERO_SHOT = {
    "neither labels nor --zero-shot": ((), 2, "no labelled sentences"),
    "a method that needs labels": (
        ("--zero-shot", "--method", "finetuning"),
        2,
        "finetuning needs labelled sentences",
    ),
    "labels all the same": (
        ("MINE", "--zero-shot", "--method", "crossdomain-lm", "--sources", OWN / "disease"),
        2,
        "no use in zero-shot learning",
    ),
    "no text": (
        ("--zero-shot", "--method", "crossdomain-lm", "--sources", OWN / "disease"),
        1,
        "raw text",
    ),
}


@pytest.mark.parametrize("name", ZERO_SHOT)
def test_zero_shot_that_cannot_be(call: Call, base: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "mine.jsonl").write_bytes(GOOD * 2)
    options, code, says = ZERO_SHOT[name]
    given = [tmp_path / "mine.jsonl" if o == "MINE" else o for o in options]
    refused(call("adapt", "--base", base, "-o", tmp_path / "out", *given), code, says)
    assert listing(tmp_path) == ["mine.jsonl"]


UNLABELLED = {
    "empty": ("more.txt", b" \n", 1, "contains no sentences"),
    "Latin-1": ("more.txt", "Ménière".encode("latin-1"), 1, "UTF-8"),
    "not JSON": ("more.jsonl", b"TP53 fell.\n", 1, "not a JSON object"),
    "of no format": ("more.docx", b"PK", 2, "cannot determine the file format"),
}


@pytest.mark.parametrize("method", ["dann", "crossdomain-lm"])  # held in memory, and streamed
@pytest.mark.parametrize("name", UNLABELLED)
def test_unlabelled_text_that_cannot_be_read(
    call: Call, base: Path, tmp_path: Path, name: str, method: str
) -> None:
    (tmp_path / "mine.jsonl").write_bytes(GOOD * 2)
    file, content, code, says = UNLABELLED[name]
    (tmp_path / file).write_bytes(content)
    more = ("--method", method, "--sources", OWN / "disease", "--unlabelled", tmp_path / file)
    adapt = ("adapt", tmp_path / "mine.jsonl", "--base", base, "-o", tmp_path / "out", *more)
    refused(call(*adapt), code, tmp_path / file, says)
    assert listing(tmp_path) == ["mine.jsonl", file]


@pytest.mark.parametrize(
    ("options", "code", "says"),
    [
        (("--method", "agg"), 1, "own domains (Disease, Drug, Gene, Species)"),
        (("--method", "maml", *SOURCES), 2, "--sources has no use"),
        (("--method", "nonsense"), 2, "'nonsense'"),
        (("--method", "maml", "--config", "nowhere.toml"), 1, "nowhere.toml"),
    ],
    ids=lambda value: " ".join(map(str, value[:2])) if isinstance(value, tuple) else None,
)
def test_a_wrong_call_is_known_before_the_base_of_the_package_is_loaded(
    call: Call,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[object, ...],
    code: int,
    says: str,
) -> None:
    loaded = "adaptner.models.installed.default_base"
    monkeypatch.setattr(loaded, lambda: pytest.fail("a base was loaded"))
    (tmp_path / "mine.jsonl").write_bytes(GOOD * 2)
    answer = call("adapt", tmp_path / "mine.jsonl", "-o", tmp_path / "out", *options)
    refused(answer, code, says)
    assert listing(tmp_path) == ["mine.jsonl"]


def test_a_target_with_labels_of_its_own_is_refused_before_pretraining(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fit(*_: object, **__: object) -> None:
        pytest.fail("a base was made")

    monkeypatch.setattr(SourcePretrainedMethod, "fit", fit)
    for name in ("d-shift", "metaner-zero"):
        answer = call("evaluate", "--method", name, *SOURCES, "--target", OWN / "cellline")
        refused(answer, 1, f"{name} uses the base unchanged", "Disease, Drug", "CellLine")


@pytest.mark.parametrize(
    "arguments",
    [
        ("pretrain", *SOURCES, "-o", "OUT", "--method", "hgdaa"),
        ("evaluate", "--target", OWN / "cellline", *SOURCES, "--method", "hgdaa"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_an_unknown_method_names_the_nearest(
    call: Call, tmp_path: Path, arguments: tuple[object, ...]
) -> None:
    answer = call(*(tmp_path / "out" if a == "OUT" else a for a in arguments))
    refused(answer, 2, "'hgdaa'", "did you mean 'hgda'", "maml")
    assert listing(tmp_path) == []


CONFIGS = {
    "unknown key": ("kay = 3", "kay"),
    "unknown key inside": ("encoder = {hiden = 3}", "encoder.hiden"),
    "out of range": ("k = 0", "k"),
    "of a wrong kind": ('tasks = "many"', "tasks"),
    "not TOML": ("k 3", "TOML"),
    "not UTF-8": ("# \xe9", "TOML"),
}


@pytest.mark.parametrize("name", CONFIGS)
def test_a_bad_configuration_is_refused_before_any_work(
    call: Call, tmp_path: Path, name: str
) -> None:
    text, says = CONFIGS[name]
    file = tmp_path / "config.toml"
    file.write_bytes(text.encode("latin-1"))
    answer = call("pretrain", *SOURCES, "--config", file, "-o", tmp_path / "base")
    refused(answer, 2, f"{says}: ")
    assert listing(tmp_path) == ["config.toml"]


def test_an_unknown_key_names_the_configuration_file(call: Call, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text("kay = 3")
    refused(call("pretrain", *SOURCES, "--config", file, "-o", tmp_path / "base"), 2, file)


@pytest.mark.parametrize(
    "arguments",
    [
        ("pretrain", *SOURCES, "-o", "OUT", "--iterations", -1),
        ("pretrain", *SOURCES, "-o", "OUT", "--k", 0),
        ("pretrain", *SOURCES, "-o", "OUT", "--seed", -1),
        ("pretrain", *SOURCES, "-o", "OUT", "--seed", 2**70),
        ("pretrain", *SOURCES, "-o", "OUT", "--seconds", -1),
        ("pretrain", *SOURCES, "-o", "OUT", "--seconds", "nan"),
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
def test_numbers_that_make_no_sense_are_a_wrong_call(
    call: Call, base: Path, tmp_path: Path, arguments: tuple[object, ...]
) -> None:
    (tmp_path / "mine.jsonl").write_bytes(GOOD)
    places = {"OUT": tmp_path / "out", "BASE": base, "FILE": tmp_path / "mine.jsonl"}
    answer = call(*(places.get(a, a) for a in arguments))  # type: ignore[call-overload]
    assert answer.code == 2, answer.err
    assert answer.out == ""
    assert answer.err
    assert "Traceback" not in answer.err
    assert listing(tmp_path) == ["mine.jsonl"]


# --- paths ------------------------------------------------------------------------------------------

MISSING = [
    ("adapt", "NONE.jsonl", "--base", "BASE", "-o", "OUT"),
    ("adapt", "FILE", "--base", "NONE", "-o", "OUT"),
    ("adapt", "FILE", "--base", "BASE", "--config", "NONE.toml", "-o", "OUT"),
    ("adapt", "FILE", "--base", "BASE", "--method", "agg", "-o", "OUT", "--sources", "NONE"),
    (
        *("adapt", "FILE", "--base", "BASE", "--method", "dann", "-o", "OUT", *SOURCES[:2]),
        *("--unlabelled", "NONE.txt"),
    ),
    ("tag", "NONE", "FILE"),
    ("tag", "MODEL", "NONE.txt"),
    ("pretrain", "--sources", OWN / "drug", "NONE", "-o", "OUT"),
    ("pretrain", *SOURCES, "--config", "NONE.toml", "-o", "OUT"),
    ("pretrain", *SOURCES, "--held-out", "NONE", "-o", "OUT"),
    ("pretrain", *SOURCES, "--vectors", "NONE.vec", "-o", "OUT"),
    ("evaluate", "--base", "NONE", "--target", OWN / "cellline"),
    ("evaluate", "--base", "BASE", "--target", "NONE"),
    ("evaluate", "--base", "BASE", "--config", "NONE.toml", "--target", OWN / "cellline"),
    (
        *("evaluate", "--base", "BASE", "--method", "agg", "--target", OWN / "cellline"),
        *("--sources", "NONE"),
    ),
    ("evaluate", "--method", "maml", *SOURCES, "--vectors", "NONE.vec", "--target", OWN / "gene"),
    ("score", "NONE.jsonl", "FILE"),
    ("score", "FILE", "NONE.jsonl"),
    ("convert", "NONE.jsonl", "OUT.conll"),
    ("corpora", "stats", "NONE"),
    ("hardness", "NONE"),
]
WRONG_KIND = [
    ("adapt", "FOLDER.jsonl", "--base", "BASE", "-o", "OUT"),
    ("adapt", "FILE", "--base", "FOLDER.jsonl", "-o", "OUT"),
    ("adapt", "FILE", "--base", "PLAIN", "-o", "OUT"),
    ("adapt", "FILE", "--base", "MODEL", "-o", "OUT"),
    ("tag", "BASE", "FILE"),
    ("tag", "PLAIN", "FILE"),
    ("tag", "FOLDER.jsonl", "FILE"),
    ("pretrain", "--sources", OWN / "drug", "PLAIN", "-o", "OUT"),
    ("pretrain", "--sources", OWN / "drug", "FOLDER.jsonl", "-o", "OUT"),
    ("pretrain", *SOURCES, "--config", "FOLDER.jsonl", "-o", "OUT"),
    ("pretrain", *SOURCES, "--vectors", "FOLDER.jsonl", "-o", "OUT"),
    ("pretrain", *SOURCES, "--vectors", "PLAIN", "-o", "OUT"),
    ("evaluate", "--base", "BASE", "--target", "PLAIN"),
    ("score", "FOLDER.jsonl", "FILE"),
    ("convert", "FOLDER.jsonl", "OUT.conll"),
    ("corpora", "stats", "PLAIN"),
    ("hardness", "PLAIN"),
]


def named(arguments: tuple[object, ...]) -> str:
    return " ".join(map(str, arguments)).replace(str(OWN), "own")


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [*MISSING, *WRONG_KIND], ids=named)
def test_a_missing_path_or_one_of_the_wrong_kind(
    call: Call, workshop: Path, tmp_path: Path, arguments: tuple[object, ...]
) -> None:
    (tmp_path / "mine.jsonl").write_bytes(GOOD * 2)
    (tmp_path / "plain").write_text("just a file\n")
    (tmp_path / "folder.jsonl").mkdir()
    places = {
        "FILE": tmp_path / "mine.jsonl",
        "PLAIN": tmp_path / "plain",
        "FOLDER.jsonl": tmp_path / "folder.jsonl",
        "BASE": workshop / "base",
        "MODEL": workshop / "model",
    }
    for name in ("OUT", "OUT.conll", "NONE", "NONE.jsonl", "NONE.txt", "NONE.toml", "NONE.vec"):
        places[name] = tmp_path / name.lower()
    before = listing(tmp_path)
    answer = call(*(places.get(a, a) for a in arguments))  # type: ignore[call-overload]
    blamed = [p for n, p in places.items() if n in arguments and n.startswith(("NONE", "FOLDER"))]
    blamed = blamed or [places["PLAIN"]] if "PLAIN" in arguments else blamed
    if not blamed:  # a model for a base, or a base for a model
        blamed = [places["MODEL"]] if arguments[0] == "adapt" else [places["BASE"]]
    refused(answer, 1, blamed[0])
    assert listing(tmp_path) == before


@pytest.mark.parametrize(
    "arguments",
    [("adapt", "FILE", "--base", "BASE", "-o", "OUT"), ("pretrain", *SOURCES, "-o", "OUT")],
    ids=lambda arguments: arguments[0],
)
@pytest.mark.parametrize("kind", ["folder", "file", "below a file"])
def test_what_is_not_ours_is_not_overwritten(
    call: Call, base: Path, tmp_path: Path, arguments: tuple[object, ...], kind: str
) -> None:
    (tmp_path / "mine.jsonl").write_bytes(GOOD * 2)
    theirs = tmp_path / "theirs"
    if kind == "folder":
        theirs.mkdir()
        (theirs / "thesis.tex").write_text("years of work")
    else:
        theirs.write_text("years of work")
    output = theirs / "below" if kind == "below a file" else theirs
    places = {"FILE": tmp_path / "mine.jsonl", "BASE": base, "OUT": output}
    before = contents(tmp_path)
    answer = call(*(places.get(a, a) for a in arguments))  # type: ignore[call-overload]
    refused(answer, 1, theirs)
    assert contents(tmp_path) == before
    assert len(listing(tmp_path)) == (3 if kind == "folder" else 2)


def test_the_format_of_an_unknown_ending_is_asked_for(call: Call, tmp_path: Path) -> None:
    (tmp_path / "mine.docx").write_bytes(b"PK")
    refused(call("adapt", tmp_path / "mine.docx", "-o", tmp_path / "out"), 2, "mine.docx", "jsonl")
    refused(call("check", tmp_path / "mine.docx", "--from", "docx"), 2, "'docx'", "jsonl")


# --- saved models -----------------------------------------------------------------------------------


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def alter(path: Path, **changes: object) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "no manifest": (lambda f: (f / "manifest.json").unlink(), "no manifest.json"),
    "a cut manifest": (lambda f: truncate(f / "manifest.json"), "damaged manifest.json"),
    "an empty manifest": (lambda f: (f / "manifest.json").write_text(""), "damaged manifest.json"),
    "a list": (lambda f: (f / "manifest.json").write_text("[]"), "damaged manifest.json"),
    "of other software": (
        lambda f: (f / "manifest.json").write_text('{"manifest_version": 3, "name": "add-on"}'),
        "damaged manifest.json",
    ),
    "not UTF-8": (lambda f: (f / "manifest.json").write_bytes(b"\xff\xfe"), "damaged manifest"),
    "no weights": (
        lambda f: (f / "weights.safetensors").unlink(),
        "weights.safetensors is missing",
    ),
    "cut weights": (lambda f: truncate(f / "weights.safetensors"), "changed or cut off"),
    "empty weights": (lambda f: (f / "weights.safetensors").write_bytes(b""), "cut off"),
    "no words": (lambda f: (f / "words.txt").unlink(), "words.txt is missing"),
    "cut words": (lambda f: truncate(f / "words.txt"), "words.txt is changed or cut off"),
    "of the future": (lambda f: alter(f / "manifest.json", format=99), "format 99"),
    "without domains": (lambda f: alter(f / "manifest.json", domains=[]), "not a readable"),
}


@pytest.mark.parametrize("kind", ["base", "model"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_folder(
    call: Call, workshop: Path, tmp_path: Path, damage: str, kind: str
) -> None:
    folder = tmp_path / kind
    shutil.copytree(workshop / kind, folder)
    spoil, says = DAMAGES[damage]
    spoil(folder)
    (tmp_path / "mine.jsonl").write_bytes(GOOD * 2)
    output = tmp_path / "out.jsonl"
    if kind == "base":
        answer = call("adapt", tmp_path / "mine.jsonl", "--base", folder, "-o", output)
    else:
        answer = call("tag", folder, tmp_path / "mine.jsonl", "-o", output)
    refused(answer, 1, folder, says)
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([kind, "mine.jsonl"])


@pytest.fixture(scope="module")
def base_with_vectors(tmp_path_factory: pytest.TempPathFactory, workshop: Path) -> Path:
    from cli_kit import run_main

    folder = tmp_path_factory.mktemp("vectors")
    (folder / "tiny.vec").write_text("the 1 0\ncells 0 1\n")
    run = ("pretrain", *SOURCES, "--config", workshop / "config.toml", "--iterations", 1, "-q")
    with pytest.MonkeyPatch.context() as patch:
        vectors = ("--vectors", folder / "tiny.vec", "-o", folder / "base")
        assert run_main(patch, (*run, *vectors)) == 0
    return folder / "base"


@pytest.mark.parametrize("name", ["vectors.npy", "vectors.vocab.txt"])
@pytest.mark.parametrize("damage", [Path.unlink, truncate], ids=["missing", "cut off"])
def test_a_base_whose_vectors_are_missing(
    call: Call,
    base_with_vectors: Path,
    tmp_path: Path,
    name: str,
    damage: Callable[[Path], None],
) -> None:
    shutil.copytree(base_with_vectors, tmp_path / "base")
    damage(tmp_path / "base" / name)
    (tmp_path / "mine.jsonl").write_bytes(GOOD * 2)
    arguments = ("--base", tmp_path / "base", "-o", tmp_path / "model")
    answer = call("adapt", tmp_path / "mine.jsonl", *arguments)
    refused(answer, 1, tmp_path / "base", "vectors of this base are missing", name)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["base", "mine.jsonl"]


VECTORS = {
    "no numbers": ("the one two\n", 1),
    "ragged": ("the 1 0\ncells 1\n", 2),
    "fewer than announced": ("5 2\nthe 1 0\n", None),
    "empty": ("", None),
}


@pytest.mark.parametrize("name", VECTORS)
def test_bad_vectors(call: Call, config: Path, tmp_path: Path, name: str) -> None:
    text, line = VECTORS[name]
    file = tmp_path / "bad.vec"
    file.write_text(text)
    run = ("pretrain", *SOURCES, "--config", config, "--iterations", 1)
    answer = call(*run, "--vectors", file, "-o", tmp_path / "base")
    refused(answer, 1, f"{file}: " if line is None else f"{file}:{line}: ", "word vectors")
    assert listing(tmp_path) == ["bad.vec"]


def test_a_damaged_record_of_hardness(call: Call, base: Path, tmp_path: Path) -> None:
    shutil.copytree(base, tmp_path / "base")
    (tmp_path / "base" / "hardness.jsonl").write_text("no JSON\n")
    refused(call("hardness", tmp_path / "base"), 1, "hardness.jsonl is damaged")


# --- a full disk ------------------------------------------------------------------------------------


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_space(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("adaptner.files.os.fsync", no_space)


@pytest.mark.parametrize("existing", [False, True], ids=["new", "over an old one"])
def test_adapt_on_a_full_disk(
    call: Call, workshop: Path, tmp_path: Path, existing: bool, full_disk: None
) -> None:
    (tmp_path / "mine.jsonl").write_bytes(GOOD * 2)
    if existing:
        shutil.copytree(workshop / "model", tmp_path / "model")
    before = contents(tmp_path)
    arguments = ("--base", workshop / "base", "-o", tmp_path / "model")
    answer = call("adapt", tmp_path / "mine.jsonl", *arguments)
    refused(answer, 1, tmp_path / "", "no space left")
    assert contents(tmp_path) == before
    assert not [name for name in listing(tmp_path) if name.startswith(".")]


@pytest.mark.parametrize("ending", ["jsonl", "conll", "html"])
def test_tag_on_a_full_disk(
    call: Call, model: Path, tmp_path: Path, ending: str, full_disk: None
) -> None:
    output = tmp_path / f"out.{ending}"
    output.write_text("earlier")
    refused(call("tag", model, "-o", output, stdin="HeLa."), 1, output, "no space left")
    assert contents(tmp_path) == {output.name: b"earlier"}


def test_convert_and_evaluate_on_a_full_disk(
    call: Call, base: Path, tmp_path: Path, full_disk: None
) -> None:
    (tmp_path / "mine.jsonl").write_bytes(GOOD)
    answer = call("convert", tmp_path / "mine.jsonl", tmp_path / "mine.conll")
    refused(answer, 1, tmp_path / "mine.conll", "no space left")
    arguments = ("--target", OWN / "cellline", "--sizes", 2, "--draws", 1, "--steps", 1)
    answer = call("evaluate", "--base", base, *arguments, "--limit", 2, "-o", tmp_path / "rows")
    refused(answer, 1, tmp_path / "rows", "no space left")
    assert listing(tmp_path) == ["mine.jsonl"]


def test_pretrain_on_a_full_disk_leaves_no_base(
    call: Call, config: Path, tmp_path: Path, full_disk: None
) -> None:
    run = ("pretrain", *SOURCES, "--config", config, "--iterations", 1, "-q")
    refused(call(*run, "-o", tmp_path / "base"), 1, tmp_path / "base", "no space left")
    assert [name for name in listing(tmp_path) if name != "base"] == []


def test_pretrain_whose_disk_fills_up_goes_on_from_its_checkpoint(
    call: Call, config: Path, tmp_path: Path, base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The base does not fit any more; what was learnt is not lost."""

    def no_space(*_: object, **__: object) -> bytes:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    run = ("pretrain", "--sources", OWN / "disease", f"Medicine={OWN / 'drug'}", "-q")
    run += ("--config", config, "--iterations", 5, "-o", tmp_path / "base")
    with monkeypatch.context() as patch:
        patch.setattr("adaptner.models.storage.save", no_space)
        refused(call(*run), 1, "no space left")
    assert "manifest.json" not in listing(tmp_path / "base")
    assert call(*run, "--resume").code == 0
    assert contents(tmp_path / "base") == contents(base)
