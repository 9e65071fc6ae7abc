"""Batches: the tests that you have at home."""

import pytest
from tests.public.windows import (
    assert_begin_at_once,
    assert_follow,
    assert_long,
    assert_uniform,
    dataset_of,
    starts_of,
)

from grader.testing import exercise


@exercise("run_get_batch")
@pytest.mark.parametrize("length", [5, 9])
def test_batch_of_the_only_window(student, draw, length):
    """A text with room for one window: all are that, and the targets are one token later."""
    dataset = dataset_of(draw, length + 1)
    windows, targets = student(dataset, 16, length, "cpu")
    assert_begin_at_once(dataset, windows)
    assert_follow(dataset, windows, targets)


@exercise("run_get_batch")
def test_batch_of_windows_of_a_text(student, draw):
    """Each window is a part of the text, and each target the token that comes next."""
    dataset = dataset_of(draw, 60)
    windows, targets = student(dataset, 16, 7, "cpu")
    starts_of(dataset, windows)
    assert_follow(dataset, windows, targets)


@exercise("run_get_batch")
def test_batch_begins_anywhere(student, draw):
    """Windows begin equally often at each place that leaves a target for their last token."""
    dataset = dataset_of(draw, 17)
    windows, _ = student(dataset, 3_000, 5, "cpu")
    assert_uniform(starts_of(dataset, windows), 12)


@exercise("run_get_batch", aspect="discipline")
def test_batch_is_of_long_integers(student, draw):
    """Both results are int64, as an embedding and a loss want token ids."""
    assert_long(*student(dataset_of(draw, 30), 4, 6, "cpu"))
