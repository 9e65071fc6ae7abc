"""A small `get_ipython()`, whose magics change only names, files and the environment.

Cells run in order; an error in one does not keep the others from running.
"""

from __future__ import annotations
import __future__

import builtins
import functools
import importlib.machinery
import os
import re
import shlex
import sys
import time
from collections.abc import Callable
from itertools import takewhile
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any

from grader.core.names import is_adapter
from grader.worker.packages import Folders, Spec
from grader.worker.stubs import SilentFinder, Stub, silent_stub
from grader.worker.trials.alarm import Alarm, TooLong

# A function that a cell defines, or a name that it sets.
_DEFINED = re.compile(r"^(?:async +)?def +(\w+)|^(\w+) *(?::[^=\n]*)?=(?!=)", re.MULTILINE)
# A cell that idles may take this many times as long.
_WAITING = 2
_NUMBER = re.compile(r"\d+")


class TookTooLong(Exception):
    """A cell took too long and was ended, so that the other cells run."""


class Cells:
    """The cells of a notebook, which may take `seconds` together.

    Each may take half of the time that is left, so that none uses up the others' time. `failed`
    holds their exceptions by place; `current` is the place of the running cell.
    """

    def __init__(self, seconds: float) -> None:
        self._left = seconds
        self.failed: dict[str, BaseException] = {}
        self.current = ""

    def run(self, namespace: dict[str, Any], notebook: Path) -> None:
        """Runs all cells of the notebook in the folder `notebook`.

        Raises:
            BaseException: the first exception of a cell, if no adapter is defined.
        """
        flags = 0
        failed: dict[Path, BaseException] = {}
        for cell in sorted(notebook.iterdir(), key=_number):
            self.current = place = f"{notebook.name}/{cell.name}"
            try:
                code = _compiled(cell, flags)
                # A future import also holds for the later cells, as in a notebook.
                flags |= code.co_flags & __future__.annotations.compiler_flag
                self._timed(functools.partial(eval, code, namespace))
            except (Exception, SystemExit) as error:
                failed[cell] = self.failed[place] = error
        self.current = ""
        if failed and not any(map(is_adapter, namespace)):
            raise next(iter(failed.values()))
        for cell, raised in failed.items():
            for name in _adapters(cell):
                namespace.setdefault(name, _undefined(name, cell.name, raised))

    def _timed(self, run: Callable[[], Any]) -> None:
        """Runs a cell within its time limit."""
        alarm, seconds = Alarm(_WAITING), self._left / 2
        computed, began = time.process_time(), time.monotonic()
        try:
            with alarm.held():
                alarm.set(seconds)
                run()
        except TooLong as ended:
            said = f"it took longer than {seconds:.3g} seconds and was ended"
            raise TookTooLong(said).with_traceback(ended.__traceback__) from None
        finally:
            waited = (time.monotonic() - began) / _WAITING
            self._left -= min(max(time.process_time() - computed, waited), seconds)


def _compiled(cell: Path, flags: int) -> CodeType:
    # As text: no declared encoding may make the code differ from the text that is shown.
    code: CodeType = compile(cell.read_text("utf-8"), str(cell), "exec", flags, dont_inherit=True)
    return code


def _number(cell: Path) -> int:
    found = _NUMBER.search(cell.name)
    return int(found[0]) if found else 0


def _adapters(cell: Path) -> list[str]:
    """Returns the adapters that a cell would define."""
    source = cell.read_text("utf-8", "replace")
    names = {one or other for one, other in _DEFINED.findall(source)}
    return sorted(filter(is_adapter, names))


def _undefined(name: str, cell: str, error: BaseException) -> Callable[..., None]:
    """Returns an adapter that raises the error which kept its cell from defining it."""

    def adapter(*_args: object, **_options: object) -> None:
        if isinstance(error, SyntaxError):
            place = (error.filename, error.lineno, error.offset, error.text)
            raise SyntaxError(f"{error.msg}, so {name} is not defined", place)
        reason = f"{cell} raised {type(error).__name__}: {error}, so {name} is not defined"
        raise NameError(reason).with_traceback(error.__traceback__)

    return adapter


