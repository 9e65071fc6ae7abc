"""Finds parameters and results that a function never uses, for exercises without a repair."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from grader.explain.repair.questions import CheckedCall
from grader.explain.repair.sources import EditableSources
from grader.explain.rewriting.program.source import Function, names_in, parameters

Lines = Collection[tuple[str, int]]
# Parameters that functions have in any case, or that change no value.
_NEVER_READ = frozenset({"self", "cls", "dtype", "device"})
# Functions that can read any variable.
_READ_ALL = frozenset({"locals", "vars", "eval", "exec"})
# Tensor methods that return a new tensor and leave the old one unchanged.
_NEW = frozenset({"masked_fill", "transpose", "permute", "reshape", "softmax", "clamp"})


@dataclass(frozen=True, slots=True)
class Ignored:
    """A parameter or a result that a function never uses, and the place of that function."""

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
    """Returns the only parameter or result that functions run by wrong calls never use, or None.

    `passed` holds the lines that wrong calls run. Right code may not need an argument of the
    adapter. A parameter with such a name therefore counts only if it tells wrong calls in `asked`
    from a right one. One with a default counts only if some call passes it.
    """
    arguments = {name for one in asked for name in one.question.call.arguments}
    run: dict[Function, str] = {}
    for file, line in passed:
        node = sources.node(file, line)
        # An import during the call runs the lines before the body: it defines the function.
        if node is not None and line > node.lineno and line >= node.body[0].lineno:
            run[node] = file
    found: set[Ignored] = set()
    for node, file in run.items():
        if _is_empty(node) or _is_overridden(node, sources.classes):
            continue
        for what, name in _unused(node):
            is_given = file == adapters and name in _parameters(node)
            if (is_given or name in arguments) and not _is_decisive(name, asked):
                continue
            if _keeps_its_default(name, node, sources):
                continue
            found.add(Ignored(what, node.name, file, node.lineno))
    return found.pop() if len(found) == 1 else None


def _unused(node: Function) -> Iterator[tuple[str, str]]:
    """Yields the parameters that a function never reads, and the results that it discards."""
    read = {*names_in(node)}
    for name in () if read & _READ_ALL else _parameters(node):
        if name not in read and name not in _NEVER_READ and not name.startswith("_"):
            yield f"`{name}`", name
    for one in ast.walk(node):
        match one:
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=of), attr=name))):
                if name in _NEW and of not in ("torch", "self"):
                    yield f"The result of `{name}`", name


def _keeps_its_default(name: str, node: Function, sources: EditableSources) -> bool:
    """Returns whether a parameter has a default, and calls of the function, but none passes it."""
    ordered = [one.arg for one in (*node.args.posonlyargs, *node.args.args)]
    optional = ordered[len(ordered) - len(node.args.defaults) :]
    by_name = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
    optional += [one.arg for one, default in by_name if default is not None]
    names = {node.name}
    if node.name == "__init__":
        # A class without an `__init__` of its own may inherit this one.
        names |= {one.name for one in sources.classes if node in one.body or not _begins(one)}
    calls = [one for one in sources.calls if _callee(one) in names]
    place = ordered.index(name) - (ordered[0] == "self") if name in ordered else len(ordered)
    return (
        name in optional
        and bool(calls)
        and not any(one.arg == name for call in sources.calls for one in call.keywords)
        and not any(one.arg is None for call in calls for one in call.keywords)
        and not any(isinstance(one, ast.Starred) for call in calls for one in call.args)
        and all(len(call.args) <= place for call in calls)
    )


def _callee(call: ast.Call) -> str:
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


def _begins(node: ast.ClassDef) -> bool:
    return any(isinstance(one, Function) and one.name == "__init__" for one in node.body)


def _parameters(node: Function) -> list[str]:
    return [one.arg for one in parameters(node.args)]


def _is_empty(node: Function) -> bool:
    """Returns whether a function's body only raises, passes, sets or returns constants."""
    return all(
        isinstance(one, ast.Expr | ast.Pass | ast.Raise)
        or (isinstance(one, ast.Assign | ast.Return) and not _is_computed(one.value))
        for one in node.body
    )


def _is_computed(value: ast.expr | None) -> bool:
    return any(isinstance(one, ast.Name | ast.Call) for one in ast.walk(value or ast.Pass()))


def _is_overridden(node: Function, classes: Sequence[ast.ClassDef]) -> bool:
    """Returns whether a function is a method that a later class overrides."""
    family = {one.name for one in classes if node in one.body}
    for one in classes if family else ():
        if family & {getattr(base, "attr", getattr(base, "id", "")) for base in one.bases}:
            family.add(one.name)
            if any(isinstance(own, Function) and own.name == node.name for own in one.body):
                return True
    return False


def _is_decisive(name: str, asked: Sequence[CheckedCall]) -> bool:
    """Returns whether all wrong calls pass a parameter and some right call does not.

    If every wrong call has a flag that is False, some right call has one that is True.
    """
    wrong = [one.question.call.arguments.get(name) for one in asked if not one.right]
    right = [one.question.call.arguments.get(name) for one in asked if one.right]
    if wrong and all(value is False for value in wrong):
        return any(value is True for value in right)
    is_given = [value is not None and value is not False for value in wrong]
    return all(is_given) and any(value is None or value is False for value in right)
