"""A tiny assignment for the engine's tests, and fixtures that start expensive things once."""

from __future__ import annotations

import dataclasses
import gc
import os
import shutil
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from filelock import FileLock
from playwright.sync_api import Browser

from grader.core.assignment import Settings
from grader.core.processes import processors
from grader.core.verdict import Grade, Verdict
from grader.intake.entry import Entry
from tests.harness.grading_jobs import GradingJob
from tests.harness.marks import KINDS, Budget, Marks
from tests.harness.pages_browser import chromium_executable, running_chromium
from tests.harness.waiting import PATIENCE
from tests.harness.warm import Warm

ROOT = Path(__file__).parents[2]
# The longest files come first, so that no processor waits for another one at the end.
LONGEST = (
    *("test_hostile.py", "test_corpus.py", "test_cluster.py", "test_verification.py"),
    *("test_language_model_verified.py", "test_language_model.py"),
    *("test_other_machines.py", "test_explaining.py", "test_docs.py", "test_second_assignment.py"),
    "test_left_behind.py",
    *("test_example_class.py", "test_batch.py", "test_judging.py", "test_no_work.py"),
    *("test_ci_run.py", "test_gradescope_zip.py", "test_cache_by_test.py", "test_new.py"),
)
MOST_PROCESSES = 4
# This folder is an assignment of its own.
collect_ignore = ["kinds_of_values"]

TINY = {
    "pyproject.toml": """
        [tool.grader]
        name = "tiny"
        call_timeout = 2
        [tool.grader.exercises]
        run_double = 4
        run_count = 1
        [tool.pytest.ini_options]
        testpaths = ["tests/public"]
        pythonpath = ["."]
        addopts = "--import-mode=importlib"
        """,
    "adapters.py": """
        from beartype import beartype
        from jaxtyping import Float, jaxtyped
        from torch import Tensor

        import assignment

        @jaxtyped(typechecker=beartype)
        def run_double(x: Float[Tensor, "... n"]) -> Float[Tensor, "... n"]:
            return assignment.double(x)

        @jaxtyped(typechecker=beartype)
        def run_count(x: Float[Tensor, "... n"]) -> int:
            return assignment.count(x)
        """,
    "assignment/__init__.py": """
        def double(x):
            raise NotImplementedError("double is not written yet")

        def count(x):
            raise NotImplementedError("count is not written yet")
        """,
    "solutions/__init__.py": """
        def run_double(x):
            return 2 * x

        def run_count(x):
            return x.numel()
        """,
    "solutions/mistakes.py": """
        from dataclasses import dataclass

        @dataclass(frozen=True)
        class Mistake:
            id: str
            explanation: str
            hint: str
            variants: dict

        MISTAKES = (
            Mistake("tripled", "Every number is tripled.", "How often is x added?",
                    {"run_double": (lambda x: 3 * x, lambda x: 4 * x)}),
            Mistake("shifted", "Two is added to every number.", "Is two a factor or a term?",
                    {"run_double": (lambda x: x + 2,)}),
            Mistake("moved", "Two is added to every number, elsewhere.", "Where does two go?",
                    {"run_double": (lambda x: x + 2 + (x.ndim == 3),)}),
            Mistake("zeroed", "Every number is zero.", "What is twice a number?",
                    {"run_double": (lambda x: 0 * x,), "run_count": (lambda x: 0,)}),
            Mistake("nothing-counted", "Nothing is counted.", "What is there to count?",
                    {"run_count": (lambda x: 0,)}),
            Mistake("rows-counted", "Only the rows are counted.", "What about the columns?",
                    {"run_count": (lambda x: x.shape[0],), "run_double": (lambda x: 5 * x,)}),
        )

        def combined(one, other):
            if (one.id, other.id) == ("tripled", "rows-counted"):
                return {"run_double": (lambda x: 7 * x,)}
            return {}
        """,
    "tests/conftest.py": """
        pytest_plugins = ["grader.testing.plugin"]
        """,
    "tests/public/test_tiny.py": """
        import torch
        from grader.testing import assert_matches, exercise

        @exercise("run_double")
        def test_doubles(student, reference, draw):
            '''Every number is doubled.'''
            x = draw(2, 3)
            assert_matches(student(x), reference(x))

        @exercise("run_count")
        def test_counts(student, reference, draw):
            '''The numbers are counted.'''
            x = draw(2, 3)
            assert_matches(student(x), reference(x))
        """,
    "tests/hidden/test_tiny.py": """
        import pytest
        import torch
        from grader.testing import (
            aspect,
            assert_gradients_match,
            assert_inputs_unchanged,
            assert_matches,
            assert_runs_on_another_device,
            assert_same_answer_twice,
            assert_work_does_not_grow,
            exercise,
        )

        @exercise("run_double", aspect="generality")
        @pytest.mark.parametrize(
            "shape", [pytest.param((4,), marks=aspect("values")), (2, 2, 5)], ids=str
        )
        def test_doubles_any_shape(student, reference, draw, shape):
            '''Every number is doubled, whatever the shape.'''
            x = draw(*shape)
            assert_matches(student(x), reference(x))

        @exercise("run_count")
        def test_counts_a_row(student, reference, draw):
            '''Also a row is counted.'''
            x = draw(7)
            assert_matches(student(x), reference(x))

        @exercise("run_double", aspect="gradients")
        def test_gradient(student, reference, draw):
            '''A gradient reaches x.'''
            x, cotangent = draw(3), draw(3)
            assert_gradients_match(student, reference, cotangent, wrt=("x",), x=x)

        @exercise("run_double", aspect="discipline")
        def test_leaves_its_input_alone(student, draw):
            '''The caller's tensor stays as it was.'''
            assert_inputs_unchanged(student, draw(3))

        @exercise("run_double", aspect="discipline")
        def test_is_the_same_twice(student, draw):
            '''Two equal calls have equal results.'''
            assert_same_answer_twice(student, draw(3))

        @exercise("run_double", aspect="discipline")
        def test_other_strides(student, reference, draw):
            '''The input may be a transposed or expanded view.'''
            x = draw(3, 1).expand(3, 4).transpose(0, 1)
            assert_matches(student(x), reference(x))

        @exercise("run_double", aspect="discipline")
        def test_another_device(student, draw):
            '''The result is where the input is.'''
            assert_runs_on_another_device(student, draw(3))

        @exercise("run_double", aspect="efficiency")
        def test_work(student, reference, draw):
            '''No Python loop over the numbers.'''
            assert_work_does_not_grow(student, reference, {"x": draw(4)}, {"x": draw(64)})
        """,
}

