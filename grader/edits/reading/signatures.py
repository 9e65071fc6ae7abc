"""What may be handed to whom: the parameters of the functions, methods and classes that are known.

Those of other files count as much as the program's own: what is imported is called by its name.
"""

from __future__ import annotations

import ast
import functools
from collections import ChainMap, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_CALLED = ("__call__", "forward")
_MOST_ATTRIBUTES = 20
_MOST_RECIPES = 8


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter, and the text of its default; None if it has none."""

    name: str
    default: str | None


@dataclass(frozen=True, slots=True)
class Signature:
    """The parameters of what is called, without the one that a method is bound to."""

    positional: tuple[Parameter, ...]
    by_keyword: tuple[Parameter, ...] = ()


@dataclass(frozen=True, slots=True)
class Declared:
    """What one file declares: signatures and attributes by name.

    `methods` are also those of classes under the class's name and a dot; `made` is the class that
    a variable or an attribute is made of; `recipes` are the texts that variables are set to;
    `top` are the functions and classes that others can import, each with a class's bases; `words`
    are those that something is compared with or looked up by.
    """

    functions: Mapping[str, Signature]
    methods: Mapping[str, Signature]
    attributes: Mapping[str, tuple[str, ...]]
    made: Mapping[str, str]
    recipes: Mapping[str, tuple[str, ...]]
    top: Mapping[str, tuple[str, ...]]
    words: tuple[str, ...]


class Signatures:
    """Looks up what a call may be given."""

    def __init__(self, tree: ast.Module, elsewhere: Iterable[str]) -> None:
        self._tree = tree
        others = [one for text in elsewhere if (one := _declared_in(text)) is not None]
        known = (_declared(tree), *others)
        self._recipes = _merged([one.recipes for one in known])
        self._functions = dict(ChainMap(*(dict(one.functions) for one in known)))
        self._methods = dict(ChainMap(*(dict(one.methods) for one in known)))
        self._made = dict(ChainMap(*(dict(one.made) for one in known)))
        self._top = dict(ChainMap(*(dict(one.top) for one in known)))
        self.words = tuple(dict.fromkeys(word for one in known for word in one.words))
        self._siblings: dict[str, tuple[str, ...]] = {}
        for attributes in (names for one in known for names in one.attributes.values()):
            for name in attributes:
                rest = tuple(other for other in attributes[:_MOST_ATTRIBUTES] if other != name)
                self._siblings.setdefault(name, rest)

    def of(self, call: ast.Call) -> Signature | None:
        """The signature of what is called, if it is known."""
        match call.func:
            case ast.Name(id=name):
                return self._function(name) or self._instance(name)
            case ast.Attribute(value=value, attr=name):
                is_self = isinstance(value, ast.Name) and value.id == "self"
                found = self._method(name) or (None if is_self else self._function(name))
                return found or self._instance(name)
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
                return self._of_class(name)
            case _:
                return None

    @functools.cached_property
    def declared(self) -> dict[str, Signature]:
        """The functions and the classes at the top of files, and what making one takes."""
        found = ((name, self._inherited(name)) for name in self._top)
        return {name: signature for name, signature in found if signature is not None}

    def bases(self, name: str) -> tuple[str, ...]:
        """The classes that a class is told to be derived from."""
        return self._top.get(name, ())

    def of_parent(self, name: str) -> Signature | None:
        """What making an instance of the class that a class is derived from takes."""
        found = (self._inherited(base) for base in self.bases(name))
        return next((one for one in found if one is not None), None)

    def _inherited(self, name: str, depth: int = 8) -> Signature | None:
        own = self._function(name)
        if own is not None or not depth:
            return own
        found = (self._inherited(base, depth - 1) for base in self._top.get(name, ()))
        return next((one for one in found if one is not None), None)

    def attributes(self, name: str) -> tuple[str, ...]:
        """The attributes of a class that declares one of that name, without it."""
        return self._siblings.get(name, ())

    def recipes(self, name: str) -> tuple[str, ...]:
        """What variables and parameters of that name are set to anywhere."""
        return tuple(dict.fromkeys((*self._given.get(name, ()), *self._recipes.get(name, ()))))

    @functools.cached_property
    def mask_makers(self) -> list[str]:
        """The functions that, by their names, make a mask of one argument, a length."""
        return [name for name, rest in self.of_first if "mask" in name.lower() and not rest]

    @functools.cached_property
    def of_first(self) -> list[tuple[str, tuple[str, ...]]]:
        """The functions that need an argument, and the names of what they need after the first."""
        found: dict[str, tuple[str, ...]] = {}
        for name, signature in self._functions.items():
            needed = tuple(one.name for one in signature.positional if one.default is None)
            if needed and not name[:1].isupper() and not name.startswith(("run_", "__")):
                found[name] = needed[1:]
        return list(found.items())

    @functools.cached_property
    def _given(self) -> dict[str, list[str]]:
        """What is made for a parameter in the argument itself, by the parameter's name."""
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
                if isinstance(given, ast.Call) and len(found[name]) < _MOST_RECIPES:
                    found[name].append(ast.unparse(given))
        return found

    def _function(self, name: str) -> Signature | None:
        return self._functions.get(name)

    def _method(self, name: str) -> Signature | None:
        return self._methods.get(name)

    def _instance(self, name: str) -> Signature | None:
        """The signature of a variable or an attribute that is an instance."""
        around = self._made.get(name)
        return None if around is None else self._of_class(around)

    def _of_class(self, name: str) -> Signature | None:
        found = (self._method(f"{name}.{method}") for method in _CALLED)
        return next((one for one in found if one is not None), None)


