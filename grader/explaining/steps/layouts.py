"""Finds tensors again in another layout: axes permuted, merged or cut apart, sizes of 1 added."""

from __future__ import annotations

import enum
import functools
import hashlib
import itertools
import math
from collections import OrderedDict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch

Steps = Mapping[str, Sequence[torch.Tensor]]

# What comes out in the end is a step of its own, also where a reference names none.
RESULT = "result"
# Rounding adds up over the steps.
_RTOL, _ATOL = 1e-3, 1e-4
# Whatever a mask puts in the place of minus infinity.
_HIDDEN = -5e3
_MOST_PIECES = 300
# A class computes the same numbers again and again; of those of one call so many are remembered.
_MOST_LOOKED_UP = 512
_MOST_AXES = 5
# Of numbers that are met again and again: what is looked at, and how many ways of turning it. Turns
# that a few numbers rule out are not counted.
_MOST_ALIKE = 64
_MOST_TURNS = 24
_PROBES = 16
# Smaller whole numbers are met by accident.
_TELLING_NUMBER = 10


class Likeness(enum.IntEnum):
    """How much the layouts of two tensors that hold the same numbers have in common.

    `SAME` but for axes of size 1.
    """

    NONE = 0
    MERGED = 1
    PERMUTED = 2
    SAME = 3


class KnownSteps:
    """Named steps, in which tensors are looked up whatever their layout.

    A tensor may also be a slice of a step: code that goes head by head never has the whole. A step
    may be a number, which is known by being just that.
    """

    def __init__(self, steps: Steps) -> None:
        self._numbers: dict[float, list[str]] = {}
        for name, forms in steps.items():
            for number in {float(form) for form in forms if form.dim() == 0}:
                if abs(number) >= _TELLING_NUMBER:
                    self._numbers.setdefault(number, []).append(name)
        pieces: dict[int, list[tuple[str, torch.Tensor]]] = {}
        for name, forms in steps.items():
            for piece in itertools.chain.from_iterable(map(_pieces, forms)):
                pieces.setdefault(piece.numel(), []).append((name, piece))
        self._pieces = pieces
        self._sorted = {
            size: torch.stack([piece.flatten().sort().values for _, piece in own])
            for size, own in pieces.items()
        }
        self._looked_up: OrderedDict[bytes, Mapping[str, Likeness]] = OrderedDict()

    @classmethod
    def of(cls, steps: Steps) -> KnownSteps:
        """The named steps, ready to be looked up; of those that are kept only once."""
        return steps.known if isinstance(steps, KeptSteps) else cls(steps)

    def most_like(self, tensor: torch.Tensor) -> Collection[str]:
        """The steps that a tensor is like, and like no other more.

        In the order of memory a step may be the same as the one before it, whose axes it only
        parts or merges: such numbers are the earlier one's.
        """
        alike = self.likeness(tensor)
        best = max(alike.values(), default=Likeness.NONE)
        names = [name for name, likeness in alike.items() if likeness is best]
        return names[:1] if best is Likeness.MERGED else names

    def likeness(self, tensor: torch.Tensor) -> Mapping[str, Likeness]:
        """By name, how alike a tensor is to the steps that hold the same numbers."""
        if tensor.dim() == 0:
            return dict.fromkeys(self._numbers.get(float(tensor), ()), Likeness.SAME)
        key = _digest(tensor)
        if key not in self._looked_up:
            self._looked_up[key] = self._look_up(tensor)
        self._looked_up.move_to_end(key)
        if len(self._looked_up) > _MOST_LOOKED_UP:
            self._looked_up.popitem(last=False)
        return self._looked_up[key]

    def _look_up(self, tensor: torch.Tensor) -> Mapping[str, Likeness]:
        value = _comparable(tensor)
        own = self._pieces.get(value.numel())
        if own is None or bool(value.isnan().any()):
            return {}
        same_numbers = _close(self._sorted[value.numel()], value.flatten().sort().values)
        found: dict[str, Likeness] = {}
        left = _MOST_ALIKE
        for place in same_numbers.all(dim=1).nonzero().flatten().tolist():
            name, piece = own[place]
            if found.get(name, Likeness.NONE) >= Likeness.SAME:
                continue
            left -= 1
            if left < 0:
                break
            likeness = _likeness(value, piece)
            if likeness > found.get(name, Likeness.NONE):
                found[name] = likeness
        return found


