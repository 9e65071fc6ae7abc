"""The judge's service: what a grade holds beside its verdicts, with workers that a test plays."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from grader.core.assignment import BadAssignment, Settings
from grader.core.submission import Imports
from grader.core.text import read
from grader.core.verdict import Grade, GradeStatus, Status, Verdict
from grader.core.wire.calls import Answer, Call, Frame, Raised, Use
from grader.grading.judge import service as services
from grader.grading.judge.service import JudgeService, memory_bound
from grader.grading.options import Task
from grader.intake.entry import Entry
from grader.sandbox.claims import Uses
from grader.sandbox.fork_server import ForkServerLost
from grader.sandbox.session import SessionLimits
from grader.testing.cases import SEED
from grader.testing.outcome import StudentFault
from grader.testing.suite import Suite
from tests.harness.conftest import TINY, write_files
from tests.harness.opened_suites import Answers, opened

pytestmark = pytest.mark.unit

RIGHT = {"run_double": lambda x: 2 * x, "run_count": lambda x: x.numel()}
PUBLIC = {
    "tests/public/test_it.py": """
        from grader.testing import assert_matches, exercise

        @exercise("run_double")
        def test_doubles(student, reference, draw):
            '''Every number is doubled.'''
            x = draw(2)
            assert_matches(student(x), reference(x))

        @exercise("run_count")
        def test_counts(student, reference, draw):
            '''The numbers are counted.'''
            x = draw(2)
            assert_matches(student(x), reference(x))
            assert not hasattr(student, "breaks")
        """
}
COURSE = {
    name: TINY[name]
    for name in ("adapters.py", "solutions/__init__.py", "solutions/mistakes.py")
} | {"tests/conftest.py": TINY["tests/conftest.py"], **PUBLIC} | {
    "pyproject.toml": TINY["pyproject.toml"].replace(
        "[tool.grader.exercises]", '[tool.grader.forbidden]\n"torch.add" = 50\n'
        "[tool.grader.exercises]"
    )
}  # fmt: skip
DOUBLES, COUNTS = (f"tests/public/test_it.py::test_{name}" for name in ("doubles", "counts"))
ALICE = Entry("alice", Path("class/alice"))


@dataclasses.dataclass
class Environment:
    """Stands for what the submission's modules lack."""

    lacking: tuple[str, ...] = ()
    leaves_nothing: bool = False
    absence: str = "it needs a package that is not there"

    def leaves_nothing_of(self, tests: tuple[Verdict, ...]) -> bool:
        assert tests
        return self.leaves_nothing

    def spared(self, tests: tuple[Verdict, ...], cell_errors: Any) -> tuple[Verdict, ...]:
        return tests if not cell_errors else tests[::-1]


class Session(Answers):
    """A session whose functions run in this process."""

    def __init__(self, functions: Mapping[str, Callable[..., Any]] = RIGHT, **fields: Any) -> None:
        super().__init__({**functions})
        self.isolation = {"filesystem": "landlock"}
        self.cell_errors: tuple[Raised, ...] = ()
        self.not_run: tuple[str, ...] = ()
        self.problem: StudentFault | None = None
        self.charged: list[float] = []
        vars(self).update(fields)

    def open(self) -> StudentFault | None:
        return self.problem

    def ask(self, call: Call, familiar: set[bytes]) -> Answer:  # noqa: ARG002
        return self(call)

    def charge(self, seconds: float) -> None:
        self.charged.append(seconds)


class Servers:
    """Stands for the fork servers; `lost` is how often they are lost before they are ready."""

    def __init__(self, lost: int = 0) -> None:
        self.lost = lost
        self.waited = 0
        self.not_preloaded = {"scipy": "it is not installed"}

    def current(self) -> Servers:
        return self

    def wait_until_ready(self) -> None:
        self.waited += 1
        if self.waited <= self.lost:
            raise ForkServerLost("it did not start")


@pytest.fixture(scope="module")
def course(tmp_path_factory) -> Path:
    """A course of two exercises, which forbids a name."""
    return write_files(tmp_path_factory.mktemp("course"), COURSE)


