"""The magics that change names, files or the environment, and modules that are notebooks."""

from __future__ import annotations

import ast
import contextlib
import importlib
import importlib.abc
import importlib.machinery
import os
import re
import runpy
import shlex
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any

from grader.worker.packages import Folders, Spec
from grader.worker.stubs import SilentFinder

_OPTIONS = re.compile(r"(?:-[nrplsTDv]\s*\S+\s+|-[tcqo]+\s+|--no-raise-error\s+)*")


class Captured:
    """The result of `%%capture`: nothing was captured, and it is printed nowhere."""

    stdout = stderr = ""
    outputs: tuple[object, ...] = ()

    def show(self) -> None:
        """Shows nothing."""

    __call__ = show


class Lines(list[str]):
    """The result of `!command`, which is empty: as a list, a text (`s`, `n`) or paths (`p`)."""

    n = s = ""

    @property
    def l(self) -> list[str]:  # noqa: E743  # IPython's name
        """Returns the list itself."""
        return self

    p = l


def timed(statement: str, caller: FrameType) -> object:
    """Runs a statement in its caller's scope; returns the value of a last expression."""
    tree = ast.parse(_without_options(statement))
    value = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    names = caller.f_globals, caller.f_locals
    exec(_compiled(tree, caller), *names)
    if not isinstance(value, ast.Expr):
        return None
    result: object = eval(_compiled(ast.Expression(value.value), caller), *names)
    return result


def repeated(setup: str, statement: str, caller: FrameType) -> None:
    """Runs a `%timeit` statement once, in a function of its own."""
    setup, statement = (_without_options(text) for text in (setup, statement))
    tree = ast.parse("def _timed(): pass")
    function = tree.body[0]
    assert isinstance(function, ast.FunctionDef)
    function.body = [*ast.parse(setup).body, *ast.parse(statement).body] or function.body
    made: dict[str, Any] = {}
    exec(_compiled(tree, caller), caller.f_globals | caller.f_locals, made)
    made["_timed"]()


def environment(line: str) -> object:
    """Sets an environment variable, or returns one or all of them."""
    if not line:
        return dict(os.environ)
    name, sign, value = line.partition("=") if "=" in line else line.partition(" ")
    if not sign:
        return os.environ[name]
    os.environ[name.strip()] = value.strip()
    return None


def written(line: str, text: str) -> Path:
    """Writes a cell's text to a file, or appends it with `-a`; returns the file."""
    words = shlex.split(line)
    names = [word for word in words if word not in ("-a", "--append")]
    if len(names) != 1:
        raise ValueError(f"%%writefile takes the name of one file, not {line!r}")
    path = Path(names[0]).expanduser()
    earlier = path.read_text("utf-8") if len(names) < len(words) and path.exists() else ""
    if path.is_symlink():  # to a submitted file, which cannot be written
        path.unlink()
    path.write_text(earlier + text, "utf-8")
    return path


def run_file(
    line: str, namespace: dict[str, Any], notebook: Callable[[dict[str, Any], Path], None]
) -> None:
    """Runs a script, a module (`-m`) or a notebook, and adds its names to the caller's.

    `-i` runs it in the notebook's own namespace, `-n` with the file's name instead of `__main__`.

    Raises:
        FileNotFoundError: if there is no such file.
    """
    words = shlex.split(line)
    options = []
    while words and re.fullmatch(r"-[nietdpG]+|-N\d+", words[0]):
        options.append(words.pop(0))
    if words[:1] == ["-m"]:
        namespace.update(_own(runpy.run_module(words[1], run_name="__main__", alter_sys=False)))
        return
    if not words:
        raise ValueError("%run takes the name of a file")
    paths = Path(words[0]), Path(f"{words[0]}.py")
    # A notebook is a folder here, which holds its cells.
    path = next((p for p in paths if p.is_file() or (p.suffix == ".ipynb" and p.exists())), None)
    if path is None:
        raise FileNotFoundError(2, "No such file or directory", words[0])
    if path.suffix == ".ipynb":
        notebook(namespace, path)
        return
    flags = "".join(options)
    names = namespace if "i" in flags else {"__builtins__": __builtins__}
    earlier = {name: names.get(name) for name in ("__name__", "__file__")}
    names |= {"__name__": path.stem if "n" in flags else "__main__", "__file__": str(path)}
    arguments, sys.argv = sys.argv, words
    try:
        exec(compile(path.read_bytes(), str(path.resolve()), "exec", dont_inherit=True), names)
    except SystemExit as ended:
        if ended.code not in (None, 0):
            raise
    finally:
        sys.argv = arguments
        if names is namespace:
            namespace.update({name: value for name, value in earlier.items() if value is not None})
    namespace.update(_own(names))


