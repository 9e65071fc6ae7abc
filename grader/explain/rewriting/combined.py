"""Edits of several places: one change at all similar places, opposite changes, moved statements."""

from __future__ import annotations

import ast
import itertools
from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace

from grader.explain.rewriting.draft_check import CheckedDraft, DraftCheck
from grader.explain.rewriting.edit import CHANGE, SLIP, Draft, Edit, Replacement, edit_of, instead
from grader.explain.rewriting.program.setting import Setting
from grader.explain.rewriting.program.source import Program, callee

_PER_FURTHER_PLACE = 0.5
_MOST_PLACES = 6
# The costs of two opposite changes in one statement, and in two statements.
_PAIR, _APART = 1.2, 1.35
_MOST_PAIRS = 4
# The kinds of change that may be paired within one statement: a sign at the wrong place of it.
_WITHIN = ("sign", "operator", "comparison", "constant")
_SIGNS = ("sign", "sign-dropped", "inverse")


# An edit, and the new tree number of each statement that it changes.
NumberedEdit = tuple[Edit, Mapping[ast.stmt, int]]


def together(
    setting: Setting, check: DraftCheck, given: Sequence[ast.stmt], single: Sequence[CheckedDraft]
) -> Iterator[NumberedEdit]:
    """Yields changes that belong together, swapped fields, and statements moved between blocks."""
    yield from _at_like_places(setting, check, single)
    yield from _opposite(setting, check, single)
    yield from _moved(setting, given)


def _at_like_places(
    setting: Setting, check: DraftCheck, single: Sequence[CheckedDraft]
) -> Iterator[NumberedEdit]:
    alike: dict[Hashable, list[CheckedDraft]] = defaultdict(list)
    for one in single:
        if one.draft.cost <= CHANGE and one.edit.function is not None:
            alike[one.edit.function, one.draft.kind, _likeness(setting, one.draft)].append(one)
    for group in alike.values():
        for own in (group, *_parts(setting, group)):
            if 2 <= len(own) <= _MOST_PLACES:
                cost = own[0].draft.cost + _PER_FURTHER_PLACE * (len(own) - 1)
                yield from _joined(check, own, cost)


def _likeness(program: Program, draft: Draft) -> Hashable:
    """Returns the same value for drafts that make the same change at different places."""
    pieces = ((program.source[one.start : one.end], one.text) for one in draft.pieces)
    return draft.likeness or tuple(sorted(pieces))


def _parts(setting: Setting, group: Sequence[CheckedDraft]) -> Iterator[list[CheckedDraft]]:
    """Yields the changes of a group that change one text, and those in calls of one function."""
    for role in (setting.text, lambda node: callee(setting.parent(node))):
        found: dict[str, list[CheckedDraft]] = defaultdict(list)
        for one in group:
            found[role(one.draft.node)].append(one)
        if len(found) > 1:
            yield from found.values()


def _joined(
    check: DraftCheck, changes: Sequence[CheckedDraft], cost: float
) -> Iterator[NumberedEdit]:
    """Yields the edit that makes several changes, unless some overlap."""
    by_statement: dict[ast.stmt, list[CheckedDraft]] = defaultdict(list)
    for one in changes:
        by_statement[one.statement].append(one)
    trees: dict[ast.stmt, int] = {}
    for statement, own in by_statement.items():
        tree = check.tree_of_all(own)
        if tree is None:
            return
        trees[statement] = tree
    first = min(changes, key=lambda one: one.draft.at)
    lines = tuple(sorted({line for one in changes for line in one.edit.lines}))
    pieces = tuple(sorted(piece for one in changes for piece in one.edit.replacements))
    yield replace(first.edit, cost=cost, lines=lines, replacements=pieces), trees


