"""The declarations of one file: functions, classes, their parameters, the sources of values."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
CALLED = ("__call__", "forward")
MOST_RECIPES = 8
_WORD = re.compile(r"[A-Za-z_][\w./-]{0,40}")


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter, and the text of its default; None if it has none."""

    name: str
    default: str | None


@dataclass(frozen=True, slots=True)
class CallSignature:
    """The parameters of what is called, without the one that a method is bound to."""

    positional: tuple[Parameter, ...]
    by_keyword: tuple[Parameter, ...] = ()


@dataclass(frozen=True, slots=True)
class Declared:
    """The declarations of one file: signatures and attributes by name.

    `methods` also holds the methods of classes, under the class's name and a dot. `made` gives the
    class of a variable or an attribute. `recipes` holds the texts that variables are set to. `top`
    holds the functions and classes that other files can import, each with a class's bases. `words`
    holds the words that the program compares with or looks up by.
    """

    functions: Mapping[str, CallSignature]
    methods: Mapping[str, CallSignature]
    attributes: Mapping[str, tuple[str, ...]]
    made: Mapping[str, str]
    recipes: Mapping[str, tuple[str, ...]]
    top: Mapping[str, tuple[str, ...]]
    words: tuple[str, ...]


@functools.lru_cache(maxsize=512)
def declared_in(text: str) -> Declared | None:
    try:
        return declarations(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError):
        return None


def declarations(tree: ast.Module) -> Declared:
    functions: dict[str, CallSignature] = {}
    methods: dict[str, CallSignature] = {}
    attributes: dict[str, tuple[str, ...]] = {}
    made: dict[str, str] = {}
    recipes: dict[str, tuple[str, ...]] = {}
    for node in ast.walk(tree):
        match node:
            case ast.ClassDef(name=name):
                _note_class(node, functions, methods)
                attributes[name] = tuple(dict.fromkeys(_attributes(node)))
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
                if len(recipes.get(name, ())) < MOST_RECIPES:
                    recipes[name] = (*recipes.get(name, ()), _recipe(node.value))
            case _:
                pass
    return Declared(
        functions,
        methods,
        attributes,
        made,
        recipes,
        _top(tree),
        _words(tree),
    )


def _top(tree: ast.Module) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for node in tree.body:
        if isinstance(node, _FUNCTIONS):
            found[node.name] = ()
        elif isinstance(node, ast.ClassDef):
            parts = [one.attr if isinstance(one, ast.Attribute) else one for one in node.bases]
            names = [one.id if isinstance(one, ast.Name) else one for one in parts]
            found[node.name] = tuple(one for one in names if isinstance(one, str))
    return found


def _words(tree: ast.Module) -> tuple[str, ...]:
    """Returns the words that code compares with, looks up by, registers under or asks for.

    A word that a loop goes through may be any of these. Words that choose an action come before
    words that are merely mentioned.
    """
    choosing: dict[str, None] = {}
    known: dict[str, None] = {}
    mentioned: dict[str, None] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Compare(comparators=given):
                parts = [part for one in given for part in ast.walk(one)]
                choosing |= dict.fromkeys(_texts(parts))
            case ast.Dict(keys=keys):
                choosing |= dict.fromkeys(_texts(keys))
            case ast.MatchValue(value=value):
                choosing |= dict.fromkeys(_texts([value]))
            case ast.Subscript(slice=value):
                known |= dict.fromkeys(_texts([value]))
            case ast.IfExp(body=value, orelse=other):
                known |= dict.fromkeys(_texts([value, other]))
            case ast.arguments(defaults=given, kw_defaults=named):
                known |= dict.fromkeys(_texts([*given, *named]))
            case ast.FunctionDef(decorator_list=made):
                known |= dict.fromkeys(_texts(part for one in made for part in ast.walk(one)))
            case ast.For(iter=ast.Tuple(elts=parts) | ast.List(elts=parts)):
                mentioned |= dict.fromkeys(_texts(parts))
            case ast.Call(args=args, keywords=keywords):
                mentioned |= dict.fromkeys(_texts([*args, *(one.value for one in keywords)]))
            case _:
                pass
    return tuple(choosing | known | mentioned)


def _texts(parts: Iterable[ast.AST | None]) -> Iterator[str]:
    known = (one.value for one in parts if isinstance(one, ast.Constant))
    yield from (one for one in known if isinstance(one, str) and _WORD.fullmatch(one))


def _recipe(value: ast.expr) -> str:
    return ast.unparse(value.body if isinstance(value, ast.IfExp) else value)


def _note_class(
    node: ast.ClassDef, functions: dict[str, CallSignature], methods: dict[str, CallSignature]
) -> None:
    for one in node.body:
        if not isinstance(one, _FUNCTIONS):
            continue
        static = any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in one.decorator_list)
        signature = _signature(one.args, bound=not static)
        if one.name == "__init__":
            functions[node.name] = signature
        elif one.name in CALLED:
            methods[f"{node.name}.{one.name}"] = signature
        else:
            methods.setdefault(one.name, signature)
            if one.decorator_list:
                methods[f"{node.name}.{one.name}"] = signature
    fields = tuple(_fields(node))
    if fields and node.name not in functions:
        functions[node.name] = CallSignature(fields)


def _fields(node: ast.ClassDef) -> Iterator[Parameter]:
    """Yields the fields that a dataclass or a named tuple is made with."""
    told = [ast.unparse(one) for one in (*node.decorator_list, *node.bases)]
    if not any("dataclass" in one or "NamedTuple" in one for one in told):
        return
    for one in node.body:
        match one:
            case ast.AnnAssign(target=ast.Name(id=name), value=value):
                text = None if value is None else ast.unparse(value)
                if text is None or "init=False" not in text:
                    yield Parameter(name, text)
            case _:
                pass


def _attributes(node: ast.ClassDef) -> Iterator[str]:
    for one in node.body:
        match one:
            case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
                yield name
            case _:
                pass
    for part in ast.walk(node):
        match part:
            case ast.FunctionDef(
                name=name, decorator_list=[ast.Name(id="property" | "cached_property")]
            ):
                yield name
            case ast.Attribute(value=ast.Name(id="self"), attr=attr, ctx=ast.Store()):
                yield attr
            case ast.Call(
                func=ast.Attribute(attr="register_buffer"),
                args=[ast.Constant(value=str(attr)), *_],
            ):
                yield attr
            case _:
                pass


def _signature(given: ast.arguments, *, bound: bool = False) -> CallSignature:
    positional = [*given.posonlyargs, *given.args]
    missing = len(positional) - len(given.defaults)
    defaults = [*([None] * missing), *map(ast.unparse, given.defaults)]
    parameters = [Parameter(a.arg, d) for a, d in zip(positional, defaults, strict=True)]
    by_keyword = [
        Parameter(a.arg, None if d is None else ast.unparse(d))
        for a, d in zip(given.kwonlyargs, given.kw_defaults, strict=True)
    ]
    return CallSignature(tuple(parameters[1:] if bound else parameters), tuple(by_keyword))
