"""Finds steps whose values are swapped between variables: `k` holds the values, `v` the keys."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from grader.core.wire.records import Line
from grader.explain.layouts import Cut

_WORDS = re.compile(r"[a-z]+|[A-Z][a-z]*")
_ENDING = re.compile(r"(?<=\w)(?:ies|ys|y|s)$")


@dataclass(frozen=True, slots=True)
class Sighting:
    """A recognised step, or slice of a step, with the stack of the record that holds it."""

    step: str
    stack: tuple[Line, ...]
    part: tuple[Cut, int] | None = None


# A step, and the slice of it that was seen.
_Seen = tuple[str, tuple[Cut, int] | None]


def misplaced(
    sightings: Iterable[Sighting], shapes: Mapping[str, tuple[int, ...]]
) -> frozenset[str]:
    """Returns the steps that stand in variables named after other steps of the same shape.

    `shapes` holds the shape of every step of the reference. A step counts if it, or a slice of it,
    is in no variable named after the step. In addition, the step after which its variable is named
    must be misplaced too.
    """
    named: dict[_Seen, set[str]] = {}
    for seen, variable in _variables(sightings, shapes):
        named.setdefault(seen, set()).update(_named_like(variable, seen[0], shapes))
    astray = {seen: names for seen, names in named.items() if names and seen[0] not in names}
    steps = {step for step, _ in astray}
    return frozenset(step for (step, _), names in astray.items() if names & steps)


def _variables(
    sightings: Iterable[Sighting], shapes: Mapping[str, tuple[int, ...]]
) -> Iterator[tuple[_Seen, str]]:
    """Yields steps and slices, each with the name of a variable that holds it.

    If one line assigns several steps of one shape, they are in the order of its variables.
    """
    on_a_line: dict[tuple[Line, ...], list[_Seen]] = {}
    for one in sightings:
        for depth in range(len(one.stack)):
            own = on_a_line.setdefault(one.stack[: depth + 1], [])
            if (one.step, one.part) not in own:
                own.append((one.step, one.part))
    for stack, steps in on_a_line.items():
        variables = _assigned(stack[-1].source)
        for shape in {shapes[step] for step, _ in steps}:
            alike = [seen for seen in steps if shapes[seen[0]] == shape]
            if len(variables) == 1:
                yield from ((seen, variables[0]) for seen in alike)
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


def parsed_statement(text: str) -> ast.stmt | None:
    """Returns the single statement of a text, or None; a worker may invent the text.

    A statement that is nested too deeply to be unparsed counts as none.
    """
    try:
        (node,) = ast.parse(text).body
        ast.unparse(node)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return node
