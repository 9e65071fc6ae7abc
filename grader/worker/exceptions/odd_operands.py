"""Finds where an operand came from that is no tensor and no number: a function, text, None."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, TracebackType

from grader.core.wire.calls import Frame
from grader.worker.exceptions.expression import (
    assignment_of,
    dotted_name,
    expression_and_statement,
    returns_of,
    value_of,
)
from grader.worker.exceptions.places import function_at, line_at
from grader.worker.exceptions.signature import callee
from grader.worker.own_files import own_file

_MOST_FRAMES = 8
_ODD = (FunctionType, MethodType, BuiltinFunctionType, type, str, tuple, type(None))


def origin_of_odd_operand(
    exception: BaseException, traces: Sequence[TracebackType], root: Path
) -> Frame | None:
    """Where something that is no tensor and no number came from, through the calls that passed it.

    That may be a function of the submission's own which returns nothing, or several values.
    """
    if not isinstance(exception, TypeError | AttributeError) or "concatenate" in str(exception):
        return None
    found: tuple[int, ast.expr] | None = None
    wanted: object = _Unknown
    for number, trace in enumerate(reversed(traces[-_MOST_FRAMES:])):
        names = list(_plain_names(trace))
        if wanted is _Unknown:
            odd = [
                (node, one)
                for node, one in names
                if isinstance(one, _ODD) and _type_name(one) in str(exception)
            ]
            if len({id(one) for _, one in odd}) != 1:
                return _called_for_nothing(traces[-1], root)
            wanted = odd[0][1]
        node = next((node for node, one in names if one is wanted or _is_same(one, wanted)), None)
        if node is None:
            # The frame before has it as a parameter: here it is written where it is passed.
            return line_at(trace.tb_frame.f_code.co_filename, trace.tb_lineno, root)
        found = len(traces) - 1 - number, node
        if not isinstance(node, ast.Name) or not _is_parameter(node.id, trace):
            break
    several = isinstance(wanted, tuple)
    return None if found is None else _set_in(traces, *found, several, root)


def _type_name(value: object) -> str:
    return type(value).__name__


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
            inner = list(_without_calls(outer))
            called = {id(node.func) for node in inner if isinstance(node, ast.Call)}
            owners = {id(node.value) for node in inner if isinstance(node, ast.Attribute)}
            for node in inner:
                dotted = dotted_name(node)
                is_owner = id(node) in owners and not isinstance(outer, ast.Attribute)
                if (
                    dotted
                    and isinstance(node, ast.expr)
                    and id(node) not in called | (owners if is_owner else set())
                ):
                    yield node, value_of(dotted, trace.tb_frame)
        return


def _without_calls(outer: ast.AST) -> Iterator[ast.AST]:
    """Walks an expression, but not through calls in an operator's operands.

    An operator meets what such a call returned, and not what the call was given.
    """
    left = [outer]
    while left:
        node = left.pop(0)
        yield node
        is_finished = isinstance(node, ast.Call) and isinstance(outer, ast.BinOp | ast.Compare)
        left += [] if is_finished else ast.iter_child_nodes(node)


def _is_parameter(name: str, trace: TracebackType) -> bool:
    code = trace.tb_frame.f_code
    count = code.co_argcount + code.co_kwonlyargcount
    return name in code.co_varnames[:count] and assignment_of(name, trace) is None


def _set_in(
    traces: Sequence[TracebackType], place: int, node: ast.expr, several: bool, root: Path
) -> Frame | None:
    """The statement that set a name, or the return of the function that it calls."""
    trace = traces[place]
    file = trace.tb_frame.f_code.co_filename
    if isinstance(node, ast.Name):
        if place == 0 and _is_parameter(node.id, trace):
            return None
        statement = assignment_of(node.id, trace)
        earlier = _passed_through(node.id, statement, trace)
        if earlier is not None:
            statement = assignment_of(earlier, trace, statement)
        if statement is not None:
            targets = getattr(statement, "targets", [None])
            if not isinstance(targets[0], ast.Name):
                # It is one of what was unpacked, and not what was returned.
                return None
            returning = _returned(getattr(statement, "value", None), trace, several, root)
            if returning is not None or several:
                return returning
            return line_at(file, statement.lineno, root)
    return None if place == len(traces) - 1 else line_at(file, trace.tb_lineno, root)


def _passed_through(name: str, statement: ast.stmt | None, trace: TracebackType) -> str | None:
    """What `k` was called before `q, k = placed(q, k)`, if that gives back what it is given."""
    match statement:
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Call() as call):
            places = [at for at, one in enumerate(targets) if dotted_name(one) == [name]]
        case _:
            return None
    function = callee(call.func, trace.tb_frame)
    is_bound = isinstance(function, MethodType)
    function = function.__func__ if isinstance(function, MethodType) else function
    if len(places) != 1 or call.keywords or not isinstance(function, FunctionType):
        return None
    code = function.__code__
    match [one.value for one in returns_of(code)]:
        case [ast.Tuple(elts=given)] if len(given) == len(targets):
            handed = dotted_name(given[places[0]]) or [""]
        case _:
            return None
    parameters = code.co_varnames[is_bound : code.co_argcount]
    if len(handed) > 1 or handed[0] not in parameters or _is_set_in(code, handed[0]):
        return None
    place = parameters.index(handed[0])
    argument = call.args[place] if place < len(call.args) else None
    return argument.id if isinstance(argument, ast.Name) else None


def _is_set_in(code: CodeType, name: str) -> bool:
    """Whether a function gives one of its parameters another value."""
    defined = function_at(code.co_filename, code.co_firstlineno)
    return any(
        isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load)
        for node in ast.walk(defined or ast.Module([], []))
    )


def _called_for_nothing(trace: TracebackType, root: Path) -> Frame | None:
    """The function without a return whose call stands in the line that raised."""
    for nodes in expression_and_statement(trace):
        for node in (inner for outer in nodes for inner in ast.walk(outer)):
            found = _returned(node, trace, False, root)
            if found is not None:
                return found
    return None


def _returned(node: object, trace: TracebackType, several: bool, root: Path) -> Frame | None:
    """Where a function that a node calls returns `several` values, or ends if it returns none."""
    if not isinstance(node, ast.Call):
        return None
    function = callee(node.func, trace.tb_frame)
    if isinstance(function, MethodType):
        function = function.__func__
    if not isinstance(function, FunctionType) or function.__name__ == "__init__":
        return None
    code = function.__code__
    defined = function_at(code.co_filename, code.co_firstlineno)
    if defined is None or own_file(code.co_filename, root) is None:
        return None
    inner = list(ast.walk(defined))
    tuples = [one for one in inner if isinstance(one, ast.Return) and type(one.value) is ast.Tuple]
    if several:
        returns = tuples or [one for one in inner if isinstance(one, ast.Return)]
        return line_at(code.co_filename, returns[0].lineno, root) if len(returns) == 1 else None
    if any(isinstance(one, ast.Return | ast.Yield) for one in inner):
        return None
    return line_at(code.co_filename, defined.body[-1].lineno, root)
