"""Runs notebooks in IPython or as a worker does, each in its own process, and prints the results.

Reads a JSON list from standard input: lists of cells for `ipython`, submissions for `here`.
Prints the names that the cells of each define, with their values as text, and the lines not run.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

_PLAIN = (int, float, str, bool, bytes, list, tuple, dict, set, type(None))
_SHELLS_OWN = {"In", "Out", "exit", "quit", "open", "get_ipython", "display"}

Names = dict[str, str]


def in_ipython(cells: list[str]) -> tuple[Names, list[str]]:
    """Returns the names that the cells define in IPython's own shell."""
    from IPython.core.interactiveshell import InteractiveShell

    folder = tempfile.mkdtemp()
    os.chdir(folder)
    os.environ["IPYTHONDIR"] = folder
    sys.path.insert(0, "")
    shell = InteractiveShell.instance()
    for cell in cells:
        shell.run_cell(cell, store_history=True)
    return _names(shell.user_ns), []


def in_worker(taken_in: dict[str, Any]) -> tuple[Names, list[str]]:
    """Returns the names that the cells define in a worker, and the lines that were not run."""
    from grader.worker.notebook import install

    root = Path(taken_in["root"])
    os.chdir(root)
    sys.path[:0] = [str(root / path) for path in taken_in["import_paths"]]
    shell, _ = install(60)
    with contextlib.suppress(BaseException):
        __import__(taken_in["module"])
    return _names(sys.modules["__main__"].__dict__), list(shell.not_run)


def _names(namespace: dict[str, Any]) -> Names:
    return {
        name: _shown(value)
        for name, value in namespace.items()
        if not name.startswith("_") and name not in _SHELLS_OWN
    }


def _shown(value: object) -> str:
    return repr(value) if type(value) in _PLAIN else type(value).__name__


def _in_a_process(run: Callable[[Any], tuple[Names, list[str]]], work: Any) -> Any:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            found = run(work)
        os.write(writing, json.dumps(found).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return json.loads(said or "null")


if __name__ == "__main__":
    runs = {"ipython": in_ipython, "here": in_worker}
    if sys.argv[1] == "ipython":
        import IPython.core.interactiveshell  # noqa: F401  # once for all that are forked from here
    print(json.dumps([_in_a_process(runs[sys.argv[1]], work) for work in json.load(sys.stdin)]))
