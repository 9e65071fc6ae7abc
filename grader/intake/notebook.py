"""Notebooks as modules: a file for each code cell, and a module that runs them in order.

The notebook's file becomes a folder of the same name, so that an error, a traceback or
`inspect.getsource` says `attention.ipynb/cell 3`, line 4, and means just that.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Iterator
from typing import Any

from grader.submission import Unreadable

# Cell magics that run the rest of their cell as Python.
_TRANSPARENT = ("%%time", "%%timeit", "%%capture", "%%prun")
_NOT_PYTHON = re.compile(r"^(\s*)(?:[%!?]|[\w., ]+=\s*[%!]|.*[\w)\]]\?{1,2}\s*$)")

_RUNNER = '''\
"""Runs the cells of a notebook in order; an error in one does not keep the others from running.

`__cell_errors__` holds the traceback of each cell that raised, by the cell's name.
"""

__cell_errors__ = {{}}


def display(*values, **options):
    """Stands for the notebook's own: nobody looks here."""


def _run_cells(notebook, cells):
    import sys
    import traceback
    from pathlib import Path

    first = None
    for cell in cells:
        path = Path(__file__).parent / notebook / cell
        try:
            exec(compile(path.read_bytes(), str(path), "exec", dont_inherit=True), globals())
        except (Exception, SystemExit) as error:
            first = first or error
            __cell_errors__[cell] = "".join(traceback.format_exception(error))
            print(__cell_errors__[cell], file=sys.stderr)
    if first is not None and not any(name.startswith("run_") for name in globals()):
        raise first


_run_cells({notebook!a}, {cells!a})
'''


def code_cells(notebook: bytes) -> list[str]:
    """The code cells of a notebook (nbformat 3 and later) in order, as Python; no empty ones.

    Magics and shell lines are commented out, each line keeping its number. Raises Unreadable
    when the bytes are no notebook.
    """
    try:
        document = json.loads(notebook)
    except (ValueError, RecursionError) as error:
        raise Unreadable("the notebook is damaged: it is no JSON") from error
    cells = list(_cells(document))
    if not cells and not _has_cells(document):
        raise Unreadable("the notebook holds no list of cells")
    return [_as_python(cell) for cell in cells if cell.strip()]


def runner(notebook_name: str, cell_names: list[str]) -> str:
    """The source of the module that runs the cells in the folder `notebook_name` beside it."""
    return _RUNNER.format(notebook=notebook_name, cells=cell_names)


def _has_cells(document: Any) -> bool:
    return isinstance(document, dict) and bool({"cells", "worksheets"} & document.keys())


def _cells(document: Any) -> Iterator[str]:
    """The sources of the code cells of whatever JSON this is."""
    sheets = [document, *_listed(document, "worksheets")]
    for cell in (cell for sheet in sheets for cell in _listed(sheet, "cells")):
        if isinstance(cell, dict) and cell.get("cell_type") == "code":
            source = cell.get("source", cell.get("input", ""))
            lines = source if isinstance(source, list) else [source]
            yield "".join(line for line in lines if isinstance(line, str))


def _listed(document: Any, key: str) -> list[Any]:
    value = document.get(key) if isinstance(document, dict) else None
    return value if isinstance(value, list) else []


def _as_python(cell: str) -> str:
    """The cell with what only a notebook understands commented out."""
    if _parses(cell):  # a line that starts with % may be the middle of an expression
        return cell
    lines = cell.split("\n")
    first = next(line for line in lines if line.strip())
    if first.startswith("%%") and not first.startswith(_TRANSPARENT):
        return "\n".join(f"# {line}" for line in lines)
    return "\n".join(_comment_out(lines))


def _comment_out(lines: list[str]) -> Iterator[str]:
    continued = False
    for line in lines:
        match = _NOT_PYTHON.match(line)
        if continued:
            yield f"# {line}"
        elif match:
            yield f"{match[1]}pass  # {line.strip()}"  # may be the only line of a block
        else:
            yield line
        continued = (continued or match is not None) and line.endswith("\\")


def _parses(cell: str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(cell)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
    return True
