"""Exchanges the code of loaded functions for that of an edited source.

`memory.py` restores what was exchanged.
"""

from __future__ import annotations
import __future__

import ast
import contextlib
import gc
import inspect
import itertools
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from grader.core.wire.trials import TextChange

Key = tuple[str, int]
Compile = Callable[[str], CodeType]


@dataclass(frozen=True, slots=True)
class Part:
    """Some whole lines of a file, from line `first` on: a function, a class, a constant.

    They compile to `codes`, whose keys are a qualified name and a number among namesakes. `reads`
    are the names that loading the lines reads: for a function, those in its defaults.
    """

    start: int
    end: int
    first: int
    codes: Mapping[Key, CodeType]
    reads: frozenset[str]

    def holds(self, change: TextChange) -> bool:
        """Returns whether a change is within these lines."""
        return self.start <= change.start and change.end <= self.end


def parts_of(text: str, compiled: Compile) -> Iterator[Part]:
    """Yields the parts at the top level of a file that begin on lines of their own and compile."""
    # As Python counts: form feeds and Unicode's separators do not end a line.
    lines = [f"{line}\n" for line in text.split("\n")]
    starts = [0, *itertools.accumulate(map(len, lines))]
    after = 0
    for node in ast.parse(text).body:
        first, last = _first_line(node), min(node.end_lineno or 0, len(lines))
        if first <= after:
            continue
        after, start, end = last, starts[first - 1], starts[last]
        with contextlib.suppress(SyntaxError, ValueError, RecursionError):
            codes = codes_in(compiled(placed(text[start:end], first)))
            yield Part(start, end, first, codes, frozenset(_read_as_loaded(node)))


def placed(lines: str, first: int) -> str:
    """Returns lines of a file after as many empty ones as there are before line `first`."""
    return "\n" * (first - 1) + lines


def _first_line(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(one.lineno for one in decorators)])


def _read_as_loaded(node: ast.stmt) -> Iterator[str]:
    parts: list[ast.AST] = []
    if isinstance(node, ast.FunctionDef):
        parts = [*node.args.defaults, *(one for one in node.args.kw_defaults if one is not None)]
    elif isinstance(node, ast.Assign | ast.AnnAssign):
        parts = [node.value] if node.value is not None else []
    for one in (inner for part in parts for inner in ast.walk(part)):
        if isinstance(one, ast.Name):
            yield one.id


def codes_in(module: CodeType) -> dict[Key, CodeType]:
    """Returns every function's code in a module's, by qualified name and number among namesakes."""
    found: dict[Key, CodeType] = {}
    waiting = [module]
    while waiting:
        inner = [one for one in waiting.pop().co_consts if isinstance(one, CodeType)]
        for code in inner:
            number = 0
            while (code.co_qualname, number) in found:
                number += 1
            found[code.co_qualname, number] = code
        waiting += reversed(inner)
    return found


def likeness(code: CodeType) -> tuple[object, ...]:
    """Returns the properties that two compilations of one function share.

    Their instructions may differ: those for `torch.exp` depend on whether the text has the import.
    """
    return code.co_qualname, code.co_firstlineno, code.co_names, code.co_varnames


def content(code: CodeType) -> tuple[object, ...]:
    """Returns the content of a function's code, with the functions inside it."""
    constants = tuple(
        content(one) if isinstance(one, CodeType) else (type(one), repr(one))
        for one in code.co_consts
    )
    return code.co_code, code.co_names, code.co_varnames, code.co_freevars, constants


_PLAIN = (bool, int, float, str, tuple, list)


class CannotExchange(Exception):
    """An edited source has no code that could replace the loaded code."""


# Replaces an object that a running program holds.
Swap = Callable[[], object]


