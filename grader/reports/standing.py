"""The standing of a submission in each exercise, and the text of each cause of failed tests."""

from __future__ import annotations

import enum
import re
import textwrap
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace

from grader.core.causes import Cause, FailedTest, causes, has_place
from grader.core.names import several
from grader.core.points import OF_THE_VALUES, WITH_VALUES, Gate, hundredths, points_of, total
from grader.core.text import (
    enumerated,
    first_line,
    one_line,
    plain,
    points,
    quantity,
    titled,
    unstopped,
)
from grader.core.verdict import Aspect, Carried, Grade, GradeStatus, Status, Verdict, by_exercise

OUR_FAULT = "by a fault of the machine, the tests or the grader"
_LONGEST, _LONGEST_TITLE = 300, 500
_NAMES = 8


def causes_of(verdicts: Iterable[Verdict], carried: Iterable[Carried] = ()) -> tuple[Cause, ...]:
    """Returns the causes of failed tests by the order of exercises; missing exercises come last.

    An exercise that got full marks by `carried` points fails for the mistakes of its roots only:
    failures without an explanation belong to the causes of the roots.

    Wrong values reduce the points of an exercise's other tests. The cause of the wrong values is
    charged with these points, but not with those that a forbidden call costs.
    """
    judged, failed, lessened = list(verdicts), [], Counter[str]()
    gates: dict[str, Gate] = defaultdict(Gate)
    for verdict in judged:
        passed, worth = verdict.status is Status.PASSED, hundredths(verdict.max_score)
        if verdict.aspect is Aspect.VALUES:
            right = worth if passed else hundredths(verdict.score)
            gates[verdict.exercise].add_values(right, worth, passed)
        if not passed:
            failed.append(FailedTest.of(verdict))
        elif OF_THE_VALUES in (verdict.message or ""):
            lessened[verdict.exercise] += worth
    for place, test in enumerate(failed):
        if test.aspect is Aspect.VALUES and (whole := lessened.pop(test.exercise, 0)):
            more = points_of(whole - gates[test.exercise].counted_of(whole))
            failed[place] = replace(test, lost=total((test.lost, more)))
    short = {verdict.exercise for verdict in judged if verdict.score < verdict.max_score}
    builds_on = {one.exercise: (one.root,) for one in carried if one.exercise not in short}
    return causes(failed, [verdict.exercise for verdict in judged], builds_on)


def title(cause: Cause, longest: int = _LONGEST_TITLE) -> str:
    """Returns the exercise and the fault, followed by the id of the mistake."""
    said = one_line(cause.title, longest)
    if cause.shown.status is Status.NOT_GRADED:
        said = f"not graded, which costs no points: {said}"
    return f"{said} [{one_line(cause.id)}]" if cause.id else said


def paragraph(cause: Cause, longest: int = _LONGEST_TITLE) -> Iterator[str]:
    """Yields the text below a cause's title of `longest` characters: hint, line and message."""
    if cause.hint:
        yield f"Hint: {plain(cause.hint)}" if cause.mistake else plain(cause.hint)
    below = message_below(cause, longest)
    places = [f"{file}:{line}" for file, line in cause.shown.places]
    begins_with_source = below.startswith("    ")
    if cause.lines and (begins_with_source or not any(has_place(below, place) for place in places)):
        yield f"at {one_line(cause.lines, _LONGEST)}"
    if below:
        yield plain(below)


def message_below(cause: Cause, longest: int = _LONGEST_TITLE) -> str:
    """Returns the shown test's message.

    Its first line is left out if the title, of `longest` characters, says it in full.
    """
    message = cause.shown.message
    if cause.mistake is None and len(cause.title) <= longest:
        message = message.partition("\n")[2]
        message = f"at {cause.other_place}\n{message}" if cause.other_place else message
    return message


def extent(cause: Cause) -> str:
    """Returns the tests that a cause fails, the root's first.

    For example: "13 tests of run_x; also fails run_y: 97 tests". If the root shows no known
    mistake, the first other exercise with one follows, with its explanation.
    """
    if cause.shown.status is Status.MISSING:
        return f"{several([*cause.exercises], shown=_NAMES)}: {quantity(len(cause.tests), 'test')}"
    root, *others = cause.exercises
    own = sum(test.exercise == root for test in cause.tests)
    said = f"{quantity(own, 'test')} of {one_line(root)}"
    if not others:
        return said
    others_of = quantity(len(cause.tests) - own, "test")
    said += f"; also fails {several(others, shown=_NAMES)}: {others_of}"
    for name in others if cause.mistake is None else ():
        if (mistake := cause.mistake_of(name)) is not None:
            return f"{said}; in {one_line(name)}: {one_line(mistake.explanation, _LONGEST)}"
    return said


