"""A notebook's code cells as modules: what only a notebook understands is commented out.

The notebook's file becomes a folder of the same name with a file for each cell, so that an error,
a traceback or `inspect.getsource` says `attention.ipynb/cell 3`, line 4, and means just that.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

_RUNNER = Path(__file__).with_name("cell_runner.py")
# Cell magics that run the rest of their cell as Python.
_TRANSPARENT = ("%%time", "%%timeit", "%%capture", "%%prun")
# A magic, a shell line, one of them assigned, or a question; `% x` and `!= x` may be Python.
_NOT_PYTHON = re.compile(r"%{1,2}[A-Za-z_]|!(?!=)|\?|[\w., ]+=\s*[%!][A-Za-z_]|[\w.]+\?{1,2}$")
_ADAPTER = re.compile(r"^(?:async +)?def +(run_\w+)|^(run_\w+) *(?::[^=\n]*)?=(?!=)", re.MULTILINE)


def as_python(cell: str, *, may_parse: bool) -> str:
    """The cell with what only a notebook understands commented out, each line in its place."""
    lines = cell.split("\n")
    if not any(_NOT_PYTHON.match(line.strip()) for line in lines) or (may_parse and _parses(cell)):
        return cell  # a line that starts with % may also lie in a text
    first = next(line for line in lines if line.strip())
    if first.startswith("%%") and not first.startswith(_TRANSPARENT):
        return "\n".join(f"# {line}" for line in lines)
    return "\n".join(_comment_out(lines))


def runner(notebook_name: str, cells: Sequence[tuple[str, str]]) -> str:
    """The source of the module that runs cells: their names, in the folder of that name, and code.

    It is `cell_runner.py` with a call at its end that also says which adapters each cell defines.
    """
    adapters = {
        name: sorted({one or other for one, other in _ADAPTER.findall(source)})
        for name, source in cells
    }
    call = f"_run_cells({notebook_name!a}, {adapters!a})"
    return f"{_RUNNER.read_text(encoding='utf-8')}\n\n{call}\n"


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
