"""Adds to failed tests what explains them: known mistakes, and lines of the student's code."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from grader.explaining.mending.questions import Asked
from grader.explaining.naming.diagnosis import diagnose, is_right
from grader.explaining.steps.walking import follow
from grader.home.bench import Home
from grader.home.failure import Failure
from grader.home.mending import Patience, mend
from grader.home.mistakes import FrozenMistakes
from grader.testing.exercise import Membership
from grader.testing.observation import Observation, Question


@dataclass(frozen=True, slots=True)
class FailedTest:
    """A test that failed, and what is said of it."""

    id: str
    exercise: str
    failure: Failure

    @property
    def name(self) -> str:
        """Its name without the file's."""
        return self.id.rpartition("::")[2]


class Reasons:
    """Looks for what explains failures, once all tests have run; `is_complete` unless cut short."""

    def __init__(self, root: Path, home: Home) -> None:
        self._root = root
        self._home = home
        self._known = FrozenMistakes(home.cases.module)
        self.is_complete = True

    def note_raised(self, member: Membership, test: str) -> None:
        """Notes the latest call, at which the student's code raised, if a mere value was wanted."""
        call = self._home.calls.latest
        if call is None or not call.is_plain:
            return
        number = sum(one.test == test for one in self._seen.get(member.exercise, ()))
        question = Question(test, number, member.aspect, call)
        if self._is_known(question):
            self._home.unanswered.setdefault(member.exercise, []).append(question)

    def add(self, failed: Sequence[FailedTest], patience: Patience) -> None:
        """Adds mistakes and lines."""
        tests: dict[str, list[str]] = {}
        for one in failed:
            tests.setdefault(one.exercise, []).append(one.id)
        findings = diagnose(self._known, self._seen)
        # The calls are repeated, and what they print was shown already.
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            followed = follow(self._known, self._home.bench.ask, self._seen, tests)
        mending = mend(self._root, self._known, self._asked(failed), patience)
        self.is_complete = mending.is_complete
        told_in: dict[object, str] = {}
        for one in failed:
            failure = one.failure
            failure.shorten(told_in.setdefault(failure.likeness, one.name), one.name)
            finding, way = findings.get(one.exercise), followed.get(one.exercise)
            is_named = finding is not None and one.id in finding.tests
            if finding is not None and is_named:
                diagnosis = finding.diagnosis
                first = told_in.setdefault(diagnosis, one.name)
                is_first = first == one.name
                hint = f"Hint: {diagnosis.hint}" if is_first else f"See {first} for a hint."
                failure.more += [diagnosis.explanation, hint]
            mended = mending.mended.get(one.exercise)
            if mended is not None:
                failure.more.append(mended.in_words(is_named, self._home.shows_edits))
            elif way is not None:
                failure.more += filter(None, [way.in_words(one.id)])

    def _asked(self, failed: Sequence[FailedTest]) -> Mapping[str, Sequence[Asked]]:
        """By exercise, in the assignment's order, the plain calls whose right answer is known."""
        wrong = {one.id for one in failed if not one.failure.raised}
        asked: dict[str, list[Asked]] = {name: [] for name in self._home.exercises}
        for exercise, seen in self._seen.items():
            for one in seen:
                right = is_right(self._known, one)
                if right is not None and (right or one.test in wrong):
                    question = Question(one.test, one.number, one.aspect, one.call)
                    asked.setdefault(exercise, []).append(Asked(exercise, question, right))
        for exercise, questions in self._home.unanswered.items():
            own = asked.setdefault(exercise, [])
            own += [Asked(exercise, question, right=False) for question in questions]
        return asked

    def _is_known(self, question: Question) -> bool:
        nothing = torch.empty(0)
        seen = Observation(question.test, question.number, question.aspect, question.call, nothing)
        return self._known.right(seen) is not None

    @property
    def _seen(self) -> Mapping[str, Sequence[Observation]]:
        return self._home.bench.observations or {}
