"""A small course and a submission in this process: the explainer explains them without a worker.

The tests are plain functions, and the session is a module that was loaded from the submission's
folder. All else is real: handles, references, known mistakes, edits and their trials.
"""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from grader.core.assignment import Assignment, Settings
from grader.core.explanation import Words
from grader.core.submission import Submission, Unreadable
from grader.core.verdict import Aspect, GradeStatus, Status, Visibility
from grader.core.wire.calls import Answer, Call
from grader.core.wire.trials import Outcomes, Trials
from grader.explain.answers import InFull
from grader.explain.explainer import service
from grader.explain.mistakes.mistakes import KnownMistakes
from grader.explain.rewriting.slips import NO_SLIPS
from grader.intake.entry import Entry
from grader.testing.assertions import assert_matches
from grader.testing.cases import Draw, fresh_case
from grader.testing.contract import Adapter
from grader.testing.exercise import Membership
from grader.testing.handles.bench import Bench
from grader.testing.kinds import PlainType, TensorType
from grader.testing.outcome import StudentFault, running_a_test
from grader.testing.suite import Ended, Suite, Test
from grader.worker.performing import absent, perform
from grader.worker.trials.trials import Trying

FLOATS = TensorType("floating-point", ("...", "n"))
DOUBLE, COUNT = "run_double", "run_count"
ROOT = Path("/course")


def _same(*shapes: tuple[int, ...]) -> Callable[..., None]:
    def test(student: Any, reference: Any, draw: Draw) -> None:
        for shape in shapes:
            x = draw(*shape)
            assert_matches(student(x), reference(x))

    return test


# By id: the exercise, the aspect, whether the test is public, and its body.
TESTS: Mapping[str, tuple[str, Aspect, bool, Callable[..., None]]] = {
    "t::doubles": (DOUBLE, Aspect.VALUES, True, _same((2, 3))),
    "t::doubles_twice": (DOUBLE, Aspect.VALUES, False, _same((3,), (2, 2))),
    "t::doubles_deep": (DOUBLE, Aspect.GENERALITY, False, _same((2, 2, 3))),
    "t::counts": (COUNT, Aspect.VALUES, True, _same((2, 3), (4,))),
}
RIGHT = "def run_double(x):\n    return 2 * x\n\ndef run_count(x):\n    return x.numel()\n"
MISTAKES = SimpleNamespace(
    MISTAKES=(
        SimpleNamespace(
            id="tripled",
            explanation="Every number is tripled.",
            hint="How often is x added?",
            variants={DOUBLE: (lambda x: 3 * x,)},
        ),
    )
)
REFERENCES = {DOUBLE: lambda x: 2 * x, COUNT: lambda x: x.numel()}


class SmallSuite(Suite):
    """A suite of plain functions, which runs them as pytest does."""

    def __init__(self, **settings: Any) -> None:
        aspects = {Aspect.VALUES: 60.0, Aspect.GENERALITY: 40.0}
        super().__init__(
            Assignment(ROOT, "small", {DOUBLE: 4.0, COUNT: 1.0}, aspects, 8.0, {}, **settings)
        )
        self.contract = {
            DOUBLE: Adapter(DOUBLE, {"x": FLOATS}, FLOATS),
            COUNT: Adapter(COUNT, {"x": FLOATS}, PlainType(int)),
        }
        self.references = REFERENCES
        self.tests = {
            name: Test(
                name,
                exercise,
                aspect,
                1.0,
                Visibility.PUBLIC if is_public else Visibility.HIDDEN,
                f"About {name}.",
            )
            for name, (exercise, aspect, is_public, _) in TESTS.items()
        }
        self.ran: list[str] = []

    def run(self, test: str, bench: Bench) -> Ended:
        """Runs a test at a bench, to its first failure."""
        exercise, aspect, is_public, body = TESTS[test]
        self.ran.append(test)
        raised: BaseException | None = None
        try:
            with running_a_test(shows_expected=is_public) as observations:
                case = bench.case_of(test).rewind()
                student = bench.student(Membership(exercise, aspect, 1.0), test)
                body(student, bench.reference(exercise, case), Draw(case))
        except Exception as problem:
            raised = problem
        return Ended(raised, observations)


