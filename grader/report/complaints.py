"""What went wrong most often in a submission, in a few words."""

from __future__ import annotations

from collections.abc import Sequence

from grader.report.standing import ExerciseStanding, Standing, standings
from grader.report.text import first_line, one_line
from grader.verdict import Grade, GradeStatus, Verdict

_KINDS = 3
_NAMES = 3
_LONGEST = 200
_NOT_FOUND = ("FileNotFoundError", "ImportError", "ModuleNotFoundError", "NameError")


def complaints(grade: Grade, exercises: Sequence[ExerciseStanding] | None = None) -> str:
    """What went wrong, the commonest first: "wrong values: run_rope; missing: 5 exercises".

    `exercises` are the grade's standings, where they are known already.
    """
    exercises = standings(grade) if exercises is None else exercises
    unsound = [each for each in exercises if each.standing is not Standing.FULL]
    if grade.status is not GradeStatus.GRADED:
        return one_line(first_line(grade.message) or str(grade.status).replace("_", " "), _LONGEST)
    if not unsound:
        if grade.message and grade.score < grade.max_score:
            return one_line(first_line(grade.message), _LONGEST)
        return "everything right"
    groups: dict[str, list[ExerciseStanding]] = {}
    for each in unsound:
        groups.setdefault(kind_of(each), []).append(each)
    ranked = sorted(groups.items(), key=lambda group: _rank(group[1]))
    phrases = [_phrase(kind, group, len(exercises)) for kind, group in ranked[:_KINDS]]
    rest = sum(len(group) for _, group in ranked[_KINDS:])
    if rest:
        phrases.append(f"and {rest} other exercise{'s' if rest > 1 else ''}")
    if grade.notes and any(map(_may_be_absent, unsound)):
        phrases.append(one_line(grade.notes[0], _LONGEST))
    return "; ".join(phrases)


def _may_be_absent(exercise: ExerciseStanding) -> bool:
    """Whether the cause may be what was left out of the submission, or a cell that raised."""
    if exercise.standing is Standing.MISSING:
        return True
    telling = exercise.telling
    return telling is not None and (telling.message or "").startswith(_NOT_FOUND)


def _rank(group: Sequence[ExerciseStanding]) -> tuple[int, bool]:
    """The commonest first; among equals, what is wrong before what is nearly right."""
    return -len(group), group[0].standing is Standing.PARTIAL


def kind_of(exercise: ExerciseStanding) -> str:
    """What an exercise has in common with others that went wrong in the same way."""
    telling = exercise.telling
    if exercise.standing is Standing.ERROR and telling is not None:
        return _error(telling)
    if exercise.standing is Standing.FAILED and telling is not None and telling.diagnosis:
        return one_line(telling.diagnosis.mistake)
    if exercise.standing is Standing.PARTIAL:
        # The first aspect alone: a line for each combination would hide what they share.
        return f"values right, {exercise.lacking[0]} not yet"
    return exercise.words


def _error(verdict: Verdict) -> str:
    """What was raised, without the place: the same slip at two lines is one kind."""
    message, where = first_line(verdict.message), verdict.where
    if where is not None:
        message, _, _ = message.partition(f" ({where.file}, line {where.line}")
    return one_line(f"error {message}")


def _phrase(kind: str, group: Sequence[ExerciseStanding], of: int) -> str:
    names = [one_line(each.exercise) for each in group]
    if len(group) == of > _NAMES:
        listed = f"all {of} exercises"
    elif len(group) > _NAMES and group[0].standing is Standing.MISSING:
        listed = f"{len(group)} exercises"
    else:
        more = len(names) - _NAMES
        listed = ", ".join(names[:_NAMES]) + (f" and {more} more" if more > 0 else "")
    return f"{listed}: {kind}" if group[0].standing is Standing.ERROR else f"{kind}: {listed}"
