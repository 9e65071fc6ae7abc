"""Values that cross the border, part by part."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from grader.core.wire.values import Named, mapped, parts

pytestmark = pytest.mark.unit


class Pair(NamedTuple):
    """A named tuple."""

    x: Any
    y: Any


def test_each_part_of_a_value_is_changed_and_its_form_is_kept() -> None:
    """Keys of a dict are not parts."""
    value = {1: [1, (2, Pair(3, [4]))], 2: Named("Split", {"train": 5})}
    assert mapped(value, lambda one: 10 * one) == {
        1: [10, (20, Pair(30, [40]))],
        2: Named("Split", {"train": 50}),
    }
    assert isinstance(mapped(Pair(1, 2), str), Pair)


def test_every_part_of_a_value_is_found_however_deep_it_is():
    """Keys are no parts, and empty collections have none."""
    value = [1, (Named("Pair", {"x": {3}, "y": []}),), {"a": ["b"]}, Pair(4, {})]
    assert [*parts(value)] == [1, {3}, "b", 4]
    assert [*parts("text")] == ["text"]
