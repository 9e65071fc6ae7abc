"""Recognises tensors in other layouts: axes permuted, merged or split, axes of size 1 added."""

from __future__ import annotations

import enum
import functools
import itertools
import math
import operator
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch

from grader.testing.comparison import FLOAT32, Tolerance

Steps = Mapping[str, Sequence[torch.Tensor]]

# The result is a step too, even if the reference names no steps.
RESULT = "result"
# Rounding adds up over the steps: within this, a value may be the step or a wrong one.
NEARLY = Tolerance(rtol=1e-3, atol=1e-4)
# Masks may use any large negative number instead of minus infinity: smaller values count as this.
_HIDDEN = -5e3
_MOST_PIECES = 300
_MOST_AXES = 5
# The most pieces to compare in full: a tensor with few different values matches many at first.
_MOST_ALIKE = 64
# Smaller numbers match a step by accident.
_TELLING_NUMBER = 10


class Likeness(enum.IntEnum):
    """How similar the layouts of two tensors with the same values are.

    `SAME` ignores axes of size 1.
    """

    NONE = 0
    MERGED = 1
    PERMUTED = 2
    SAME = 3


@dataclass(frozen=True, slots=True)
class Cut:
    """A way to cut a step into slices: along some axes of one of its forms, `count` slices."""

    name: str
    form: int
    axes: tuple[int, ...]
    count: int


@dataclass(frozen=True, slots=True)
class Alike:
    """The likeness of one tensor to whole steps, by name, and to slices, by cut and number.

    `mixed_up` names the steps whose numbers the tensor holds in an order that no layout explains.
    """

    steps: Mapping[str, Likeness]
    slices: Mapping[tuple[Cut, int], Likeness]
    mixed_up: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class _Piece:
    """A step, or one slice of it if there is a `cut`."""

    name: str
    numbers: torch.Tensor
    cut: Cut | None = None
    number: int = 0


class KnownSteps:
    """Named steps, in which tensors are looked up whatever their layout.

    Axes of equal length keep their order, because shapes alone do not tell them apart. Code that
    loops over heads computes only slices of a step. A step that is a single number must match
    exactly. `doubtful` steps hold the same values as an earlier step, so those values do not show
    that the code reached them. `unseen` steps cannot be recognised: they hold too few different
    values, or have too many axes. Values are the same within a `tolerance`.
    """

    def __init__(self, steps: Steps, tolerance: Tolerance = FLOAT32) -> None:
        self._tolerance = tolerance
        self._numbers: dict[float, list[str]] = {}
        for name, forms in steps.items():
            for number in {float(form) for form in forms if form.dim() == 0}:
                if abs(number) >= _TELLING_NUMBER:
                    self._numbers.setdefault(number, []).append(name)
        pieces: dict[int, list[_Piece]] = {}
        for name, forms in steps.items():
            for number, form in enumerate(forms):
                for piece in _pieces(name, number, form):
                    pieces.setdefault(piece.numbers.numel(), []).append(piece)
        self._pieces = pieces
        self._sorted = {
            size: torch.stack([piece.numbers.flatten().sort().values for piece in own])
            for size, own in pieces.items()
        }
        seen = {piece.name for own in pieces.values() for piece in own}
        seen.update(*self._numbers.values())
        self.unseen = steps.keys() - seen - {RESULT}
        self.doubtful = frozenset(_doubtful(steps))

    def most_like(self, tensor: torch.Tensor) -> Collection[str]:
        """Returns the steps that a tensor is most like, without doubtful ones.

        A step that only splits or merges axes of the step before it is the same in memory. If the
        likeness is only `MERGED`, the earliest of these steps is returned.
        """
        alike = self.likeness(tensor)
        best = max(alike.values(), default=Likeness.NONE)
        names = [name for name, likeness in alike.items() if likeness is best]
        plain = [name for name in names if name not in self.doubtful]
        return plain[:1] if best is Likeness.MERGED else plain

    def likeness(self, tensor: torch.Tensor) -> Mapping[str, Likeness]:
        """Returns, by name, the likeness of a tensor to each step with the same values."""
        return self.alike(tensor).steps

    def alike(self, tensor: torch.Tensor) -> Alike:
        """Returns the likeness of a tensor to the steps and slices that have the same values.

        Slices are left out if several slices of one cut are like the tensor, because they cannot
        be told apart. They are also left out if too many pieces have the same values.
        """
        if tensor.dim() == 0:
            return Alike(dict.fromkeys(self._numbers.get(float(tensor), ()), Likeness.SAME), {})
        value = _comparable(tensor)
        own = self._pieces.get(value.numel())
        if own is None or bool(value.isnan().any()):
            return Alike({}, {})
        numbers = value.flatten().sort().values
        same_numbers = _close(self._sorted[value.numel()], numbers, self._tolerance)
        steps: dict[str, Likeness] = {}
        slices: dict[tuple[Cut, int], Likeness] = {}
        left = _MOST_ALIKE
        for place in same_numbers.all(dim=1).nonzero().flatten().tolist():
            piece = own[place]
            if piece.cut is None and steps.get(piece.name, Likeness.NONE) >= Likeness.SAME:
                continue
            left -= 1
            if left < 0:
                slices.clear()
                break
            likeness = _likeness(value, piece.numbers, self._tolerance)
            if piece.cut is None:
                steps[piece.name] = max(likeness, steps.get(piece.name, Likeness.NONE))
            elif likeness is not Likeness.NONE:
                slices[piece.cut, piece.number] = likeness
        met = Counter(cut for cut, _ in slices)
        mixed_up = [name for name, likeness in steps.items() if likeness is Likeness.NONE]
        return Alike(
            {name: likeness for name, likeness in steps.items() if name not in mixed_up},
            {key: one for key, one in slices.items() if met[key[0]] == 1},
            mixed_up,
        )


