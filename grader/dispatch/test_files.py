"""Which exercises a file of the tests can matter to, read from its source without running it."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

_MARK = "exercise"
Function = ast.FunctionDef | ast.AsyncFunctionDef


def exercises_of(files: Collection[Path], others: Collection[Path]) -> Mapping[Path, set[str]]:
    """The exercises that each of `files` alone matters to; what is left out matters to all.

    A file matters to the exercises that its tests are marked with, if no doubt is possible: each
    test has a mark with the name written out, none comes from elsewhere, and neither another file
    nor one of `others` mentions the file.
    """
    texts = {file: _text(file) for file in (*files, *others)}
    found = {file: _marked(texts[file]) for file in files if file.suffix == ".py"}
    return {
        file: exercises
        for file, exercises in found.items()
        if exercises and not any(_mentions(texts[it], file) for it in texts if it != file)
    }


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace") if file.suffix == ".py" else ""


def _mentions(text: str, file: Path) -> bool:
    """Whether the file's name occurs, other than where a function of that name is defined."""
    if file.stem not in text:
        return False
    stem = re.escape(file.stem)
    return re.search(rf"\b{stem}\b", re.sub(rf"\bdef {stem}\(", "def (", text)) is not None


def _marked(source: str) -> set[str]:
    """The exercises of the tests in a file; none if one of them may be another's."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return set()
    nodes = [*ast.walk(tree)]
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    marks = {id(call.func): call for call in calls if _is_mark(call)}
    if any(_is_doubtful(node, marks) for node in nodes):
        return set()
    if not all(_has_mark(test) for test in _tests(nodes)):
        return set()
    return {str(_name(mark)) for mark in marks.values()}


def _is_mark(node: ast.AST) -> bool:
    """Whether it is `exercise("…")`, or the same from a module."""
    called = node.func if isinstance(node, ast.Call) and _name(node) is not None else None
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", None)
    return name == _MARK


def _name(call: ast.Call) -> str | None:
    first = call.args[0] if call.args else None
    name = first.value if isinstance(first, ast.Constant) else None
    return name if isinstance(name, str) else None


def _is_doubtful(node: ast.AST, marks: Mapping[int, ast.Call]) -> bool:
    """Whether tests, or their exercises, may come by this from where the source does not tell."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        names = [(alias.name, alias.asname or alias.name) for alias in node.names]
        return any(
            name == "*" or _is_test(bound) or (name == _MARK) != (bound == _MARK)
            for name, bound in names
        )
    if isinstance(node, ast.ClassDef):
        return bool(node.bases or node.keywords)
    if isinstance(node, ast.Name):
        made = isinstance(node.ctx, ast.Store) and (_is_test(node.id) or node.id == _MARK)
        return made or (node.id == _MARK and id(node) not in marks)
    if isinstance(node, ast.Attribute):
        return node.attr == _MARK and id(node) not in marks
    if isinstance(node, ast.Constant):
        return node.value == _MARK
    return isinstance(node, Function) and (node.name == _MARK or node.name.startswith("pytest_"))


def _is_test(name: str) -> bool:
    return name.lower().startswith("test")


def _tests(nodes: Iterable[ast.AST]) -> Iterator[Function]:
    for node in nodes:
        if isinstance(node, Function) and _is_test(node.name):
            yield node


def _has_mark(test: Function) -> bool:
    return any(_is_mark(decorator) for decorator in test.decorator_list)
