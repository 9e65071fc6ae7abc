"""The options of a batch, the settings that follow, its isolation, and the pool of its jobs."""

from __future__ import annotations

import secrets
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import ClassVar, cast

from grader.core.assignment import Assignment, BadAssignment, Settings
from grader.core.explanation import Words
from grader.core.names import CPU, meant
from grader.core.text import PlainData, Refusal
from grader.core.verdict import Grade, GradeStatus
from grader.grading.fingerprints import suite_hash
from grader.intake.entry import Entry


class NotIsolated(Refusal):
    """A machine that does not grant every layer of isolation; the text says which."""


def require_isolation() -> None:
    """Tries every layer of isolation on this machine.

    Raises:
        NotIsolated: if one does not hold.
    """
    from grader.sandbox.probe import examine_confinement

    examination = examine_confinement(whole=False)
    missing = [layer for layer, reached in examination.isolation.items() if reached == "none"]
    missing += [attempt.what for attempt in examination.attempts if not attempt.ok]
    if missing:
        raise NotIsolated(
            f"isolation is required and does not hold here ({', '.join(missing)}): "
            "see `grader doctor`, or grade without --require-isolation"
        )


# Calls carry random seeds that follow from the batch's: there must be too many to try them all.
# JSON readers keep whole numbers below this one exactly.
SEEDS = 1 << 53


@dataclass(frozen=True, slots=True)
class Options(PlainData):
    """The options that a grade depends on, in addition to the submission and the assignment.

    The fields are those of `Settings`. If `seed` is None, a seed is drawn.
    """

    seed: int | None = None
    exercises: tuple[str, ...] = ()
    adapters: str = "adapters.py"
    timeout: float = 120.0
    memory_mb: int = 2048
    device: str = CPU
    explain_seconds: float = 20.0

    def settings(self, assignment: Assignment) -> Settings:
        """Returns the settings for the judges of an assignment.

        Raises:
            BadAssignment: if an exercise is not one of the assignment's.
        """
        for exercise in self.exercises:
            if exercise not in assignment.points:
                raise BadAssignment(
                    f"{exercise} is not an exercise of {assignment.name}: "
                    f"{meant(exercise, assignment.points)}"
                )
        exercises = tuple(sorted(set(self.exercises)))
        seed = 1 + secrets.randbelow(SEEDS - 1) if self.seed is None else self.seed
        return Settings(
            assignment=str(assignment.root),
            reuses_seed=self.seed is not None,
            suite_hash=suite_hash(assignment, exercises),
            **self.as_json() | {"seed": seed, "exercises": exercises},
        )


def chosen_otherwise(now: Options, earlier: Options) -> list[str]:
    """Returns the differences from earlier options in words; no seed means the earlier seed."""
    compared = {
        "seed": (earlier.seed, earlier.seed if now.seed is None else now.seed),
        "exercises": (_listed(earlier.exercises), _listed(now.exercises)),
        "adapters": (earlier.adapters, now.adapters),
        "timeout": (f"{earlier.timeout:g}", f"{now.timeout:g}"),
        "memory": (earlier.memory_mb, now.memory_mb),
        "device": (earlier.device, now.device),
    }
    return [f"{name}: {then}, now {new}" for name, (then, new) in compared.items() if then != new]


def _listed(exercises: tuple[str, ...]) -> str:
    return " and ".join(sorted(set(exercises))) or "all"


@dataclass(frozen=True, slots=True)
class Task(PlainData):
    """A submission that needs a grade: its place in the class, its hash, its cache key."""

    verdicts: ClassVar[bytes] = b""  # it has none yet
    entry: Entry
    position: int
    submission_hash: str
    key: str

    @property
    def without_people(self) -> Task:
        """Returns the task for a judge, which need not know the submission's people."""
        return replace(self, entry=self.entry.without_people)

    def ungraded(self, settings: Settings, problem: str | None) -> Grade:
        """Returns the grade of a submission that is not graded, for a reason not its own."""
        return Grade(
            submission=self.entry.name,
            status=GradeStatus.NOT_GRADED,
            score=0.0,
            max_score=0.0,
            seed=settings.seed,
            submission_hash=self.submission_hash,
            suite_hash=settings.suite_hash,
            duration_s=0.0,
            message=problem,
            isolation={},
            tests=(),
        )


@dataclass(frozen=True, slots=True)
class GradedTask:
    """A task and its grade."""

    task: Task
    grade: Grade


@dataclass(frozen=True, slots=True)
class ExplanationTask:
    """A submission whose grade needs words; the grade is read when it is needed.

    `verdicts` are equal if all tests ended in the same way: the mistakes are then likely the same.
    """

    entry: Entry
    grade: Callable[[], Grade]
    verdicts: bytes = b""


AnyTask = Task | ExplanationTask


@dataclass(frozen=True, slots=True)
class Explained:
    """An explanation task and its words; if words are missing, these say why."""

    task: ExplanationTask
    words: Words


Result = GradedTask | Explained


class JobPool(AbstractContextManager["JobPool"]):
    """Jobs that grade one class; a context manager, which ends them even after an exception."""

    def grade(self, tasks: Sequence[Task]) -> Iterator[GradedTask]:
        """Returns the grade of every task, each once, in the order in which they arrive.

        Raises:
            BadAssignment: if the assignment's tests cannot be run.
        """
        return cast("Iterator[GradedTask]", self._results(tasks))

    def explain(self, tasks: Sequence[ExplanationTask]) -> Iterator[Explained]:
        """Returns the words for every task, each once, in the order in which they arrive.

        Raises:
            BadAssignment: if the assignment's tests cannot be run.
        """
        return cast("Iterator[Explained]", self._results(tasks))

    @abstractmethod
    def _results(self, tasks: Sequence[AnyTask]) -> Iterator[Result]:
        """Yields the grade or the words of every task."""


Pools = Callable[[Settings], JobPool]
