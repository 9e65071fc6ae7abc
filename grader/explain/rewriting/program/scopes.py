"""The names in scope at a place: parameters, variables, attributes, functions of the file."""

from __future__ import annotations

import ast
import functools
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from grader.explain.rewriting.program.source import Function, Program, Scope, parameters
from grader.explain.rewriting.program.value_kinds import (
    nature_of,
    nature_of_annotation,
    nature_of_parameter,
)
from grader.explain.rewriting.program.variables import Names, learn, note_uses
from grader.explain.rewriting.program.vocabulary import Nature, nature_of_name

# Bounds the work: ordinary files have fewer functions.
_MOST_FUNCTIONS = 100
# The name of a variable that is never read.
_NOBODY = "_"


@dataclass(frozen=True, slots=True)
class Callee:
    """A function of the file, with the fewest and the most arguments that it takes by position."""

    name: str
    least: int
    most: int
    parameters: tuple[str, ...]


class Scopes:
    """The names that are in scope at each node of a program."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._names: dict[Scope, Names] = {}
        self._natures: dict[ast.expr, Nature] = {}

    def names(self, node: ast.AST) -> Names:
        """Returns the variables of the scope around a node."""
        return self.of(self._program.scope(node))

    def nature(self, node: ast.expr) -> Nature:
        """Returns the nature of an expression of the program."""
        found = self._natures.get(node)
        if found is None:
            found = self._natures[node] = nature_of(node, self.names(node).natures)
        return found

    @functools.cached_property
    def functions(self) -> dict[str, Callee]:
        """Returns the functions at the file's top level."""
        defined = (one for one in self._program.tree.body if isinstance(one, Function))
        return {one.name: _callee(one, 0) for one in itertools.islice(defined, _MOST_FUNCTIONS)}

    def methods(self, node: ast.AST) -> dict[str, Callee]:
        """Returns the methods of the class around a node."""
        around = self._class_around(self._program.scope(node))
        if around is None:
            return {}
        defined = (one for one in around.body if isinstance(one, Function))
        return {one.name: _callee(one, 1) for one in itertools.islice(defined, _MOST_FUNCTIONS)}

    def idle_layers(self, node: ast.AST) -> Sequence[str]:
        """Returns the layers that the class around a node sets and never calls, as `self.out`."""
        around = self._class_around(self._program.scope(node))
        return () if around is None else _idle_layers(around)

    def of(self, scope: Scope) -> Names:
        """Returns the variables that a scope's statements can name."""
        if scope not in self._names:
            self._names[scope] = self._gathered(scope)
        return self._names[scope]

    def _gathered(self, scope: Scope) -> Names:
        names = Names()
        outer = None if isinstance(scope, ast.Module) else self._outer(scope)
        if outer is not None:
            around = self.of(outer)
            names.natures |= around.natures
            names.first |= dict.fromkeys(around.first, 0)
        if isinstance(scope, Function):
            told = _of_parameters(scope)
            for argument in parameters(scope.args):
                names.natures[argument.arg] = told[argument.arg]
                names.first[argument.arg] = argument.lineno
                if argument.arg not in ("self", "cls"):
                    names.own.add(argument.arg)
        around_class = self._class_around(scope)
        if around_class is not None and isinstance(scope, Function):
            names.natures |= _attributes_of(around_class)
        statements = _own_statements(scope)
        for statement in statements:
            learn(statement, names)
        for statement in statements:
            note_uses(statement, names)
        names.natures.pop(_NOBODY, None)
        names.first.pop(_NOBODY, None)
        names.own.discard(_NOBODY)
        return names

    def _outer(self, scope: ast.AST) -> Scope:
        """Returns the scope around a scope, without classes: methods do not see their names."""
        outer = self._program.scope(scope)
        return self._outer(outer) if isinstance(outer, ast.ClassDef) else outer

    def _class_around(self, scope: ast.AST) -> ast.ClassDef | None:
        while not isinstance(scope, ast.Module):
            if isinstance(scope, ast.ClassDef):
                return scope
            scope = self._program.scope(scope)
        return None


@functools.lru_cache(maxsize=64)
def _idle_layers(around: ast.ClassDef) -> Sequence[str]:
    called = {ast.unparse(node.func) for node in ast.walk(around) if isinstance(node, ast.Call)}
    made = _attributes_of(around).items()
    return [name for name, nature in made if nature is Nature.FUNCTION and name not in called]