def _merged(parts: Sequence[Mapping[str, tuple[str, ...]]]) -> dict[str, tuple[str, ...]]:
    """By name, what all parts have."""
    found: dict[str, tuple[str, ...]] = {}
    for part in parts:
        for name, texts in part.items():
            found[name] = (*found.get(name, ()), *texts)
    return found


@functools.lru_cache(maxsize=512)
def _declared_in(text: str) -> Declared | None:
    try:
        return _declared(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError):
        return None


def _declared(tree: ast.Module) -> Declared:
    functions: dict[str, Signature] = {}
    methods: dict[str, Signature] = {}
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
                if len(recipes.get(name, ())) < _MOST_RECIPES:
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
    """The words that something is compared with, or that something is looked up by."""
    found: dict[str, None] = {}
    for node in ast.walk(tree):
        parts: list[ast.AST | None] = []
        match node:
            case ast.Compare(comparators=given):
                parts = [part for one in given for part in ast.walk(one)]
            case ast.Dict(keys=keys):
                parts = list(keys)
            case ast.MatchValue(value=value):
                parts = [value]
            case _:
                pass
        texts = [one.value for one in parts if isinstance(one, ast.Constant)]
        found |= {one: None for one in texts if isinstance(one, str) and one.isidentifier()}
    return tuple(found)


def _recipe(value: ast.expr) -> str:
    return ast.unparse(value.body if isinstance(value, ast.IfExp) else value)


def _note_class(
    node: ast.ClassDef, functions: dict[str, Signature], methods: dict[str, Signature]
) -> None:
    for one in node.body:
        if not isinstance(one, _FUNCTIONS):
            continue
        static = any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in one.decorator_list)
        signature = _signature(one.args, bound=not static)
        if one.name == "__init__":
            functions[node.name] = signature
        elif one.name in _CALLED:
            methods[f"{node.name}.{one.name}"] = signature
        else:
            methods.setdefault(one.name, signature)
    fields = tuple(_fields(node))
    if fields and node.name not in functions:
        functions[node.name] = Signature(fields)


def _fields(node: ast.ClassDef) -> Iterator[Parameter]:
    """The fields that a dataclass is made with."""
    if not any("dataclass" in ast.unparse(one) for one in node.decorator_list):
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
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
            yield one.target.id
    for part in ast.walk(node):
        match part:
            case ast.Attribute(value=ast.Name(id="self"), attr=attr, ctx=ast.Store()):
                yield attr
            case ast.Call(
                func=ast.Attribute(attr="register_buffer"),
                args=[ast.Constant(value=str(attr)), *_],
            ):
                yield attr
            case _:
                pass


def _signature(given: ast.arguments, *, bound: bool = False) -> Signature:
    positional = [*given.posonlyargs, *given.args]
    missing = len(positional) - len(given.defaults)
    defaults = [*([None] * missing), *map(ast.unparse, given.defaults)]
    parameters = [Parameter(a.arg, d) for a, d in zip(positional, defaults, strict=True)]
    by_keyword = [
        Parameter(a.arg, None if d is None else ast.unparse(d))
        for a, d in zip(given.kwonlyargs, given.kw_defaults, strict=True)
    ]
    return Signature(tuple(parameters[1:] if bound else parameters), tuple(by_keyword))
