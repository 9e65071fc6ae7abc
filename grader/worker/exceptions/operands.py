"""The operands of the expression that raised, and the origin of an odd one."""

from __future__ import annotations

import ast
import inspect
import itertools
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, MethodType, TracebackType

import torch

from grader.core.wire.calls import MAX_OPERANDS, Frame, Operand
from grader.worker.observing.expression import (
    assignment_of,
    callee,
    definition_of,
    dotted_name,
    expression_and_statement,
    in_words,
    line_at,
    not_called_in_words,
    returns_of,
    stores_of,
    value_of,
    walk_without,
)
from grader.worker.observing.lines import own_file

_LONGEST_NAME = 60
_LONGEST_MADE = 200
_PACKAGES = (sys.prefix, sys.base_prefix)


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
    named = (Operand(name, words, *_made(name, trace)) for name, words in found.items())
    return tuple(itertools.islice(itertools.chain(named, _calls(trace)), MAX_OPERANDS))


def _read_names(nodes: Sequence[ast.AST]) -> set[str]:
    """Returns the names that some code reads in its frame.

    For a name that it only sets, and for one of a lambda or a comprehension in it, the frame may
    know the value of an earlier line.
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


def _calls(trace: TracebackType) -> Iterator[Operand]:
    """Yields the functions called where a frame stopped, with the expression that each returns."""
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
    """Returns the statement that set an operand, and its line, if it is in the same function."""
    statement = assignment_of(name, trace) if name.isidentifier() else None
    if statement is None or _may_be_skipped(statement, name, trace):
        return "", 0
    return ast.unparse(statement)[:_LONGEST_MADE], statement.lineno


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


def _line_of(trace: TracebackType, root: Path) -> Frame | None:
    return line_at(trace.tb_frame.f_code.co_filename, trace.tb_lineno, root)


_MOST_FRAMES = 8
_UNKNOWN = object()
_ODD = (FunctionType, MethodType, BuiltinFunctionType, type, str, tuple, type(None))


def origin_of_odd_operand(
    exception: BaseException, traces: Sequence[TracebackType], root: Path
) -> Frame | None:
    """Returns the line from which an odd operand comes: neither a tensor nor a number.

    The line may be in a function of the submission that returns nothing, or several values.
    """
    if not isinstance(exception, TypeError | AttributeError) or "concatenate" in str(exception):
        return None
    found: tuple[int, ast.expr] | None = None
    wanted: object = _UNKNOWN
    for number, trace in enumerate(reversed(traces[-_MOST_FRAMES:])):
        names = list(_plain_names(trace))
        if wanted is _UNKNOWN:
            odd = [
                (node, one)
                for node, one in names
                if type(one).__name__ in str(exception) and isinstance(one, _ODD)
            ]
            if len({id(one) for _, one in odd}) != 1:
                said = str(exception)
                if "NoneType" not in said or "argument after *" in said:
                    return None
                # Perhaps the line that failed calls a function without a `return`.
                ended = (_returned(one, traces[-1], False, root) for one in _operands(traces[-1]))
                return next(filter(None, ended), None)
            wanted = odd[0][1]
        same = {ast.unparse(node): node for node, one in names if _is(one, wanted)}
        if not same:
            # The inner frame has it as a parameter, which this line passes as an expression.
            is_passed = not (found and _is_default(ast.unparse(found[1]), wanted, traces[found[0]]))
            return _line_of(trace, root) if is_passed else None
        if len(same) > 1:
            return None  # each None may come from a line of its own
        node = next(iter(same.values()))
        found = len(traces) - 1 - number, node
        if not isinstance(node, ast.Name) or not _is_parameter(node.id, trace):
            break
    several = isinstance(wanted, tuple)
    return None if found is None else _set_in(traces, *found, several, root)


def _is(one: object, other: object) -> bool:
    # Each access of a method makes a new object.
    are_methods = isinstance(one, MethodType) and isinstance(other, MethodType)
    return one is other or (are_methods and one == other)


def _plain_names(trace: TracebackType) -> Iterator[tuple[ast.expr, object]]:
    """Yields the names and dotted names that are arguments or operands where a frame stopped."""
    for outer in next(expression_and_statement(trace), ()):
        inner = list(walk_without(outer, (ast.Call,)))
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


def _operands(trace: TracebackType) -> Iterator[ast.AST]:
    """Yields the parts of the expression where a frame stopped, or else of its statement.

    The parts of a call among its operands are left out: only the result of that call is an operand.
    """
    for outer in next(filter(None, expression_and_statement(trace)), ()):
        yield from walk_without(outer, (ast.Call,))


def _is_parameter(name: str, trace: TracebackType) -> bool:
    code = trace.tb_frame.f_code
    count = code.co_argcount + code.co_kwonlyargcount
    return name in code.co_varnames[:count] and assignment_of(name, trace) is None


def _is_default(name: str, value: object, trace: TracebackType) -> bool:
    """Returns whether a parameter may have this value if a call does not pass it."""
    defined = definition_of(trace.tb_frame.f_code)
    if defined is None:
        return False
    given = defined.args
    last_ones = zip([*given.posonlyargs, *given.args][::-1], given.defaults[::-1], strict=False)
    defaults = dict([*last_ones, *zip(given.kwonlyargs, given.kw_defaults, strict=True)])
    default = next((default for one, default in defaults.items() if one.arg == name), None)
    return default is not None and (not isinstance(default, ast.Constant) or default.value == value)


def _set_in(
    traces: Sequence[TracebackType], place: int, node: ast.expr, several: bool, root: Path
) -> Frame | None:
    """Returns the line that set a name, or the return in the function that this line calls."""
    trace = traces[place]
    file = trace.tb_frame.f_code.co_filename
    if isinstance(node, ast.Name):
        if place == 0 and _is_parameter(node.id, trace):
            return None
        statement = assignment_of(node.id, trace)
        if statement is not None:
            targets = getattr(statement, "targets", [None])
            if not isinstance(targets[0], ast.Name):
                # The name is one of several unpacked values, not the whole result.
                return None
            if _may_be_skipped(statement, node.id, trace):
                return None
            returning = _returned(getattr(statement, "value", None), trace, several, root)
            if returning is not None or several:
                return returning
            return line_at(file, statement.lineno, root)
    return None if place == len(traces) - 1 else line_at(file, trace.tb_lineno, root)


def _may_be_skipped(statement: ast.stmt, name: str, trace: TracebackType) -> bool:
    """Returns whether a name may have its value from elsewhere than from a statement.

    Code after the statement sets the name as well. Or other code does, and the statement is in a
    branch, loop or function without the line where the frame stopped.
    """
    code, at = trace.tb_frame.f_code, trace.tb_lineno
    is_local = name in (*code.co_varnames, *code.co_cellvars)
    is_given = name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    lines = [node.lineno for node in stores_of(name, code)]
    if is_local and len(lines) + is_given < 2:
        return False
    if any(line > (statement.end_lineno or 0) for line in lines):
        return True
    bodies = (
        getattr(node, part, None)
        for node in ast.walk(definition_of(code) or ast.Module([], []))
        if not isinstance(node, ast.With)
        for part in ("body", "orelse")
    )
    ranges = [(own[0].lineno, own[-1].end_lineno) for own in bodies if own and type(own) is list]
    return any(
        first <= statement.lineno <= last and not first <= at <= last for first, last in ranges
    )


def _returned(node: object, trace: TracebackType, several: bool, root: Path) -> Frame | None:
    """Returns the line where a called function returns `several` values, or ends without any.

    A line where a function ends has the function's name.
    """
    if not isinstance(node, ast.Call):
        return None
    function = callee(node.func, trace.tb_frame)
    if isinstance(function, MethodType):
        function = function.__func__
    if not isinstance(function, FunctionType) or function.__name__ == "__init__":
        return None
    code = function.__code__
    defined, returns = definition_of(code), returns_of(code)
    if defined is None or own_file(code.co_filename, root) is None:
        return None
    if several:
        returns = [one for one in returns if isinstance(one.value, ast.Tuple)] or returns
        return line_at(code.co_filename, returns[0].lineno, root) if len(returns) == 1 else None
    if returns or code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE):
        return None
    end = line_at(code.co_filename, defined.body[-1].lineno, root)
    return None if end is None else replace(end, function=code.co_name)