def _without_options(statement: str) -> str:
    return _OPTIONS.sub("", f"{statement} ", count=1).strip()


def _own(names: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in names.items() if not name.startswith("__")}


def _compiled(tree: ast.Module | ast.Expression, caller: FrameType) -> CodeType:
    """Returns the code of a magic's statement, as if it stood where the magic does."""
    for node in ast.walk(tree):
        if isinstance(node, ast.expr | ast.stmt | ast.excepthandler | ast.arg | ast.keyword):
            node.lineno = node.end_lineno = caller.f_lineno
            node.col_offset = node.end_col_offset = 0
    mode = "eval" if isinstance(tree, ast.Expression) else "exec"
    return compile(tree, caller.f_code.co_filename, mode, dont_inherit=True)


# Packages whose import makes notebooks importable, and the one with notebooks as submodules.
_IMPORTERS = ("import_ipynb", "importnb", "nbimporter")
_BELOW = "ipynb.fs.full."


class NotebookModules(SilentFinder):
    """A finder of stubs for `IPython`, `google.colab` and packages that import notebooks."""

    def __init__(self, shell: object) -> None:
        super().__init__("google.colab", "IPython", *_IMPORTERS)
        self._shell = shell

    def find_spec(self, fullname: str, path: Folders, target: object = None) -> Spec:
        """Returns the spec of a stub; `google` and `ipynb`, which have other modules, are plain."""
        if fullname != "google" and not _BELOW.startswith(f"{fullname}."):
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


class ImportedNotebooks(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """A finder of notebooks on import paths, after a package that imports notebooks was imported.

    `run` runs the cells of a notebook, given a namespace and the notebook's folder.
    """

    def __init__(self, run: Callable[[dict[str, object], Path], None]) -> None:
        self._run = run

    def find_spec(self, fullname: str, path: Folders, _target: object = None) -> Spec:
        """Returns the spec of the notebook of that name, if there is one."""
        is_below = fullname.startswith(_BELOW)
        if not (is_below or any(name in sys.modules for name in _IMPORTERS)):
            return None
        name = fullname.rpartition(".")[2]
        names = name, name.replace("_", " ")
        folders = sys.path if path is None or is_below else path
        for place in (Path(folder, f"{one}.ipynb") for folder in folders for one in names):
            if place.is_dir():
                return importlib.machinery.ModuleSpec(fullname, self, origin=str(place))
        return None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        """Leaves the module to the usual machinery."""

    def exec_module(self, module: ModuleType) -> None:
        """Runs the notebook's cells in the module."""
        if module.__spec__ is not None and module.__spec__.origin is not None:
            self._run(vars(module), Path(module.__spec__.origin))


class WrittenFiles(importlib.abc.MetaPathFinder):
    """A finder of modules that cells wrote, which replace submitted files of the same name."""

    def __init__(self, root: Path, place: Path) -> None:
        self._root, self._place = root, place
        self._written: set[str] = set()

    def note(self, path: Path) -> None:
        """Notes that a written file is to be imported, unless it equals the submitted one."""
        path = path.absolute()
        self._written.discard(str(path))
        with contextlib.suppress(OSError, ValueError):
            handed_in = self._root / path.relative_to(self._place)
            if handed_in.read_bytes() == path.read_bytes():
                return
        self._written.add(str(path))
        importlib.invalidate_caches()

    def find_spec(self, fullname: str, path: Folders, _target: object = None) -> Spec:
        """Returns the spec of a module that a cell wrote."""
        if not self._written:
            return None
        folders = [self._likeness(folder) for folder in (sys.path if path is None else path)]
        spec = importlib.machinery.PathFinder.find_spec(fullname, folders)
        return spec if spec is not None and spec.origin in self._written else None

    def _likeness(self, folder: str) -> str:
        with contextlib.suppress(ValueError):
            return str(self._place / Path(folder).relative_to(self._root))
        return folder
