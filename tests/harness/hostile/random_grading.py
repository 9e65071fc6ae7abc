"""Grades random programs with judges of their own, and says which of these ended."""

from __future__ import annotations

import queue
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from grader.dispatch.judge_client import JudgeClient, JudgeLost
from grader.intake import Entry
from grader.settings import Settings
from grader.verdict import Grade, GradeStatus
from tests.harness.hostile.random_programs import write

ROOT = Path(__file__).parents[3]
_MEMORY_MB = 1024


@dataclass(frozen=True)
class Graded:
    """What became of one program: its grade, or why its judge ended."""

    number: int
    grade: Grade | None
    seconds: float
    problem: str = ""

    @property
    def is_fault(self) -> bool:
        """Whether a judge ended, or something was not graded: the grader's own fault."""
        return self.grade is None or self.grade.status is GradeStatus.NOT_GRADED


def graded(
    numbers: Sequence[int],
    jobs: int,
    timeout: float,
    folder: Path,
    exercises: Sequence[str] = (),
) -> Iterator[Graded]:
    """The programs of some numbers, each once, with a judge for each job."""
    settings = Settings(
        str(ROOT), 1, tuple(exercises), "adapters.py", timeout, _MEMORY_MB, "random"
    )
    free: queue.LifoQueue[JudgeClient] = queue.LifoQueue()
    judges = [JudgeClient(settings) for _ in range(jobs)]
    for judge in judges:
        free.put(judge)

    def one(number: int) -> Graded:
        place = write(folder / f"program-{number}", number)
        judge = free.get()
        started = time.monotonic()
        try:
            grade = judge.grade(Entry(place.name, place), "hash")
        except JudgeLost as lost:
            return Graded(number, None, time.monotonic() - started, str(lost))
        finally:
            free.put(judge)
        return Graded(number, grade, time.monotonic() - started, grade.message or "")

    try:
        with ThreadPoolExecutor(jobs) as pool:
            yield from pool.map(one, numbers)
    finally:
        for judge in judges:
            judge.close()
