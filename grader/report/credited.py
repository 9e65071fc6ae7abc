"""A grade for those who know one number: what comes back is added to tests' own points."""

from __future__ import annotations

from dataclasses import replace

from grader.points import hundredths, points_of, shared_out
from grader.report.text import points
from grader.verdict import Grade


def credited(grade: Grade) -> Grade:
    """The grade with what is carried among the scores, where tests of its exercise lack points.

    Its message says why.
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
            score = points_of(hundredths(tests[place].score) + part)
            tests[place] = tests[place]._replace(score=score)
    said = [
        f"+{points(one.points)} points in {one.exercise}: {one.sentence}" for one in grade.carried
    ]
    message = "\n".join(filter(None, [grade.message, *said])) or None
    return replace(grade, tests=tuple(tests), score=grade.final, carried=(), message=message)
