"""An instructor's own CSV file: cells change one by one, every other byte stays.

`csv` reads cells but forgets how they were written: which were quoted, what separated them, how
the lines ended. Course platforms care little, but a file that comes back all changed cannot be
compared with the one that went out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from grader.core.text import points
from grader.reports.export.remarks import ExportRefused

_NUMBER = re.compile(r"-?[0-9]+(?:[.,][0-9]+)*")
_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def figure(number: float, decimal: str = ".") -> str:
    """Returns points with two decimals at most, as many as Canvas compares."""
    return points(number).replace(".", decimal)


def number_in(cell: str) -> float | None:
    """Returns a cell's number, read as Canvas does: the last `.` or `,` is the decimal mark."""
    text = cell.strip()
    if not _NUMBER.fullmatch(text):
        return None
    *whole, decimals = re.split("[.,]", text)
    return float(f"{''.join(whole)}.{decimals}" if whole else decimals)


def harmless(text: str) -> str:
    """Returns text that no spreadsheet takes for a formula; numbers stay as they are.

    Control characters, which some readers stumble over, are dropped; line breaks and tabs stay.
    """
    text = _CONTROL.sub("", text)
    risky = text[:1] in {"\t", "\r", "\n"} or text.lstrip().startswith(_FORMULA)
    return f"'{text}" if risky and not _NUMBER.fullmatch(text) else text


_BOM = "\ufeff"
_LINE_ENDS = ("\r\n", "\r", "\n", "")
_QUOTED_CELL = re.compile(r'"((?:[^"]++|"")*+)"')


class Sheet:
    """Rows of cells as they are written in the file."""

    def __init__(self, text: str) -> None:
        """Takes the text apart.

        Raises:
            ExportRefused: if a quote is never closed.
        """
        self._bom = _BOM if text.startswith(_BOM) else ""
        self._rows: list[list[str]] = []
        self._ends: list[str] = []
        body = text.removeprefix(_BOM)
        self.separator = max(",;", key=lambda separator: _header_size(body, separator))
        row: list[str] = []
        for raw, end in _cells(body, self.separator):
            row.append(raw)
            if end in _LINE_ENDS:
                self._rows.append(row)
                self._ends.append(end)
                row = []

    @classmethod
    def read(cls, file: Path) -> Sheet:
        """Returns the sheet in a file.

        Raises:
            ExportRefused: if it cannot be read, or is no CSV in UTF-8.
        """
        try:
            return cls(file.read_bytes().decode("utf-8"))
        except OSError as error:
            raise ExportRefused(f"{file} cannot be read: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise ExportRefused(
                f"{file} is not a CSV file in UTF-8: give the file as the platform wrote it, "
                "or save it as CSV UTF-8"
            ) from error
        except ExportRefused as refusal:
            raise ExportRefused(f"{file}:{refusal}") from None

    def __str__(self) -> str:
        lines = (
            self.separator.join(row) + end for row, end in zip(self._rows, self._ends, strict=True)
        )
        return self._bom + "".join(lines)

    def __len__(self) -> int:
        return len(self._rows)

    def row(self, number: int) -> list[str]:
        """Returns the texts of a row's cells."""
        return [_said(raw) for raw in self._rows[number]]

    def cell(self, row: int, column: int) -> str:
        """Returns the text of a cell; an empty text if the row is too short to have the cell."""
        cells = self._rows[row]
        return _said(cells[column]) if column < len(cells) else ""

    def put(self, row: int, column: int, text: str) -> None:
        """Writes a cell, in quotes if it was quoted before or has to be."""
        cells = self._rows[row]
        cells.extend([""] * (column + 1 - len(cells)))
        was_quoted = cells[column].startswith('"')
        cells[column] = _quoted(text) if was_quoted else _written(text, self.separator)


def row_text(cells: list[str]) -> str:
    """Returns a line for a new sheet."""
    return ",".join(_written(cell, ",") for cell in cells) + "\n"


def _written(text: str, separator: str) -> str:
    """Returns a cell, in quotes if some reader would otherwise end it too early."""
    return _quoted(text) if any(mark in text for mark in f'{separator};"\t\r\n') else text


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _cells(text: str, separator: str) -> Iterator[tuple[str, str]]:
    """Yields each cell as it is written, and what ends it."""
    plain = rf"[^{separator}\r\n]*"
    cell = re.compile(rf'({_QUOTED_CELL.pattern}{plain}|(?!"){plain})({separator}|\r\n|\r|\n|\Z)')
    place, end = 0, ""
    while place < len(text):
        found = cell.match(text, place)
        if found is None:
            line = text.count("\n", 0, place) + 1
            raise ExportRefused(f"{line}: a quote that is opened there is never closed")
        raw, end = found[1], found[3]
        yield raw, end
        place = found.end()
    if end == separator:
        yield "", ""


def _header_size(text: str, separator: str) -> int:
    size = 0
    for _, end in _cells(text, separator):
        size += 1
        if end in _LINE_ENDS:
            break
    return size


def _said(raw: str) -> str:
    quoted = _QUOTED_CELL.match(raw)
    if quoted is None:
        return raw
    return quoted[1].replace('""', '"') + raw[quoted.end() :]
