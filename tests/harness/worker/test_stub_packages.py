"""Absent packages: an unneeded one costs no points, and a needed one is named."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from grader import Grade, batch
from grader.core.verdict import GradeStatus, Status
from grader.results.store import Store

pytestmark = pytest.mark.process

DOUBLE = "def run_double(x):\n    return 2 * x\n"
COUNT = "def run_count(x):\n    return x.numel()\n"

# Code before two right adapters, which do not need it.
HARMLESS = {
    "imports": "import absent_one, absent_two.sub as sub\nfrom absent_three import a, b as c",
    "checked_by_jaxtyping": """
        from beartype import beartype
        from jaxtyping import jaxtyped
        @jaxtyped(typechecker=beartype)
        def helper(x: int) -> int:
            return x
        assert helper(4) == 4
    """,
    "inside_functions": "def unused():\n    import absent_one\n    absent_one.start()",
    "decorators": """
        import absent_one
        @absent_one.jit
        @absent_one.cached(size=3)
        def helper(x):
            return x
        assert helper(4) == 4
    """,
    "patterns_and_loggers": """
        import absent_one
        from absent_two import getLogger
        PATTERN = absent_one.compile(r"a|b", absent_one.I | absent_one.M)
        log = getLogger(__name__)
        log.info("ready")
        assert [*absent_one.names()] == [n for n in absent_one.split(absent_one.key(0))] == []
        TABLE = {absent_one.KEY: absent_one.Options(3).value + 1}
    """,
    "base_classes_and_annotations": """
        from __future__ import annotations
        import torch, absent_one
        from absent_two import Array, Base
        class Model(torch.nn.Module, absent_one.Mixin):
            pass
        class Config(Base):
            size: int = 3
        def helper(x: Array["a b"] | None = None) -> absent_one.Result:
            return isinstance(x, int)
    """,
    "progress": """
        from tqdm import tqdm, trange
        from tqdm.auto import tqdm as bar
        assert [n for n in tqdm([1, 2], desc="x")] == [1, 2]
        with bar(total=3) as progress:
            progress.update(2)
            progress.set_postfix(loss=1)
        assert list(trange(3)) == [0, 1, 2]
    """,
    "logbooks": """
        import wandb
        from loguru import logger
        from torch.utils.tensorboard import SummaryWriter
        run = wandb.init(project="x")
        wandb.log({"loss": 1})
        wandb.config.update({})
        logger.info("hello")
        @logger.catch
        def helper():
            SummaryWriter("runs").add_scalar("loss", 1, 2)
        helper()
    """,
    "runs_and_writers": """
        import wandb
        from torch.utils.tensorboard.writer import SummaryWriter
        assert not wandb.run and not wandb.init(project="x")
        assert not isinstance(1, wandb.Table)
        class Table(wandb.Table):
            def __init__(self, rows):
                super().__init__(rows)
                self.rows = rows
        assert Table([1]).rows == [1]
        wandb.finish()
        def write(writer: SummaryWriter) -> None:
            writer.close()
    """,
    "exceptions": """
        from absent_one import errors
        class OwnError(errors.BaseError, ValueError):
            pass
        def helper():
            try:
                raise OwnError("x")
            except ValueError:
                return 1
        assert helper() == 1
    """,
    "several_bases": """
        from typing import Generic, TypeVar
        import torch, absent_one
        from absent_two import First, Second
        T = TypeVar("T")
        class Estimator(First, Second, table=True):
            def fit(self):
                return self
        class Kept(Generic[T], First[T], torch.nn.Module):
            pass
        class Configured(First):
            def __init__(self, size):
                super().__init__(size=size)
                self.size = size
        assert Estimator().fit() and Kept() and Configured(3).size == 3
    """,
    "versions_and_formats": """
        import absent_one, wandb
        assert tuple(map(int, absent_one.__version__.split("."))) == (0, 0, 0)
        print(f"{absent_one.rate(1):.3f} {wandb.__version__}")
        def helper(run: wandb.sdk.wandb_run.Run | None = None):
            return run
    """,
    "bars_of_every_kind": """
        import tqdm
        from tqdm.std import trange
        assert [*trange(2)] == [*tqdm.tqdm([0, 1])] == [0, 1]
        class Bar(tqdm.tqdm):
            def update_to(self, done, total):
                self.total = total
                self.update(done - self.n)
        bar = Bar(total=3)
        bar.update_to(2, 4)
        assert (bar.n, bar.total, tqdm.tqdm([1, 2]).total) == (2, 4, 2)
    """,
    "provided_for": """
        try:
            import absent_one
            HAS = True
        except ImportError:
            HAS = False
        import importlib.util
        assert not HAS
        assert importlib.util.find_spec("absent_two") is None
    """,
    "halved": """
        import copy, psutil, wandb
        WORKERS = psutil.cpu_count() // 2 % 3 + abs(psutil.cpu_count())
        RUN = copy.deepcopy(wandb.init())
        RUN.log({"loss": 1.0})
    """,
    "sets_in_one_order": """
        import sys
        assert sys.flags.hash_randomization == 0
    """,
    "suppressed": """
        import contextlib
        HAS = False
        with contextlib.suppress(ImportError):
            import absent_one
            HAS = True
        assert not HAS
    """,
    "own_version": """
        import importlib.metadata
        assert importlib.metadata.version("helpers") == "0"
    """,
}
# Uses of an absent package in run_double, with words of the message.
USED = {
    "called": ("import absent_one", "absent_one.double(x)", "No module named 'absent_one'"),
    "imported_late": ("", "__import__('absent_one').double(x)", "absent_one.double is used here"),
    "from_a_pattern": (
        "import absent_one\nP = absent_one.compile('a')",
        "P.findall('a')",
        "neither handed in nor installed, and absent_one.compile.findall is used here",
    ),
    "as_a_base": (
        "import absent_one\nclass Model(absent_one.Base):\n    pass",
        "Model(2)(x)",
        "neither handed in nor installed, and absent_one.Base is used here",
    ),
    "formatted": (
        "import absent_one\nRATE = absent_one.rate",
        "x * float(f'{RATE:.3f}')",
        "neither handed in nor installed, and absent_one.rate is used here",
    ),
    "misspelt_own": ("import helprs", "x", "No module named 'helprs'"),
}


def grades(folder: Path, assignment: Path, programs: Mapping[str, str]) -> Mapping[str, Grade]:
    """Returns the grades of programs, each with its own module `helpers`."""
    for name, program in programs.items():
        submission = folder / "class" / name
        submission.mkdir(parents=True)
        (submission / "adapters.py").write_text(program)
        (submission / "helpers.py").write_text("")
    found: dict[str, Grade] = {}
    batch(
        folder / "class",
        out=folder / "out",
        assignment=assignment,
        seed=3,
        jobs=1,
        on_grade=lambda grade: found.update({grade.submission: grade}),
    )
    explained = {grade.submission: grade for grade in Store.read(folder / "out").grades()}
    return {name: replace(explained[name], imports=grade.imports) for name, grade in found.items()}


@pytest.fixture(scope="module")
def harmless(tmp_path_factory, tiny) -> Mapping[str, Grade]:
    """The grades of programs that import packages they do not need."""
    programs = {
        name: f"{textwrap.dedent(before).strip()}\n\n{DOUBLE}\n{COUNT}"
        for name, before in HARMLESS.items()
    }
    return grades(tmp_path_factory.mktemp("harmless"), tiny, programs)


@pytest.mark.parametrize("name", HARMLESS)
def test_an_unneeded_absent_package_costs_no_points(harmless, name):
    """A program may import an absent package, decorate and compile with it, and log to it."""
    grade = harmless[name]
    assert grade.score == grade.max_score, [test.message for test in grade.tests]


def test_grades_list_the_absent_packages(harmless):
    """The person who installs packages for a course needs the list, harmless ones included."""
    assert harmless["imports"].imports.lacking == ("absent_one", "absent_two", "absent_three")
    assert harmless["provided_for"].imports.lacking == ()
    assert harmless["checked_by_jaxtyping"].imports.lacking == ()


def test_only_the_exercise_that_uses_an_absent_package_fails_and_names_it(tmp_path, tiny):
    """One sentence names the package; the other exercise gets its points."""
    programs = {
        name: f"{before}\n\ndef run_double(x):\n    return {body}\n\n{COUNT}"
        for name, (before, body, _) in USED.items()
    }
    for name, grade in grades(tmp_path, tiny, programs).items():
        wrong = [test for test in grade.tests if test.status is not Status.PASSED]
        assert {test.status for test in wrong} == {Status.ERROR}, name
        assert all(USED[name][2] in (test.message or "") for test in wrong), wrong[0].message
        if name != "misspelt_own":
            assert {test.exercise for test in wrong} == {"run_double"}, name


def test_a_submission_is_unreadable_if_every_adapter_needs_an_absent_module(tmp_path, tiny):
    """A student who forgot to hand in a file reads that once, not in every test."""
    own = "def run_count(x):\n    return count(x)\n"
    programs = {
        "forgot": f"from my_tools import run_double, count\n\n\n{own}",
        "forgot_all": "import my_tools\nfrom my_tools import *\n",
    }
    for name, grade in grades(tmp_path, tiny, programs).items():
        assert grade.status is GradeStatus.UNREADABLE, name
        why = "No module named 'my_tools': neither handed in nor installed"
        assert why in (grade.message or "")
