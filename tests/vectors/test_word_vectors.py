"""Word vectors: file formats, damage, round trips, and embedding layers."""

from __future__ import annotations

import copy
import io
import struct

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from adaptner.errors import AdaptnerError, BadVectors, FileMissing
from adaptner.nn.encoders.embeddings import FrozenEmbeddings, TrainableEmbeddings
from adaptner.vectors.word_vectors import WordVectors, read_vectors, write_vectors

WORDS = ("the", "p53", "naïve", "日本", "β-catenin")
TABLE = np.arange(15, dtype=np.float32).reshape(5, 3) / 8  # exact in decimal text


def text_lines() -> list[str]:
    return [" ".join([w, *map(str, row)]) for w, row in zip(WORDS, TABLE.tolist(), strict=True)]


def assert_as_written(found: WordVectors) -> None:
    assert found.words == WORDS
    assert found.table.dtype == np.float32
    np.testing.assert_array_equal(found.table, TABLE)


def binary(
    words: tuple[str, ...] = WORDS, table: np.ndarray = TABLE, after: bytes = b"\n"
) -> bytes:
    rows = b"".join(
        w.encode() + b" " + row.astype("<f4").tobytes() + after
        for w, row in zip(words, table, strict=True)
    )
    return f"{len(words)} {table.shape[1]}\n".encode() + rows


