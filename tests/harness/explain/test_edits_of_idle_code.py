"""Edits that use what a program has and never uses, or what stands beside the mistake."""

from __future__ import annotations

import pytest

from tests.harness.undoing import assert_undone, table_of

pytestmark = pytest.mark.unit

PROGRAM = """
import torch
from torch import Tensor, nn

def quarter_turn(x: Tensor):
    return torch.stack((-x[..., 1::2], x[..., ::2]), dim=-1).flatten(-2)

def hide(scores: Tensor, mask: Tensor):
    return scores.masked_fill(~mask, float("-inf"))

def rotated(x: Tensor, positions: Tensor, cos: Tensor, sin: Tensor):
    near = cos[positions]
    far = sin[positions]
    return x * near + quarter_turn(x) * far

def attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor):
    scores = q @ k.mT
    return torch.softmax(hide(scores, mask), -1) @ v

def place(q: Tensor, k: Tensor):
    return q * 2, k * 2

def placed(q: Tensor, k: Tensor, positions: Tensor | None = None):
    if positions is None:
        positions = torch.arange(q.shape[-2])
    q, k = place(q, k)
    return q + positions, k + positions

def hidden(scores: Tensor, allowed: Tensor):
    scores = scores.masked_fill(~allowed, 0.0)
    return scores / scores.sum(-1)

def answers(layers, x: Tensor):
    return [layer(x) for layer in layers]

class Pair(nn.Module):
    def query(self, x: Tensor):
        return self.turned(self.split(x))

    def key(self, x: Tensor):
        return self.turned(self.split(x))
"""
SLIPS = {
    "a function that is never called": [
        ("quarter_turn(x) * far", "x * far"),
        ("hide(scores, mask)", "scores"),
    ],
    "a call that another method has": [
        ("return self.turned(self.split(x))", "return self.split(x)")
    ],
    "an index that a like line has": [("near = cos[positions]", "near = cos[: x.shape[-2]]")],
    "a result that is stored nowhere, or under another name": [
        ("q, k = place(q, k)", "place(q, k)"),
        ("scores = scores.masked_fill", "kept = scores.masked_fill"),
    ],
    "an argument that is overwritten": [
        (
            "if positions is None:\n        positions = torch.arange(q.shape[-2])",
            "positions = torch.arange(q.shape[-2])",
            "positions = torch.arange(q.shape[-2]) if positions is None else positions",
        )
    ],
    "a variable of a comprehension that nothing reads": [
        ("[layer(x) for layer", "[layers[0](x) for layer"),
    ],
    "a minus beside its place": [
        ("(-x[..., 1::2], x[..., ::2])", "(x[..., 1::2], -x[..., ::2])"),
    ],
}


@pytest.mark.parametrize(("group", "right", "wrong", "fixed"), table_of(SLIPS))
def test_a_slip_beside_idle_code_is_undone(group, right, wrong, fixed):
    """The right program, or an equivalent one, is among the edits of the wrong one."""
    assert_undone(PROGRAM, group, right, wrong, fixed)