def cost(cause: Cause, scale: float = 1.0) -> str:
    """Returns the points that a cause costs, in parentheses; "" if it costs none."""
    lost = points(cause.lost * scale)
    several = len({test.exercise for test in cause.tests if test.lost})
    if lost == "0" or cause.shown.status is Status.NOT_GRADED:
        return ""
    return f"(-{lost} points in {several} exercises)" if several > 1 else f"(-{lost} points)"


def is_of_values(cause: Cause) -> bool:
    """Returns whether a cause fails a test of values, the aspect that counts most."""
    return any(test.aspect is Aspect.VALUES for test in cause.tests)


_CAUSES = 3
_FEW_NAMES = 2
_SHORT = 200
_RIGHT = "everything right"


def complaints(grade: Grade, found: Sequence[Cause] | None = None) -> str:
    """Returns the faults in words: "run_x, run_y: your scores are not scaled [no-scale]"."""
    return "; ".join(phrases(grade, found))


def phrases(grade: Grade, found: Sequence[Cause] | None) -> list[str]:
    """Returns a phrase for each of the first causes, and the number of other causes.

    Causes of wrong values come first, and among these the causes at the root. `found` are the
    causes, if the caller knows them already.
    """
    if grade.status is not GradeStatus.GRADED:
        return [one_line(first_line(grade.message) or str(grade.status).replace("_", " "), _SHORT)]
    found = causes_of(grade.tests) if found is None else found
    if not found:
        if grade.message and grade.score < grade.max_score:
            return [one_line(first_line(grade.message), _SHORT)]
        remarked = len(notes(grade.tests))
        return [f"every test passed, see the note{'s' * (remarked > 1)}"] if remarked else [_RIGHT]
    wrong = {name for cause in found if is_of_values(cause) for name in cause.exercises}
    said = [_in_a_phrase(cause, wrong) for cause in _ranked(found)[:_CAUSES]]
    if (more := len(found) - _CAUSES) > 0:
        said.append(f"and {quantity(more, 'more cause')}")
    if grade.notes and any(cause.is_absence for cause in found):
        said.append(one_line(grade.notes[0], _SHORT))
    return said


def complaint(grade: Grade, longest: int, found: Sequence[Cause] | None = None) -> str:
    """Returns the first cause in at most `longest` characters, and the number of other causes."""
    if grade.status is not GradeStatus.GRADED:
        found = ()
    found = causes_of(grade.tests) if found is None else found
    if not found:
        return one_line(complaints(grade, found), longest)
    rest = f" (+{len(found) - 1} more)" if len(found) > 1 else ""
    room, first = longest - len(rest), _ranked(found)[0]
    # If a long name leaves too little room, the sentence without the name says more.
    is_roomy = 2 * len(first.exercises[0]) <= room or len(first.title) <= room
    return one_line(first.title if is_roomy else first.sentence, room) + rest


def _ranked(found: Sequence[Cause]) -> list[Cause]:
    return sorted(found, key=lambda cause: not is_of_values(cause))


def _in_a_phrase(cause: Cause, wrong: Set[str]) -> str:
    """Returns a cause's exercises and sentence, followed by its line and its mistake's id.

    Adds "(values passed)" only if the exercises' values are not `wrong` by another cause.
    """
    said = unstopped(one_line(cause.sentence, _SHORT))
    if cause.shown.status is Status.MISSING and len(cause.exercises) > 1:
        return said
    if cause.mistake is None and cause.shown.status is Status.FAILED:
        said, _, _ = said.partition(";")  # keeps the number of wrong values, drops the worst one
    if cause.shown.status is Status.NOT_GRADED:
        said = f"not graded: {said}"
    is_told = not cause.lines or cause.lines in said or ";" in cause.lines
    place = "" if is_told else f" ({one_line(cause.lines)})"
    name = f" [{one_line(cause.id)}]" if cause.id else ""
    exercises = several([*cause.exercises], shown=_FEW_NAMES)
    right = not is_of_values(cause) and wrong.isdisjoint(cause.exercises)
    said = titled("" if exercises in said else exercises, said)
    return f"{said}{place}{name}" + (" (values passed)" if right else "")


def notes(verdicts: Iterable[Verdict]) -> dict[str, list[Verdict]]:
    """Returns each line of the remarks on passed tests, with the verdicts that have the line."""
    remarked: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        if verdict.status is Status.PASSED and verdict.message:
            for line in verdict.message.splitlines():
                remarked.setdefault(line, []).append(verdict)
    return remarked


