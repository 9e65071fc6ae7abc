"""Values that cross the border: in a few words, as one row of numbers, and part by part."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy
import pytest
import torch

from grader.core.wire.values import (
    Elsewhere,
    Foreign,
    Local,
    Named,
    Value,
    as_tensor,
    bytes_of,
    described,
    in_words,
    mapped,
    parts,
)

pytestmark = pytest.mark.unit


class Pair(NamedTuple):
    """A named tuple."""

    x: Any
    y: Any


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (torch.zeros(2, 3), "float32[2, 3]"),
        (torch.tensor(1), "int64[]"),
        (Elsewhere("float16", (2,), "meta"), "float16[2]"),
        (numpy.zeros((2, 3), numpy.int8), "numpy int8[2, 3]"),
        (Foreign("a module of type Linear"), "a module of type Linear"),
        (Local(3, "an optimizer"), "an optimizer"),
        (Local(3), "…"),
        (Named("Split", {"train": [1], "rest": ()}), "Split(train=[1], rest=())"),
        ({"a": 1, 2: torch.zeros(1)}, "{'a': 1, 2: float32[1]}"),
        ([1, 2, 3, 4], "[1, 2, 3, 4]"),
        ([1, 2, 3, 4, 5], "[1, 2, 3, 4, …]"),
        ((1,), "(1,)"),
        ((1, 2), "(1, 2)"),
        ({7}, "{7}"),
        (frozenset({7}), "{7}"),
        ({*"fedcba", 10, 9}, "{9, 10, 'a', 'b', …}"),
        (
            {("b", frozenset("cd")), ("a", frozenset("ef"))},
            "{('a', {'e', 'f'}), ('b', {'c', 'd'})}",
        ),
        (set(), "set()"),
        (frozenset(), "set()"),
        (None, "None"),
        ("x" * 58, f"'{'x' * 58}'"),
        ("x" * 59, f"'{'x' * 59}…"),
        (b"x" * 5000, f"b'{'x' * 58}…"),
        (torch.float16, "torch.float16"),
    ],
)
def test_a_value_is_told_in_a_few_words(value: Value, words: str) -> None:
    """A tensor has its dtype and shape, a collection its first four items, a text 60 characters."""
    assert in_words(value) == words


def test_sets_within_sets_are_told_in_one_pass() -> None:
    """Two passes at each level would be 2^30 in all; a few hundred bytes can nest so deep."""
    value: Value = 1
    for _ in range(30):
        value = frozenset([value])
    assert in_words(value) == "{" * 30 + "1" + "}" * 30


def test_the_words_of_a_nested_value_are_bounded() -> None:
    """A submission can nest lists, whose items multiply with each level."""
    value: Value = "x" * 50
    for _ in range(6):
        value = [value] * 5
    assert in_words(value)[:4] == "[[[["
    assert len(in_words(value)) == 500


# The marks before the numbers of a row.
NOTHING, TRUTH, TEXT, BYTES, SEVERAL, PAIRS, OTHER, TENSOR = (
    -1e9 - 1e6 * kind for kind in range(8)
)


@pytest.mark.parametrize(
    ("value", "row"),
    [
        (None, [NOTHING]),
        ("ab", [TEXT, 2, 97, 98]),
        (b"ab", [BYTES, 2, 97, 98]),
        ([1, 2.5], [SEVERAL, 2, 1, 2.5]),
        ((), [SEVERAL, 0]),
        ([True], [SEVERAL, 1, TRUTH, 1]),
        ({2, 1}, [SEVERAL, 2, 1, 2]),
        ({"b": 2, "a": 1}, [PAIRS, 2, TEXT, 1, 97, 1, TEXT, 1, 98, 2]),
        (Named("Pair", {"x": 1, "y": 2}), [SEVERAL, 2, 1, 2]),
        (Pair(1, 2), [SEVERAL, 2, 1, 2]),
        ([torch.tensor([[1.0, 2.0]])], [SEVERAL, 1, TENSOR, 2, 1, 2, 1, 2]),
        ([numpy.array([3])], [SEVERAL, 1, TENSOR, 1, 1, 3]),
        (Foreign("x"), [OTHER, *map(ord, "Foreign(description='x')")]),
        (torch.float16, [OTHER, *map(ord, "torch.float16")]),
    ],
    ids=repr,
)
def test_any_value_is_a_row_of_numbers(value: Value, row: list[float]) -> None:
    """A mark tells the kind and a count the length, and the order of a dict or set is lost."""
    found = as_tensor(value)
    assert found.dtype == torch.float64
    assert found.tolist() == row


def test_a_number_or_a_tensor_stays_what_it_is() -> None:
    """Only other values become rows."""
    tensor = torch.ones(2, 2)
    assert as_tensor(tensor) is tensor
    assert as_tensor(3).tolist() == 3
    assert as_tensor(True).dtype is torch.bool
    assert math.isnan(as_tensor(float("nan")).item())
    assert as_tensor(numpy.array([[1, 2]], numpy.uint16)).tolist() == [[1.0, 2.0]]


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


@pytest.mark.parametrize(
    ("tensor", "description", "numbers"),
    [
        (torch.arange(6.0).view(2, 3), ["float32", [2, 3]], [0, 1, 2, 3, 4, 5]),
        (torch.arange(6.0).view(2, 3).mT, ["float32", [3, 2], [1, 3]], [0, 1, 2, 3, 4, 5]),
        (torch.arange(6.0)[::2], ["float32", [3], [2]], [0, 1, 2, 3, 4]),
        (torch.ones(1).expand(4), ["float32", [4], [0]], [1]),
        (torch.ones(0, 3), ["float32", [0, 3]], []),
    ],
    ids=["contiguous", "transposed", "every second", "expanded", "empty"],
)
def test_a_tensor_crosses_with_the_memory_that_it_spans(
    tensor: torch.Tensor, description: list[Any], numbers: list[float]
) -> None:
    """Strides are told only of a tensor that is not contiguous."""
    assert described(tensor) == description
    assert numpy.frombuffer(bytes_of(tensor), numpy.float32).tolist() == numbers
