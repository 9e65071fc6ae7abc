"""The signatures of the functions, methods and classes that are known.

Signatures of other files count as much as the program's own, because a program calls an imported
function by its name.
"""

from __future__ import annotations

import ast
import functools
from collections import ChainMap, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from grader.explain.rewriting.program.declarations import (
    CALLED,
    MOST_RECIPES,
    CallSignature,
    declarations,
    declared_in,
)
from grader.explain.rewriting.program.vocabulary import Nature, suits

_MOST_ATTRIBUTES = 20
_DEEPEST = 8


class Signatures:
    """Looks up what a call may be given.

    Nothing that is declared by its users can be reached, but the words that they ask by are known.
    """

    def __init__(
        self, tree: ast.Module, elsewhere: Iterable[str] = (), users: Iterable[str] = ()
    ) -> None:
        self._tree = tree
        others = [one for text in elsewhere if (one := declared_in(text)) is not None]
        known = (declarations(tree), *others)
        self._recipes = _merged([one.recipes for one in known])
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
        """Returns the signature of what is called, if it is known."""
        match call.func:
            case ast.Name(id=name):
                return self._function(name) or self._instance(name)
            case ast.Attribute(value=value, attr=name):
                holder = value.id if isinstance(value, ast.Name) else ""
                is_self = holder == "self"
                found = self._method(f"{holder}.{name}") or self._method(name)
                found = found or (None if is_self else self._function(name))
                return found or self._instance(name)
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
                return self.of_instance(name)
            case _:
                return None

    def bases(self, name: str) -> tuple[str, ...]:
        """Returns the classes that a class is told to be derived from."""
        return self._top.get(name, ())

    def of_parent(self, name: str, method: str) -> CallSignature | None:
        """Returns the signature of a method that a class inherits from its bases, or None."""
        if method == "__init__":
            found = (self._inherited(base) for base in self.bases(name))
            return next((one for one in found if one is not None), None)
        return self._method_of(self.bases(name), method) or self._method(method)

    def _method_of(
        self, bases: Iterable[str], method: str, depth: int = _DEEPEST
    ) -> CallSignature | None:
        for base in bases if depth else ():
            own = self._method(f"{base}.{method}")
            found = own or self._method_of(self.bases(base), method, depth - 1)
            if found is not None:
                return found
        return None

    def _inherited(self, name: str, depth: int = _DEEPEST) -> CallSignature | None:
        own = self._function(name)
        if own is not None or not depth:
            return own
        found = (self._inherited(base, depth - 1) for base in self._top.get(name, ()))
        return next((one for one in found if one is not None), None)

    def attributes(self, name: str) -> tuple[str, ...]:
        """Returns the attributes of a class that declares one of that name, without it."""
        return self._siblings.get(name, ())

    def recipes(self, name: str) -> tuple[str, ...]:
        """Returns the texts that variables and parameters of a name are set to anywhere."""
        return tuple(dict.fromkeys((*self._given.get(name, ()), *self._recipes.get(name, ()))))

    @functools.cached_property
    def mask_makers(self) -> list[str]:
        """Returns the functions that, by their names, make a mask of one argument, a length."""
        return [
            name
            for name, signature in self.functions.items()
            if sum(one.default is None for one in signature.positional) == 1
            and suits(name.lower(), Nature.MASK)
            and not name[:1].isupper()
        ]

    @functools.cached_property
    def of_first(self) -> list[tuple[str, tuple[str, ...]]]:
        """Returns the functions that need an argument, and the names they need after the first."""
        found: dict[str, tuple[str, ...]] = {}
        for name, signature in self.functions.items():
            needed = tuple(one.name for one in signature.positional if one.default is None)
            if needed and not name[:1].isupper() and not name.startswith(("run_", "__")):
                found[name] = needed[1:]
        return list(found.items())

    @functools.cached_property
    def _given(self) -> dict[str, list[str]]:
        """Returns the calls that stand as arguments, by the name of their parameter."""
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

    def _function(self, name: str) -> CallSignature | None:
        return self.functions.get(name)

    def _method(self, name: str) -> CallSignature | None:
        return self.methods.get(name)

    def _instance(self, name: str) -> CallSignature | None:
        """Returns the signature of a variable or an attribute that is an instance."""
        around = self._made.get(name)
        return None if around is None else self.of_instance(around)

    def of_instance(self, name: str) -> CallSignature | None:
        """Returns the signature of calling an instance of a class, or None."""
        found = (self._method(f"{name}.{method}") for method in CALLED)
        return next((one for one in found if one is not None), None)


def _merged(parts: Sequence[Mapping[str, tuple[str, ...]]]) -> dict[str, tuple[str, ...]]:
    """Returns, by name, the values of all parts together."""
    found: dict[str, tuple[str, ...]] = {}
    for part in parts:
        for name, texts in part.items():
            found[name] = (*found.get(name, ()), *texts)
    return found
