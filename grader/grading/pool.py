"""What grades and explains submissions: a pool of jobs, on this machine or on many."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Protocol, Self

from grader.core.settings import Settings
from grader.grading.task import Explained, ExplanationTask, GradedTask, Task


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
        """The grade of every task, each once, in the order in which they arrive.

        Raises:
            BadAssignment: if the assignment's tests cannot be run.
        """
        ...

    def explain(self, questions: Sequence[ExplanationTask], /) -> Iterator[Explained]:
        """The words for every question, each once, in the order in which they arrive.

        Raises:
            BadAssignment: if the assignment's tests cannot be run.
        """
        ...


Pools = Callable[[Settings], JobPool]
