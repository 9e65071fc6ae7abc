"""A grade with all that its pages say of it, worked out once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from grader.core.causes import Cause
from grader.core.text import one_line, points
from grader.core.verdict import Grade, Verdict
from grader.reports.cause_text import causes_of, complaint, phrases
from grader.reports.pages.rendering import page_name
from grader.reports.single import credited_tests
from grader.reports.standing import ExerciseStanding, by_exercise, standing_of
from grader.results.decisions.settlement import Settlement, in_words
from grader.results.decisions.settling import common

_SHORT = 72


@dataclass(frozen=True, slots=True)
class Graded:
    """A grade, the name of its page's file, how it stands in each exercise, what went wrong.

    `complete` says whether every test was judged; `tests` are the verdicts of each exercise, with
    what came back among their scores, as it is in what causes cost. `phrases` say what went wrong,
    `short` the first of it.
    """

    grade: Grade
    page: str
    complete: bool
    tests: Mapping[str, Sequence[Verdict]]
    exercises: Sequence[ExerciseStanding]
    causes: Sequence[Cause]
    phrases: Sequence[str]
    short: str

    @classmethod
    def of(cls, grade: Grade) -> Graded:
        """Returns a grade with all that a page says about it."""
        exercises = [standing_of(of_one) for of_one in by_exercise(grade.tests).values()]
        credited = credited_tests(grade)
        tests, causes = by_exercise(credited), causes_of(credited)
        said, short = phrases(grade, causes), complaint(grade, _SHORT, causes)
        page, is_complete = page_name(grade), grade.is_complete
        return cls(grade, page, is_complete, tests, exercises, causes, said, short)


_LONGEST = 400


@dataclass(frozen=True, slots=True)
class Settled:
    """The headline, whether there is a number in it, and each change and comment.

    `score` of `worth` points is the final one. `differ` says that members get different points:
    what is shown is what they have in common. `counts` is false where another submission was taken
    instead. `exercises` are the points of those whose points were changed.
    """

    score: str
    worth: str
    machine: str
    changes: tuple[str, ...] = ()
    comments: tuple[str, ...] = ()
    excused: bool = False
    differ: bool = False
    counts: bool = True
    exercises: Mapping[str, str] = field(default_factory=dict)


def settled_in_words(settled: tuple[Settlement, ...]) -> Settled:
    """Returns the settlement that the people of a submission have in common, in words."""
    own = common(settled)
    if own is None:
        return Settled("", "", "", counts=False)
    return Settled(
        score="" if own.final is None else points(own.final),
        worth=points(own.worth / 100),
        machine="" if own.machine is None else points(own.machine / 100),
        changes=tuple(one_line(in_words(change), _LONGEST) for change in own.changes),
        comments=tuple(one_line(comment, 2000) for comment in own.comments),
        excused=own.excused,
        exercises={
            name: points(each.final / 100)
            for name, each in own.exercises.items()
            if each.final != each.machine and len(settled) == 1
        },
        differ=len({(one.final, one.excused) for one in settled}) > 1,
    )
