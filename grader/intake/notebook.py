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

from grader.intake.limits import Allowance
from grader.intake.naming import size_in_words
from grader.submission import Unreadable

# Cell magics that run the rest of their cell as Python.
_TRANSPARENT = ("%%time", "%%timeit", "%%capture", "%%prun")
# A magic, a shell line, one of them assigned, or a question; `% x` and `!= x` may be Python.
_NOT_PYTHON = re.compile(r"%{1,2}[A-Za-z_]|!(?!=)|\?|[\w., ]+=\s*[%!][A-Za-z_]|[\w.]+\?{1,2}$")

_LONGEST_PARSED = 1 << 18  # characters of one notebook

_RUNNER = '''\
"""Runs the cells of a notebook in order; an error in one does not keep the others from running.

`__cell_errors__` holds the traceback of each cell that raised, by the cell's name.
"""

__cell_errors__ = {{}}


def display(*values, **options):
    """Stands for the notebook's own: nobody looks here."""


def _run_cells(notebook, cells):
    import __future__
    import sys
    import traceback
    from pathlib import Path

    first = None
    flags = 0
    for cell in cells:
        path = Path(__file__).parent / notebook / cell
        try:
            code = compile(path.read_bytes(), str(path), "exec", flags, dont_inherit=True)
            # A future import holds for the later cells too, as in a notebook.
            flags |= code.co_flags & __future__.annotations.compiler_flag
            exec(code, globals())
        except (Exception, SystemExit) as error:
            first = first or error
            __cell_errors__[cell] = "".join(traceback.format_exception(error))
            print(__cell_errors__[cell], file=sys.stderr)
    if first is not None and not any(name.startswith("run_") for name in globals()):
        raise first


_run_cells({notebook!a}, {cells!a})
'''


def code_cells(notebook: bytes, allowance: Allowance) -> list[str]:
    """The code cells of a notebook (nbformat 3 and later) in order, as Python; no empty ones.

    Magics and shell lines are commented out, each line keeping its number. Raises Unreadable
    when the bytes are no notebook, hold no code, or more of it than allowed for source files.
    """
    try:
        document = json.loads(notebook)
    except (ValueError, RecursionError) as error:
        raise Unreadable("the notebook is damaged: it is no JSON") from error
    cells = [cell for cell in _cells(document) if cell.strip()]
    if not cells:
        raise Unreadable("the notebook holds no code cells")
    if len(cells) > allowance.files or sum(map(len, cells)) > allowance.bytes_each:
        raise Unreadable(
            f"the notebook holds more than {allowance.files} code cells, or more than "
            f"{size_in_words(allowance.bytes_each)} of code"
        )
    parsed = 0
    python = []
    for cell in cells:
        parsed += len(cell)
        python.append(_as_python(cell, may_parse=parsed <= _LONGEST_PARSED))
    return python


def runner(notebook_name: str, cell_names: list[str]) -> str:
    """The source of the module that runs the cells in the folder `notebook_name` beside it."""
    return _RUNNER.format(notebook=notebook_name, cells=cell_names)


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


def _as_python(cell: str, *, may_parse: bool) -> str:
    """The cell with what only a notebook understands commented out."""
    lines = cell.split("\n")
    if not any(_NOT_PYTHON.match(line.strip()) for line in lines) or (may_parse and _parses(cell)):
        return cell  # a line that starts with % may also lie in a text
    first = next(line for line in lines if line.strip())
    if first.startswith("%%") and not first.startswith(_TRANSPARENT):
        return "\n".join(f"# {line}" for line in lines)
    return "\n".join(_comment_out(lines))


def _comment_out(lines: list[str]) -> Iterator[str]:
    continued = False
    for line in lines:
        text = line.strip()
        foreign = continued or _NOT_PYTHON.match(text) is not None
        if continued:
            yield f"# {text}"
        elif foreign:
            yield f"{line[: len(line) - len(line.lstrip())]}pass  # {text}"  # may be all of a block
        else:
            yield line
        continued = foreign and text.endswith("\\")


def _parses(cell: str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(cell)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
    return True