# A shell makes its background programs, and all their children, ignore Ctrl-C.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

RIGHT = """
def run_double(x):
    return x + x

def run_count(x):
    return x.numel()
"""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the options for kinds of tests and for a sweep's budget."""
    parser.addoption("--kind", action="append", choices=KINDS, help="tests of this kind")
    parser.addoption("--budget", type=float, help="seconds after which no test is begun")


def pytest_configure(config: pytest.Config) -> None:
    """Registers the plugin for marks, and the one for a sweep's budget."""
    config.pluginmanager.register(Marks())
    if (seconds := config.getoption("--budget")) is not None:
        # All processes of a run have the same draw, so that they collect in one order.
        draw = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
        config.pluginmanager.register(Budget(seconds, draw))


def pytest_xdist_auto_num_workers() -> int:
    """Returns two more than the processors, because tests wait at times.

    Each process needs a gigabyte of memory.
    """
    return min(processors() + 2, MOST_PROCESSES)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sorts the longest files to the front, and leaves the order of the others."""
    rank = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: rank.get(item.path.name, len(rank)))


def write_files(folder: Path, files: Mapping[str, str]) -> Path:
    """Writes files (dedented) below a folder."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
    return folder


@pytest.fixture(scope="module", autouse=True)
def _few_objects() -> None:
    """Hides the objects that exist from the garbage collector, as a fork server does.

    Otherwise each search through all objects, the tests' own and the engine's, takes half a second.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an assignment with two exercises that has nothing to do with attention."""
    return write_files(tmp_path_factory.mktemp("tiny"), TINY)