class _Loaded:
    """A fresh import of a submission, which answers calls and tries edits."""

    seconds = 0.0

    def __init__(self, folder: Path, edits: bool = True) -> None:
        self._edits = edits
        file = folder / "adapters.py"
        module = ModuleType("adapters")
        module.__file__ = str(file)
        # An import would take the bytecode of a file of the same size from the same second.
        exec(compile(file.read_text("utf-8"), file, "exec"), vars(module))
        self._folder = folder
        self._functions = {
            name: value for name, value in vars(module).items() if name.startswith("run_")
        }
        self._trying = Trying(self._functions, folder, [module])

    def ask(self, call: Call, _seconds: float = math.inf) -> Answer:
        """Returns the answer to a call; a function that exits is lost."""
        function = self._functions.get(call.adapter)
        if function is None:
            return absent(call.adapter)
        answer = perform(function, call, self._folder)
        if answer.raised is not None and answer.raised.kind == "SystemExit":
            message = f"{call.adapter}(...) took longer than 8 seconds and was stopped"
            raise StudentFault(Status.TIMEOUT, message)
        return answer

    def try_edits(self, trials: Trials) -> Outcomes:
        """Returns the outcomes of trials; without `edits`, no edit is tried in a search."""
        is_search = len(trials.edits) > 1
        return Outcomes() if is_search and not self._edits else self._trying.perform(trials)


class HereSession(_Loaded):
    """The part of a session that the explainer uses."""

    printed = ""
    spent = 0.0
    problem: StudentFault | None = None

    def __init__(self, folder: Path, edits: bool) -> None:
        super().__init__(folder, edits)
        self.stack_dump = ""
        self.benches = 0

    def open(self) -> StudentFault | None:
        """Returns the fault if the submission cannot be imported."""
        return self.problem

    @contextlib.contextmanager
    def bench(self) -> Iterator[_Loaded]:
        """Provides a fresh import of the submission, in which edits can be tried."""
        self.benches += 1
        yield _Loaded(self._folder, self._edits)


class Course:
    """The explainer's service with the small course, and the session of its last submission.

    Without `edits`, the search for lines finds none, which saves most of the time.
    """

    def __init__(
        self, monkeypatch: Any, folder: Path, edits: bool = False, **settings: Any
    ) -> None:
        self.folder = folder
        self._edits = edits
        self.suite = SmallSuite(**settings)
        self.mistakes = KnownMistakes(REFERENCES, MISTAKES)
        self.session: HereSession | None = None
        self.limits: Any = None
        self.refused = ""
        self.adapt: Callable[[HereSession], None] = lambda _: None
        monkeypatch.setattr(service, "SubmissionPreparation", lambda *_: self)
        chosen = Settings(str(ROOT), 3, (), "adapters.py", 60.0, 512, "suite")
        nothing: Any = None
        self.service = service.ExplainerService(
            self.suite, self.mistakes, NO_SLIPS, chosen, nothing, nothing, folder
        )

    @contextlib.contextmanager
    def prepared(self, _entry: Entry, limits: Any) -> Iterator[Any]:
        """Provides the submission with its session."""
        if self.refused:
            raise Unreadable(self.refused)
        self.limits = limits
        self.session = HereSession(self.folder, self._edits)
        self.adapt(self.session)
        submission = Submission("bob", self.folder, "adapters.py", "adapters")
        self.session.submission = submission
        yield self.session

    def graded(self, program: str) -> dict[str, Status]:
        """Writes a submission, and returns the outcomes that its judge would store."""
        (self.folder / "adapters.py").write_text(program)
        loaded = _Loaded(self.folder)
        found: dict[str, Status] = {}
        for name, test in self.suite.tests.items():
            bench = Bench(
                self.suite.contract,
                loaded.ask,
                REFERENCES,
                functools.partial(fresh_case, 5),
                1,
                InFull(),
            )
            verdict = test.ended(*_both(self.suite.run(name, bench)))
            found[name] = verdict.status
        self.suite.ran.clear()
        return found

    def explain(
        self, statuses: Mapping[str, Status], lost: Mapping[str, str] | None = None, **job: Any
    ) -> list[Words]:
        """Returns the words for the written submission, step by step."""
        asked = {
            "entry": Entry("bob", self.folder).as_json(),
            "status": GradeStatus.GRADED,
            "statuses": dict(statuses),
            "lost": lost or {},
            "remarks": {},
            "message": None,
        }
        return list(self.service.explain(asked | job))

    def words(self, program: str) -> Words:
        """Returns the last words for a submission, as it was graded."""
        return self.explain(self.graded(program))[-1]


def _both(ended: Ended) -> tuple[BaseException | None, Any]:
    return ended.raised, ended.observed
