"""The names in scope at a place: parameters, variables, attributes, functions of the file."""

from __future__ import annotations

import ast
import builtins
import functools
import itertools
from collections.abc import Iterator, Mapping, Sequence

from grader.explain.rewriting.program.index import ProgramIndex
from grader.explain.rewriting.program.source import (
    Function,
    Program,
    Scope,
    bound_in,
    names_in,
    parameters,
    with_defaults,
)
from grader.explain.rewriting.program.variables import (
    Names,
    Variable,
    learn,
    nature_of,
    nature_of_annotation,
    nature_of_attribute,
    nature_of_parameter,
    note_uses,
)
from grader.explain.rewriting.program.vocabulary import Nature, nature_of_name

# Bounds the work: ordinary classes have fewer attributes.
_MOST_ATTRIBUTES = 100
_BUILTIN = frozenset(dir(builtins))
# The name of a variable that is never read.
_NOBODY = "_"
# Expressions whose code is a function of its own.
_Nested = ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
# Natures by the first line of a function and the name of a variable in it.
Observed = Mapping[int, Mapping[str, Nature]]


class Scopes:
    """The names that are in scope at each node of a program.

    `observed` holds the natures of values that variables were seen to hold, by the first line of
    their function.
    """

    def __init__(self, program: Program, index: ProgramIndex, observed: Observed) -> None:
        self._program = program
        self._index = index
        self._observed = observed
        self._names: dict[Scope, Names] = {}
        self._natures: dict[ast.expr, Nature] = {}
        self._visible = functools.cache(self._visible_at)
        self._attributes = functools.cache(self._attributes_of)

    def names(self, node: ast.AST) -> Names:
        """Returns the variables of the scope around a node."""
        return self.of(self._program.scope(node))

    def nature(self, node: ast.expr) -> Nature:
        """Returns the nature of an expression of the program."""
        found = self._natures.get(node)
        if found is None:
            found = self._natures[node] = nature_of(node, self.names(node).nature)
        return found

    def visible(self, node: ast.AST) -> set[str]:
        """Returns the names that can be read at a node's place."""
        nested = tuple(one for one in self._program.around(node) if isinstance(one, _Nested))
        return self._visible(self._program.scope(node), getattr(node, "lineno", 0), nested)

    def _visible_at(self, scope: Scope, line: int, nested: tuple[_Nested, ...]) -> set[str]:
        own = {one.name for one in self.of(scope).before(line) if not one.is_inner}
        inner = {name for around in nested for name in _bound_by(around)}
        return own | inner | self._of_file | self._defined_around(scope)

    def tensors(self, node: ast.AST) -> list[str]:
        """Returns the variables that a node can read and that are tensors."""
        return [one.name for one in self.variables(node) if one.nature is Nature.TENSOR]

    def variables(self, node: ast.AST) -> list[Variable]:
        """Returns the variables of the surrounding function that a node can read, in order."""
        visible = self.visible(node)
        return [one for one in self.names(node).values() if one.is_own and one.name in visible]

    def loops(self, node: ast.AST) -> list[str]:
        """Returns the variables of loops and comprehensions around a node, innermost first."""
        found: list[str] = []
        for one in self._program.around(node):
            if isinstance(one, ast.For):
                found += names_in(one.target)
            elif isinstance(one, _Nested) and not isinstance(one, ast.Lambda):
                found += [
                    name for part in reversed(one.generators) for name in names_in(part.target)
                ]
        return found

    def _defined_around(self, scope: Scope) -> set[str]:
        """Returns the nested functions and the parameters of all functions around a scope."""
        found: set[str] = set()
        while not isinstance(scope, ast.Module):
            if isinstance(scope, Function):
                found |= {one.name for one in scope.body if isinstance(one, Function)}
                found |= {one.arg for one in ast.walk(scope.args) if isinstance(one, ast.arg)}
            scope = self._program.scope(scope)
        return found

    def idle_layers(self, node: ast.AST) -> list[str]:
        """Returns the layers that the class around a node sets and never calls, as `self.out`."""
        around = self._program.class_around(node)
        natures = {} if around is None else self._attributes(around)
        layers = (name for name, nature in natures.items() if nature is Nature.FUNCTION)
        return [name for name in layers if around is None or name not in _called_in(around)]

    def _attributes_of(self, around: ast.ClassDef) -> dict[str, Nature]:
        """Returns the natures of a class's attributes, by names like `self.scale`."""
        found = self._index.attributes(around).items()
        return {
            f"self.{name}": nature_of_attribute(name, node)
            for name, node in itertools.islice(found, _MOST_ATTRIBUTES)
        }

    def of(self, scope: Scope) -> Names:
        """Returns the variables that a scope's statements can name."""
        if scope not in self._names:
            self._names[scope] = self._gathered(scope)
        return self._names[scope]

    def _gathered(self, scope: Scope) -> Names:
        names = Names()
        outer = None if isinstance(scope, ast.Module) else self._outer(scope)
        if outer is not None:
            names |= {name: Variable(name, one.nature) for name, one in self.of(outer).items()}
        if isinstance(scope, Function):
            for one, default in with_defaults(scope.args):
                told, is_own = _of_parameter(one, default), one.arg not in ("self", "cls")
                names[one.arg] = Variable(one.arg, told, one.lineno, is_own)
        around = self._program.class_around(scope)
        if around is not None and isinstance(scope, Function):
            for name, nature in self._attributes(around).items():
                uses = self._index.uses[name.removeprefix("self.")]
                names[name] = Variable(name, nature, reads=uses)
        statements = _own_statements(scope)
        for statement in statements:
            learn(statement, names)
        for statement in statements:
            note_uses(statement, names)
        names.pop(_NOBODY, None)
        lines = _first_lines(scope, statements) if self._observed else ()
        for line in dict.fromkeys(lines):
            for name, nature in self._observed.get(line, {}).items():
                if name in names:
                    names[name].nature = names[name].nature.corrected(nature)
        return names

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
        tree = self._program.tree
        return found | ({*names_in(tree)} - bound_in(tree))

    def _outer(self, scope: ast.AST) -> Scope:
        """Returns the scope around a scope, without classes: methods do not see their names."""
        outer = self._program.scope(scope)
        return self._outer(outer) if isinstance(outer, ast.ClassDef) else outer


