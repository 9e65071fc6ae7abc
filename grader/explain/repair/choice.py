"""Chooses the lines to tell a student, from edits that fix an exercise: up to three, or none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from grader.explain.line_words import proof, subject_in_words, suspicion
from grader.explain.repair.ranking import weight_of
from grader.explain.repair.search import FileEdit, RepairEdit
from grader.explain.repair.sources import EditableSources

# Two lines are told if the weights of their best edits differ by at most this.
_ABOUT_THE_SAME = 0.35
# A heavy edit more often fixes by chance, so a second line may be farther away.
_HEAVY, _FAR = 1.9, 0.6
# If more lines than these have practically equal weights, none is told.
_EQUAL = 0.05
_MOST_EQUAL = 3
# At this weight, about half of the edits that fix an exercise do so by chance.
_UNLIKELY = 2.4
# The kind of edit that drops a condition, and the kinds that change one.
_DROPS = "condition-dropped"
_ASKS = frozenset({"condition", "comparison", "negation-dropped"})
# A heavier edit is not a plain slip: it is held back while exercises on its lines stay wrong.
_PLAIN = 1.3

Line = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Place:
    """A line whose edit `made` fixes an exercise: the part to change, and the changed source."""

    made: FileEdit
    file: str
    line: int
    source: str
    subject: str
    new_source: str


@dataclass(frozen=True, slots=True)
class RepairedExercise:
    """A repair of exercises: in one line, or in one of several, the likeliest first.

    The repair `is_plain` if it is as small as slips are.
    """

    places: tuple[Place, ...]
    exercises: frozenset[str]
    is_plain: bool

    def at(self, place: Place) -> RepairedExercise:
        """Returns the repair by one line alone."""
        return replace(self, places=(place,))

    def in_words(self, named: bool = False, shown: bool = False, is_all: bool = True) -> str:
        """Returns the message with the line, or the lines.

        Without a `named` mistake, the message begins with the part of the line to look at. With
        `shown`, it contains the new text. `is_all` says that the repair was seen to fix every
        failed test of the exercise.
        """
        where = [in_place(place) for place in self.places]
        said = proof(where, [place.source for place in self.places], is_all)
        if shown:
            said += f"\nFor example:\n    {self.places[0].new_source}"
        subjects = [
            subject_in_words(one.subject, one.source, one.new_source) for one in self.places
        ]
        return said if named else f"{suspicion(subjects, where)}\n{said}"


def in_place(place: Place) -> str:
    """Returns the place of a line in the form that editors open: `path:line`."""
    return f"{place.file}:{place.line}"


def chosen(repairs: Sequence[RepairEdit], sources: EditableSources) -> RepairedExercise | None:
    """Returns the repair to tell, or None if no edit is likely or too many are equally likely.

    Only edits that fix their whole exercise and break nothing count. The edits that fix the most
    exercises win, and among these those that fix the most tests of precision. The lightest edit of
    them wins.
    """
    able = [one for one in repairs if one.is_whole]
    if not able:
        return None
    most = max(map(_fixed, able))
    weighed = _weighed([one for one in able if _fixed(one) == most], sources)
    lightest: dict[Line, tuple[float, RepairEdit]] = {}
    for weight, one in weighed:
        lightest.setdefault(_line(one), (weight, one))
    ranked = list(lightest.values())
    lightest_of_all = ranked[0][0]
    equal = sum(weight <= lightest_of_all + _EQUAL for weight, _ in ranked)
    if lightest_of_all > _UNLIKELY or equal > _MOST_EQUAL:
        return None
    limit = lightest_of_all + (_ABOUT_THE_SAME if lightest_of_all < _HEAVY else _FAR)
    told = [one for weight, one in ranked if weight <= limit][: max(2, equal)]
    places = tuple(_place(one.made, sources) for one in told)
    return RepairedExercise(places, told[0].exercises, lightest_of_all <= _PLAIN)


def _fixed(repair: RepairEdit) -> tuple[int, float]:
    return len(repair.exercises), repair.share_with_precision


def _weighed(
    repairs: Sequence[RepairEdit], sources: EditableSources
) -> list[tuple[float, RepairEdit]]:
    """Returns the repairs by weight, the lightest first.

    If dropping a condition also fixes the exercise, negating it only steers calls around the
    fault. An edit that changes such a condition weighs at least as much as one that drops it.
    Lines with `None` are an exception: tests often pass an optional argument always, or never.
    """
    weights = [weight_of(one.made, sources) for one in repairs]
    drops: dict[Line, float] = {}
    for weight, one in zip(weights, repairs, strict=True):
        line = _line(one)
        if one.made.edit.kind == _DROPS and "None" not in sources.line(*line):
            drops[line] = min(weight, drops.get(line, weight))
    found = [
        (max(weight, drops.get(_line(one), 0.0)) if one.made.edit.kind in _ASKS else weight, one)
        for weight, one in zip(weights, repairs, strict=True)
    ]
    return sorted(found, key=lambda pair: pair[0])


def _line(repair: RepairEdit) -> Line:
    return repair.made.file, repair.made.edit.line


def _place(made: FileEdit, sources: EditableSources) -> Place:
    file, edit = made.file, made.edit
    lines = edit.applied(sources.text(file)).split("\n")
    return Place(
        made,
        file,
        edit.line,
        sources.line(file, edit.line),
        edit.subject,
        lines[edit.line - 1].strip() if edit.line <= len(lines) else "",
    )
