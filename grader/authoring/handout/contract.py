"""Freezes the adapters' contract, so that it stays what it was whatever students do to theirs."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from grader.core.adapter_names import is_adapter

_ABOUT = '"""What the adapters take and return, as it was handed out: leave this file as it is."""'
_NAME = re.compile(r"[^\W\d]\w*")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def frozen_contract(adapters: str) -> str:
    """The adapters of a module without their bodies, and what their annotations need.

    What only bodies use is left out: a student's own modules, which may not even be importable.
    """
    tree = ast.parse(adapters)
    for function in ast.walk(tree):
        if isinstance(function, _FUNCTIONS):
            function.body = [ast.Expr(ast.Constant(...))]
    for function in tree.body:
        if isinstance(function, _FUNCTIONS):
            function.decorator_list = []
    kept = _needed(tree.body)
    texts = [ast.unparse(one) for one in tree.body if one in kept]
    return "\n\n".join([_ABOUT, *texts]) + "\n"


def _needed(body: list[ast.stmt]) -> set[ast.stmt]:
    """The adapters, and the statements at the top level that bind what these use, in turn."""
    kept = {one for one in body if any(map(is_adapter, _bound(one)))}
    kept |= {one for one in body if isinstance(one, ast.ImportFrom) and _is_for_all(one)}
    while True:
        used = {name for one in kept for name in _used(one)}
        more = {one for one in body if used & set(_bound(one))} - kept
        if not more:
            return kept
        kept |= more


def _is_for_all(node: ast.ImportFrom) -> bool:
    return node.module == "__future__" or any(one.name == "*" for one in node.names)


def _bound(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement binds at the top level."""
    for node in ast.walk(statement):
        if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).split(".")[0]
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def _used(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement reads, those in annotations that are texts included."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from _NAME.findall(node.value)
