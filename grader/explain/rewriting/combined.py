"""Edits that belong together: at all like places of a function, or two statements at once."""

from __future__ import annotations

import ast
import itertools
from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

from grader.explain.rewriting.edit import CHANGE, SLIP, Draft, Replacement
from grader.explain.rewriting.finishing import Finished, Finishing
from grader.explain.rewriting.program.name_similarity import kinship
from grader.explain.rewriting.program.setting import Setting, callee
from grader.explain.rewriting.replaced.statements import (
    SWAPPED_COST,
    block_after,
    reads_and_sets,
    swapped,
)

_MORE = 0.5
_MOST_PLACES = 6
# Costs of two changes that are one slip, and of two changes in two statements.
_PAIR, _APART = 1.2, 1.35
_MOST_PAIRS = 4
_MOST_TURNED = 30
# An addition at one place of a statement may belong to another place of it.
_WITHIN = ("sign", "operator", "comparison", "constant")
_SIGNS = ("sign", "sign-dropped", "inverse")


@dataclass(frozen=True, slots=True)
class Combination:
    """One change or several at once, with the trees that statements become by it."""

    kind: str
    cost: float
    subject: str
    pieces: tuple[Replacement, ...]
    at: int
    function: str | None
    trees: tuple[tuple[ast.stmt, int], ...]

    @classmethod
    def of(cls, one: Finished) -> Combination:
        """Returns the combination of a single change."""
        draft = one.draft
        trees = ((one.statement, one.tree),)
        return cls(draft.kind, draft.cost, draft.subject, one.pieces, draft.at, one.function, trees)


def together(
    setting: Setting,
    finishing: Finishing,
    given: Sequence[ast.stmt],
    single: Sequence[Finished],
) -> Iterator[Combination]:
    """Yields all combinations of changes, and neighbours exchanged."""
    yield from _at_like_places(setting, finishing, single)
    yield from _conventions(finishing, single)
    yield from _contrary(setting, finishing, single)
    yield from _sizes_and_axes(setting, finishing, single)
    yield from _neighbours(setting, given)


def _at_like_places(
    setting: Setting, finishing: Finishing, single: Sequence[Finished]
) -> Iterator[Combination]:
    alike: dict[Hashable, list[Finished]] = defaultdict(list)
    for one in single:
        if one.draft.likeness is not None and one.function is not None:
            alike[one.function, one.draft.kind, one.draft.likeness].append(one)
    for group in alike.values():
        for own in (group, *_same_texts(setting, group)):
            if 2 <= len(own) <= _MOST_PLACES:
                yield from _joined(finishing, own, own[0].draft.cost + _MORE * (len(own) - 1))


def _same_texts(setting: Setting, group: Sequence[Finished]) -> list[list[Finished]]:
    """Groups changes at like places by the text they change; returns none if all change one."""
    found: dict[str, list[Finished]] = defaultdict(list)
    for one in group:
        found[setting.program.text(one.draft.node)].append(one)
    return [] if len(found) == 1 else list(found.values())


def _conventions(finishing: Finishing, single: Sequence[Finished]) -> Iterator[Combination]:
    """Features in pairs for features in halves, in all that a function does; or the reverse."""
    for wanted in ("strided", "halved"):
        groups: dict[str | None, list[Finished]] = defaultdict(list)
        for one in single:
            if one.draft.likeness == wanted:
                groups[one.function].append(one)
        for group in groups.values():
            if len({one.draft.kind for one in group}) > 1:
                yield from _joined(finishing, group, CHANGE + _MORE * (len(group) - 1))


def _joined(
    finishing: Finishing, changes: Sequence[Finished], cost: float
) -> Iterator[Combination]:
    """Yields several changes at once, if none lies within another."""
    by_statement: dict[ast.stmt, list[Finished]] = defaultdict(list)
    for one in changes:
        by_statement[one.statement].append(one)
    trees = {node: finishing.tree_of_all(own) for node, own in by_statement.items()}
    known = tuple((node, tree) for node, tree in trees.items() if tree is not None)
    if len(known) < len(trees):
        return
    first = min(changes, key=lambda one: one.draft.at)
    yield Combination(
        first.draft.kind,
        cost,
        first.draft.subject,
        tuple(sorted(piece for one in changes for piece in one.pieces)),
        first.draft.at,
        first.function,
        known,
    )


