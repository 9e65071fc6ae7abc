"""Finds the line that is to be mended where what was raised is only what came of it.

A line is told only if it is plain. Source is read, and nothing of the submission is run.
"""

from __future__ import annotations

import ast
import difflib
import inspect
import linecache
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, MethodType, TracebackType

import torch

from grader.wire.calls import Frame
from grader.worker.own_files import own_file
from grader.worker.telling.expression import (
    assignment_of,
    dotted_name,
    expression_and_statement,
    syntax_of,
    value_of,
)
from grader.worker.telling.signature import callee

_MISSPELT = 0.75
_MOST_FRAMES = 8
_UNMADE = re.compile(r"has no attribute '_\w+(?:hooks\w*|parameters|buffers|modules)'")
_KEYS = re.compile(r"(Missing|Unexpected) key\(s\) in state_dict: ([^\n]*)")
_ODD = (FunctionType, MethodType, BuiltinFunctionType, type, str, tuple, list, type(None))


def culprit(exception: BaseException, traces: Sequence[TracebackType], root: Path) -> Frame | None:
    """The line behind an exception that was raised elsewhere; None if that is not plain."""
    if not traces:
        return None
    for look in (_misspelt_method, _no_super, _other_attribute, _state_key, _odd_operand):
        found = look(exception, traces, root)
        if found is not None:
            return found
    return None


def _misspelt_method(
    exception: BaseException, traces: Sequence[TracebackType], root: Path
) -> Frame | None:
    """The method that is nearly called as Python or torch would call it."""
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
    """The constructor of a module that does not call that of torch's."""
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
    """Where an attribute was set whose name is nearly that which was looked for."""
    if not isinstance(exception, AttributeError) or not exception.name:
        return None
    own = [name for name in getattr(exception.obj, "__dict__", {}) if isinstance(name, str)]
    near = difflib.get_close_matches(exception.name, own, 1, cutoff=0.8)
    if not near:
        return None
    setting = [
        (file, node)
        for file in dict.fromkeys(trace.tb_frame.f_code.co_filename for trace in traces)
        for node in ast.walk(syntax_of(file))
        if isinstance(node, ast.Attribute)
        and node.attr == near[0]
        and isinstance(node.ctx, ast.Store)
    ]
    return _line(*_only(setting), root) if len(setting) == 1 else None


def _only(places: Sequence[tuple[str, ast.Attribute]]) -> tuple[str, int]:
    ((file, node),) = places
    return file, node.lineno


def _state_key(
    exception: BaseException, traces: Sequence[TracebackType], root: Path
) -> Frame | None:
    """Where a key is written that a module does not have, or a layer is made that no key is for."""
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
        return _line(file, written[0], root)
    missing = {key.split(".")[0] for key in keys.get("Missing", [])}
    if unexpected or len(missing) != 1:
        return None
    module = _names_in(traces[-1], torch.nn.Module)
    return _made_layer(type(module), missing.pop(), root) if module is not None else None


def _names_in(trace: TracebackType, kind: type) -> object | None:
    """What the first name in the line that raised stands for that is of a kind."""
    for nodes in expression_and_statement(trace):
        for node in (inner for outer in nodes for inner in ast.walk(outer)):
            if isinstance(node, ast.Name) and isinstance(
                value := value_of([node.id], trace.tb_frame), kind
            ):
                return value
    return None


def _made_layer(kind: type, name: str, root: Path) -> Frame | None:
    for base in kind.__mro__:
        own = vars(base).get("__init__")
        if not isinstance(own, FunctionType) or not own_file(own.__code__.co_filename, root):
            continue
        file = own.__code__.co_filename
        for node in ast.walk(_function_at(file, own.__code__.co_firstlineno) or ast.Module([], [])):
            if (
                isinstance(node, ast.Attribute)
                and node.attr == name
                and isinstance(node.ctx, ast.Store)
            ):
                return _line(file, node.lineno, root)
    return None


def _odd_operand(
    exception: BaseException, traces: Sequence[TracebackType], root: Path
) -> Frame | None:
    """Where something that is no tensor and no number came from, through the calls that passed it.

    That may be a function of the submission's own which returns nothing.
    """
    if not isinstance(exception, TypeError | AttributeError):
        return None
    found: tuple[int, ast.expr] | None = None
    wanted: object = _Unknown
    for number, trace in enumerate(reversed(traces[-_MOST_FRAMES:])):
        names = list(_plain_names(trace))
        if wanted is _Unknown:
            odd = [(node, one) for node, one in names if isinstance(one, _ODD)]
            if len({id(one) for _, one in odd}) != 1:
                return _nothing_returned(traces[-1], root)
            wanted = odd[0][1]
        node = next((node for node, one in names if one is wanted or _is_same(one, wanted)), None)
        if node is None:
            break
        found = len(traces) - 1 - number, node
        if not isinstance(node, ast.Name) or not _is_parameter(node.id, trace):
            break
    return None if found is None else _set_in(traces, *found, root)