@pytest.fixture(autouse=True)
def collector(monkeypatch) -> list[str]:
    """The calls of the garbage collector, which must not freeze what this process holds."""
    calls: list[str] = []
    names = ("collect", "freeze")
    own = {name: lambda name=name: calls.append(name) for name in names}
    monkeypatch.setattr(services, "gc", SimpleNamespace(**own))
    return calls


@dataclasses.dataclass
class Graded:
    """A grade, the lines that the service sent before it, and the session."""

    grade: Grade
    said: list[dict[str, Any]]
    session: Session


@pytest.fixture
def graded(course, tmp_path) -> Callable[..., Graded]:
    """A function that grades a submission with this session, environment and uses."""

    def grade(
        session: Session | None = None,
        environment: Environment | None = None,
        called: tuple[Use, ...] = (),
        follow: bool = False,
        grades: int = 1,
        **task: Any,
    ) -> Graded:
        own = session or Session()
        (tmp_path / "adapters.py").write_text("")
        uses = Uses(("torch.add",), tmp_path)
        uses.note_call("run_double", called)
        own.submission = SimpleNamespace(notes=("a link was left out",))
        own.uses, own.environment = uses, environment or Environment()
        said: list[dict[str, Any]] = []

        @contextlib.contextmanager
        def taken(entry: Entry, _limits: Any) -> Iterator[Any]:
            assert entry == ALICE
            yield own

        def serve(suite: Suite) -> Grade:
            service = a_service(suite, said.append)
            service._preparation = SimpleNamespace(prepared=taken)
            job = {"follow": follow} | Task(ALICE, 0, "hash", "", **task).as_json()
            return [service.grade(job) for _ in range(grades)][-1]

        return Graded(opened(course, serve), said, own)

    return grade


def a_service(suite: Suite, say: Any = print, seed: int = 7, servers: Any = None) -> JudgeService:
    """Returns the service of a judge."""
    settings = Settings(str(suite.assignment.root), seed, (), "adapters.py", 1.0, 64, "suite")
    own = servers or Servers()
    return JudgeService(suite, settings, own, None, Path(), say)


def in_short(grade: Grade) -> dict[str, Status]:
    return {test.id: test.status for test in grade.tests}


PASSED, FAILED = Status.PASSED, Status.FAILED


def test_a_grade_holds_all_that_was_observed(graded):
    """It holds what the session and the fork server told as well."""
    found = graded()
    grade = found.grade
    assert (grade.submission, grade.status, grade.message) == ("alice", GradeStatus.GRADED, None)
    assert (grade.score, grade.max_score, grade.seed) == (5.0, 5.0, 7)
    assert (grade.submission_hash, grade.suite_hash) == ("hash", "suite")
    assert grade.isolation == {"filesystem": "landlock"}
    assert grade.imports == Imports((), {"scipy": "it is not installed"})
    assert grade.notes == ("a link was left out",)
    assert grade.duration_s > 0
    assert found.said == []
    assert len(found.session.charged) == 2


def test_verdicts_are_sent_as_they_are_reached_if_the_coordinator_asks(graded):
    found = graded(follow=True)
    assert [read(Verdict, line["verdict"]).id for line in found.said] == [DOUBLES, COUNTS]


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (Status.ERROR, GradeStatus.UNREADABLE),
        (Status.TIMEOUT, GradeStatus.UNREADABLE),
        (Status.NOT_GRADED, GradeStatus.NOT_GRADED),
    ],
)
def test_a_submission_that_cannot_be_imported_is_not_asked(graded, status, expected):
    """Its notes tell what was not run, which may be why."""
    problem = StudentFault(status, "NameError: name 'x' is not defined")
    found = graded(Session(problem=problem, not_run=("!pip install x", "%cd")))
    assert (found.grade.status, found.grade.message) == (expected, problem.message)
    assert in_short(found.grade) == dict.fromkeys((DOUBLES, COUNTS), status)
    assert found.grade.notes == (
        "a link was left out",
        "Not run while it is graded: !pip install x, %cd.",
    )
    assert found.grade.isolation == {"filesystem": "landlock"}
    assert found.session.calls == []