class LoadedSource:
    """One file of a submission as it was loaded, and the live functions that were made of it.

    `modules` are the submission's.
    """

    def __init__(
        self, path: Path, functions: Sequence[FunctionType], modules: Iterable[ModuleType] = ()
    ) -> None:
        self._path = str(path)
        self._text = path.read_text(encoding="utf-8-sig")
        flags = functions[0].__code__.co_flags if functions else 0
        self._flags = flags & __future__.annotations.compiler_flag
        self._parts = list(parts_of(self._text, self._compiled))
        self._functions = functions
        self._namespaces = [*map(vars, modules)]
        own = (names for names in self._namespaces if names.get("__file__") == self._path)
        self._globals = functions[0].__globals__ if functions else next(own, None)

    def exchange_for(self, changes: Sequence[TextChange]) -> list[Swap]:
        """Returns the swaps that apply the changes of a file to the running program.

        Raises:
            CannotExchange: if they cannot be applied.
        """
        swaps: list[Swap] = []
        for part in self._parts:
            own = [one for one in changes if part.holds(one)]
            if own:
                swaps += self._swaps(part, own)
        return swaps

    def _swaps(self, part: Part, changes: Sequence[TextChange]) -> list[Swap]:
        module = self._edited(part, changes)
        return list(self._code_swaps(part, module)) or list(self._value_swaps(module, part))

    def _edited(self, part: Part, changes: Sequence[TextChange]) -> CodeType:
        text, end = "", part.start
        for one in changes:
            text += self._text[end : one.start] + one.text
            end = one.end
        try:
            return self._compiled(placed(text + self._text[end : part.end], part.first))
        except (SyntaxError, ValueError, RecursionError) as error:
            raise CannotExchange from error

    def _code_swaps(self, part: Part, module: CodeType) -> Iterator[Swap]:
        codes = codes_in(module)
        for key, old in part.codes.items():
            new = codes.get(key)
            if new is not None and content(new) != content(old):
                for function in self._functions:
                    if likeness(function.__code__) == likeness(old):
                        yield partial(setattr, function, "__code__", new)

    def _value_swaps(self, module: CodeType, part: Part) -> Iterator[Swap]:
        """Runs a top-level statement again; yields the swaps of old values for new ones."""
        if self._globals is None:
            raise CannotExchange
        fresh = dict(self._globals)
        try:
            exec(module, fresh)
            self._load_what_reads(fresh, part)
        except BaseException as error:  # an edited statement may raise anything
            raise CannotExchange from error
        for name, value in fresh.items():
            old = self._globals.get(name)
            if old is value or name == "__builtins__":
                continue
            if isinstance(old, type) and isinstance(value, type):
                yield from _attribute_swaps(old, value)
            elif isinstance(_unwrapped(old), FunctionType):
                yield from _default_swaps(_unwrapped(old), _unwrapped(value))
            else:
                yield partial(self._globals.__setitem__, name, value)
                for holder in self._namespaces:
                    if name in holder and holder[name] is old:
                        yield partial(holder.__setitem__, name, value)

    def _load_what_reads(self, fresh: dict[str, Any], changed: Part) -> None:
        """Runs later parts of the file again if they read a value that has changed."""
        assert self._globals is not None
        for part in self._parts[self._parts.index(changed) + 1 :]:
            if any(fresh.get(name) is not self._globals.get(name) for name in part.reads):
                lines = self._text[part.start : part.end]
                exec(self._compiled(placed(lines, part.first)), fresh)

    def _compiled(self, text: str) -> CodeType:
        code: CodeType = compile(text, self._path, "exec", self._flags, dont_inherit=True)
        return code


def functions_below(
    root: str, within: Container[int] | None = None
) -> dict[str, list[FunctionType]]:
    """Returns the live functions whose code is of a file below `root`, by file.

    If `within` is given, only those whose global names have their id in it.
    """
    found: dict[str, list[FunctionType]] = {}
    for one in gc.get_objects():
        if (
            type(one) is FunctionType
            and one.__code__.co_filename.startswith(root)
            and (within is None or id(one.__globals__) in within)
        ):
            found.setdefault(one.__code__.co_filename, []).append(one)
    return found


def _unwrapped(value: object) -> object:
    return inspect.unwrap(value) if callable(value) else None


def _default_swaps(old: object, new: object) -> Iterator[Swap]:
    if isinstance(old, FunctionType) and isinstance(new, FunctionType):
        for name in ("__defaults__", "__kwdefaults__"):
            yield partial(setattr, old, name, getattr(new, name))


def _attribute_swaps(old: type, new: type) -> Iterator[Swap]:
    for name, value in vars(new).items():
        held = vars(old).get(name)
        if isinstance(value, staticmethod):  # as the `__new__` that is made for a named tuple
            unbound = held.__func__ if isinstance(held, staticmethod) else held
            yield from _default_swaps(unbound, value.__func__)
        elif isinstance(value, FunctionType):
            yield from _default_swaps(held, value)
        elif name in vars(old) and (
            # A `_tuplegetter` reads a field of a named tuple.
            isinstance(value, _PLAIN) or type(value).__name__ == "_tuplegetter"
        ):
            yield partial(setattr, old, name, value)
