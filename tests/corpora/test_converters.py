"""Tests of converters: column files, BOND's JSON, and round trips of real corpora."""

from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adaptner.corpora.catalogue import CatalogueEntry, find_entry
from adaptner.corpora.conversion import convert_folder
from adaptner.corpora.converters import convert_files
from adaptner.corpora.converters.columns import convert_columns, read_columns
from adaptner.corpora.converters.sentences import (
    Splits,
    TaggedTokens,
    convert_to_bio,
    split_60_20_20,
    split_80_10_10,
    split_off_dev,
    to_conll_bytes,
)
from adaptner.corpora.fetch import Fetcher
from adaptner.errors import (
    ChecksumMismatch,
    CorpusUnavailable,
    RawFilesMissing,
    RawFileUnusable,
    WrongEncoding,
)
from adaptner.text.schemes import Scheme, from_bio

Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def file(content: str) -> Path:
        path = tmp_path / f"raw{len(list(tmp_path.iterdir()))}"
        path.write_bytes(content.encode("utf-8"))
        return path

    return file


def converted(path: Path, **settings: object) -> str:
    return to_conll_bytes(convert_columns({"test": path}, **settings)["test"]).decode()


# --- column files -----------------------------------------------------------------------------------


def test_tags_without_label_get_the_label(write):
    path = write("IL\tB\n-\tI\n2\tI\nrose\tO\n\n\nTP53\tB\n")
    assert converted(path, label="Gene") == (
        "IL\tB-Gene\n-\tI-Gene\n2\tI-Gene\nrose\tO\n\nTP53\tB-Gene\n\n"
    )


def test_labels_are_replaced_or_mapped(write):
    path = write("a\tB-x\nb\tB-y\nc\tI-y\n\n")
    assert converted(path, label="Gene") == "a\tB-Gene\nb\tB-Gene\nc\tI-Gene\n\n"
    assert converted(path, types={"x": "P", "y": "Q"}) == "a\tB-P\nb\tB-Q\nc\tI-Q\n\n"
    with pytest.raises(RawFileUnusable, match="unknown type 'y', expected x"):
        converted(path, types={"x": "P"})


def test_iob1_with_docstart_and_four_columns(write):
    path = write(
        "-DOCSTART- -X- O O\n\nBank NNP - I-ORG\nJohn NN - I-PER\nAnn NN - B-PER\nsaid VB - O\n\n"
    )
    assert converted(path) == "Bank\tB-ORG\nJohn\tB-PER\nAnn\tB-PER\nsaid\tO\n\n"


def test_invalid_bioes_is_repaired(write):
    """SciTech has an S in place of an E and an I without a mention before it."""
    path = write("The O\nJapanese B-ORG\nKibo S-ORG\nlab O\nNew I-LOC\nYork E-LOC\n")
    assert converted(path) == (
        "The\tO\nJapanese\tB-ORG\nKibo\tB-ORG\nlab\tO\nNew\tB-LOC\nYork\tI-LOC\n\n"
    )


def test_tag_column_first_and_windows_line_endings(write):
    path = write("O\twho\r\nB-ACTOR\tbruce\r\nI-ACTOR\twillis\r\n\r\n")
    assert converted(path, token=1, tag=0) == "who\tO\nbruce\tB-ACTOR\nwillis\tI-ACTOR\n\n"


def test_resplit_splits_tokens_at_punctuation(write):
    path = write("(N,N-di_methyl)\tB\naniline\tI\nµg/ml.\tO\n")
    assert [
        line.split("\t") for line in converted(path, label="Drug", resplit=True).split("\n")
    ] == [
        ["(", "B-Drug"],
        *([piece, "I-Drug"] for piece in ["N", ",", "N", "-", "di", "_", "methyl", ")", "aniline"]),
        *([piece, "O"] for piece in ["µg", "/", "ml", "."]),
        [""],
        [""],
    ]


def test_control_characters_are_tokens(write):
    """SciTech has such tokens, at which str.split() would split a line."""
    assert converted(write("\x14 O\n\u200b O\n\n")) == "\x14\tO\n\u200b\tO\n\n"


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("a\tO\nb\n", ":2"),
        ("a\tX\n", ":1"),
        ("a b\tO\n", ":1"),
        ("\n\n", ""),
        ("a\u2028b\tO\n", ":1"),
    ],
    ids=["one column", "no tag", "a space", "empty", "a line separator"],
)
def test_invalid_column_file_raises_with_the_line(write, content, line):
    path = write(content)
    with pytest.raises(RawFileUnusable, match=f"{path.name}{line}: cannot be converted"):
        read_columns(path)


def test_other_encodings_raise(tmp_path):
    (tmp_path / "latin").write_bytes("naïve\tO\n".encode("latin-1"))
    with pytest.raises(WrongEncoding):
        read_columns(tmp_path / "latin")


