"""Tests that go on after a failure, so that no answer decides which call comes next.

A test ends at the first failed assertion. From the calls that are then missing, a submission could
tell that its last answer was wrong, and answer differently from then on. Here the functions of an
assignment's tests get code that passes over each failing statement.
"""

from __future__ import annotations

import ast
import inspect
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import pytest

from grader.testing.cases import CaseExhausted
from grader.testing.handles.handle import BrokenReference
from grader.testing.outcome import StudentFault

# Names that the new code finds in its module; Python changes names like `__x` in a class.
_ENDING, _PASSED_OVER = "__ends_a_test__", "__passed_over__"
_NAMES = {
    # A submission that raised or gave no answer knows that it failed.
    _ENDING: (StudentFault, BrokenReference, CaseExhausted),
    _PASSED_OVER: (Exception, pytest.fail.Exception),
}
# A `try` has its own handlers; a `while` might never end if a statement in it is passed over.
_WHOLE = (ast.Try, ast.TryStar, ast.While)
# These statements decide where a function goes on.
_LEFT = (ast.Return, ast.Raise, ast.Break, ast.Continue, ast.Pass, ast.Global, ast.Nonlocal)
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class GoingOn:
    """The functions in files below `folders`, each with code that goes on after failures."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._codes: list[tuple[FunctionType, CodeType]] = []
        beginnings = tuple(f"{folder}{os.sep}" for folder in folders)
        for module in list(sys.modules.values()):
            file = getattr(module, "__file__", None)
            if isinstance(file, str) and file.startswith(beginnings):
                self._take(module, Path(file))

    @contextmanager
    def exchanged(self) -> Iterator[None]:
        """Makes the functions go on after failures while the context lasts."""
        before = [function.__code__ for function, _ in self._codes]
        try:
            for function, code in self._codes:
                function.__code__ = code
            yield
        finally:
            for (function, _), code in zip(self._codes, before, strict=True):
                function.__code__ = code

    def _take(self, module: ModuleType, file: Path) -> None:
        tree = _Passing().visit(ast.parse(file.read_bytes()))
        text = ast.fix_missing_locations(tree)
        module_code = compile(text, str(file), "exec", dont_inherit=True)
        codes = {(one.co_qualname, one.co_firstlineno): one for one in _codes_in(module_code)}
        vars(module).update(_NAMES)
        for function in _functions_of(module):
            code = codes.get((function.__code__.co_qualname, function.__code__.co_firstlineno))
            if code is not None and code.co_freevars == function.__code__.co_freevars:
                self._codes.append((function, code))


class _Passing(ast.NodeTransformer):
    """A transformer that puts each statement of a function into a `try` of its own."""

    def __init__(self) -> None:
        self._is_in_a_function = False

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Returns a function with its statements wrapped."""
        outside, self._is_in_a_function = self._is_in_a_function, True
        self.generic_visit(node)
        self._is_in_a_function = outside
        return node

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Wraps each statement in the blocks of a function."""
        if isinstance(node, (ast.expr, *_WHOLE)):
            return node
        super().generic_visit(node)
        if self._is_in_a_function:
            for name in ("body", "orelse"):
                block = getattr(node, name, None)
                if isinstance(block, list):
                    setattr(node, name, [_wrapped(one) for one in block])
        return node


def _wrapped(statement: ast.stmt) -> ast.stmt:
    if isinstance(statement, (*_LEFT, *_DEFINITIONS)) or _is_text(statement):
        return statement
    handlers = [
        ast.ExceptHandler(ast.Name(_ENDING, ast.Load()), None, [ast.Raise()]),
        ast.ExceptHandler(ast.Name(_PASSED_OVER, ast.Load()), None, [ast.Pass()]),
    ]
    wrapped = ast.Try([statement], handlers, [], [])
    return ast.copy_location(wrapped, statement)


def _is_text(statement: ast.stmt) -> bool:
    """Returns whether a statement is a docstring, which a wrapped function would lose."""
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _codes_in(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes_in(constant)


def _functions_of(module: ModuleType) -> Iterator[FunctionType]:
    holders: list[Any] = [module]
    holders += [one for one in vars(module).values() if inspect.isclass(one)]
    for holder in holders:
        for value in list(vars(holder).values()):
            made = getattr(value, "__func__", None) or getattr(value, "fget", None) or value
            found = inspect.unwrap(made) if callable(made) else None
            if isinstance(found, FunctionType) and found.__module__ == module.__name__:
                yield found