@functools.lru_cache(maxsize=64)
def _called_in(around: ast.ClassDef) -> frozenset[str]:
    """Returns the texts of all that a class calls."""
    calls = (node for node in ast.walk(around) if isinstance(node, ast.Call))
    return frozenset(ast.unparse(node.func) for node in calls)


def _of_parameter(parameter: ast.arg, default: ast.expr | None) -> Nature:
    """Returns the nature that a parameter's annotation, name or default tells; else a tensor."""
    told = nature_of_annotation(parameter.annotation)
    if told is Nature.TENSOR and nature_of_name(parameter.arg) is Nature.WEIGHT:
        return Nature.WEIGHT
    by_default = Nature.OTHER if default is None else nature_of(default)
    if not (by_default is Nature.FLAG or by_default.is_number):
        by_default = Nature.TENSOR
    return told or nature_of_parameter(parameter.arg) or by_default


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


def _first_lines(scope: Scope, statements: Sequence[ast.stmt]) -> Iterator[int]:
    """Yields the first lines of a function's code, and of lambdas and comprehensions in it."""
    if isinstance(scope, Function):
        yield min(one.lineno for one in (scope, *scope.decorator_list))
    for statement in statements:
        if not isinstance(statement, Function | ast.ClassDef):
            inner = (one for one in ast.walk(statement) if isinstance(one, _Nested))
            yield from (one.lineno for one in inner)


def _bound_by(nested: _Nested) -> Iterator[str]:
    if isinstance(nested, ast.Lambda):
        yield from (one.arg for one in parameters(nested.args))
    else:
        yield from (name for part in nested.generators for name in names_in(part.target))


def _parts(statement: ast.stmt) -> Iterator[ast.AST]:
    """Yields the children of a statement, and the statements in its cases and handlers."""
    for part in ast.iter_child_nodes(statement):
        if isinstance(part, (ast.match_case, ast.ExceptHandler)):
            yield from part.body
        else:
            yield part