def _opposite(
    setting: Setting, check: DraftCheck, single: Sequence[CheckedDraft]
) -> Iterator[NumberedEdit]:
    """Yields opposite changes in one statement or in two consecutive ones: sin and cos swapped."""
    by_statement: dict[ast.stmt, dict[tuple[str, str, str], list[CheckedDraft]]] = {}
    for one in single:
        is_sign = one.draft.kind in _SIGNS and one.draft.cost <= CHANGE
        if (is_sign or one.draft.cost <= SLIP) and len(one.draft.pieces) == 1:
            own = by_statement.setdefault(one.statement, defaultdict(list))
            own[_replaced_text(setting, one)].append(one)
    for statement, changes in by_statement.items():
        following = setting.following(statement)
        for other in (statement, *([following] if following in by_statement else ())):
            cost = _PAIR if other is statement else _APART
            for (kind, old, new), ones in changes.items():
                if other is statement and (kind not in _WITHIN or old > new):
                    continue
                for one, opposite in itertools.islice(
                    itertools.product(ones, by_statement[other].get((kind, new, old), ())),
                    _MOST_PAIRS,
                ):
                    yield from _joined(check, (one, opposite), cost)


def _replaced_text(setting: Setting, one: CheckedDraft) -> tuple[str, str, str]:
    piece = one.draft.pieces[0]
    old = setting.source[piece.start : piece.end]
    kind = "sign" if one.draft.kind in _SIGNS else one.draft.kind
    return kind, old.removeprefix("0"), piece.text.removeprefix("0")


_FIELDS, _OUT, _IN = -1, -2, -3
_SIMPLE = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Return)
_BLOCKS = (ast.For, ast.While, ast.If)


def _moved(setting: Setting, given: Sequence[ast.stmt]) -> Iterator[NumberedEdit]:
    """Yields swapped fields of a class, and statements moved into or out of a block."""
    within = set(given)
    for node in given:
        if not isinstance(node, _SIMPLE) or not _is_alone(setting, node):
            continue
        following = setting.following(node)
        if following is not None and following in within:
            yield from _fields(setting, node, following)
        if "\n" not in setting.text(node):
            yield from _out_of_block(setting, node)
            yield from _into_block(setting, node)


def _fields(setting: Setting, first: ast.stmt, second: ast.stmt) -> Iterator[NumberedEdit]:
    match first, second:
        case (
            ast.AnnAssign(target=ast.Name(), value=value),
            ast.AnnAssign(target=ast.Name(), value=other),
        ) if isinstance(setting.scope(first), ast.ClassDef):
            pass
        case _:
            return
    is_on_two_lines = second.lineno == second.end_lineno != first.lineno == first.end_lineno
    if is_on_two_lines and (value is None) is (other is None):
        pieces = (
            instead(setting, first, setting.text(second)),
            instead(setting, second, setting.text(first)),
        )
        subject = "the order of fields"
        draft = Draft("fields", CHANGE, subject, first, pieces, pieces[0].end)
        yield edit_of(setting, draft, pieces), {first: _FIELDS, second: _FIELDS}


def _out_of_block(setting: Setting, node: ast.stmt) -> Iterator[NumberedEdit]:
    """Yields the last statement of a block, moved behind the block."""
    block = setting.home(node).parent
    if not isinstance(block, _BLOCKS) or block.orelse or len(block.body) < 2:
        return
    if node is block.body[-1]:
        yield _indented(setting, node, _indent(setting, block), _OUT)


def _into_block(setting: Setting, node: ast.stmt) -> Iterator[NumberedEdit]:
    """Yields the statement after a block, moved to the end of the block."""
    home = setting.home(node)
    beside = getattr(home.parent, home.field)
    if not home.index or not isinstance(beside, list):
        return
    block = beside[home.index - 1]
    if isinstance(block, _BLOCKS) and not block.orelse and block.body[0].lineno > block.lineno:
        yield _indented(setting, node, _indent(setting, block.body[-1]), _IN)


def _indented(setting: Setting, node: ast.stmt, indent: str, place: int) -> NumberedEdit:
    start = setting.span(node).start
    pieces = (Replacement(start - len(_indent(setting, node)), start, indent),)
    draft = Draft("block", SLIP, "the indentation of a statement", node, pieces, start)
    return edit_of(setting, draft, pieces), {node: place}


def _indent(program: Program, node: ast.stmt) -> str:
    """Returns the indentation of a statement, or "" if it does not begin its line."""
    start = program.span(node).start
    line = program.source[:start].rpartition("\n")[2]
    return line if not line.strip() else ""


def _is_alone(program: Program, node: ast.stmt) -> bool:
    span = program.span(node)
    before = program.source[: span.start].rpartition("\n")[2]
    after = program.source[span.end :].partition("\n")[0].strip()
    return not before.strip() and (not after or after.startswith("#"))
