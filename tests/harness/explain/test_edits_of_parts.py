"""Slips that edits undo where tensors are cut into parts: rows, heads, sizes."""

from __future__ import annotations

import re

import pytest

from tests.harness.undoing import assert_undone, edits_of, table_of

pytestmark = pytest.mark.unit

PARTS = """
import torch
from torch import Tensor

def head(x, weight, start, end):
    rows = weight[start:end].T
    return x @ rows

def heads(x, weight, num_heads):
    return torch.stack([x @ part for part in weight.T.chunk(num_heads, dim=1)], dim=-3)

def fused(x, q_proj_weight, k_proj_weight):
    both = torch.cat([q_proj_weight, k_proj_weight]).T
    return x @ both

def split(x, num_heads, width):
    y = x.reshape(x.shape[:-2] + (x.shape[-2], num_heads, width)).transpose(-2, -3)
    return y

def split_by_function(x, heads, length):
    return torch.reshape(x, (*x.shape[:-2], length, heads, -1)).transpose(-3, -2)

def in_place(x, leading, num_heads, d_head):
    return torch.reshape(x, leading + [num_heads, d_head])

def block(index, heads, d_head):
    return index * d_head

def scaled(scores, d_k):
    square_root = torch.tensor(float(d_k)) ** 0.5
    return scores / square_root

def kept(state, name, function):
    return {**state, name: function(state)}

def states(state, function):
    return [kept(state, name, function) for name in ("query", "key")]

def averaged(scores, v, mask):
    scores = scores.masked_fill(mask, -math.inf)
    by_method = torch.softmax(scores, dim=-1).matmul(v)
    return torch.matmul(torch.softmax(scores, dim=-1), v) - by_method

class Attention:
    def __init__(self, d_model, num_heads):
        self.d_model = d_model
        self.num_heads = num_heads

    @property
    def width(self):
        return self.d_model // self.num_heads
"""

SLIPS = {
    "rows for columns": [
        ("weight[start:end].T", "weight[:, start:end]"),
        ("weight[start:end].T", "weight[start:end]", "weight[:, start:end].T"),
    ],
    "heads that are split without being brought into place": [
        (
            "(x.shape[-2], num_heads, width)).transpose(-2, -3)",
            "(num_heads, x.shape[-2], width))",
            "(x.shape[-2], num_heads, width)).transpose(-3, -2)",
        ),
        (
            "length, heads, -1)).transpose(-3, -2)",
            "heads, length, -1))",
        ),
        (
            "torch.reshape(x, leading + [num_heads, d_head])",
            "torch.reshape(x, leading + [d_head, num_heads]).transpose(-1, -2)",
        ),
    ],
    "sizes": [
        ("index * d_head", "index * len(heads)"),
    ],
    "a variable of a loop": [
        ("kept(state, name, function) for", 'kept(state, "key", function) for')
    ],
    "weights of a product that is called": [
        ("torch.softmax(scores, dim=-1).matmul(v)", "scores.matmul(v)"),
        ("torch.matmul(torch.softmax(scores, dim=-1), v)", "torch.matmul(scores, v)"),
    ],
}


@pytest.mark.parametrize(("group", "right", "wrong", "fixed"), table_of(SLIPS))
def test_a_slip_in_parts_is_undone(group, right, wrong, fixed):
    """The right program is among the edits of the wrong one."""
    assert_undone(PARTS, group, right, wrong, fixed)


def test_no_axis_of_a_transposition_is_turned_with_itself():
    """Leaving the transposition out says what such an edit would do."""
    program = "import torch\ndef turned(x):\n    return x.transpose(1, 2)\n"
    edits = edits_of(program, [3])
    lines = {edit.applied(program).splitlines()[2].strip() for edit in edits}
    assert {"return x.transpose(0, 2)", "return x"} <= lines
    assert lines.isdisjoint({f"return x.transpose({pair})" for pair in ("1, 1", "2, 2", "-2, 2")})


def test_a_function_of_a_module_is_not_a_method_of_it():
    """Its first argument is the tensor, and may stand in the call's place."""
    program = "import torch\ndef parts(x):\n    return torch.nn.functional.softmax(x, -1)\n"
    lines = {edit.applied(program).splitlines()[2].strip() for edit in edits_of(program, [3])}
    assert "return x" in lines
    assert "return torch.nn.functional" not in lines


@pytest.mark.parametrize(
    ("call", "is_axis"),
    [("x.split(2)", False), ("torch.split(x, 2)", False), ("torch.split(x, n, 2)", True),
     ("x.split(n, 2)", True)],
)  # fmt: skip
def test_the_size_of_a_part_is_no_axis(call, is_axis):
    """The axis comes after it."""
    edits = edits_of(f"import torch\ndef parts(x, n):\n    return {call}\n", [3])
    assert any(edit.subject == "an axis of `split`" for edit in edits) is is_axis


BLOCKWISE = """
class Config:
    block: int = 128
CHUNK_SIZE = 128
def attend(q=None, /, k=None, tile=128, *, more, size=128):
    block = 128
    for start in range(0, k.shape[-2], block):
        q = q + k[start : start + block].sum()
    return q
def all_heads(q, k, config):
    return attend(q, k, block_size=128)
"""


def test_the_size_of_blocks_is_not_changed():
    """With blocks as large as the input, a loop has one round, and its fault does not show."""
    edits = edits_of(BLOCKWISE)
    changed = [edit.applied(BLOCKWISE) for edit in edits if edit.kind == "constant"]
    made = (BLOCKWISE.replace("size=128):", f"size={size}):") for size in (127, 129, 256))
    assert {text for text in changed if re.search(r"\b(127|129|256)\b", text)} == {*made}
