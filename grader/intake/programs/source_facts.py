"""What a Python file says about itself without being run: what it imports and defines."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from grader.core.adapter_names import is_adapter

_LONGEST = 1 << 18  # bytes: a syntax tree can take a thousand times its source's memory
_LONGEST_NAME = 1000  # no file lies at the end of a longer dotted name


@dataclass(frozen=True, slots=True)
class SourceFacts:
    """What is read off a file's syntax tree.

    `relative_level` is the number of dots of the deepest relative import (0: none), `imports`
    the dotted names of the absolute ones (`from a.b import c` is `a.b.c`), `adapters` the names
    of the adapters at the top level.
    """

    relative_level: int = 0
    imports: frozenset[str] = frozenset()
    adapters: frozenset[str] = frozenset()


def read_facts(sources: Iterable[bytes]) -> SourceFacts:
    """The facts of one program in pieces; a piece that is no Python here adds none.

    What is wrong with such a piece is said when it is imported.
    """
    level = 0
    imports: set[str] = set()
    adapters: set[str] = set()
    left = _LONGEST
    for source in sources:
        left -= len(source)
        if left < 0:
            break
        tree = syntax_tree(source)
        adapters.update(_adapters(tree))
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                imports.update(_short(alias.name for alias in node.names))
            elif isinstance(node, ast.ImportFrom) and node.level:
                level = max(level, node.level)
            elif isinstance(node, ast.ImportFrom):
                imports.update(_imported_from(node.module or "", node.names))
    return SourceFacts(level, frozenset(imports), frozenset(adapters))


def syntax_tree(source: bytes) -> ast.Module:
    """The tree of a file; an empty one of what is no Python here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the students' escapes, which is not for here
        try:
            return ast.parse(source)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return ast.Module([], [])


def _imported_from(module: str, names: Iterable[ast.alias]) -> Iterator[str]:
    """Nothing of a module whose name is too long: it would be told again with each name."""
    if len(module) <= _LONGEST_NAME:
        yield from _short(f"{module}.{alias.name}" for alias in names)


def _short(names: Iterable[str]) -> Iterator[str]:
    return (name for name in names if len(name) <= _LONGEST_NAME)


def _adapters(tree: ast.Module) -> set[str]:
    """adapters, also those behind a top-level `if` or `try`, and `run_x = …`."""
    names: set[str] = set()
    statements: list[ast.AST] = list(tree.body)
    while statements:
        node = statements.pop()
        if isinstance(node, ast.FunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names.update(target.id for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.If | ast.Try | ast.With):
            statements.extend(ast.iter_child_nodes(node))
    return {name for name in names if is_adapter(name)}
