"""The substitute for `torch.compile`: its modules can be used like compiled ones."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import nn

from grader.worker.uncompiled import Compiled

pytestmark = pytest.mark.unit


class Net(nn.Module):
    """A module with a layer, a mode, a number and a method."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 2)
        self.dropout = nn.Dropout(0.5)
        self.seen = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Applies the layer and the dropout to a batch."""
        return self.dropout(self.layer(x))

    def counted(self) -> int:
        """Returns the number."""
        return self.seen


@pytest.fixture
def net() -> Net:
    """An ordinary module."""
    return Net()


@pytest.fixture
def compiled(net) -> Any:
    """The same module, compiled."""
    return Compiled(net)


def test_the_original_module_is_available_as_orig_mod(compiled, net):
    """Programs save `model._orig_mod`, or look it up with `getattr`."""
    assert compiled._orig_mod is net
    assert getattr(compiled, "_orig_mod", compiled).state_dict().keys() == net.state_dict().keys()


def test_state_dict_keys_have_the_orig_mod_prefix(compiled, net):
    """Programs remove the prefix, or load a state dict that has it."""
    saved = compiled.state_dict()
    assert [*saved] == ["_orig_mod.layer.weight", "_orig_mod.layer.bias"]
    net.load_state_dict({name.removeprefix("_orig_mod."): one for name, one in saved.items()})
    compiled.load_state_dict(saved)
    with pytest.raises(RuntimeError, match="Missing key"):
        compiled.load_state_dict(net.state_dict())


def test_a_compiled_module_answers_like_the_original(compiled, net):
    """Both share their parameters, so gradients reach the module too."""
    net.eval()
    x = torch.ones(1, 2)
    assert torch.equal(compiled(x), net(x))
    compiled(x).sum().backward()
    assert all(one.grad is not None for one in net.parameters())


def test_modes_attributes_and_methods_are_those_of_the_module(compiled, net):
    """They can be read, set and deleted."""
    compiled.eval()
    assert (net.training, net.dropout.training, compiled.training) == (False, False, False)
    net.train()
    assert compiled.training
    compiled.seen = 3
    assert (net.seen, compiled.counted()) == (3, 3)
    compiled.more = nn.Linear(1, 1)
    assert "more.weight" in net.state_dict()
    del compiled.more
    assert not hasattr(net, "more")
    assert not hasattr(compiled, "more")
    assert len(Compiled(nn.Sequential(net))) == 1


def test_a_deep_copy_has_its_own_module(compiled, net):
    """Programs average weights in copies."""
    twin = copy.deepcopy(compiled)
    assert twin._orig_mod is not net
    assert twin.state_dict().keys() == compiled.state_dict().keys()
