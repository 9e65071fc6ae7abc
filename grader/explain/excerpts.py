"""Excerpts: the lines of a submission around the places that its verdicts name."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from grader.core.evidence import Excerpt
from grader.core.text import plain, source_text
from grader.core.verdict import Where
from grader.intake.open_folder import read_bounded

_AROUND = 4
_MOST = 20
_LARGEST_FILE = 1 << 20
_LONGEST_LINE = 300
_MOST_FILES = 200
_LONGEST_FUNCTION = 48
# A comment, a triple-quoted string, or a string of one line. An unterminated string ends with the
# text, also after a backslash: if an opening could fail, each further one would be tried as well.
_TOKEN = re.compile(
    r"#[^\n]*"
    r"|(?P<opening>[A-Za-z]{0,2}(?P<quotes>\"{3}|'{3}))"
    r"(?:\\.|(?!(?P=quotes))[^\\])*(?:(?P=quotes)|\\?\Z)"
    r"|(?P<quote>[\"'])(?:\\.|(?!(?P=quote))[^\\\n])*(?:(?P=quote))?",
    re.DOTALL,
)


def excerpts(root: Path, places: Iterable[Where | None]) -> tuple[Excerpt, ...]:
    """Returns a few lines around each place that exists in a file below `root`.

    A worker may invent a place, so no file outside `root` is read.
    """
    wanted: dict[str, set[int]] = {}
    for place in places:
        if place is not None:
            wanted.setdefault(place.file, set()).add(place.line)
    found: list[Excerpt] = []
    for file, numbers in wanted.items():
        lines = lines_of(root, file)
        for number in sorted(numbers):
            if 1 <= number <= len(lines) and len(found) < _MOST:
                first = max(number - _AROUND, 1)
                shown = lines[first - 1 : number + _AROUND]
                found.append(Excerpt(file, first, _shown(shown), _opening(lines, first)))
    return tuple(found)


def function_at(root: Path, where: Where | None, name: str) -> Excerpt | None:
    """Returns the function around a place or, without a place, the function called `name`.

    A place outside of any function has a few lines around it. The search for a name covers the
    files in `root` and in the folders directly below it.
    """
    if where is not None:
        lines = lines_of(root, where.file)
        if 1 <= where.line <= len(lines):
            around = [one for one in _functions(lines) if one.lineno <= where.line <= _end(one)]
            if not around:
                return next(iter(excerpts(root, [where])))
            return _function(where.file, lines, max(around, key=lambda one: one.lineno))
    for file in sorted([*root.glob("*.py"), *root.glob("*/*.py")])[:_MOST_FILES]:
        path = file.relative_to(root).as_posix()
        lines = lines_of(root, path)
        called = [one for one in _functions(lines) if one.name == name]
        if called:
            return _function(path, lines, min(called, key=lambda one: one.lineno))
    return None


def _functions(lines: Sequence[str]) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    try:
        nodes = ast.walk(ast.parse("\n".join(lines)))
        return [one for one in nodes if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []


def _end(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


def _function(file: str, lines: Sequence[str], node: ast.stmt) -> Excerpt:
    last = min(_end(node), node.lineno + _LONGEST_FUNCTION - 1)
    shown = lines[node.lineno - 1 : last]
    return Excerpt(file, node.lineno, _shown(shown), _opening(lines, node.lineno))


def _shown(lines: Iterable[str]) -> tuple[str, ...]:
    return tuple(plain(line[:_LONGEST_LINE]).replace("\n", " ") for line in lines)


def _opening(lines: Sequence[str], first: int) -> str:
    """Returns the opening quotes of the triple-quoted string around a line, or ""."""
    start = sum(len(line) + 1 for line in lines[: first - 1])
    for token in _TOKEN.finditer("\n".join(lines)):
        if token.end() > start:
            return token["opening"] or "" if token.start() < start else ""
    return ""


def lines_of(root: Path, file: str) -> list[str]:
    """Returns the lines of a file below `root`; none if it is outside or cannot be read."""
    try:
        path = (root / file).resolve()
        if not path.is_relative_to(root.resolve()):
            return []
        text = source_text(read_bounded(path, _LARGEST_FILE))
    except (OSError, ValueError):
        return []
    *lines, rest = text.split("\n")
    return [*lines, rest] if rest else lines
