"""Numbers for trees: equal trees have the same number."""

from __future__ import annotations

import ast
from collections.abc import Hashable

from grader.edits.program import Program

_SKIPPED = {"ctx", "type_comment", "kind", "type_params"}


class Trees:
    """Numbers the trees of a program, and those that edits would make of them."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._numbers: dict[Hashable, int] = {}
        self._known: dict[ast.AST, int] = {}

    def number(self, node: ast.AST) -> int:
        """The number of a tree that stays as it is."""
        found = self._known.get(node)
        if found is None:
            found = self._known[node] = self._numbered(node, None, None, None)
        return found

    def number_in_statement(self, node: ast.AST, became: int) -> int:
        """The number of a node's statement, after the node has become another tree."""
        home = self._program.home(node)
        while node is not home.statement:
            place = self._program.home(node)
            became = self._numbered(place.parent, place.field, place.index, became)
            node = place.parent
        return became

    def _numbered(
        self, node: ast.AST, field: str | None, index: int | None, became: int | None
    ) -> int:
        """The number of a tree, one of whose parts may have become another."""
        parts: list[Hashable] = [type(node).__name__]
        for name in node._fields:
            if name in _SKIPPED:
                continue
            value = getattr(node, name, None)
            if name == field and index is None:
                parts.append(became)
            elif isinstance(value, list):
                numbers = [self._part(one) for one in value]
                if name == field and index is not None:
                    numbers[index] = became
                parts.append(tuple(numbers))
            else:
                parts.append(self._part(value))
        return self._numbers.setdefault(tuple(parts), len(self._numbers))

    def _part(self, value: object) -> Hashable:
        if isinstance(value, ast.AST):
            return self.number(value)
        return (type(value), value)
