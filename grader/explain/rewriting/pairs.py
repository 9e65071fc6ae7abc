"""Two statements that are wrong together: fields in another order, a variable set too early."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from grader.explain.rewriting.draft import CHANGE
from grader.explain.rewriting.edit import Replacement
from grader.explain.rewriting.program.setting import Setting, callee
from grader.explain.rewriting.replaced.statements import block_after, reads_and_sets
from grader.explain.rewriting.together import Combination

_FIELDS, _EARLY, _HALVES = -3, -4, -5


def pairs(setting: Setting, given: Sequence[ast.stmt]) -> Iterator[Combination]:
    """What becomes of neighbouring statements at once."""
    within = set(given)
    for first in given:
        second = block_after(setting.program, first)
        if second is None or second not in within:
            continue
        if first.lineno != first.end_lineno or second.lineno != second.end_lineno:
            continue
        if first.lineno != second.lineno:
            yield from _fields(setting, first, second)
            yield from _set_together(setting, first, second)
            yield from _every_other(setting, first, second)


def _fields(setting: Setting, first: ast.stmt, second: ast.stmt) -> Iterator[Combination]:
    """Two fields of a class in the other order."""
    program = setting.program
    match first, second:
        case (
            ast.AnnAssign(target=ast.Name(), value=value),
            ast.AnnAssign(target=ast.Name(), value=other),
        ) if isinstance(program.scope(first), ast.ClassDef):
            if (value is None) is not (other is None):
                return
        case _:
            return
    one, next_one = program.span(first), program.span(second)
    pieces = (
        Replacement(one.start, one.end, program.text(second)),
        Replacement(next_one.start, next_one.end, program.text(first)),
    )
    yield Combination(
        "fields",
        CHANGE,
        "the order of fields",
        pieces,
        one.start,
        None,
        ((first, _FIELDS), (second, _FIELDS)),
    )


def _set_together(setting: Setting, first: ast.stmt, second: ast.stmt) -> Iterator[Combination]:
    """`a, b = f(a, b), g(a, b)` for `a = f(a, b)` and `b = g(a, b)` after it."""
    program = setting.program
    match first, second:
        case (
            ast.Assign(targets=[ast.Name(id=one)], value=value),
            ast.Assign(targets=[ast.Name(id=other)], value=next_value),
        ) if one != other:
            pass
        case _:
            return
    reads, _ = reads_and_sets(first)
    next_reads, _ = reads_and_sets(second)
    if one not in reads or one not in next_reads:
        return
    span, next_span = program.span(first), program.span(second)
    text = f"{one}, {other} = {program.outer_text(value)}, {program.outer_text(next_value)}"
    pieces = (
        Replacement(span.start, span.end, text),
        Replacement(next_span.start, next_span.end, "pass"),
    )
    yield Combination(
        "set-early",
        CHANGE,
        f"when `{one}` is set",
        pieces,
        span.start,
        program.qualified[program.scope(first)],
        ((first, _EARLY), (second, _EARLY)),
    )


def _every_other(setting: Setting, first: ast.stmt, second: ast.stmt) -> Iterator[Combination]:
    """`arange(0, n, 2)` and one more, for `arange(n // 2)` and half of all more."""
    program = setting.program
    match first, second:
        case (
            ast.Assign(targets=[ast.Name(id=one)], value=ast.Call(args=[*bounds]) as made),
            ast.Assign(
                value=ast.BinOp(
                    left=ast.Name(id=name),
                    op=ast.Add(),
                    right=ast.BinOp(
                        left=whole, op=ast.FloorDiv(), right=ast.Constant(value=2)
                    ) as half,
                )
            ),
        ) if one == name and callee(made) in ("arange", "range") and 1 <= len(bounds) <= 2:
            pass
        case _:
            return
    if program.text(bounds[-1]) != program.text(half):
        return
    start, end = program.outer_span(bounds[0]).start, program.outer_span(bounds[-1]).end
    more = program.outer_span(half)
    pieces = (
        Replacement(start, end, f"0, {program.text(whole)}, 2"),
        Replacement(more.start, more.end, "1"),
    )
    yield Combination(
        "halves",
        CHANGE,
        "which half of the features is which",
        pieces,
        start,
        program.qualified[program.scope(first)],
        ((first, _HALVES), (second, _HALVES)),
    )
