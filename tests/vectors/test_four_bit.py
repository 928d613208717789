"""The four-bit table: accuracy, indexing, and unusual tables."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from adaptner.vectors.four_bit import _CLIPPING, _ROWS_PER_BLOCK, FourBitTable


def cosines(one: np.ndarray, two: np.ndarray) -> np.ndarray:
    return (one * two).sum(1) / np.linalg.norm(one, axis=1) / np.linalg.norm(two, axis=1)


def unpacked(table: FourBitTable, row: int) -> list[float]:
    """Unpacks number by number, as docs/vectors.md describes."""
    levels = [half for byte in table.packed[row].tolist() for half in (byte % 16, byte // 16)]
    return [(level - 7.5) * float(table.scale[row]) for level in levels]


@pytest.mark.parametrize("width", [2, 20, 200, 1000])
def test_gaussian_rows_keep_their_direction_and_length(width):
    rows = np.random.default_rng(width).normal(size=(500, width)).astype(np.float32)
    found = np.asarray(FourBitTable.of(rows))
    assert found.dtype == np.float32
    assert cosines(rows, found).min() > 0.98
    assert cosines(rows, found).mean() > 0.993
    lengths = np.linalg.norm(found, axis=1) / np.linalg.norm(rows, axis=1)
    assert (abs(lengths - 1) < 0.02).all()


def test_rows_equal_those_unpacked_number_by_number():
    table = FourBitTable.of(np.random.default_rng(0).normal(size=(7, 6)))
    for row in range(7):
        np.testing.assert_allclose(table[row], unpacked(table, row), rtol=1e-6)


def test_rows_are_packed_independently_of_blocks():
    rows = np.random.default_rng(1).normal(size=(_ROWS_PER_BLOCK + 3, 2)).astype(np.float32)
    whole = FourBitTable.of(rows)
    for row in (0, _ROWS_PER_BLOCK - 1, _ROWS_PER_BLOCK, _ROWS_PER_BLOCK + 2):
        np.testing.assert_array_equal(whole[row], FourBitTable.of(rows[row : row + 1])[0])


def test_clipping_has_the_smallest_error():
    """Compares with every clipping and its best scale."""
    rng = np.random.default_rng(2)
    rows = rng.standard_t(3, size=(50, 30))  # with extremes, so that cutting matters
    error = ((np.asarray(FourBitTable.of(rows)) - rows) ** 2).sum(1)
    for row in range(50):
        tried = []
        for cut in _CLIPPING.tolist():
            step = cut * abs(rows[row]).max() / 7.5
            levels = np.array([min(15, max(0, round(x / step + 7.5))) - 7.5 for x in rows[row]])
            scale = levels @ rows[row] / (levels @ levels)
            tried.append(((levels * scale - rows[row]) ** 2).sum())
        assert error[row] == pytest.approx(min(tried), rel=1e-3)


def test_packing_a_packed_table_changes_only_rounding():
    once = np.asarray(FourBitTable.of(np.random.default_rng(3).normal(size=(200, 40))))
    np.testing.assert_allclose(np.asarray(FourBitTable.of(once)), once, rtol=1e-5)


def test_rows_are_indexed_like_an_array():
    table = FourBitTable.of(np.random.default_rng(4).normal(size=(6, 4)))
    every = np.asarray(table)
    assert table.shape == (6, 4)
    assert len(table) == 6
    for rows in ([3, 0, 3], np.array([[1, 2], [5, 5]]), slice(2, 4), 5, [], np.arange(6) > 3):
        np.testing.assert_array_equal(table[rows], every[rows])
    np.testing.assert_array_equal(np.concatenate([table, every]), np.concatenate([every, every]))
    assert np.asarray(table, dtype=np.float64).dtype == np.float64
    with pytest.raises(IndexError):
        table[6]
    table[[1]][:] = 0  # a copy
    np.testing.assert_array_equal(np.asarray(table), every)


def test_rows_of_zeros_and_empty_tables_are_packed():
    rows = np.zeros((3, 4))
    rows[1] = [1, -1, 1, -1]
    np.testing.assert_allclose(np.asarray(FourBitTable.of(rows)), rows, rtol=1e-6)
    assert np.asarray(FourBitTable.of(np.zeros((0, 4)))).shape == (0, 4)


finite = st.floats(-(2.0**100), 2.0**100, width=32)


@settings(max_examples=100)
@given(arrays.arrays(np.float32, st.tuples(st.integers(0, 4), st.sampled_from([2, 6])), elements=finite))  # fmt: skip
def test_error_of_finite_rows_is_at_most_half_a_step(rows):
    found = np.asarray(FourBitTable.of(rows)).astype(np.float64)
    assert np.isfinite(found).all()
    # what a plain division into 16 levels, from least to largest, would reach
    plain = len(rows[0]) * (abs(rows.astype(np.float64)).max(1) / 15) ** 2 if len(rows) else 0
    assert (((found - rows) ** 2).sum(1) <= plain * 1.001 + 1e-60).all()


@pytest.mark.parametrize(
    "bad", [np.zeros((2, 3)), np.zeros((2, 0)), np.array([[1, np.nan]]), np.array([[np.inf, 1]])]
)
def test_odd_widths_and_non_finite_numbers_raise(bad):
    with pytest.raises(ValueError):
        FourBitTable.of(bad)


@pytest.mark.parametrize(
    ("packed", "scale"),
    [
        (np.zeros(4, np.uint8), np.zeros(4, np.float32)),
        (np.zeros((4, 2), np.int8), np.zeros(4, np.float32)),
        (np.zeros((4, 2), np.uint8), np.zeros(3, np.float32)),
        (np.zeros((4, 2), np.uint8), np.zeros((4, 1), np.float32)),
        (np.zeros((4, 2), np.uint8), np.zeros(4, np.float64)),
    ],
)
def test_inconsistent_parts_raise(packed, scale):
    with pytest.raises(ValueError):
        FourBitTable(packed, scale)
