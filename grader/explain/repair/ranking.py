"""Ranks the edits that fix a program by how likely each undoes the author's slip.

Several edits often fix one program, and the source tells them apart. A slip leaves odd code: a
name that is never used, or the second thing before the first. Undoing the slip leaves ordinary
code.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from functools import cached_property, lru_cache

from grader.core.names import is_adapter
from grader.explain.repair.search import FileEdit
from grader.explain.repair.sources import EditableSources
from grader.explain.rewriting.edit import Edit
from grader.explain.rewriting.program.source import bound_in
from grader.explain.rewriting.program.variables import asked_for_none
from grader.explain.rewriting.program.vocabulary import Nature, Vocabulary, words

_NAME = re.compile(r"[^\W\d]\w*")
# Words in a string are not names; an f-string may hold names in its braces.
_TEXT = re.compile(r"(?<![fF])(?:\"[^\"\n]*\"|'[^'\n]*')")
# A value compared with itself, or subtracted from or divided by itself.
_WITH_ITSELF = re.compile(r"(?<![\w.)\]])([a-z_][\w.]*) *(?:[<>]=?|[=!]=|-|//?|%) *\1(?![\w.(\[])")
# The two sides of a comparison have no usual order.
_COMPARED = re.compile(r"[<>]=?|[=!]=")
# A quarter turn swaps two values and negates one: `(-second, first)` is in order.
_TURNED = re.compile(r"(?<=[(\[,])\s*-\s*[\w.]+")

_MORE_ORDERLY = -0.6
_LESS_ORDERLY = 0.8
# For the order in which other places list the same names.
_AS_USUAL, _UNUSUAL = -0.4, 0.4
# Swapping names that are in order only compensates for a mistake elsewhere.
_OUT_OF_ORDER = 1.6
_USES_WHAT_IS_UNUSED = -1.0
_LEAVES_UNUSED = 1.0
# A variable set to itself or to another variable: something is missing there.
_IDLE = re.compile(r"\s*([\w.]+)\s*=\s*\1\s*|\s*\w+\s*=\s*(?!True\b|False\b|None\b)[a-z]\w*\s*")
_COMPLETES_WHAT_IS_IDLE = -0.6
# The target of a value often shares a word with it: `"output": out_bias`.
_SET = re.compile(r"\s*[\"']?([\w.]+)[\"']?\s*(?:=[^=]|:)")
_ABBREVIATED = 3
_LIKE_ITS_TARGET = -0.35
# The kind of an edit that assigns a value to another variable.
_TARGET = "target"
# A function with one of these elsewhere has not forgotten to mask, or to subtract the maximum.
_DONE_ONCE = (
    frozenset({"masked_fill", "masked_fill_", "tril", "triu", "tril_", "triu_"}),
    frozenset({"max", "amax", "maximum"}),
)
_DONE_TWICE = 0.6
# A flag stands in a condition, or is passed on, more often than it selects a value.
_CONDITION = re.compile(r"\s*(if|elif|while)\b")
_CHOOSES_BY_FLAG = 0.35
# A factor is more often missing at a matrix product than where the product is passed on.
_PRODUCT = re.compile(r"@|\b(?:matmul|einsum|bmm)\b")
_SCALES_A_PRODUCT = -0.1
# At the same cost, edits in other files come before edits in the adapters.
_IN_ADAPTERS = 0.01
_SENSELESS = 1.0
# Where a line only returns a variable, the change fits better at the variable's assignment.
_RETURNED = re.compile(r"\s*return \w+\s*")
_SET_BEFORE = 0.1
# A line that occurs several times in its file is less likely.
_WITH_TWINS = 0.1
# A line that assigns the same call as another line of its function is less likely as well.
_WITH_LIKES = 0.35
_FORGOTTEN = "forgotten"


class EditRanking:
    """The weights of one submission's edits: the lighter an edit, the likelier."""

    def __init__(self, sources: EditableSources, adapters: str) -> None:
        self._sources = sources
        self._adapters = adapters
        self._vocabulary = sources.slips.vocabulary

    def weight(self, made: FileEdit) -> float:
        """Returns the weight of an edit: its cost, plus penalties, minus bonuses."""
        edit, source = made.edit, self._sources.text(made.file)
        before, after = _changed_lines(source, edit.applied(source), edit.lines)
        is_longer = len(after) > len(before)
        old, new = (Counter(_NAME.findall(_TEXT.sub("", text))) for text in (before, after))
        towards = 0.0 if edit.kind == _TARGET else _by_target(before, old - new, new - old)
        node = self._sources.node(made.file, edit.line)
        function = None if node is None else _Function(node)
        weight: float = edit.cost
        weight += self._by_order(before, after) or self._as_usual(made)
        if _IDLE.fullmatch(before) and is_longer:
            weight += _COMPLETES_WHAT_IS_IDLE
        weight += towards
        if function is not None:
            for own in self._by_function(function, edit, before, old.keys(), new.keys()):
                weight += own
        if made.file == self._adapters:
            weight += _IN_ADAPTERS
        if _WITH_ITSELF.search(after) and not _WITH_ITSELF.search(before):
            weight += _SENSELESS
        if _RETURNED.fullmatch(before) and is_longer:
            weight += _SET_BEFORE
        if self._sources.count(made.file, before) > 1:
            weight += _WITH_TWINS
        elif function is not None and not towards and function.has_like(edit.lines):
            weight += _WITH_LIKES
        return weight

    def _by_function(
        self, function: _Function, edit: Edit, before: str, old: Set[str], new: Set[str]
    ) -> Iterator[float]:
        """Yields penalties and bonuses for the names of the function around an edit.

        `old` and `new` are the names on the changed lines before and after.
        """
        removed, added = old - new, new - old
        unused = function.bound - function.used_beside(edit.lines) - {"self", "cls"}
        called = function.called_beside(edit.lines)
        if any(added & once and called & once for once in _DONE_ONCE):
            yield _DONE_TWICE
        if edit.kind == _TARGET:
            if removed & unused:
                yield _COMPLETES_WHAT_IS_IDLE
        else:
            if added & unused:
                yield _USES_WHAT_IS_UNUSED
            if removed & unused and not function.is_adapter:
                yield _LEAVES_UNUSED
        if edit.kind != _FORGOTTEN:
            return
        if Nature.FLAG in map(self._vocabulary.nature_of, added):
            yield 0.0 if _CONDITION.match(before) else _CHOOSES_BY_FLAG
        elif _PRODUCT.search(before):
            yield _SCALES_A_PRODUCT

    def _as_usual(self, made: FileEdit) -> float:
        """Returns a bonus or a penalty if other places confirm or contradict a new name order."""
        source = self._sources.text(made.file)
        orders = _orders_in(self._sources)
        gained = orders.gained(source, made.edit.applied(source), made.edit.lines)
        return _AS_USUAL if gained > 0 else _UNUSUAL if gained < 0 else 0.0

    def _by_order(self, before: str, after: str) -> float:
        """Returns a bonus if an edit puts names in their usual order, a penalty if out of it."""
        was, is_now = (disorder(text, self._vocabulary) for text in (before, after))
        if is_now > was and _names_in(before) == _names_in(after):
            return _OUT_OF_ORDER
        return _MORE_ORDERLY if is_now < was else _LESS_ORDERLY if is_now > was else 0.0


