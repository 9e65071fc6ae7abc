"""Notebooks of every version of nbformat: code cells as Python, with unchanged line numbers.

In a private copy a notebook becomes a folder of cells, beside the files that its cells write.
"""

from __future__ import annotations

import ast
import functools
import json
import os
import re
import shlex
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

from grader.core.names import shortened
from grader.core.submission import Unreadable
from grader.intake.copying import PrivateCopy, is_of_the_machine
from grader.intake.limits import FileAllowance, size_in_words

# Cell magics whose body runs in the notebook's own namespace, as if it stood there alone.
_TRANSPARENT = ("time", "capture", "prun")
_WRITING = ("writefile", "file")
_CELL_MAGIC = re.compile(r"%%(\w+)(?!\w*\?)[ \t]*(.*)")


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A file that a cell writes when it runs, with its path as the cell has it."""

    path: str
    text: str
    is_appended: bool


def as_python(cell: str) -> str:
    """Returns the cell with IPython's syntax as calls, on unchanged line numbers."""
    begun: list[str] = []
    while True:
        begun += takewhile(str.isspace, f"{cell}\n".splitlines(keepends=True))
        magic = _cell_magic(cell)
        if magic is None:
            return "".join([*begun, _transformed(cell)])
        name, line, cell = magic
        if name not in _TRANSPARENT:
            call = f"get_ipython().run_cell_magic({name!r}, {line!r}, {cell!r})\n"
            return "".join([*begun, call])
        is_bound = name == "capture"
        begun.append(f"get_ipython().run_line_magic('%{name}', {line!r})\n" if is_bound else "\n")


def written_file(cell: str) -> WrittenFile | None:
    """Returns the file that a cell writes, if it is a cell of `%%writefile`."""
    magic = _cell_magic(cell)
    if magic is None or magic[0] not in _WRITING:
        return None
    try:
        words = shlex.split(magic[1])
    except ValueError:
        return None
    names = [word for word in words if word not in ("-a", "--append")]
    return WrittenFile(names[0], magic[2], len(names) < len(words)) if len(names) == 1 else None


def _cell_magic(cell: str) -> tuple[str, str, str] | None:
    """Returns a cell magic's name, the rest of its line and its body; None for other cells."""
    first, _, body = cell.lstrip().partition("\n")
    found = _CELL_MAGIC.fullmatch(first.rstrip())
    return (found[1], found[2], body) if found else None


def _transformed(cell: str) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return str(_manager().transform_cell(cell))
        except (RuntimeError, RecursionError):  # more magics than IPython takes in one cell
            return cell


@functools.cache
def _manager() -> Any:
    """Returns IPython's transformer, changed to keep line numbers; the first cell loads it."""
    from IPython.core.inputtransformer2 import TransformerManager

    manager = TransformerManager()
    manager.token_transformers = [_keeping_lines(one) for one in manager.token_transformers]
    return manager


def _keeping_lines(transformer: type[Any]) -> type[Any]:
    """Returns a transformer that leaves an empty line in the place of each joined line."""

    class KeepingLines(transformer):  # type: ignore[misc]
        def transform(self, lines: list[str]) -> list[str]:
            changed: list[str] = super().transform(lines)
            after = self.start_line + 1
            return [*changed[:after], *["\n"] * (len(lines) - len(changed)), *changed[after:]]

    return KeepingLines


def syntax_tree(source: bytes | str) -> ast.Module:
    """Returns the syntax tree of a program; an empty one if it cannot be parsed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on students' escapes, which are not reported here
        try:
            return ast.parse(source)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return ast.Module([], [])


_NEWEST = 4  # version of nbformat
# The key of a code cell's source in nbformat 4, in 3 and 2, and in 1.
_SOURCES = ("source", "input", "code")
_LONGEST_READ = 1 << 20  # characters of one notebook that are searched for magics
_MOST_CELLS = 10_000  # of every kind; the largest notebooks have some hundreds


@dataclass(frozen=True, slots=True)
class Notebook:
    """The code cells in order, as Python, each with the file that it writes; no empty cells."""

    cells: tuple[str, ...]
    written: tuple[WrittenFile | None, ...]

    @property
    def files(self) -> list[WrittenFile]:
        """Returns the files that cells write, in order."""
        return [file for file in self.written if file is not None]

    @property
    def sources(self) -> list[str]:
        """Returns the code of each cell; for a cell that writes a file, the file's text."""
        return [
            cell if file is None else file.text
            for cell, file in zip(self.cells, self.written, strict=True)
        ]


