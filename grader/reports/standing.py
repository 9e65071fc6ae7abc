"""How a submission stands in each exercise, and what its student reads of it."""

from __future__ import annotations

import enum
import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from grader.core.causes import Cause
from grader.core.points import total
from grader.core.text import one_line, plain
from grader.core.verdict import Aspect, Grade, Status, Verdict
from grader.reports.cause_text import cost, extent, notes, paragraph, title


class Standing(enum.StrEnum):
    """How an exercise is done; where its values are not right, what most of their tests met."""

    FULL = "full"
    PARTIAL = "partial"
    FAILED = "failed"
    ERROR = "error"
    TIMEOUT = "timeout"
    CRASHED = "crashed"
    MISSING = "missing"
    NOT_GRADED = "not_graded"


_WORDS = {
    Standing.FULL: "right",
    Standing.FAILED: "wrong results",
    Standing.ERROR: "error",
    Standing.TIMEOUT: "no answer in time",
    Standing.CRASHED: "crashed",
    Standing.MISSING: "missing",
    Standing.NOT_GRADED: "not graded",
}


@dataclass(frozen=True, slots=True)
class ExerciseStanding:
    """An exercise of one submission.

    `lacking` are the aspects with a test that did not pass, in the order of `Aspect`; `telling` is
    the verdict that explains the standing best, none if every test passed; `passed` of `tests`
    tests passed.
    """

    exercise: str
    standing: Standing
    score: float
    max_score: float
    passed: int
    tests: int
    lacking: tuple[Aspect, ...] = ()
    telling: Verdict | None = None

    @property
    def words(self) -> str:
        """Returns the standing as people say it: "values right, generality not yet"."""
        if self.standing is Standing.PARTIAL:
            # "values right, a and b not yet" would be read as if a were right as well.
            mark = "," if len(self.lacking) == 1 else ";"
            return f"values right{mark} {enumerated(self.lacking)} not yet"
        return _WORDS[self.standing]


def standings(grade: Grade) -> tuple[ExerciseStanding, ...]:
    """Returns how the submission stands in each exercise, in the order of the tests."""
    return tuple(standing_of(tests) for tests in by_exercise(grade.tests).values())


def by_exercise(verdicts: Iterable[Verdict]) -> dict[str, list[Verdict]]:
    """Returns the verdicts of each exercise, in the order of the tests."""
    found: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        found.setdefault(verdict.exercise, []).append(verdict)
    return found


def enumerated(names: Sequence[str]) -> str:
    """Returns the names as in a sentence: "a, b and c"."""
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def standing_of(tests: Sequence[Verdict]) -> ExerciseStanding:
    """Returns how an exercise stands whose verdicts, at least one, are given."""
    wrong = [test for test in tests if test.status is not Status.PASSED]
    standing, telling = _outcome(tests, wrong)
    lacking = {test.aspect for test in wrong}
    return ExerciseStanding(
        exercise=tests[0].exercise,
        standing=standing,
        score=total(test.score for test in tests),
        max_score=total(test.max_score for test in tests),
        passed=len(tests) - len(wrong),
        tests=len(tests),
        lacking=tuple(aspect for aspect in Aspect if aspect in lacking),
        telling=telling,
    )


def _outcome(tests: Sequence[Verdict], wrong: Sequence[Verdict]) -> tuple[Standing, Verdict | None]:
    if not wrong:
        return Standing.FULL, None
    for verdict in wrong:
        if verdict.status is Status.NOT_GRADED:
            return Standing.NOT_GRADED, verdict
    wrong_values = [verdict for verdict in wrong if verdict.aspect is Aspect.VALUES]
    if not wrong_values and any(verdict.aspect is Aspect.VALUES for verdict in tests):
        return Standing.PARTIAL, _telling(wrong)
    decisive = wrong_values or wrong
    (commonest, _), *_ = Counter(verdict.status for verdict in decisive).most_common(1)
    same = [verdict for verdict in decisive if verdict.status is commonest]
    return Standing(commonest.value), _telling(same)


def _telling(verdicts: Sequence[Verdict]) -> Verdict:
    """Returns the first verdict with a diagnosis, or else the first."""
    return next((verdict for verdict in verdicts if verdict.diagnosis), verdicts[0])


_CAUSES = 5
_LONGEST = 1500


def feedback(verdicts: Sequence[Verdict], found: Sequence[Cause]) -> str:
    """Returns why an exercise is not right, how it stands, and remarks, as plain text.

    `found` are the causes of all exercises: one that is told of an earlier exercise is only named.
    It names no test and shows nothing that a hidden one expects: the messages of those do not.
    """
    standing = standing_of(verdicts)
    if standing.standing is Standing.MISSING:
        return shortened(plain(verdicts[0].message or standing.words))
    own = [cause for cause in found if standing.exercise in cause.exercises]
    parts = [_told(cause, standing.exercise) for cause in own[:_CAUSES]]
    if len(own) > _CAUSES:
        parts.append(f"and {len(own) - _CAUSES} more that went wrong in other ways")
    parts.append(f"{standing.words}; {standing.passed} of {standing.tests} tests passed")
    parts += [f"note: {shortened(plain(note))}" for note in notes(verdicts)]
    return "\n\n".join(parts)


def shortened(text: str, longest: int = _LONGEST) -> str:
    """Returns the text, cut off after `longest` characters."""
    return text if len(text) <= longest else f"{text[:longest].rstrip()}…"


def _told(cause: Cause, exercise: str) -> str:
    root = cause.exercises[0]
    if root != exercise:
        place = f" ({one_line(cause.lines)})" if cause.lines else ""
        own = cause.mistake_of(exercise) if cause.mistake is None else None
        named = [f"{plain(own.explanation)} [{one_line(own.mistake)}]"] if own else []
        told = [title(cause), *named, f"The same cause as in {one_line(root)}{place}: see there."]
        return "\n  ".join(told)
    fails = f"{extent(cause)} {cost(cause)}".rstrip()
    below = "\n".join(map(shortened, [*paragraph(cause), fails]))
    return f"{title(cause)}\n{textwrap.indent(below, '  ')}"
