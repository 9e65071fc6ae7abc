"""Parameters and results that a function never uses, told where no one line mends an exercise."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from grader.explain.repair.questions import CheckedCall
from grader.explain.repair.sources import EditableSources, Function

Lines = Collection[tuple[str, int]]
# What a method has of its class, and what is there only to fit a call.
_NEVER_READ = frozenset({"self", "cls"})
# Functions that may read any variable.
_READ_ALL = frozenset({"locals", "vars", "eval", "exec"})
# Methods of tensors that change nothing, but return something new.
_NEW = frozenset({"masked_fill", "transpose", "permute", "reshape", "softmax", "clamp"})


@dataclass(frozen=True, slots=True)
class Ignored:
    """A parameter or a result that a function never uses, and where that function stands."""

    what: str
    function: str
    file: str
    line: int

    def in_words(self) -> str:
        """Returns "`mask` is never used in `attend` (model.py:29)."."""
        return f"{self.what} is never used in `{self.function}` ({self.file}:{self.line})."


def ignored(
    sources: EditableSources, passed: Lines, adapters: str, asked: Sequence[CheckedCall]
) -> Ignored | None:
    """Returns the one thing that the functions which wrong calls run never use, or None.

    A parameter that is called like an argument of the adapter counts only if each wrong call of
    those `asked` gives it, and a right one does not: right code may not need it either.
    """
    arguments = {name for one in asked for name in one.question.call.arguments}
    found: dict[tuple[str, int, str], Ignored] = {}
    for file, line in passed:
        node = sources.node(file, line)
        if node is None or _is_empty(node):
            continue
        for what, name in _unused(node):
            is_given = file == adapters and name in _parameters(node)
            if (is_given or name in arguments) and not _is_decisive(name, asked):
                continue
            found[file, node.lineno, what] = Ignored(what, node.name, file, node.lineno)
    return next(iter(found.values())) if len(found) == 1 else None


def _unused(node: Function) -> Iterator[tuple[str, str]]:
    """Yields the parameters that a function never reads, and the results that it throws away."""
    read = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
    parameters = () if read & _READ_ALL else _parameters(node)
    for name in parameters:
        if name not in read and name not in _NEVER_READ and not name.startswith("_"):
            yield f"`{name}`", name
    for one in ast.walk(node):
        match one:
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=of), attr=name))):
                if name in _NEW and of not in ("torch", "self"):
                    yield f"The result of `{name}`", name
            case _:
                pass


def _parameters(node: Function) -> list[str]:
    given = node.args
    return [one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs)]


def _is_empty(node: Function) -> bool:
    """Returns whether a function only raises, or is there for others to override."""
    return all(isinstance(one, ast.Expr | ast.Pass | ast.Raise) for one in node.body)


def _is_decisive(name: str, asked: Sequence[CheckedCall]) -> bool:
    """Returns whether just the wrong calls give a parameter."""
    wrong = [one.question.call.arguments.get(name) for one in asked if not one.right]
    right = [one.question.call.arguments.get(name) for one in asked if one.right]
    is_given = [value is not None and value is not False for value in wrong]
    return all(is_given) and any(value is None or value is False for value in right)
