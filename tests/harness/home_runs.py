"""Whole runs of pytest in a student's folder, in the process of the test that looks at them."""

from __future__ import annotations

import contextlib
import io
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import jaxtyping
import pytest
import torch

from grader.core.verdict import Diagnosis
from grader.explain.mistakes.prediction import Numbers, row_of
from grader.testing.cases import Case, Draw, FrozenModule, FrozenTest, fixture_file, freeze
from tests.harness.conftest import TINY, write_files

OWN = ("adapters", "assignment", "tests", "contract_as_handed_out")
FILES = {
    "pyproject.toml": """
        [tool.grader]
        name = "tiny"
        [tool.grader.exercises]
        run_double = 4
        run_count = 1
        run_later = 5
        [tool.grader.forbidden]
        "torch.add" = 50
        "torch.sub" = 0
        [tool.pytest.ini_options]
        testpaths = ["tests/public"]
        pythonpath = ["."]
        addopts = "--import-mode=importlib"
        """,
    "tests/conftest.py": TINY["tests/conftest.py"],
    "tests/contract.py": """
        from torch import Tensor

        def run_double(x: Tensor) -> Tensor: ...
        def run_count(x: Tensor) -> int: ...
        def run_later(x: Tensor) -> Tensor: ...
        """,
    "adapters.py": """
        import assignment
        from torch import Tensor

        def run_double(x: Tensor) -> Tensor:
            return assignment.double(x)

        def run_count(x: Tensor) -> int:
            return assignment.count(x)

        def run_later(x: Tensor) -> Tensor:
            return assignment.later(x)
        """,
    "tests/public/test_tiny.py": """
        import pytest
        from grader.testing import assert_matches, exercise

        @exercise("run_count")
        def test_counts(student, reference, draw):
            '''The numbers are counted.'''
            x = draw(2, 3)
            assert_matches(student(x), reference(x))

        @exercise("run_double")
        @pytest.mark.parametrize("shape", [(2, 3), (4, 5)], ids=str)
        def test_doubles(student, reference, draw, shape):
            '''Every number is doubled.'''
            x = draw(*shape)
            assert_matches(student(x), reference(x))

        @exercise("run_double", aspect="generality")
        def test_doubles_a_row(student, reference, draw):
            '''A row is doubled too.'''
            x = draw(7)
            assert_matches(student(x), reference(x))

        @exercise("run_later")
        def test_later(student, reference, draw):
            '''Negative numbers are dropped.'''
            x = draw(2, 3)
            assert_matches(student(x), reference(x))
        """,
}
RIGHT = {"double": "return x + x", "count": "return x.numel()", "later": "return x.relu()"}
MISTAKES = {"": lambda x: 2 * x, "tripled": lambda x: 3 * x}
COUNTED: Callable[[torch.Tensor], torch.Tensor] = lambda x: torch.tensor(x.numel())  # noqa: E731
TRIPLED = Diagnosis("tripled", "Every number is tripled.", "How often is x added?")


def frozen(
    function: Callable[[torch.Tensor], object],
    points: float,
    *shape: int,
    known: Iterable[Callable[[torch.Tensor], torch.Tensor]] = (),
) -> FrozenTest:
    """Returns a test of one call, whose right answer is a function's.

    The first of the `known` functions gives the right answer, the others those of mistakes.
    """
    case = Case(torch.Generator().manual_seed(3))
    x = Draw(case)(*shape)
    case.expect(lambda: {"": function(x)})
    rows = [row_of(Numbers(answer(x))) for answer in known]
    return FrozenTest(case, points, {0: torch.stack(rows)} if rows else {})


@dataclass
class Ran:
    """The exit code of a run of pytest, and what it wrote to its output and its error output."""

    code: int
    text: str
    complaint: str

    def __contains__(self, text: str) -> bool:
        return text in self.text

    @property
    def report(self) -> str:
        """Returns what stands below the progress, without times and the lengths of rules."""
        below = self.text.partition("%]\n")[2] or self.text.partition("selected\n")[2]
        rules = re.sub(r"={3,} (.*?) =+", r"= \1 =", below)
        return re.sub(r" in [0-9.]+s =", " =", rules)


@contextlib.contextmanager
def modules_and_paths_as_before() -> Iterator[None]:
    """Restores the modules that a run imports; its folders are called as those of this project."""
    own = {name: one for name, one in sys.modules.items() if name.partition(".")[0] in OWN}
    path, disabled = [*sys.path], jaxtyping.config.jaxtyping_disable
    for name in own:
        del sys.modules[name]
    try:
        yield
    finally:
        for name in [one for one in sys.modules if one.partition(".")[0] in OWN]:
            del sys.modules[name]
        sys.modules.update(own)
        sys.path[:] = path
        jaxtyping.config.update("jaxtyping_disable", disabled)


class AtHome:
    """A student's folder, without references: the frozen tests tell what is right."""

    def __init__(self, folder: Path) -> None:
        self.folder = write_files(folder, FILES)
        tests = {
            "test_counts": frozen(lambda x: x.numel(), 1.0, 2, 3, known=[COUNTED]),
            "test_doubles[(2, 3)]": frozen(MISTAKES[""], 1.5, 2, 3, known=MISTAKES.values()),
            "test_doubles[(4, 5)]": frozen(MISTAKES[""], 1.5, 4, 5, known=MISTAKES.values()),
            "test_doubles_a_row": frozen(MISTAKES[""], 0.5, 7, known=MISTAKES.values()),
            "test_later": frozen(torch.relu, 2.0, 2, 3),
        }
        module = FrozenModule(
            tests, {"run_double": [*MISTAKES], "run_count": [""]}, {"tripled": TRIPLED}
        )
        freeze(fixture_file(folder / "tests/public/test_tiny.py"), module)

    def __call__(self, *options: str, above: str = "", **bodies: str) -> Ran:
        """Runs pytest in the working directory, with these bodies of the student's functions."""
        parts = [
            f"def {name}(x):\n{textwrap.indent(textwrap.dedent(body), '    ')}\n"
            for name, body in (RIGHT | bodies).items()
        ]
        program = f"import torch\n{textwrap.dedent(above)}\n" + "\n".join(parts)
        write_files(self.folder, {"assignment/__init__.py": program})
        written, complained = io.StringIO(), io.StringIO()
        plugins = [
            word
            for name in ("cacheprovider", "xdist", "randomly", "unraisableexception")
            for word in ("-p", f"no:{name}")
        ]
        with (
            modules_and_paths_as_before(),
            contextlib.redirect_stdout(written),
            contextlib.redirect_stderr(complained),
        ):
            code = pytest.main([*plugins, "--capture=sys", *options])
        return Ran(int(code), written.getvalue(), complained.getvalue())
