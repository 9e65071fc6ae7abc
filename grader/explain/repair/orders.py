"""In which order a submission names things that go together: `sin, cos` everywhere but once."""

from __future__ import annotations

import ast
import itertools
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence

from grader.explain.rewriting.program.name_similarity import kinship, words

_ALIKE = 2
# Of two places that differ from each other, neither is the usual one.
_ENOUGH = 2
# A pair of words, the one that comes first before the other, and the line where they stand.
_Pair = tuple[str, str]


class Orders:
    """The orders that are usual in some files."""

    def __init__(self, texts: Iterable[str]) -> None:
        own = list(texts)
        self._together = frozenset(pair for text in own for pair in _unpacked(text))
        self._known = {text: list(self._pairs(text)) for text in own}
        self._usual = Counter(pair for pairs in self._known.values() for _, pair in pairs)

    def gained(self, before: str, after: str, lines: Collection[int]) -> int:
        """How many more pairs stand in their usual order after some lines of a file changed.

        `before` is the text of one of the files.
        """
        was, is_now = (
            [pair for line, pair in pairs if line in lines]
            for pairs in (self._known[before], self._pairs(after))
        )
        if was == is_now:
            return 0
        usual = self._usual - Counter(was)
        return sum(_vote(usual, pair) for pair in is_now) - sum(_vote(usual, pair) for pair in was)

    def _pairs(self, text: str) -> Iterator[tuple[int, _Pair]]:
        """By line, what stands side by side that has an order."""
        for node in _nodes(text):
            for one, other in itertools.pairwise(_listed(node)):
                first, second = _name(one), _name(other)
                if first == second or not first or not second:
                    continue
                if kinship(first, second) == _ALIKE:
                    differing = zip(words(first), words(second), strict=True)
                    pair = next((two for two in differing if two[0] != two[1]), None)
                    if pair is not None:
                        yield one.lineno, pair
                elif {first, second} in self._together:
                    yield one.lineno, (first, second)


def _vote(usual: Counter[_Pair], pair: _Pair) -> int:
    here, there = usual[pair], usual[pair[::-1]]
    return (here >= there + _ENOUGH) - (here + _ENOUGH <= there)


def _unpacked(text: str) -> Iterator[frozenset[str]]:
    """The variables that are unpacked side by side."""
    for node in _nodes(text):
        if isinstance(node, ast.Tuple) and isinstance(node.ctx, ast.Store):
            for one, other in itertools.pairwise(node.elts):
                if isinstance(one, ast.Name) and isinstance(other, ast.Name):
                    yield frozenset((one.id, other.id))


def _nodes(text: str) -> Iterator[ast.AST]:
    try:
        yield from ast.walk(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError):
        return


def _listed(node: ast.AST) -> Sequence[ast.expr | ast.arg]:
    match node:
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Call(args=parts):
            return parts
        case ast.arguments(args=names):
            return names
        case _:
            return []


def _name(node: ast.AST) -> str:
    """The variable that a value is of."""
    match node:
        case ast.Name(id=name) | ast.arg(arg=name):
            return name
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            return name
        case ast.Call(func=ast.Attribute(value=value)) | ast.Attribute(value=value):
            return _name(value)
        case ast.Call(args=[value, *_]) | ast.Subscript(value=value):
            return _name(value)
        case _:
            return ""
