"""Batches: what the grade looks at beyond the public tests."""

import pytest
from tests.public.windows import (
    LONG,
    assert_follow,
    assert_long,
    assert_only_window,
    assert_uniform,
    dataset_of,
    starts_of,
    windows_of,
)

from grader.testing import assert_inputs_unchanged, exercise


@exercise("run_get_batch")
def test_batch_of_a_long_text(student, draw):
    """Longer windows are parts of the text as well."""
    dataset = dataset_of(draw, LONG)
    windows, targets = student(dataset, 4, 24, "cpu")
    starts_of(dataset, windows)
    assert_follow(dataset, windows, targets)


@exercise("run_get_batch")
def test_batch_of_the_only_long_window(student, draw):
    """A text with room for one window of many tokens."""
    assert_only_window(student, dataset_of(draw, 25))


@exercise("run_get_batch")
def test_batches_begin_anywhere_within_each(student, draw):
    """The windows of small batches, taken together, begin equally often at each place.

    The places are no multiple of a window's length: a text that is cut into windows shows.
    """
    dataset = dataset_of(draw, 11)
    batches = windows_of(student, dataset, 4, batches=200, count=4)
    assert_uniform([start for windows in batches for start in starts_of(dataset, windows)], 7)


@exercise("run_get_batch", aspect="generality")
@pytest.mark.parametrize("dtype", ["uint16", "int32", "int64"])
def test_batch_of_any_integers(student, draw, dtype):
    """Token files hold integers of two, four or eight bytes; int64 comes of all of them."""
    dataset = (dataset_of(draw, LONG) + 45_000).astype(dtype)
    windows, targets = student(dataset, 1, 6, "cpu")
    starts_of(dataset, windows)
    assert_follow(dataset, windows, targets)
    assert_long(windows, targets)


@exercise("run_get_batch", aspect="generality")
def test_batch_of_more_windows_than_the_text_has(student, draw):
    """Each window is drawn by itself: where there are few, some come twice."""
    dataset = dataset_of(draw, 9)
    windows, targets = student(dataset, 12, 6, "cpu")
    starts_of(dataset, windows)
    assert_follow(dataset, windows, targets)


@exercise("run_get_batch", aspect="generality")
def test_batch_of_single_tokens(student, draw):
    """One window of one token."""
    assert_only_window(student, dataset_of(draw, 2))


@exercise("run_get_batch", aspect="discipline")
def test_batch_leaves_the_text_alone(student, draw):
    """The text is as it was before."""
    assert_inputs_unchanged(student, dataset_of(draw, LONG), 1, 5, "cpu")


@exercise("run_get_batch", aspect="discipline")
def test_batch_lies_on_the_device(student, draw):
    """Both results lie on the device that is asked for; torch's meta device plays the GPU."""
    for name, tensor in zip(
        ("windows", "targets"), student(dataset_of(draw, LONG), 1, 5, "meta"), strict=True
    ):
        where = str(tensor.device)
        assert where == "meta", f"with device='meta' the {name} lie on the {where}"