def notes_in_short(verdicts: Iterable[Verdict]) -> dict[str, list[Verdict]]:
    """Returns the notes, with one note on wrong values in place of one for each test."""
    found = notes(verdicts)
    told = {note: noted for note, noted in found.items() if not note.endswith(OF_THE_VALUES)}
    return told if len(told) == len(found) else {**told, WITH_VALUES: []}


class Standing(enum.StrEnum):
    """The outcome of an exercise; if its values are wrong, the commonest outcome of their tests."""

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
    """The standing of one submission in an exercise.

    `lacking` are the aspects with a failed test, in the order of `Aspect`. `telling` is the verdict
    that explains the standing best, or None if every test passed. `passed` of `tests` tests passed.
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
        """Returns the standing as people say it: "values passed; generality failed"."""
        if self.standing is Standing.PARTIAL:
            return f"values passed; {enumerated(self.lacking)} failed"
        if self.standing is Standing.FULL and self.score < self.max_score:
            return "right, but uses what is forbidden"
        return _WORDS[self.standing]


def standings(grade: Grade) -> tuple[ExerciseStanding, ...]:
    """Returns the standing in each exercise, in the order of the tests."""
    return tuple(standing_of(tests) for tests in by_exercise(grade.tests).values())


def standing_of(tests: Sequence[Verdict]) -> ExerciseStanding:
    """Returns the standing in an exercise, given its verdicts; needs at least one."""
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
    return next((verdict for verdict in verdicts if verdict.diagnosis), verdicts[0])


_CAUSES_TOLD = 5
_LONGEST_TOLD = 1500


def feedback(verdicts: Sequence[Verdict], found: Sequence[Cause], scale: float = 1.0) -> str:
    """Returns an exercise's causes, its standing and its notes, as plain text.

    A platform's points are those of the assignment times `scale`.

    `found` are the causes of all exercises; a cause with its root in another exercise is only
    named. The text names no test. It shows no value that a hidden test expects, because messages
    of hidden tests contain none.
    """
    standing = standing_of(verdicts)
    if standing.standing is Standing.MISSING:
        return shortened(plain(verdicts[0].message or standing.words))
    own = [cause for cause in found if standing.exercise in cause.exercises]
    parts = [_told(cause, standing.exercise, scale) for cause in own[:_CAUSES_TOLD]]
    if len(own) > _CAUSES_TOLD:
        parts.append(f"and {len(own) - _CAUSES_TOLD} more causes")
    # The cause says it all where an earlier exercise has it, unless some points are earned here.
    is_whole = standing.score in (0, standing.max_score)
    is_told = (
        bool(own) and is_whole and all(cause.exercises[0] != standing.exercise for cause in own)
    )
    if not is_told:
        parts.append(f"{standing.words}; {standing.passed} of {standing.tests} tests passed")
    for note in notes(verdicts):
        said = shortened(plain(note))
        if not note.endswith(OF_THE_VALUES):
            parts.append(f"note: {said}")
        elif not is_told:
            share = note.removesuffix(OF_THE_VALUES).split()[-1]
            parts.append(f"note: {WITH_VALUES.removesuffix('.')}: here {share}.")
    return "\n\n".join(parts)


def shortened(text: str, longest: int = _LONGEST_TOLD) -> str:
    """Returns the text, cut off after `longest` characters."""
    return text if len(text) <= longest else f"{text[:longest].rstrip()}…"


def fenced(text: str) -> str:
    """Returns Markdown with the text as a code block, whatever backquotes it holds."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}"


def _told(cause: Cause, exercise: str, scale: float) -> str:
    root = cause.exercises[0]
    if root != exercise:
        # A line may be told for the root alone: a change there leaves this exercise wrong.
        is_shared = any(
            cause.shown.places == t.places for t in cause.tests if t.exercise == exercise
        )
        place = f" ({one_line(cause.lines)})" if cause.lines and is_shared else ""
        own = cause.mistake_of(exercise) if cause.mistake is None else None
        named = [f"{plain(own.explanation)} [{one_line(own.mistake)}]"] if own else []
        told = [title(cause), *named, f"The same cause as in {one_line(root)}{place}: see there."]
        return "\n  ".join(told)
    fails = f"{extent(cause)} {cost(cause, scale)}".rstrip()
    below = "\n".join(map(shortened, [*paragraph(cause), fails]))
    return f"{title(cause)}\n{textwrap.indent(below, '  ')}"
