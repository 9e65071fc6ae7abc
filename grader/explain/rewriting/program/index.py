"""The index of a program: declarations by name, what its code uses, and the code around values."""

from __future__ import annotations

import ast
import bisect
import functools
import itertools
from collections import ChainMap, Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from grader.explain.rewriting.program.declarations import (
    CallSignature,
    DeclaredClass,
    Parameter,
    declarations,
    declared_in,
)
from grader.explain.rewriting.program.source import LIBRARIES, Function, Program, Scope, callee

_CALLED = ("__call__", "forward")
_MOST_ATTRIBUTES = 20
_NO_CLASS = DeclaredClass((), {}, {})


class ProgramIndex:
    """The functions, classes, words and recipes of a program, and its calls, slices and attributes.

    Declarations of imported files count like the program's own, because names alone identify them.
    `elsewhere` holds files that the program may import.
    """

    def __init__(self, program: Program, elsewhere: Iterable[str] = ()) -> None:
        self._program = program
        others = (declared_in(text) for text in elsewhere)
        self._own = declarations(program.tree)
        self._known = known = (self._own, *(one for one in others if one is not None))
        self._all_classes = [one for file in known for one in file.classes.values()]
        self.functions = dict(ChainMap(*(one.functions for one in known)))
        self._classes = dict(ChainMap(*(one.classes for one in known)))
        self._methods = dict(ChainMap(*(one.methods for one in self._all_classes)))
        self._made = dict(ChainMap(*(one.made for one in known)))
        self.words = tuple(dict.fromkeys(word for one in known for word in one.words))

    def signature(self, call: ast.Call) -> CallSignature | None:
        """Returns the signature of the function, method, class or instance that is called."""
        match call.func:
            case ast.Name(id=name):
                return self.functions.get(name) or self._of_instance(self._made.get(name))
            case ast.Attribute(value=value, attr=name):
                holder = value.id if isinstance(value, ast.Name) else ""
                found = self._class(holder).methods.get(name) or self._method(name)
                found = found or (None if holder == "self" else self.functions.get(name))
                return found or self._of_instance(self._made.get(name))
            case ast.Call():
                return self._of_instance(callee(call.func))
        return None

    def arguments(self, call: ast.Call) -> Iterator[tuple[Parameter, ast.expr]]:
        """Yields the arguments of a call whose parameters are known, or named by keywords."""
        signature = self.signature(call) or CallSignature(())
        if not any(isinstance(one, ast.Starred) for one in call.args):
            yield from zip(signature.positional, call.args, strict=False)
        named = {one.name: one for one in (*signature.positional, *signature.by_keyword)}
        for one in call.keywords:
            if one.arg:
                yield named.get(one.arg, Parameter(one.arg, None)), one.value

    def _class(self, name: str | None) -> DeclaredClass:
        return self._classes.get(name or "", _NO_CLASS)

    def _method(self, name: str) -> CallSignature | None:
        """Returns the signature of a method of any class, except those that most classes have."""
        return None if name in (*_CALLED, "__init__") else self._methods.get(name)

    def _of_instance(self, name: str | None) -> CallSignature | None:
        """Returns the signature of calling an instance of a class, or None."""
        methods = self._class(name).methods
        return next((methods[one] for one in _CALLED if one in methods), None)

    def methods(self, node: ast.AST) -> Mapping[str, CallSignature]:
        """Returns the methods of the class around a node."""
        around = self._program.class_around(node)
        return {} if around is None else self._own.classes[around.name].methods

    def attributes(self, around: ast.ClassDef) -> Mapping[str, ast.AST]:
        """Returns the attributes of a class, each with the node that tells its nature."""
        return self._own.classes[around.name].attributes

    @functools.cached_property
    def top(self) -> Mapping[str, CallSignature]:
        """Returns the functions at the file's top level."""
        names = [one.name for one in self._program.tree.body if isinstance(one, Function)]
        return {name: self.functions[name] for name in names}

    def beside(self, name: str) -> list[str]:
        """Returns the other attributes of a class that declares an attribute of this name."""
        owners = (one.attributes for one in self._all_classes if name in one.attributes)
        known = list(next(owners, {}))[:_MOST_ATTRIBUTES]
        return [one for one in known if one != name]

    @functools.cached_property
    def uses(self) -> Counter[str]:
        """Returns how often the program reads an attribute of each name."""
        return Counter(
            node.attr
            for node in ast.walk(self._program.tree)
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)
        )

    @functools.cached_property
    def read_of(self) -> dict[tuple[Scope, str], list[str]]:
        """Returns the attributes of each object, by the function and the object's text."""
        found: dict[tuple[Scope, str], dict[str, None]] = defaultdict(dict)
        for node in self._program.nodes:
            match node:
                case ast.Attribute(value=ast.Name() | ast.Attribute() as value, attr=attr):
                    found[self._program.scope(node), self._program.text(value)][attr] = None
        return {key: list(names) for key, names in found.items()}


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


class Surroundings:
    """The code around the values of a program."""

    def __init__(self, program: Program, index: ProgramIndex) -> None:
        self._program = program
        self._index = index

    def near(self, node: ast.AST) -> list[Around]:
        """Returns the operations on values in the function around a node and near it."""
        line = getattr(self._program.scope(node), "lineno", 0)
        first = bisect.bisect_left(self._all_around, line, key=lambda one: one.taken.lineno)
        return self._all_around[max(0, first - _NEAR) : first + 2 * _NEAR]

    @functools.cached_property
    def _all_around(self) -> list[Around]:
        """Returns all operations on values, each once per function."""
        found: dict[tuple[Scope, str, str], Around] = {}
        for one in itertools.chain.from_iterable(map(self._around, self._program.nodes)):
            found.setdefault((one.scope, one.before, one.after), one)
        return list(found.values())

    def _around(self, node: ast.AST) -> Iterator[Around]:
        """Yields the code around the first operand of a node, or either factor of a product."""
        match node:
            case ast.Call(func=ast.Attribute(value=value, attr=name)) if not self._is_holder(value):
                if name not in _DULL:
                    yield from self._put_around(node, value, name)
            case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name), args=[*given]):
                tensors = [one for one in given if not isinstance(one, ast.Constant)][:1]
                is_dull = name in _DULL and name not in self._index.methods(node)
                if not is_dull and tensors and not isinstance(tensors[0], ast.Starred):
                    yield from self._put_around(node, tensors[0], name)
            case ast.BinOp(left=left, op=ast.MatMult() | ast.Mult() | ast.Div(), right=right):
                if not isinstance(right, ast.Constant):
                    yield from self._put_around(node, left, "")
                if isinstance(node.op, ast.Mult) and not isinstance(left, ast.Constant):
                    yield from self._put_around(node, right, "")
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
