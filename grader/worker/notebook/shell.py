"""A small `get_ipython()`: magics do what they do to names, files and the environment, no more."""

from __future__ import annotations

import builtins
import contextlib
import os
import re
import sys
from pathlib import Path
from types import FrameType
from typing import Any

from grader.worker.notebook.cells import Cells
from grader.worker.notebook.magics import (
    Captured,
    ImportedNotebooks,
    Lines,
    NotebookModules,
    Nothing,
    WrittenFiles,
    environment,
    repeated,
    run_file,
    timed,
    written,
)

MOST_NOT_RUN, _LONGEST = 20, 80
_ENGINE = str(Path(__file__).parent)
_NAMED = re.compile(r"\{([^{}]+)\}|\$(\w+)")
# What these do is to show something, or to hold for those who type.
_FOR_SHOW = frozenset({
    "autoreload", "load_ext", "reload_ext", "unload_ext", "config", "matplotlib", "precision",
    "pinfo", "pinfo2", "pdoc", "pdef", "psearch", "psource", "pfile", "pycat", "page", "who",
    "whos", "lsmagic", "magic", "quickref", "history", "hist", "colors", "xmode", "pprint",
    "automagic", "autocall", "pdb", "doctest_mode", "autoawait", "logstart", "logstop", "logon",
    "logoff", "logstate", "connect_info", "gui", "dhist", "html", "HTML", "javascript", "js",
    "latex", "markdown", "svg", "SVG", "load_line_profiler", "memit", "lprun", "mprun", "tb",
    "watermark", "clear", "cls", "less", "more", "man", "subplots", "tensorboard",
})  # fmt: skip


class Shell:
    """The shell that `get_ipython()` returns where cells are run.

    `not_run` are the magics and commands that were not run, each with its place, of which those in
    `missed` may have been to define something.
    """

    def __init__(self, cells: Cells, files: WrittenFiles) -> None:
        self._cells = cells
        self._files = files
        self._not_run: dict[str, bool] = {}
        self.config: dict[str, Any] = {}
        self.user_ns: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Nothing:
        if name.startswith("__"):
            raise AttributeError(name)
        return Nothing(f"get_ipython().{name}")

    def __repr__(self) -> str:
        return "<the shell of a notebook>"

    @property
    def not_run(self) -> tuple[str, ...]:
        """Returns the magics and commands that were not run, in order, each once."""
        return tuple(self._not_run)

    @property
    def missed(self) -> tuple[str, ...]:
        """Those of them that are there for more than to show something."""
        return tuple(said for said, is_missed in self._not_run.items() if is_missed)

    def run_main(self, namespace: dict[str, Any], notebook: str) -> None:
        """Runs the cells of the notebook that was handed in, beside the module of a namespace."""
        sys.modules["__main__"] = sys.modules[namespace["__name__"]]
        namespace["__name__"] = "__main__"
        self.user_ns = namespace
        self.run_notebook(namespace, Path(namespace["__file__"]).with_name(notebook))

    def run_notebook(self, namespace: dict[str, Any], notebook: Path) -> None:
        """Runs the cells of a notebook in a namespace."""
        self._cells.run(namespace, notebook)

    def run_line_magic(self, name: str, line: str = "", _stack_depth: int = 1) -> Any:
        """Does what a line's magic does; the value that it has."""
        caller = _caller()
        match name:
            case "time" | "prun":
                return timed(line, caller)
            case "timeit":
                return repeated("", line, caller)
            case "%capture":
                words = [word for word in line.split() if not word.startswith("-")]
                caller.f_globals.update(dict.fromkeys(words[:1], Captured()))
            case "%time" | "%prun":
                return None
            case "env" | "set_env":
                return environment(_expanded(line, caller))
            case "pwd":
                return str(Path.cwd())
            case "cd":
                folder = _expanded(line, caller).removeprefix("-q ").strip("'\" ")
                try:
                    os.chdir(Path(folder or "~").expanduser())
                except OSError:  # IPython prints it and goes on
                    self._skip(f"%cd {line}", True, caller)
            case "run":
                run_file(_expanded(line, caller), caller.f_globals, self.run_notebook)
            case "sx" | "system":
                return self.getoutput(line)
            case _:
                self._skip(f"%{name} {line}".strip(), name not in _FOR_SHOW, caller)
        return None

    def run_cell_magic(self, name: str, line: str, cell: str) -> Any:
        """Does what a cell's magic does; the value that it has."""
        caller = _caller()
        if name in ("writefile", "file"):
            self._files.note(written(_expanded(line, caller), cell))
        elif name == "timeit":
            repeated(line, cell, caller)
        elif name in ("time", "prun", "capture"):
            self.run_line_magic(f"%{name}", line)
            exec(compile(cell, caller.f_code.co_filename, "exec"), caller.f_globals)
        else:
            self._skip(f"%%{name} {line}".strip(), name not in _FOR_SHOW, caller)
        return None

    def magic(self, line: str) -> Any:
        """Does what a line's magic does, told in one text."""
        name, _, rest = line.lstrip("%").partition(" ")
        return self.run_line_magic(name, rest)

    def system(self, command: str) -> None:
        """Runs no command."""
        self._skip(f"!{command.strip()}", True, _caller())

    def getoutput(self, command: str, *_args: object, **_options: object) -> Lines:
        """Runs no command, which has no output."""
        self._skip(f"!{command.strip()}", True, _caller())
        return Lines()

    def run_cell(self, cell: str, *_args: object, **_options: object) -> None:
        """Runs Python in the notebook's namespace."""
        exec(cell, self.user_ns)

    ex = run_cell

    def ev(self, expression: str) -> Any:
        """Returns the value of an expression in the notebook's namespace."""
        return eval(expression, self.user_ns)

    def push(self, names: dict[str, Any], **_options: object) -> None:
        """Adds names to the notebook's."""
        self.user_ns.update(names)

    def _skip(self, what: str, is_missed: bool, caller: FrameType) -> None:
        """Notes that something was not run."""
        if len(self._not_run) < MOST_NOT_RUN:
            shown = " ".join(what.split())
            shown = shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 1]}…"
            self._not_run[f"{shown} ({_place(caller, self._cells.current)})"] = is_missed


def install(seconds: float, root: Path, place: Path) -> tuple[Shell, Cells]:
    """Puts a shell where notebooks find it; what cells may take together are so many seconds.

    `root` is what was handed in, `place` the likeness of it in which can be written.
    """
    cells, files = Cells(seconds), WrittenFiles(root, place)
    shell = Shell(cells, files)
    vars(builtins).update(get_ipython=lambda: shell, display=_display)
    sys.meta_path[:0] = [NotebookModules(shell), files]
    sys.meta_path.append(ImportedNotebooks(shell.run_notebook))
    return shell, cells


def _display(*_values: object, **_options: object) -> None:
    """Stands for the notebook's own: nobody looks here."""


def _caller() -> FrameType:
    """Returns the innermost frame outside of this package: a line of the submission."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_ENGINE):
        frame = frame.f_back
    return frame


def _place(caller: FrameType, cell: str) -> str:
    return cell or f"{Path(caller.f_code.co_filename).name}:{caller.f_lineno}"


def _expanded(line: str, caller: FrameType) -> str:
    """A magic's line with the values of the variables that it names, as far as it has them."""

    def value(found: Any) -> str:
        with contextlib.suppress(Exception):
            return str(eval(found[1] or found[2], caller.f_globals, caller.f_locals))
        return str(found[0])

    return _NAMED.sub(value, line)
