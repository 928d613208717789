"""``adaptner terms``: compile, find, list and describe."""

from __future__ import annotations

import json
import lzma

import pytest
from cli_kit import Call
from terms_kit import concept, write_tsv

from adaptner.errors import AdaptnerError
from adaptner.progress import progress_bar
from adaptner.terms.compiled import CompiledTerms
from adaptner.terms.from_files import compile_files, find_sources
from adaptner.terms.own_names import compile_list
from adaptner.terms.readers import read_concepts

TEXT = """\
asthma and brain fever are bad .
Patients with diabetes mellitus ( DM ) and asthma .
They had diabetes mellitus ( DM ) or tnf alpha ( TNF ) .
Asthma was not a set of brain fever cases .
"""
GENERAL = "the set was set for the house\n" * 200


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("terms")
    diseases = [
        concept("MONDO:0000001", "disease"),
        concept("MONDO:1", "asthma", parents=["MONDO:0000001"]),
        concept("MONDO:2", "brain fever", "ague", parents=["MONDO:0000001"]),
        concept("MONDO:3", "diabetes mellitus", parents=["MONDO:0000001"]),
    ]
    write_tsv(folder / "mondo.tsv", diseases)
    write_tsv(folder / "hgnc.tsv", [concept("HGNC:1", "TNF", "tnf alpha"), concept("HGNC:2", "AB")])
    (folder / "text.txt.xz").write_bytes(lzma.compress(TEXT.encode()))
    (folder / "general.txt").write_text(GENERAL)
    return folder


@pytest.fixture(scope="module")
def compiled_file(folder):
    sources = find_sources([folder / "mondo.tsv", folder / "hgnc.tsv"])
    terms = compile_files(
        sources,
        lambda title: progress_bar(title, quiet=True),
        text=[folder / "text.txt.xz"],
        general=[folder / "general.txt"],
    )
    terms.save(folder / "terms.bin")
    return folder / "terms.bin"


@pytest.fixture
def call(monkeypatch, capsys):
    return Call(monkeypatch, capsys)


def test_build_writes_a_file_that_find_reads(call, folder, tmp_path):
    files = (folder / "mondo.tsv", folder / "hgnc.tsv")
    texts = ("--text", folder / "text.txt.xz", "--general", folder / "general.txt")
    answer = call.ok("terms", "build", *files, "-o", tmp_path / "t.bin", *texts)
    assert "concepts from 2 file(s)" in answer.out
    answer = call.ok("terms", "find", "an ague and TNF", "--terms", tmp_path / "t.bin")
    (record,) = answer.records()
    assert [(e["text"], e["label"], e["ids"]) for e in record["entities"]] == [
        ("ague", "Disease", ["MONDO:2"]),
        ("TNF", "Gene", ["HGNC:1"]),
    ]


def test_build_reports_as_json(call, folder, tmp_path):
    found = call.ok(
        "terms",
        "build",
        folder / "mondo.tsv",
        "-o",
        tmp_path / "t.bin",
        "--json",
        "--only-shippable",
    )
    assert json.loads(found.out)["sources"] == ["mondo"]


def test_raw_text_is_counted(compiled_file):
    terms = CompiledTerms.load(compiled_file)
    assert terms.facts["field_tokens"] == len(TEXT.split())
    assert terms.facts["general_tokens"] == len(GENERAL.split())
    assert terms.facts["examples"]["Disease"][0].lower() in ("asthma", "diabetes mellitus", "dm")
    assert terms.arrays["abbreviation_counts"].tolist()[0][:2] == [2, 2]


def test_raw_text_without_names_and_abbreviations_is_counted_too(call, folder, tmp_path):
    text = ("--text", folder / "general.txt")
    call.ok("terms", "build", folder / "mondo.tsv", "-o", tmp_path / "t.bin", *text)
    shown = call.ok("terms", "show", "asthma", "--terms", tmp_path / "t.bin").out
    assert "in field text: 0 alone" in shown


