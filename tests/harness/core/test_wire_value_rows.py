"""Values as one row of numbers."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy
import pytest
import torch

from grader.core.wire.value_rows import as_tensor
from grader.core.wire.values import Foreign, Named, Value

pytestmark = pytest.mark.unit


class Pair(NamedTuple):
    """A named tuple."""

    x: Any
    y: Any


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
