"""A class of a small course whose batches are run by jobs that a test plays."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from grader.core.assignment import Assignment, Settings, find_assignment
from grader.core.explanation import Told, Words
from grader.core.verdict import Grade, GradeStatus
from grader.grading.batch import Batch, open_batch
from grader.grading.options import Explained, ExplanationTask, GradedTask, Options, Task
from grader.intake.discovery import discover
from grader.intake.entry import Discovery
from grader.results.store import Store
from tests.harness.conftest import RIGHT, write_files
from tests.harness.export_fixtures import a_verdict

DOUBLES, COUNTS = (f"tests/public/test_tiny.py::test_{name}" for name in ("doubles", "counts"))
ROW = "tests/hidden/test_tiny.py::test_counts_a_row"
TESTS = (DOUBLES, COUNTS, ROW)
SEVEN = Options(seed=7)


class Jobs:
    """Jobs that grade and explain at once.

    A submission fails the tests that its source names, and says why as its source does.
    """

    def __init__(self) -> None:
        self.settings: Settings | None = None
        self.tasks: list[Task] = []
        self.questions: list[ExplanationTask] = []
        self.ended = 0
        self.change: Callable[[Grade], Grade] = lambda grade: grade

    def __call__(self, settings: Settings) -> Any:
        self.settings = settings
        return self._running()

    @contextlib.contextmanager
    def _running(self) -> Iterator[Jobs]:
        try:
            yield self
        finally:
            self.ended += 1

    def grade(self, tasks: Any) -> Iterator[GradedTask]:
        for task in tasks:
            self.tasks.append(task)
            yield GradedTask(task, self.change(self._grade(task)))

    def _grade(self, task: Task) -> Grade:
        assert self.settings is not None
        source = (task.entry.path / "adapters.py").read_text()
        tests = tuple(
            a_verdict(
                "run_double" if test == DOUBLES else "run_count",
                0.0 if test.partition("::")[2] in source else 1.0,
                1.0,
                id=test,
                message="wrong" if test.partition("::")[2] in source else None,
            )
            for test in TESTS
        )
        blank = task.ungraded(self.settings, None)
        return dataclasses.replace(blank, status=GradeStatus.GRADED, tests=tests)

    def explain(self, questions: Any) -> Iterator[Explained]:
        for question in questions:
            self.questions.append(question)
            said = Told(f"why {question.entry.name} is wrong")
            yield Explained(question, Words({DOUBLES: said, COUNTS: said}, "a message"))


@dataclasses.dataclass
class Course:
    """An assignment, a class in `submissions` and its results in `out`."""

    folder: Path
    jobs: Jobs = dataclasses.field(default_factory=Jobs)
    wordless: list[str] = dataclasses.field(default_factory=list)

    @property
    def out(self) -> Path:
        return self.folder / "out"

    @property
    def submissions(self) -> Path:
        return self.folder / "class"

    @property
    def assignment(self) -> Assignment:
        return find_assignment(self.folder / "course")

    def hand_in(self, **sources: str) -> None:
        """Writes submissions: comments after the right program, with names of tests to fail."""
        for name, wrong in sources.items():
            write_files(self.submissions / name, {"adapters.py": f"{RIGHT}\n# {wrong}\n"})

    def change(self, part: str, old: str, new: str) -> None:
        """Changes a file of the assignment."""
        file = self.folder / "course" / part
        assert old in file.read_text()
        file.write_text(file.read_text().replace(old, new))

    def batch(
        self,
        options: Options = SEVEN,
        explain: bool = True,
        fresh: bool = False,
        discovery: Discovery | None = None,
    ) -> tuple[Batch, list[Any]]:
        """Runs a batch; returns it, and its results."""
        self.jobs.tasks, self.jobs.questions = [], []
        found = discovery or discover([self.submissions], "adapters.py")
        with open_batch(
            found, [self.submissions], self.out, self.assignment, options, fresh
        ) as batch:
            results = [*batch.results(self.jobs, explain)]
            self.wordless = batch.wordless
            return batch, results

    @property
    def graded(self) -> list[str]:
        """Returns the names of the submissions that the last batch graded."""
        return [task.entry.name for task in self.jobs.tasks]

    @property
    def explained(self) -> list[str]:
        """Returns the names of those that it explained."""
        return [question.entry.name for question in self.jobs.questions]

    def grades(self) -> dict[str, Grade]:
        return {grade.submission: grade for grade in Store.read(self.out).grades()}

    def lines(self) -> dict[str, dict[str, Any]]:
        rows = map(json.loads, (self.out / "results.jsonl").read_text().splitlines())
        return {row["submission"]: row for row in rows}
