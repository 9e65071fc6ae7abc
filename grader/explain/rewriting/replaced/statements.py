"""Statements: dropped, exchanged with the next, values of neighbours exchanged."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Sequence

from grader.explain.rewriting.draft import CHANGE, SLIP, WRAP, Draft, exchange
from grader.explain.rewriting.edit import Replacement
from grader.explain.rewriting.program.setting import Setting, integer, is_axis
from grader.explain.rewriting.program.source import Program

_MOST_IN_BRANCH = 2
_MOST_NUMBERS = 6


def statements(setting: Setting, node: ast.stmt) -> Iterator[Draft]:
    """A statement that does nothing, as far as something remains to be used."""
    text = _instead_of(setting, node)
    if text is None:
        return
    span = setting.program.span(node)
    subject = "a statement that may not belong there"
    piece = Replacement(span.start, span.end, text)
    yield Draft("statement-dropped", CHANGE, subject, node, (piece,), span.start)


def targets(setting: Setting, node: ast.Assign) -> Iterator[Draft]:
    """`a = x` for `a = b = x`."""
    if len(node.targets) != 2:
        return
    program = setting.program
    first, second = (program.outer_span(one) for one in node.targets)
    value = program.outer_span(node.value)
    for piece in (
        Replacement(second.start, value.start, ""),
        Replacement(first.start, second.start, ""),
    ):
        subject = "how many variables are set"
        yield Draft("target-dropped", SLIP, subject, node, (piece,), first.start)


def numbers(setting: Setting, node: ast.stmt) -> Iterator[Draft]:
    """Two numbers of a statement that take each other's places."""
    if not isinstance(node, (ast.Assign, ast.Return)) or node.value is None:
        return
    program = setting.program
    found: dict[int, list[ast.expr]] = {}
    for one in program.parts(node.value):
        if isinstance(one, ast.expr) and not isinstance(setting.parent(one), ast.UnaryOp):
            number = integer(one)
            if number is not None and not is_axis(setting, one):
                found.setdefault(number, []).append(one)
    places = [(number, parts[0]) for number, parts in found.items() if len(parts) == 1]
    if not 2 <= len(places) <= _MOST_NUMBERS:
        return
    for (number, part), (other, partner) in itertools.combinations(places, 2):
        if number == -other:
            parts = sorted((part, partner), key=lambda one: program.span(one).start)
            subject = f"where `{number}` and `{other}` stand"
            yield exchange(program, node, parts, (1, 0), "numbers", CHANGE, subject)


def _instead_of(setting: Setting, node: ast.stmt) -> str | None:
    match node:
        case ast.Assign(targets=[ast.Name(id=name)]):
            first = setting.scopes.names(node).first.get(name, node.lineno)
            return "pass" if first < node.lineno else None
        case ast.Assign(targets=[ast.Subscript()]) | ast.AugAssign():
            return "pass"
        case ast.Assign(targets=[ast.Attribute()], value=ast.Call()):
            scope = setting.program.scope(node)
            return None if getattr(scope, "name", "") == "__init__" else "pass"
        case ast.Expr(value=ast.Call()) if "super()" not in setting.program.text(node):
            return "pass"
        case _:
            return None


def block_after(program: Program, node: ast.stmt) -> ast.stmt | None:
    """The statement that follows a statement in its block."""
    home = program.home(node)
    block = getattr(home.parent, home.field)
    following = home.index + 1 if home.index is not None else len(block)
    return block[following] if following < len(block) else None


def reads_and_sets(node: ast.AST) -> tuple[set[str], set[str]]:
    """The names that a statement reads, and those that it sets."""
    reads: set[str] = set()
    sets: set[str] = set()
    for one in ast.walk(node):
        if isinstance(one, ast.Name):
            (reads if isinstance(one.ctx, ast.Load) else sets).add(one.id)
            if isinstance(node, ast.AugAssign):
                reads.add(one.id)
    return reads, sets


def swapped(
    setting: Setting, first: ast.stmt, second: ast.stmt
) -> Sequence[tuple[Replacement, Replacement]]:
    """What exchanges two statements in a row, if the order matters: lines, one of them an `if`."""
    lines = [one for one in (first, second) if _is_line(one)]
    branches = [one for one in (first, second) if _is_branch(one)]
    if not lines or len(lines) + len(branches) < 2:
        return ()
    (reads, sets), (other_reads, other_sets) = reads_and_sets(first), reads_and_sets(second)
    if not (sets & (other_reads | other_sets) or reads & other_sets):
        return ()
    if first.lineno == second.lineno:
        return ()
    program = setting.program
    one, other = program.span(first), program.span(second)
    return (
        (
            Replacement(one.start, one.end, program.text(second)),
            Replacement(other.start, other.end, program.text(first)),
        ),
    )


def _is_line(node: ast.stmt) -> bool:
    simple = isinstance(node, (ast.Assign, ast.AugAssign, ast.Expr, ast.AnnAssign))
    return simple and node.lineno == node.end_lineno


def _is_branch(node: ast.stmt) -> bool:
    """Whether a statement is an `if` of a line or two."""
    return (
        isinstance(node, ast.If)
        and not node.orelse
        and len(node.body) <= _MOST_IN_BRANCH
        and all(map(_is_line, node.body))
        and node.body[0].lineno > node.lineno
    )


SWAPPED_COST = WRAP