class _Function:
    """The names of one function: those that it binds, and those that it uses."""

    def __init__(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._node = node

    @property
    def is_adapter(self) -> bool:
        """Returns whether the function is an adapter, which the grader calls."""
        return is_adapter(self._node.name)

    @cached_property
    def _values(self) -> list[tuple[int, str]]:
        return [
            (one.lineno, ast.dump(one.value))
            for one in ast.walk(self._node)
            if isinstance(one, ast.Assign) and isinstance(one.value, ast.Call)
        ]

    def has_like(self, lines: Collection[int]) -> bool:
        """Returns whether another line assigns the same call as these lines."""
        own = [value for line, value in self._values if line in lines]
        others = [value for line, value in self._values if line not in lines]
        return any(value in others for value in own)

    @cached_property
    def bound(self) -> set[str]:
        """Returns the parameters, variables and functions in the function."""
        return bound_in(self._node)

    def used_beside(self, lines: Collection[int]) -> set[str]:
        """Returns the names that other lines than these read, except in comparisons with None."""
        asked = {id(one) for one in map(asked_for_none, ast.walk(self._node)) if one is not None}
        return {
            one.id
            for one in ast.walk(self._node)
            if isinstance(one, ast.Name)
            and isinstance(one.ctx, ast.Load)
            and one.lineno not in lines
            and id(one) not in asked
        }

    def called_beside(self, lines: Collection[int]) -> set[str]:
        """Returns the attributes that other lines than these use."""
        return {
            one.attr
            for one in ast.walk(self._node)
            if isinstance(one, ast.Attribute) and one.lineno not in lines
        }


def _by_target(before: str, removed: Collection[str], added: Collection[str]) -> float:
    """Returns a bonus if an edit makes a value share more words with its target, else a penalty.

    `removed` and `added` are the names that the edit removes and adds. An equal number of shared
    words weighs nothing.
    """
    target = _SET.match(before)
    if target is None or not removed or not added:
        return 0.0
    own = words(target[1].rpartition(".")[2])
    was, is_now = (
        sum(
            any(_is_short_for(word, other) for one in names for other in words(one)) for word in own
        )
        for names in (removed, added)
    )
    return _LIKE_ITS_TARGET * ((is_now > was) - (is_now < was))


def _is_short_for(one: str, other: str) -> bool:
    """Returns whether two words are equal, or one is the beginning of the other: out, output."""
    shorter, longer = sorted((one, other), key=len)
    return shorter == longer or (len(shorter) >= _ABBREVIATED and longer.startswith(shorter))


def _names_in(text: str) -> list[str]:
    return sorted(_NAME.findall(text))


def disorder(text: str, vocabulary: Vocabulary) -> int:
    """Returns how often a name stands right after one that it usually precedes."""
    parts = _COMPARED.split(_TURNED.sub("", text))
    return sum(vocabulary.disorder(_NAME.findall(part)) for part in parts)


def _changed_lines(source: str, edited: str, lines: Collection[int]) -> tuple[str, str]:
    old, new = source.split("\n"), edited.split("\n")
    before = [old[line - 1] for line in lines if line <= len(old)]
    after = [new[line - 1] for line in lines if line <= len(new)]
    return "\n".join(before), "\n".join(after)


_ALIKE = 2
# An order is usual if it occurs at least this many times more than its reverse.
_ENOUGH = 2
# Two neighbouring names, or the words in which they differ, in order.
_Pair = tuple[str, str]


class Orders:
    """The orders in which some files usually list related names."""

    def __init__(self, texts: Iterable[str], vocabulary: Vocabulary) -> None:
        own = list(texts)
        self._vocabulary = vocabulary
        self._together = frozenset(pair for text in own for pair in _unpacked(text))
        self._known = {text: list(self._pairs(text)) for text in own}
        self._usual = Counter(pair for pairs in self._known.values() for _, pair in pairs)

    def gained(self, before: str, after: str, lines: Collection[int]) -> int:
        """Returns how many more pairs stand in their usual order after some lines changed.

        `before` and `after` are texts of one file; `before` is one of the texts of this object.
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
        """Yields the pairs of neighbouring names that are related, each with its line."""
        for node in _nodes(text):
            for one, other in itertools.pairwise(_listed(node)):
                first, second = _name(one), _name(other)
                if first == second or not first or not second:
                    continue
                if self._vocabulary.kinship(first, second) == _ALIKE:
                    differing = zip(words(first), words(second), strict=True)
                    pair = next((two for two in differing if two[0] != two[1]), None)
                    if pair is not None:
                        yield one.lineno, pair
                elif {first, second} in self._together:
                    yield one.lineno, (first, second)


@lru_cache(maxsize=1)
def _orders_in(sources: EditableSources) -> Orders:
    return Orders(sources.texts.values(), sources.slips.vocabulary)


def _vote(usual: Counter[_Pair], pair: _Pair) -> int:
    here, there = usual[pair], usual[pair[::-1]]
    return (here >= there + _ENOUGH) - (here + _ENOUGH <= there)


def _unpacked(text: str) -> Iterator[frozenset[str]]:
    """Yields each pair of variables that are assigned side by side in an unpacking."""
    for node in _nodes(text):
        if isinstance(node, ast.Tuple) and isinstance(node.ctx, ast.Store):
            for one, other in itertools.pairwise(node.elts):
                if isinstance(one, ast.Name) and isinstance(other, ast.Name):
                    yield frozenset((one.id, other.id))


def _nodes(text: str) -> Iterator[ast.AST]:
    try:
        yield from ast.walk(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return


def _listed(node: ast.AST) -> Sequence[ast.expr | ast.arg]:
    match node:
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Call(args=parts):
            return parts
        case ast.arguments(args=names):
            return names
    return []


def _name(node: ast.AST) -> str:
    """Returns the variable or attribute from which an expression starts, or ""."""
    match node:
        case ast.Name(id=name) | ast.arg(arg=name):
            return name
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            return name
        case ast.Call(func=ast.Attribute(value=value)) | ast.Attribute(value=value):
            return _name(value)
        case ast.Call(args=[value, *_]) | ast.Subscript(value=value):
            return _name(value)
    return ""