@given(
    st.lists(
        st.lists(st.sampled_from(["O", "B-x", "I-x", "B-y", "I-y"]), min_size=1, max_size=6),
        min_size=1,
        max_size=6,
    )
)
def test_any_tags_convert_to_valid_bio(sequences):
    sentences = [TaggedTokens(tuple("w" * len(tags)), tuple(tags)) for tags in sequences]
    result = convert_to_bio(sentences, "ENTITY")
    for before, after in zip(sentences, result, strict=True):
        previous = "O"
        for old, new in zip(before.tags, after.tags, strict=True):
            assert (old == "O") == (new == "O")
            assert old[2:] == new[2:]
            assert new[0] != "I" or previous[2:] == new[2:]  # continues a mention of its label
            previous = new


# --- splits -----------------------------------------------------------------------------------------


def numbered(count: int) -> list[TaggedTokens]:
    return [TaggedTokens((str(i),), ("O",)) for i in range(count)]


def numbers(sentences: list[TaggedTokens]) -> list[int]:
    return [int(s.tokens[0]) for s in sentences]


@pytest.mark.parametrize("count", [1, 9, 10, 11, 765, 1164])
def test_dev_is_a_random_tenth_of_train(count):
    splits = split_off_dev(numbered(count))
    train, dev = numbers(splits["train"]), numbers(splits["dev"])
    assert sorted(train + dev) == list(range(count))
    assert len(dev) == -(-count // 10)
    assert train == sorted(train)
    assert dev == sorted(dev)


def test_draw_is_the_one_of_the_checksums():
    dev = numbers(split_off_dev(numbered(1164))["dev"])
    assert dev[:6] == [4, 6, 11, 29, 61, 73]


def test_splits_60_20_20_and_80_10_10():
    assert {s: len(x) for s, x in split_60_20_20(numbered(8684)).items()} == {
        "train": 5210,
        "dev": 1737,
        "test": 1737,
    }
    # MetaNER's Table 1, broadcast news
    drawn = split_80_10_10(numbered(4284))
    assert {s: len(x) for s, x in drawn.items()} == {"train": 3427, "dev": 428, "test": 429}
    assert sorted(n for split in drawn.values() for n in numbers(split)) == list(range(4284))
    assert all(numbers(x) == sorted(numbers(x)) for x in drawn.values())
    assert drawn == split_80_10_10(numbered(4284))


# --- BOND -------------------------------------------------------------------------------------------


def bond(path: Path, sentences: list[TaggedTokens], numbers: dict[str, int]) -> Path:
    items = [{"str_words": s.tokens, "tags": [numbers[t] for t in s.tags]} for s in sentences]
    path.write_text(json.dumps(items), encoding="utf-8")
    return path


def test_bond_tag_numbers_are_mapped_and_errors_raise(tmp_path):
    numbers = {"O": 0, "B-PER": 3, "I-PER": 1}
    (tmp_path / "tags").write_text(json.dumps(numbers))
    sentences = [TaggedTokens(("John", "Beale", "'s"), ("B-PER", "I-PER", "O"))]
    files = {"tags": tmp_path / "tags", "dev": bond(tmp_path / "dev", sentences, numbers)}
    assert convert_files({"layout": "bond"}, files) == {"dev": sentences}
    for content, reason in (
        ('[{"str_words": ["a"], "tags": [7]}]', "number 7 has no name"),
        ('[{"str_words": ["a"], "tags": []}]', "a different number of tags"),
        ('[{"str_words": ["a b"], "tags": [0]}]', "sentence 1"),
        ("[]", "not a list of sentences"),
        ("{", "not JSON"),
    ):
        (tmp_path / "dev").write_text(content)
        with pytest.raises(RawFileUnusable, match=reason):
            convert_files({"layout": "bond"}, files)


# --- round trips of real corpora ----------------------------------

BOND_TAGS = {f"{p}-{t}": i for i, (p, t) in enumerate((p, t) for p in "BI" for t in ("PER", "LOC", "ORG", "MISC"))}  # fmt: skip
BOND_TAGS["O"] = 99


def installed(known: CatalogueEntry, data: Path) -> Splits:
    return {split: read_columns(known.file(data, split)) for split in known.sha256}


def as_published(known: CatalogueEntry, data: Path, folder: Path) -> dict[str, Path]:
    """Writes the raw files from which ``known`` is converted, by inverting the conversion."""
    splits, settings = installed(known, data), known.conversion
    if settings.get("types"):  # the unmapped corpus is in the data, too
        return {s: find_entry("general/wnut16").file(data, s) for s in known.sha256}
    if settings.get("parts"):
        splits = {"all": [s for split in splits.values() for s in split]}
    if settings.get("draw"):
        drawn = split_off_dev(numbered(len(splits["train"]) + len(splits["dev"])))
        by_number = {n: s for split in drawn for n, s in zip(numbers(drawn[split]), splits[split], strict=True)}  # fmt: skip
        splits = {"train": [by_number[n] for n in sorted(by_number)], "test": splits["test"]}
    files = {}
    if settings["layout"] == "bond":
        files["tags"] = folder / "tags"
        files["tags"].write_text(json.dumps(BOND_TAGS))
    if settings["layout"] == "wikigold":
        splits = {"gold": interleaved(splits), **splits}
    for split, sentences in splits.items():
        files[split] = folder / split
        if settings["layout"] == "bond" or (settings["layout"] == "wikigold" and split != "gold"):
            bond(files[split], sentences, BOND_TAGS)
        else:
            files[split].write_text(in_columns(known, sentences), encoding="utf-8", newline="\n")
    return files


def interleaved(splits: Splits) -> list[TaggedTokens]:
    """One text with the sentences of each split in order and spread evenly."""
    positions = [((i + 0.5) / len(x), s) for x in splits.values() for i, s in enumerate(x)]
    return [sentence for _, sentence in sorted(positions, key=lambda pair: pair[0])]


def in_columns(known: CatalogueEntry, sentences: list[TaggedTokens]) -> str:
    scheme = {"news/scitech": Scheme.BIOES, "general/sec": Scheme.IOB1, "general/wikigold": Scheme.IOB1}  # fmt: skip
    lines = []
    for number, sentence in enumerate(sentences):
        if number % 100 == 0 and known.name in scheme:
            lines.append("-DOCSTART- O\n")
        tags = from_bio(sentence.tags, scheme.get(known.name, Scheme.BIO))
        for token, tag in zip(sentence.tokens, tags, strict=True):
            plain = tag[0] if known.conversion.get("label") else tag
            lines.append(
                f"{plain}\t{token}" if known.conversion.get("token") else f"{token} {plain}"
            )
        lines.append("")
    return "\n".join(lines)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "bio8/ncbi-disease",
        "bio8/bc4chemd-sub",
        "bio-extra/hunflair-osiris-gene",
        "news/scitech",
        "general/wikigold",
        "general/wnut16-conll",
        "general/webpage",
        "general/mit-restaurant",
        "general/re3d",
        "general/sec",
    ],
)
def test_real_corpus_is_reproduced_byte_for_byte(shared_data, tmp_path, name):
    known = find_entry(name)
    splits = convert_files(known.conversion, as_published(known, shared_data, tmp_path))
    assert list(splits) == list(known.sha256)
    found = {split: sha256(to_conll_bytes(x)).hexdigest() for split, x in splits.items()}
    assert found == dict(known.sha256)


