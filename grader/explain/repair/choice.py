"""Chooses the lines to tell a student, from edits that fix an exercise: up to three, or none.

Several edits often fix one program, and the source tells them apart. A slip leaves odd code: a
name that is never used, or two names in an unusual order. Undoing the slip leaves ordinary code.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from grader.core.names import is_adapter
from grader.core.text import enumerated
from grader.explain.line_words import proof, subject_in_words, suspicion
from grader.explain.repair.search import FileEdit, RepairEdit
from grader.explain.repair.sources import EditableSources
from grader.explain.rewriting.program.source import Function, bound_in
from grader.explain.rewriting.program.vocabulary import Vocabulary

# Two lines are told if the weights of their best edits differ by at most this.
_ABOUT_THE_SAME = 0.2
# If more lines than these have practically equal weights, none is told.
_EQUAL = 0.05
_MOST_EQUAL = 3
# The edits of one line, of which the first that proves it is told.
_MOST_OF_A_LINE = 3
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
    """A line whose edit `made` fixes an exercise: the part to change, and the changed source.

    `also` are the lines that change together with it, each with its source before and after.
    `others` are heavier edits of the line that fix the exercise too.
    """

    made: FileEdit
    file: str
    line: int
    source: str
    subject: str
    new_source: str
    also: Mapping[int, tuple[str, str]] = field(default_factory=dict, hash=False)
    others: tuple[Place, ...] = ()

    @property
    def sources(self) -> Sequence[tuple[str, str]]:
        """Returns the source of each line that changes, before and after."""
        return [(self.source, self.new_source), *self.also.values()]


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
        sources = ["\n    ".join(old for old, _ in one.sources) for one in self.places]
        said = proof(where, sources, is_all, bool(self.places[0].also))
        if shown:
            said += "\n    ".join(["\nFor example:", *(new for _, new in self.places[0].sources)])
        subjects = [
            subject_in_words(one.subject, one.source, one.new_source) for one in self.places
        ]
        return said if named else f"{suspicion(subjects, where)}\n{said}"


def in_place(place: Place) -> str:
    """Returns the place of a line in the form that editors open: `path:line`.

    Lines that change together with it follow: `path:4, 5 and 6`.
    """
    return f"{place.file}:{enumerated([*map(str, (place.line, *place.also))])}"


def chosen(repairs: Sequence[RepairEdit], sources: EditableSources) -> RepairedExercise | None:
    """Returns the repair to tell, or None if no edit is likely or too many are equally likely.

    Only edits that fix their whole exercise and break nothing count. The edits that fix the most
    exercises win, and among these those that fix the most tests of precision. The lightest of them
    is told, with those of other lines that weigh about the same.
    """
    able = [one for one in repairs if one.is_whole]
    # If dropping a condition fixes the exercise, changing it only steers calls around the fault.
    # A check for None may still be changed: tests often pass an optional argument always, or never.
    dropped = {_line(one) for one in able if one.made.edit.kind == _DROPS}
    steering = {line for line in dropped if "None" not in sources.line(*line)}
    able = [one for one in able if one.made.edit.kind not in _ASKS or _line(one) not in steering]
    if not able:
        return None
    most = max(map(_fixed, able))
    of_line: dict[Line, list[tuple[float, RepairEdit]]] = {}
    best = [(weight_of(one.made, sources), one) for one in able if _fixed(one) == most]
    for weight, one in sorted(best, key=lambda pair: (pair[0], _line(pair[1]) in dropped)):
        of_line.setdefault(_line(one), []).append((weight, one))
    ranked = [own[0] for own in of_line.values()]
    lightest_of_all = ranked[0][0]
    equal = sum(weight <= lightest_of_all + _EQUAL for weight, _ in ranked)
    if lightest_of_all > _UNLIKELY or equal > _MOST_EQUAL:
        return None
    near = lightest_of_all + _ABOUT_THE_SAME
    told = [one for weight, one in ranked if weight <= near][: max(2, equal)]
    places = tuple(_place_of([one for _, one in of_line[_line(best)]], sources) for best in told)
    return RepairedExercise(places, told[0].exercises, lightest_of_all <= _PLAIN)


def _fixed(repair: RepairEdit) -> tuple[int, float]:
    return len(repair.exercises), repair.share_with_precision


def _line(repair: RepairEdit) -> Line:
    return repair.made.file, repair.made.edit.line


def _place_of(edits: Sequence[RepairEdit], sources: EditableSources) -> Place:
    """Returns the place of edits of one line, the lightest first."""
    first, *others = (_place(one.made, sources) for one in edits[:_MOST_OF_A_LINE])
    return replace(first, others=tuple(others))


def _place(made: FileEdit, sources: EditableSources) -> Place:
    file, edit = made.file, made.edit
    new = edit.applied(sources.text(file)).split("\n")
    changed = {
        line: (sources.line(file, line), new[line - 1].strip() if line <= len(new) else "")
        for line in (edit.line, *edit.lines[1:])
    }
    before, after = changed.pop(edit.line)
    return Place(made, file, edit.line, before, edit.subject, after, changed)


_NAME = re.compile(r"[^\W\d]\w*")
_SIDES = re.compile(r"(?<![=!<>])=(?!=)|\n")
_MORE_ORDERLY = -0.6
_LESS_ORDERLY = 1.6
_USES_WHAT_IS_UNUSED = -1.0
_LEAVES_UNUSED = 1.0


def weight_of(made: FileEdit, sources: EditableSources) -> float:
    """Returns the weight of an edit: its cost, plus penalties, minus bonuses.

    The lighter an edit, the likelier.
    """
    edit, source = made.edit, sources.text(made.file)
    before, after = _changed_lines(source, edit.applied(source), edit.lines)
    found = edit.cost + _by_order(before, after, sources.slips.vocabulary)
    node = sources.node(made.file, edit.line)
    if node is not None:
        old, new = ({*_NAME.findall(text)} for text in (before, after))
        unused = _unused_beside(node, edit.lines)
        if unused & (new - old):
            found += _USES_WHAT_IS_UNUSED
        if unused & (old - new) and not is_adapter(node.name):
            found += _LEAVES_UNUSED
    return found


def _by_order(before: str, after: str, vocabulary: Vocabulary) -> float:
    """Returns a bonus if an edit puts names in their usual order, a penalty if out of it."""
    # Both sides of an assignment have an order of their own.
    was, is_now = (
        sum(vocabulary.disorder(_NAME.findall(side)) for side in _SIDES.split(text))
        for text in (before, after)
    )
    return _MORE_ORDERLY if is_now < was else _LESS_ORDERLY if is_now > was else 0.0


def _unused_beside(node: Function, lines: Collection[int]) -> set[str]:
    """Returns the names that a function binds, but reads nowhere outside these lines."""
    used = {
        one.id
        for one in ast.walk(node)
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load) and one.lineno not in lines
    }
    return bound_in(node) - used - {node.name, "self", "cls"}


def _changed_lines(source: str, edited: str, lines: Collection[int]) -> tuple[str, str]:
    old, new = source.split("\n"), edited.split("\n")
    before = [old[line - 1] for line in lines if line <= len(old)]
    after = [new[line - 1] for line in lines if line <= len(new)]
    return "\n".join(before), "\n".join(after)
