"""Scripts: steps cross as values, and modules of `torch.nn` as outlines."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from grader.core.wire.scripts import (
    Doing,
    NotOfTorch,
    Step,
    module_of,
    outline_of,
    steps_as_value,
    steps_in,
)
from grader.core.wire.values import Local

pytestmark = pytest.mark.unit


def test_steps_survive_the_way_as_a_value() -> None:
    """Every field has its place."""
    steps = (
        Step(0, Doing.ASK, "get_x", (1, Local(0)), {"rate": 0.5}),
        Step(1, Doing.NEXT, times=3),
    )
    assert steps_as_value(steps) == [
        [0, "ask", "get_x", (1, Local(0)), {"rate": 0.5}, 1],
        [1, "next", "", (), {}, 3],
    ]
    assert steps_in(steps_as_value(steps)) == steps


def rebuilt(module: nn.Module) -> nn.Module:
    """Returns a module after its way through an outline."""
    outline: Any = outline_of(module)
    return module_of(outline)


def test_a_module_is_made_again_with_its_numbers_and_settings() -> None:
    """The copy shares no memory, is in the same mode, and knows which parameters learn."""
    module = nn.Sequential(nn.Linear(2, 3), nn.Dropout(0.25), nn.BatchNorm1d(3)).eval()
    module[0].bias.requires_grad_(False)
    copy = rebuilt(module)
    x = torch.randn(4, 2, generator=torch.manual_seed(1))
    assert torch.equal(copy(x), module(x))
    assert [type(one) for one in copy.modules()] == [type(one) for one in module.modules()]
    assert not any(one.training for one in copy.modules())
    assert rebuilt(nn.Dropout(0.25)).training
    assert copy[1].p == 0.25
    learning = {name: one.requires_grad for name, one in copy.named_parameters()}
    assert learning == {name: one.requires_grad for name, one in module.named_parameters()}
    with torch.no_grad():
        copy[0].weight.zero_()
    assert module[0].weight.abs().sum() > 0


def test_parameters_that_are_shared_stay_shared() -> None:
    """An optimizer that is given the copy must find each parameter once."""
    module = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    module[1].weight = module[0].weight
    copy = rebuilt(module)
    assert copy[0].weight is copy[1].weight
    assert copy[0].bias is not copy[1].bias
    assert isinstance(copy[0].weight, nn.Parameter)


def test_parts_that_are_none_stay_none_and_buffers_keep_their_kind() -> None:
    """A layer may have no bias, and a buffer may be left out of what is saved."""
    module = nn.Linear(2, 2, bias=False)
    module.register_buffer("kept", torch.ones(1))
    module.register_buffer("unsaved", torch.ones(1), persistent=False)
    module.register_module("inner", None)
    copy = rebuilt(module)
    assert copy.bias is None
    assert copy.inner is None
    assert {*copy.state_dict()} == {"weight", "kept"}
    assert {name for name, _ in copy.named_buffers()} == {"kept", "unsaved"}
    assert not isinstance(copy.kept, nn.Parameter)


class Own(nn.Linear):
    """A class that is not of `torch.nn`, although its parent is."""


def with_attribute(value: object) -> nn.Module:
    """Returns a module of torch's own with one more attribute."""
    module = nn.Sequential(nn.Linear(1, 1))
    module[0].extra = value
    return module


@pytest.mark.parametrize(
    ("module", "said"),
    [
        (nn.Sequential(Own(1, 1)), "Sequential.0 is of the class Own, which is not torch.nn's own"),
        (with_attribute(print), "Sequential.0 holds extra, which is not plain data"),
        (with_attribute([1, (2, {})]), "Sequential.0 holds extra, which is not plain data"),
    ],
)
def test_a_module_of_more_than_torch_is_refused(module: nn.Module, said: str) -> None:
    """The sentence names the part."""
    with pytest.raises(NotOfTorch) as refused:
        outline_of(module)
    assert str(refused.value) == said
    hooked = nn.Linear(1, 1)
    hooked.register_forward_hook(print)
    with pytest.raises(NotOfTorch, match="Linear holds _forward_hooks"):
        outline_of(hooked)


def test_plain_attributes_of_a_module_cross() -> None:
    """They are numbers, texts, dtypes, None, and lists and tuples of these."""
    plain = [1, "two", (None, True, torch.float16)]
    copy = rebuilt(with_attribute(plain))
    assert copy[0].extra == plain
