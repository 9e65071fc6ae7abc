"""The evidence that reports show beside verdicts: tensors, steps, source, printed output."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field

from grader.core.text import PlainData

LARGEST_PICTURE = 1024


@dataclass(frozen=True, slots=True)
class Picture:
    """A tensor that a public test compared: the expected values and the submission's.

    `axes` names the axes of `shape`; leading axes without a name are called `""`. Values are in
    row-major order, in six significant digits, and may be NaN or infinite.
    """

    test: str
    what: str
    axes: tuple[str, ...]
    shape: tuple[int, ...]
    expected: tuple[float, ...]
    got: tuple[float, ...]

    @property
    def is_sound(self) -> bool:
        """Returns whether it has numbers, as many as its shape says."""
        return math.prod(self.shape) == len(self.expected) == len(self.got) > 0


def in_six_digits(numbers: Iterable[float]) -> tuple[float, ...]:
    """Returns numbers in six significant digits, for pictures; keeps NaN and infinities."""
    return tuple(float(f"{number:.6g}") + 0.0 for number in numbers)  # no -0.0


@dataclass(frozen=True, slots=True)
class StepSeen:
    """A step of the reference, and the shape of the submission's own result, if the step was seen.

    `right` is False for the first wrong step, and None for a step that was not seen or comes later.
    """

    name: str
    shape: tuple[int, ...]
    own_shape: tuple[int, ...] | None
    right: bool | None


@dataclass(frozen=True, slots=True)
class StepWalk:
    """The steps by which a submission computed its answer in one call of a failed exercise."""

    exercise: str
    test: str
    steps: tuple[StepSeen, ...]


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Lines of a submission's file, the first of which has the number `first`."""

    file: str
    first: int
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Repair:
    """Lines that each make exercises right when they are changed, the likeliest first.

    `edits` were tried to find them, in so many `seconds` of the submission's process.
    """

    exercises: tuple[str, ...]
    places: tuple[tuple[str, int], ...]
    edits: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Evidence(PlainData):
    """The evidence of one submission; `printed` is the end of its printed output."""

    pictures: tuple[Picture, ...] = ()
    walks: tuple[StepWalk, ...] = ()
    excerpts: tuple[Excerpt, ...] = ()
    printed: str = ""
    repairs: tuple[Repair, ...] = ()
    _packed: bytes | None = field(init=False, default=None, compare=False, repr=False)

    def packed(self) -> bytes:
        """Returns the evidence as compressed JSON, with infinities and NaN as texts."""
        if self._packed is not None:
            return self._packed
        fields = self.as_json()
        return zlib.compress(json.dumps(fields, separators=(",", ":"), allow_nan=False).encode())

    @classmethod
    def unpacked(cls, data: bytes) -> Evidence:
        """Returns the evidence that `packed` wrote."""
        evidence = cls.from_json(json.loads(zlib.decompress(data)))
        # A grade crosses from its judge to the store packed: keep the bytes, so as not to pack
        # again.
        object.__setattr__(evidence, "_packed", data)
        return evidence
