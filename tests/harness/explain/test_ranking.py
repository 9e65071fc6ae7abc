"""The weight of an edit: which signs in the source make it a likelier slip, and by how much."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.explain.repair.choice import weight_of
from grader.explain.repair.search import FileEdit
from grader.explain.repair.sources import EditableSources
from grader.explain.rewriting.edit import Edit, Replacement
from tests.harness.undoing import ATTENTION

pytestmark = pytest.mark.unit


def weight(folder: Path, program: str, change: str) -> float:
    """Returns the weight of an edit without a cost; a change is `old => new`."""
    (folder / "a.py").write_text(program)
    old, new = change.split(" => ")
    start = program.index(old)
    line = program[:start].count("\n") + 1
    piece = Replacement(start, start + len(old), new)
    edit = Edit("any", line, (line,), 0.0, (piece,), "a part", True)
    return round(weight_of(FileEdit("a.py", edit), EditableSources.below(folder, ATTENTION)), 3)


SPARE = "def f(x, p):\n    return x * 2\n"
USED = "def f(x, p):\n    x = x + p\n    return x * 2\n"
METHOD = "class A:\n    def f(self, x):\n        return x * 2\n"
FORMAT = 'def f(x, p):\n    return g(f"{p}", x)\n'
ORDER = "def f(first, second, x):\n    g(first, second, x)\n    return {}\n"


@pytest.mark.parametrize(
    ("program", "change", "expected"),
    [
        (SPARE, "x * 2 => x * p", -1.0),
        (USED, "x * 2 => x * p", 0.0),
        (SPARE, "x * 2 => x * other", 0.0),
        (USED, "x + p => x + 1", 1.0),
        (USED.replace("f(", "run_f("), "x + p => x + 1", 0.0),
        (METHOD, "x * 2 => self * 2 + x", 0.0),
        (FORMAT, "{p} => {2}", 1.0),
    ],
)
def test_an_edit_that_uses_an_unused_name_is_likelier(tmp_path, program, change, expected):
    """One that leaves a name unused is less likely."""
    assert weight(tmp_path, program, change) == expected


@pytest.mark.parametrize(
    ("program", "change", "expected"),
    [
        (ORDER.format("second, first"), "return second, first => return first, second", -0.6),
        (ORDER.format("first, second"), "return first, second => return second, first", 1.6),
        (ORDER.format("first, x"), "return first, x => return second, first", 1.6),
    ],
)
def test_an_edit_that_puts_names_in_order_is_likelier(tmp_path, program, change, expected):
    """One that puts them out of order is less likely."""
    assert weight(tmp_path, program, change) == expected
