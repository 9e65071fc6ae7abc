"""An instructor's file comes back with the same cells, except for the filled ones."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from grader.reports.export.scores import ExportRefused
from grader.reports.export.sheet import Sheet, harmless, number_in

pytestmark = pytest.mark.unit


def cells_of(text: str, separator: str) -> list[list[str]]:
    """Returns the cells as an independent reader finds them, also on lines without any cell."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    return [row or [""] for row in reader]


def test_untouched_cells_keep_their_text() -> None:
    """The byte order mark, separators and line ends stay as well."""
    text = '\ufeffStudent;ID; note \r\n"Doe; Jane";12;\r\n"a ""b"" c";;x\r\n'
    sheet = Sheet(text)
    assert str(sheet) == text
    sheet.put(1, 2, "7,5")
    sheet.put(2, 1, "8")
    assert str(sheet) == ('\ufeffStudent;ID; note \r\n"Doe; Jane";12;7,5\r\n"a ""b"" c";8;x\r\n')


@pytest.mark.parametrize("value", ['a "b"', "a,b", "a;b", "a\nb", " a ", "é 名", "", "'=1"])
def test_a_filled_cell_is_read_back_unchanged(value: str) -> None:
    """Quotes, separators and line breaks included."""
    sheet = Sheet("a,b\nc,d\n")
    sheet.put(1, 0, value)
    assert cells_of(str(sheet), ",") == [["a", "b"], [value, "d"]]


def test_a_short_row_is_padded_with_empty_cells() -> None:
    """Spreadsheet programs leave out empty cells at a row's end."""
    sheet = Sheet("a,b,c\nd\n")
    assert sheet.cell(1, 2) == ""
    sheet.put(1, 2, "x")
    assert str(sheet) == "a,b,c\nd,,x\n"


def test_the_separator_is_the_one_of_the_header() -> None:
    """Titles may hold the other one."""
    assert Sheet('Student;ID;"Quiz (a, b)"\n').separator == ";"
    assert Sheet("Student,ID,Quiz; hard\n").separator == ","


def test_an_unclosed_quote_is_refused(tmp_path: Path) -> None:
    """Everything after the quote would be one cell, and those students would get no points."""
    file = tmp_path / "gradebook.csv"
    file.write_text('Student,ID\n"Doe, Jane,1\nRoe,2\n')
    with pytest.raises(ExportRefused, match=r"gradebook\.csv:2: a quote .* never closed"):
        Sheet.read(file)


def test_a_missing_or_non_utf8_file_is_refused(tmp_path: Path) -> None:
    """The file is in a spreadsheet program's own format, or in an old encoding."""
    file = tmp_path / "gradebook.csv"
    with pytest.raises(ExportRefused, match="cannot be read: No such file"):
        Sheet.read(file)
    file.write_bytes("Student,ID\nMüller,1\n".encode("latin-1"))
    with pytest.raises(ExportRefused, match="not a CSV file in UTF-8"):
        Sheet.read(file)


def test_numbers_are_read_as_canvas_reads_them() -> None:
    """The last point or comma is the decimal one, and words are not numbers."""
    read = {"10": 10.0, " 7.50 ": 7.5, "1,5": 1.5, "1,000.5": 1000.5, "1.000,5": 1000.5, "-2": -2.0}
    assert {cell: number_in(cell) for cell in read} == read
    assert [number_in(cell) for cell in ("", "-", "EX", "(read only)", "1e3", "80%")] == [None] * 6


@pytest.mark.parametrize(
    "text",
    ["=1+1", "+1", "-1+1", "@sum", "\t=1", "\r=1", "\n=1", " =1", "＝1", "=\x00", "-", "+49"],
)
def test_no_text_starts_a_formula(text: str) -> None:
    """A spreadsheet runs any cell that begins like this, and names are untrusted."""
    assert harmless(text) == "'" + text.replace("\x00", "")


@pytest.mark.parametrize("mark", [";", "; ", "\t", "\n", ';"'])
def test_no_part_of_a_text_starts_a_formula_under_another_separator(mark: str) -> None:
    """A spreadsheet of another language splits a comma's file at semicolons."""
    assert harmless(f"a{mark}=1+1") == f"a{mark}'=1+1"


@pytest.mark.parametrize("text", ["-5", "-0.5", "-1,5", "12", "a=1", "Jane", "O'Neil", "", "é"])
def test_numbers_and_other_text_stay_as_they_are(text: str) -> None:
    """A negative number is not a formula."""
    assert harmless(text) == text
