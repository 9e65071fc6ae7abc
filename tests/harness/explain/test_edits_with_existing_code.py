"""Slips that edits undo with code from elsewhere: the function, the file, other files."""

from __future__ import annotations

import pytest

from tests.harness.marks import rest_long
from tests.harness.undoing import Programs, assert_undone, edits_of, table_of

pytestmark = pytest.mark.unit

LAYERS = """
import math
import torch
from torch import nn
from dataclasses import dataclass

@dataclass
class Weights:
    query: torch.Tensor
    key: torch.Tensor
    value: torch.Tensor
    output: torch.Tensor

@dataclass
class Head:
    W_query: torch.Tensor
    W_key: torch.Tensor
    causal: bool = False

    def __call__(self, x):
        return (x @ self.W_query) @ (x @ self.W_key).mT

def causal_mask(n):
    blocked = torch.ones(n, n, dtype=torch.bool).triu(1)
    return ~blocked

def blocked(n):
    return torch.ones(n, n, dtype=torch.bool).triu(1)

def softmax(x, dim):
    top = x.amax(dim, keepdim=True)
    raised = (x - top).exp()
    return raised / raised.sum(dim, keepdim=True)

def scores(q, k, mask=None, scale=None):
    width = q.size(-1) ** 0.5
    found = q @ k.mT / width
    if mask is not None:
        found = found.masked_fill(~mask, -torch.inf)
    return found

def attend(q, k, v, mask=None):
    return softmax(scores(q, k, mask), -1) @ v

def split(x, heads):
    d_head = x.shape[-1] // heads
    return x.unflatten(-1, (heads, d_head)).transpose(-3, -2)

def multi_head(x, w, heads, positions, theta):
    mask = causal_mask(x.shape[-2])
    q, k, v = (split(x @ one.T, heads) for one in (w.query, w.key, w.value))
    q = turn(q, positions, theta)
    k = turn(k, positions, theta)
    joined = attend(q, k, v, mask).transpose(-3, -2).flatten(-2)
    return joined @ w.output.T

def turn(x, positions, theta):
    d = x.shape[-1]
    speed = theta ** (-torch.arange(0, d, 2) / d)
    table = torch.outer(torch.arange(64), speed)
    cos = table.cos()[positions]
    sin = table.sin()[positions]
    first, second = x[..., 0::2], x[..., 1::2]
    new_first = first * cos - second * sin
    new_second = first * sin + second * cos
    return torch.stack((new_first, new_second), dim=-1).flatten(-2)

def all_heads(x, weights, mask):
    found = []
    total = 0
    for head in range(len(weights)):
        w = weights[head]
        out = attend(x, x, x @ w, mask)
        rows = w[:, head * 4 : (head + 1) * 4]
        total = total + out @ rows
        found.append(out)
    return torch.cat(found, dim=-1), total

def one_head(x, W_query, W_key):
    return Head(W_query, W_key, causal=True)(x)

def nearest(x):
    _, place = x.max(-1)
    return x.sort(-1).values, place

def table(n, d, key=None):
    cached = (n, d)
    place = torch.arange(n)
    full = torch.zeros(n, d)
    full[:, 0::2] = place.sin()
    full[:, 1::2] = place.cos()
    return full

def count(rows, columns, bias):
    total = rows * columns
    return total + bias * rows

class Store:
    def load(self, x, rate):
        self.x = x * rate

def stored(x, rate):
    store = Store()
    store.load(x, rate)
    return store.x

def dropout(weights, rate):
    keep = torch.rand_like(weights) > rate
    return weights * keep / (1 - rate)

hide = lambda s, mask: s.masked_fill(~mask, -torch.inf)
shares = lambda s, mask, dim: softmax(hide(s, mask), dim)
"""

# The program's text, the student's wrong text and, where it differs, the text that an edit
# produces.
SLIPS: dict[str, list[tuple[str, ...]]] = {
    "an argument that is not handed on": [
        ("softmax(scores(q, k, mask), -1)", "softmax(scores(q, k), -1)"),
        ("attend(q, k, v, mask).", "attend(q, k, v)."),
        ("attend(x, x, x @ w, mask)", "attend(x, x, x @ w)"),
        ("turn(k, positions, theta)", "turn(k, positions)"),
        ("hide(s, mask)", "hide(s)"),
    ],
    "an argument that another parameter is called like": [
        ("split(x @ one.T, heads)", "split(x @ one.T, positions)"),
        ("k = turn(k, positions, theta)", "k = turn(k, positions, heads)"),
    ],
    "a name that is written out": [
        ("turn(q, positions, theta)", "turn(q, positions, 10000.0)"),
        ("softmax(scores(q, k, mask), -1)", "softmax(scores(q, k, None), -1)"),
        ("w = weights[head]", "w = weights[0]"),
        ("softmax(hide(s, mask), dim)", "softmax(hide(s, mask), -1)"),
        ("found = q @ k.mT / width", "found = q @ k.mT / 8"),
    ],
    "a call that is done elsewhere": [
        ("k = turn(k, positions, theta)", "k = k"),
        (
            "attend(q, k, v, mask).transpose(-3, -2).flatten(-2)",
            "attend(q, k, v, mask).flatten(-2)",
        ),
    ],
    "a method or an operation": [
        ("raised = (x - top).exp()", "raised = x - top"),
        ("raised = (x - top).exp()", "raised = x.exp()"),
        ("width = q.size(-1) ** 0.5", "width = q.size(-1)"),
        ("weights * keep / (1 - rate)", "weights * keep / rate"),
        (
            "top = x.amax(dim, keepdim=True)",
            "top = x.max()",
            "top = x.amax(dim=dim, keepdim=True)",
        ),
    ],
    "a member": [
        ("joined @ w.output.T", "joined @ w.value.T"),
        ("(w.query, w.key, w.value)", "(w.query, w.key, w.key)"),
    ],
    "values and their places": [
        ("_, place = x.max(-1)", "place, _ = x.max(-1)"),
    ],
    "a range": [
        ("torch.arange(0, d, 2)", "torch.arange(0, d // 2)"),
        ("torch.arange(0, d, 2)", "torch.arange(d // 2)"),
        (
            "place = torch.arange(n)",
            "place = torch.arange(2, n + 2)",
            "place = torch.arange(1, n + 1)",
        ),
        ("place = torch.arange(n)", "place = torch.arange(n // 2)"),
    ],
}
TABLE = table_of(SLIPS)


