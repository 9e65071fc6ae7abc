"""Tensors as the bytes that cross the border."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
import torch

from grader.core.wire.tensors import bytes_of, described

pytestmark = pytest.mark.unit


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
