"""The names that may stand at a place: parameters, locals, attributes, functions of the file."""

from __future__ import annotations

import ast
import functools
import itertools
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from grader.edits.reading.captured import captured
from grader.edits.reading.kinship import kinship
from grader.edits.reading.natures import (
    Nature,
    nature_of,
    nature_of_annotation,
    nature_of_name,
    nature_of_parameter,
)
from grader.edits.reading.program import Program, Scope

# More names than anyone writes in one scope are looked at by nobody.
_MOST_NAMES = 100
# What is called so is not to be read.
_NOBODY = "_"
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, slots=True)
class Callee:
    """A function of the file: how many arguments it may be given by position."""

    name: str
    least: int
    most: int
    parameters: tuple[str, ...]


@dataclass(slots=True)
class Names:
    """The variables of a scope and what they are, in the order in which they appear.

    `siblings` are those that one statement unpacks together, `made_of` those that another is
    computed from.
    """

    natures: dict[str, Nature] = field(default_factory=dict)
    read: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    first: dict[str, int] = field(default_factory=dict)
    own: set[str] = field(default_factory=set)
    siblings: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    made_of: dict[str, set[str]] = field(default_factory=dict)

    def kin(self, one: str, other: str) -> int:
        """How near two variables are: 2 for siblings, and those of which kinship says so."""
        return 2 if other in self.siblings.get(one, ()) else kinship(one, other)

    def forget(self, name: str) -> None:
        """Has no such variable."""
        self.natures.pop(name, None)
        self.first.pop(name, None)
        self.own.discard(name)


class Scopes:
    """Looks up what is in scope."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._names: dict[Scope, Names] = {}
        self._natures: dict[ast.expr, Nature] = {}
        self._attributes: dict[ast.ClassDef, dict[str, Nature]] = {}

    def names(self, node: ast.AST) -> Names:
        """The variables that may stand at a node's place."""
        return self._of(self._program.scope(node))

    def nature(self, node: ast.expr) -> Nature:
        """What an expression of the program is."""
        found = self._natures.get(node)
        if found is None:
            found = self._natures[node] = nature_of(node, self.names(node).natures)
        return found

    @functools.cached_property
    def functions(self) -> dict[str, Callee]:
        """The functions at the file's top level."""
        defined = (one for one in self._program.tree.body if isinstance(one, _FUNCTIONS))
        return {one.name: _callee(one, 0) for one in itertools.islice(defined, _MOST_NAMES)}

    def methods(self, node: ast.AST) -> dict[str, Callee]:
        """The methods of the class around a node."""
        around = self._class_around(self._program.scope(node))
        if around is None:
            return {}
        defined = (one for one in around.body if isinstance(one, _FUNCTIONS))
        return {one.name: _callee(one, 1) for one in itertools.islice(defined, _MOST_NAMES)}

    def _of(self, scope: Scope) -> Names:
        if scope not in self._names:
            self._names[scope] = self._gathered(scope)
        return self._names[scope]

    def _gathered(self, scope: Scope) -> Names:
        names = Names()
        outer = None if isinstance(scope, ast.Module) else self._outer(scope)
        if outer is not None:
            around = self._of(outer)
            names.natures |= around.natures
            names.first |= dict.fromkeys(around.first, 0)
        if isinstance(scope, _FUNCTIONS):
            for argument in _parameters(scope):
                told = nature_of_annotation(argument.annotation)
                told = told or nature_of_parameter(argument.arg)
                names.natures[argument.arg] = told or Nature.TENSOR
                names.first[argument.arg] = argument.lineno
                if argument.arg not in ("self", "cls"):
                    names.own.add(argument.arg)
        around_class = self._class_around(scope)
        if around_class is not None and isinstance(scope, _FUNCTIONS):
            if around_class not in self._attributes:
                self._attributes[around_class] = _attributes_of(around_class)
            names.natures |= self._attributes[around_class]
        statements = _own_statements(scope)
        for statement in statements:
            _learn(statement, names)
        for statement in statements:
            _note_uses(statement, names)
        for statement in statements:
            _pass_on(statement, names)
        names.forget(_NOBODY)
        return names

    def _outer(self, scope: ast.AST) -> Scope:
        """The scope around a scope; classes are seen by none of their methods."""
        outer = self._program.scope(scope)
        return self._outer(outer) if isinstance(outer, ast.ClassDef) else outer

    def _class_around(self, scope: ast.AST) -> ast.ClassDef | None:
        while not isinstance(scope, ast.Module):
            if isinstance(scope, ast.ClassDef):
                return scope
            scope = self._program.scope(scope)
        return None


