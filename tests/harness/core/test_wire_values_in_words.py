"""Values in a few words."""

from __future__ import annotations

import numpy
import pytest
import torch

from grader.core.wire.values import Elsewhere, Foreign, Local, Named, Value
from grader.core.wire.values_in_words import in_words

pytestmark = pytest.mark.unit


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
