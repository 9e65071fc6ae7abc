"""Which of the lines that mend is told: the one, two between which nothing decides, or none."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from grader.explaining.mending.mending import FileEdit, Mend
from grader.explaining.mending.sources import Sources

# Of lines whose cheapest edits cost about the same, each may be the one.
_ABOUT_THE_SAME = 0.75
_FULL = 0.999

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
    """Where an exercise can be mended: one line, or one of two; and the tests that then pass."""

    places: tuple[Place, ...]
    tests: frozenset[str]
    edits: tuple[FileEdit, ...]

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


def chosen(
    mends: Sequence[Mend], sources: Sources, adapters: str, hints: Collection[Line] = ()
) -> Mended | None:
    """What is told of mends; `hints` are lines to which something else points.

    Edits that make everything right come before those that break what was right, and those before
    edits that make only a part right.
    """
    able = [one for one in mends if one.share > 0]
    if not able:
        return None
    rank = min(map(_rank, able))
    best = [one for one in able if _rank(one) == rank]
    cheapest: dict[Line, Mend] = {}
    for one in sorted(best, key=lambda one: _weight(one, adapters, hints)):
        cheapest.setdefault((one.made.file, one.made.edit.line), one)
    ranked = sorted(cheapest.values(), key=lambda one: _weight(one, adapters, hints))
    first = ranked[0]
    limit = _weight(first, adapters, hints) + _ABOUT_THE_SAME
    told = [one for one in ranked if _weight(one, adapters, hints) <= limit][:2]
    places = tuple(_place(one, sources) for one in told)
    return Mended(places, first.tests, tuple(one.made for one in told))


def _rank(mend: Mend) -> tuple[bool, bool]:
    return mend.share < _FULL, bool(mend.breaks)


def _weight(mend: Mend, adapters: str, hints: Collection[Line]) -> float:
    """The cost of an edit; a call handed on in the adapters is an unlikely place for a slip."""
    edit, file = mend.made.edit, mend.made.file
    weight: float = edit.cost
    if (file, edit.line) in hints:
        weight -= 1.0
    if file == adapters:
        weight += 0.01
    return weight


def _place(mend: Mend, sources: Sources) -> Place:
    file, edit = mend.made.file, mend.made.edit
    return Place(
        file,
        edit.line,
        sources.line(file, edit.line),
        sources.function(file, edit.line),
        edit.subject,
    )