def _attributes_of(around: ast.ClassDef) -> dict[str, Nature]:
    """What is known of the attributes of `self` that a class sets."""
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
                func=ast.Attribute(attr="register_buffer"),
                args=[ast.Constant(value=str(attr)), *_],
            ):
                found[f"self.{attr}"] = nature_of_name(attr) or Nature.TENSOR
    return dict(itertools.islice(found.items(), _MOST_NAMES))


def _of_attribute(attr: str, value: ast.expr) -> Nature:
    """What an attribute is that is set to a value: a layer, if it is made of a class."""
    match value:
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)) if name[:1].isupper():
            return Nature.WEIGHT if name == "Parameter" else Nature.FUNCTION
        case _:
            return nature_of_name(attr) or nature_of(value, {})


def _of_property(node: ast.FunctionDef) -> Nature:
    """What a property is: what it is said to be, or by its name, or what it returns in the end."""
    told = nature_of_annotation(node.returns) or nature_of_name(node.name)
    match node.body[-1]:
        case ast.Return(value=ast.expr() as value):
            return told or nature_of(value, {})
        case _:
            return told or Nature.OTHER


def _callee(function: ast.FunctionDef | ast.AsyncFunctionDef, bound: int) -> Callee:
    given = [*function.args.posonlyargs, *function.args.args]
    static = any(
        isinstance(d, ast.Name) and d.id == "staticmethod" for d in function.decorator_list
    )
    most = len(given) - (0 if static else bound)
    by_position = tuple(one.arg for one in given)[0 if static else bound :]
    return Callee(function.name, most - len(function.args.defaults), most, by_position)


def _parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.arg]:
    own = function.args
    return [*own.posonlyargs, *own.args, *own.kwonlyargs]


def _own_statements(scope: Scope) -> list[ast.stmt]:
    """The statements of a scope, in order, without those of scopes inside it."""
    found: list[ast.stmt] = []
    waiting = list(reversed(scope.body))
    while waiting:
        one = waiting.pop()
        found.append(one)
        if not isinstance(one, (*_FUNCTIONS, ast.ClassDef)):
            inner = [part for part in _parts(one) if isinstance(part, ast.stmt)]
            waiting += reversed(inner)
    return found


def _parts(statement: ast.stmt) -> Iterator[ast.AST]:
    """What a statement consists of, and what the blocks of its cases and handlers do."""
    for part in ast.iter_child_nodes(statement):
        if isinstance(part, (ast.match_case, ast.ExceptHandler)):
            yield from part.body
        else:
            yield part


def _learn(statement: ast.stmt, names: Names) -> None:
    """What a statement tells of the variables that it sets and reads."""
    match statement:
        case (
            ast.Assign(targets=[ast.Name(id=name)], value=value)
            | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
        ):
            told = nature_of(value, names.natures)
            by_name = nature_of_name(name)
            names.made_of[name] = {one.id for one in ast.walk(value) if isinstance(one, ast.Name)}
            if told is Nature.OTHER or (by_name is Nature.MASK and told is Nature.TENSOR):
                told = by_name or told
            _set(names, name, told, statement.lineno)
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=value):
            unpacked = {one.id for one in targets if isinstance(one, ast.Name)} - {"_"}
            for name in unpacked:
                names.siblings[name] |= unpacked - {name}
            for place, target in enumerate(targets):
                inner = target.value if isinstance(target, ast.Starred) else target
                if isinstance(inner, ast.Name):
                    told = _of_element(value, place, len(targets), names)
                    if told is Nature.TENSOR:
                        told = nature_of_name(inner.id) or told
                    _set(names, inner.id, told, statement.lineno)
        case ast.For(target=ast.Name(id=name), iter=over):
            is_range = isinstance(over, ast.Call) and ast.unparse(over.func) == "range"
            told = Nature.SIZE if is_range else nature_of_name(name) or Nature.OTHER
            _set(names, name, told, statement.lineno)
        case ast.For(target=ast.Tuple(elts=targets), iter=over):
            for name, told in _of_each(targets, over, names):
                _set(names, name, told, statement.lineno)
        case ast.Match(subject=subject, cases=cases):
            for one in cases:
                for name, told in captured(one.pattern, subject, names.natures):
                    _set(names, name, told, one.pattern.lineno)
        case _:
            pass


