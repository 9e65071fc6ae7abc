"""The parts of a source file that compile by themselves, and the code that they compile to."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import CodeType

from grader.core.wire.trials import TextChange

Key = tuple[str, int]
Compile = Callable[[str], CodeType]


@dataclass(frozen=True, slots=True)
class FunctionCode:
    """A function's code as it was loaded: what it is known by, and what it does."""

    likeness: tuple[object, ...]
    content: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """Some whole lines of a file: a function, a class, a constant.

    They compile to `codes`, by qualified name and number among those of that name, once they stand
    after the text `before`, which puts them on their lines and into their class. `reads` are the
    names that are read as they are loaded: of a function those in its defaults. `members` are the
    methods of a class.
    """

    start: int
    end: int
    before: str
    codes: Mapping[Key, FunctionCode]
    reads: frozenset[str] = frozenset()
    members: tuple[Part, ...] = ()

    def holds(self, change: TextChange) -> bool:
        """Whether a change is one of these lines."""
        return self.start <= change.start and change.end <= self.end


def parts_of(text: str, compiled: Compile) -> Iterator[Part]:
    """What stands at the top level of a file, but for what does not compile."""
    source = _Source(text, compiled)
    for node, first in source.each(ast.parse(text).body):
        members: tuple[Part, ...] = ()
        if isinstance(node, ast.ClassDef):
            members = tuple(source.members(node))
        with contextlib.suppress(SyntaxError, ValueError, RecursionError):
            reads = frozenset(_read_as_loaded(node))
            yield source.part(node, first, "\n" * (first - 1), reads, members)


class _Source:
    """A file's text by lines."""

    def __init__(self, text: str, compiled: Compile) -> None:
        self._text = text
        self._compiled = compiled
        # As Python counts: form feeds and Unicode's own separators end no line.
        self._lines = [f"{line}\n" for line in text.split("\n")]
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line))

    def each(self, body: Sequence[ast.stmt], after: int = 0) -> Iterator[tuple[ast.stmt, int]]:
        """The statements that begin on lines of their own, and their first lines."""
        for node in body:
            first = _first_line(node)
            if first > after:
                after = node.end_lineno or first
                yield node, first

    def part(
        self,
        node: ast.stmt,
        first: int,
        before: str,
        reads: frozenset[str] = frozenset(),
        members: tuple[Part, ...] = (),
    ) -> Part:
        """A statement and what it compiles to.

        Raises:
            SyntaxError, ValueError, RecursionError: if it does not.
        """
        last = min(node.end_lineno or first, len(self._lines))
        start, end = self._starts[first - 1], self._starts[last]
        codes = codes_in(self._compiled(before + self._text[start:end]))
        known = {key: FunctionCode(likeness(code), content(code)) for key, code in codes.items()}
        return Part(start, end, before, known, reads, members)

    def members(self, node: ast.ClassDef) -> Iterator[Part]:
        """The methods of a class, each after the class's head alone."""
        body = _first_line(node.body[0])
        head = "".join(self._lines[node.lineno - 1 : body - 1])
        for one, first in self.each(node.body, after=node.lineno):
            if isinstance(one, ast.FunctionDef):
                before = "\n" * (node.lineno - 1) + head + "\n" * (first - body)
                with contextlib.suppress(SyntaxError, ValueError, RecursionError):
                    yield self.part(one, first, before)


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
    """Every function's code in a module's, by qualified name and number among its namesakes."""
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
    """What two compilations of one function have in common.

    Their instructions may differ: those for `torch.exp` hang on whether the import was seen.
    """
    return code.co_qualname, code.co_firstlineno, code.co_names, code.co_varnames


def content(code: CodeType) -> tuple[object, ...]:
    """What a function does, with those inside it."""
    constants = tuple(
        content(one) if isinstance(one, CodeType) else (type(one), repr(one))
        for one in code.co_consts
    )
    return code.co_code, code.co_names, code.co_varnames, code.co_freevars, constants
