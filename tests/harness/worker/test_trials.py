"""Trials of edits in the process of a loaded submission, whose code is swapped."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import einops  # noqa: F401  (what a worker has loaded before a submission)
import pytest
import torch

from grader.core.wire.calls import Call
from grader.core.wire.trials import Outcomes, TextChange, Trials
from grader.worker.trials.trials import Trying
from tests.harness.loaded_programs import loading

pytestmark = pytest.mark.unit

CALL = Call("run_double", {"x": torch.tensor([1.0, 2.0])})
# Each trial edits a 3 into a 2, and this is the right answer.
DOUBLED = torch.tensor([2.0, 4.0])


WAYS = {
    "a function": "def run_double(x):\n    return x * 3\n",
    "a function that another one calls": """
def helper(x):
    return x * 3
def run_double(x):
    return helper(x)
""",
    "a closure that was made at import": """
def make(x):
    def times(y):
        return y * 3
    return times
times = make(0)
def run_double(x):
    return times(x)
""",
    "a closure that is made in the call": """
def run_double(x):
    def times(y):
        return y * 3
    return times(x)
""",
    "a lambda": "times = lambda x: x * 3\ndef run_double(x):\n    return times(x)\n",
    "a function whose decorator caches": """
def remember(function):
    seen = {}
    def remembered(x):
        if x.shape not in seen:
            seen[x.shape] = function(x)
        return seen[x.shape]
    return remembered
@remember
def run_double(x):
    return x * 3
""",
    "a closure that counts calls and caches in a default": """
def counted():
    calls = 0
    def times(x, seen=[]):
        nonlocal calls
        calls += 1
        if calls == 1:
            seen.append(x * 3)
        return seen[0]
    return times
run_double = counted()
""",
    "a method": """
class Times:
    def __call__(self, x):
        return x * 3
def run_double(x):
    return Times()(x)
""",
    "a method that calls super() and has a private attribute": """
class Base:
    def by(self, x):
        return x
class Times(
    Base,
):
    __factor = 1

    @property
    def factor(self):
        return self.__factor

    def by(self, x):
        return super().by(x) * self.factor * 3
def run_double(x):
    return Times().by(x)
""",
    "a method of an object that exists": """
class Times:
    def by(self, x):
        return x * 3
TIMES = Times()
def run_double(x):
    return TIMES.by(x)
""",
    "a decorated function": """
import functools
def told(function):
    @functools.wraps(function)
    def wrapped(*given, **named):
        return function(*given, **named)
    return wrapped
@told
def run_double(x):
    return x * 3
""",
    "a comprehension": """
import torch
def run_double(x):
    return torch.stack([one * 3 for one in x])
""",
    "a constant of the module": "BY = 3\ndef run_double(x):\n    return x * BY\n",
    "a default value": """
def times(x, by=3):
    return x * by
def run_double(x):
    return times(x)
""",
    "an attribute of a class": """
class Times:
    by = 3
    def __call__(self, x):
        return x * self.by
def run_double(x):
    return Times()(x)
""",
    "the fields of a dataclass": """
import dataclasses
@dataclasses.dataclass
class By:
    one: float = 1.0
    by: float = 3
def run_double(x):
    return x * By().by
""",
    "the fields of a named tuple": """
import typing
class By(typing.NamedTuple):
    one: float = 1.0
    by: float = 3
def run_double(x):
    return x * By().by
""",
    "a cached table": """
TABLES = {}
def table(n):
    if n not in TABLES:
        TABLES[n] = n * 3 / n
    return TABLES[n]
def run_double(x):
    return x * table(len(x))
""",
    "a global that each call rebinds": """
import torch
LAST = torch.zeros(2)
def run_double(x):
    global LAST
    LAST = x * 3 + 0 * LAST
    return LAST
""",
    "a function with lru_cache": """
import functools
@functools.lru_cache
def by(n):
    return n * 3 / n
def run_double(x):
    return x * by(len(x))
""",
    "a cache in an object": """
class Tables:
    def __init__(self):
        self.known = {}
    def by(self, n):
        if n not in self.known:
            self.known[n] = n * 3 / n
        return self.known[n]
TABLES = Tables()
def run_double(x):
    return x * TABLES.by(len(x))
""",
}


@pytest.fixture
def loaded(tmp_path: Path, monkeypatch) -> Iterator[Callable[[str], tuple[Trying, str]]]:
    """A function that loads a program as a submission's adapters."""
    monkeypatch.syspath_prepend(str(tmp_path))
    with loading(tmp_path) as load:

        def loaded_adapters(program: str) -> tuple[Trying, str]:
            module = load(program)
            trying = Trying({"run_double": module.run_double}, tmp_path)
            # This call's cached values must not hide the effect of edits.
            module.run_double(CALL.arguments["x"])
            return trying, f"{module.__name__}.py"

        yield loaded_adapters


def outcomes_of_edit(trying: Trying, file: str, text: str, old: str, new: str) -> Outcomes:
    """Returns the outcomes of one edit, which replaces a text that the program contains once."""
    start = text.index(old)
    edits = [{file: [TextChange(start, start + len(old), new)]}]
    return trying.perform(Trials([CALL], 1, edits, 10.0))


@pytest.mark.parametrize("way", WAYS)
def test_an_edit_takes_effect_wherever_the_code_is(loaded, tmp_path, way):
    """Objects made at import or in an earlier call hold values of the old code."""
    trying, file = loaded(WAYS[way])
    outcomes = outcomes_of_edit(trying, file, (tmp_path / file).read_text(), "3", "2")
    assert torch.equal(outcomes.of(0, 0), DOUBLED)


