"""Exceptions as a worker describes them: kind, lines, values in words, suggestions and causes."""

from __future__ import annotations

import importlib
import sys
import textwrap
from collections.abc import Callable, Iterator

import pytest
import torch

from grader.core.wire.calls import Raised
from grader.worker.exceptions import describe_exception, suggestion

pytestmark = pytest.mark.unit

HEAD = "import torch\nfrom torch import nn\n\n"
FIRST = 4  # The line of the first statement after the head.

Describe = Callable[..., Raised]


@pytest.fixture
def described(tmp_path, monkeypatch) -> Iterator[Describe]:
    """A function that runs `run(x)` of a submission; returns its exception as described."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(tmp_path))
    numbers: list[int] = []

    def describe(program: str, x: object = None, **files: str) -> Raised:
        for name, text in files.items():
            (tmp_path / f"{name}.py").write_text(textwrap.dedent(text))
        numbers.append(len(numbers))
        name = "own" if len(numbers) == 1 else f"own_{len(numbers)}"
        (tmp_path / f"{name}.py").write_text(HEAD + textwrap.dedent(program).lstrip("\n"))
        importlib.invalidate_caches()
        run = None
        try:
            run = importlib.import_module(name).run
            run(torch.ones(2, 3) if x is None else x)
        except BaseException as problem:
            return describe_exception(problem, tmp_path, run)
        raise AssertionError("it raised nothing")

    yield describe
    for name in set(sys.modules) - before:
        del sys.modules[name]


def test_the_frames_are_the_submissions_own_lines(described):
    """The innermost comes last; lines of other files are left out."""
    program = """
        def run(x):
            return sorted([1, 2], key=helper)
        def helper(n):
            return (
                1 // (n - 1))
        """
    raised = described(program)
    assert (raised.kind, raised.message) == (
        "ZeroDivisionError",
        "integer division or modulo by zero",
    )
    seen = [(one.file, one.line, one.function, one.source) for one in raised.frames]
    assert seen == [
        ("own.py", FIRST + 1, "run", "return sorted([1, 2], key=helper)"),
        ("own.py", FIRST + 4, "helper", "1 // (n - 1))"),
    ]
    assert not raised.missing


def test_a_frame_that_stopped_at_no_line_is_left_out(described):
    """An exception that a signal raises may meet such an instruction."""
    raised = described("""
        import types
        bare = (lambda: 1 // 0).__code__.replace(co_linetable=b"")
        def run(x):
            types.FunctionType(bare, {})()
        """)
    assert [(one.line, one.function) for one in raised.frames] == [(FIRST + 3, "run")]


def test_a_deep_recursion_keeps_its_innermost_frames(described):
    program = "def run(x, n=0):\n    if n == 30:\n        raise KeyError(n)\n    run(x, n + 1)\n"
    raised = described(program)
    assert [one.line for one in raised.frames] == [FIRST + 3] * 19 + [FIRST + 2]


@pytest.mark.parametrize(
    ("body", "missing"),
    [
        ("raise NotImplementedError", True),
        ("raise NotImplementedError('later')", True),
        ("raise ValueError", False),
        ("torch.ones(2).to_sparse().view(1)", False),
    ],
)
def test_only_a_deliberate_exception_says_that_an_adapter_is_missing(described, body, missing):
    """Torch raises NotImplementedError too, where a kernel is missing."""
    assert described(f"def run(x):\n    {body}\n").missing is missing


SUGGESTIONS = [
    # What `run` does, and the known name.
    ("totl = 1\n    return total", "totl"),
    ("return lenn(x)", "len"),
    ("return helpr(x)\ndef helper(x): 0", "helper"),
    ("return quite_unlike_everything", ""),
    ("print(total)\n    total = 1", ""),
    ("torch_ = 1\n    print(tortch)\n    tortch = 1", "torch_"),
    ("return x.reshap(3)", "reshape"),
    ("return x.quite_unlike_everything", ""),
    ("import absent_one", ""),
    ("return [][3]", ""),
    ("raise KeyError", ""),
]  # fmt: skip


@pytest.mark.parametrize(("body", "known"), SUGGESTIONS)
def test_a_name_that_was_not_found_has_a_suggestion(described, body, known):
    """It is a similar name."""
    assert described(f"def run(x):\n    {body}\n").suggestion == known


def test_a_raised_name_without_a_frame_has_no_suggestion():
    assert suggestion(NameError("no", name="lenn")) == ""
    assert suggestion(AttributeError("no", name="appnd", obj=[])) == "append"
    assert suggestion(AttributeError("no")) == ""


OPERANDS = [
    # What `run` does for x = float32[2, 3], and the operands with their values in words.
    ("y = x.T\n    return x @ y.T", [("x", "float32[2, 3]"), ("y", "float32[3, 2]")]),
    ("n = 3\n    return n + 'a'", [("n", "3")]),
    ("n = 1\n    n += 2\n    return 'a' + n", [("n", "3")]),
    ("for n in [1]:\n        'a' + n", [("n", "1")]),
    ("y = None\n    return y.more", [("y", "None")]),
    ("return Net.more + 1\nclass Net:\n    def more(self): 0", [("Net.more", "the function more")]),
    ("return twice + 1\ndef twice(): 0", [("twice", "the function twice")]),
    ("return torch.Tensor + 1", [("torch.Tensor", "the class Tensor")]),
    ("y = [x, x]\n    return torch.sin(y)", [("y", "[float32[2, 3], float32[2, 3]]")]),
    ("return Net().n + 'a'\nclass Net:\n    n = 3", []),
    # The frame knows other values by the names that a line sets, and by those of its inner parts.
    ("y, z = 1, 2\n    y, z = max([], key=lambda z: x)", [("x", "float32[2, 3]")]),
    ("y = 1\n    return 'a' + [y for y in x]", [("x", "float32[2, 3]")]),
]


@pytest.mark.parametrize(("body", "operands"), OPERANDS)
def test_the_operands_of_the_raising_expression_are_told(described, body, operands):
    """Each has its value."""
    raised = described(f"def run(x):\n    {body}\n")
    assert [(one.name, one.words) for one in raised.operands] == operands


def test_a_long_name_is_no_operand_and_the_number_of_operands_is_bounded(described):
    name, names = "n" * 61, [f"n{number}" for number in range(12)]
    raised = described(f"def run(x):\n    {name} = n = 1\n    return {name} + n + 'a'\n")
    assert [one.name for one in raised.operands] == ["n"]
    sum_ = " + ".join(names)
    setting = " = ".join(names)
    raised = described(f"def run(x):\n    {setting} = 1\n    return ({sum_}) + 'a'\n")
    assert [one.name for one in raised.operands] == names[:8]


def test_a_call_that_never_began_tells_what_the_adapter_accepts(described):
    assert described("def run(): 0\n").accepts == f"run() in own.py:{FIRST}"
    program = "def run(y, *more, size=3, **rest): run()\n"
    assert described(program).accepts == ""


def test_an_absent_package_is_named_by_its_top(described):
    """A module inside a package is not a package."""
    assert described("def run(x):\n    import absent_one\n").lacks == "absent_one"
    assert described("def run(x):\n    import json.absent_one\n").lacks == ""
    assert described("def run(x):\n    raise ImportError(name='absent_one')\n").lacks == ""


@pytest.mark.parametrize(("line", "text"), [("x = = 1", "x = = 1"), ("    x = = 1", "x = = 1")])
def test_a_syntax_error_has_its_line(described, line, text):
    """It has no expression that raised."""
    raised = described(line + "\n" if line[0] != " " else f"if 1:\n{line}\n")
    assert raised.kind == "SyntaxError"
    frame = raised.frames[-1]
    assert (frame.file, frame.function, frame.source) == ("own.py", "", text)
    assert frame.line == FIRST + (line[0] == " ")
    assert raised.operands == ()


def test_an_error_in_other_source_has_no_place_in_the_submission(described):
    raised = described("def run(x):\n    exec('x = = 1')\n")
    assert [one.line for one in raised.frames] == [FIRST + 1]
    assert raised.message == "invalid syntax"
    raised = described("def run(x):\n    raise SyntaxError\n")
    assert raised.message == "invalid syntax"


class Broken(Exception):
    def __str__(self) -> str:
        raise KeyError("no words")


class Long(Exception):
    pass


Long.__name__ = "L" * 200


def test_an_exception_that_cannot_be_printed_or_is_long_is_bounded(tmp_path):
    said = describe_exception(Broken(), tmp_path).message
    assert said == "(its text cannot be shown: printing it raised KeyError)"
    raised = describe_exception(Long("x" * 5000), tmp_path)
    assert (len(raised.kind), len(raised.message)) == (100, 4000)