_MOST_NOT_RUN, _LONGEST = 20, 80
_ENGINE = str(Path(__file__).with_suffix(""))
# Magics that only show something or only matter to interactive users.
_FOR_SHOW = frozenset({
    "autoreload", "load_ext", "reload_ext", "unload_ext", "config", "matplotlib", "precision",
    "pinfo", "pinfo2", "pdoc", "pdef", "psearch", "psource", "pfile", "pycat", "page", "who",
    "whos", "lsmagic", "magic", "quickref", "history", "hist", "colors", "xmode", "pprint",
    "automagic", "autocall", "pdb", "doctest_mode", "autoawait", "logstart", "logstop", "logon",
    "logoff", "logstate", "connect_info", "gui", "dhist", "html", "HTML", "javascript", "js",
    "latex", "markdown", "svg", "SVG", "load_line_profiler", "memit", "lprun", "mprun", "tb",
    "timeit", "watermark", "clear", "cls", "less", "more", "man", "subplots", "tensorboard",
})  # fmt: skip


class Shell:
    """The shell that `get_ipython()` returns where cells are run.

    `not_run` holds the commands that were not run, each with its place, and the magics that may
    define something.
    """

    def __init__(self, cells: Cells) -> None:
        self._cells = cells
        self._not_run: dict[str, None] = {}

    def __getattr__(self, name: str) -> Stub:
        if name.startswith("__"):
            raise AttributeError(name)
        return silent_stub()

    def __repr__(self) -> str:
        return "<the shell of a notebook>"

    @property
    def not_run(self) -> tuple[str, ...]:
        """Returns the magics and commands that were not run, in order, each once."""
        return tuple(self._not_run)

    def run_main(self, namespace: dict[str, Any], notebook: str) -> None:
        """Runs the cells of the submitted notebook, which lies beside the module of a namespace."""
        sys.modules["__main__"] = sys.modules[namespace["__name__"]]
        namespace["__name__"] = "__main__"
        self._cells.run(namespace, Path(namespace["__file__"]).with_name(notebook))

    def run_line_magic(self, name: str, line: str = "", _stack_depth: int = 1) -> Any:
        """Runs a line magic; returns its value."""
        caller = _caller()
        match name:
            case "time" | "prun":
                return timed(line, caller)
            case "%capture":
                words = [word for word in line.split() if not word.startswith("-")]
                caller.f_globals.update(dict.fromkeys(words[:1], silent_stub()))
            case "env" | "set_env":
                return environment(line)
            case "pwd":
                return str(Path.cwd())
            case "cd":
                folder = line.removeprefix("-q ").strip("'\" ")
                try:
                    os.chdir(Path(folder or "~").expanduser())
                except (OSError, RuntimeError, ValueError):  # IPython prints it and goes on
                    self._skip(f"%cd {line}", caller)
            case "run" if ".ipynb" not in line:
                run_file(line, caller.f_globals)
            case "sx" | "system":
                return self.getoutput(line)
            case _ if name not in _FOR_SHOW:
                self._skip(f"%{name} {line}".strip(), caller)
        return None

    def run_cell_magic(self, name: str, line: str, cell: str) -> Any:
        """Runs a cell magic; returns its value."""
        caller = _caller()
        if name in ("writefile", "file"):
            write(line, cell)
        elif name in ("time", "prun", "capture"):
            if name == "capture":
                self.run_line_magic("%capture", line)
            code = compile(cell, caller.f_code.co_filename, "exec", dont_inherit=True)
            exec(code, caller.f_globals)
        elif name not in _FOR_SHOW:
            self._skip(f"%%{name} {line}".strip(), caller)
        return None

    def magic(self, line: str) -> Any:
        """Runs a line magic that is given as one text."""
        name, _, rest = line.lstrip("%").partition(" ")
        return self.run_line_magic(name, rest)

    def getoutput(self, command: str, *_args: object, **_options: object) -> list[str]:
        """Notes a command instead of running it; returns no lines."""
        self._skip(f"!{command.strip()}", _caller())
        return []

    def system(self, command: str) -> None:
        """Notes a command instead of running it."""
        self.getoutput(command)

    def _skip(self, what: str, caller: FrameType) -> None:
        if len(self._not_run) < _MOST_NOT_RUN:
            shown = " ".join(what.split())
            shown = shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 1]}…"
            line = f"{Path(caller.f_code.co_filename).name}:{caller.f_lineno}"
            self._not_run[f"{shown} ({self._cells.current or line})"] = None


