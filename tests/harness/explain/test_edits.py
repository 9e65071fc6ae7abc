"""The edits that the engine makes of a program, and the rules that hold for all edits."""

from __future__ import annotations

import ast
import functools
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from grader.explain.rewriting.edit import Edit
from tests.harness.marks import rest_long, rest_slow
from tests.harness.undoing import Programs, edits_of, tree

pytestmark = pytest.mark.unit

ROOT = Path(__file__).parents[3]
EXAMPLES = sorted((ROOT / "examples").rglob("*.py"))
MOST_ON_AVERAGE, MOST_OF_A_LINE = 80, 320
EVERY = 11
# Programs that the quick run checks; the sweep checks the others.
SOONER = {"attention", "einops"}

ATTENTION = """
import math
import torch
import torch.nn.functional as F

def causal(n):
    return torch.ones(n, n, dtype=torch.bool).tril(diagonal=0)

def softmax(x, dim):
    x_max = x.amax(dim=dim, keepdim=True)
    exps = torch.exp(x - x_max)
    return exps / exps.sum(dim=dim, keepdim=True)

def attend(q, k, v, mask=None):
    d_k = q.shape[-1]
    scores = q @ k.transpose(-2, -1) / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = softmax(scores, dim=-1)
    return weights @ v

def causal_attention(x, W_q, W_k, W_v):
    q, k, v = x @ W_q, x @ W_k, x @ W_v
    return attend(q, k, v, causal(x.shape[-2]))

def dropout(weights, p, training):
    if not training:
        return weights
    keep = torch.rand_like(weights) > p
    return weights * keep / (1 - p)
"""
HEADS = """
import torch
from torch import nn

class MultiHead(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.d_head = d_model // num_heads
        self.q_proj = nn.Linear(d_model, d_model, bias=False)
        self.k_proj = nn.Linear(d_model, d_model, bias=False)
        self.o_proj = nn.Linear(d_model, d_model, bias=False)

    def load(self, q, k, o):
        self.q_proj.weight.data = q
        self.k_proj.weight.data = k
        self.o_proj.weight.data = o

    def split(self, x):
        b, s, d_model = x.shape
        x = x.view(b, s, self.num_heads, self.d_head)
        return x.transpose(1, 2)

    def merge(self, x):
        b, h, s, d = x.shape
        x = x.transpose(1, 2)
        return x.reshape(b, s, h * d)

    def forward(self, x, mask=None):
        q = self.split(self.q_proj(x))
        k = self.split(self.k_proj(x))
        scores = q @ k.mT / self.d_head ** 0.5
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -torch.inf)
        out = self.merge(torch.softmax(scores, dim=-1) @ k)
        return self.o_proj(out)
"""
POSITIONS = """
import torch

def angles(d_k, theta, positions):
    i = torch.arange(0, d_k, 2)
    freq = theta ** (-i / d_k)
    return positions[:, None] * freq[None, :]

def rope(x, positions, theta=10000.0):
    angle = angles(x.shape[-1], theta, positions)
    cos, sin = angle.cos(), angle.sin()
    even = x[..., 0::2]
    odd = x[..., 1::2]
    first = even * cos - odd * sin
    second = even * sin + odd * cos
    return torch.stack((first, second), dim=-1).flatten(-2)

def rotate_all(q, k, v, positions):
    q = rope(q, positions)
    k = rope(k, positions)
    return q, k, v

def sinusoids(n, d):
    pos = torch.arange(0, n).unsqueeze(1)
    wave = pos / 10000 ** (torch.arange(0, d, 2) / d)
    table = torch.zeros(n, d)
    table[:, 0::2] = torch.sin(wave)
    table[:, 1::2] = torch.cos(wave)
    return table

def count(d_in, d_out, bias):
    total = 3 * d_in * d_out
    if bias:
        total += 3 * d_out
    return total
"""
EINOPS = """
import torch
from einops import einsum, rearrange

def project(x, weight, num_heads):
    y = einsum(x, weight, "... s i, o i -> ... s o")
    return rearrange(y, "... s (h d) -> ... h s d", h=num_heads)

def attend(q, k, v, mask):
    scores = einsum(q, k, "... q d, ... k d -> ... q k")
    scores = torch.where(mask, scores, float("-inf"))
    shares = scores.softmax(-1)
    return torch.einsum("...qk,...kd->...qd", shares, v)

def multi_head(x, w_q, w_k, w_v, w_o, num_heads, mask):
    q = project(x, w_q, num_heads)
    k = project(x, w_k, num_heads)
    v = project(x, w_v, num_heads)
    heads = attend(q, k, v, mask)
    merged = rearrange(heads, "... h s d -> ... s (h d)")
    return merged @ w_o.T
"""
PROGRAMS = {"attention": ATTENTION, "heads": HEADS, "positions": POSITIONS, "einops": EINOPS}

