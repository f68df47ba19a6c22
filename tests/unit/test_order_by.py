"""How the kernel sorts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from numpy.typing import NDArray

from sojourn.pipeline.kernel.search import order_by

WIDTHS = [1, 8, 15, 16, 17, 31, 32, 33, 47, 48, 49, 62]


def columns(size: int, low: int, high: int) -> st.SearchStrategy[NDArray[Any]]:
    return npst.arrays(np.int64, size, elements=st.integers(low, high))


@given(st.data(), st.sampled_from(WIDTHS), st.sampled_from(WIDTHS), st.integers(0, 300))
def test_rows_come_by_major_then_minor_and_equal_ones_stay_as_they_are(
    data: st.DataObject, wide: int, deep: int, size: int
) -> None:
    major = data.draw(columns(size, -(1 << wide - 1), (1 << wide - 1) - 1))
    minor = data.draw(columns(size, -(1 << deep - 1), (1 << deep - 1) - 1))
    assert order_by(major, minor).tolist() == np.lexsort((minor, major)).tolist()


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.uint8, np.uint32])
def test_narrow_numbers_sort_as_wide_ones(dtype: Any) -> None:
    limits = np.iinfo(dtype)
    major = np.random.default_rng(1).integers(limits.min, limits.max, 5_000, dtype, endpoint=True)
    minor = np.arange(5_000)[::-1]
    assert order_by(major, minor).tolist() == np.lexsort((minor, major)).tolist()


def test_a_log_in_order_of_time_but_for_a_few_runs_is_merged() -> None:
    at = np.concatenate([np.arange(0, 9_000, 3), np.arange(1, 9_000, 3), np.arange(2, 9_000, 3)])
    major = np.arange(len(at)) % 7
    assert order_by(major, at).tolist() == np.lexsort((at, major)).tolist()