@dataclasses.dataclass(frozen=True, slots=True)
class Graded:
    """A grade, whose verdicts are found by the tests' names."""

    grade: Grade

    def __getitem__(self, test: str) -> Verdict:
        (verdict,) = [v for v in self.grade.tests if v.id.partition("::")[2] == test]
        return verdict

    def statuses(self, exercise: str) -> set[str]:
        """Returns the statuses of an exercise's tests."""
        return {str(v.status) for v in self.grade.tests if v.exercise == exercise}


@pytest.fixture(scope="session")
def hasty(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny assignment with calls of at most one second, so that endless ones end soon."""
    folder = Path(shutil.copytree(tiny, tmp_path_factory.mktemp("hasty") / "tiny"))
    settings = folder / "pyproject.toml"
    settings.write_text(settings.read_text().replace("call_timeout = 2", "call_timeout = 1"))
    return folder


@pytest.fixture(scope="session")
def judge(hasty: Path) -> Iterator[GradingJob]:
    """A judge of the hasty assignment, with 3 seconds and 512 MB per submission."""
    settings = Settings(str(hasty), 1, (), "adapters.py", 3.0, 512, "suite")
    client = GradingJob(settings)
    yield client
    client.close()


@pytest.fixture
def grade(judge: GradingJob, tmp_path: Path) -> Callable[..., Graded]:
    """A function that grades a submission from the text of its adapters and further files."""

    def grade_submission(adapters: str = RIGHT, **files: str) -> Graded:
        folder = tmp_path / "submission"
        named = {name.replace("__", "/").replace("_py", ".py"): t for name, t in files.items()}
        write_files(folder, {"adapters.py": adapters, **named})
        return Graded(judge.grade(Entry("submission", folder), "hash"))

    return grade_submission


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all processes of a run of pytest share."""
    own = tmp_path_factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own


@pytest.fixture(scope="session", autouse=True)
def warm(shared_folder: Path) -> Warm:
    """The templates from which commands, jobs and zygotes are forked; the first use starts them."""
    owner = os.getppid() if "PYTEST_XDIST_WORKER" in os.environ else os.getpid()
    templates = Warm(shared_folder / "warm", owner)
    templates.serve_this_process()
    return templates


Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def attention_handout(grader: Run, shared_folder: Path) -> Path:
    """The handout of the attention assignment, for copying; all processes of a run share it."""
    folder = shared_folder / "attention"
    sys.audit("tests.forked", "grader handout")
    with FileLock(f"{folder}.lock"):
        if not folder.exists():
            done = grader("handout", folder)
            assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="session")
def grader(warm: Warm) -> Run:
    """A function that runs the command `grader` in a folder and returns its output.

    One judge grades a class of two or three, unless a test says otherwise, because starting another
    judge takes longer. Explanations get enough time even on a busy machine.
    """

    def run(*arguments: object, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
        pooled = arguments[0] in ("batch", "explain") if arguments else False
        alone = pooled and not {"--jobs", "--scheduler"} & {*arguments}
        explains = arguments[0] in ("batch", "run") if arguments else False
        patient = explains and "--explain-timeout" not in arguments
        added = [
            *(["--jobs", 1] if alone else []),
            *(["--explain-timeout", PATIENCE] if patient else []),
        ]
        return warm.run(["-m", "grader", *arguments, *added], cwd, os.environ)

    return run


@pytest.fixture(scope="session")
def home_pytest(warm: Warm) -> Run:
    """A function that runs `pytest` in a student's folder, without the engine of this checkout.

    The terminal is so wide that it breaks no sentence.
    """
    without = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    without |= {"COLUMNS": "999"}

    def run(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        command = ("-P", "-m", "pytest", "-p", "no:cacheprovider", *arguments)
        return warm.run(command, folder, without | environment)

    return run


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """The machine's browser, for a module that opens pages."""
    executable = chromium_executable()
    if executable is None:
        pytest.skip("no chromium is installed: pages are not opened (apt-get install chromium)")
    with running_chromium(executable) as browser:
        yield browser
