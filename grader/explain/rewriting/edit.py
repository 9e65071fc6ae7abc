"""Edits of a program's text, and the drafts of edits that rewrite rules propose."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from grader.explain.rewriting.program.source import Function, Program, Span


@dataclass(frozen=True, slots=True, order=True)
class Replacement:
    """A replacement: the characters of the source from `start` to `end` become `text`."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Edit:
    """One small change that keeps a program well formed.

    `line` is the line of the changed expression. `lines` are all lines that change, without those
    that only get parentheses. Both count from 1. `cost` is small for a likely slip and a small
    change. `subject` names the changed part to a student, and never the new text. `in_function`
    says whether the body of a function changes. The `role` is the same for the same part of like
    statements in one function.
    """

    kind: str
    line: int
    lines: tuple[int, ...]
    cost: float
    replacements: tuple[Replacement, ...]
    subject: str
    in_function: bool
    role: str = ""

    def applied(self, source: str) -> str:
        """Returns the program after the edit."""
        return replaced(source, self.replacements)


def replaced(source: str, replacements: Iterable[Replacement], offset: int = 0) -> str:
    """Returns a text with replacements made in order; the text begins at `offset` in the source."""
    parts = []
    done = 0
    for one in replacements:
        parts += [source[done : one.start - offset], one.text]
        done = one.end - offset
    return "".join([*parts, source[done:]])


# Costs of edits. A slip is likely and small, and a change is less so. Wrapping or dropping changes
# more. A replacement by something unlike is unlikely.
SLIP = 1.0
CHANGE = 1.5
WRAP = 2.0
UNLIKELY = 3.0

# A branch that is no longer taken fixes what a mistake in its body breaks.
BRANCH = "the condition and the body of a branch"

PRIMARY = (
    ast.Name,
    ast.Attribute,
    ast.Subscript,
    ast.Call,
    ast.List,
    ast.Dict,
    ast.Set,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
)


@dataclass(frozen=True, slots=True)
class Draft:
    """A proposed change of one node's text; `at` is the offset of the changed part."""

    kind: str
    cost: float
    subject: str
    node: ast.AST
    pieces: tuple[Replacement, ...]
    at: int


def edit_of(program: Program, draft: Draft, pieces: tuple[Replacement, ...]) -> Edit:
    """Returns the edit that a draft makes with its finished replacements."""
    lines = tuple(sorted(_lines(program, pieces)))
    line = program.line(draft.at)
    subject = BRANCH if _decides(program, draft.node) else draft.subject
    in_function = isinstance(program.scope(draft.node), Function)
    role = program.role(draft.node)
    return Edit(draft.kind, line, lines, draft.cost, pieces, subject, in_function, role)


def _decides(program: Program, node: ast.AST) -> bool:
    """Returns whether an expression lies in the condition of an `if`."""
    while isinstance(node, ast.expr):
        inner, node = node, program.parent(node)
        if isinstance(node, ast.If | ast.IfExp) and node.test is inner:
            return True
    return False


def _lines(program: Program, pieces: Iterable[Replacement]) -> set[int]:
    """Returns the numbers of the lines that replacements change."""
    found: set[int] = set()
    for piece in pieces:
        first = program.line(piece.start)
        if "\n" not in piece.text and program.line(piece.end) == first:
            found.add(first)
            continue
        old = program.source[piece.start : piece.end].split("\n")
        new = piece.text.split("\n")
        if len(old) == len(new):
            pairs = enumerate(zip(old, new, strict=True))
            found |= {first + place for place, (one, other) in pairs if one != other}
        else:
            found |= set(range(first, first + len(old)))
    return found


def instead(program: Program, node: ast.AST, text: str) -> Replacement:
    """Returns the replacement of a node's text."""
    span = program.span(node)
    return Replacement(span.start, span.end, text)


def put(program: Program, node: ast.AST, text: str, kind: str, cost: float, subject: str) -> Draft:
    """Returns a draft that replaces a node by another text."""
    piece = instead(program, node, text)
    return Draft(kind, cost, subject, with_indices(program, node), (piece,), piece.start)