@functools.lru_cache(maxsize=64)
def _attributes_of(around: ast.ClassDef) -> dict[str, Nature]:
    """Returns the natures of the `self` attributes that a class sets."""
    found: dict[str, Nature] = {}
    for one in around.body:
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
            told = nature_of_annotation(one.annotation) or nature_of_name(one.target.id)
            found[f"self.{one.target.id}"] = told or Nature.OTHER
    for node in ast.walk(around):
        match node:
            case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"), attr=attr)]):
                if found.get(f"self.{attr}") is not Nature.FUNCTION:
                    found[f"self.{attr}"] = _of_attribute(attr, node.value)
            case ast.Assign(targets=[ast.Tuple(elts=targets)]):
                for target in targets:
                    if isinstance(target, ast.Attribute) and ast.unparse(target.value) == "self":
                        found[f"self.{target.attr}"] = _of_attribute(target.attr, target)
            case ast.FunctionDef(
                name=name, decorator_list=[ast.Name(id="property" | "cached_property")]
            ):
                found[f"self.{name}"] = _of_property(node)
            case ast.Call(
                func=ast.Attribute(attr="register_buffer"), args=[ast.Constant(value=str(attr)), *_]
            ):
                found[f"self.{attr}"] = nature_of_name(attr) or Nature.TENSOR
    return dict(itertools.islice(found.items(), _MOST_FUNCTIONS))


def _of_attribute(attr: str, value: ast.expr) -> Nature:
    """Returns an attribute's nature; an instance of a class counts as a layer."""
    match value:
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)) if name[:1].isupper():
            return Nature.WEIGHT if name == "Parameter" else Nature.FUNCTION
    return nature_of_name(attr) or nature_of(value, {})


def _of_property(node: ast.FunctionDef) -> Nature:
    """Returns the nature of a property, from its annotation, its name or its last return."""
    told = nature_of_annotation(node.returns) or nature_of_name(node.name)
    match node.body[-1]:
        case ast.Return(value=ast.expr() as value):
            return told or nature_of(value, {})
    return told or Nature.OTHER


def _callee(function: Function, bound: int) -> Callee:
    given = [*function.args.posonlyargs, *function.args.args]
    static = any(
        isinstance(d, ast.Name) and d.id == "staticmethod" for d in function.decorator_list
    )
    most = len(given) - (0 if static else bound)
    by_position = tuple(one.arg for one in given)[0 if static else bound :]
    return Callee(function.name, most - len(function.args.defaults), most, by_position)


def _natures_of_defaults(function: Function) -> dict[str, Nature]:
    """Returns the natures of parameters whose defaults are numbers or booleans."""
    own = function.args
    positional = [*own.posonlyargs, *own.args]
    pairs = [*zip(reversed(positional), reversed(own.defaults), strict=False)]
    pairs += [(a, d) for a, d in zip(own.kwonlyargs, own.kw_defaults, strict=True) if d is not None]
    found = {argument.arg: nature_of(default, {}) for argument, default in pairs}
    return {name: one for name, one in found.items() if one is Nature.FLAG or one.is_number}


def _of_parameters(function: Function) -> dict[str, Nature]:
    """Returns the natures of parameters from annotations, names and defaults.

    A parameter without any of these is a tensor.
    """
    defaults = _natures_of_defaults(function)
    annotated = {one.arg: nature_of_annotation(one.annotation) for one in parameters(function.args)}
    told = {
        name: nature_of_parameter(name) or defaults.get(name)
        for name, one in annotated.items()
        if one is None
    }
    natures = {name: one or told[name] or Nature.TENSOR for name, one in annotated.items()}
    weights = (one for one in natures if nature_of_name(one) is Nature.WEIGHT)
    return natures | {one: Nature.WEIGHT for one in weights if natures[one] is Nature.TENSOR}


def _own_statements(scope: Scope) -> list[ast.stmt]:
    """Returns the statements of a scope, in order, without those of scopes inside it."""
    found: list[ast.stmt] = []
    waiting = list(reversed(scope.body))
    while waiting:
        one = waiting.pop()
        found.append(one)
        if not isinstance(one, Function | ast.ClassDef):
            inner = [part for part in _parts(one) if isinstance(part, ast.stmt)]
            waiting += reversed(inner)
    return found


def _parts(statement: ast.stmt) -> Iterator[ast.AST]:
    """Yields the children of a statement, and the statements in its cases and handlers."""
    for part in ast.iter_child_nodes(statement):
        if isinstance(part, (ast.match_case, ast.ExceptHandler)):
            yield from part.body
        else:
            yield part
