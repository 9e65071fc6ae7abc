"""The evidence that reports show beside verdicts: tensors, steps, source, printed output."""

from __future__ import annotations

import dataclasses
import json
import math
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

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
    """Lines of a submission's file, the first of which has the number `first`.

    If the first line is inside a string of several lines, `opening` is the beginning of that
    string.
    """

    file: str
    first: int
    lines: tuple[str, ...]
    opening: str = ""


@dataclass(frozen=True, slots=True)
class Repair:
    """Lines that each make exercises right when they are changed, the likeliest first.

    `edits`, `calls` and `seconds` of the submission's process are the cost of finding them.
    """

    exercises: tuple[str, ...]
    places: tuple[tuple[str, int], ...]
    edits: int
    calls: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Evidence:
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
        fields = {
            "pictures": [_picture_as_json(picture) for picture in self.pictures],
            "walks": [dataclasses.asdict(walk) for walk in self.walks],
            "excerpts": [dataclasses.asdict(excerpt) for excerpt in self.excerpts],
            "printed": self.printed,
            "repairs": [dataclasses.asdict(repair) for repair in self.repairs],
        }
        return zlib.compress(json.dumps(fields, separators=(",", ":"), allow_nan=False).encode())

    @classmethod
    def unpacked(cls, data: bytes) -> Evidence:
        """Returns the evidence that `packed` wrote."""
        fields = json.loads(zlib.decompress(data))
        evidence = cls(
            pictures=tuple(map(_picture, fields["pictures"])),
            walks=tuple(map(_walk, fields["walks"])),
            excerpts=tuple(
                Excerpt(
                    entry["file"], entry["first"], tuple(entry["lines"]), entry.get("opening", "")
                )
                for entry in fields["excerpts"]
            ),
            printed=fields["printed"],
            repairs=tuple(map(_repair, fields.get("repairs", ()))),
        )
        # A grade crosses from its judge to the store packed: keep the bytes, so as not to pack
        # again.
        object.__setattr__(evidence, "_packed", data)
        return evidence


def _picture_as_json(picture: Picture) -> dict[str, Any]:
    return {
        "test": picture.test,
        "what": picture.what,
        "axes": picture.axes,
        "shape": picture.shape,
        "expected": [_as_json(number) for number in picture.expected],
        "got": [_as_json(number) for number in picture.got],
    }


def _as_json(number: float) -> float | str:
    return number if math.isfinite(number) else str(number)


def _picture(fields: Mapping[str, Any]) -> Picture:
    return Picture(
        fields["test"],
        fields["what"],
        tuple(fields["axes"]),
        tuple(fields["shape"]),
        _numbers(fields["expected"]),
        _numbers(fields["got"]),
    )


def _numbers(entries: Iterable[float | str]) -> tuple[float, ...]:
    return tuple(map(float, entries))


def _walk(fields: Mapping[str, Any]) -> StepWalk:
    steps = tuple(
        StepSeen(
            step["name"],
            tuple(step["shape"]),
            None if step["own_shape"] is None else tuple(step["own_shape"]),
            step["right"],
        )
        for step in fields["steps"]
    )
    return StepWalk(fields["exercise"], fields["test"], steps)


def _repair(fields: Mapping[str, Any]) -> Repair:
    places = tuple((file, line) for file, line in fields["places"])
    return Repair(**{**fields, "exercises": tuple(fields["exercises"]), "places": places})