def test_exclude_takes_names_out(call, folder, tmp_path):
    (tmp_path / "no.txt").write_text("Asthma\n")
    options = ("-o", tmp_path / "t.bin", "--exclude", tmp_path / "no.txt")
    call.ok("terms", "build", folder / "mondo.tsv", *options)
    (record,) = call.ok("terms", "find", "asthma or ague", "--terms", tmp_path / "t.bin").records()
    assert [e["text"] for e in record["entities"]] == ["ague"]


def test_only_shippable_leaves_out_what_is_unknown_or_may_not_ship(folder, tmp_path):
    for name in ("hpo.tsv", "mine.tsv"):
        (tmp_path / name).write_bytes((folder / "mondo.tsv").read_bytes())
    paths = [folder / "mondo.tsv", tmp_path]
    assert list(find_sources(paths).files) == ["mondo", "hpo", "mine"]
    found = find_sources(paths, only_shippable=True)
    assert (list(found.files), found.left_out) == (["mondo"], ("hpo", "mine"))


def test_a_newer_file_replaces_one_of_the_same_name(folder, tmp_path):
    for name in ("mesh.tsv.xz", "desc2027.xml", "c2027.bin", "mondo.obo"):
        (tmp_path / name).write_text("x")
    files = [tmp_path / "mesh.tsv.xz", folder / "mondo.tsv", *sorted(tmp_path.iterdir())]
    assert {name: file.name for name, file in find_sources(files).files.items()} == {
        "mesh": "mesh.tsv.xz",
        "mondo": "mondo.obo",
        "mesh-supplementary": "c2027.bin",
    }
    assert find_sources([*files, tmp_path / "desc2027.xml"]).files["mesh"].name == "desc2027.xml"


def test_known_files_come_in_the_order_of_the_licences(folder, tmp_path):
    files = [folder / "hgnc.tsv", folder / "mondo.tsv", tmp_path / "b.tsv", tmp_path / "a.tsv"]
    for file in files[2:]:
        file.write_text("x")
    assert list(find_sources(files).files) == ["mondo", "hgnc", "b", "a"]


def test_lists_have_the_kinds_of_their_column_or_their_name(call, tmp_path):
    (tmp_path / "cell-line.txt").write_text("HeLa\n")
    (tmp_path / "more.csv").write_text("name,id,kind\nred ague,X:1,disorder\n")
    call.ok(
        "terms", "build", tmp_path / "cell-line.txt", tmp_path / "more.csv", "-o", tmp_path / "t"
    )
    options = ("--kinds", "CellLine,Disease", "--terms", tmp_path / "t")
    (record,) = call.ok("terms", "find", "HeLa with red ague", *options).records()
    assert [(e["text"], e["label"]) for e in record["entities"]] == [
        ("HeLa", "CellLine"),
        ("red ague", "Disease"),
    ]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("my.txt", "asthma\n", "none of the names has a kind"),
        ("disease.txt", "", "contains no names"),
        ("my.csv", "name,kind\nasthma,Diseese\n", "no kind is called 'Diseese' (did you mean"),
    ],
)
def test_lists_that_cannot_be_compiled_say_why(call, tmp_path, name, content, message):
    (tmp_path / name).write_text(content)
    answer = call("terms", "build", tmp_path / name, "-o", tmp_path / "t")
    assert answer.code in (1, 2)
    assert message in answer.err
    assert "What to do" in answer.err
    assert not (tmp_path / "t").exists()