def test_a_submission_without_a_package_that_all_its_code_needs_is_unreadable(graded):
    missing = Environment(("scipy",), leaves_nothing=True)
    found = graded(environment=missing)
    assert (found.grade.status, found.grade.message) == (GradeStatus.UNREADABLE, missing.absence)
    assert in_short(found.grade) == dict.fromkeys((DOUBLES, COUNTS), Status.ERROR)
    assert (found.grade.score, found.grade.imports.lacking) == (0.0, ("scipy",))


def test_a_test_that_was_not_graded_leaves_the_submission_not_graded(graded):
    """The message is that test's, and no rule about points is applied."""
    answers = RIGHT | {"run_double": lambda x: 3 * x}
    lost = StudentFault(Status.NOT_GRADED, "this machine has no room")

    class Lost(Session):
        def ask(self, call: Any, familiar: Any) -> Any:
            if call.adapter == "run_count":
                raise lost
            return super().ask(call, familiar)

    use = Use("torch.add", "adapters.py", 5)
    found = graded(Lost(answers), called=(use,))
    assert found.grade.status is GradeStatus.NOT_GRADED
    assert found.grade.message == "this machine has no room"
    assert in_short(found.grade) == {DOUBLES: FAILED, COUNTS: Status.NOT_GRADED}
    assert "torch.add" not in (found.grade.tests[0].message or "")


def test_forbidden_calls_cost_points_and_are_told(graded):
    found = graded(called=(Use("torch.add", "adapters.py", 5),))
    assert [test.score for test in found.grade.tests] == [2.0, 1.0]
    assert found.grade.score == 3.0
    assert (found.grade.message or "").startswith("it uses torch.add (adapters.py:5)")


@pytest.mark.parametrize(
    ("raised", "said"),
    [
        (Raised("ValueError", ""), "A cell of the notebook raised ValueError."),
        (
            Raised("ValueError", "no", (Frame("a", 1, "f", "x"), Frame("nb/cell 2", 3, "g", "y"))),
            "A cell of the notebook raised ValueError: no (nb/cell 2:3: y).",
        ),
    ],
)
def test_cells_that_raised_are_noted(graded, raised, said):
    """Their names may also be what later cells miss."""
    found = graded(Session(cell_errors=(raised,), not_run=("%cd",)))
    assert found.grade.notes[1:] == (said, "Not run while it is graded: %cd.")
    assert [*in_short(found.grade)] == [COUNTS, DOUBLES], "spared with the errors of cells"


# --- Starting -----------------------------------------------------------------------------------


def test_a_judge_warms_up_before_the_first_submission(course, monkeypatch):
    """A fork server that is lost meanwhile is reported by the first submission."""

    def serve(suite: Suite) -> None:
        for servers in (Servers(), Servers(lost=1)):
            a_service(suite, servers=servers).prepare()
            assert servers.waited == 1
        with pytest.raises(BadAssignment, match=f"the seed {SEED} draws the tests that students"):
            a_service(suite, seed=SEED).prepare()

        def refuse(*_: object) -> None:
            raise BadAssignment("no such device")

        monkeypatch.setattr(services, "require_device", refuse)
        with pytest.raises(BadAssignment, match="no such device"):
            a_service(suite).prepare()

    opened(course, serve)


def test_the_limits_of_a_submission_follow_from_the_settings(course):
    """A call may take its seconds several times over on a busy machine."""

    def serve(suite: Suite) -> None:
        limits = a_service(suite)._limits
        assert limits == SessionLimits(1.0, 2.0, 6.0, 64 << 20, "cpu")

    opened(course, serve)
    settings = Settings("course", 7, (), "adapters.py", 1.0, 64, "suite")
    assert memory_bound(settings) == (64 + 512) << 20


def test_later_submissions_do_not_look_for_cycles_in_the_tests(graded, collector):
    """After the first two, the tests and references stay out of the garbage collector."""
    graded(grades=4)
    assert collector == ["collect", "freeze"] * 2