@pytest.mark.parametrize("name", ["glove.txt", "word2vec.txt", "fasttext.vec"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"], ids=["unix", "windows"])
@pytest.mark.parametrize("last", ["", "end"], ids=["no last newline", "last newline"])
def test_text_is_read_with_and_without_header(tmp_path, name, newline, last):
    lines = text_lines()
    if name != "glove.txt":
        lines.insert(0, "5 3")
    if name.endswith(".vec"):  # fastText writes a space at the end of its lines
        lines = [lines[0], *(f"{line} " for line in lines[1:])]
    path = tmp_path / name
    path.write_bytes((newline.join(lines) + (newline if last else "")).encode())
    assert_as_written(read_vectors(path))


def test_word2vec_binary_with_and_without_newlines_between_words(tmp_path):
    for after in (b"\n", b""):
        path = tmp_path / "v.bin"
        path.write_bytes(binary(after=after))
        assert_as_written(read_vectors(path))


def test_npy_is_memory_mapped(tmp_path):
    path = tmp_path / "v.npy"
    write_vectors(WordVectors(WORDS, TABLE), path)
    found = read_vectors(path)
    assert_as_written(found)
    assert isinstance(found.table, np.memmap)


def test_words_in_text_may_contain_spaces(tmp_path):
    path = tmp_path / "glove.txt"
    path.write_text("the 1 2\nat name@domain.com 3 4\n. . . 5 6\n", encoding="utf-8")
    found = read_vectors(path)
    assert found.words == ("the", "at name@domain.com", ". . .")
    np.testing.assert_array_equal(found.table, [[1, 2], [3, 4], [5, 6]])


def test_word_with_an_invalid_byte_is_kept(tmp_path):
    path = tmp_path / "v.txt"
    path.write_bytes(b"good 1 2\nb\xffd 3 4\n")
    assert len(read_vectors(path).words) == 2


DAMAGED_TEXT = {
    "empty": b"",
    "header only": b"5 3\n",
    "word only": b"the\n",
    "number only": b"7\n",
    "not numbers": b"the 1 2\nof one two\n",
    "too few numbers": b"the 1 2 3\nof 1 2\n",
    "empty line": b"the 1 2\n\nof 1 2\n",
    "no word": b"the 1 2\n1 2\n",
    "fewer rows than announced": b"3 2\nthe 1 2\nof 3 4\n",
    "more rows than announced": b"1 2\nthe 1 2\nof 3 4\n",
    "other width than announced": b"1 3\nthe 1 2\n",
    "tabs": b"the\t1\t2\n",
    "binary": bytes(range(256)),
}


DAMAGED_BINARY = {
    "empty": b"",
    "no header": b"the \x00\x00\x00\x00",
    "header only": b"5 3\n",
    "cut in a vector": binary()[:-3],
    "cut in a word": binary()[:-16],
    "one word short": binary().replace(b"5 3", b"6 3", 1),
    "negative count": binary().replace(b"5 3", b"-5 3", 1),
    "negative width": binary().replace(b"5 3", b"5 -3", 1),
    "no width": binary().replace(b"5 3", b"5 0", 1),
    "absurd count": binary().replace(b"5 3", b"999999999999 3", 1),
    "fastText model": struct.pack("<i", 793712314) + bytes(40),
    "text": b"the 1 2\n",
}


@pytest.mark.parametrize(
    ("name", "content"),
    [pytest.param("v.txt", content, id=f"text: {case}") for case, content in DAMAGED_TEXT.items()]
    + [pytest.param("v.bin", c, id=f"binary: {case}") for case, c in DAMAGED_BINARY.items()],
)
def test_damaged_text_and_binary_raise(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(BadVectors) as caught:
        read_vectors(path)
    assert caught.value.file == str(path)
    if content is DAMAGED_BINARY["fastText model"]:
        assert ".vec" in str(caught.value)


def npy(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


def damaged_pairs() -> dict[str, tuple[bytes, bytes | None]]:
    words = "".join(f"{w}\n" for w in WORDS).encode()
    return {
        "cut off": (npy(TABLE)[:-4], words),
        "no word list": (npy(TABLE), None),
        "word too few": (npy(TABLE), words[words.index(b"\n") + 1 :]),
        "word too many": (npy(TABLE), words + b"more\n"),
        "word list not UTF-8": (npy(TABLE), b"\xff" + words),
        "one dimension": (npy(TABLE[0]), b"a\nb\nc\n"),
        "not an array": (b"nonsense", words),
        "empty": (b"", words),
        "pickle": (npy(np.array([{"a": 1}] * 5, dtype=object)), words),
        "strings": (npy(np.full((5, 3), "x")), words),
        "zip": (b"PK\x05\x06" + bytes(18), words),
    }


@pytest.mark.parametrize("case", damaged_pairs())
def test_damaged_npy_pair_raises(tmp_path, case):
    path = tmp_path / "v.npy"
    array, words = damaged_pairs()[case]
    path.write_bytes(array)
    if words is not None:
        path.with_suffix(".vocab.txt").write_bytes(words)
    with pytest.raises(BadVectors):
        read_vectors(path)


def test_missing_file_raises(tmp_path):
    with pytest.raises(FileMissing):
        read_vectors(tmp_path / "none.txt")
    with pytest.raises(AdaptnerError):
        read_vectors(tmp_path)


word = st.text(
    st.one_of(
        st.sampled_from("\r\x85\u2028\u2029\x0b\x0c\x1c\x00\ufeff\u200b aβ"),
        st.characters(exclude_characters="\n", exclude_categories=["Cs"]),
    ),
    max_size=6,
)


@settings(max_examples=50)
@given(words=st.lists(word, min_size=1, max_size=6, unique=True))
def test_round_trip_of_unusual_words(tmp_path_factory, words):
    path = tmp_path_factory.mktemp("v") / "v.npy"
    table = np.arange(2.0 * len(words), dtype=np.float32).reshape(-1, 2)
    write_vectors(WordVectors(tuple(words), table), path)
    found = read_vectors(path)
    assert found.words == tuple(words)
    np.testing.assert_array_equal(found.table, table)


def test_row_falls_back_to_lower_case_and_unknown():
    vectors = WordVectors(("the", "DNA", "dna"), TABLE[:3])
    assert [vectors.row(w) for w in ("the", "The", "THE", "DNA", "Dna", "rna", "")] == [
        0, 0, 0, 1, 2, 3, 3,
    ]  # fmt: skip


def test_random_vectors_of_repeated_words_do_not_depend_on_order():
    sentences = [["The", "cat", "saw"], ["the", "Cat", "rare"]]
    one = WordVectors.random(sentences, 4, np.random.default_rng(1))
    two = WordVectors.random(sentences[::-1], 4, np.random.default_rng(1))
    assert one.words == ("cat", "the") == two.words
    np.testing.assert_array_equal(one.table, two.table)
    assert one.table.shape == (2, 4)


def test_frozen_embeddings_have_no_parameters_and_share_the_table():
    layer = FrozenEmbeddings(WordVectors(WORDS, TABLE))
    assert list(layer.parameters()) == []
    assert layer.state_dict() == {}
    assert copy.deepcopy(torch.nn.Sequential(layer))[0]._table is TABLE


def test_frozen_embeddings_read_only_the_rows_in_use(tmp_path):
    path = tmp_path / "v.npy"
    write_vectors(WordVectors(WORDS, TABLE), path)
    layer = FrozenEmbeddings(read_vectors(path))
    found = layer(torch.tensor([[4, 5], [0, 0]]))
    np.testing.assert_array_equal(found.numpy(), [[TABLE[4], [0, 0, 0]], [TABLE[0], TABLE[0]]])
    found.zero_()  # a copy: the mapped file is not written to
    assert np.array_equal(read_vectors(path).table, TABLE)


def test_trainable_embeddings_start_as_the_table_with_a_zero_row():
    vectors = WordVectors(WORDS, TABLE.copy())
    layer = TrainableEmbeddings(vectors)
    assert layer.table.shape == (1, 6, 3)
    rows = torch.tensor([[4, 5, 4]])
    found = layer(rows)
    np.testing.assert_array_equal(found.detach().numpy(), [[TABLE[4], [0, 0, 0], TABLE[4]]])
    found.sum().backward()
    assert layer.table.grad is not None
    assert layer.table.grad[0].sum(1).tolist() == [0, 0, 0, 0, 6, 3]
    with torch.no_grad():
        layer.table.add_(1)
    np.testing.assert_array_equal(vectors.table, TABLE)  # the given table is left alone


def test_trainable_embeddings_are_separate_by_task():
    layer = TrainableEmbeddings(WordVectors(WORDS, TABLE))
    stacked = torch.stack([layer.table[0], -layer.table[0]]).detach()
    found = torch.func.functional_call(layer, {"table": stacked}, (torch.tensor([[1], [1]]),))
    np.testing.assert_array_equal(found.numpy(), [[TABLE[1]], [-TABLE[1]]])


def test_real_tables_are_memory_mapped(shared_vectors):
    for path in sorted(shared_vectors.glob("*.npy")):
        vectors = read_vectors(path)
        assert isinstance(vectors.table, np.memmap)
        assert vectors.row("protein") < len(vectors.words)
