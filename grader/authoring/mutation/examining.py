"""What becomes of one edit of a right program: caught, without effect, or missed."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from grader.authoring.mutation.likeness import (
    SAME_ANSWERS,
    SAME_BUT_FOR_ROUNDING,
    SAME_CODE,
    answers,
    answers_exactly,
    how_alike,
    same_code,
)
from grader.authoring.mutation.reach import Reach, Role
from grader.authoring.mutation.solutions import REFERENCES, Functions, RightPrograms
from grader.authoring.verification import Functions as Examinee
from grader.core.verdict import Status
from grader.core.wire.calls import Answer
from grader.explain.rewriting.edit import Edit
from grader.grading.judge.judge import Judge
from grader.testing.suite.suite import Suite

# What an edit may take of a processor: so many times as long as the right program, and the tests.
_TIMES, _LEAST_SECONDS = 20, 5.0


class Fate(StrEnum):
    """What became of an edit."""

    CAUGHT = "caught"
    EQUIVALENT = "equivalent"
    ARGUED = "argued"
    MISSED = "missed"


@dataclass(frozen=True, slots=True)
class Candidate:
    """An edit of a module, and the roles in which the module's functions may change."""

    module: str
    edit: Edit
    roles: tuple[Role, ...]


@dataclass(frozen=True, slots=True)
class MutationOutcome:
    """The fate of an edit, and the test that caught it or why it has no effect."""

    fate: Fate
    why: str


class MutantRunner:
    """Runs edited programs through the tests."""

    def __init__(
        self,
        suite: Suite,
        judge: Judge,
        programs: RightPrograms,
        right: dict[str, Functions],
        reach: Reach,
    ) -> None:
        self._root = suite.assignment.root
        self._judge = judge
        self._programs = programs
        self._right = right
        self._reach = reach
        self._answers: dict[Role, list[Answer]] = {}
        self._took: dict[Role, float] = {}
        for name, functions in right.items():
            for exercise, function in functions.items():
                role = (name, exercise)
                began = time.process_time()
                calls = reach.calls(role)
                self._answers[role] = list(answers(function, calls, self._root, right[REFERENCES]))
                self._took[role] = time.process_time() - began

    def may_take(self, candidate: Candidate) -> float:
        """Seconds of a processor that an edit is examined for: one may make a loop endless."""
        return _LEAST_SECONDS + _TIMES * sum(self._took[role] for role in candidate.roles)

    def examine(self, candidate: Candidate) -> MutationOutcome:
        """What becomes of an edit.

        What a test makes of a program is a function of its answers: where all are as before, there
        is nothing to be run.
        """
        programs, module = self._programs, candidate.module
        code = programs.compiled(module, candidate.edit.applied(programs.source(module)))
        if same_code(code, programs.code(module)):
            return MutationOutcome(Fate.EQUIVALENT, SAME_CODE)
        try:
            edited = programs.load({module: code})
        except (Exception, SystemExit):
            return MutationOutcome(Fate.CAUGHT, "when it is imported")
        if any(exercise not in edited.get(name, ()) for name, exercise in candidate.roles):
            return MutationOutcome(Fate.CAUGHT, "when it is imported")
        different = []
        for role in candidate.roles:
            if not self._answers_as_before(edited, role):
                caught = self._caught_by(edited, role)
                if caught is not None:
                    return MutationOutcome(Fate.CAUGHT, caught)
                different.append(role)
        alike = self._alike(edited, different)
        return MutationOutcome(Fate.MISSED if alike is None else Fate.EQUIVALENT, alike or "")

    def _answers_as_before(self, edited: dict[str, Functions], role: Role) -> bool:
        name, exercise = role
        calls, answers = self._reach.calls(role), self._answers[role]
        function = edited[name][exercise]
        return answers_exactly(function, calls, answers, self._root, self._right[REFERENCES])

    def _caught_by(self, edited: dict[str, Functions], role: Role) -> str | None:
        """The first test that an edited function fails."""
        name, exercise = role
        examinee = Examinee(self._root, edited[name], self._right[REFERENCES])
        for verdict in self._judge.grade(examinee, (exercise,)):
            if verdict.status is not Status.PASSED:
                return verdict.id
        return None

    def _alike(self, edited: dict[str, Functions], roles: Sequence[Role]) -> str | None:
        """In which sense all functions answer as before; None if one does not."""
        found = SAME_ANSWERS
        for role in roles:
            name, exercise = role
            before, after = self._right[name][exercise], edited[name][exercise]
            calls, others = self._reach.calls(role), self._right[REFERENCES]
            alike = how_alike(before, after, calls, self._root, others)
            if alike is None:
                return None
            if alike == SAME_BUT_FOR_ROUNDING:
                found = alike
        return found