def with_indices(program: Program, node: ast.AST) -> ast.AST:
    """Returns a node, or its subscript if it is in the index: slices parse nowhere else."""
    inner, parent = node, program.parent(node)
    if isinstance(node, ast.Slice) and isinstance(parent, ast.Tuple):
        inner, parent = parent, program.parent(parent)
    return parent if isinstance(parent, ast.Subscript) and inner is parent.slice else node


def wrap(
    program: Program, node: ast.expr, before: str, after: str, kind: str, cost: float, subject: str
) -> Draft:
    """Returns a draft that puts text around a node."""
    span = program.outer_span(node)
    bare = span == program.span(node)
    holds = isinstance(node, (*PRIMARY, ast.Tuple))
    if isinstance(node, ast.Constant):
        holds = not after.startswith(".")
    if bare and not holds:
        before, after = f"{before}(", f"){after}"
    pieces = [Replacement(span.start, span.start, before), Replacement(span.end, span.end, after)]
    at = place_of(program, node)
    return Draft(kind, cost, subject, node, tuple(p for p in pieces if p.text), at)


def keep(
    program: Program, node: ast.expr, kept: ast.expr, kind: str, cost: float, subject: str
) -> Draft:
    """Returns a draft that replaces a node by one of its parts and keeps the line ends."""
    whole, part = program.span(node), program.outer_span(kept)
    both = (Replacement(whole.start, part.start, ""), Replacement(part.end, whole.end, ""))
    pieces = tuple(one for one in both if one.start < one.end)
    at = whole.start
    if part.start == whole.start:
        at = len(program.source) - len(program.source[part.end :].lstrip())
    return Draft(kind, cost, subject, node, pieces, at)


def exchange(
    program: Program,
    node: ast.AST,
    parts: Sequence[ast.AST],
    order: Sequence[int],
    kind: str,
    cost: float,
    subject: str,
) -> Draft:
    """Returns a draft that puts parts of a node in another order.

    The part at place `n` becomes the part number `order[n]`.
    """
    spans = [program.outer_span(part) for part in parts]
    pieces = tuple(
        Replacement(spans[place].start, spans[place].end, program.outer_text(parts[source]))
        for place, source in enumerate(order)
        if place != source
    )
    return Draft(kind, cost, subject, with_indices(program, node), pieces, pieces[0].start)


def without(program: Program, among: Sequence[ast.AST], part: ast.AST) -> Replacement:
    """Returns the replacement that drops an argument or an element, with its comma."""
    parts = sorted(among, key=lambda one: program.span(one).start)
    place = parts.index(part)
    own = _argument_span(program, part)
    if place > 0:
        return Replacement(_argument_span(program, parts[place - 1]).end, own.end, "")
    end = _argument_span(program, parts[1]).start if len(parts) > 1 else own.end
    return Replacement(own.start, end, "")


def appended(program: Program, node: ast.Call, text: str) -> Replacement:
    """Returns the replacement that adds an argument at the end of a call."""
    given = [*node.args, *(keyword.value for keyword in node.keywords)]
    if not given:
        end = program.span(node).end - 1
        return Replacement(end, end, text)
    end = max(program.outer_span(one).end for one in given)
    return Replacement(end, end, f", {text}")


def _argument_span(program: Program, part: ast.AST) -> Span:
    if isinstance(part, ast.keyword):
        return Span(program.span(part).start, program.outer_span(part.value).end)
    return program.outer_span(part)


def place_of(program: Program, node: ast.expr) -> int:
    """Returns the offset that a reader takes for an expression's place.

    In a chain of method calls, that is the last method's name.
    """
    if isinstance(node, ast.Call):
        return place_of(program, node.func)
    if isinstance(node, ast.Attribute):
        return program.span(node).end - len(node.attr)
    return program.span(node).start


def place_of_arguments(program: Program, node: ast.Call) -> int:
    """Returns the offset at which a reader looks for a further argument.

    That is the last argument if all are on one line, and else the function's name.
    """
    given = [*node.args, *(keyword.value for keyword in node.keywords)]
    if not given or len({one.lineno for one in given}) > 1:
        return place_of(program, node)
    return program.outer_span(given[-1]).start


def common_start(one: str, other: str) -> int:
    """Returns the number of characters with which both texts begin."""
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))
