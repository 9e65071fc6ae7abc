"""The index of a program: its declarations by name, and the attributes that its code reads."""

from __future__ import annotations

import ast
import functools
import re
from collections import ChainMap, Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from grader.explain.rewriting.program.source import (
    Function,
    Program,
    Scope,
    callee,
    names_in,
    with_defaults,
)

_NAME = re.compile(r"[A-Za-z_]\w*")
_WORD = re.compile(r"[A-Za-z_][\w./-]{0,40}")


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter, and the text of its default; None if it has none."""

    name: str
    default: str | None


@dataclass(frozen=True, slots=True)
class CallSignature:
    """The parameters of a function or a method, without `self`."""

    positional: tuple[Parameter, ...]
    by_keyword: tuple[Parameter, ...] = ()

    def takes(self, count: int) -> bool:
        """Returns whether a call may give this many arguments by position."""
        needed = sum(one.default is None for one in self.positional)
        return needed <= count <= len(self.positional)


@dataclass(frozen=True, slots=True)
class DeclaredClass:
    """A class: its methods, and its attributes.

    Each attribute has the node that tells its nature: a value, an annotation or a property.
    """

    methods: dict[str, CallSignature]
    attributes: dict[str, ast.AST]


@dataclass(frozen=True, slots=True)
class Declared:
    """The declarations of one file, by name.

    `functions` holds constructors under the names of their classes. `made` gives the class of a
    variable or an attribute. `words` holds the strings of the program that are like names.
    """

    functions: dict[str, CallSignature]
    classes: dict[str, DeclaredClass]
    made: dict[str, str]
    words: tuple[str, ...]


@functools.lru_cache(maxsize=512)
def declared_in(text: str) -> Declared | None:
    """Returns the declarations of a file, or None if it does not parse."""
    try:
        return declarations(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError):
        return None


def declarations(tree: ast.Module) -> Declared:
    """Returns the declarations of a file."""
    functions: dict[str, CallSignature] = {}
    classes: dict[str, DeclaredClass] = {}
    made: dict[str, str] = {}
    for node in ast.walk(tree):
        match node:
            case ast.ClassDef(name=name):
                classes[name] = _class(node)
                if "__init__" in classes[name].methods:
                    functions[name] = classes[name].methods["__init__"]
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                functions.setdefault(name, _signature(node.args))
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Lambda(args=given)):
                functions.setdefault(name, _signature(given))
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Name(id=other)):
                if other in functions:
                    functions.setdefault(name, functions[other])
            case ast.Assign(
                targets=[ast.Name(id=name) | ast.Attribute(attr=name)],
                value=(
                    ast.Call(func=ast.Name(id=called) | ast.Attribute(attr=called))
                    | ast.IfExp(
                        body=ast.Call(func=ast.Name(id=called) | ast.Attribute(attr=called))
                    )
                ),
            ):
                if called[:1].isupper():
                    made.setdefault(name, called)
    return Declared(functions, classes, made, _words(tree))


def _class(node: ast.ClassDef) -> DeclaredClass:
    methods = {}
    for one in node.body:
        if isinstance(one, Function):
            made = one.decorator_list
            is_static = any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in made)
            methods[one.name] = _signature(one.args, bound=not is_static)
    return DeclaredClass(methods, _attributes(node))


def _attributes(node: ast.ClassDef) -> dict[str, ast.AST]:
    """Returns the attributes of a class, each with the node that tells its nature."""
    found: dict[str, ast.AST] = {}
    for one in node.body:
        match one:
            case ast.AnnAssign(target=ast.Name(id=name)):
                found[name] = one
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                found[name] = value
    for part in ast.walk(node):
        match part:
            case ast.Assign(
                targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)], value=value
            ):
                if not callee(found.get(name, node))[:1].isupper():  # a layer, or None without it
                    found[name] = value
            case (
                ast.FunctionDef(
                    name=name, decorator_list=[ast.Name(id="property" | "cached_property")]
                )
                | ast.Call(
                    func=ast.Attribute(attr="register_buffer"),
                    args=[ast.Constant(value=str(name)), *_],
                )
            ):
                found[name] = part
            case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Store()):
                found.setdefault(name, part)
    return found


def _signature(given: ast.arguments, *, bound: bool = False) -> CallSignature:
    known = [
        Parameter(one.arg, None if default is None else ast.unparse(default))
        for one, default in with_defaults(given)
    ]
    count = len(known) - len(given.kwonlyargs)
    return CallSignature(tuple(known[bound:count]), tuple(known[count:]))


def _words(tree: ast.Module) -> tuple[str, ...]:
    """Returns the strings in a file that are like names."""
    known = (one.value for one in ast.walk(tree) if isinstance(one, ast.Constant))
    return tuple({one: None for one in known if isinstance(one, str) and _WORD.fullmatch(one)})


_CALLED = ("__call__", "forward")
_MOST_ATTRIBUTES = 20
_NO_CLASS = DeclaredClass({}, {})


class ProgramIndex:
    """The functions, classes and words of a program, and the attributes that it reads.

    Declarations of imported files count like the program's own, because names alone identify them.
    `elsewhere` holds files that the program may import.
    """

    def __init__(self, program: Program, elsewhere: Iterable[str] = ()) -> None:
        self._program = program
        self._elsewhere = tuple(elsewhere)
        self._idle_within = functools.cache(self._idle_in)
        others = (declared_in(text) for text in self._elsewhere)
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

    def idle(self, node: ast.AST, count: int) -> list[str]:
        """Returns the functions of `count` values that a node could call and that no code reads."""
        return self._idle_within(self._program.class_around(node), count)

    def _idle_in(self, around: ast.ClassDef | None, count: int) -> list[str]:
        own = {} if around is None else self.methods(around)
        methods = [f"self.{name}" for name in self._idle(own, count)]
        return [*methods, *self._idle({**self.top, **self._imported}, count)]

    def _idle(self, known: Mapping[str, CallSignature], count: int) -> list[str]:
        return [
            name
            for name, signature in known.items()
            if signature.takes(count) and not name.startswith(("_", "run_")) and name not in _CALLED
            if not self.uses[name] and name not in self._read
        ]

    @functools.cached_property
    def _imported(self) -> Mapping[str, CallSignature]:
        """Returns the functions that the file imports from others."""
        imports = (one for one in self._program.tree.body if isinstance(one, ast.ImportFrom))
        names = (one.asname or one.name for node in imports for one in node.names)
        return {name: self.functions[name] for name in names if name in self.functions}

    @functools.cached_property
    def _read(self) -> set[str]:
        """Returns the names that the program reads, and all words of other files."""
        elsewhere = {word for text in self._elsewhere for word in _NAME.findall(text)}
        return {*names_in(self._program.tree)} | (elsewhere - self._imported.keys())

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
