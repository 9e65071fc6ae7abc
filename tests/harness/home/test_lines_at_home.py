"""Small edits are also tried at home: the message names the line that alone must change."""

from __future__ import annotations

import shutil
import signal
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from grader.core.wire.calls import Call
from grader.core.wire.trials import TextChange, Trials
from grader.worker.trials import alarm
from grader.worker.trials.trials import Trying
from tests.harness.conftest import TINY, write_files

pytestmark = pytest.mark.process

HERE = "# here"
PUBLIC = {
    "tests/public/test_tiny.py": """
        import pytest
        from grader.testing import assert_matches, exercise

        @exercise("run_double")
        @pytest.mark.parametrize("shape", [(2, 3), (4, 5)], ids=str)
        def test_doubles(student, reference, draw, shape):
            '''Every number is doubled.'''
            x = draw(*shape)
            assert_matches(student(x), reference(x))

        @exercise("run_double", aspect="generality")
        def test_doubles_a_row(student, reference, draw):
            '''Every number of a row is doubled.'''
            x = draw(7)
            assert_matches(student(x), reference(x))

        @exercise("run_count")
        @pytest.mark.parametrize("shape", [(2, 3), (7,), (2, 1), (2, 2, 2, 3)], ids=str)
        def test_counts(student, reference, draw, shape):
            '''The numbers are counted.'''
            x = draw(*shape)
            assert_matches(student(x), reference(x))
        """,
    "tests/hidden/test_tiny.py": "",
}
COUNT = "def count(x):\n    return x.numel()\n"

VALUE = """
def scaled(x, by):
    return x * by

def double(x):
    y = scaled(x, 3)  # here
    return y
"""
EXCEPTION = """
def columns(x):
    return x.shape[0]  # here

def double(x):
    table = torch.full((columns(x),), 2.0)
    return x * table
"""
CACHED = """
TABLES = {}

def table(n):
    if n not in TABLES:
        TABLES[n] = torch.full((n,), 3.0)  # here
    return TABLES[n]

def double(x):
    return x * table(x.shape[-1])
"""
IMPORTED_AGAIN = """
import assignment.parts.scaling

def double(x):
    from assignment.parts.scaling import scaled
    return scaled(x)
"""
SCALING = """
def scaled(x):
    return 3 * x
"""
ENDLESS = """
def double(x):
    n, y = 0, x * 0
    while n < 2:
        y = y + x
        n += 1
    return 1.5 * y  # here
"""
# No small edit makes this program right.
HOPELESS = (
    """
def double(x):
    y = x
"""
    + "".join(f"    y = y * {n}.25 - x / {n}.5 + {n}\n" for n in range(2, 30))
    + "    return y\n"
)
WARNING = """
import warnings

def double(x):
    y = 3 * x  # here
    warnings.warn(f"made {float(y.sum())}")
    return y
"""
INTERRUPTED = """
import signal

def scaled(x, by):
    return x * by

AS_IT_WAS = scaled.__code__

def double(x):
    try:
        if scaled.__code__ is not AS_IT_WAS:
            signal.raise_signal(signal.SIGINT)
    except BaseException:
        pass
    return scaled(x, 3)
"""


@pytest.fixture(scope="module")
def handout(grader, tmp_path_factory) -> Path:
    """The handout of a tiny assignment: it holds fixtures and no solution."""
    assignment = write_files(tmp_path_factory.mktemp("assignment"), TINY | PUBLIC)
    folder = tmp_path_factory.mktemp("handout") / "tiny"
    done = grader("handout", folder, cwd=assignment)
    assert done.returncode == 0, done.stderr
    assert not (folder / "solutions").exists()
    return folder


@pytest.fixture
def at_home(handout, home_pytest, tmp_path) -> Callable[..., str]:
    """A function that returns pytest's output for a student's copy with this program."""
    mine = Path(shutil.copytree(handout, tmp_path / "mine"))

    def run(program: str, *options: str, count: str = COUNT) -> str:
        text = f"import torch\n\n{program}\n{count}"
        (mine / "assignment" / "__init__.py").write_text(text)
        done = home_pytest(mine, *options)
        return done.stdout + done.stderr

    run.folder = mine
    return run


def line_sentence(program: str, said: str = "Changing") -> str:
    """Returns the words that name the marked line."""
    lines = f"import torch\n\n{program}".splitlines()
    (number,) = (n for n, line in enumerate(lines, 1) if HERE in line)
    return f"{said} assignment/__init__.py:{number}"


@pytest.mark.parametrize("program", [VALUE, EXCEPTION, CACHED], ids=["value", "exception", "cache"])
def test_the_line_to_change_is_named(at_home, program):
    """The error may be a wrong value, an exception raised elsewhere, or hidden by a cache."""
    assert line_sentence(program) in at_home(program, "--locate")


def test_a_line_whose_change_breaks_a_passed_test_of_another_exercise_is_not_named(at_home):
    """Two exercises share the constant, and one of them is right with it."""
    shared = (
        "def by(x):\n    return 3  # here\n\ndef double(x):\n    return x * by(x)\n\n"
        "def total(x):\n    own = by(x)\n"
        "    return x.numel() * own // 3 if x.dim() == 4 else x.numel()\n"
    )
    assert line_sentence(shared) in at_home(shared, "--locate")
    printed = at_home(f"{shared}\ncount = total\n", "--locate", count="")
    assert "values in the result are wrong" in printed
    assert line_sentence(shared) not in printed


