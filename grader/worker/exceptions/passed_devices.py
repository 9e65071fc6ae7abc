"""Finds where a number was handed in as a device, for a line that only makes a tensor there."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType

from grader.core.wire.calls import Frame
from grader.worker.exceptions.expression import (
    assignment_of,
    dotted_name,
    expression_and_statement,
    value_of,
)
from grader.worker.exceptions.places import line_at
from grader.worker.exceptions.signature import callee


def origin_of_number_as_device(
    _: BaseException, traces: Sequence[TracebackType], root: Path
) -> Frame | None:
    """The call, further out, that handed a number in where a device was wanted."""
    name = next(_numbers_as_device(traces[-1]), None)
    if name is None:
        return None
    if len(name) == 1 and assignment_of(name[0], traces[-1]) is None:
        return _line_of(traces[-2], root) if len(traces) > 1 else None
    if len(name) == 2 and name[0] == "self":
        owner = type(value_of(name[:1], traces[-1].tb_frame))
        making = [trace for trace in traces[:-1] if _makes(owner, trace)]
        return _line_of(making[-1], root) if making else None
    return None


def _numbers_as_device(trace: TracebackType) -> Iterator[Sequence[str]]:
    """The names that are given as `device=` where a frame stopped and stand for a number."""
    for nodes in expression_and_statement(trace):
        for node in (inner for outer in nodes for inner in ast.walk(outer)):
            if isinstance(node, ast.keyword) and node.arg == "device":
                name = dotted_name(node.value)
                if name and isinstance(value_of(name, trace.tb_frame), int):
                    yield name


def _makes(kind: type, trace: TracebackType) -> bool:
    """Whether an object of a class is made in the expression at which a frame stopped."""
    return any(
        isinstance(node, ast.Call) and callee(node.func, trace.tb_frame) is kind
        for nodes in expression_and_statement(trace)
        for outer in nodes
        for node in ast.walk(outer)
    )


def _line_of(trace: TracebackType, root: Path) -> Frame | None:
    return line_at(trace.tb_frame.f_code.co_filename, trace.tb_lineno, root)
