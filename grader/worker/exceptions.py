"""Describes an exception of a submission: kind, message, suggestion and own lines, bounded."""

from __future__ import annotations

import ast
import builtins
import difflib
import itertools
import linecache
import re
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, TypeVar

import torch

from grader.core.wire.calls import MAX_MESSAGE, MAX_OPERANDS, Frame, Operand, Raised
from grader.worker.observing.expression import (
    dotted_name,
    expression_and_statement,
    function_behind,
    in_words,
    not_called_in_words,
    signature_in_words,
    value_of,
)
from grader.worker.observing.lines import own_file

_NAMES = 2000


def suggestion(exception: BaseException) -> str:
    """Returns the known name that is most like a name that was not found, or an empty text."""
    trace = exception.__traceback__
    known: Iterable[object] = ()
    name = str(getattr(exception, "name", None) or "")
    if isinstance(exception, AttributeError) and name:
        known = dir(exception.obj)
    elif isinstance(exception, NameError) and trace is not None:
        frame = [*traceback.walk_tb(trace)][-1][0]
        name = name or next(iter(re.findall(r"local variable '(\w+)'", str(exception))), "")
        # A local name without a value is probably not a misspelt global name.
        is_local = isinstance(exception, UnboundLocalError)
        others = () if is_local else (*frame.f_globals, *vars(builtins))
        known = [*frame.f_locals, *others]
    names = [one for one in known if isinstance(one, str) and one != name][:_NAMES]
    alike = difflib.get_close_matches(name, names, 1, cutoff=0.75) if names else ()
    return alike[0] if alike else ""


_FRAMES = 20

Found = TypeVar("Found")


def describe_exception(
    exception: BaseException, root: Path, called: Callable[..., Any] | None = None
) -> Raised:
    """Returns an exception as text; `frames` are those of files below `root`, innermost last.

    `called` is the function whose call raised it, perhaps before the function began.
    """
    traces = _own_traces(exception.__traceback__, root)
    frames = _own_frames(exception, traces, root)
    innermost = traces[-1] if traces else None
    # A syntax error has no expression that raised.
    raising = None if isinstance(exception, SyntaxError) else innermost
    # Torch raises NotImplementedError too, where a kernel is missing.
    is_deliberate = bool(frames) and frames[-1].source.startswith("raise")
    return Raised(
        kind=type(exception).__name__[:100],
        message=_message(exception)[:MAX_MESSAGE],
        frames=frames,
        missing=isinstance(exception, NotImplementedError) and is_deliberate,
        operands=_attempted(lambda: operands_of(raising) if raising else (), ()),
        accepts="" if traces else _attempted(lambda: _accepts(exception, root, called), "")[:500],
        suggestion=_attempted(lambda: suggestion(exception), "")[:100],
        lacks=_attempted(lambda: _lacks(exception), ""),
    )


def _attempted(look: Callable[[], Found], otherwise: Found) -> Found:
    """Returns the result of reading a submission's objects, or `otherwise` if that raises."""
    try:
        return look()
    except BaseException:
        return otherwise


def _message(exception: BaseException) -> str:
    try:
        if isinstance(exception, SyntaxError):
            return str(exception.msg or "invalid syntax")
        return str(exception)
    except BaseException as second:
        return f"(its text cannot be shown: printing it raised {type(second).__name__})"


def _accepts(exception: BaseException, root: Path, called: Callable[..., Any] | None) -> str:
    """Returns the signature of a function that was called with wrong arguments, if known."""
    function = function_behind(called) if isinstance(exception, TypeError) else None
    return "" if function is None else signature_in_words(function, root)


def _lacks(exception: BaseException) -> str:
    """Returns the top-level package whose import failed, or an empty text."""
    name = exception.name if isinstance(exception, ModuleNotFoundError) else None
    return name[:100] if type(name) is str and "." not in name else ""


def _own_frames(
    exception: BaseException, traces: list[TracebackType], root: Path
) -> tuple[Frame, ...]:
    frames = []
    for trace in traces:
        code = trace.tb_frame.f_code
        line, file = trace.tb_lineno, own_file(code.co_filename, root) or ""
        source = linecache.getline(code.co_filename, line).strip()[:300]
        frames.append(Frame(file, line, code.co_name[:100], source))
    if isinstance(exception, SyntaxError):
        frames += _attempted(lambda: _frame_of_syntax(exception, root), [])
    return tuple(frames[-_FRAMES:])


def _frame_of_syntax(exception: SyntaxError, root: Path) -> list[Frame]:
    """Returns the frame of a syntax error; a submission may raise one with any values."""
    own = own_file(exception.filename, root) if exception.filename else None
    line, text = exception.lineno or 0, (exception.text or "").strip()[:300]
    return [Frame(own, line, "", text)] if own is not None and type(line) is int else []


def _own_traces(trace: TracebackType | None, root: Path) -> list[TracebackType]:
    found = []
    while trace is not None:
        # An exception that a signal raises may meet an instruction of no line.
        line: int | None = trace.tb_lineno
        if line is not None and own_file(trace.tb_frame.f_code.co_filename, root) is not None:
            found.append(trace)
        trace = trace.tb_next
    return found[-_FRAMES:]


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