# The program's text, the student's wrong text and, where it differs from the first, an equivalent
# text that an edit produces.
SLIPS: dict[str, list[tuple[str, ...]]] = {
    "a constant": [
        ("attention", "weights = softmax(scores, dim=-1)", "weights = softmax(scores, dim=-2)"),
        ("attention", "d_k = q.shape[-1]", "d_k = q.shape[-2]"),
        ("attention", "tril(diagonal=0)", "tril(diagonal=-1)"),
        ("attention", "tril(diagonal=0)", "tril(diagonal=1)"),
        ("attention", 'float("-inf")', 'float("inf")'),
        (
            "attention",
            "exps = torch.exp(x - x_max)\n    return exps / exps.sum(dim=dim, keepdim=True)",
            "exps = torch.exp(x - x_max)\n    return exps / exps.sum(dim=dim, keepdim=False)",
        ),
        ("heads", "self.d_head ** 0.5", "self.d_head ** 2"),
        ("heads", "self.d_head ** 0.5", "self.d_head ** -0.5"),
        ("positions", "i = torch.arange(0, d_k, 2)", "i = torch.arange(0, d_k, 1)"),
        ("positions", "torch.arange(0, n).unsqueeze(1)", "torch.arange(1, n + 1).unsqueeze(1)"),
        ("positions", "total = 3 * d_in", "total = 4 * d_in"),
        ("positions", "    k = rope(k, positions)", "    rope(k, positions)"),
        ("positions", "theta=10000.0", "theta=1000.0"),
        ("heads", "bias=False)\n        self.k_proj", "bias=True)\n        self.k_proj"),
    ],
    "an operator": [
        ("attention", "/ math.sqrt(d_k)", "* math.sqrt(d_k)"),
        ("attention", "if mask is not None", "if mask is None"),
        ("attention", "> p", "< p"),
        ("attention", "~mask", "mask"),
        ("attention", "if not training", "if training"),
        ("heads", "mask == 0", "mask != 0"),
        ("heads", "d_model // num_heads", "d_model * num_heads"),
        ("positions", "theta ** (-i / d_k)", "theta ** (i / d_k)"),
        ("positions", "even * cos - odd * sin", "even * cos + odd * sin"),
        ("positions", "pos / 10000 **", "pos * 10000 **"),
    ],
    "a name": [
        ("attention", "return weights @ v", "return weights @ k"),
        ("attention", "W_k, x @ W_v", "W_k, x @ W_k"),
        ("attention", "math.sqrt(d_k)", "math.sqrt(64)"),
        ("attention", "exps.sum(dim=dim", "exps.sum(dim=-1"),
        ("heads", "self.k_proj(x)", "self.q_proj(x)"),
        ("heads", "/ self.d_head ** 0.5", "/ self.num_heads ** 0.5"),
        ("positions", "first = even * cos - odd * sin", "first = even * sin - odd * sin"),
        ("positions", "return table", "return wave"),
        ("positions", "angles(x.shape[-1], theta, pos", "angles(x.shape[-1], 10000.0, pos"),
        ("einops", "v = project(x, w_v, num_heads)", "v = project(x, w_k, num_heads)"),
    ],
    "a call": [
        ("attention", ".tril(", ".triu("),
        ("attention", "math.sqrt(d_k)", "d_k", "d_k ** 0.5"),
        ("attention", "x.amax(dim=dim, keepdim=True)", "x.amax(dim=dim)"),
        ("attention", "softmax(scores, dim=-1)", "scores", "scores.softmax(-1)"),
        ("heads", "return self.o_proj(out)", "return out"),
        ("heads", "self.merge(torch", "self.split(torch"),
        ("positions", "angle.cos(), angle.sin()", "angle.sin(), angle.cos()"),
        (
            "positions",
            "return torch.stack((first, second), dim=-1).flatten(-2)",
            "return torch.cat((first, second), dim=-1)",
        ),
    ],
    "order": [
        ("attention", "return attend(q, k, v, causal", "return attend(k, q, v, causal"),
        ("positions", "return q, k, v", "return k, q, v"),
        ("positions", "stack((first, second)", "stack((second, first)"),
        ("positions", "cos, sin = angle", "sin, cos = angle"),
        ("einops", "attend(q, k, v, mask)\n    merged", "attend(q, v, k, mask)\n    merged"),
        (
            "heads",
            "view(b, s, self.num_heads, self.d_head)",
            "view(b, s, self.d_head, self.num_heads)",
        ),
    ],
    "something missing": [
        (
            "attention",
            "q @ k.transpose(-2, -1) / math.sqrt(d_k)",
            "q @ k.transpose(-2, -1)",
            "q @ k.transpose(-2, -1) / d_k ** 0.5",
        ),
        ("attention", "torch.exp(x - x_max)", "torch.exp(x)"),
        ("attention", "weights * keep / (1 - p)", "weights * keep"),
        ("attention", "causal(x.shape[-2])", "causal(x.shape[-2] - 1)"),
        (
            "positions",
            "total = 3 * d_in * d_out",
            "total = d_in * d_out",
            "total = 3 * (d_in * d_out)",
        ),
        ("einops", "return merged @ w_o.T", "return merged"),
        ("einops", "w_o.T", "w_o"),
        ("einops", "shares = scores.softmax(-1)", "shares = scores"),
    ],
    "layout": [
        ("attention", "k.transpose(-2, -1)", "k.transpose(1, 2)"),
        ("heads", "x.transpose(1, 2)\n\n", "x\n\n"),
        ("heads", "x = x.transpose(1, 2)\n", "x = x.transpose(1, 3)\n"),
        ("heads", "q @ k.mT", "k @ q.mT"),
        ("positions", "positions[:, None] * freq[None, :]", "positions[None, :] * freq[None, :]"),
    ],
    "a pattern": [
        ("einops", '"... q d, ... k d -> ... q k"', '"... q d, ... k d -> ... k q"'),
        ("einops", '(h d) -> ... h s d"', '(d h) -> ... h s d"'),
        ("einops", '-> ... s (h d)"', '-> ... s (d h)"'),
        ("einops", '"...qk,...kd->...qd"', '"...kq,...kd->...qd"'),
        ("einops", '"... s i, o i -> ... s o"', '"... s i, i o -> ... s o"'),
        ("einops", '-> ... h s d", h=', '-> ... s h d", h='),
        (
            "einops",
            '... s i, o i -> ... s o"',
            '... s i, i i -> ... s i"',
            '... s i, a i -> ... s a"',
        ),
    ],
    "a statement": [
        ("positions", "k = rope(k, positions)", "k = rope(rope(k, positions), positions)"),
    ],
}
TABLE = [
    (group, program, right, wrong, fixed[0] if fixed else right)
    for group, own in SLIPS.items()
    for program, right, wrong, *fixed in own
]


