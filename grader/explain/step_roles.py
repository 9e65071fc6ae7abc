"""Finds steps whose values are swapped between variables: `k` holds the values, `v` the keys."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from grader.core.wire.records import Line
from grader.explain.exceptions.operation import parsed_statement

_WORDS = re.compile(r"[a-z]+|[A-Z][a-z]*")
_ENDING = re.compile(r"(?<=\w)(?:ies|ys|y|s)$")


@dataclass(frozen=True, slots=True)
class Sighting:
    """A step that was recognised in a record's value, with the record's stack."""

    step: str
    stack: tuple[Line, ...]


def misplaced(
    sightings: Iterable[Sighting], shapes: Mapping[str, tuple[int, ...]]
) -> frozenset[str]:
    """Returns the steps that stand in variables named after other steps of the same shape.

    `shapes` holds the shape of every step of the reference. A step counts if no variable named
    after it holds it. In addition, the step after which its variable is named must be misplaced
    too.
    """
    named: dict[str, set[str]] = {}
    for step, variable in _variables(sightings, shapes):
        named.setdefault(step, set()).update(_named_like(variable, step, shapes))
    astray = {step: names for step, names in named.items() if names and step not in names}
    return frozenset(step for step, names in astray.items() if names & astray.keys())


def _variables(
    sightings: Iterable[Sighting], shapes: Mapping[str, tuple[int, ...]]
) -> Iterator[tuple[str, str]]:
    """Yields steps, each with the name of a variable that holds it.

    If one line assigns several steps of one shape, they are in the order of its variables.
    """
    on_a_line: dict[tuple[Line, ...], list[str]] = {}
    for one in sightings:
        for depth in range(len(one.stack)):
            own = on_a_line.setdefault(one.stack[: depth + 1], [])
            if one.step not in own:
                own.append(one.step)
    for stack, steps in on_a_line.items():
        variables = _assigned(stack[-1].source)
        for shape in {shapes[step] for step in steps}:
            alike = [step for step in steps if shapes[step] == shape]
            if len(variables) == 1:
                yield from ((step, variables[0]) for step in alike)
            elif len(alike) == len(variables):
                yield from zip(alike, variables, strict=True)


def _named_like(variable: str, step: str, shapes: Mapping[str, tuple[int, ...]]) -> Collection[str]:
    """Returns the steps that a variable may be named after, among those of `step`'s shape."""
    words = [word.lower() for word in _WORDS.findall(variable)]
    return {
        other
        for other, shape in shapes.items()
        if shape == shapes[step] and any(_is_short_for(word, other) for word in words)
    }


def _is_short_for(word: str, step: str) -> bool:
    """Returns whether a step's name begins with a word: `q` and `query` stand for queries."""
    first, *others = step.split()
    # Roles differ in the first word, except for a participle before it: "rotated queries".
    telling = others[0] if others and first.endswith("ed") else first
    return _stem(telling).startswith(_stem(word))


def _stem(word: str) -> str:
    """Returns a word without a final y, s, ys or ies, so that singular and plural are equal."""
    return _ENDING.sub("", word)


@functools.lru_cache(maxsize=1024)
def _assigned(source: str) -> Sequence[str]:
    """Returns the variables that a line assigns, in order; none if it is not an assignment."""
    statement = parsed_statement(source)
    if not isinstance(statement, ast.Assign) or len(statement.targets) > 1:
        return ()
    (target,) = statement.targets
    targets = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
    names = [one.id for one in targets if isinstance(one, ast.Name)]
    return names if len(names) == len(targets) else ()