def _doubtful(steps: Steps) -> Iterator[str]:
    """Yields the steps that hold the same values as an earlier one, in the same layout."""
    earlier: list[torch.Tensor] = []
    for name, forms in steps.items():
        own = [_comparable(form) for form in forms]
        pairs = ((one, other) for one in own for other in earlier if one.shape == other.shape)
        if name != RESULT and any(bool(_close(*pair, NEARLY).all()) for pair in pairs):
            yield name
        earlier += own


def _likeness(value: torch.Tensor, piece: torch.Tensor, tolerance: Tolerance) -> Likeness:
    """Returns how similar the layouts of a tensor and a piece with the same numbers are."""
    flat = value.flatten()
    if value.shape == piece.shape and bool(_close(piece.flatten(), flat, tolerance).all()):
        return Likeness.SAME
    best = Likeness.NONE
    for order in _orders(tuple(piece.shape)):
        permuted = piece.permute(order)
        is_better = permuted.shape == value.shape or best is Likeness.NONE
        if not is_better or not _is_regrouped(permuted.shape, value.shape):
            continue
        if bool(_close(permuted.flatten(), flat, tolerance).all()):
            if permuted.shape == value.shape:
                return Likeness.PERMUTED
            best = Likeness.MERGED
    return best


@functools.lru_cache(maxsize=256)
def _orders(shape: tuple[int, ...]) -> Sequence[tuple[int, ...]]:
    """Returns the orders of a shape's axes in which axes of equal length keep their order."""
    return [
        order
        for order in itertools.permutations(range(len(shape)))
        if all(
            one < other
            for one, other in itertools.combinations(order, 2)
            if shape[one] == shape[other]
        )
    ]


def _is_regrouped(one: Sequence[int], other: Sequence[int]) -> bool:
    """Returns whether one shape becomes the other by merging axes, or by splitting axes."""
    edges, others = (set(itertools.accumulate(shape, operator.mul)) for shape in (one, other))
    return edges <= others or others <= edges


def _pieces(name: str, form: int, step: torch.Tensor) -> Iterator[_Piece]:
    """Yields a step, and its slices along all choices of axes but the last, up to a bound."""
    whole = _comparable(step)
    if whole.dim() > _MOST_AXES or not _is_telling(whole, 2):
        return
    yield _Piece(name, whole)
    left = _MOST_PIECES
    for count in range(1, whole.dim()):
        for axes in itertools.combinations(range(whole.dim() - 1), count):
            left -= math.prod(whole.shape[axis] for axis in axes)
            if left < 0:
                return
            front = whole.movedim(axes, tuple(range(count))).flatten(0, count - 1)
            cut = Cut(name, form, axes, len(front))
            for number, piece in enumerate(front):
                if _is_telling(piece, 3):
                    yield _Piece(name, piece, cut, number)


def _comparable(tensor: torch.Tensor) -> torch.Tensor:
    """Returns a tensor in float64, without axes of size 1, with all masked values equal."""
    return tensor.detach().to(torch.float64).squeeze().clamp(min=_HIDDEN)


def _is_telling(tensor: torch.Tensor, numbers: int) -> bool:
    """Returns whether a tensor has enough different values, at least `numbers`, to recognise it."""
    return tensor.dim() > 0 and len(set(tensor.flatten().tolist())) >= numbers


def _close(one: torch.Tensor, other: torch.Tensor, tolerance: Tolerance) -> torch.Tensor:
    allowed = tolerance.atol + tolerance.rtol * other.abs()
    return (one == other) | (other.isfinite() & ((one - other).abs() <= allowed))