def read_notebook(content: bytes, allowance: FileAllowance) -> Notebook:
    """Reads a notebook as it was saved.

    Raises:
        Unreadable: if it is not a notebook, is for another language, has no code, or has more code
            than is allowed for source files.
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
    # Counted before parsing, because a cell may take a thousand times its size in memory. Quoted
    # cells, for example in outputs, have backslashes there and do not count.
    if notebook.count(b'"cell_type"') > _MOST_CELLS:
        raise Unreadable(f"the notebook holds more than {_MOST_CELLS:,} cells")
    try:
        document = json.loads(notebook)
    except (ValueError, RecursionError) as error:
        where = f" (line {error.lineno})" if isinstance(error, json.JSONDecodeError) else ""
        raise Unreadable(
            f"the notebook is damaged, it is not JSON{where}: save it again and hand that in"
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
    """Returns the language of the notebook's kernel; Python if it names none."""
    metadata = document.get("metadata")
    for table, key in (("language_info", "name"), ("kernelspec", "language")):
        described = metadata.get(table) if isinstance(metadata, dict) else None
        named = described.get(key) if isinstance(described, dict) else None
        if isinstance(named, str) and named:
            return named
    return "python"


def _sources(document: dict[str, Any]) -> Iterator[str]:
    """Yields the sources of the code cells; leaves out malformed cells."""
    sheets = [document] if "cells" in document else _listed(document, "worksheets")
    for cell in (cell for sheet in sheets for cell in _listed(sheet, "cells")):
        if isinstance(cell, dict) and cell.get("cell_type") == "code":
            source = next((cell[key] for key in _SOURCES if key in cell), "")
            lines = source if isinstance(source, list) else [source]
            yield "".join(line for line in lines if isinstance(line, str))


def _listed(document: Any, key: str) -> list[Any]:
    value = document.get(key) if isinstance(document, dict) else None
    return value if isinstance(value, list) else []


_RUNNER = "The cells of the notebook beside this file, run in order."


def unfold(place: Path, notebook: Notebook) -> None:
    """Replaces a notebook by a folder with a file for each cell."""
    place.unlink()
    folder = PrivateCopy(place)
    for number, cell in enumerate(notebook.cells, 1):
        folder.write([f"cell {number}"], [cell.encode("utf-8", "replace")])


def write_runner(notebook: Path, names: Iterable[str]) -> Path:
    """Writes a module beside a notebook that runs its cells, under the first free name."""
    free = next(name for name in names if not os.path.lexists(notebook.with_name(name)))
    module = notebook.with_name(free)
    text = f"get_ipython().run_main(globals(), {notebook.name!a})"
    module.write_text(f'"""{_RUNNER}"""\n\n{text}\n', "utf-8")
    module.chmod(0o644)
    return module


def write_files(root: Path, folder: Path, files: Sequence[WrittenFile]) -> list[Path]:
    """Writes the final state of Python files that a notebook's cells write; returns their paths.

    Leaves files outside of `root`, and files that cannot be written, to the cells themselves.
    """
    written: dict[Path, None] = {}
    for file in files:
        place = Path(os.path.normpath(folder / file.path))
        if not place.is_relative_to(root) or place.suffix != ".py":
            continue
        try:
            earlier = place.read_text("utf-8") if file.is_appended and place.exists() else ""
            for outer in reversed([one for one in place.parents if not one.exists()]):
                outer.mkdir()
                outer.chmod(0o755)  # despite the umask
            place.write_text(earlier + file.text, "utf-8")
            place.chmod(0o644)
        except (OSError, ValueError) as problem:
            if is_of_the_machine(problem):
                raise
            continue
        written[place] = None
    return list(written)
