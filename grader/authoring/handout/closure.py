"""Which modules of the engine a program needs: found in its source, so that no list goes stale."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

_DOTTED = re.compile(r"[A-Za-z_]\w*(\.\w+)*")


def needed(files: Iterable[Path], modules: Iterable[str], package: Path) -> list[Path]:
    """The files of a package that are imported by `files`, by `modules`, or by one another.

    That goes for imports inside functions too, and for names of modules that stand alone in a
    string, as in `import_module("package.module")` and pytest's `pytest_plugins`; not for what
    only type checkers import.
    """
    found: set[Path] = set()
    waiting = [*modules]
    for file in files:
        waiting += _imported(file)
    while waiting:
        for file in _files_of(waiting.pop(), package):
            if file not in found:
                found.add(file)
                waiting += _imported(file)
    return sorted(found)


def _files_of(module: str, package: Path) -> Iterator[Path]:
    """The file of a module and those of the packages around it, if it is one of `package`."""
    top, *names = module.split(".")
    for depth in range(len(names) + 1) if top == package.name else ():
        place = package.joinpath(*names[:depth])
        for file in (place.with_suffix(".py"), place / "__init__.py"):
            if file.is_file():
                yield file


def _imported(file: Path) -> Iterator[str]:
    """The names that a file may import: some are of modules, others of what is in them."""
    for node in _run_time_nodes(ast.parse(file.read_bytes(), file)):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=str(module), names=names, level=0):
                yield module
                yield from (f"{module}.{alias.name}" for alias in names)
            case ast.Constant(value=str(text)) if _DOTTED.fullmatch(text):
                yield text


def _run_time_nodes(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    for child in ast.iter_child_nodes(node):
        if not _is_for_type_checkers(child):
            yield from _run_time_nodes(child)


def _is_for_type_checkers(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.If)
        and isinstance(node.test, ast.Name)
        and node.test.id == "TYPE_CHECKING"
    )
