"""Grades random programs with its own jobs, and reports which judges ended."""

from __future__ import annotations

import queue
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from grader.core.assignment import Settings
from grader.core.verdict import Grade, GradeStatus
from grader.grading.job.client import JobClient, JobLost
from grader.grading.options import Task
from grader.intake.entry import Entry
from tests.harness.hostile.random_programs import write

ROOT = Path(__file__).parents[3]
_MEMORY_MB = 1024


@dataclass(frozen=True)
class Graded:
    """The grade of one program, or the reason why its judge ended.

    `seconds` is the judge's time and `explaining` the explainer's. `missing` says why there are no
    explanations.
    """

    number: int
    grade: Grade | None
    seconds: float
    problem: str = ""
    explaining: float = 0.0
    missing: str = ""

    @property
    def is_fault(self) -> bool:
        """Returns whether the judge ended or the program was not graded: an error of the grader."""
        return self.grade is None or self.grade.status is GradeStatus.NOT_GRADED


class _Jobs:
    """A judge, and an explainer for its grades."""

    def __init__(self, judge: JobClient, explainer: JobClient) -> None:
        self._judge, self._explainer = judge, explainer

    def graded(self, number: int, place: Path) -> Graded:
        entry, started = Entry(place.name, place), time.monotonic()
        try:
            grade = self._judge.grade(Task(entry, 0, "hash", ""))
        except JobLost as lost:
            return Graded(number, None, time.monotonic() - started, str(lost))
        judged = time.monotonic()
        words = self._explainer.explain(entry, grade)
        return Graded(
            number,
            grade,
            judged - started,
            grade.message or "",
            time.monotonic() - judged,
            words.missing or "",
        )

    def close(self) -> None:
        self._judge.close()
        self._explainer.close()


def graded(
    numbers: Sequence[int],
    jobs: int,
    timeout: float,
    folder: Path,
    exercises: Sequence[str] = (),
) -> Iterator[Graded]:
    """Yields each program graded once; each job has a judge and an explainer."""
    settings = Settings(
        *(str(ROOT), 1, tuple(exercises), "adapters.py", timeout, _MEMORY_MB, "random"),
        explain_seconds=timeout,
    )
    free: queue.LifoQueue[_Jobs] = queue.LifoQueue()
    started = JobClient.several(settings, 2 * jobs, submissions=1)
    pairs = [_Jobs(*both) for both in zip(started[::2], started[1::2], strict=True)]
    for pair in pairs:
        free.put(pair)

    def one(number: int) -> Graded:
        place = write(folder / f"program-{number}", number)
        pair = free.get()
        try:
            return pair.graded(number, place)
        finally:
            free.put(pair)

    try:
        with ThreadPoolExecutor(jobs) as pool:
            yield from pool.map(one, numbers)
    finally:
        for pair in pairs:
            pair.close()
