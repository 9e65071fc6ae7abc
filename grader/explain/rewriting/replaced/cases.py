"""The patterns of a `match`: other words, elements in another order, cases that trade places."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from grader.explain.rewriting.draft import CHANGE, SLIP, Draft
from grader.explain.rewriting.edit import Replacement
from grader.explain.rewriting.program.setting import Setting
from grader.explain.rewriting.replaced.flags import MOST_WORDS

_MOST_CASES = 8
_SUBJECT = "which case is for what"


def patterns(setting: Setting, node: ast.Match) -> Iterator[Draft]:
    """Other patterns of the cases of a `match`."""
    for case in node.cases:
        for one in ast.walk(case.pattern):
            match one:
                case ast.MatchValue(value=ast.Constant(value=str(word)) as value):
                    yield from _other_words(setting, node, value, word)
                case ast.MatchValue(value=ast.Constant(value=int(number)) as value):
                    for other in (number + 1, number - 1):
                        yield _put(setting, node, value, str(other), SLIP)
                case ast.MatchSingleton(value=bool(flag)):
                    yield _put(setting, node, one, str(not flag), SLIP)
                case ast.MatchSequence(patterns=parts):
                    for first, second in itertools.pairwise(parts):
                        yield _traded(setting, node, first, second, SLIP)
                case _:
                    pass
    tests = [case.pattern for case in node.cases if not _is_any(case.pattern)][:_MOST_CASES]
    for first, second in itertools.combinations(tests, 2):
        yield _traded(setting, node, first, second, CHANGE)


def _other_words(
    setting: Setting, node: ast.Match, value: ast.Constant, word: str
) -> Iterator[Draft]:
    quote = setting.program.text(value)[-1]
    others = [one for one in setting.signatures.words if one != word]
    for other in others[:MOST_WORDS]:
        yield _put(setting, node, value, f"{quote}{other}{quote}", CHANGE)


def _put(setting: Setting, node: ast.Match, part: ast.AST, text: str, cost: float) -> Draft:
    span = setting.program.span(part)
    piece = Replacement(span.start, span.end, text)
    return Draft("case", cost, _SUBJECT, node, (piece,), span.start)


def _traded(
    setting: Setting, node: ast.Match, first: ast.pattern, second: ast.pattern, cost: float
) -> Draft:
    """Two patterns at each other's place."""
    program = setting.program
    spans = program.span(first), program.span(second)
    pieces = (
        Replacement(spans[0].start, spans[0].end, program.text(second)),
        Replacement(spans[1].start, spans[1].end, program.text(first)),
    )
    return Draft("case", cost, _SUBJECT, node, pieces, spans[0].start)


def _is_any(pattern: ast.pattern) -> bool:
    """Whether a pattern matches whatever comes."""
    return isinstance(pattern, ast.MatchAs) and pattern.pattern is None
