"""Uses of forbidden names, the lines of a submission, and the lines behind a traced result."""

from __future__ import annotations

import importlib
import sys
import textwrap
import threading
import types
from collections.abc import Callable, Iterator

import pytest
import torch

from grader.core.wire.calls import MAX_DEPTH, MAX_USES, Call, Use
from grader.core.wire.trials import KINDS
from grader.worker.observing.lines import LineFollower, OwnLines
from grader.worker.observing.watching import CallWatch, _loaded
from grader.worker.performing import perform

pytestmark = pytest.mark.unit

# A package that the assignment forbids in part.
TOOLS = """
def double(x):
    return 2 * x
def quadruple(x):
    return double(double(x))
class Plain:
    def __init__(self, n=0):
        self.n = n
class Called(Plain):
    def __call__(self, x):
        return x
class Inherits(Called):
    pass
class Static:
    @staticmethod
    def double(x):
        return 2 * x
NUMBER = 3
"""
NAMES = ("double", "quadruple", "Plain", "Inherits", "Static.double", "NUMBER", "absent", "a.b")


@pytest.fixture
def tools(tmp_path, monkeypatch) -> Iterator[types.ModuleType]:
    """The forbidden package, which is not the submission's own."""
    folder = tmp_path / "installed"
    folder.mkdir()
    (folder / "forbidden_tools.py").write_text(TOOLS)
    monkeypatch.syspath_prepend(str(folder))
    importlib.invalidate_caches()
    yield importlib.import_module("forbidden_tools")
    del sys.modules["forbidden_tools"]


@pytest.fixture
def program(tmp_path, monkeypatch) -> Iterator[Callable[[str], types.ModuleType]]:
    """A function that loads a program of the submission in `tmp_path / "own"`."""
    (tmp_path / "own").mkdir()
    monkeypatch.syspath_prepend(str(tmp_path / "own"))

    def load(text: str) -> types.ModuleType:
        (tmp_path / "own" / "watched_program.py").write_text(textwrap.dedent(text).lstrip("\n"))
        importlib.invalidate_caches()
        return importlib.import_module("watched_program")

    yield load
    sys.modules.pop("watched_program", None)


USES = [
    # What an adapter in line 3 does, and the forbidden names that are noted with their lines.
    ("return t.double(x)", {"double": 4}),
    ("y = 1\n    return t.double(\n        x)", {"double": 5}),
    ("return helper(x)\ndef helper(x):\n    return t.double(x)", {"double": 6}),
    ("return t.quadruple(x)", {"quadruple": 4}),
    ("return t.Static.double(x)", {"Static.double": 4}),
    ("return max([x], key=t.double)", {"double": 4}),
    ("return t.Plain().n", {"Plain": 4}),
    ("return t.Called()(x)", {"Plain": 4}),
    ("return KEPT(x)\nKEPT = t.Inherits()", {"Inherits": 4}),
    ("return t.NUMBER", {}),
    ("return t.Plain", {"Plain": 3}),
    ("return Own\nclass Own(t.Plain): pass", {"Plain": 5}),
    ("return made()\nclass Own(t.Plain):\n    def __init__(self): pass\ndef made(): return Own()",
     {"Plain": 5}),
    ("work = threading.Thread(target=t.double, args=(1,))\n    work.start(); work.join()",
     {"double": 3}),
    ("return x", {}),
]  # fmt: skip


@pytest.mark.parametrize(("body", "found"), USES)
def test_a_use_is_noted_at_the_submissions_innermost_line(tools, program, tmp_path, body, found):
    """A call inside a forbidden call is no further use."""
    watch = CallWatch([f"forbidden_tools.{name}" for name in NAMES], tmp_path / "own")
    module = program(f"import threading\nimport forbidden_tools as t\ndef run_it(x):\n    {body}\n")
    at_import = {use.name.partition(".")[2]: use.line for use in watch.take()}
    given = watch.call(module.run_it, {"x": 3})
    seen = at_import | {use.name.partition(".")[2]: use.line for use in watch.take()}
    assert seen == found
    assert watch.take() == ()
    assert tools.NUMBER == 3
    assert "double" not in body or given in (6, 12, 3, None)


def test_uses_keep_their_file_and_are_bounded(tools, program, tmp_path):
    watch = CallWatch(["forbidden_tools.double"], tmp_path / "own")
    lines = "\n".join(["    forbidden_tools.double(1)"] * (MAX_USES + 5))
    module = program(f"import forbidden_tools\ndef run_it():\n{lines}\n")
    watch.call(module.run_it, {})
    uses = watch.take()
    assert len(uses) == MAX_USES
    assert uses[0] == Use("forbidden_tools.double", "watched_program.py", 3)
    tools.double(1)
    assert watch.take() == ()


def test_an_adapter_that_raises_is_forgotten(tools, program, tmp_path):
    """A later use outside of any call is nobody's."""
    watch = CallWatch(["forbidden_tools.double"], tmp_path / "own")
    module = program("def run_it(): 1 / 0\n")
    with pytest.raises(ZeroDivisionError):
        watch.call(module.run_it, {})
    work = threading.Thread(target=tools.double, args=(1,))
    work.start()
    work.join()
    assert watch.take() == ()


def test_names_that_are_not_loaded_are_not_found():
    assert _loaded("") is _loaded("absent_one") is _loaded("absent_one.inner.more") is None
    assert _loaded("json") is sys.modules["json"]
    assert _loaded("json.decoder.JSONDecoder") is sys.modules["json"].JSONDecoder
    assert _loaded("json.absent_one") is None


# --- Lines ---------------------------------------------------------------------------------------


