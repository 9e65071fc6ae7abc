"""What the axes of a result are called."""

from __future__ import annotations

from grader.testing.contract import TensorType, is_lead

_COUNTED = ("first", "second", "third", "fourth", "fifth", "sixth")


def axis_names(wanted: TensorType, rank: int) -> tuple[str, ...]:
    """A name for each axis of a result: those of the annotation, and of leading ones their number.

    >>> axis_names(TensorType("floating-point", ("...", "queries", "d_v")), 4)
    ('the first leading axis', 'the second leading axis', 'queries', 'd_v')
    """
    named = [axis for axis in wanted.axes if not is_lead(axis)]
    leading = rank - len(named)
    if not named:
        return tuple(f"axis {place}" for place in range(rank))
    if leading == 1:
        return ("the leading axis", *named)
    return (*(f"the {counted(place)} leading axis" for place in range(leading)), *named)


def counted(place: int) -> str:
    """`first` for 0, `second` for 1, …"""
    return _COUNTED[place] if place < len(_COUNTED) else f"{place + 1}th"