class _Unknown:
    """What stands for a value that nobody knows yet."""


def _is_same(one: object, other: object) -> bool:
    """Whether two are one method: each look at it makes a new object."""
    are_methods = isinstance(one, MethodType) and isinstance(other, MethodType)
    return are_methods and one == other


def _plain_names(trace: TracebackType) -> Iterator[tuple[ast.expr, object]]:
    """The names and dotted names that are arguments or operands where a frame stopped."""
    for nodes in expression_and_statement(trace):
        for outer in nodes:
            called = {id(node.func) for node in ast.walk(outer) if isinstance(node, ast.Call)}
            owners = {id(node.value) for node in ast.walk(outer) if isinstance(node, ast.Attribute)}
            for node in ast.walk(outer):
                dotted = dotted_name(node)
                is_owner = id(node) in owners and not isinstance(outer, ast.Attribute)
                if (
                    dotted
                    and isinstance(node, ast.expr)
                    and id(node) not in called | (owners if is_owner else set())
                ):
                    yield node, value_of(dotted, trace.tb_frame)
        return


def _is_parameter(name: str, trace: TracebackType) -> bool:
    code = trace.tb_frame.f_code
    count = code.co_argcount + code.co_kwonlyargcount
    return name in code.co_varnames[:count] and assignment_of(name, trace) is None


def _set_in(
    traces: Sequence[TracebackType], place: int, node: ast.expr, root: Path
) -> Frame | None:
    trace = traces[place]
    file = trace.tb_frame.f_code.co_filename
    if isinstance(node, ast.Name):
        if place == 0 and _is_parameter(node.id, trace):
            return None
        statement = assignment_of(node.id, trace)
        if statement is not None:
            returning = _returns_nothing(getattr(statement, "value", None), trace, root)
            return returning or _line(file, statement.lineno, root)
    return None if place == len(traces) - 1 else _line(file, trace.tb_lineno, root)


def _nothing_returned(trace: TracebackType, root: Path) -> Frame | None:
    """The function without a return whose call stands in the line that raised."""
    for nodes in expression_and_statement(trace):
        for node in (inner for outer in nodes for inner in ast.walk(outer)):
            found = _returns_nothing(node, trace, root)
            if found is not None:
                return found
    return None


def _returns_nothing(node: object, trace: TracebackType, root: Path) -> Frame | None:
    """The last line of a function that a node calls, if it never returns a value."""
    if not isinstance(node, ast.Call):
        return None
    function = callee(node.func, trace.tb_frame)
    if isinstance(function, MethodType):
        function = function.__func__
    if not isinstance(function, FunctionType) or function.__name__ == "__init__":
        return None
    code = function.__code__
    defined = _function_at(code.co_filename, code.co_firstlineno)
    if defined is None or own_file(code.co_filename, root) is None:
        return None
    inner = list(ast.walk(defined))
    if any(isinstance(one, ast.Return | ast.Yield) for one in inner):
        return None
    return _line(code.co_filename, defined.body[-1].lineno, root)


def _class_in(trace: TracebackType) -> type | None:
    """The class of the object that the expression which raised called."""
    for nodes in expression_and_statement(trace):
        for node in (inner for outer in nodes for inner in ast.walk(outer)):
            if not isinstance(node, ast.Call):
                continue
            called = node.func.func if isinstance(node.func, ast.Call) else node.func
            value = callee(called, trace.tb_frame)
            if isinstance(value, type):
                return value
            if isinstance(value, object) and type(value).__module__ not in ("builtins", "torch"):
                return type(value)
    return None


def _function_at(file: str, line: int) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    for node in ast.walk(syntax_of(file)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            if first <= line <= node.lineno:
                return node
    return None


def _definition(function: Callable[..., object], root: Path) -> Frame | None:
    code = inspect.unwrap(function).__code__
    found = _function_at(code.co_filename, code.co_firstlineno)
    return _line(code.co_filename, found.lineno if found else code.co_firstlineno, root)


def _line(file: str, number: int, root: Path) -> Frame | None:
    own = own_file(file, root)
    source = linecache.getline(file, number).strip()[:300]
    return None if own is None else Frame(own, number, "", source)
