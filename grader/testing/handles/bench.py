"""The bench, which makes the handles of a test, at home and in the judge."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from grader.core.verdict import Status
from grader.core.wire.calls import Call
from grader.core.wire.value_rows import as_tensor
from grader.core.wire.values import Foreign
from grader.testing.cases import Case, seed_of
from grader.testing.contract import Adapter
from grader.testing.exercise import Membership
from grader.testing.handles.handle import Ask, Reference, Student
from grader.testing.outcome import Observation, StudentFault, Wording

# Answers with more numbers are not kept: no test asks for them.
_NUMBERS = 1 << 16


@dataclass(frozen=True, slots=True)
class Bench:
    """The tools of a test: contract, a way to ask the submission, references, cases and wording.

    The student's functions are called on `device`, unless a test asks for another.

    `observations` collects the submission's answers by exercise, unless it is None. `problem` says
    why the submission's adapters could not be imported at all.
    """

    contract: Mapping[str, Adapter]
    ask: Ask
    references: Mapping[str, Callable[..., Any]]
    case_of: Callable[[str], Case]
    seed: int
    wording: Wording
    problem: StudentFault | None = None
    observations: dict[str, list[Observation]] | None = None
    device: str = "cpu"

    def student(self, member: Membership, test_id: str) -> Student:
        """Returns the handle of the student's function.

        All calls have the same random seed, so that the seed reveals nothing about the test.
        """
        seed = seed_of(self.seed, "call")
        observe = functools.partial(self._observe, member, test_id)
        given = (seed, observe, self.wording, self.device, self.contract)
        return Student(self._adapter(member.exercise), self.ask, *given)

    def reference(self, exercise: str, case: Case) -> Reference:
        """Returns the handle of the reference, whose answers are kept in `case`."""
        return Reference(self._adapter(exercise), self.references, case, self.contract)

    def _observe(
        self, member: Membership, test_id: str, call: Call, result: Any, refused: bool
    ) -> None:
        if self.observations is None:
            return
        if isinstance(result, Foreign) or (
            refused and not isinstance(result, torch.Tensor | int | float)
        ):
            return
        value = as_tensor(result)
        if value.numel() <= _NUMBERS:
            seen = self.observations.setdefault(member.exercise, [])
            earlier = (one.number + 1 for one in reversed(seen) if one.test == test_id)
            number = next(earlier, 0)
            seen.append(Observation(test_id, number, member.aspect, call, value, refused))

    def _adapter(self, exercise: str) -> Adapter:
        if self.problem is not None:
            raise self.problem.again()
        if exercise not in self.contract:
            raise StudentFault(Status.MISSING, f"adapters.py has no function {exercise}")
        return self.contract[exercise]
