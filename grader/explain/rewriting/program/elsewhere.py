"""The names that code at a place can read, and the operations on values at other places."""

from __future__ import annotations

import ast
import bisect
import builtins
import functools
import itertools
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from grader.explain.rewriting.program.scopes import Scopes
from grader.explain.rewriting.program.source import (
    Function,
    Program,
    Scope,
    callee,
    names_in,
    parameters,
)
from grader.explain.rewriting.program.vocabulary import Nature

_BUILTIN = frozenset(dir(builtins))
LIBRARIES = frozenset(
    {"torch", "F", "math", "np", "numpy", "nn", "einops", "functools", "itertools", "functional"}
)
# Calls that are never forgotten around a tensor.
_DULL = frozenset(
    {
        *("range", "len", "print", "zip", "enumerate", "isinstance", "super", "float", "int"),
        *("list", "tuple", "append", "extend", "item", "size", "numel", "get", "setdefault"),
        *("arange", "ones", "zeros", "empty", "full", "tensor", "map", "getattr", "format"),
        *("dim", "join", "split", "register_buffer", "Parameter", "field", "replace", "dict"),
    }
)
_LONGEST = 120
_NEAR = 100
_MOST_SLICES = 3


@dataclass(frozen=True, slots=True)
class Variable:
    """A parameter or a variable of a function, and whether the function ever reads it."""

    name: str
    nature: Nature
    is_read: bool
    first: int


@dataclass(frozen=True, slots=True)
class Around:
    """The code around a value at some place: a call, a method or a factor.

    `names` holds the names in that code, and `taken` is the value. `name` is the called function,
    or "".
    """

    before: str
    after: str
    name: str
    names: frozenset[str]
    taken: ast.expr
    scope: Scope


