"""Answers that depend on earlier calls: the message says so, and names no line."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import pytest

from grader.cli.api import grade as grade_once
from grader.explain.repair.earlier_calls import SAID
from tests.harness.marks import rest_slow

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[3]
COUNT = "\ndef run_count(x):\n    return x.numel()\n"
KEPT = {
    "a global": """
        calls = 0

        def run_double(x):
            global calls
            calls += 1
            return 2 * x if calls == 1 else 3 * x
        """,
    "a dictionary": """
        SEEN = {}

        def run_double(x):
            first = SEEN.setdefault("x", x)
            return x + (x if first is x else 2 * x)
        """,
    "a default": """
        def run_double(x, calls=[]):
            calls.append(len(calls))
            return (len(calls) + 1) * x
        """,
    "an attribute of an object": """
        class Doubling:
            def __init__(self):
                self.factor = 2

            def __call__(self, x):
                y = self.factor * x
                self.factor = 3
                return y

        doubling = Doubling()

        def run_double(x):
            return doubling(x)
        """,
    "an attribute of a function": """
        def run_double(x):
            y = run_double.factor * x
            run_double.factor = 3
            return y

        run_double.factor = 2
        """,
    "a cache": """
        import functools

        FACTORS = {}

        @functools.lru_cache
        def largest(axes):
            return FACTORS["x"]

        def run_double(x):
            FACTORS["x"] = x.abs().max()
            return 2 * x * x.abs().max() / largest(x.ndim > 0)
        """,
    "a tensor, in place": """
        import torch

        WEIGHT = torch.full((), 2.0)

        def run_double(x):
            y = WEIGHT.item() * x
            WEIGHT.add_(1)
            return y
        """,
    "a module's parameter": """
        import torch
        from torch import nn

        SCALE = nn.Linear(1, 1, bias=False)
        with torch.no_grad():
            SCALE.weight.fill_(2.0)

        def run_double(x):
            y = SCALE.weight.detach().item() * x
            with torch.no_grad():
                SCALE.weight.add_(1)
            return y
        """,
    "a setting of torch": """
        import torch

        def run_double(x):
            y = 2 * x if torch.get_default_dtype() is torch.float32 else 3 * x
            torch.set_default_dtype(torch.float64)
            return y
        """,
}


@pytest.mark.parametrize("kind", rest_slow(KEPT, 2))
def test_state_left_by_earlier_calls_is_reported(grade, kind):
    """In a fresh state the program is right: no edit may claim a fix, no mistake is named."""
    program = textwrap.dedent(KEPT[kind]).lstrip("\n")
    told = [
        verdict
        for verdict in grade(program + COUNT).grade.tests
        if verdict.exercise == "run_double" and verdict.status == "failed"
    ]
    plain = [verdict for verdict in told if verdict.aspect in ("values", "generality")]
    assert plain
    assert all(re.search("earlier calls|between calls", verdict.message) for verdict in plain)
    assert any(SAID in verdict.message for verdict in plain)
    assert {one.where for one in plain} == {None}
    assert not any(
        " alone fixes all failed tests of the exercise" in verdict.message for verdict in told
    )
    assert [verdict.diagnosis for verdict in told if verdict.diagnosis] == []


def test_gradients_switched_off_by_an_earlier_call_name_no_line(grade):
    """The values are right, so only a repeat of the gradient test can show the cause."""
    program = """
import torch

def run_double(x):
    y = 2 * x
    torch.set_grad_enabled(False)
    return y
"""
    (told,) = (one for one in grade(program + COUNT).grade.tests if one.status == "failed")
    assert told.aspect == "gradients"
    assert SAID in told.message
    assert told.where is None


KEPT_BY_SHAPE = """
import torch

KEPT = {}

def run_causal_self_attention(W_query, W_key, W_value, in_features):
    shape = in_features.shape
    if shape not in KEPT:
        KEPT[shape] = in_features @ W_query, in_features @ W_key
    q, k = KEPT[shape]
    hidden = torch.ones(shape[-2], shape[-2], dtype=torch.bool).triu(1)
    weights = (q @ k.mT / k.shape[-1] ** 0.5).masked_fill(hidden, -torch.inf).softmax(-1)
    return weights @ (in_features @ W_value)
"""


def test_calls_of_exercises_that_are_not_written_take_no_place_among_earlier_ones(tmp_path):
    """Hundreds of calls without an answer precede the two calls of which one spoils the other."""
    (tmp_path / "adapters.py").write_text(KEPT_BY_SHAPE)
    tests = grade_once(tmp_path, assignment=ROOT, seed=5).tests
    told = [one.message for one in tests if one.status == "failed" and one.aspect == "values"]
    assert told
    assert all(SAID in message for message in told)


def test_harmless_state_does_not_hide_a_wrong_line(grade):
    """This program keeps state, but the state does no harm."""
    program = "SEEN = []\n\ndef run_double(x):\n    SEEN.append(x)\n    return x + x + x\n"
    told = grade(program + COUNT)["test_doubles"]
    assert SAID not in told.message
    assert (told.where.file, told.where.line) == ("adapters.py", 5)
    assert told.diagnosis.mistake == "tripled"


def test_random_answers_are_not_blamed_on_earlier_calls(grade):
    """A random answer is right now and then, also in a fresh state."""
    program = "import os\n\ndef run_double(x):\n    return (2 + os.urandom(1)[0] % 4) * x\n"
    told = [one for one in grade(program + COUNT).grade.tests if one.message]
    assert not any(SAID in verdict.message for verdict in told)
