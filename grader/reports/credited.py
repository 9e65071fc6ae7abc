"""A grade for those who know one number: what comes back is added to tests' own points."""

from __future__ import annotations

from dataclasses import replace

from grader.core.points import OF_THE_VALUES, hundredths, points_of, shared_out
from grader.core.text import points
from grader.core.verdict import Grade, Verdict


def credited(grade: Grade) -> Grade:
    """Returns the grade with what is carried among the scores; its message says why."""
    said = [
        f"+{points(one.points)} points in {one.exercise}: {one.sentence}" for one in grade.carried
    ]
    message = "\n".join(filter(None, [grade.message, *said])) or None
    tests = credited_tests(grade)
    return replace(grade, tests=tests, score=grade.final, carried=(), message=message)


def credited_tests(grade: Grade) -> tuple[Verdict, ...]:
    """Adds what is carried to the tests of its exercise that lack points.

    None of them says any more that it counts less for the exercise's values.
    """
    tests = list(grade.tests)
    for one in grade.carried:
        places = [
            place
            for place, test in enumerate(tests)
            if test.exercise == one.exercise and test.score < test.max_score
        ]
        lacks = [hundredths(tests[it].max_score) - hundredths(tests[it].score) for it in places]
        back = min(hundredths(one.points), sum(lacks))
        for place, part in zip(places, shared_out(back, lacks) if places else (), strict=True):
            test = tests[place]
            score = points_of(hundredths(test.score) + part)
            tests[place] = test._replace(score=score, message=_without_share(test.message))
    return tuple(tests)


def _without_share(message: str | None) -> str | None:
    lines = (message or "").split("\n")
    return "\n".join(line for line in lines if not line.endswith(OF_THE_VALUES)) or None