class KeptSteps(dict[str, Sequence[torch.Tensor]]):
    """Steps in which tensors are looked up again and again: they are made ready for that once."""

    @functools.cached_property
    def known(self) -> KnownSteps:
        """These steps, ready to be looked up."""
        return KnownSteps(self)


def _digest(tensor: torch.Tensor) -> bytes:
    """Equal digests are equal tensors, to the last bit."""
    laid_out = tensor.detach().clone(memory_format=torch.contiguous_format)
    numbers = laid_out.flatten().view(torch.uint8).numpy().tobytes()
    head = f"{tensor.dtype} {tuple(tensor.shape)} ".encode()
    return hashlib.blake2b(head + numbers, digest_size=16).digest()


def _likeness(value: torch.Tensor, piece: torch.Tensor) -> Likeness:
    flat, own = value.flatten(), piece.flatten()
    if value.shape == piece.shape and bool(_close(own, flat).all()):
        return Likeness.SAME
    best = Likeness.NONE
    probes = _probes(tuple(piece.shape))
    likely = _close(own[probes.taken], flat[probes.places]).all(dim=1).nonzero().flatten().tolist()
    left = _MOST_TURNS
    for number in likely:
        turned = piece.permute(probes.orders[number])
        if turned.shape != value.shape and best is not Likeness.NONE:
            continue
        left -= 1
        if left < 0:
            break
        if bool(_close(turned.flatten(), flat).all()):
            if turned.shape == value.shape:
                return Likeness.PERMUTED
            best = Likeness.MERGED
    return best


@dataclass(frozen=True, slots=True)
class _Probes:
    """Every order of a shape's axes, and what comes to a few places if they are put in it.

    `places` are those, counted in memory; `taken`, a row for each order, what comes there.
    """

    orders: Sequence[tuple[int, ...]]
    places: torch.Tensor
    taken: torch.Tensor


@functools.lru_cache(maxsize=256)
def _probes(shape: tuple[int, ...]) -> _Probes:
    count = math.prod(shape)
    places = torch.linspace(0, count - 1, min(count, _PROBES)).long()
    numbered = torch.arange(count).view(shape)
    orders = list(itertools.permutations(range(len(shape))))
    taken = [numbered.permute(order).flatten()[places] for order in orders]
    return _Probes(orders, places, torch.stack(taken))


def _pieces(step: torch.Tensor) -> Iterator[torch.Tensor]:
    """A step, and its slices along every choice of axes but the last, while they are few."""
    whole = _comparable(step)
    if whole.dim() > _MOST_AXES or not _is_telling(whole, 2):
        return
    yield whole
    left = _MOST_PIECES
    for count in range(1, whole.dim()):
        for axes in itertools.combinations(range(whole.dim() - 1), count):
            left -= math.prod(whole.shape[axis] for axis in axes)
            if left < 0:
                return
            front = whole.movedim(axes, tuple(range(count))).flatten(0, count - 1)
            yield from (piece for piece in front if _is_telling(piece, 3))


def _comparable(tensor: torch.Tensor) -> torch.Tensor:
    """In float64, without axes of size 1, all that is hidden alike."""
    return tensor.detach().to(torch.float64).squeeze().clamp(min=_HIDDEN)


def _is_telling(tensor: torch.Tensor, numbers: int) -> bool:
    """Whether a tensor has enough different numbers to be known by them."""
    return tensor.dim() > 0 and len(set(tensor.flatten().tolist())) >= numbers


def _close(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    return (one == other) | ((one - other).abs() <= _ATOL + _RTOL * other.abs())
