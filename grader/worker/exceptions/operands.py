"""The tensors and numbers that the expression which raised worked with."""

from __future__ import annotations

import ast
import itertools
import sys
from collections.abc import Iterator
from types import CodeType, FrameType, TracebackType

import torch

from grader.core.wire.calls import MAX_OPERANDS, Operand
from grader.worker.exceptions.describing import in_words, not_called_in_words
from grader.worker.exceptions.expression import (
    assignment_of,
    dotted_name,
    expression_and_statement,
    returns_of,
    value_of,
)
from grader.worker.exceptions.signature import callee

_LONGEST_NAME = 60
_LONGEST_MADE = 200
_PACKAGES = (sys.prefix, sys.base_prefix)


def operands_of(trace: TracebackType) -> tuple[Operand, ...]:
    """The names in the expression that raised, and what they stand for, as far as it can be told.

    Where that expression names no tensor, the names of its whole statement.
    """
    found: dict[str, str] = {}
    for nodes in expression_and_statement(trace):
        for node in nodes:
            for dotted, is_called in _names(node):
                name, words = _resolved(dotted, trace.tb_frame, is_called)
                if words is not None and len(name) <= _LONGEST_NAME:
                    found.setdefault(name, words)
        if any("[" in words for words in found.values()):
            break
    named = (Operand(name, words, *_made(name, trace)) for name, words in found.items())
    return tuple(itertools.islice(itertools.chain(named, _calls(trace)), MAX_OPERANDS))


def _calls(trace: TracebackType) -> Iterator[Operand]:
    """What the functions return that are called where a frame stopped, where that is one line."""
    for nodes in expression_and_statement(trace):
        for node in (inner for outer in nodes for inner in ast.walk(outer)):
            if not isinstance(node, ast.Call) or dotted_name(node.func) is None:
                continue
            called = callee(node.func, trace.tb_frame)
            code = getattr(getattr(called, "__func__", called), "__code__", None)
            if not isinstance(code, CodeType) or code.co_filename.startswith(_PACKAGES):
                continue
            returns = returns_of(code)
            if len(returns) == 1 and len(name := ast.unparse(node.func)) <= _LONGEST_NAME - 5:
                made = ast.unparse(returns[0])[:_LONGEST_MADE]
                yield Operand(f"{name}(...)", "", made, returns[0].lineno)
        return


def _made(name: str, trace: TracebackType) -> tuple[str, int]:
    """The statement that set an operand, and its line, if it is a variable of the function."""
    statement = assignment_of(name, trace) if name.isidentifier() else None
    return (
        ("", 0) if statement is None else (ast.unparse(statement)[:_LONGEST_MADE], statement.lineno)
    )


def _names(node: ast.AST, is_called: bool = False) -> Iterator[tuple[list[str], bool]]:
    """The names and dotted names in a piece of code, from left to right, and which are called."""
    dotted = dotted_name(node)
    if dotted is not None:
        yield dotted, is_called
        return
    for child in ast.iter_child_nodes(node):
        yield from _names(child, isinstance(node, ast.Call) and child is node.func)


def _resolved(dotted: list[str], frame: FrameType, is_called: bool) -> tuple[str, str | None]:
    """What a dotted name stands for, in words, or else the tensor (or None) that it belongs to."""
    value = value_of(dotted, frame)
    words = in_words(value) or (None if is_called else not_called_in_words(value))
    while words is None and len(dotted) > 1:
        dotted = dotted[:-1]
        owner = value_of(dotted, frame)
        if owner is None or isinstance(owner, torch.Tensor):
            words = in_words(owner)
    return ".".join(dotted), words
