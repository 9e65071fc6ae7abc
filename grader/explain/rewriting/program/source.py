"""A parsed program: its tree, the position of each node in the source, and its surroundings."""

from __future__ import annotations

import ast
import bisect
import itertools
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

_LINE_END = re.compile(r"\r\n|\r|\n")
_SPACE = " \t\r\n\f\\"
_TOO_LARGE = 400
LIBRARIES = frozenset(
    {"torch", "F", "math", "np", "numpy", "nn", "einops", "functools", "itertools", "functional"}
)
Function = ast.FunctionDef | ast.AsyncFunctionDef
Scope = Function | ast.ClassDef | ast.Module
_SIMPLE = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return, ast.Expr, ast.Delete)


@dataclass(frozen=True, slots=True)
class Span:
    """Offsets in the source: the first character, and the one after the last."""

    start: int
    end: int


@dataclass(slots=True)
class NodePlace:
    """The place of a node in the tree: its parent and field there, its statement, its scope."""

    parent: ast.AST
    field: str
    statement: ast.stmt
    scope: Scope


@dataclass(slots=True)
class Statement:
    """A statement with its nodes that may be edited, outer ones first."""

    node: ast.stmt
    nodes: list[ast.AST] = field(default_factory=list)


class Program:
    """A parsed source.

    Raises:
        SyntaxError, ValueError: if the source does not parse.
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self.tree = ast.parse(source)
        ends = [match.end() for match in _LINE_END.finditer(source)]
        self._starts = [0, *ends]
        self._texts = [source[a:b] for a, b in itertools.pairwise([*self._starts, len(source)])]
        self._homes: dict[ast.AST, NodePlace] = {}
        self._spans: dict[ast.AST, Span] = {}
        self.statements: list[Statement] = []
        for statement in self.tree.body:
            self._settle(statement, self.tree, "body", self.tree)

    @property
    def nodes(self) -> Iterator[ast.AST]:
        """Yields all nodes that may be edited."""
        return (node for statement in self.statements for node in statement.nodes)

    def home(self, node: ast.AST) -> NodePlace:
        """Returns the place of a node in the tree."""
        return self._homes[node]

    def parent(self, node: ast.AST) -> ast.AST:
        """Returns the node around a node."""
        return self._homes[node].parent

    def around(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yields a node and the nodes around it that belong to its function or class."""
        scope = self.scope(node)
        while node is not scope:
            yield node
            node = self.parent(node)

    def role(self, node: ast.AST) -> str:
        """Returns which part of which kind of statement a node is, and of which function."""
        path: list[str] = []
        while isinstance(node, ast.expr | ast.keyword | ast.comprehension):
            home = self.home(node)
            path.append(f"{type(home.parent).__name__}.{home.field}")
            node = home.parent
        return f"{self.span(self.scope(node)).start} {' '.join(path)}"

    def scope(self, node: ast.AST) -> Scope:
        """Returns the innermost function, class or module around a node; the module for itself."""
        return self.tree if node is self.tree else self._homes[node].scope

    def class_around(self, node: ast.AST) -> ast.ClassDef | None:
        """Returns the innermost class that holds a node or is it, or None.

        Nodes without a place have none: those in f-strings, patterns and types of handlers.
        """
        if node not in self._homes:
            return None
        while not isinstance(node, (ast.ClassDef, ast.Module)):
            node = self.scope(node)
        return node if isinstance(node, ast.ClassDef) else None

    def text(self, node: ast.AST) -> str:
        """Returns a node's text, without parentheses around it."""
        span = self.span(node)
        return self.source[span.start : span.end]

    def outer_text(self, node: ast.AST) -> str:
        """Returns a node's text with its own parentheses."""
        span = self.outer_span(node)
        return self.source[span.start : span.end]

    def span(self, node: ast.AST) -> Span:
        """Returns the span of a node, without parentheses around it."""
        found = self._spans.get(node)
        if isinstance(node, ast.Module):
            return Span(0, len(self.source))
        if found is None:
            found = self._spans[node] = Span(
                self._offset(node.lineno, node.col_offset),  # type: ignore[attr-defined]
                self._offset(node.end_lineno, node.end_col_offset),  # type: ignore[attr-defined]
            )
        return found

    def outer_span(self, node: ast.AST) -> Span:
        """Returns the span of a node with its own parentheses, but not those of a call."""
        span = self.span(node)
        if not isinstance(node, ast.expr):
            return span
        layers = list(self._parentheses(span))
        if layers and self._is_only_argument(node):
            layers.pop()
        return layers[-1] if layers else span

    def line(self, offset: int) -> int:
        """Returns the line, from 1, of a character."""
        return bisect.bisect_right(self._starts, offset)

    @staticmethod
    def parts(node: ast.AST) -> Iterator[ast.AST]:
        """Yields a node and all nodes in it, except those inside f-strings: they have no span."""
        waiting = deque((node,))
        while waiting:
            one = waiting.popleft()
            yield one
            if not isinstance(one, ast.JoinedStr):
                waiting.extend(ast.iter_child_nodes(one))

    def _offset(self, line: int, column: int) -> int:
        text = self._texts[line - 1]
        if not text.isascii():
            column = len(text.encode()[:column].decode())
        return self._starts[line - 1] + column

    def _parentheses(self, span: Span) -> Iterator[Span]:
        """Yields the parentheses around a span, from the inside out."""
        start, end, source = span.start, span.end, self.source
        while True:
            while start > 0 and source[start - 1] in _SPACE:
                start -= 1
            while end < len(source) and source[end] in _SPACE:
                end += 1
            if start == 0 or source[start - 1] != "(" or source[end : end + 1] != ")":
                return
            start, end = start - 1, end + 1
            yield Span(start, end)

    def _is_only_argument(self, node: ast.expr) -> bool:
        home = self._homes.get(node)
        if home is None:
            return False
        if isinstance(home.parent, ast.Call):
            return home.field == "args" and len(home.parent.args) + len(home.parent.keywords) == 1
        return isinstance(home.parent, ast.ClassDef)

    def _settle(self, statement: ast.stmt, parent: ast.AST, field: str, scope: Scope) -> None:
        """Records the places of a statement's nodes, and which of them may be edited."""
        self._homes[statement] = NodePlace(parent, field, statement, scope)
        own = Statement(statement)
        self.statements.append(own)
        if isinstance(statement, _SIMPLE) and _is_edited(statement, "value"):
            own.nodes.append(statement)
        for name, part in _parts(statement):
            self._settle_part(part, statement, name, own, scope, _is_edited(statement, name))
        if len(own.nodes) > _TOO_LARGE:
            own.nodes.clear()

    def _settle_part(
        self, part: ast.AST, parent: ast.AST, field: str, own: Statement, scope: Scope, edited: bool
    ) -> None:
        if isinstance(part, ast.stmt):
            inner = parent if isinstance(parent, Function | ast.ClassDef) else scope
            if not (inner is parent and part is inner.body[0] and _is_text(part)):
                self._settle(part, parent, field, inner)
            return
        self._homes[part] = NodePlace(parent, field, own.node, scope)
        if edited:
            own.nodes.append(part)
        # Nodes inside f-strings have no span.
        for name, inside in () if isinstance(part, ast.JoinedStr) else _parts(part):
            self._settle_part(inside, part, name, own, scope, edited and name not in _UNEDITED)


