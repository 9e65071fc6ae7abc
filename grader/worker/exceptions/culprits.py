"""Finds the line to fix, where the line that raised only shows its consequence.

A line is named only if it is certain. The search reads source, and runs no code of the submission.
"""

from __future__ import annotations

import ast
import difflib
import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FunctionType, TracebackType

import torch

from grader.core.wire.calls import Frame
from grader.worker.exceptions.operands import origin_of_number_as_device, origin_of_odd_operand
from grader.worker.observing.expression import (
    callee,
    definition_of,
    line_at,
    nodes_at,
    syntax_of,
    value_of,
)
from grader.worker.observing.lines import own_file

_MISSPELT = 0.75
_UNMADE = re.compile(r"has no attribute '_\w+(?:hooks\w*|parameters|buffers|modules)'")
# The parts of a name like `head.weight`.
_OF_A_LAYER = 2
_KEYS = re.compile(r"(Missing|Unexpected) key\(s\) in state_dict: ([^\n]*)")


def culprit(exception: BaseException, traces: Sequence[TracebackType], root: Path) -> Frame | None:
    """Returns the line that caused an exception elsewhere; None if it is not certain."""
    if not traces:
        return None
    for look in (
        *(_misspelt_method, _no_super, _other_attribute, _state_key),
        *(origin_of_odd_operand, origin_of_number_as_device),
    ):
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


def _other_attribute(
    exception: BaseException, traces: Sequence[TracebackType], root: Path
) -> Frame | None:
    """Returns the line that set an attribute of a torch module under a similar name."""
    if not isinstance(exception, AttributeError) or not exception.name:
        return None
    if not type(exception.obj).__module__.startswith("torch."):
        return None
    own = [name for name in getattr(exception.obj, "__dict__", {}) if isinstance(name, str)]
    near = difflib.get_close_matches(exception.name, own, 1, cutoff=0.8)
    if not near:
        return None
    setting = [
        (file, line)
        for file in dict.fromkeys(trace.tb_frame.f_code.co_filename for trace in traces)
        for line in _lines_that_set(near[0], syntax_of(file))
    ]
    return line_at(*setting[0], root) if len(setting) == 1 else None


def _lines_that_set(attribute: str, tree: ast.AST) -> Iterator[int]:
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr=name, ctx=ast.Store()) if name == attribute:
                yield node.lineno


def _state_key(
    exception: BaseException, traces: Sequence[TracebackType], root: Path
) -> Frame | None:
    """Returns the line of a key that a module does not have, or of a layer without a key."""
    if "in loading state_dict for" not in str(exception):
        return None
    keys = {
        which: re.findall(r'"([^"\n]{1,200})"', listed)
        for which, listed in _KEYS.findall(str(exception))
    }
    file = traces[-1].tb_frame.f_code.co_filename
    unexpected = keys.get("Unexpected", [])
    written = [
        node.lineno
        for node in ast.walk(syntax_of(file))
        if isinstance(node, ast.Constant) and node.value in unexpected
    ]
    if len(unexpected) == len(written) == 1:
        return line_at(file, written[0], root)
    paths = [key.split(".") for key in keys.get("Missing", [])]
    missing = {path[0] for path in paths}
    # A parameter deeper than a layer's own may be too much in a class of the submission.
    if unexpected or len(missing) != 1 or any(len(path) > _OF_A_LAYER for path in paths):
        return None
    module = _names_in(traces[-1], torch.nn.Module)
    return _made_layer(type(module), missing.pop(), root) if module is not None else None


def _names_in(trace: TracebackType, kind: type) -> object | None:
    """Returns the first value of a type among the names in the line that raised."""
    names = (node.id for node in nodes_at(trace) if isinstance(node, ast.Name))
    values = (value_of([name], trace.tb_frame) for name in names)
    return next((value for value in values if isinstance(value, kind)), None)


def _made_layer(kind: type, name: str, root: Path) -> Frame | None:
    for base in kind.__mro__:
        own = vars(base).get("__init__")
        if not isinstance(own, FunctionType) or not own_file(own.__code__.co_filename, root):
            continue
        made = definition_of(own.__code__) or ast.Module([], [])
        line = next(_lines_that_set(name, made), None)
        if line is not None:
            return line_at(own.__code__.co_filename, line, root)
    return None


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