def test_find_reads_files_folders_texts_and_standard_input(call, compiled_file, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("asthma here")
    arguments = ("terms", "find", "no asthma", tmp_path / "in", "-", "--terms", compiled_file)
    records = call.ok(*arguments, stdin="more asthma").records()
    assert [(r["text"], len(r["entities"])) for r in records] == [
        ("no asthma", 1),
        ("asthma here", 1),
        ("more asthma", 1),
    ]


def test_find_reports_a_missing_file_and_goes_on(call, compiled_file):
    answer = call("terms", "find", "abstracts.txt", "asthma", "--terms", compiled_file)
    assert answer.code == 1
    assert "abstracts.txt: no such file" in answer.err
    assert len(answer.records()) == 1


def test_offsets_of_entities_are_those_of_the_whole_text(call, compiled_file):
    text = "Nothing here. " * 400 + "β-asthma. Then diabetes mellitus (DM). DM and asthma."
    (record,) = call.ok("terms", "find", text, "--terms", compiled_file).records()
    assert {e["text"] for e in record["entities"]} >= {"asthma", "diabetes mellitus", "DM"}
    assert all(text[e["start"] : e["end"]] == e["text"] for e in record["entities"])


def test_find_of_an_unknown_kind_lists_those_there_are(call, compiled_file):
    answer = call("terms", "find", "asthma", "--kinds", "Disease,Gen", "--terms", compiled_file)
    assert answer.code == 2
    assert "did you mean 'Gene'" in answer.err


def test_kinds_are_listed_with_counts_and_examples(call, compiled_file):
    rows = json.loads(call.ok("terms", "kinds", "--json", "--terms", compiled_file).out)
    disease = next(row for row in rows if row["kind"] == "Disease")
    assert disease["names"] >= 4
    assert "asthma" in [name.lower() for name in disease["examples"]]
    assert "Disease" in call.ok("terms", "kinds", "--terms", compiled_file).out


def test_show_says_what_a_name_is_and_whether_it_is_used(call, compiled_file):
    answer = call.ok("terms", "show", "Brain Fever", "--terms", compiled_file)
    assert "Disease: used" in answer.out
    assert "MONDO:2  mondo" in answer.out
    assert "in field text: 2 alone" in answer.out
    shown = json.loads(call.ok("terms", "show", "AB", "--json", "--terms", compiled_file).out)
    assert shown["concepts"] == [["HGNC:2", "hgnc"]]
    assert shown["doubts"]["Gene"]


@pytest.mark.parametrize("name", ["no such thing", "", "…"])
def test_show_of_no_name_is_an_error(call, compiled_file, name):
    answer = call("terms", "show", name, "--terms", compiled_file)
    assert answer.code == 2
    assert "is no name in these terminologies" in answer.err


@pytest.mark.parametrize("verb", [("find", "asthma"), ("kinds",), ("show", "asthma")])
def test_a_file_that_is_missing_damaged_or_no_terms_is_an_error(
    call, compiled_file, tmp_path, verb
):
    damaged = bytearray(compiled_file.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    (tmp_path / "damaged.bin").write_bytes(damaged)
    (tmp_path / "cut.bin").write_bytes(damaged[:1000])
    (tmp_path / "text.bin").write_text("asthma")
    for name in ("missing.bin", "damaged.bin", "cut.bin", "text.bin"):
        answer = call("terms", *verb, "--terms", tmp_path / name)
        assert answer.code == 1
        assert name in answer.err
        assert "What to do" in answer.err


def test_a_base_without_terminologies_says_so(call, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    base = tmp_path / "adaptner" / "bases" / "biomedical"
    base.mkdir(parents=True)
    monkeypatch.setattr("adaptner.models.installed.base_folder", lambda name: base)
    answer = call("terms", "kinds")
    assert answer.code == 1
    assert "this base has no terminologies" in answer.err
    assert "--terms" in answer.err


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"asthma\x00\n", b"\xe4sthma\n"])
def test_lists_in_another_encoding_are_an_error_or_read(tmp_path, content):
    (tmp_path / "disease.txt").write_bytes(content)
    with pytest.raises(AdaptnerError, match="What to do"):
        compile_list("Disease", read_concepts(tmp_path / "disease.txt"))
