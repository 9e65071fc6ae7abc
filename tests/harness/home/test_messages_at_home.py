"""Reports at home: short paragraphs, never a page of traceback."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def handout(grader, tiny, tmp_path_factory) -> Path:
    """The handout of the tiny assignment."""
    folder = tmp_path_factory.mktemp("handout") / "tiny"
    done = grader("handout", folder, cwd=tiny)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def at_home(handout, home_pytest, tmp_path):
    """A function that runs pytest in a student's copy with these bodies of `double` and `count`."""
    mine = Path(shutil.copytree(handout, tmp_path / "mine"))

    def run(
        double: str, *options: str, count: str = "return x.numel()", **variables: str
    ) -> subprocess.CompletedProcess[str]:
        parts = [f"def {name}(x):\n{textwrap.indent(textwrap.dedent(body), '    ')}\n"
                 for name, body in (("double", double), ("count", count))]  # fmt: skip
        (mine / "assignment" / "__init__.py").write_text("import torch\n\n" + "\n".join(parts))
        return home_pytest(mine, *options, **variables)

    run.folder = mine
    return run


def paragraph(printed: str, test: str) -> list[str]:
    """Returns the lines below a failed test's heading, up to the next section; `-v` shows them."""
    lines = printed.splitlines()
    start = next(i for i, line in enumerate(lines) if line.strip("_ ") == test)
    end = next(i for i in range(start + 1, len(lines)) if lines[i].startswith(("__", "==", "--")))
    return lines[start + 1 : end]


def example(printed: str, test: str) -> list[str]:
    """Returns the words about the test that stands for a cause, without their indentation."""
    lines = printed.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(f"{test}:"))
    end = next(i for i in range(start + 1, len(lines)) if not lines[i].startswith("    "))
    about = lines[start].removeprefix(f"{test}: ")
    return [about, *(line.removeprefix("    ") for line in lines[start + 1 : end])]


def test_pytest_x_does_not_stop_at_missing_exercises(at_home):
    """The first failure shown is an error to fix, not an exercise to write."""
    printed = at_home("raise NotImplementedError", "-x", count="return 0").stdout
    assert "stopping after 1 failures" in printed
    assert "test_counts" in printed
    assert "1 failed, 1 missing" in printed


def test_lines_are_wrapped_between_words_at_the_terminal_width(at_home):
    """Lines end at the terminal's width, or at 80 columns if it is unknown."""
    for columns, width in (("60", 60), ("", 80)):
        printed = at_home("return 2 * x + 0.5", COLUMNS=columns).stdout
        lines = printed.partition(" failure")[2].splitlines()[1:]
        assert max(map(len, lines)) <= width
        assert any(line.startswith("    ") and len(line) > width - 20 for line in lines)


def test_a_debugger_stops_at_the_students_line_and_at_no_unwritten_function(at_home):
    """The frames of the grader tell students nothing."""
    printed = at_home("return x.doubled()", "--pdb").stdout
    assert "double()\n-> return x.doubled()\n(Pdb) " in printed
    assert "AttributeError" in printed
    unwritten = at_home("raise NotImplementedError", "--pdb").stdout
    assert "(Pdb)" not in unwritten
    assert "not implemented yet" in unwritten


def test_a_students_own_tests_keep_pytests_traceback(at_home):
    """For their own tests students expect pytest's usual traceback."""
    (at_home.folder / "tests/public/test_mine.py").write_text(
        "def test_mine():\n    assert [1, 2] == [1, 3]\n"
    )
    assert "E       assert [1, 2] == [1, 3]" in at_home("return 2 * x").stdout


REFUSAL = """\
import pytest, torch
from grader.testing import exercise

@exercise("run_double")
def test_refuses(student):
    with pytest.raises(Exception):
        student(torch.ones(1))
"""


def test_a_test_that_expects_an_exception_passes_for_no_unwritten_function(at_home):
    """As in class: the missing answer counts, whatever the test catches."""
    (at_home.folder / "tests/public/test_refusal.py").write_text(REFUSAL)
    printed = at_home("raise NotImplementedError", "-k", "refuses").stdout
    assert "not implemented yet" in printed
    assert "1 passed" not in printed


@pytest.mark.parametrize("package", ["torch", "safetensors"])
def test_a_python_without_a_needed_package_is_reported_in_a_sentence(at_home, tmp_path, package):
    """Students often run the system's pytest instead of the environment's."""
    (tmp_path / "sitecustomize.py").write_text(f"import sys\nsys.modules[{package!r}] = None\n")
    at_home("return 2 * x")
    done = subprocess.run(
        [sys.executable, "-P", "-m", "pytest"],
        cwd=at_home.folder,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert f"{package} is not installed for this Python" in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr


def test_a_line_that_raised_has_its_own_place_beside_that_of_the_line_to_change(at_home):
    """The headline names the line to change."""
    printed = at_home("ones = torch.ones(2, 3)\nkept = x.mT\nreturn x.add(kept * ones)").stdout
    assert "dimension 1 (assignment/__init__.py:5)\n" in printed
    _, at, source, *_ = example(printed, "test_doubles")
    assert (at, source) == ("at assignment/__init__.py:6", "    return x.add(kept * ones)")
