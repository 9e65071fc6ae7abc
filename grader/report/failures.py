"""What went wrong, each failure once with the tests that it has in common."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from grader.plain_text import plain
from grader.points import total
from grader.report.text import first_line, one_line, points
from grader.verdict import Aspect, Diagnosis, Status, Verdict, Where

_NUMBER = re.compile(r"\[[-\d, ]*\]|\d[\d.,e+-]*")


@dataclass(frozen=True, slots=True)
class Failure:
    """Tests of one exercise that did not pass, all for the same reason; never none."""

    verdicts: tuple[Verdict, ...]

    @property
    def exercise(self) -> str:
        """The exercise that the tests are of."""
        return self.verdicts[0].exercise

    @property
    def status(self) -> Status:
        """How each of the tests ended."""
        return self.verdicts[0].status

    @property
    def message(self) -> str | None:
        """What the first of the tests says; with a diagnosis, the others may say something else."""
        return self.verdicts[0].message

    @property
    def where(self) -> Where | None:
        """The line of the submission that the first of the tests points to."""
        return self.verdicts[0].where

    @property
    def diagnosis(self) -> Diagnosis | None:
        """The known mistake that explains all of the tests."""
        return self.verdicts[0].diagnosis

    @property
    def aspects(self) -> tuple[Aspect, ...]:
        """What the tests look at."""
        return tuple(dict.fromkeys(verdict.aspect for verdict in self.verdicts))

    @property
    def lost(self) -> float:
        """The points that it costs."""
        return total(verdict.max_score - verdict.score for verdict in self.verdicts)

    @property
    def outcome(self) -> str:
        """In a few words, without the exercise: "values: failed (-6 points)"."""
        status = str(self.status).replace("_", " ")
        cost = "" if self.status is Status.NOT_GRADED else f" (-{points(self.lost)} points)"
        return f"{', '.join(map(str, self.aspects))}: {status}{cost}"


def failures(verdicts: Iterable[Verdict]) -> tuple[Failure, ...]:
    """The failures among verdicts, in the order of their first tests."""
    alike: dict[tuple[object, ...], list[Verdict]] = {}
    for verdict in verdicts:
        if verdict.status is not Status.PASSED:
            alike.setdefault(_likeness(verdict), []).append(verdict)
    return tuple(Failure(tuple(group)) for group in alike.values())


def without_numbers(message: str) -> str:
    """A message as it would be with any other numbers, of which each case has its own."""
    return _NUMBER.sub("#", message)


def _likeness(verdict: Verdict) -> tuple[object, ...]:
    """What failures of one kind share: the mistake, the line that raised, or all but numbers."""
    message = without_numbers(first_line(verdict.message))
    if verdict.status is Status.ERROR and verdict.where is not None:
        message = message.partition(":")[0]
    said = verdict.diagnosis or (message, verdict.where)
    return verdict.exercise, verdict.status, said


def account(failure: Failure) -> Iterator[str]:
    """What a student reads of a failure: the message, the place, the mistake and its hint."""
    message, where = failure.message, failure.where
    if message:
        yield plain(message)
    if where and f"{where.file}, line {where.line}" not in (message or ""):
        step = f', where "{one_line(where.step)}" goes astray' if where.step else ""
        yield f"at {one_line(where.file)}, line {where.line}{step}"
    if diagnosis := failure.diagnosis:
        yield f"mistake: {plain(diagnosis.explanation)} [{one_line(diagnosis.mistake)}]"
        yield f"hint: {plain(diagnosis.hint)}"


def follows(failure: Failure, earlier: Iterable[Failure]) -> bool:
    """Whether few words will do: its mistake was told before, or gradients of wrong numbers."""
    if failure.diagnosis is not None:
        told = {one.diagnosis.mistake for one in earlier if one.diagnosis is not None}
        return failure.diagnosis.mistake in told
    only_gradients = failure.aspects == (Aspect.GRADIENTS,)
    return only_gradients and any(one.exercise == failure.exercise for one in earlier)


def brief_account(failure: Failure) -> Iterator[str]:
    """What there is to read of a failure that follows from an earlier one."""
    yield plain(first_line(failure.message))
    if diagnosis := failure.diagnosis:
        yield f"mistake: {plain(diagnosis.explanation)} [{one_line(diagnosis.mistake)}]"
    elif failure.status is Status.FAILED:
        yield "Gradients can be looked at once the results of this exercise are right."


def notes(verdicts: Iterable[Verdict]) -> dict[str, list[Verdict]]:
    """What was remarked on tests that passed, each line for itself, and on which."""
    remarked: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        if verdict.status is Status.PASSED and verdict.message:
            for line in verdict.message.splitlines():
                remarked.setdefault(line, []).append(verdict)
    return remarked
