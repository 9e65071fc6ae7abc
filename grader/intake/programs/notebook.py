"""Reading notebooks of every version of nbformat; nothing in them is run here."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from grader.core.submission import Unreadable
from grader.intake.copying.limits import FileAllowance
from grader.intake.naming import shortened, size_in_words
from grader.intake.programs.cells import WrittenFile, as_python, written_file

_NEWEST = 4  # version of nbformat
# What nbformat calls a code cell's source, in versions 4, 3 and 2, and 1.
_SOURCES = ("source", "input", "code")
_LONGEST_READ = 1 << 20  # characters of one notebook whose magics are looked for
_MOST_CELLS = 10_000  # of every kind; the largest notebooks have some hundreds


@dataclass(frozen=True, slots=True)
class Notebook:
    """The code cells in order, as Python, each with the file that it writes; no empty cells."""

    cells: tuple[str, ...]
    written: tuple[WrittenFile | None, ...]

    @property
    def files(self) -> list[WrittenFile]:
        """The files that cells write, in order."""
        return [file for file in self.written if file is not None]

    @property
    def sources(self) -> list[str]:
        """The code as people read it: of a cell that writes a file, the file's."""
        return [
            cell if file is None else file.text
            for cell, file in zip(self.cells, self.written, strict=True)
        ]


def read_notebook(content: bytes, allowance: FileAllowance) -> Notebook:
    """Reads a notebook as it was saved.

    Raises:
        Unreadable: if the bytes are no notebook, or one for another language, hold no code, or
            more of it than allowed for source files.
    """
    document = _document(content)
    language = _language(document)
    if not language.casefold().startswith(("python", "ipython")):
        raise Unreadable(
            f"the notebook is for {shortened(language)}, not for Python: choose a Python kernel"
        )
    cells = [cell for cell in _sources(document) if cell.strip()]
    if not cells:
        raise Unreadable("the notebook holds no code cells")
    if len(cells) > allowance.files or sum(map(len, cells)) > allowance.bytes_each:
        raise Unreadable(
            f"the notebook holds more than {allowance.files} code cells, or more than "
            f"{size_in_words(allowance.bytes_each)} of code"
        )
    left = _LONGEST_READ
    python = []
    for cell in cells:
        left -= len(cell)
        python.append(as_python(cell) if left >= 0 else cell)
    return Notebook(tuple(python), tuple(map(written_file, cells)))


def _document(notebook: bytes) -> dict[str, Any]:
    """Parses the notebook as it was saved, of whatever version that is read here."""
    # Before it is parsed: each may take a thousand times the memory. What quotes a cell, as an
    # output may, has backslashes there.
    if notebook.count(b'"cell_type"') > _MOST_CELLS:
        raise Unreadable(f"the notebook holds more than {_MOST_CELLS:,} cells")
    try:
        document = json.loads(notebook)
    except (ValueError, RecursionError) as error:
        where = f" (line {error.lineno})" if isinstance(error, json.JSONDecodeError) else ""
        raise Unreadable(
            f"the notebook is damaged, it is no JSON{where}: save it again and hand that in"
        ) from error
    if not isinstance(document, dict) or not document.keys() & {"cells", "worksheets"}:
        raise Unreadable("the file is JSON but no notebook: it has no cells")
    version = document.get("nbformat")
    if isinstance(version, int) and version > _NEWEST:
        raise Unreadable(
            f"the notebook is of version {version} of nbformat: save it as version {_NEWEST}"
        )
    return document


def _language(document: dict[str, Any]) -> str:
    """The language of the notebook's kernel; Python where it does not say."""
    metadata = document.get("metadata")
    for table, key in (("language_info", "name"), ("kernelspec", "language")):
        described = metadata.get(table) if isinstance(metadata, dict) else None
        named = described.get(key) if isinstance(described, dict) else None
        if isinstance(named, str) and named:
            return named
    return "python"


def _sources(document: dict[str, Any]) -> Iterator[str]:
    """Yields the sources of the code cells, whatever else the cells are."""
    sheets = [document] if "cells" in document else _listed(document, "worksheets")
    for cell in (cell for sheet in sheets for cell in _listed(sheet, "cells")):
        if isinstance(cell, dict) and cell.get("cell_type") == "code":
            source = next((cell[key] for key in _SOURCES if key in cell), "")
            lines = source if isinstance(source, list) else [source]
            yield "".join(line for line in lines if isinstance(line, str))


def _listed(document: Any, key: str) -> list[Any]:
    value = document.get(key) if isinstance(document, dict) else None
    return value if isinstance(value, list) else []
