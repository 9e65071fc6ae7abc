"""The declarations of one file: its functions, its classes, and the values of its variables."""

from __future__ import annotations

import ast
import functools
import re
from dataclasses import dataclass

from grader.explain.rewriting.program.source import Function, callee, with_defaults

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
