"""Says what is wrong with a shape in the assignment's own words, and what explains it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

from grader.core.wire.values import Value
from grader.testing.contract.contract import Adapter, axis_names, counted
from grader.testing.contract.kinds import TensorType

Shape = tuple[int, ...]

_MOST_AXES = 6


def wrong_shape(
    adapter: Adapter, wanted: TensorType, arguments: Mapping[str, Value], shape: Shape, got: Shape
) -> list[str]:
    """What was wanted and what came, with the names of the axes, and what explains it, if known.

    `shape` is the right one for these arguments.
    """
    known = adapter.sizes(arguments)
    sizes, lead = dict(known.named), known.lead or ()
    axes = dict.fromkeys(" ".join(wanted.axes).replace("*", " ").split())
    named = ", ".join(f"{axis}={sizes[axis]}" for axis in axes if axis in sizes)
    said = (
        f"{adapter.name} must return shape ({' '.join(wanted.axes)}), which is {list(shape)}"
        f"{' with ' + named if named else ''}, not {list(got)}"
    )
    others = sizes | {f"leading axis {place}": size for place, size in enumerate(lead)}
    why = explanation(axis_names(wanted, len(shape)), shape, got, others)
    return [said, why] if why else [said]


def explanation(
    names: Sequence[str], wanted: Shape, got: Shape, sizes: Mapping[str, int]
) -> str | None:
    """The one thing that makes the shape that came of the one that was wanted; None if not one."""
    if max(len(wanted), len(got)) > _MOST_AXES:
        return None
    found = [
        *_reordered(names, wanted, got),
        *_one_less(names, wanted, got),
        *_one_more(wanted, got),
        *_merged(names, wanted, got),
        *_apart(names, wanted, got),
        *_of_another_length(names, wanted, got, sizes),
    ]
    return found[0] if len(found) == 1 else None


def _reordered(names: Sequence[str], wanted: Shape, got: Shape) -> Iterator[str]:
    if sorted(wanted) != sorted(got):
        return
    places = range(len(wanted))
    swaps = [
        (one, other)
        for one, other in itertools.combinations(places, 2)
        if got == _swapped(wanted, one, other)
    ]
    if len(swaps) == 1:
        one, other = (names[place] for place in swaps[0])
        yield f"{_as_subjects(one, other)} have changed places."
        return
    orders = [
        order
        for order in itertools.permutations(places)
        if tuple(wanted[place] for place in order) == got
    ]
    if len(orders) == 1:
        yield f"Its axes are all there, in the order {', '.join(names[at] for at in orders[0])}."


def _swapped(shape: Shape, one: int, other: int) -> Shape:
    sizes = list(shape)
    sizes[one], sizes[other] = sizes[other], sizes[one]
    return tuple(sizes)


def _one_less(names: Sequence[str], wanted: Shape, got: Shape) -> Iterator[str]:
    if not got and len(wanted) > 1:
        yield "It is a single number: was everything summed up?"
        return
    missing = [place for place in range(len(wanted)) if _without(wanted, place) == got]
    sizes = {wanted[place] for place in missing}
    if sizes == {1}:
        which = (
            f"{_as_subject(names[missing[0]])}, 1 long here," if len(missing) == 1 else "An axis"
        )
        length = "" if len(missing) == 1 else " of length 1"
        yield f"{which}{length} is missing: squeeze() drops every axis that is 1 long."
    elif len(missing) == 1:
        (place,) = missing
        yield (
            f"{_as_subject(names[place])}, {wanted[place]} long here, is missing: was it summed "
            "up, or one of it picked?"
        )


def _one_more(wanted: Shape, got: Shape) -> Iterator[str]:
    extra = [place for place in range(len(got)) if _without(got, place) == wanted]
    sizes = {got[place] for place in extra}
    if len(extra) == 1:
        yield f"Its {counted(extra[0])} axis, {got[extra[0]]} long, is one too many."
    elif len(sizes) == 1:
        yield f"An axis of length {sizes.pop()} is one too many."


def _without(shape: Shape, place: int) -> Shape:
    return shape[:place] + shape[place + 1 :]


def _merged(names: Sequence[str], wanted: Shape, got: Shape) -> Iterator[str]:
    """Two axes that stand side by side have become one."""
    merged = [
        place
        for place in range(len(wanted) - 1)
        if min(wanted[place : place + 2]) > 1
        and (*wanted[:place], wanted[place] * wanted[place + 1], *wanted[place + 2 :]) == got
    ]
    if len(merged) == 1:
        (place,) = merged
        one, other = names[place : place + 2]
        both = _as_subjects(one, other) if one != other else f"The two axes {one}"
        yield f"{both} have become one axis, {got[place]} long."


def _apart(names: Sequence[str], wanted: Shape, got: Shape) -> Iterator[str]:
    """One axis is still two, perhaps with others between them."""
    if len(got) != len(wanted) + 1:
        return
    pairs = set()
    for one, other in itertools.combinations(range(len(got)), 2):
        rest = [size for place, size in enumerate(got) if place not in (one, other)]
        for place, size in enumerate(wanted):
            whole = min(got[one], got[other]) > 1 and got[one] * got[other] == size
            if whole and rest == list(_without(wanted, place)):
                pairs.add((one, other, place))
    if len(pairs) == 1:
        ((one, other, place),) = pairs
        yield (
            f"Its {counted(one)} and {counted(other)} axes, {got[one]} and {got[other]} long, are "
            f"still apart: together they would be {names[place]}, {wanted[place]} long."
        )


def _of_another_length(
    names: Sequence[str], wanted: Shape, got: Shape, sizes: Mapping[str, int]
) -> Iterator[str]:
    """One axis has the length of something else in the call."""
    if len(wanted) != len(got) or sorted(wanted) == sorted(got):
        return
    other = [place for place in range(len(wanted)) if wanted[place] != got[place]]
    if len(other) != 1:
        return
    (place,) = other
    name, length = names[place], got[place]
    if wanted[place] == 1:
        yield (
            f"{_as_subject(name)} is 1 long here, and came back {length} long: was something "
            "broadcast?"
        )
        return
    alike = [one for one, size in sizes.items() if size == length and one != name]
    if len(alike) == 1:
        yield f"{_as_subject(name)} is as long as {alike[0]} ({length})."
    shares = [one for one, size in sizes.items() if length > 1 and size * length == wanted[place]]
    if not alike and len(shares) == 1:
        yield f"{_as_subject(name)} is as long as {name} / {shares[0]} ({length})."
    elif not alike and not shares and 2 * length == wanted[place]:
        yield f"{_as_subject(name)} is {length} long, half of what it should be."
    elif not alike and length == 2 * wanted[place]:
        yield f"{_as_subject(name)} is {length} long, twice what it should be."


def _as_subjects(one: str, other: str) -> str:
    """Two names at the beginning of a sentence."""
    if any(name.startswith(("the ", "axis ")) for name in (one, other)):
        return f"{_as_subject(one)} and {other}"
    return f"The axes {one} and {other}"


def _as_subject(name: str) -> str:
    """A name at the beginning of a sentence."""
    if name.startswith(("the ", "axis ")):
        return f"{name[0].upper()}{name[1:]}"
    return f"The axis {name}"