def changed_lines(one: str, other: str) -> tuple[int, ...]:
    """Returns the numbers of the lines that differ between two equally long texts."""
    pairs = zip(one.split("\n"), other.split("\n"), strict=True)
    return tuple(number for number, (left, right) in enumerate(pairs, 1) if left != right)


@functools.cache
def edits_of_program(program: str) -> Sequence[Edit]:
    """Returns all edits of one of the programs above; several tests share them."""
    return edits_of(PROGRAMS[program])


@pytest.mark.parametrize(
    ("group", "program", "right", "wrong", "fixed"), rest_long(TABLE, 4, rows=True)
)
def test_a_slip_is_undone_by_one_of_the_edits(group, program, right, wrong, fixed):
    """This table lists the slips that the engine can undo, each group in several styles."""
    source = PROGRAMS[program]
    assert source.count(right) >= 1, right
    slipped = source.replace(right, wrong, 1)
    lines = changed_lines(source, slipped)
    wanted = source.replace(right, fixed, 1)
    assert wanted in Programs(slipped, edits_of(slipped, lines)), group


@dataclass(frozen=True)
class Example:
    """A program and all its edits."""

    source: str
    edits: Sequence[Edit]


@pytest.fixture(
    scope="module",
    params=rest_slow(EXAMPLES, 80),
    ids=lambda file: file.relative_to(ROOT).as_posix(),
)
def example(request: pytest.FixtureRequest) -> Example:
    """A program of the examples, whose edits are made once."""
    source = request.param.read_text(encoding="utf-8")
    return Example(source, edits_of(source))


