"""The operands of the expression that raised."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Sequence
from types import FrameType, TracebackType

import torch

from grader.core.wire.calls import MAX_OPERANDS, Operand
from grader.worker.observing.expression import (
    dotted_name,
    expression_and_statement,
    in_words,
    not_called_in_words,
    value_of,
)

_LONGEST_NAME = 60


def operands_of(trace: TracebackType) -> tuple[Operand, ...]:
    """Returns the names in the expression that raised, with their values in words, if known.

    If that expression names no tensor, the names of its whole statement are included.
    """
    found: dict[str, str] = {}
    for nodes in expression_and_statement(trace):
        read = _read_names(nodes)
        for node in nodes:
            for dotted, is_called in _names(node):
                if dotted[0] not in read:
                    continue
                name, words = _resolved(dotted, trace.tb_frame, is_called)
                if words is not None and len(name) <= _LONGEST_NAME:
                    found.setdefault(name, words)
        if any("[" in words for words in found.values()):
            break
    named = (Operand(name, words) for name, words in found.items())
    return tuple(itertools.islice(named, MAX_OPERANDS))


def _read_names(nodes: Sequence[ast.AST]) -> set[str]:
    """Returns the names that some code reads in its frame.

    Leaves out names that it only sets, and names of a lambda or a comprehension in it. For these
    the frame may hold the value of an earlier line.
    """
    walked = [node for outer in nodes for node in ast.walk(outer)]
    augmented = [node.target for node in walked if isinstance(node, ast.AugAssign)]
    inner = [
        name
        for node in walked
        if isinstance(node, ast.comprehension)
        for name in ast.walk(node.target)
    ]
    read = {
        node.id
        for node in walked
        if isinstance(node, ast.Name) and (isinstance(node.ctx, ast.Load) or node in augmented)
    }
    parameters = {node.arg for node in walked if isinstance(node, ast.arg)}
    return read - parameters - {node.id for node in inner if isinstance(node, ast.Name)}


def _names(node: ast.AST, is_called: bool = False) -> Iterator[tuple[list[str], bool]]:
    """Yields the names and dotted names in some code, in order, and whether each is called."""
    dotted = dotted_name(node)
    if dotted is not None:
        yield dotted, is_called
        return
    for child in ast.iter_child_nodes(node):
        yield from _names(child, isinstance(node, ast.Call) and child is node.func)


def _resolved(dotted: list[str], frame: FrameType, is_called: bool) -> tuple[str, str | None]:
    """Returns a dotted name's value in words, or that of the tensor or None before a dot."""
    value = value_of(dotted, frame)
    words = in_words(value) or (None if is_called else not_called_in_words(value))
    while words is None and len(dotted) > 1:
        dotted = dotted[:-1]
        owner = value_of(dotted, frame)
        if owner is None or isinstance(owner, torch.Tensor):
            words = in_words(owner)
    return ".".join(dotted), words
