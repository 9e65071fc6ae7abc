"""Tells steps whose values stand in each other's variables: `k` holds the values, `v` the keys."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from grader.core.wire.records import Line

_WORDS = re.compile(r"[a-z]+|[A-Z][a-z]*")
_ENDING = re.compile(r"(?<=\w)(?:ies|ys|y|s)$")


@dataclass(frozen=True, slots=True)
class Sighting:
    """A step that was found in the value of a record, with the lines behind that."""

    step: str
    stack: tuple[Line, ...]


def misplaced(
    sightings: Iterable[Sighting], shapes: Mapping[str, tuple[int, ...]]
) -> frozenset[str]:
    """Returns the steps that stand in variables named like other steps of their shape.

    `shapes` holds the shape of every step of the reference. A step counts if no variable named like
    it holds it, and the step after which its variable is named does not stand in its own either.
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

    One line may assign several steps of one shape: these have the order of the variables.
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
    """Returns the steps of a step's shape that a variable may be named after."""
    words = [word.lower() for word in _WORDS.findall(variable)]
    return {
        other
        for other, shape in shapes.items()
        if shape == shapes[step] and any(_is_short_for(word, other) for word in words)
    }


def _is_short_for(word: str, step: str) -> bool:
    """Returns whether a word is the beginning of a step's name, as `q` and `query` of queries."""
    first, *others = step.split()
    # The word that tells roles apart is the first; "rotated" and its like come before it.
    telling = others[0] if others and first.endswith("ed") else first
    return _stem(telling).startswith(_stem(word))


def _stem(word: str) -> str:
    """Returns a word without the ending of its singular or plural."""
    return _ENDING.sub("", word)


@functools.lru_cache(maxsize=1024)
def _assigned(source: str) -> Sequence[str]:
    """Returns the variables that a line assigns, in their order; none if it is no assignment."""
    try:
        (statement,) = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    if not isinstance(statement, ast.Assign) or len(statement.targets) > 1:
        return ()
    (target,) = statement.targets
    targets = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
    names = [one.id for one in targets if isinstance(one, ast.Name)]
    return names if len(names) == len(targets) else ()
