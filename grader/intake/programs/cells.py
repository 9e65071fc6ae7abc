"""A notebook's code cells as Python: IPython's own transformation of cells, each line in its place.

The notebook's file becomes a folder of the same name with a file for each cell, so that an error,
a traceback or `inspect.getsource` says `attention.ipynb/cell 3`, line 4, and means just that.
Magics and shell lines are calls of `get_ipython()`: see `grader.worker.notebook`.
"""

from __future__ import annotations

import ast
import functools
import re
import shlex
import warnings
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

# Cell magics whose body runs in the notebook's own namespace, as if it stood there alone.
_TRANSPARENT = ("time", "capture", "prun")
_WRITING = ("writefile", "file")
_CELL_MAGIC = re.compile(r"%%(\w+)(?!\w*\?)[ \t]*(.*)")
# A cell of one line may leave out the percent sign of these.
_AUTOMAGIC = re.compile(r"(?:cd|pwd|ls|run|time|timeit|env|pip|conda|load_ext|matplotlib)\b[^=]*")
_LONGEST_LINE = 400  # characters of a line that may be a magic's without a sign


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A file that a cell writes when it is run, by its path as it stands there."""

    path: str
    text: str
    is_appended: bool


def as_python(cell: str) -> str:
    """The cell with all that only IPython understands as calls, each line keeping its number."""
    lines = f"{cell}\n".splitlines(keepends=True)
    empty = [*takewhile(str.isspace, lines)]
    magic = _cell_magic(cell)
    if magic is None:
        return "".join(empty) + _transformed(_with_percent_sign(cell, lines))
    name, line, body = magic
    if name in _TRANSPARENT:
        begin = f"get_ipython().run_line_magic({f'%{name}'!r}, {line!r})\n"
        return "".join((*empty, begin, as_python(body)))
    body = as_python(body) if name == "timeit" else body
    return "".join((*empty, f"get_ipython().run_cell_magic({name!r}, {line!r}, {body!r})\n"))


def written_file(cell: str) -> WrittenFile | None:
    """The file that a cell writes, if it is a cell of `%%writefile`."""
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
    """A cell magic's name, the rest of its line and its body; None of other cells."""
    first, _, body = cell.lstrip().partition("\n")
    found = _CELL_MAGIC.fullmatch(first.rstrip())
    return (found[1], found[2], body) if found else None


def _with_percent_sign(cell: str, lines: list[str]) -> str:
    """The cell, a magic of one line with the percent sign that IPython lets people leave out."""
    alone = [line.strip() for line in lines if not line.isspace()]
    is_magic = len(alone) == 1 and len(alone[0]) < _LONGEST_LINE and _AUTOMAGIC.fullmatch(alone[0])
    return f"%{alone[0]}" if is_magic and not _parses(alone[0]) else cell


def _transformed(cell: str) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return str(_manager().transform_cell(cell))
        except (RuntimeError, RecursionError):  # more magics than IPython takes in one cell
            return cell


@functools.cache
def _manager() -> Any:
    """IPython's transformation, with what keeps each line's number; loaded with the first cell."""
    from IPython.core.inputtransformer2 import TransformerManager

    manager = TransformerManager()  # type: ignore[no-untyped-call]
    manager.token_transformers = [_keeping_lines(one) for one in manager.token_transformers]
    return manager


def _keeping_lines(transformer: type[Any]) -> type[Any]:
    """A transformer whose continued lines leave empty ones behind."""

    class KeepingLines(transformer):  # type: ignore[misc]
        def transform(self, lines: list[str]) -> list[str]:
            changed: list[str] = super().transform(lines)
            after = self.start_line + 1
            return [*changed[:after], *["\n"] * (len(lines) - len(changed)), *changed[after:]]

    return KeepingLines


def _parses(line: str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(line)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
    return True
