"""Lines and functions of the submission's own files, by file and number."""

from __future__ import annotations

import ast
import linecache
from pathlib import Path

from grader.core.wire.calls import Frame
from grader.worker.exceptions.expression import syntax_of
from grader.worker.own_files import own_file


def function_at(file: str, line: int) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """The function that is defined at a line, or at that of a decorator of it."""
    for node in ast.walk(syntax_of(file)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            if first <= line <= node.lineno:
                return node
    return None


def line_at(file: str, number: int, root: Path) -> Frame | None:
    """A line of an own file; None of another's."""
    own = own_file(file, root)
    source = linecache.getline(file, number).strip()[:300]
    return None if own is None else Frame(own, number, "", source)
