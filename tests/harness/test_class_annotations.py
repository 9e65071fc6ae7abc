"""What an author hears of a class that the contract cannot use."""

import pytest
import torch

from grader.testing.annotations import CannotCross, kind_of


def test_a_class_of_torch_is_refused_with_what_to_write_instead() -> None:
    """`type[Optimizer]` of torch looks right, but only a Protocol says what to call."""
    with pytest.raises(CannotCross, match=r"type\[Optimizer\] cannot cross.*typing\.Protocol"):
        kind_of(type[torch.optim.Optimizer])
