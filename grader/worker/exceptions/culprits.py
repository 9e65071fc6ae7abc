"""Finds the line to fix, where the line that raised only shows its consequence.

A line is named only if it is certain. The search reads source, and runs no code of the submission.
"""

from __future__ import annotations

import ast
import difflib
import inspect
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FunctionType, TracebackType

import torch

from grader.core.wire.calls import Frame
from grader.worker.exceptions.operands import origin_of_odd_operand
from grader.worker.observing.expression import (
    callee,
    definition_of,
    line_at,
    nodes_at,
    syntax_of,
)
from grader.worker.observing.lines import own_file

_MISSPELT = 0.75
_UNMADE = re.compile(r"has no attribute '_\w+(?:hooks\w*|parameters|buffers|modules)'")
_UNEXPECTED = re.compile(r"Unexpected key\(s\) in state_dict: ([^\n]*)")


def culprit(exception: BaseException, traces: Sequence[TracebackType], root: Path) -> Frame | None:
    """Returns the line that caused an exception elsewhere; None if it is not certain."""
    if not traces:
        return None
    for look in (_misspelt_method, _no_super, _state_key, origin_of_odd_operand):
        found = look(exception, traces, root)
        if found is not None:
            return found
    return None


def _misspelt_method(
    exception: BaseException, traces: Sequence[TracebackType], root: Path
) -> Frame | None:
    """Returns the method whose name resembles the one that Python or torch calls."""
    message = str(exception)
    wanted = next(
        (
            name
            for said, name in (
                ("() takes no arguments", "__init__"),
                ("object is not callable", "__call__"),
                ('missing the required "forward" function', "forward"),
            )
            if said in message
        ),
        None,
    )
    kind = _class_in(traces[-1]) if wanted else None
    if kind is None or wanted is None:
        return None
    own = {name: one for name, one in vars(kind).items() if isinstance(one, FunctionType)}
    near = [name for name in own if name != wanted and _is_like(name, wanted)]
    if wanted == "__call__" and "forward" in own and not issubclass(kind, torch.nn.Module):
        near = ["forward"]
    return _definition(own[near[0]], root) if len(near) == 1 else None


def _is_like(name: str, wanted: str) -> bool:
    one, other = name.strip("_").lower(), wanted.strip("_")
    return difflib.SequenceMatcher(None, one, other).ratio() >= _MISSPELT


def _no_super(exception: BaseException, _: Sequence[TracebackType], root: Path) -> Frame | None:
    """Returns the constructor of a module that does not call the constructor of its base."""
    if not isinstance(exception, AttributeError) or not _UNMADE.search(str(exception)):
        return None
    for kind in type(exception.obj).__mro__:
        own = vars(kind).get("__init__")
        if isinstance(own, FunctionType) and own_file(own.__code__.co_filename, root):
            is_calling = "super" in own.__code__.co_names
            return None if is_calling else _definition(own, root)
    return None


def _state_key(
    exception: BaseException, traces: Sequence[TracebackType], root: Path
) -> Frame | None:
    """Returns the line of a key that a module does not have."""
    listed = _UNEXPECTED.search(str(exception))
    if listed is None:
        return None
    unexpected = re.findall(r'"([^"\n]{1,200})"', listed[1])
    file = traces[-1].tb_frame.f_code.co_filename
    written = [
        node.lineno
        for node in ast.walk(syntax_of(file))
        if isinstance(node, ast.Constant) and node.value in unexpected
    ]
    return line_at(file, written[0], root) if len(unexpected) == len(written) == 1 else None


def _class_in(trace: TracebackType) -> type | None:
    """Returns the class that the failed expression calls, or whose object it calls."""
    for node in nodes_at(trace):
        if not isinstance(node, ast.Call):
            continue
        called = node.func.func if isinstance(node.func, ast.Call) else node.func
        value = callee(called, trace.tb_frame)
        if isinstance(value, type):
            return value
        if type(value).__module__ not in ("builtins", "torch"):
            return type(value)
    return None


def _definition(function: Callable[..., object], root: Path) -> Frame | None:
    code = inspect.unwrap(function).__code__
    found = definition_of(code)
    return line_at(code.co_filename, found.lineno if found else code.co_firstlineno, root)