def test_a_line_that_was_handed_out_is_not_named(at_home):
    """The contract holds the adapters as students got them."""
    for name in ("adapters.py", "tests/contract.py"):
        file = at_home.folder / name
        given = file.read_text()
        file.write_text(given.replace("return assignment.double(x)", "return 3 * x"))
        assert given != file.read_text()
        printed = at_home(VALUE, "--locate")
        assert ("Changing adapters.py:" in printed) is (name == "adapters.py")


def test_a_module_imported_again_during_a_call_is_the_edited_one(at_home):
    """This holds for a module in a folder without `__init__.py`, too."""
    write_files(at_home.folder, {"assignment/parts/scaling.py": SCALING})
    assert "Changing assignment/parts/scaling.py:3 alone" in at_home(IMPORTED_AGAIN, "--locate")


def test_no_edit_is_tried_if_it_could_crash_the_process(at_home):
    """torch's `vmap` crashes for some axes, and pytest's whole report would be lost."""
    printed = at_home("from torch import vmap\n" + VALUE)
    assert "values in the result are wrong" in printed
    assert "`pytest --locate`" not in printed
    assert "fixes all failed tests" not in printed


def test_the_fixed_line_is_shown_if_the_author_allows_it(at_home):
    """The handout carries the author's decision, so it holds at home as well."""
    assert "For example:" not in at_home(VALUE, "--locate")
    project = at_home.folder / "pyproject.toml"
    text = project.read_text()
    project.write_text(text.replace("show_edits = false", "show_edits = true"))
    assert "For example:\n        y = scaled(x, 2)" in at_home(VALUE, "--locate")


def test_a_loop_that_an_edit_makes_endless_is_ended(at_home):
    """The run goes on without a long wait, and later edits are tried."""
    assert line_sentence(ENDLESS) in at_home(ENDLESS, "--locate")


@pytest.mark.slow
def test_a_run_that_skips_edits_suggests_locate(at_home):
    """A run is short unless the student asks for all trials."""
    assert "`pytest --locate`" in at_home(HOPELESS)
    assert "`pytest --locate`" not in at_home(HOPELESS, "--locate")


def test_no_edit_is_tried_when_every_test_passes(at_home):
    """A student whose tests all pass does not wait."""
    (at_home.folder / "conftest.py").write_text(
        "import grader.home.repair\ngrader.home.repair.HomeBench = None\n"
    )
    assert "4 passed" in at_home("def double(x):\n    return x + x\n")


def test_trying_edits_restores_the_state_of_the_process(at_home):
    """The program's state, the generators of torch and `random`, and signal handlers stay."""
    (at_home.folder / "conftest.py").write_text(
        textwrap.dedent("""
        import random, signal, sys
        import pytest, torch

        def state():
            own = {name: one for name, one in sys.modules.items()
                   if name.split(".")[0] in ("adapters", "assignment", "tests")}
            held = {name: dict(vars(one)) for name, one in own.items()}
            tables = {n: t.tolist() for n, t in own["assignment"].TABLES.items()}
            handlers = [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGALRM)]
            drawn = torch.get_rng_state().tolist(), random.getstate()
            return own, held, tables, handlers, drawn, torch.get_num_threads(), sys.stdout

        def pytest_sessionstart(session):
            from grader.home.causes import Reasons
            explain = Reasons.explain

            def looked_at(*arguments):
                before = state()
                explain(*arguments)
                after = state()
                same = [one == other for one, other in zip(before, after)]
                session.same = {*getattr(session, "same", ()), *same}
                session.seen = f"tables {len(before[2])}, the same: {session.same}"

            Reasons.explain = looked_at

        def pytest_terminal_summary(terminalreporter):
            terminalreporter.write_line(terminalreporter._session.seen)
        """)
    )
    program = CACHED.replace("return TABLES", "print('seen')\n    return TABLES")
    printed = at_home(program, "--tb=no", "-p", "no:randomly")
    assert "tables 3, the same: {True}" in printed
    assert "\nseen" not in printed.partition("tables 3")[0]


def test_warnings_of_edited_programs_are_not_shown(at_home):
    """The student did not write those programs."""
    assert at_home(WARNING, "-v", "--locate").count("UserWarning: made") == 3


def test_ctrl_c_stops_the_search_even_if_the_program_catches_it(at_home):
    """The report shows the results so far."""
    printed = at_home(INTERRUPTED)
    assert "`pytest --locate`" in printed
    assert "values in the result are wrong" in printed
    assert "Traceback" not in printed


@pytest.mark.unit
def test_where_there_are_no_timers_a_thread_ends_a_call(tmp_path, monkeypatch):
    """Windows has no timers."""
    monkeypatch.setattr(alarm, "_HAS_TIMERS", False)
    monkeypatch.setattr(alarm, "_SIGNAL", signal.SIGTERM)
    monkeypatch.syspath_prepend(str(tmp_path))
    text = "def double(x):\n    n = 0\n    while n < 3:\n        n += 1\n    return n * x\n"
    (tmp_path / "windowless.py").write_text(text)
    module = __import__("windowless")
    trying = Trying({"run_double": module.double}, tmp_path)
    start, bound = text.index("+= 1"), text.index("< 3")
    edits = [
        {"windowless.py": [TextChange(start, start + 4, "-= 1")]},
        {"windowless.py": [TextChange(bound, bound + 3, "< 2")]},
    ]
    handler = signal.getsignal(signal.SIGTERM)
    outcomes = trying.perform(Trials([Call("run_double", {"x": torch.ones(1)})], 1, edits, 60.0))
    assert outcomes.of(0, 0) is None
    assert outcomes.of(1, 0).item() == 2
    assert signal.getsignal(signal.SIGTERM) is handler
