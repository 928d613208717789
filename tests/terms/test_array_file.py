import json
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adaptner.errors import FileMissing, FileUnreadable, ModelTooNew, TermsUnreadable
from adaptner.terms import array_file

ARRAYS = {
    "small": np.arange(5, dtype=np.uint8),
    "wide": np.arange(6, dtype=np.uint64).reshape(2, 3),
    "none": np.zeros(0, dtype=np.uint32),
}
FACTS = {"kinds": ["Disease", "Zellart ä"]}
CONTENT = array_file.content(ARRAYS, FACTS)


def test_what_is_written_is_read_again(tmp_path):
    array_file.write(tmp_path / "a", ARRAYS, FACTS)
    arrays, facts = array_file.read(tmp_path / "a")
    assert facts == FACTS
    assert list(arrays) == list(ARRAYS)
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(arrays[name], array)
        assert arrays[name].dtype == array.dtype
        assert not arrays[name].flags.writeable


def test_content_equals_the_file(tmp_path):
    array_file.write(tmp_path / "a", ARRAYS, FACTS)
    assert (tmp_path / "a").read_bytes() == CONTENT


@settings(max_examples=200)
@given(st.integers(0, len(CONTENT) - 1), st.integers(1, 255))
def test_any_altered_byte_is_an_error_or_in_the_padding(tmp_path_factory, position, change):
    altered = bytearray(CONTENT)
    altered[position] ^= change
    path = tmp_path_factory.getbasetemp() / "altered"
    path.write_bytes(altered)
    try:
        arrays, facts = array_file.read(path)
    except (TermsUnreadable, ModelTooNew):
        return
    assert facts == FACTS
    assert all((arrays[name] == ARRAYS[name]).all() for name in ARRAYS)


def test_a_file_cut_off_anywhere_before_its_padding_is_an_error(tmp_path):
    path = tmp_path / "cut"
    last = CONTENT.rfind(ARRAYS["wide"].tobytes()) + ARRAYS["wide"].nbytes
    for length in range(last):
        path.write_bytes(CONTENT[:length])
        with pytest.raises(TermsUnreadable):
            array_file.read(path)


def with_header(change) -> bytes:
    """The content with another header, whose checksum is right."""
    begin = CONTENT.index(b'{"facts"')
    size = int.from_bytes(CONTENT[begin - 12 : begin - 4], "little")
    header = json.loads(CONTENT[begin : begin + size])
    text = json.dumps(change(header)).encode().ljust(size)
    numbers = len(text).to_bytes(8, "little") + zlib.crc32(text).to_bytes(4, "little")
    return CONTENT[: begin - 12] + numbers + text + CONTENT[begin + size :]


def changed(name, **values):
    def change(header):
        header["arrays"][name] |= values
        return header

    return change


@pytest.mark.parametrize(
    "change",
    [
        changed("small", dtype="|O"),
        changed("small", dtype="<f8"),
        changed("small", shape=[-1]),
        changed("small", shape=[]),
        changed("wide", shape=[1 << 39, 1 << 39]),
        changed("small", offset=1 << 62),
        changed("small", offset=1),
        changed("small", shape=[2.5]),
        lambda header: [],
        lambda header: header | {"more": 1},
        lambda header: {"facts": {}},
    ],
)
def test_a_header_with_a_right_checksum_but_wrong_values_is_an_error(tmp_path, change):
    (tmp_path / "a").write_bytes(with_header(change))
    with pytest.raises(TermsUnreadable, match=r"header|cut off"):
        array_file.read(tmp_path / "a")


def test_a_newer_version_says_so(tmp_path):
    newer = bytearray(CONTENT)
    newer[16] = 99
    (tmp_path / "a").write_bytes(newer)
    with pytest.raises(ModelTooNew, match="99"):
        array_file.read(tmp_path / "a")


@pytest.mark.parametrize("content", [b"", b"name\nasthma\n", b"\0" * 1000])
def test_another_file_says_so(tmp_path, content):
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(TermsUnreadable, match="otherwise"):
        array_file.read(tmp_path / "a")


def test_missing_file_and_folder_are_errors(tmp_path):
    with pytest.raises(FileMissing):
        array_file.read(tmp_path / "none")
    with pytest.raises(FileUnreadable):
        array_file.read(tmp_path)
