"""A failure as a student reads it: a short paragraph, and numbers side by side."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import torch
from _pytest._code.code import ReprFileLocation, TerminalRepr
from _pytest._io import TerminalWriter

from grader.core.causes import FailedTest
from grader.core.text import PlainData
from grader.testing.comparison import Comparison, place_of, place_of_largest


@dataclass(eq=False)
class Failure(PlainData, TerminalRepr):
    """The failure of a test, for `longrepr`: its subject, what was wrong and, if known, why.

    `more` follows the text of `said`; `line`, the line to change, comes last. `builds_on` are other
    exercises that are wrong. `search` is a sentence on how the search for a line ended.
    """

    about: str
    said: FailedTest
    location: tuple[str, int]
    more: list[str] = field(default_factory=list)
    line: str = ""
    builds_on: list[str] = field(default_factory=list)
    drawing: list[str] = field(default_factory=list)
    search: str = ""

    @property
    def reprcrash(self) -> ReprFileLocation:
        """Returns the sentence that pytest shows in its summary and in JUnit's XML."""
        return ReprFileLocation(*self.location, self.said.in_short)

    def lines(self) -> Iterator[str]:
        """Yields the lines of the paragraph, without the test's subject."""
        message, *rest = self.account()
        yield message
        mistake = self.said.mistake
        if mistake is not None:
            yield mistake.explanation
            yield f"Hint: {mistake.hint}"
        elif self.said.advice:
            yield self.said.advice
        yield from rest
        yield from self.line.splitlines()

    def account(self) -> Iterator[str]:
        """Yields the message and its evidence, without the mistake and the line to change."""
        for text in (self.said.message, *self.more):
            yield from text.splitlines()
        for line in self.drawing:
            yield f"    {line}"

    def toterminal(self, tw: TerminalWriter) -> None:
        """Writes the paragraph."""
        if self.about:
            tw.line(self.about, bold=True)
        for line in self.lines():
            tw.line(line)


_SIDE = 12
_SLICES = 2


@dataclass(frozen=True, slots=True)
class Ink:
    """The characters of a drawing: levels from low to high, and signs for special values."""

    levels: str
    right: str
    nan: str = "?"
    infinite: str = "!"


BLOCKS = Ink(" ░▒▓█", "·")
ASCII = Ink(" .:*#", "-")


def ink_for(encoding: str | None) -> Ink:
    """Returns blocks if the terminal's encoding has them, else ASCII."""
    try:
        BLOCKS.levels.encode(encoding or "ascii")
    except (UnicodeError, LookupError):
        return ASCII
    return BLOCKS


def picture(comparison: Comparison, axes: Sequence[str], ink: Ink) -> list[str]:
    """Draws the worst slices as matrices: expected and got on one scale, then the difference.

    Returns no lines for a single number. Cuts a matrix to 12 by 12 around its worst number.
    """
    if comparison.ratio.ndim == 0 or comparison.ratio.numel() == 0:
        return []
    *leading, down, across = ("", *axes) if len(axes) == 1 else axes
    shape = comparison.ratio.shape
    views = [
        tensor.reshape(-1, *([1, *shape] if len(shape) == 1 else shape[-2:]))
        for tensor in (comparison.want, comparison.got, comparison.ratio)
    ]
    want, got, ratio = views
    low, high = _range(torch.stack((want, got)))
    said = f"{down} down, {across} across" if down else f"{across} across"
    first, last = ink.levels[0], ink.levels[-1]
    ends = f"from {low + 0.0:.3g} ({first!r}) to {high + 0.0:.3g} ({last!r})"  # never -0
    lines = [f"{said}; {ends}, {ink.right!r} is right"]
    worst = ratio.amax(dim=(1, 2))
    wrong = [int(number) for number in worst.argsort(descending=True, stable=True)]
    for number in itertools.islice((one for one in wrong if worst[one] > 1), _SLICES):
        if leading:
            lines.append(f"at {[*place_of(number, shape[:-2])]}:")
        lines += _side_by_side(want[number], got[number], ratio[number], (low, high), ink)
    return lines


def _side_by_side(
    want: torch.Tensor,
    got: torch.Tensor,
    ratio: torch.Tensor,
    scale: tuple[float, float],
    ink: Ink,
) -> Iterator[str]:
    row, column = place_of_largest(ratio)
    rows, columns = _window(row, want.shape[0]), _window(column, want.shape[1])
    want, got, ratio = (tensor[rows, columns] for tensor in (want, got, ratio))
    off = (got - want).abs()
    farthest = float(off[off.isfinite()].max()) if bool(off.isfinite().any()) else 1.0
    dark = ink.levels[1:]  # a blank would look as if nothing were wrong
    width = max(2 * want.shape[1], len("expected"))
    headings = [heading.ljust(width) for heading in ("expected", "got", "difference")]
    yield "      " + "   ".join(headings).rstrip()
    for place in range(want.shape[0]):
        cells = [
            "".join(2 * _shade(float(x), scale, ink.levels, ink) for x in want[place]),
            "".join(2 * _shade(float(x), scale, ink.levels, ink) for x in got[place]),
            "".join(
                2 * (ink.right if far <= 1 else _shade(float(x), (0.0, farthest), dark, ink))
                for x, far in zip(off[place], ratio[place], strict=True)
            ),
        ]
        drawn = "   ".join(cell.ljust(width) for cell in cells)
        yield f"{rows.start + place:>4}  {drawn}".rstrip()


def _window(worst: int, size: int) -> slice:
    """Returns the bounds of at most `_SIDE` rows or columns around the worst one."""
    start = max(min(worst - _SIDE // 2, size - _SIDE), 0)
    return slice(start, start + _SIDE)


def _range(numbers: torch.Tensor) -> tuple[float, float]:
    finite = numbers[numbers.isfinite()]
    return (float(finite.min()), float(finite.max())) if finite.numel() else (0.0, 1.0)


def _shade(value: float, scale: tuple[float, float], levels: str, ink: Ink) -> str:
    if math.isnan(value):
        return ink.nan
    if math.isinf(value):
        return ink.infinite
    low, high = scale
    share = (value / 2 - low / 2) / (high / 2 - low / 2) if high > low else 1.0
    return levels[min(int(share * len(levels)), len(levels) - 1)]