@pytest.mark.parametrize("way", WAYS)
def test_an_edit_leaves_nothing_behind(loaded, tmp_path, way):
    """Afterwards the program answers as before."""
    trying, file = loaded(WAYS[way])
    text = (tmp_path / file).read_text()
    module = sys.modules[file.removesuffix(".py")]
    outcomes_of_edit(trying, file, text, "3", "2")
    assert torch.equal(module.run_double(CALL.arguments["x"]), 3 * CALL.arguments["x"])
    again = outcomes_of_edit(trying, file, text, "3", "3.0")
    assert again.of(0, 0) is None or torch.equal(again.of(0, 0), 3 * CALL.arguments["x"])


def test_an_answer_may_have_any_strides(loaded):
    """A single value of a transposed table counts as contiguous, whatever its stride."""
    program = "def run_double(x):\n    return x.repeat(3, 1)[:2, :1].T\n"
    trying, file = loaded(program)
    outcomes = outcomes_of_edit(trying, file, program, "[:2", "[:1")
    assert torch.equal(outcomes.of(0, 0), torch.ones(1, 1))


def test_a_package_cache_filled_by_one_edit_does_not_affect_the_next(loaded):
    """2.0 equals 2, so einops' cache would reuse what it stored for 2.0 parts."""
    program = (
        'import einops\ndef run_double(x):\n    return einops.rearrange(x, "(n d) -> n d", n=1)\n'
    )
    trying, file = loaded(program)
    start = program.index("1)")
    edits = [{file: [TextChange(start, start + 1, new)]} for new in ("2.0", "2")]
    outcomes = trying.perform(Trials([CALL], 1, edits, 10.0))
    assert outcomes.of(0, 0) is None
    assert torch.equal(outcomes.of(1, 0), torch.tensor([[1.0], [2.0]]))


@pytest.mark.parametrize(
    "new", ["while True: pass", "while True:\n        try: pass\n        except Exception: pass"]
)
def test_an_edit_that_loops_forever_is_stopped(loaded, tmp_path, new):
    """The next edit is still tried."""
    trying, file = loaded("def run_double(x):\n    x = x + 0\n    return x * 3\n")
    text = (tmp_path / file).read_text()
    loop, three = text.index("x = x + 0"), text.index("3")
    edits = [
        {file: [TextChange(loop, loop + 9, new)]},
        {file: [TextChange(three, three + 1, "2")]},
    ]
    outcomes = trying.perform(Trials([CALL], 1, edits, 10.0))
    assert outcomes.of(0, 0) is None
    assert torch.equal(outcomes.of(1, 0), DOUBLED)


@pytest.mark.parametrize(
    "new", ["return x *", "return x * unknown", "raise SystemExit", "return object()"]
)
def test_an_edit_that_fails_or_returns_a_foreign_object_gives_no_answer(loaded, tmp_path, new):
    """The edited code may fail to compile, raise, or return another type."""
    trying, file = loaded("def run_double(x):\n    return x * 3\n")
    text = (tmp_path / file).read_text()
    assert outcomes_of_edit(trying, file, text, "return x * 3", new).given == {}


def test_an_edit_that_changes_no_answer_is_not_reported(loaded, tmp_path):
    """Most edits change no answer."""
    trying, file = loaded("def run_double(x):\n    return x * 3\n")
    text = (tmp_path / file).read_text()
    outcomes = outcomes_of_edit(trying, file, text, "x * 3", "3 * x")
    assert (outcomes.tried, outcomes.given) == (1, {})


def test_the_lines_that_a_call_runs_are_reported(loaded, tmp_path):
    """The call starts from the state after the import, because caches could skip lines."""
    trying, file = loaded(WAYS["a cached table"])
    outcomes = trying.perform(Trials([CALL], 0, [], 10.0, follow=1))
    (passed,) = outcomes.passed
    lines = (tmp_path / file).read_text().splitlines()
    assert passed.file == file
    assert "        TABLES[n] = n * 3 / n" in [lines[number - 1] for number in passed.lines]


ENDLESS = """
def step():
    return None
def run_double(x):
    while len(x) == 1:
        step()
    return x * 3
"""


def test_a_call_that_never_ends_keeps_no_later_call_from_being_followed(loaded, tmp_path):
    """Its end comes while its lines are noted, which ends Python's tracing."""
    trying, file = loaded(ENDLESS)
    endless = Call("run_double", {"x": torch.ones(1)})
    (passed,) = trying.perform(Trials([endless, CALL], 0, [], 10.0, follow=2)).passed
    lines = (tmp_path / file).read_text().splitlines()
    assert "    return x * 3" in [lines[number - 1] for number in passed.lines]


def test_an_edit_outside_the_submission_is_ignored(loaded):
    """Only files below the submission's root are edited."""
    trying, _ = loaded("def run_double(x):\n    return x * 3\n")
    edits = [{"../other.py": [TextChange(0, 1, "2")]}]
    assert trying.perform(Trials([CALL], 1, edits, 10.0)).given == {}


@pytest.mark.process(takes="a second")
def test_a_late_alarm_does_not_stop_a_later_trial(loaded):
    """Python handles signals late, so a call that raises may already be over."""
    text = """
import itertools
def run_double(x):
    by = 1
    if by == 2:
        return sum(itertools.chain(range(20_000_000), [None]))
    return x * by
"""
    trying, file = loaded(text)
    starts = [text.index("= 1"), text.index("* by\n")]
    edits = [{file: [TextChange(starts[0], starts[0] + 3, "= 2")]}] * 2
    edits.append({file: [TextChange(starts[1], starts[1] + 4, "* 2")]})
    outcomes = trying.perform(Trials([CALL], 1, edits, 60.0))
    assert [number for number, _ in outcomes.given] == [2]
