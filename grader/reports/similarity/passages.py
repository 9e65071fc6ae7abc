"""Where two programs say the same: stretches of lines on both sides."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from grader.reports.similarity.sources import ComparedSources

_MOST = 60
# A stretch of fewer fingerprints is a turn of phrase.
_FEWEST = 3


@dataclass(frozen=True, slots=True)
class LineRange:
    """Lines of one file, from `first` to `last`."""

    file: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Passage:
    """The same on both sides; `fewest` is how many submissions have the rarest part of it."""

    one: LineRange
    other: LineRange
    length: int
    fewest: int


@dataclass(frozen=True, slots=True)
class _Print:
    number: int
    file: int
    first: int
    last: int


def passages(
    one: ComparedSources,
    other: ComparedSources,
    given: Collection[int],
    commonness: Mapping[int, int],
) -> list[Passage]:
    """The longest passages that two programs share, those that fewest others have first.

    What was given to all, and what stands in most submissions, begins none.
    """
    left = _prints(one, given)
    right = _prints(other, given)
    places: defaultdict[int, deque[int]] = defaultdict(deque)
    for place, found in enumerate(right):
        places[found.number].append(place)
    used: set[int] = set()
    runs: list[list[tuple[int, int]]] = []
    for place, found in enumerate(left):
        last = runs[-1][-1] if runs else (-2, -2)
        follows = last[0] == place - 1 and _follows(right, last[1], found.number)
        if follows and left[place - 1].file == found.file:
            runs[-1].append((place, last[1] + 1))
            used.add(last[1] + 1)
        elif (free := _first_free(places.get(found.number), used)) is not None:
            runs.append([(place, free)])
            used.add(free)
    found_passages = [
        _passage([left[a] for a, _ in run], [right[b] for _, b in run], commonness)
        for run in runs
        if len(run) >= _FEWEST
    ]
    return sorted(found_passages, key=lambda each: (each.fewest, -each.length))[:_MOST]


def _first_free(places: deque[int] | None, used: set[int]) -> int | None:
    """The first place that no passage has; each is looked at once in all."""
    while places:
        place = places.popleft()
        if place not in used:
            return place
    return None


def _prints(sources: ComparedSources, given: Collection[int]) -> list[_Print]:
    found = []
    for place, file in enumerate(sources.files):
        rows = zip(file.prints.tolist(), file.first.tolist(), file.last.tolist(), strict=True)
        found += [_Print(number, place, *lines) for number, *lines in rows if number not in given]
    return found


def _follows(right: Sequence[_Print], last: int, number: int) -> bool:
    following = last + 1
    if not 0 < following < len(right) or right[following].file != right[last].file:
        return False
    return right[following].number == number


def _passage(
    one: Sequence[_Print], other: Sequence[_Print], commonness: Mapping[int, int]
) -> Passage:
    fewest = min(commonness.get(found.number, 2) for found in one)
    return Passage(_stretch(one), _stretch(other), len(one), fewest)


def _stretch(run: Sequence[_Print]) -> LineRange:
    return LineRange(run[0].file, run[0].first, max(found.last for found in run))
