"""Batches: the tests that you have at home."""

import pytest
from tests.public.windows import (
    LONG,
    assert_follow,
    assert_independent,
    assert_long,
    assert_only_window,
    assert_uniform,
    dataset_of,
    starts_of,
    windows_of,
)

from grader.testing import exercise


@exercise("run_get_batch")
@pytest.mark.parametrize("length", [5, 9])
def test_batch_of_the_only_window(student, draw, length):
    """A text with room for one window: it is that, and the targets are one token later."""
    assert_only_window(student, dataset_of(draw, length + 1))


@exercise("run_get_batch")
def test_batch_of_windows_of_a_text(student, draw):
    """Each window is a part of the text, and each target the token that comes next."""
    dataset = dataset_of(draw, LONG)
    windows, targets = student(dataset, 4, 7, "cpu")
    starts_of(dataset, windows)
    assert_follow(dataset, windows, targets)


@exercise("run_get_batch")
def test_batch_begins_anywhere(student, draw):
    """Windows begin equally often at each place that leaves a target for their last token.

    Each is a batch of its own: whether those of one batch are independent, the next test asks.
    """
    dataset = dataset_of(draw, 9)
    batches = windows_of(student, dataset, 5, batches=280, count=1)
    assert_uniform([start for windows in batches for start in starts_of(dataset, windows)], 4)


@exercise("run_get_batch")
def test_windows_begin_independently(student, draw):
    """Where a window begins says no more of the next one than that it may be another one."""
    dataset = dataset_of(draw, 15)
    batches = windows_of(student, dataset, 6, batches=170, count=5)
    assert_independent([starts_of(dataset, windows) for windows in batches], 9)


@exercise("run_get_batch", aspect="discipline")
def test_batch_is_of_long_integers(student, draw):
    """Both results are int64, as an embedding and a loss want token ids."""
    assert_long(*student(dataset_of(draw, LONG), 1, 6, "cpu"))
