"""The bench: where a test's handles come from, at home and in the judge."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from grader.testing.cases import Case, seed_of
from grader.testing.contract import Adapter
from grader.testing.handle import Ask, Reference, Student
from grader.testing.outcome import StudentFault
from grader.verdict import Status


@dataclass(frozen=True, slots=True)
class Bench:
    """What a test needs: the contract, a way to ask the student, the references, the cases.

    `problem` is why the student's adapters could not be imported at all.
    """

    contract: Mapping[str, Adapter]
    ask: Ask
    references: Mapping[str, Callable[..., Any]]
    case_of: Callable[[str], Case]
    seed: int
    problem: StudentFault | None = None

    def student(self, exercise: str, test_id: str) -> Student:
        """The handle of the student's function; its random numbers follow from the test."""
        return Student(self._adapter(exercise), self.ask, seed_of(self.seed, f"call:{test_id}"))

    def reference(self, exercise: str, case: Case) -> Reference:
        """The handle of the reference, whose answers are kept in `case`."""
        return Reference(self._adapter(exercise), self.references.get(exercise), case)

    def _adapter(self, exercise: str) -> Adapter:
        if self.problem is not None:
            raise self.problem.again()
        if exercise not in self.contract:
            raise StudentFault(Status.MISSING, f"adapters.py has no function {exercise}")
        return self.contract[exercise]
