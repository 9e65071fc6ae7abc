"""Messages to the author about a class that the contract cannot use."""

import pytest
import torch

from grader.testing.contract import CannotCross, kind_of

pytestmark = pytest.mark.unit


def test_a_torch_class_as_annotation_is_refused_with_the_alternative() -> None:
    """`type[Optimizer]` of torch looks right, but only a Protocol lists the methods to call."""
    with pytest.raises(CannotCross, match=r"type\[Optimizer\] cannot cross.*typing\.Protocol"):
        kind_of(type[torch.optim.Optimizer])
