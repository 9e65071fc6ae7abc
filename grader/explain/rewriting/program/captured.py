"""What the patterns of a `match` bind to names."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from grader.explain.rewriting.program.value_kinds import Nature, nature_of, nature_of_name


def captured(
    pattern: ast.pattern, subject: ast.expr | None, names: Mapping[str, Nature]
) -> Iterator[tuple[str, Nature]]:
    """The names that a pattern binds, and what they are: the subject, or one of its elements."""
    match pattern:
        case ast.MatchAs(pattern=inner, name=name):
            if name is not None:
                own = None if subject is None else nature_of(subject, names)
                own = None if own is Nature.OTHER else own
                yield name, nature_of_name(name) or own or Nature.TENSOR
            if inner is not None:
                yield from captured(inner, subject, names)
        case ast.MatchSequence(patterns=parts):
            elements: list[ast.expr | None] = [None] * len(parts)
            if isinstance(subject, ast.Tuple) and len(subject.elts) == len(parts):
                elements = [*subject.elts]
            for element, part in zip(elements, parts, strict=True):
                yield from captured(part, element, names)
        case ast.MatchOr(patterns=parts):
            for part in parts:
                yield from captured(part, subject, names)
        case ast.MatchMapping(patterns=parts) | ast.MatchClass(kwd_patterns=parts):
            for part in parts:
                yield from captured(part, None, names)
        case _:
            pass
