"""Sentences on a wrong structure: the first place that differs, and what happened to a shape."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy
import pytest
import torch

from grader.core.wire.values import Elsewhere, Foreign, Named
from grader.testing.structure import Difference, differences

pytestmark = pytest.mark.unit


class Pair(NamedTuple):
    """A named tuple."""

    one: int
    two: list[int]


def told(actual: Any, expected: Any) -> list[tuple[str, str, str]]:
    """Returns the place, the words and the expected value of each difference."""
    found = differences(actual, expected)
    return [(one.place, one.words, one.expected) for one in found if one.tensors is None]


LONG = "a" * 30


@pytest.mark.parametrize(
    ("actual", "expected", "said"),
    [
        (1, 1, []),
        (1, 2, [("", "is 1", "2 was expected")]),
        (True, 1, [("", "is a bool, where an int was expected", "")]),
        (None, [1], [("", "is None, where a list was expected", "")]),
        (b"a", "a", [("", "is bytes, where a str was expected", "")]),
        (torch.ones(2, 3), 1, [("", "is a tensor of shape [2, 3], where an int was expected", "")]),
        (torch.ones(2, 3), torch.ones(3),
         [("", "has shape [2, 3], where [3] was expected", "")]),
        ([1, 2, 3], [1, 5, 6],
         [("[1]", "is 2", "5 was expected"), ("[2]", "is 3", "6 was expected")]),
        ([1], [1, 2], [("", "has 1 element, where 2 were expected", "2 at [1] is missing")]),
        ([1, 2, 3], [1],
         [("", "has 3 elements, where 1 was expected: 2 at [1] is too much", "")]),
        ((1, (2, 3)), (1, (2, 4)), [("[1][1]", "is 3", "4 was expected")]),
        (Pair(1, [2]), Pair(1, [3]), [(".two[0]", "is 2", "3 was expected")]),
        (Named("Own", {"two": [2], "one": 1}), Pair(1, [2]), []),
        (Named("Own", {"one": 1, "two": [2]}), Pair(1, [3]),
         [(".two[0]", "is 2", "3 was expected")]),
        (Named("Own", {"one": 1}), Named("Own", {"one": 1, "two": 2}),
         [("", "has 1 field, where 2 were expected", "'two' missing")]),
        (Named("Own", {}), [1], [("", "is an Own, where a list was expected", "")]),
        ({"a": 1, "b": 2}, {"a": 1, "b": 3}, [("['b']", "is 2", "3 was expected")]),
        ({"a": 1}, {"b": 1},
         [("", "has another key than expected; 'a' too much", "'b' missing")]),
        ({"a": 1}, {"a": 1, "b": 2},
         [("", "has 1 key, where 2 were expected", "'b' missing")]),
        ({1}, {1, 2, 3, 4, 5, 6},
         [("", "has 1 element, where 6 were expected", "2, 3, 4 and 2 more missing")]),
        ({1, 2, 3}, {1}, [("", "has 3 elements, where 1 was expected; 2, 3 too much", "")]),
        (frozenset({1}), frozenset({1}), []),
        (("a", b"b"), ("a", b"c"), [("[1]", "is b'b'", "b'c' was expected")]),
        (("a", "b", "c", "d"), ("a", "b", "c", "x"), [("[3]", "is 'd'", "'x' was expected")]),
        (("a" * 25,), ("b" * 25,),
         [("[0]", f"begins with '{'a' * 12}'", f"'{'b' * 12}' was expected")]),
        ("ab", "ac", [("", "is 'ab'", "'ac' was expected")]),
        ("a" * 24, "a" * 23, [("", f"is '{'a' * 24}'", f"'{'a' * 23}' was expected")]),
        (LONG, LONG + "b",
         [("", f"is right up to its character 30, around which it is '{'a' * 12}'",
           f"'{'a' * 12}b' was expected")]),
        (LONG + "b", LONG,
         [("", f"is right up to its character 30, around which it is '{'a' * 12}b'",
           f"'{'a' * 12}' was expected")]),
        (b"aa" + b"x" * 30, b"a" + b"x" * 30,
         [("", f"is right up to its byte 1, around which it is b'aa{'x' * 11}'",
           f"b'a{'x' * 12}' was expected")]),
        (torch.float16, torch.float32,
         [("", "is torch.float16", "torch.float32 was expected")]),
        (Foreign("an object of type Decimal"), 0.5,
         [("", "is an object of type Decimal, where a float was expected", "")]),
        ([Elsewhere("float32", (2,), "meta")], [torch.ones(2)],
         [("[0]", "is a tensor on the device meta, where a tensor of shape [2] was expected", "")]),
    ],
    ids=str,
)  # fmt: skip
def test_each_part_that_differs_is_told_with_its_place(actual, expected, said):
    """What was expected stands apart, because hidden tests do not show it."""
    assert told(actual, expected) == said


def test_numbers_are_left_to_be_compared():
    """Floats, arrays and tensors of one shape are pairs of tensors."""
    one = torch.ones(2)
    for actual, expected, pairs in [
        (one, one, [("", [1.0, 1.0], [1.0, 1.0])]),
        (1.5, 2, [("", 1.5, 2.0)]),
        (1.5, 2.5, [("", 1.5, 2.5)]),
        (numpy.ones(2), numpy.zeros(2), [("", [1.0, 1.0], [0.0, 0.0])]),
        (numpy.ones(2), torch.zeros(2), [("", [1.0, 1.0], [0.0, 0.0])]),
        ([one, {"a": 1.0}], [one, {"a": 2.0}],
         [("[0]", [1.0] * 2, [1.0] * 2), ("[1]['a']", 1.0, 2.0)]),
    ]:  # fmt: skip
        found = [
            (one.place, *(tensor.tolist() for tensor in one.tensors))
            for one in differences(actual, expected)
            if one.tensors
        ]
        assert found == pairs
    (number,) = differences(1.5, 1, "[7]")
    assert number.place == "[7]"
    assert number.tensors is not None
    assert {tensor.dtype for tensor in number.tensors} == {torch.float64}
    assert told(1, 1.0) == [("", "is an int, where a float was expected", "")]
    assert [*differences("a", "a")] == []
    assert Difference("x").tensors is None


# --- Shapes -------------------------------------------------------------------------------------


def test_tensors_in_named_tuples_are_left_to_be_compared():
    """Without an annotation a named tuple stays as it crossed: two of them have no truth value."""
    one, other = (Named("Own", {"x": torch.ones(2), "y": 1}) for _ in range(2))
    (found,) = differences(one, other)
    assert (found.place, found.tensors is None) == (".x", False)