def _parts(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Yields the children of a node that have a place, each with its field."""
    for name, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not isinstance(child, _UNPLACED):
                yield name, child


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


_UNPLACED = (ast.expr_context, ast.operator, ast.unaryop, ast.cmpop, ast.boolop)
_UNEDITED = {"annotation", "returns", "decorator_list"}
_WORDS = {"print", "warn", "warning", "info", "debug", "error"}


def _is_edited(statement: ast.stmt, part: str) -> bool:
    """Returns whether a part of a statement may be edited."""
    match statement:
        case ast.Import() | ast.ImportFrom() | ast.Raise() | ast.Global() | ast.Nonlocal():
            return False
        case ast.Assert():
            return part == "test"
        case ast.ClassDef() | ast.Try() | ast.Match():
            return False
        case ast.Expr(value=ast.Constant()) | ast.Assign(targets=[ast.Name(id="__all__")]):
            return False
        case ast.Expr(value=ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name))):
            return name not in _WORDS
    return part not in _UNEDITED


def callee(node: ast.AST) -> str:
    """Returns the last name of the called function, or "" if the node is not such a call."""
    match node:
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)):
            return name
    return ""


def names_in(node: ast.AST) -> list[str]:
    """Returns the variables in a node, each as often as it occurs."""
    return [one.id for one in ast.walk(node) if isinstance(one, ast.Name)]


def bound_in(node: ast.AST) -> set[str]:
    """Returns the parameters, variables and functions that code in a node binds."""
    found: set[str] = set()
    for one in ast.walk(node):
        match one:
            case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()):
                found.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                found.add(name)
    return found


def parameters(given: ast.arguments) -> list[ast.arg]:
    """Returns the named parameters of a function or a lambda."""
    return [one for one, _ in with_defaults(given)]


def with_defaults(given: ast.arguments) -> list[tuple[ast.arg, ast.expr | None]]:
    """Returns the named parameters of a function or a lambda, each with its default or None."""
    positional = [*given.posonlyargs, *given.args]
    defaults = [*([None] * (len(positional) - len(given.defaults))), *given.defaults]
    return [*zip([*positional, *given.kwonlyargs], [*defaults, *given.kw_defaults], strict=True)]
