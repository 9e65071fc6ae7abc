"""Numbers for trees: equal trees have the same number."""

from __future__ import annotations

import ast
from collections.abc import Hashable, Mapping

from grader.explain.rewriting.program.source import Program

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
            found = self._known[node] = self._numbered(node, {})
        return found

    def number_after(self, statement: ast.stmt, became: Mapping[ast.AST, int]) -> int:
        """The number of a statement after nodes in it, none within another, became other trees."""
        numbers = dict(became)
        above: list[ast.AST] = []
        for node in became:
            while node is not statement:
                node = self._program.parent(node)
                if node not in numbers:
                    above.append(node)
                    numbers[node] = -1
        # Parents come after their children: whoever stands higher was met later on some path.
        for node in sorted(above, key=self._depth, reverse=True):
            numbers[node] = self._numbered(node, numbers)
        return numbers[statement]

    def _depth(self, node: ast.AST) -> int:
        depth = 0
        while not isinstance(node, ast.stmt):
            node = self._program.parent(node)
            depth += 1
        return depth

    def _numbered(self, node: ast.AST, became: Mapping[ast.AST, int]) -> int:
        """The number of a tree, parts of which may have become others."""
        parts: list[Hashable] = [type(node).__name__]
        for name in node._fields:
            if name in _SKIPPED:
                continue
            value = getattr(node, name, None)
            if isinstance(value, list):
                parts.append(tuple(self._part(one, became) for one in value))
            else:
                parts.append(self._part(value, became))
        return self._numbers.setdefault(tuple(parts), len(self._numbers))

    def _part(self, value: object, became: Mapping[ast.AST, int]) -> Hashable:
        if isinstance(value, ast.AST):
            return became[value] if value in became else self.number(value)
        return (type(value), value)
