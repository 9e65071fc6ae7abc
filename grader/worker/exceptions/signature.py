"""What a function accepts, for an author who called it otherwise."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FrameType, FunctionType, MethodType, TracebackType
from typing import Any

import torch

from grader.worker.exceptions.describing import in_words
from grader.worker.exceptions.expression import dotted_name, expression_and_statement, value_of
from grader.worker.own_files import own_file

_PARAMETERS = 20
_STARS: Mapping[Any, str] = {
    inspect.Parameter.VAR_POSITIONAL: "*",
    inspect.Parameter.VAR_KEYWORD: "**",
}


def called_by(trace: TracebackType) -> Callable[..., Any] | None:
    """The Python function that the expression that raised called; None if that is not plain."""
    for nodes in expression_and_statement(trace):
        for node in nodes:
            if isinstance(node, ast.Call):
                return function_behind(callee(node.func, trace.tb_frame))
    return None


def signature_in_words(function: Callable[..., Any], root: Path) -> str:
    """`MultiHead(d_model, num_heads, theta=10000.0) in model.py, line 3`, for its own author."""
    plain = inspect.unwrap(function)
    code = plain.__func__.__code__ if isinstance(plain, MethodType) else plain.__code__
    parameters = list(inspect.signature(plain).parameters.values())[:_PARAMETERS]
    name = plain.__qualname__.rpartition("<locals>.")[2]
    if parameters and parameters[0].name == "self":
        parameters = parameters[1:]
    words = f"{name}({', '.join(map(_parameter, parameters))})"
    file = own_file(code.co_filename, root)
    return words if file is None else f"{words} in {file}, line {code.co_firstlineno}"


def _parameter(parameter: inspect.Parameter) -> str:
    stars = _STARS.get(parameter.kind, "")
    if parameter.default is parameter.empty:
        return f"{stars}{parameter.name}"
    return f"{parameter.name}={in_words(parameter.default) or '…'}"


def callee(node: ast.expr, frame: FrameType) -> object:
    """What a call calls; also of `MultiHead(8)(x)` and `MultiHead(8).scores(x)`."""
    dotted = dotted_name(node)
    if dotted is not None:
        return value_of(dotted, frame)
    name = "forward"
    if isinstance(node, ast.Attribute):
        name, node = node.attr, node.value
    if isinstance(node, ast.Call):
        kind = callee(node.func, frame)
        if isinstance(kind, type):
            return next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), None)
    return None


def function_behind(value: object) -> Callable[..., Any] | None:
    """The Python function that a call of a value runs: a constructor, a module's forward."""
    if isinstance(value, type):
        value = value.__init__  # type: ignore[misc]
    elif isinstance(value, torch.nn.Module):
        value = type(value).forward
    return value if isinstance(value, FunctionType | MethodType) else None