@pytest.mark.parametrize(("group", "right", "wrong", "fixed"), rest_long(TABLE, 4, rows=True))
def test_a_slip_is_undone_with_code_from_elsewhere_in_the_program(group, right, wrong, fixed):
    """A student writes the same code twice and forgets or mistakes it once."""
    assert_undone(LAYERS, group, right, wrong, fixed)


OTHER_FILE = """
import torch

def visible(n, device=None):
    return torch.ones(n, n, dtype=torch.bool, device=device).tril()

def attend(q, k, v, mask=None, scaled=True):
    return q

class Rotation:
    def __init__(self, d_k, theta, longest):
        self.theta = theta

def whole(x):
    mask = visible(x.shape[-2], x.device)
    return attend(x, x, x, mask)
"""
CALLER = """
from other import attend, visible, Rotation

def run(in_features, d_k, theta, longest):
    turn = Rotation(d_k, theta, longest)
    return attend(in_features, in_features, in_features{})
"""


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("", ", scaled=False"),
    ],
)
def test_edits_use_signatures_of_other_files(given, wanted):
    """Adapters call functions of other files; their parameters and results are looked up there."""
    source = CALLER.format(given)
    assert CALLER.format(wanted) in Programs(source, edits_of(source, {6}, [OTHER_FILE]))


def test_a_literal_is_replaced_by_the_variable_named_like_the_parameter():
    """A literal is replaced by the variable that is called like the parameter."""
    right = CALLER.format("")
    source = right.replace("Rotation(d_k, theta,", "Rotation(d_k, 10000.0,")
    assert right in Programs(source, edits_of(source, {5}, [OTHER_FILE]))


@pytest.mark.parametrize("literal", ["-100", "100", "-1e-5"])
def test_a_literal_is_replaced_by_a_parameter_that_is_never_read(literal):
    """The nature of a parameter without an annotation may be unknown: it may be the number."""
    right = "def kept(targets, ignore_index):\n    return targets[targets != ignore_index]\n"
    source = right.replace("!= ignore_index", f"!= {literal}")
    subjects = {edit.applied(source): edit.subject for edit in edits_of(source, {2})}
    assert subjects[right] == "a hard-coded value"


def test_a_literal_axis_is_replaced_by_a_variable_that_is_an_axis_elsewhere():
    """The call shows that a parameter numbers an axis, whatever its name is."""
    right = (
        "def scaled(x, along):\n    x = x - torch.amax(x, along, keepdim=True)\n"
        "    return x / torch.sum(x, along, keepdim=True)\n"
    )
    source = right.replace("sum(x, along,", "sum(x, -1,")
    assert right in Programs(source, edits_of(source, {3}))


def test_another_file_that_does_not_parse_is_ignored():
    """One broken file must not prevent the edits of other files."""
    source = CALLER.format("")
    assert edits_of(source, {6}, ["def f(:\n"]) == edits_of(source, {6})


@pytest.mark.parametrize(
    ("program", "name"),
    [
        ("def step(p, group):\n    lr = group['lr']\n    v = p.grad\n    p.data -= v\n", "lr"),
        (
            "class Head:\n    def __init__(self, scale):\n        self.scale = scale\n"
            "    def forward(self, x):\n        return x @ x.mT\n",
            "self.scale",
        ),
    ],
)
def test_an_unused_variable_is_named_in_the_subject(program, name):
    """Finding an unused variable takes a student longer than understanding it."""
    subjects = {edit.subject for edit in edits_of(program)}
    assert f"`{name}`, which is never used" in subjects


def test_a_weight_in_a_dict_is_transposed():
    """A linear layer keeps its weight the other way round."""
    right = "def layer(W_key):\n    return {'weight': W_key.T}\n"
    source = right.replace(".T", "")
    assert right in Programs(source, edits_of(source, {2}))
