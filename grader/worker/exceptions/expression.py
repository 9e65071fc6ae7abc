"""The expression at which a frame stopped, and what the names in it stand for.

Only plain look-ups are made: no property, no index and no call of the submission's is run again.
"""

from __future__ import annotations

import ast
import functools
import itertools
import linecache
from collections.abc import Iterator, Sequence
from types import CodeType, FrameType, FunctionType, MethodType, TracebackType

import torch

_LONGEST = 1 << 18  # characters of one file
_HEADS = ("test", "iter", "items", "subject")
_NOTHING = object()

Node = ast.expr | ast.stmt


def expression_and_statement(trace: TracebackType) -> Iterator[Sequence[Node]]:
    """The innermost expression at which a frame stopped, then the statement that it is part of."""
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
    yield [node for node in expressions[-1:] if not _is_assigned(node)]
    yield [part for statement in statements[-1:] for part in _head(statement)]


def _is_assigned(node: ast.expr) -> bool:
    """Whether it is the left of an assignment, which says nothing of what is on the right."""
    return isinstance(getattr(node, "ctx", None), ast.Store)


@functools.lru_cache(maxsize=8)
def syntax_of(file: str) -> ast.Module:
    """The syntax of a file; of a very long one, none."""
    source = "".join(linecache.getlines(file))
    return ast.parse(source if len(source) <= _LONGEST else "")


def _head(statement: ast.stmt) -> list[Node]:
    """A simple statement; of one with a body, what stands before the colon."""
    if not hasattr(statement, "body"):
        return [statement]
    parts = [getattr(statement, name, None) for name in _HEADS]
    return [
        part.context_expr if isinstance(part, ast.withitem) else part
        for entry in parts
        for part in (entry if isinstance(entry, list) else [entry])
        if isinstance(part, ast.expr | ast.withitem)
    ]


def assignment_of(
    name: str, trace: TracebackType, before: ast.stmt | None = None
) -> ast.stmt | None:
    """The statement of a frame's function that set a name before the line where it stopped.

    None if there is none, or if one that comes later may have set it, in a loop. Given another
    assignment of the same name, the one `before` that.
    """
    code = trace.tb_frame.f_code
    functions = [
        node
        for node in ast.walk(syntax_of(code.co_filename))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name == code.co_name
        and node.lineno <= trace.tb_lineno <= (node.end_lineno or 0)
    ]
    setting = [
        node
        for node in ast.walk(functions[-1] if functions else ast.Module([], []))
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign)
        and any(isinstance(part, ast.Name) and part.id == name for part in _targets(node))
    ]
    if before is not None:
        setting = [node for node in setting if node.lineno < before.lineno]
    end = trace.tb_lineno if before is None else before.lineno
    last = max(setting, key=lambda node: node.lineno, default=None)
    return last if last is not None and (last.end_lineno or 0) < end else None


def returns_of(code: CodeType) -> list[ast.Return]:
    """The return statements of a function."""
    return [
        inner
        for node in ast.walk(syntax_of(code.co_filename))
        if isinstance(node, ast.FunctionDef)
        and node.name == code.co_name
        and node.lineno <= code.co_firstlineno + len(node.decorator_list) <= (node.end_lineno or 0)
        for inner in ast.walk(node)
        if isinstance(inner, ast.Return)
    ]


def _targets(node: ast.Assign | ast.AugAssign | ast.AnnAssign) -> Iterator[ast.AST]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    for target in targets:
        yield from ast.walk(target)


def dotted_name(node: ast.AST) -> list[str] | None:
    """`["self", "scale"]` for `self.scale`; None for what is no name."""
    if isinstance(node, ast.Name):
        return [node.id]
    if isinstance(node, ast.Attribute):
        owner = dotted_name(node.value)
        return None if owner is None else [*owner, node.attr]
    return None


def value_of(name: Sequence[str], frame: FrameType) -> object:
    """What a dotted name stands for in a frame; something of no use if that cannot be told."""
    value: object = frame.f_locals.get(name[0], frame.f_globals.get(name[0], _NOTHING))
    for attribute in name[1:]:
        value = _attribute(value, attribute)
    return value


def _attribute(owner: object, name: str) -> object:
    """What an attribute holds, without running anything that would compute it."""
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
    return _NOTHING
