"""A pool of jobs, on this machine or on many, and the tasks that it is given."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self

from grader.core.assignment import Settings
from grader.core.explanation import Words
from grader.core.verdict import Carried, Grade, Status, Verdict
from grader.intake.entry import Entry


@dataclass(frozen=True, slots=True)
class Task:
    """A submission that wants a grade: its place in the class, its hash, its cache key.

    `kept` are verdicts that stand from an earlier grade, `carried` what came back in it, `wrong` is
    what went wrong in it; the other tests are wanted. Of a submission whose import was late,
    `late_import` says so: it is not imported again.
    """

    entry: Entry
    position: int
    submission_hash: str
    key: str
    kept: tuple[Verdict, ...] = ()
    carried: tuple[Carried, ...] = ()
    wrong: Mapping[str, Status] | None = None
    late_import: str | None = None


@dataclass(frozen=True, slots=True)
class GradedTask:
    """A task and its grade."""

    task: Task
    grade: Grade


@dataclass(frozen=True, slots=True)
class ExplanationTask:
    """A submission whose grade wants words; the grade is read when it is needed.

    `verdicts` are equal where all tests ended in the same way: a mistake is likely to be the same.
    """

    entry: Entry
    grade: Callable[[], Grade]
    verdicts: bytes = b""


@dataclass(frozen=True, slots=True)
class Explained:
    """A question and the words for it; where there are none, they say why."""

    question: ExplanationTask
    words: Words


class JobPool(Protocol):
    """Jobs that grade one class; a context manager, which ends them however it is left."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None: ...

    def grade(self, tasks: Sequence[Task], /) -> Iterator[GradedTask]:
        """Returns the grade of every task, each once, in the order in which they arrive.

        Raises:
            BadAssignment: if the assignment's tests cannot be run.
        """
        ...

    def explain(self, questions: Sequence[ExplanationTask], /) -> Iterator[Explained]:
        """Returns the words for every question, each once, in the order in which they arrive.

        Raises:
            BadAssignment: if the assignment's tests cannot be run.
        """
        ...


Pools = Callable[[Settings], JobPool]
