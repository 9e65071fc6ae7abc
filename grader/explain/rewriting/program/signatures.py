"""The signatures of the functions, methods and classes that a program can call.

Signatures of imported files count like the program's own, because names alone identify functions.
"""

from __future__ import annotations

import ast
import functools
import re
from collections import ChainMap, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from grader.explain.rewriting.program.source import Function
from grader.explain.rewriting.program.vocabulary import Nature, in_use

_MOST_ATTRIBUTES = 20


class Signatures:
    """The signatures of the calls in a program.

    `elsewhere` holds files that the program may import. `users` holds files that import the
    program: only their words count, because the program cannot call their functions.
    """

    def __init__(
        self, tree: ast.Module, elsewhere: Iterable[str] = (), users: Iterable[str] = ()
    ) -> None:
        self._tree = tree
        others = [one for text in elsewhere if (one := declared_in(text)) is not None]
        known = (declarations(tree), *others)
        self._recipes: dict[str, tuple[str, ...]] = {}
        for name, texts in (pair for one in known for pair in one.recipes.items()):
            self._recipes[name] = (*self._recipes.get(name, ()), *texts)
        self.functions = dict(ChainMap(*(dict(one.functions) for one in known)))
        self.methods = dict(ChainMap(*(dict(one.methods) for one in known)))
        self._made = dict(ChainMap(*(dict(one.made) for one in known)))
        self._top = dict(ChainMap(*(dict(one.top) for one in known)))
        asking = (*known, *(one for text in users if (one := declared_in(text)) is not None))
        self.words = tuple(dict.fromkeys(word for one in asking for word in one.words))
        self._siblings: dict[str, tuple[str, ...]] = {}
        for attributes in (names for one in known for names in one.attributes.values()):
            for name in attributes:
                rest = tuple(other for other in attributes[:_MOST_ATTRIBUTES] if other != name)
                self._siblings.setdefault(name, rest)

    def of(self, call: ast.Call) -> CallSignature | None:
        """Returns the signature of the function, method or class that is called, or None."""
        match call.func:
            case ast.Name(id=name):
                return self.functions.get(name) or self._instance(name)
            case ast.Attribute(value=value, attr=name):
                holder = value.id if isinstance(value, ast.Name) else ""
                found = self.methods.get(f"{holder}.{name}") or self.methods.get(name)
                found = found or (None if holder == "self" else self.functions.get(name))
                return found or self._instance(name)
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
                return self.of_instance(name)
        return None

    def of_parent(self, name: str, method: str) -> CallSignature | None:
        """Returns the signature of a method that a class inherits from its bases, or None."""
        found = self._inherited(name, method)
        return found or (None if method == "__init__" else self.methods.get(method))

    def _inherited(self, name: str, method: str) -> CallSignature | None:
        waiting, seen = [*self._top.get(name, ())], {name}
        while waiting:
            base = waiting.pop(0)
            is_making = method == "__init__"
            own = self.functions.get(base) if is_making else self.methods.get(f"{base}.{method}")
            if own is not None:
                return own
            if base not in seen:
                seen.add(base)
                waiting[:0] = self._top.get(base, ())
        return None

    def attributes(self, name: str) -> tuple[str, ...]:
        """Returns the other attributes of a class that declares an attribute of this name."""
        return self._siblings.get(name, ())

    def recipes(self, name: str) -> tuple[str, ...]:
        """Returns the expressions that variables and parameters of a name are set to anywhere."""
        return tuple(dict.fromkeys((*self._given.get(name, ()), *self._recipes.get(name, ()))))

    @functools.cached_property
    def mask_makers(self) -> list[str]:
        """Returns the functions that are named like masks and need exactly one argument."""
        return [
            name
            for name, signature in self.functions.items()
            if sum(one.default is None for one in signature.positional) == 1
            and in_use().suits(name.lower(), Nature.MASK)
            and not name[:1].isupper()
        ]

    @functools.cached_property
    def of_first(self) -> list[tuple[str, tuple[str, ...]]]:
        """Returns functions with required arguments, and the names of those after the first."""
        found: dict[str, tuple[str, ...]] = {}
        for name, signature in self.functions.items():
            needed = tuple(one.name for one in signature.positional if one.default is None)
            if needed and not name[:1].isupper() and not name.startswith(("run_", "__")):
                found[name] = needed[1:]
        return list(found.items())

    @functools.cached_property
    def _given(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = defaultdict(list)
        for node in ast.walk(self._tree):
            signature = self.of(node) if isinstance(node, ast.Call) else None
            if signature is None or not isinstance(node, ast.Call):
                continue
            if any(isinstance(one, ast.Starred) for one in node.args):
                continue
            by_place = zip(signature.positional, node.args, strict=False)
            pairs = [(one.name, given) for one, given in by_place]
            pairs += [(one.arg, one.value) for one in node.keywords if one.arg]
            for name, given in pairs:
                if isinstance(given, ast.Call) and len(found[name]) < MOST_RECIPES:
                    found[name].append(ast.unparse(given))
        return found

    def _instance(self, name: str) -> CallSignature | None:
        around = self._made.get(name)
        return None if around is None else self.of_instance(around)

    def of_instance(self, name: str) -> CallSignature | None:
        """Returns the signature of calling an instance of a class, or None."""
        found = (self.methods.get(f"{name}.{method}") for method in CALLED)
        return next((one for one in found if one is not None), None)


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
    """The parameters of a function or a method, without `self`."""

    positional: tuple[Parameter, ...]
    by_keyword: tuple[Parameter, ...] = ()


@dataclass(frozen=True, slots=True)
class Declared:
    """The declarations of one file: signatures and attributes by name.

    `methods` also holds some methods as "Class.method". `made` gives the class of a variable or an
    attribute. `recipes` holds the expressions that variables are set to. `top` holds the functions
    and classes that other files can import, with the bases of each class. `words` holds the strings
    that the program compares with or looks up by.
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
                    value = node.value.body if isinstance(node.value, ast.IfExp) else node.value
                    recipes[name] = (*recipes.get(name, ()), ast.unparse(value))
    return Declared(functions, methods, attributes, made, recipes, _top(tree), _words(tree))


def _top(tree: ast.Module) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for node in tree.body:
        if isinstance(node, Function):
            found[node.name] = ()
        elif isinstance(node, ast.ClassDef):
            parts = [one.attr if isinstance(one, ast.Attribute) else one for one in node.bases]
            names = [one.id if isinstance(one, ast.Name) else one for one in parts]
            found[node.name] = tuple(one for one in names if isinstance(one, str))
    return found


def _words(tree: ast.Module) -> tuple[str, ...]:
    """Returns the strings that code compares with, looks up by, registers under or passes.

    A string in a loop may be any of these. Strings that choose an action come before strings that
    are only mentioned.
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
    return tuple(choosing | known | mentioned)


def _texts(parts: Iterable[ast.AST | None]) -> Iterator[str]:
    known = (one.value for one in parts if isinstance(one, ast.Constant))
    yield from (one for one in known if isinstance(one, str) and _WORD.fullmatch(one))


def _note_class(
    node: ast.ClassDef, functions: dict[str, CallSignature], methods: dict[str, CallSignature]
) -> None:
    for one in node.body:
        if not isinstance(one, Function):
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
    """Yields the fields that the constructor of a dataclass or a named tuple takes."""
    told = [ast.unparse(one) for one in (*node.decorator_list, *node.bases)]
    if not any("dataclass" in one or "NamedTuple" in one for one in told):
        return
    for one in node.body:
        match one:
            case ast.AnnAssign(target=ast.Name(id=name), value=value):
                text = None if value is None else ast.unparse(value)
                if text is None or "init=False" not in text:
                    yield Parameter(name, text)


def _attributes(node: ast.ClassDef) -> Iterator[str]:
    for one in node.body:
        match one:
            case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
                yield name
    for part in ast.walk(node):
        match part:
            case ast.FunctionDef(
                name=name, decorator_list=[ast.Name(id="property" | "cached_property")]
            ):
                yield name
            case ast.Attribute(value=ast.Name(id="self"), attr=attr, ctx=ast.Store()):
                yield attr
            case ast.Call(
                func=ast.Attribute(attr="register_buffer"), args=[ast.Constant(value=str(attr)), *_]
            ):
                yield attr


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
