"""Which of the lines that mend is told: the one, two between which nothing decides, or none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from grader.explaining.mending.mending import FileEdit, Mend
from grader.explaining.mending.sources import Sources

# Of lines whose cheapest edits cost about the same, each may be the one.
_ABOUT_THE_SAME = 0.75
_FULL = 0.999
_LEAST_SHARE = 0.5

Line = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Place:
    """A line that mends, the function around it, and what of it is to be changed, in words."""

    file: str
    line: int
    source: str
    function: str
    subject: str


@dataclass(frozen=True, slots=True)
class Mended:
    """Where exercises can be mended: in one line, or in one of two."""

    places: tuple[Place, ...]
    exercises: frozenset[str]
    made: FileEdit

    def moved(self, line_of: Callable[[str, int], int]) -> Mended:
        """The same in a text in which its lines have other numbers."""
        places = tuple(replace(one, line=line_of(one.file, one.line)) for one in self.places)
        return replace(self, places=places)

    def in_words(self) -> str:
        """The line, or the two, and what changing it does."""
        first, *others = self.places
        said = f"{in_place(first)}"
        if others:
            said = f"{said} or {in_place(others[0])}"
        return f"Changing {first.subject} is enough: {said}."


def in_place(place: Place) -> str:
    """A line in words."""
    return f"{place.file}, line {place.line}: {place.source}"


def chosen(mends: Sequence[Mend], sources: Sources, adapters: str) -> Mended | None:
    """What is told of mends.

    Edits that break nothing come before those that do, and those that make more exercises right
    before others; then the smaller ones.
    """
    able = [one for one in mends if one.share >= _LEAST_SHARE]
    if not able:
        return None
    rank = min(map(_rank, able))
    cheapest: dict[Line, Mend] = {}
    for one in sorted(able, key=lambda one: _weight(one, adapters)):
        if _rank(one) == rank:
            cheapest.setdefault((one.made.file, one.made.edit.line), one)
    ranked = sorted(cheapest.values(), key=lambda one: _weight(one, adapters))
    limit = _weight(ranked[0], adapters) + _ABOUT_THE_SAME
    told = [one for one in ranked if _weight(one, adapters) <= limit][:2]
    places = tuple(_place(one, sources) for one in told)
    return Mended(places, told[0].exercises, told[0].made)


def _rank(mend: Mend) -> tuple[bool, bool, int]:
    return mend.share < _FULL, bool(mend.breaks), -len(mend.exercises)


def _weight(mend: Mend, adapters: str) -> float:
    """The cost of an edit; a call handed on in the adapters is an unlikely place for a slip."""
    return mend.made.edit.cost + (0.01 if mend.made.file == adapters else 0.0)


def _place(mend: Mend, sources: Sources) -> Place:
    file, edit = mend.made.file, mend.made.edit
    return Place(
        file,
        edit.line,
        sources.line(file, edit.line),
        sources.function(file, edit.line),
        edit.subject,
    )