def install(seconds: float) -> tuple[Shell, Cells]:
    """Installs a shell where notebooks find it; all cells together may take `seconds`."""
    cells = Cells(seconds)
    shell = Shell(cells)
    vars(builtins).update(get_ipython=lambda: shell, display=lambda *_, **__: None)
    sys.meta_path.insert(0, NotebookModules(shell))
    return shell, cells


def _caller() -> FrameType:
    """Returns the innermost frame outside of this package: a line of the submission."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_ENGINE):
        frame = frame.f_back
    return frame


_OPTIONS = re.compile(r"(?:-[lsTD]\s*\S+\s+|-[rq]+\s+|--no-raise-error\s+)*")


def timed(statement: str, caller: FrameType) -> Any:
    """Runs statements in their caller's scope; returns the value of a single expression."""
    text = _OPTIONS.sub("", f"{statement} ", count=1).strip() or "None"
    source = "\n" * (caller.f_lineno - 1) + text  # as if it stood where the magic does
    try:
        code = compile(source, caller.f_code.co_filename, "eval", dont_inherit=True)
    except SyntaxError:
        code = compile(source, caller.f_code.co_filename, "exec", dont_inherit=True)
    return eval(code, caller.f_globals, caller.f_locals)


def environment(line: str) -> str | None:
    """Sets an environment variable, or returns one."""
    name, sign, value = line.partition("=") if "=" in line else line.partition(" ")
    if not sign:
        return os.environ.get(name)
    os.environ[name.strip()] = value.strip()
    return None


def write(line: str, text: str) -> None:
    """Writes a cell's text to a file, or appends it with `-a`."""
    words = shlex.split(line)
    names = [word for word in words if word not in ("-a", "--append")]
    if len(names) != 1:
        raise ValueError(f"%%writefile takes the name of one file, not {line!r}")
    path = Path(names[0]).expanduser()
    earlier = path.read_text("utf-8") if len(names) < len(words) and path.exists() else ""
    if path.is_symlink():  # to a submitted file, which cannot be written
        path.unlink()
    path.write_text(earlier + text, "utf-8")


def run_file(line: str, namespace: dict[str, Any]) -> None:
    """Runs a script, and adds its names to the caller's.

    With `-i` it runs in the caller's own namespace; other options change nothing.

    Raises:
        FileNotFoundError: if there is no such file.
    """
    words = shlex.split(line)
    options = [*takewhile(lambda word: word.startswith("-"), words)]
    words = words[len(options) :]
    if not words:
        raise ValueError("%run takes the name of a file")
    path = Path(words[0] if Path(words[0]).is_file() else f"{words[0]}.py")
    names = namespace
    if "-i" not in options:
        names = {"__builtins__": __builtins__, "__name__": "__main__", "__file__": str(path)}
    arguments, sys.argv = sys.argv, words
    try:
        exec(compile(path.read_bytes(), str(path.resolve()), "exec", dont_inherit=True), names)
    except SystemExit as ended:
        if ended.code not in (None, 0):
            raise
    finally:
        sys.argv = arguments
    namespace.update({name: one for name, one in names.items() if not name.startswith("__")})


class NotebookModules(SilentFinder):
    """A finder of stubs for `IPython` and `google.colab`."""

    def __init__(self, shell: object) -> None:
        super().__init__("google.colab", "IPython")
        self._shell = shell

    def find_spec(self, fullname: str, path: Folders, target: object = None) -> Spec:
        """Returns the spec of a stub; `google`, which has other modules, is a plain package."""
        if fullname != "google":
            return super().find_spec(fullname, path, target)
        spec = importlib.machinery.ModuleSpec(fullname, None, is_package=True)
        # Installed packages too, such as protobuf, have modules in this namespace.
        folders = (Path(folder, fullname) for folder in sys.path)
        spec.submodule_search_locations = [str(own) for own in folders if own.is_dir()]
        return spec

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """Returns a silent module; those of IPython have the shell."""
        module = super().create_module(spec)
        if spec.name.partition(".")[0] == "IPython":
            vars(module)["get_ipython"] = lambda: self._shell
        return module
