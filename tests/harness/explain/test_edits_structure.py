"""Slips in a program's structure that edits undo: calls, entries, classes, two lines."""

from __future__ import annotations

import types

import pytest

from grader.core.wire.trials import TextChange
from grader.worker.trials.exchange import LoadedSource, functions_below
from grader.worker.trials.memory import State
from tests.harness.marks import rest_long
from tests.harness.undoing import assert_undone, table_of

pytestmark = pytest.mark.unit

LAYERS = """
import torch
from einops import rearrange
from torch.nn import functional as F

HIDDEN = float("-inf")
EVEN, ODD = slice(0, None, 2), slice(1, None, 2)

class Attention:
    scaled = True

    def __init__(self, w_q, w_o, causal=False):
        self.w_q, self.w_o = w_q, w_o
        self.causal = causal

    def __call__(self, x):
        q, k = self.project(x), x
        q, k = self.place(q, k)
        return self.join(q @ k.mT, self.mask(x)) @ self.w_o.T

    def project(self, x):
        return x @ self.w_q

    def place(self, q, k):
        return q, k

    def mask(self, x):
        return None

    def join(self, x, mask=None):
        return x

class Unmasked(Attention):
    def join(self, x, mask=None):
        return self.norm(-x)

    def norm(self, x):
        return x

class Causal(Attention):
    def __init__(self, w_q, w_o):
        super().__init__(w_q, w_o, causal=True)

    def mask(self, x):
        return x > 0

def heads(x, weights, causal):
    layers = [Causal(*pair) for pair in weights]
    return torch.cat([layer(x) for layer in layers], dim=-1)

def zipped(a, b):
    return torch.stack((-b, a), dim=-1).flatten(-2)

def turned(x, cos, sin):
    first, second = x[..., 0::2], x[..., 1::2]
    even = first * cos - second * sin
    return zipped(even, first * sin + second * cos)

def shares(scores, bias, mask):
    scores = F.softmax(scores + bias, dim=-1)
    return scores.masked_fill(mask, HIDDEN)

def split(x, heads, width):
    shape = x.shape[:-1] + (heads, width)
    return x.view(shape).transpose(-3, -2)

def mixed(q, k, v, n):
    q, k = (turned(part, n, n) for part in (q, k))
    return rearrange(q, f"... ({n} d) -> ... {n} d")

def layout(x, mode="rows", rest=None):
    if mode == "rows":
        return x
    if mode == "columns":
        return x.mT
    if rest is None:
        return x.flatten()
    return x

def count(i, o, bias):
    return i * o + (o if bias else 0)

def table(n, angles):
    full = torch.zeros(n, 2)
    full[:, 0] = angles.sin()
    full[:, 1] = angles.cos()
    return full
"""

# The program's text, the student's wrong text and, where it differs, the text that an edit
# produces.
SLIPS: dict[str, list[tuple[str, ...]]] = {
    "the argument of a call": [
        (".flatten(-2)", ".flatten(-2)[0]", ".flatten(-2)"),
    ],
    "like things in a statement": [
        ("x[..., 0::2], x[..., 1::2]", "x[..., 1::2], x[..., 0::2]"),
    ],
    "a value that is never read": [
        (" @ self.w_o.T", ""),
        ("self.join(q @ k.mT, self.mask(x))", "self.join(q @ k.mT)"),
    ],
    "a word or a value": [
        ('mode="rows"', 'mode="columns"'),
        ('HIDDEN = float("-inf")', "HIDDEN = -10.0"),
        ('f"... ({n} d) -> ... {n} d"', 'f"... ({n} d) -> ... d {n}"'),
    ],
}
TABLE = table_of(SLIPS)


@pytest.mark.parametrize(("group", "right", "wrong", "fixed"), rest_long(TABLE, 4, rows=True))
def test_a_slip_in_program_structure_is_undone(group, right, wrong, fixed):
    """One change of structure may replace several pieces of text on several lines."""
    assert_undone(LAYERS, group, right, wrong, fixed)


