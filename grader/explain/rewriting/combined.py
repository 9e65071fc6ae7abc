"""Edits of several places: at all like places of a function, or two that undo each other."""

from __future__ import annotations

import ast
import itertools
from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

from grader.explain.rewriting.edit import CHANGE, SLIP, Replacement
from grader.explain.rewriting.finishing import Finished, Finishing
from grader.explain.rewriting.program.setting import Setting

_MORE = 0.5
_MOST_PLACES = 6
# Costs of two changes that are one slip, and of two changes in two statements.
_PAIR, _APART = 1.2, 1.35
_MOST_PAIRS = 4
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
    single: Sequence[Finished],
) -> Iterator[Combination]:
    """Yields changes that belong together."""
    yield from _at_like_places(setting, finishing, single)
    yield from _contrary(setting, finishing, single)


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
        following = setting.program.following(statement)
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


def _became(setting: Setting, one: Finished) -> tuple[str, str, str]:
    piece = one.pieces[0]
    old = setting.program.source[piece.start : piece.end]
    if one.draft.kind in _SIGNS:
        return "sign", old.strip("("), piece.text.strip("(")
    return one.draft.kind, old.removeprefix("0"), piece.text.removeprefix("0")