def _note_uses(statement: ast.stmt, names: Names) -> None:
    """Counts what a statement reads; what fills in or is inverted is a mask."""
    own = _only_target(statement)
    for node in ast.walk(statement):
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                names.read[name] += name != own
            case ast.Attribute(value=ast.Name(id="self"), attr=attr, ctx=ast.Load()):
                names.read[f"self.{attr}"] += 1
            case (
                ast.Attribute(value=ast.Name(id=name), attr="shape" | "device" | "dtype")
                | ast.BinOp(left=ast.Name(id=name), op=ast.MatMult())
            ):
                if names.natures.get(name) is Nature.SIZE:
                    names.natures[name] = Nature.TENSOR
            case ast.Lambda(args=given):
                for one in (*given.posonlyargs, *given.args, *given.kwonlyargs):
                    names.natures.setdefault(one.arg, nature_of_name(one.arg) or Nature.TENSOR)
            case ast.comprehension(target=ast.Name(id=name)):
                names.natures.setdefault(name, Nature.TENSOR)
                names.first.setdefault(name, statement.lineno - 1)
            case ast.comprehension(target=ast.Tuple(elts=targets), iter=over):
                for name, told in _of_each(targets, over, names):
                    names.natures.setdefault(name, told)
                    names.first.setdefault(name, statement.lineno - 1)
            case (
                ast.Call(
                    func=ast.Attribute(attr="masked_fill" | "masked_fill_" | "where"),
                    args=[ast.Name(id=name), *_],
                )
                | ast.UnaryOp(op=ast.Invert(), operand=ast.Name(id=name))
            ):
                if names.natures.get(name) is Nature.TENSOR:
                    names.natures[name] = Nature.MASK
            case _:
                pass


def _pass_on(statement: ast.stmt, names: Names) -> None:
    """What is stored as it is under the name of a mask is one."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Name(id=other)):
            if names.natures.get(name) is Nature.MASK and names.natures.get(other) is Nature.TENSOR:
                names.natures[other] = Nature.MASK
        case _:
            pass


def _only_target(statement: ast.stmt) -> str | None:
    """The variable that a statement sets, and that it alone may read without any use."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AugAssign(target=ast.Name(id=name)):
            return name
        case _:
            return None


def _of_element(value: ast.expr, place: int, count: int, names: Names) -> Nature:
    if isinstance(value, ast.Tuple) and len(value.elts) == count:
        return nature_of(value.elts[place], names.natures)
    told = nature_of(value, names.natures)
    return Nature.SIZE if told is Nature.SHAPE else told


def _of_each(
    targets: Sequence[ast.expr], over: ast.expr, names: Names
) -> Iterator[tuple[str, Nature]]:
    """What a loop's variables are, which are unpacked from each of the things it goes over."""
    for place, target in enumerate(targets):
        match over:
            case ast.Call(func=ast.Name(id="enumerate"), args=[inner, *_]):
                source = inner if place else ast.Constant(0)
            case ast.Call(func=ast.Name(id="zip"), args=args) if place < len(args):
                source = args[place]
            case (
                ast.Tuple(elts=[ast.Tuple(elts=first), *_])
                | ast.List(elts=[ast.Tuple(elts=first), *_])
            ) if place < len(first):
                source = first[place]
            case _:
                source = over
        if isinstance(target, ast.Tuple):
            yield from _of_each(target.elts, source, names)
        elif isinstance(target, ast.Name):
            told = nature_of(source, names.natures)
            told = Nature.TENSOR if told is Nature.OTHER else told
            yield target.id, nature_of_name(target.id) or told


def _set(names: Names, name: str, nature: Nature, line: int) -> None:
    if len(names.natures) >= _MOST_NAMES and name not in names.natures:
        return
    names.natures[name] = nature
    if name not in names.own:
        names.first[name] = line
    names.own.add(name)