def _contrary(
    setting: Setting, finishing: Finishing, single: Sequence[Finished]
) -> Iterator[Combination]:
    """Yields changes in two statements in a row that undo each other: + and -, sin and cos."""
    by_statement: dict[ast.stmt, dict[tuple[str, str, str], list[Finished]]] = {}
    for one in single:
        is_sign = one.draft.kind in _SIGNS and one.draft.cost <= CHANGE
        if (is_sign or one.draft.cost <= SLIP) and len(one.pieces) == 1:
            own = by_statement.setdefault(one.statement, defaultdict(list))
            own[_became(setting, one)].append(one)
    for statement, changes in by_statement.items():
        following = block_after(setting.program, statement)
        for other in (statement, *([following] if following in by_statement else ())):
            cost = _PAIR if other is statement else _APART
            for (kind, old, new), ones in changes.items():
                if other is statement and (kind not in _WITHIN or old > new):
                    continue
                for one, contrary in itertools.islice(
                    itertools.product(ones, by_statement[other].get((kind, new, old), ())),
                    _MOST_PAIRS,
                ):
                    yield from _joined(finishing, (one, contrary), cost)


def _sizes_and_axes(
    setting: Setting, finishing: Finishing, single: Sequence[Finished]
) -> Iterator[Combination]:
    """Sizes in another order, and the axes that the next statement turns: heads split otherwise."""
    sizes: dict[ast.stmt, list[Finished]] = defaultdict(list)
    axes: dict[ast.stmt, list[Finished]] = defaultdict(list)
    for one in single:
        is_shape = callee(one.draft.node) in ("view", "reshape") and one.draft.kind == "arguments"
        is_tuple = isinstance(one.draft.node, (ast.Tuple, ast.List))
        if is_shape or (one.draft.kind == "elements" and is_tuple):
            sizes[one.statement].append(one)
        elif one.draft.kind in ("transposed-axes", "axis"):
            axes[one.statement].append(one)
    for statement, orders in sizes.items():
        following = block_after(setting.program, statement)
        turned = axes.get(following, ()) if following is not None else ()
        for one, other in itertools.islice(itertools.product(orders, turned), _MOST_TURNED):
            cost = one.draft.cost + other.draft.cost
            yield from _joined(finishing, (one, other), cost)


def _became(setting: Setting, one: Finished) -> tuple[str, str, str]:
    piece = one.pieces[0]
    old = setting.program.source[piece.start : piece.end]
    if one.draft.kind in _SIGNS:
        return "sign", old.strip("("), piece.text.strip("(")
    return one.draft.kind, old.removeprefix("0"), piece.text.removeprefix("0")


def _neighbours(setting: Setting, given: Sequence[ast.stmt]) -> Iterator[Combination]:
    """Statements in a row exchanged, or what two assignments in a row assign."""
    program = setting.program
    within = set(given)
    for first in given:
        second = block_after(program, first)
        if second is None or second not in within:
            continue
        function = program.qualified[program.scope(first)]
        for pieces in swapped(setting, first, second):
            yield Combination(
                "statements",
                SWAPPED_COST,
                "the order of statements",
                pieces,
                pieces[0].start,
                function,
                ((first, -1), (second, -1)),
            )
        match first, second:
            case (
                ast.Assign(targets=[ast.Name(id=one)], value=value),
                ast.Assign(targets=[ast.Name(id=other)], value=next_value),
            ) if one != other:
                spans = [program.span(target) for target in (first.targets[0], second.targets[0])]
                pieces = (
                    Replacement(spans[0].start, spans[0].end, other),
                    Replacement(spans[1].start, spans[1].end, one),
                )
                are_kin = kinship(one, other) == 2
                are_alike = are_kin and callee(value) == callee(next_value) != ""
                yield Combination(
                    "targets",
                    SLIP + 0.25 if are_alike else CHANGE if are_kin else SWAPPED_COST,
                    f"what `{one}` and `{other}` are assigned",
                    pieces,
                    spans[0].start,
                    function,
                    ((first, -2), (second, -2)),
                )


__all__ = ["Combination", "Draft", "together"]


_FIELDS, _EARLY, _HALVES = -3, -4, -5


def pairs(setting: Setting, given: Sequence[ast.stmt]) -> Iterator[Combination]:
    """Yields combinations of edits to two neighbouring statements."""
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
    """Yields two fields of a class in the other order."""
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
    """Yields `a, b = f(a, b), g(a, b)` for `a = f(a, b)` and `b = g(a, b)` after it."""
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
    """Yields `arange(0, n, 2)` and one more, for `arange(n // 2)` and half of all more."""
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
