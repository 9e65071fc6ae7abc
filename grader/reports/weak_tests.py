"""Which tests tell submissions apart, and which fail for those who are right elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from grader.core.text import one_line
from grader.core.verdict import Grade, GradeStatus, Status, Verdict

# An exercise that is graded by fewer tests which tell submissions apart is weakly graded.
FEW = 2
# So many who are right elsewhere speak against a test.
_SEVERAL = 2
_TRIED = (Status.PASSED, Status.FAILED, Status.ERROR, Status.TIMEOUT, Status.CRASHED)


@dataclass(slots=True)
class ExerciseTests:
    """What the tests of one exercise make of a class.

    `passed` are the outcomes of each test, in the order of the submissions that tried the exercise;
    `only` counts, by test, those that fail it and pass all others.
    """

    name: str
    passed: dict[str, list[bool]] = field(default_factory=dict)
    only: dict[str, int] = field(default_factory=dict)
    tried: int = 0

    def add(self, verdicts: Iterable[Verdict]) -> None:
        """Adds a submission's verdicts; one that has nothing of the exercise tells nothing."""
        verdicts = list(verdicts)
        if not any(one.status in _TRIED for one in verdicts):
            return
        failed = [one.id for one in verdicts if one.status is not Status.PASSED]
        for one in verdicts:
            own = self.passed.setdefault(one.id, [True] * self.tried)
            own.append(one.id not in failed)
        self.tried += 1
        if len(failed) == 1 and len(verdicts) > 1:
            self.only[failed[0]] = self.only.get(failed[0], 0) + 1

    @property
    def telling(self) -> list[str]:
        """The tests that some pass and others fail."""
        return [test for test, own in self.passed.items() if any(own) and not all(own)]

    @property
    def hopeless(self) -> list[str]:
        """The tests that nobody passes, though somebody passes another one."""
        if not any(any(own) for own in self.passed.values()):
            return []
        return [test for test, own in self.passed.items() if not any(own)]


def exercises_of(grades: Iterable[Grade]) -> list[ExerciseTests]:
    """The exercises of a class, in their order; only what was graded says anything."""
    found: dict[str, ExerciseTests] = {}
    for grade in grades:
        if grade.status is not GradeStatus.GRADED:
            continue
        by_exercise: dict[str, list[Verdict]] = {}
        for test in grade.tests:
            by_exercise.setdefault(test.exercise, []).append(test)
        for exercise, verdicts in by_exercise.items():
            found.setdefault(exercise, ExerciseTests(exercise)).add(verdicts)
    return list(found.values())


def in_words(exercises: Iterable[ExerciseTests]) -> Iterator[str]:
    """What speaks against the tests of each exercise; one sentence if nothing does."""
    quiet = True
    for one in exercises:
        found = list(complaints(one))
        if found:
            quiet = False
            yield f"{one_line(one.name)}, tried by {one.tried}:"
            yield from (f"    {complaint}" for complaint in found)
    if quiet:
        yield "Every exercise is graded by several tests that tell submissions apart."


def complaints(one: ExerciseTests) -> Iterator[str]:
    """What speaks against the tests of an exercise."""
    total = len(one.passed)
    wrong = sum(not all(row) for row in zip(*one.passed.values(), strict=True))
    if wrong and one.tried >= _SEVERAL and len(one.telling) < FEW:
        which = ", ".join(map(_short, one.telling)) or "none"
        yield f"of its {total} tests, {which} tells anybody apart"
    for test, count in sorted(one.only.items(), key=lambda pair: -pair[1]):
        if count >= _SEVERAL:
            yield f"{_short(test)} fails for {count} who pass all other tests of the exercise"
    for test in one.hopeless:
        if one.tried >= _SEVERAL and test not in one.only:
            yield f"{_short(test)} is passed by nobody: is it right, and is what it asks for said?"


def _short(test: str) -> str:
    return one_line(test.partition("::")[2] or test, 120)
