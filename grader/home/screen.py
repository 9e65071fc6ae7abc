"""The layout of the end of a pytest run on one screen: details give way to headlines."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from shutil import get_terminal_size

import pytest

# A terminal of 40 rows, of which the command and the prompt take two.
_ROWS = 38
# A line of pytest's progress ends in " [100%]".
_PROGRESS = 8
# Code stands below the text of an example, which is indented by four.
_CODE = " " * 8
_HANGING = " " * 4
# Rows of a source line; the place above it leads to the whole line.
_MOST_OF_CODE = 2
_CUT = "…"
# The fewest rows that are worth showing of a shortened text.
_FEWEST = 3

# A line, and how a terminal shows it.
Styled = tuple[str, str]


@dataclass(frozen=True, slots=True)
class PrintedCause:
    """A printed cause: headline and hint, details that may be cut, and the extent."""

    head: Sequence[Styled]
    details: Sequence[str] = ()
    extent: Sequence[str] = ()


class Screen:
    """The terminal: writes lines at most as wide as it is, broken between words."""

    def __init__(self, terminalreporter: pytest.TerminalReporter) -> None:
        self._write = terminalreporter.write_line
        self._width, rows = get_terminal_size((80, _ROWS))
        self._rows = max(rows - 2, _ROWS)

    def show(self, text: str, style: str = "") -> None:
        """Writes a text, broken into rows."""
        for part in self._broken(text):
            self._write(part, **({style: True} if style else {}))

    def rows_of(self, *texts: str) -> int:
        """Returns the rows that texts take."""
        parts = (part for text in texts for part in self._broken(text))
        return sum(-(-len(part) // self._width) or 1 for part in parts)

    def rows_left(self, tests: int, *texts: str) -> int:
        """Returns the rows left by `texts`, the progress of `tests` tests and pytest's own lines.

        These own lines are the first two, the titles above causes and exercises, and the last.
        """
        progress = -(-tests // max(self._width - _PROGRESS, 1))
        return self._rows - progress - 5 - self.rows_of(*texts)

    def fitted(self, told: Sequence[PrintedCause], rows: int) -> list[Styled]:
        """Returns the lines of causes that fit into `rows`, at least the first cause's head.

        Heads take precedence over all details, and details of earlier causes over later ones.
        """
        # The rows of a cause that are never cut, and the empty line before it.
        fixed = [1 + self.rows_of(*(line for line, _ in one.head), *one.extent) for one in told]
        most = next((at for at in range(len(told)) if sum(fixed[: at + 1]) > rows), len(told))
        shown, left = told[: max(most, 1)], len(told) - max(most, 1)
        rows -= sum(fixed[: len(shown)]) + 2 * bool(left)
        lines: list[Styled] = []
        for one in shown:
            details = self._cut(one.details, rows)
            rows -= self.rows_of(*details)
            lines += [("", "")] if lines else []
            lines += [*one.head, *((line, "") for line in (*details, *one.extent))]
        if left:
            more = f"and {left} more cause{'s' if left > 1 else ''}: `pytest -v` shows all"
            lines += [("", ""), (more, "")]
        return lines

    def _cut(self, lines: Sequence[str], rows: int) -> Sequence[str]:
        """Returns the lines, cut to the rows; none if too few would be left."""
        if self.rows_of(*lines) <= rows:
            return lines
        kept: list[str] = []
        for line in lines:
            if self.rows_of(*kept, line) >= rows:
                break
            kept.append(line)
        return [*kept, f"{_HANGING}{_CUT}"] if len(kept) + 1 >= _FEWEST else ()

    def _broken(self, text: str) -> Iterator[str]:
        for line in text.split("\n"):
            words = line.lstrip()
            is_code = line.startswith(_CODE) and not words.startswith("with ")
            indent = line[: len(line) - len(words)]
            if is_code and len(indent) + len(_HANGING) + len(_CUT) >= self._width:
                yield line[: self._width]  # a caret below a column far to the right
                continue
            yield from textwrap.wrap(
                words,
                self._width,
                initial_indent=indent,
                subsequent_indent=indent + _HANGING * is_code,
                break_long_words=is_code,
                break_on_hyphens=False,
                max_lines=_MOST_OF_CODE if is_code else None,
                placeholder=f" {_CUT}",
            ) or [""]
