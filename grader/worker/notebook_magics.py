"""The magics that change names, files or the environment, and modules that only notebooks have."""

from __future__ import annotations

import ast
import importlib.machinery
import os
import re
import shlex
import sys
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any

from grader.worker.packages import Folders, Spec
from grader.worker.stubs import SilentFinder

_OPTIONS = re.compile(r"(?:-[lsTD]\s*\S+\s+|-[rq]+\s+|--no-raise-error\s+)*")


def timed(statement: str, caller: FrameType) -> object:
    """Runs a statement in its caller's scope; returns the value of a last expression."""
    tree = ast.parse(_OPTIONS.sub("", f"{statement} ", count=1).strip())
    value = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    names = caller.f_globals, caller.f_locals
    exec(_compiled(tree, caller), *names)
    if not isinstance(value, ast.Expr):
        return None
    result: object = eval(_compiled(ast.Expression(value.value), caller), *names)
    return result


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
    options = []
    while words and words[0].startswith("-"):
        options.append(words.pop(0))
    if not words:
        raise ValueError("%run takes the name of a file")
    path = next(filter(Path.is_file, (Path(words[0]), Path(f"{words[0]}.py"))), None)
    if path is None:
        raise FileNotFoundError(2, "No such file or directory", words[0])
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


def _compiled(tree: ast.Module | ast.Expression, caller: FrameType) -> CodeType:
    """Returns the code of a magic's statement, as if it stood where the magic does."""
    for node in ast.walk(tree):
        if isinstance(node, ast.expr | ast.stmt | ast.excepthandler | ast.arg | ast.keyword):
            node.lineno = node.end_lineno = caller.f_lineno
            node.col_offset = node.end_col_offset = 0
    mode = "eval" if isinstance(tree, ast.Expression) else "exec"
    return compile(tree, caller.f_code.co_filename, mode, dont_inherit=True)


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