def test_an_edit_changes_the_lines_that_it_names_and_adds_at_most_parentheses_to_others(example):
    """Edits neither add nor remove lines, so a line number means the same before and after."""
    for edit in example.edits:
        both = (example.source, edit.applied(example.source))
        bare = changed_lines(*(re.sub(r"[()]", "", one) for one in both))
        assert set(bare) <= set(edit.lines) <= set(changed_lines(*both)), edit
        assert edit.lines, edit


def test_an_edited_program_parses_and_differs_from_the_original(example):
    """A syntax error, or another spelling of the same program, would teach the search nothing."""
    # A program that does not parse has no edits.
    unchanged = tree(example.source) if example.edits else ""
    for edit in example.edits[::EVERY]:
        assert tree(edit.applied(example.source)) != unchanged, edit


@pytest.mark.process(takes="a second")
@pytest.mark.parametrize("program", rest_slow(PROGRAMS, SOONER))
def test_no_two_edits_make_the_same_program(program):
    """Trying an edit costs several calls, so no program may be tried twice."""
    source = PROGRAMS[program]
    results = Counter(tree(edit.applied(source)) for edit in edits_of_program(program))
    assert [count for count in results.values() if count > 1] == []


@pytest.mark.parametrize("program", rest_slow(PROGRAMS, SOONER))
def test_only_the_given_lines_are_edited(program):
    """A line that no failing call reached needs no edit."""
    source = PROGRAMS[program]
    every = edits_of_program(program)
    for line in range(1, source.count("\n") + 1):
        own = edits_of(source, {line})
        assert all(edit.lines == (line,) for edit in own)
        assert {edit for edit in every if edit.lines == (line,)} <= set(own)


def test_any_line_of_a_statement_selects_the_whole_statement():
    """An expression often stands on another line than the beginning of its statement."""
    source = "x = f(\n    a,\n    dim=-1,\n)\n"
    assert edits_of(source, {1}) == edits_of(source, {3}) == edits_of(source)
    assert {edit.line for edit in edits_of(source) if edit.kind == "axis"} == {3}


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_number_of_edits_per_line_is_bounded(program):
    """The search has too little time to spend a minute on one line."""
    source = PROGRAMS[program]
    edits = edits_of_program(program)
    lines = [line for line in source.split("\n") if line.strip()]
    assert len(edits) <= MOST_ON_AVERAGE * len(lines)
    assert max(Counter(edit.line for edit in edits).values()) <= MOST_OF_A_LINE


