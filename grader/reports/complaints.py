"""What went wrong in a submission, in a line."""

from __future__ import annotations

from collections.abc import Sequence, Set

from grader.core.causes import Cause
from grader.core.text import first_line, one_line
from grader.core.verdict import Grade, GradeStatus, Status
from grader.reports.account import causes_of, is_of_values, listed

_CAUSES = 3
_FEW_NAMES = 2
_SHORT = 200


def complaints(grade: Grade, found: Sequence[Cause] | None = None) -> str:
    """What went wrong, in sentences: "Your scores are not scaled [no-scale]: run_x, run_y".

    First what makes plain answers wrong, and of that what is at the root. `found` are the causes,
    where they are known already.
    """
    if grade.status is not GradeStatus.GRADED:
        return one_line(first_line(grade.message) or str(grade.status).replace("_", " "), _SHORT)
    found = causes_of(grade.tests) if found is None else found
    if not found:
        if grade.message and grade.score < grade.max_score:
            return one_line(first_line(grade.message), _SHORT)
        return "everything right"
    ranked = sorted(found, key=lambda cause: not is_of_values(cause))
    wrong = {name for cause in found if is_of_values(cause) for name in cause.exercises}
    phrases = [_in_a_phrase(cause, wrong) for cause in ranked[:_CAUSES]]
    if more := len(ranked) - _CAUSES:
        phrases += [f"and {more} more cause{'s' if more > 1 else ''}"] * (more > 0)
    if grade.notes and any(cause.is_absence for cause in found):
        phrases.append(one_line(grade.notes[0], _SHORT))
    return "; ".join(phrases)


def _in_a_phrase(cause: Cause, wrong: Set[str]) -> str:
    """The sentence, with the id beside it, the line, and the exercises.

    Values are right only of exercises that are not among the `wrong` ones for another cause.
    """
    said = one_line(cause.sentence, _SHORT).removesuffix(".")
    if cause.shown.status is Status.MISSING and len(cause.exercises) > 1:
        return said
    if cause.mistake is None and cause.shown.status is Status.FAILED:
        said, _, _ = said.partition(";")  # that so many numbers are wrong, not which is the worst
    if cause.shown.status is Status.NOT_GRADED:
        said = f"not graded: {said}"
    place = f" ({one_line(cause.lines)})" if cause.lines and ";" not in cause.lines else ""
    name = f" [{one_line(cause.id)}]" if cause.id else ""
    exercises = listed(cause.exercises, _FEW_NAMES)
    where = "" if exercises in said else f": {exercises}"
    right = not is_of_values(cause) and wrong.isdisjoint(cause.exercises)
    return f"{said}{place}{name}{where}" + (" (values right)" if right else "")