def test_a_line_goes_on_until_its_brackets_are_closed(program, tmp_path):
    module = program(
        """
        import sys
        def frame(*_):
            return sys._getframe(1)
        def run_short():
            return frame(
                1,
                [2])
        def run_long():
            return frame([
                1,
                2,
                3,
                4,
                5,
                6,
            ])
        def run_deep(n):
            return run_deep(n - 1) if n else sys._getframe()
        """
    )
    own = OwnLines(tmp_path / "own")
    stack = own.stack(module.run_short())
    assert [(line.file, line.line, line.source) for line in stack] == [
        ("watched_program.py", 5, "return frame( 1, [2])")
    ]
    assert own.stack(module.run_long())[0].source == "return frame([ 1, 2, 3, 4, 5,"
    assert len(own.stack(module.run_deep(30))) == MAX_DEPTH
    assert own.stack(None) == ()
    assert own.holds(str(tmp_path / "own" / "a.py"))
    assert not own.holds(str(tmp_path / "owner.py"))


def test_the_lines_that_run_are_followed(program, tmp_path):
    module = program("def run_it(n):\n    if n:\n        return 1\n    return 2\n")
    before = sys.gettrace()
    with LineFollower(tmp_path / "own") as follower:
        module.run_it(1)
        module.run_it(1)
    assert sys.gettrace() is before
    (passed,) = follower.passed
    assert (passed.file, passed.lines) == ("watched_program.py", (2, 3))
    with LineFollower(tmp_path / "own") as few:
        few._left = 1
        module.run_it(0)
    assert [len(one.lines) for one in few.passed] == [1]


HELD = """import torch

class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale, self.inner = 0.5, torch.nn.Linear(2, 2)

    def forward(self, x, mask, size=None, *, twice=True):
        odd = [n for n in range(2)]
        return x

def run_it():
    x = torch.ones(2, 3)
    return Layer()(x, x > 0)
"""
HELD_IN_FORWARD = {
    "x": "tensor",
    "mask": "mask",
    "twice": "bool",
    "odd": "shape",
    "self": "function",
    "self.scale": "float",
    "self.inner": "function",
    "self.training": "bool",
}


def test_the_kinds_of_what_variables_hold_are_followed(program, tmp_path):
    """Attributes count, and those that torch keeps in tables; `None` tells nothing."""
    module = program(HELD)
    with LineFollower(tmp_path / "own") as follower:
        module.run_it()
    (passed,) = follower.passed
    of_forward = {one.name: KINDS[one.kind] for one in passed.seen if one.function == 8}
    own = {name: kind for name, kind in of_forward.items() if not name.startswith("self._")}
    assert own.items() >= HELD_IN_FORWARD.items()
    assert "size" not in own
    with LineFollower(tmp_path / "own") as few:
        few._left_to_see = 2
        module.run_it()
    assert [len(one.seen) for one in few.passed] == [2]


ODD = """
asked = []

class Proxy:
    __slots__ = ()

    def __getattribute__(self, name):
        asked.append(name)
        return object.__getattribute__(self, name)

    @property
    def __class__(self):
        return int

class Part(list):
    def __len__(self):
        asked.append("len")
        return 1

def run_it():
    proxy, part = Proxy(), Part()
    return 1

class Odd(Proxy):
    def step(self, n):
        return n

def run_step():
    return object.__getattribute__(Odd(), "step")(1)
"""


def test_looking_at_variables_runs_no_code_of_their_classes(program, tmp_path):
    """A proxy may load something, or count, when it is asked for an attribute."""
    module = program(ODD)
    with LineFollower(tmp_path / "own") as follower:
        module.run_it()
        module.run_step()
    assert module.asked == []
    (passed,) = follower.passed
    kinds = {one.name: KINDS[one.kind] for one in passed.seen}
    assert kinds == {"proxy": "other", "part": "other", "self": "other", "n": "int"}


OFTEN = """
class Odd:
    looks = 0

    @property
    def __dict__(self):
        Odd.looks += 1
        return {}

    def step(self):
        return 1

def run_it():
    odd = Odd()
    return sum(odd.step() for _ in range(1000))
"""


def test_a_function_that_returns_often_is_looked_at_a_few_times(program, tmp_path):
    """A followed call has little time, and would end before its last lines."""
    module = program(OFTEN)
    with LineFollower(tmp_path / "own"):
        module.run_it()
    assert 0 < module.Odd.looks < 50


# --- Traced results ------------------------------------------------------------------------------

TRACED = [
    # The lines of `run` for float32[2, 3], and the one, from 1, that gave the result its dtype or
    # type.
    (("y = 2 * x", "return y.half()"), 2),
    (("y = x.half()", "z = torch.ones(3).half()", "return y + z"), 1),
    (("y = x.double()", "z = torch.ones(3, dtype=torch.float64)", "return z"), 2),
    (("y = x.argmax(-1)", "z = y + 1", "return z"), 1),
    (("y = x.argmax(-1)", "z = (y > 1)", "return z.long()"), 3),
    (("return helper(x)", "def helper(x): return [x]"), 2),
    (("y = helper(x)", "return y", "def helper(x): return [x]"), 3),
    (("helper(x)", "return [x]", "def helper(x): return [x]"), 2),
]


@pytest.mark.parametrize(("lines", "line"), TRACED)
def test_a_result_is_traced_to_its_line_only_if_it_is_certain(program, tmp_path, lines, line):
    inner = next((at for at, text in enumerate(lines) if text.startswith("def ")), len(lines))
    body = [f"    {text}" for text in lines[:inner]] + list(lines[inner:])
    module = program("\n".join(["import torch", "def run(x):", *body]) + "\n")
    call = Call("run", {"x": torch.ones(2, 3)}, trace=True)
    answer = perform(module.run, call, tmp_path / "own")
    assert answer.raised is None, answer.raised
    assert (answer.origin.line - 2 if answer.origin else None) == line