def test_sentence_in_several_splits_is_assigned_by_position(tmp_path):
    """WikiGold has "3 ." early in train and late in test."""

    def sentence(text: str) -> TaggedTokens:
        return TaggedTokens(tuple(text.split()), ("O",) * len(text.split()))

    random = Random(0)
    train = [sentence(f"train {i}") for i in range(40)]
    test = [sentence(f"test {i}") for i in range(10)]
    train[3] = test[9] = sentence("3 .")
    gold = interleaved({"train": train, "test": test})
    unknown = sentence("not in BOND")
    gold.insert(random.randrange(len(gold)), unknown)
    files = {
        split: bond(tmp_path / split, sentences, {"O": 0})
        for split, sentences in {"train": train, "dev": [sentence("d")], "test": test}.items()
    }
    files["gold"] = tmp_path / "gold"
    files["gold"].write_bytes(to_conll_bytes(gold))
    splits = convert_files({"layout": "wikigold"}, files)
    assert splits["test"] == test
    assert [s for s in splits["train"] if s != unknown] == train
    assert unknown in splits["train"]


# --- raw files of the user --------------------------------------------------------------------


def test_folder_of_raw_files_is_converted_and_installed(tmp_path):
    for name in ("train.tsv", "devel.tsv", "test.tsv"):
        (tmp_path / name).write_text("Aspirin\tB\nhelps\tO\n\n")
    fetcher = Fetcher(tmp_path / "data")
    ((outcome,), left_out) = convert_folder("bc4chemd", tmp_path, fetcher)
    assert (outcome.did, outcome.verified, sum(left_out.values())) == ("converted", False, 0)
    dev = tmp_path / "data/bio8/bc4chemd/dev.conll"
    assert dev.read_text() == "Aspirin\tB-Drug\nhelps\tO\n\n"
    with pytest.raises(CorpusUnavailable, match="--replace"):
        convert_folder("bc4chemd", tmp_path, fetcher)


def test_raw_files_with_a_wrong_checksum_raise(tmp_path):
    raw = tmp_path / "clone/data/s800"
    raw.mkdir(parents=True)
    with pytest.raises(
        RawFilesMissing, match=r"(?s)contains no train\.tsv.*train\.tsv, devel\.tsv"
    ):
        convert_folder("s800", tmp_path / "clone", Fetcher(tmp_path / "data"))
    for name in ("train.tsv", "devel.tsv", "test.tsv"):
        (raw / name).write_text("yeast\tB\n\n")
    with pytest.raises(ChecksumMismatch):
        convert_folder("s800", tmp_path / "clone", Fetcher(tmp_path / "data"))
    assert not (tmp_path / "data/bio8/s800/train.conll").exists()


def test_corpus_without_converter_raises(tmp_path):
    with pytest.raises(CorpusUnavailable, match="no converter"):
        convert_folder("biored", tmp_path, Fetcher(tmp_path / "data"))