def test_edits_come_in_order_of_their_cost():
    """A search that stops early has then tried the most probable edits."""
    edits = edits_of_program("attention")
    assert [edit.cost for edit in edits] == sorted(edit.cost for edit in edits)
    assert edits[0].cost < 2 < edits[-1].cost


@pytest.mark.slow
@pytest.mark.process
def test_the_same_source_has_the_same_edits_in_every_process():
    """The edits and their order do not depend on Python's hash seed."""
    script = (
        f"from grader.explain.rewriting.generation import edits_of; print(edits_of({ATTENTION!r}))"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", script],
            cwd=ROOT,
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(said) == 1


LEFT_ALONE = '''
"""A docstring, with `x * 2`."""
import torch
from torch import nn

__all__ = ["f"]

@nn.parameter.torch.no_grad()
def f(x: list[int], n: int = 1) -> tuple[int, float]:
    """Another: x + 1."""
    print("shape", x.shape[0] + 1)
    raise ValueError(f"not {n + 1} or {x[0]}")
'''


def test_docstrings_annotations_and_messages_are_not_edited():
    """An edit of an annotation, a docstring or a message cannot change an answer."""
    edits = edits_of(LEFT_ALONE)
    assert {LEFT_ALONE.split("\n")[edit.line - 1][:6] for edit in edits} == {"def f("}
    results = [edit.applied(LEFT_ALONE) for edit in edits]
    assert all("n: int" in result and "-> tuple[int, float]" in result for result in results)


def test_an_edit_knows_whether_it_changes_the_body_of_a_function():
    """A default belongs to no function body: Python evaluates it when it loads the module."""
    source = "n = 1\nclass A:\n    k = 2\n    def f(self, x=3):\n        return x - 1\n"
    edits = {(edit.line, edit.in_function) for edit in edits_of(source)}
    assert edits == {(1, False), (3, False), (4, False), (5, True)}


NEW_WORD = re.compile(r"[A-Za-z_]{2,}")


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_subject_of_an_edit_gives_no_solution_away(program):
    """The subject names the place and the kind of error, or a variable that is never used."""
    source = PROGRAMS[program]
    lines = source.split("\n")
    for edit in edits_of_program(program):
        known = set(NEW_WORD.findall("".join(lines[line - 1] for line in edit.lines)))
        new = {word for one in edit.replacements for word in NEW_WORD.findall(one.text)} - known
        named = set(NEW_WORD.findall("".join(re.findall("`(.*?)`", edit.subject))))
        assert not new & named or edit.subject.endswith("which is never used"), edit


def test_a_sign_that_an_edit_adds_is_told_as_missing():
    """Nobody finds a sign to check in lines that have none."""
    source = "def f(n):\n    k = torch.arange(n // 2)\n    return torch.exp(2.0 * k / n)\n"
    subjects = {edit.line: edit.subject for edit in edits_of(source) if "sign" in edit.subject}
    assert subjects == {2: "a sign that is missing", 3: "a sign that is missing"}


def test_the_branches_of_a_conditional_expression_are_swapped():
    """The condition holds exactly when it should not."""
    source = "def f(q, n, free):\n    mask = None if free else q.new_ones(n)\n    return mask\n"
    swapped = "mask = q.new_ones(n) if free else None"
    assert any(swapped in edit.applied(source) for edit in edits_of(source))


@pytest.mark.parametrize("source", ["def f(:\n", "x = '\0'\n", "(" * 5000, ""])
def test_a_source_that_does_not_parse_has_no_edits(source):
    """Another message tells the student about the syntax error."""
    assert edits_of(source) == []


def test_edits_count_characters_for_any_line_ending_and_alphabet():
    """Offsets count characters, not bytes."""
    source = "größe = 3\r\ny = größe - 1  # Größe\r\nz = '日本' if größe - 2 else y\r\n"
    for edit in edits_of(source):
        ast.parse(edit.applied(source))
    assert any(edit.applied(source).count("größe + 2") for edit in edits_of(source))
