"""Exchanges the code of loaded functions for that of an edited source, and puts it back."""

from __future__ import annotations
import __future__

import gc
import inspect
import sys
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from grader.core.wire.trials import TextChange
from grader.worker.trials.parts import Part, codes_in, content, likeness, parts_of

_PLAIN = (bool, int, float, str, tuple, list)


class CannotExchange(Exception):
    """An edited source has no code that could take the place of what was loaded."""


@dataclass(frozen=True, slots=True)
class Swap:
    """Something that a running program holds, for something else and back."""

    apply: Callable[[], None]
    undo: Callable[[], None]

    @classmethod
    def of_attribute(cls, holder: object, name: str, value: object) -> Swap:
        """An attribute's value."""
        old = getattr(holder, name)
        return cls(
            lambda: setattr(holder, name, value),
            lambda: setattr(holder, name, old),
        )

    @classmethod
    def of_name(cls, holder: dict[str, Any], name: str, value: object) -> Swap:
        """What a name stands for in a module."""
        if name not in holder:
            return cls(lambda: holder.update({name: value}), lambda: holder.pop(name, None))
        old = holder[name]
        return cls(lambda: holder.update({name: value}), lambda: holder.update({name: old}))


class LoadedSource:
    """One file of a submission as it was loaded, and the live functions that were made of it."""

    def __init__(self, path: Path, functions: Sequence[FunctionType]) -> None:
        self._path = str(path)
        self._text = path.read_text(encoding="utf-8-sig")
        flags = functions[0].__code__.co_flags if functions else 0
        self._flags = flags & __future__.annotations.compiler_flag
        self._parts = list(parts_of(self._text, self._compiled))
        self._functions = functions
        self._globals = functions[0].__globals__ if functions else _globals_of(self._path)

    def exchange_for(self, changes: Sequence[TextChange]) -> list[Swap]:
        """What is to be exchanged to have this file changed, as far as it can be at run time.

        Raises:
            CannotExchange: if it cannot.
        """
        swaps: list[Swap] = []
        for part in self._parts:
            own = [one for one in changes if part.holds(one)]
            if own:
                swaps += self._swaps(part, own)
        return swaps

    def _swaps(self, part: Part, changes: Sequence[TextChange]) -> list[Swap]:
        member = next((one for one in part.members if all(map(one.holds, changes))), None)
        if member is not None:
            swaps = list(self._code_swaps(member, self._edited(member, changes)))
            if swaps:
                return swaps
        module = self._edited(part, changes)
        return list(self._code_swaps(part, module)) or list(self._value_swaps(module, part))

    def _edited(self, part: Part, changes: Sequence[TextChange]) -> CodeType:
        text, end = "", part.start
        for one in changes:
            text += self._text[end : one.start] + one.text
            end = one.end
        try:
            return self._compiled(part.before + text + self._text[end : part.end])
        except (SyntaxError, ValueError, RecursionError) as error:
            raise CannotExchange from error

    def _code_swaps(self, part: Part, module: CodeType) -> Iterator[Swap]:
        codes = codes_in(module)
        for key, old in part.codes.items():
            new = codes.get(key)
            if new is not None and content(new) != old.content:
                for function in self._functions:
                    if likeness(function.__code__) == old.likeness:
                        yield Swap.of_attribute(function, "__code__", new)

    def _value_swaps(self, module: CodeType, part: Part) -> Iterator[Swap]:
        """Runs a statement of the top level again; its values go to who has the old ones."""
        if self._globals is None:
            raise CannotExchange
        fresh = dict(self._globals)
        try:
            exec(module, fresh)
            self._load_what_reads(fresh, part)
        except BaseException as error:  # an edited statement may raise anything at all
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
                for holder in _who_hold(name, old, self._globals):
                    yield Swap.of_name(holder, name, value)

    def _load_what_reads(self, fresh: dict[str, Any], changed: Part) -> None:
        """Runs what stands below once more where it reads a value that is another one now."""
        assert self._globals is not None
        for part in self._parts[self._parts.index(changed) + 1 :]:
            if any(fresh.get(name) is not self._globals.get(name) for name in part.reads):
                exec(self._compiled(part.before + self._text[part.start : part.end]), fresh)

    def _compiled(self, text: str) -> CodeType:
        code: CodeType = compile(text, self._path, "exec", self._flags, dont_inherit=True)
        return code


def functions_below(
    root: str, within: Container[int] | None = None
) -> dict[str, list[FunctionType]]:
    """The live functions whose code is of a file below `root`, by file.

    Only those whose global names (by identity) are `within` some modules, if that is told.
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


def _unbound(value: object) -> object:
    return value.__func__ if isinstance(value, staticmethod) else value


def _default_swaps(old: object, new: object) -> Iterator[Swap]:
    if isinstance(old, FunctionType) and isinstance(new, FunctionType):
        for name in ("__defaults__", "__kwdefaults__"):
            yield Swap.of_attribute(old, name, getattr(new, name))


def _attribute_swaps(old: type, new: type) -> Iterator[Swap]:
    if old.__bases__ != new.__bases__:
        yield Swap.of_attribute(old, "__bases__", new.__bases__)
    yield from _renamed(old, new)
    for name, value in vars(new).items():
        held = vars(old).get(name)
        if isinstance(value, staticmethod):  # as `__new__` is, which is made for a named tuple
            yield from _default_swaps(_unbound(held), value.__func__)
        elif isinstance(value, FunctionType):
            yield from _default_swaps(held, value)
            yield from _made_swaps(held, value)
        elif name in vars(old) and (isinstance(value, _PLAIN) or _is_field(value)):
            yield Swap.of_attribute(old, name, value)


def _is_field(value: object) -> bool:
    """Whether it reads a field of a named tuple."""
    return type(value).__name__ == "_tuplegetter"


def _renamed(old: type, new: type) -> Iterator[Swap]:
    """A member that has another name now: the loaded one, under that name."""
    before = [name for name in vars(old) if name not in vars(new)]
    after = [name for name in vars(new) if name not in vars(old)]
    if len(before) == len(after) == 1:
        (gone,), (come,) = before, after
        value = vars(old)[gone]

        def apply() -> None:
            setattr(old, come, value)
            delattr(old, gone)

        def undo() -> None:
            setattr(old, gone, value)
            delattr(old, come)

        yield Swap(apply, undo)


def _made_swaps(old: object, new: FunctionType) -> Iterator[Swap]:
    """A method that stands in no file, as the `__init__` that is made for a dataclass."""
    if not isinstance(old, FunctionType) or not new.__code__.co_filename.startswith("<"):
        return
    if new.__code__.co_freevars == old.__code__.co_freevars:
        yield Swap.of_attribute(old, "__code__", new.__code__)


def _who_hold(name: str, value: object, first: dict[str, Any]) -> list[dict[str, Any]]:
    """The modules' names that stand for a value: its own, and those that imported it."""
    modules = (getattr(one, "__dict__", None) for one in list(sys.modules.values()))
    others = [
        one
        for one in modules
        if isinstance(one, dict) and one is not first and name in one and one[name] is value
    ]
    return [first, *others]


def _globals_of(path: str) -> dict[str, Any] | None:
    for module in list(sys.modules.values()):
        if getattr(module, "__file__", None) == path:
            return vars(module)
    return None