OBJECTS = """
from functools import cached_property
import torch
from torch import nn

class Layers:
    def __init__(self):
        self.query = self.value = None

    def load(self, w_query, w_value):
        self.query = nn.Linear(2, 3, bias=False)
        self.query = linear_with(w_query)
        self.value = linear_with(w_value)

    def answer(self, spoken):
        return self.query(torch.cat(spoken, dim=-1))

    def part(self, x):
        return self.value(x)

class Weights:
    def __init__(self, scores, dim):
        self.scores = scores
        self.dim = dim
        self.d_model = 12

    @property
    def d_head(self):
        return self.d_model // 2

    @property
    def scale(self):
        return self.d_head ** 0.5

    @cached_property
    def powers(self):
        return (self.scores / self.scale).exp()

    @property
    def shares(self):
        return self.powers / self.powers.sum(self.dim, keepdim=True)

    def softmax(self, x):
        raised = torch.exp(x - x.amax(self.dim, keepdim=True))
        return raised / raised.sum(self.dim, keepdim=True)

def turned(x, given, positions, is_first):
    x = given.input @ given.query.mT
    angles = table(given)[positions]
    return torch.where(is_first, -x.roll(-1), x.roll(1)) * angles

def blocks(parts):
    return torch.cat(parts)
"""
# Slips in what objects hold: properties, fields, entries.
OF_OBJECTS: dict[str, list[tuple[str, ...]]] = {
    "an attribute": [
        ("self.d_head ** 0.5", "self.d_model ** 0.5"),
        ("given.query.mT", "given.query"),
    ],
    "a value that is never read": [
        ("self.query(torch.cat(spoken, dim=-1))", "torch.cat(spoken, dim=-1)"),
    ],
    "an option": [("nn.Linear(2, 3, bias=False)", "nn.Linear(2, 3)")],
    "the largest value": [("torch.exp(x - x.amax(self.dim, keepdim=True))", "torch.exp(x)")],
    "a sign": [("torch.where(is_first, -x.roll", "torch.where(is_first, x.roll")],
    "an index": [
        ("torch.cat(parts)", "torch.cat(parts[::-1])"),
    ],
}


@pytest.mark.parametrize(("group", "right", "wrong", "fixed"), table_of(OF_OBJECTS))
def test_a_slip_in_attributes_of_objects_is_undone(group, right, wrong, fixed):
    """A property counts as its result, and an operand of `@` as a tensor, whatever its name.

    An attribute that a function sets twice is set once too often.
    """
    assert_undone(OBJECTS, group, right, wrong, fixed)


LOADED = """
BASE = 100.0
HALF = BASE / 2

def theta(base=BASE):
    return base + HALF

class Large:
    factor = 2

    def size(self):
        return 10 * self.factor
"""


@pytest.mark.parametrize(
    ("before", "after", "asked", "was", "becomes"),
    [
        ("BASE = 100.0", "BASE = 10.0", "theta()", 150.0, 15.0),
        ("factor = 2", "factor = 3", "Large().size()", 20, 30),
    ],
    ids=["constant", "attribute"],
)
def test_constants_and_attributes_of_a_loaded_file_are_swapped_and_restored(
    tmp_path, before, after, asked, was, becomes
):
    """Defaults and attributes of classes already exist when an edit is tried."""
    path = tmp_path / "loaded.py"
    path.write_text(LOADED, encoding="utf-8")
    module = types.ModuleType("loaded")
    names = vars(module)
    names["__file__"] = str(path)
    exec(compile(LOADED, str(path), "exec", dont_inherit=True), names)
    functions = functions_below(str(tmp_path))[str(path)]
    source, state = LoadedSource(path, functions), State(str(tmp_path), [module], functions)
    start = LOADED.index(before)
    swaps = source.exchange_for([TextChange(start, start + len(before), after)])
    assert eval(asked, names) == was
    for swap in swaps:
        swap()
    assert eval(asked, names) == becomes
    state.restore()
    assert eval(asked, names) == was
