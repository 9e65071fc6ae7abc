"""The expression at which a frame stopped: its names, values and signatures in a few words.

Look-ups run no code of the submission: no property, no index and no call.
"""

from __future__ import annotations

import ast
import functools
import inspect
import itertools
import linecache
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import BuiltinFunctionType, FrameType, FunctionType, MethodType, TracebackType
from typing import Any

import numpy
import torch

from grader.core.wire.values import Foreign
from grader.core.wire.values_in_words import tensor_in_words
from grader.worker.observing.lines import own_file

_LONGEST_FILE = 1 << 18  # characters of one file
_HEAD_FIELDS = ("test", "iter", "items", "subject")
_UNKNOWN = object()

Node = ast.expr | ast.stmt


def expression_and_statement(trace: TracebackType) -> Iterator[Sequence[Node]]:
    """Yields the innermost expression at which a frame stopped, then its statement."""
    code = trace.tb_frame.f_code
    position = next(itertools.islice(code.co_positions(), trace.tb_lasti // 2, None), None)
    if position is None or None in position:
        return
    line, end_line, column, end_column = position
    first, last = (line, column), (end_line, end_column)
    spanning = [
        node
        for node in ast.walk(syntax_of(code.co_filename))
        if isinstance(node, Node)
        and (node.lineno, node.col_offset) <= first
        and (node.end_lineno, node.end_col_offset) >= last
    ]
    # Parents come before their children.
    expressions = [node for node in spanning if isinstance(node, ast.expr)]
    statements = [node for node in spanning if isinstance(node, ast.stmt)]
    # The target of an assignment is not the failed value.
    yield [one for one in expressions[-1:] if type(getattr(one, "ctx", None)) is not ast.Store]
    yield [part for statement in statements[-1:] for part in _head(statement)]


@functools.lru_cache(maxsize=8)
def syntax_of(file: str) -> ast.Module:
    """Returns the syntax tree of a file; an empty one for a very long file."""
    source = "".join(linecache.getlines(file))
    return ast.parse(source if len(source) <= _LONGEST_FILE else "")


def _head(statement: ast.stmt) -> list[Node]:
    """Returns a simple statement, or the expressions before the colon of a compound one."""
    if not hasattr(statement, "body"):
        return [statement]
    parts = [getattr(statement, name, None) for name in _HEAD_FIELDS]
    return [
        part.context_expr if isinstance(part, ast.withitem) else part
        for entry in parts
        for part in (entry if isinstance(entry, list) else [entry])
        if isinstance(part, ast.expr | ast.withitem)
    ]


def dotted_name(node: ast.AST) -> list[str] | None:
    """Returns `["self", "scale"]` for `self.scale`; None for other expressions."""
    if isinstance(node, ast.Name):
        return [node.id]
    if isinstance(node, ast.Attribute):
        owner = dotted_name(node.value)
        return None if owner is None else [*owner, node.attr]
    return None


def value_of(name: Sequence[str], frame: FrameType) -> object:
    """Returns the value of a dotted name in a frame; a placeholder if it is unknown."""
    value: object = frame.f_locals.get(name[0], frame.f_globals.get(name[0], _UNKNOWN))
    for attribute in name[1:]:
        value = _attribute(value, attribute)
    return value


def _attribute(owner: object, name: str) -> object:
    """Returns the value of an attribute, without running anything that would compute it."""
    own = getattr(owner, "__dict__", {})
    places = [own]
    if isinstance(owner, torch.nn.Module):
        places += [own.get(kind, {}) for kind in ("_parameters", "_buffers", "_modules")]
    places += [vars(kind) for kind in type(owner).__mro__]
    for place in places:
        if isinstance(place, dict | type(vars(type))) and name in place:
            found = place[name]
            is_method = isinstance(found, FunctionType) and place is not own
            return MethodType(found, owner) if is_method else found
    return _UNKNOWN


_SHOWN = 4
_LONGEST_NAME = 40
_MOST_BITS = 128


def in_words(value: object) -> str | None:
    """Returns a value in words: a tensor by its shape, a number or text by itself.

    Returns None if a value has no short description.
    """
    if isinstance(value, torch.Tensor):
        with torch._C.DisableTorchFunctionSubclass():
            device = "" if value.device.type == "cpu" else f" on {value.device.type}"
            return tensor_in_words(value.dtype, tuple(value.shape)) + device
    if type(value) is int:  # a number without its last digits would be another one
        return str(value) if value.bit_length() <= _MOST_BITS else None
    if value is None or type(value) in (bool, float, str):
        text = repr(value)
        return text if len(text) <= _LONGEST_NAME else f"{text[: _LONGEST_NAME - 1]}…"
    if isinstance(value, tuple | list):
        return _sequence(value)
    if isinstance(value, torch.nn.Module):
        return _module(value)
    if is_numpy_array(value):
        return f"numpy array[{', '.join(map(str, value.shape))}]"  # type: ignore[attr-defined]
    return None


def not_called_in_words(value: object) -> str | None:
    """Returns in words a function or class, which perhaps should have been called."""
    if isinstance(value, FunctionType | MethodType | BuiltinFunctionType):
        return f"the function {value.__name__[:_LONGEST_NAME]}"
    return f"the class {value.__name__[:_LONGEST_NAME]}" if isinstance(value, type) else None


def is_numpy_array(value: object) -> bool:
    """Returns whether a value is a numpy array; another class may only claim to be one."""
    return type(value) is numpy.ndarray


def foreign(value: object) -> Foreign:
    """Returns a description of a result that cannot cross."""
    kind = type(value).__name__[:_LONGEST_NAME]
    if isinstance(value, Iterator):
        return Foreign(f"an iterator of type {kind}")
    if is_numpy_array(value):
        return Foreign(f"a {in_words(value)}")
    if isinstance(value, torch.nn.Module):
        return Foreign(f"a module of type {kind}")
    if type(value) in (FunctionType, MethodType, BuiltinFunctionType):
        return Foreign(f"a function ({value.__name__[:_LONGEST_NAME]})")  # type: ignore[attr-defined]
    if issubclass(type(value), type):
        return Foreign(f"a class ({value.__name__[:_LONGEST_NAME]})")  # type: ignore[attr-defined]
    if any("__call__" in vars(base) for base in type(value).__mro__):
        return Foreign(f"an object that can be called, of type {kind}")
    return Foreign(f"an object of type {kind}")


def _sequence(values: tuple[object, ...] | list[object]) -> str | None:
    words = [in_words(value) for value in values[:_SHOWN]]
    if None in words:
        return None
    more = ", …" if len(values) > _SHOWN else ""
    text = f"{', '.join(map(str, words))}{more}"
    if isinstance(values, list):
        return f"[{text}]"
    return f"({text},)" if len(values) == 1 else f"({text})"


def _module(module: torch.nn.Module) -> str:
    """Returns a module's class and own parameters: `Linear(weight float32[8, 4])`."""
    own = vars(module).get("_parameters", {})
    words = [f"{name} {in_words(it)}" for name, it in list(own.items())[:_SHOWN] if it is not None]
    return f"{type(module).__name__}({', '.join(words)})"


_MOST_PARAMETERS = 20
# The first parameters of methods, which calls do not pass.
_OWNERS = ("self", "cls")
_STARS: Mapping[Any, str] = {
    inspect.Parameter.VAR_POSITIONAL: "*",
    inspect.Parameter.VAR_KEYWORD: "**",
}


def signature_in_words(function: Callable[..., Any], root: Path) -> str:
    """Returns a signature with its place: `MultiHead(d_model, theta=10000.0) in model.py:3`."""
    plain = inspect.unwrap(function)
    code = (plain.__func__ if isinstance(plain, MethodType) else plain).__code__
    parameters = list(inspect.signature(plain).parameters.values())[:_MOST_PARAMETERS]
    words = [_parameter(one) for one in parameters if one.name not in _OWNERS]
    name = plain.__qualname__.rpartition("<locals>.")[2]
    file = own_file(code.co_filename, root)
    place = f" in {file}:{code.co_firstlineno}" if file is not None else ""
    return f"{name}({', '.join(words)}){place}"


def _parameter(parameter: inspect.Parameter) -> str:
    stars = _STARS.get(parameter.kind, "")
    if parameter.default is parameter.empty:
        return f"{stars}{parameter.name}"
    return f"{parameter.name}={in_words(parameter.default) or '…'}"


def function_behind(value: object) -> Callable[..., Any] | None:
    """Returns the Python function that a call runs: a constructor, a module's forward."""
    if isinstance(value, type):
        value = value.__init__  # type: ignore[misc]
    elif isinstance(value, torch.nn.Module):
        value = type(value).forward
    return value if isinstance(value, FunctionType | MethodType) else None
