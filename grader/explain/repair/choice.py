"""Which of the lines that mend is told: the one, two between which nothing decides, or none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from grader.explain.line_words import proof, subject_in_words, suspicion
from grader.explain.repair.ranking import EditRanking
from grader.explain.repair.search import FileEdit, RepairEdit
from grader.explain.repair.sources import EditableSources

# Each of the lines whose cheapest edits cost about the same may be at fault.
_ABOUT_THE_SAME = 0.5
# A heavy edit more often mends by chance: a second is told sooner.
_HEAVY, _FAR = 1.9, 0.6
# If more lines are as likely as each other, none is told.
_EQUAL = 0.05
_MOST_EQUAL = 2
# An edit as unlikely as this mends by chance as often as not.
_UNLIKELY = 2.4
# The kinds of edit that drop a condition, and those that ask for it otherwise.
_DROPS = "condition-dropped"
_ASKS = frozenset({"condition", "comparison", "branches", "negation-dropped"})
# An edit that is no plain slip must make all right that it could.
_PLAIN = 1.3

Line = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Place:
    """A line that mends: its part to change, and the new text.

    The changed part may go `on` in other lines.
    """

    file: str
    line: int
    source: str
    subject: str
    mended: str
    on: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class RepairedExercise:
    """A repair of exercises: in one line, or in one of two; `makes` holds the edits.

    The repair acts `besides` an edit of an exercise they build on, if that edit alone is not
    enough. The repair `is_plain` if it is as small as slips are. If it mends `answers_only`, calls
    that raised still raise, for another reason.
    """

    places: tuple[Place, ...]
    exercises: frozenset[str]
    makes: tuple[FileEdit, ...]
    is_plain: bool
    besides: FileEdit | None = None
    answers_only: bool = False

    @property
    def made(self) -> FileEdit:
        """Returns the likeliest edit."""
        return self.makes[0]

    def at(self, place: int) -> RepairedExercise:
        """Returns the same at one of its lines only."""
        return replace(self, places=(self.places[place],), makes=(self.makes[place],))

    def in_words(self, named: bool = False, shown: bool = False, is_all: bool = True) -> str:
        """Returns the line, or the two, and the part of them to look at if no mistake is `named`.

        The new text is told if edits are `shown`. Unless the repair `is_all`, it was not seen to
        fix every failed test of the exercise.
        """
        where = [in_place(place) for place in self.places]
        sources = [place.source for place in self.places]
        on = self.places[0].on if len(self.places) == 1 else ()
        said = proof(where, sources, on, self.besides is not None, is_all)
        if shown:
            said += f"\nFor example:\n    {self.places[0].mended}"
        subjects = [subject_in_words(one.subject, one.source, one.mended) for one in self.places]
        return said if named else f"{suspicion(subjects, where)}\n{said}"


def in_place(place: Place) -> str:
    """Returns where a line is, as editors open it."""
    return f"{place.file}:{place.line}"


def chosen(
    mends: Sequence[RepairEdit], sources: EditableSources, adapters: str
) -> RepairedExercise | None:
    """Returns the repair to tell, from edits that make everything right and break nothing.

    Edits that make more exercises right come before others, and likelier edits come next.
    """
    able = [one for one in mends if one.is_whole]
    if not able:
        return None
    most = max(len(one.exercises) for one in able)
    weighed = _weighed([one for one in able if len(one.exercises) == most], sources, adapters)
    lightest: dict[Line, tuple[float, RepairEdit]] = {}
    for weight, one in weighed:
        lightest.setdefault(_line(one), (weight, one))
    ranked = list(lightest.values())
    lightest_of_all = ranked[0][0]
    if lightest_of_all > _UNLIKELY:
        return None
    if sum(weight <= lightest_of_all + _EQUAL for weight, _ in ranked) > _MOST_EQUAL:
        return None
    limit = lightest_of_all + (_ABOUT_THE_SAME if lightest_of_all < _HEAVY else _FAR)
    told = [one for weight, one in ranked if weight <= limit][:2]
    places = tuple(_place(one, sources) for one in told)
    makes = tuple(one.made for one in told)
    return RepairedExercise(places, told[0].exercises, makes, lightest_of_all <= _PLAIN)


def _weighed(
    mends: Sequence[RepairEdit], sources: EditableSources, adapters: str
) -> list[tuple[float, RepairEdit]]:
    """Returns the mends by weight, the lightest first.

    Where a condition is not needed at all, asking its contrary only keeps calls from the fault
    behind it. Such an edit weighs as much as dropping the condition. A condition that asks whether
    something is given is an exception: tests often make calls of one kind only.
    """
    weighing = EditRanking(sources, adapters)
    weights = [weighing.weight(one.made) for one in mends]
    drops: dict[Line, float] = {}
    for weight, one in zip(weights, mends, strict=True):
        line = _line(one)
        if one.made.edit.kind == _DROPS and "None" not in sources.line(*line):
            drops[line] = min(weight, drops.get(line, weight))
    found = [
        (max(weight, drops.get(_line(one), 0.0)) if one.made.edit.kind in _ASKS else weight, one)
        for weight, one in zip(weights, mends, strict=True)
    ]
    return sorted(found, key=lambda pair: pair[0])


def _line(mend: RepairEdit) -> Line:
    return mend.made.file, mend.made.edit.line


def _place(mend: RepairEdit, sources: EditableSources) -> Place:
    file, edit = mend.made.file, mend.made.edit
    return Place(
        file,
        edit.line,
        sources.line(file, edit.line),
        edit.subject,
        _line_of(edit.applied(sources.text(file)), edit.line),
        tuple(sorted({*edit.lines} - {edit.line})),
    )


def _line_of(text: str, number: int) -> str:
    lines = text.split("\n")
    return lines[number - 1].strip() if number <= len(lines) else ""