class ProgramIndex:
    """An index of a program's names, calls, slices and operations."""

    def __init__(self, program: Program, scopes: Scopes) -> None:
        self._program = program
        self._scopes = scopes
        self._visible = functools.cache(self._visible_at)
        self._variables = functools.cache(self._variables_at)

    def visible(self, node: ast.AST) -> set[str]:
        """Returns the names that can be read at a node's place."""
        return self._visible(*self._place(node))

    def _place(self, node: ast.AST) -> tuple[Scope, int, tuple[ast.Lambda, ...]]:
        """Returns the scope, the line and the lambdas that decide which names a node sees."""
        line = getattr(node, "lineno", 0)
        return self._program.scope(node), line, tuple(self._lambdas(node))

    def _visible_at(self, scope: Scope, line: int, lambdas: tuple[ast.Lambda, ...]) -> set[str]:
        names = self._scopes.of(scope)
        if isinstance(scope, ast.Module):
            own = {name for name, first in names.first.items() if first < line}
        else:
            own = {name for name in names.natures if names.first.get(name, 0) < line}
        inner = {one.arg for around in lambdas for one in parameters(around.args)}
        return own | inner | self._of_file | self._defined_around(scope)

    def tensors(self, node: ast.AST) -> list[str]:
        """Returns the variables that a node can read and that are tensors."""
        return [one.name for one in self.variables(node) if one.nature is Nature.TENSOR]

    def variables(self, node: ast.AST) -> list[Variable]:
        """Returns the variables of the surrounding function that a node can read, in order."""
        return self._variables(*self._place(node))

    def _variables_at(
        self, scope: Scope, line: int, lambdas: tuple[ast.Lambda, ...]
    ) -> list[Variable]:
        names = self._scopes.of(scope)
        visible = self._visible(scope, line, lambdas)
        found = [
            Variable(name, nature, bool(names.read.get(name)), names.first.get(name, 0))
            for name, nature in names.natures.items()
            if name in names.own and name in visible
        ]
        for around in lambdas:
            read = names_in(around.body)
            for one in parameters(around.args):
                nature = names.natures.get(one.arg, Nature.TENSOR)
                found.append(Variable(one.arg, nature, one.arg in read, around.lineno))
        return found

    @functools.cached_property
    def classes(self) -> dict[Scope, dict[str, str]]:
        """Returns, by scope, the variables that are instances, and the class of each."""
        found: dict[Scope, dict[str, str]] = defaultdict(dict)
        for statement in self._program.statements:
            match statement.node:
                case ast.Assign(
                    targets=[ast.Name(id=name)],
                    value=ast.Call(func=ast.Name(id=called) | ast.Attribute(attr=called)),
                ) if called[:1].isupper():
                    found[self._program.scope(statement.node)][name] = called
        return found

    def slices(self, node: ast.AST) -> list[tuple[str, str]]:
        """Returns the bounds of slices in the function around a node, if both are written."""
        return self._slices.get(self._program.scope(node), [])[:_MOST_SLICES]

    @functools.cached_property
    def _slices(self) -> dict[Scope, list[tuple[str, str]]]:
        found: dict[Scope, dict[tuple[str, str], None]] = defaultdict(dict)
        for node in self._program.nodes:
            match node:
                case ast.Slice(lower=ast.expr() as lower, upper=ast.expr() as upper, step=None):
                    key = self._program.outer_text(lower), self._program.outer_text(upper)
                    found[self._program.scope(node)][key] = None
        return {scope: list(keys) for scope, keys in found.items()}

    def surroundings(self, node: ast.AST) -> list[Around]:
        """Returns the operations on values in the function around a node and near it."""
        scope = self._program.scope(node)
        first = self._first_of.get(scope)
        if first is None:
            line = getattr(scope, "lineno", 0)
            first = bisect.bisect_left(self._all_around, line, key=lambda one: one.taken.lineno)
        return self._all_around[max(0, first - _NEAR) : first + 2 * _NEAR]

    @functools.cached_property
    def _first_of(self) -> dict[Scope, int]:
        found: dict[Scope, int] = {}
        for place, one in enumerate(self._all_around):
            found.setdefault(one.scope, place)
        return found

    @functools.cached_property
    def _all_around(self) -> list[Around]:
        """Returns all operations on values, each once per function."""
        found: dict[tuple[Scope, str, str], Around] = {}
        for one in itertools.chain.from_iterable(map(self._around, self._program.nodes)):
            found.setdefault((one.scope, one.before, one.after), one)
        return list(found.values())

    @functools.cached_property
    def attributes(self) -> dict[tuple[Scope, str], list[str]]:
        """Returns the attributes of each object, by the function and the object's text."""
        found: dict[tuple[Scope, str], dict[str, None]] = defaultdict(dict)
        for node in self._program.nodes:
            match node:
                case ast.Attribute(value=ast.Name() | ast.Attribute() as value, attr=attr):
                    found[self._program.scope(node), self._program.text(value)][attr] = None
        return {key: list(names) for key, names in found.items()}

    @functools.cached_property
    def _of_file(self) -> set[str]:
        """Returns the names that code can read anywhere.

        They include names that the program reads and never binds, which star imports may bind.
        """
        found = set(_BUILTIN)
        for statement in self._program.tree.body:
            match statement:
                case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                    found.add(name)
                case ast.Import(names=names) | ast.ImportFrom(names=names):
                    found |= {(one.asname or one.name).partition(".")[0] for one in names}
                case ast.Assign(targets=[ast.Name(id=name)]):
                    found.add(name)
        read: set[str] = set()
        bound: set[str] = set()
        for node in ast.walk(self._program.tree):
            if isinstance(node, ast.Name):
                (read if isinstance(node.ctx, ast.Load) else bound).add(node.id)
            elif isinstance(node, ast.arg):
                bound.add(node.arg)
            elif isinstance(node, Function):
                bound.add(node.name)
        return found | (read - bound)

    @functools.cached_property
    def calls(self) -> Counter[str]:
        """Returns how often the program calls something of each name."""
        return Counter(map(callee, ast.walk(self._program.tree)))

    @functools.cached_property
    def uses(self) -> Counter[str]:
        """Returns how often the program reads an attribute of each name."""
        return Counter(
            node.attr
            for node in ast.walk(self._program.tree)
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)
        )

    def loops(self, node: ast.AST) -> list[str]:
        """Returns the variables of loops and comprehensions around a node, innermost first."""
        found: list[str] = []
        scope = self._program.scope(node)
        while node is not scope and not isinstance(node, ast.Module):
            match node:
                case ast.For(target=target):
                    found += names_in(target)
                case (
                    ast.ListComp(generators=parts)
                    | ast.SetComp(generators=parts)
                    | ast.DictComp(generators=parts)
                    | ast.GeneratorExp(generators=parts)
                ):
                    found += [name for part in reversed(parts) for name in names_in(part.target)]
            node = self._program.parent(node)
        return found

    def _lambdas(self, node: ast.AST) -> Iterator[ast.Lambda]:
        while not isinstance(node, (ast.stmt, ast.Module)):
            if isinstance(node, ast.Lambda):
                yield node
            node = self._program.parent(node)

    def _defined_around(self, scope: Scope) -> set[str]:
        """Returns the nested functions and the parameters of all functions around a scope."""
        found: set[str] = set()
        while not isinstance(scope, ast.Module):
            if isinstance(scope, Function):
                found |= {one.name for one in scope.body if isinstance(one, Function)}
                found |= {one.arg for one in ast.walk(scope.args) if isinstance(one, ast.arg)}
            scope = self._program.scope(scope)
        return found

    def _around(self, node: ast.AST) -> Iterator[Around]:
        """Yields the code around the first operand of a node."""
        match node:
            case ast.Call(func=ast.Attribute(value=value, attr=name)) if not self._is_holder(value):
                if name not in _DULL:
                    yield from self._put_around(node, value, name)
            case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name), args=[*given]):
                tensors = [one for one in given if not isinstance(one, ast.Constant)][:1]
                is_dull = name in _DULL and name not in self._scopes.methods(node)
                if not is_dull and tensors and not isinstance(tensors[0], ast.Starred):
                    yield from self._put_around(node, tensors[0], name)
            case ast.BinOp(left=left, op=ast.MatMult() | ast.Mult() | ast.Div(), right=right):
                if not isinstance(right, ast.Constant):
                    yield from self._put_around(node, left, "")
            case ast.UnaryOp(op=ast.Invert(), operand=operand):
                yield from self._put_around(node, operand, "")

    def _is_holder(self, node: ast.expr) -> bool:
        """Returns whether a node is a module or `self`, which hold functions and are not values."""
        match node:
            case ast.Name(id=name):
                return name == "self" or name in LIBRARIES or name in self._modules
            case ast.Attribute(value=ast.Name(id="torch" | "nn")):
                return True
        return False

    @functools.cached_property
    def _modules(self) -> set[str]:
        return {
            one.asname or one.name.partition(".")[0]
            for node in ast.walk(self._program.tree)
            if isinstance(node, ast.Import)
            for one in node.names
        }

    def _put_around(self, node: ast.expr, taken: ast.expr, name: str) -> Iterator[Around]:
        source = self._program.source
        whole, part = self._program.span(node), self._program.outer_span(taken)
        before, after = source[whole.start : part.start], source[part.end : whole.end]
        if "\n" in before or "\n" in after or len(before) + len(after) > _LONGEST:
            return
        inner = {id(one) for one in ast.walk(taken)}
        names = frozenset(
            one.id for one in ast.walk(node) if isinstance(one, ast.Name) and id(one) not in inner
        )
        yield Around(before, after, name, names, taken, self._program.scope(node))
