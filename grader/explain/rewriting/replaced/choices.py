"""Other choices: flags, the patterns of a match, where a block ends."""

from __future__ import annotations

import ast
import difflib
import itertools
from collections.abc import Iterator

from grader.explain.rewriting.edit import CHANGE, SLIP, Draft, Replacement, put
from grader.explain.rewriting.program.name_similarity import kin_of
from grader.explain.rewriting.program.name_similarity import words as words_of
from grader.explain.rewriting.program.setting import Setting, argument_of, known
from grader.explain.rewriting.program.value_kinds import Nature

_MOST = 6
MOST_WORDS = 12
_LIBRARY = {"xy": "ij", "ij": "xy"}
_ALIKE = 0.75


def words(setting: Setting, node: ast.Constant) -> Iterator[Draft]:
    """Yields `mode="rows"` for `mode="columns"`: another word in comparisons or look-ups."""
    own = node.value
    if not isinstance(own, str) or not own or not (own[0].isalpha() or own[0] == "_"):
        return
    likely = _keys(setting, node, own) if isinstance(setting.parent(node), ast.Subscript) else []
    beside = _words_beside(setting, node)
    found = [one for one in (*likely, *beside, *setting.signatures.words) if one != own]
    is_known = bool(beside) or own in setting.signatures.words
    likeness = {one: _likeness(own, one) for one in found}
    near = {*likely, *beside[:_MOST]}
    others = sorted(dict.fromkeys(found), key=lambda one: (one not in near, -likeness[one]))
    if own in _LIBRARY:
        others.insert(0, _LIBRARY[own])
    quote = setting.program.text(node)[-1]
    subject = "a word that is written out"
    for other in others[:MOST_WORDS]:
        is_near = likeness.get(other, 1.0) >= _ALIKE
        if is_known or is_near or other in likely:
            text = f"{quote}{other}{quote}"
            cost = SLIP if is_near or other in likely else CHANGE
            yield put(setting.program, node, text, "word", cost, subject, own)


def _keys(setting: Setting, node: ast.Constant, own: str) -> list[str]:
    """Keys that a key may be meant for: its kin, and the words of the parameter it is for."""
    given = argument_of(setting, setting.parent(node))
    called = given[1] if given is not None else ""
    return [*kin_of(own), *([called, *words_of(called)] if called else [])]


def _words_beside(setting: Setting, node: ast.Constant) -> list[str]:
    """Returns the other words of a table that a word is an entry of."""
    parent = setting.parent(node)
    while isinstance(parent, (ast.Tuple, ast.List)):
        parent = setting.parent(parent)
    if not isinstance(parent, (ast.Dict, ast.Assign)):
        return []
    found = [one.value for one in ast.walk(parent) if isinstance(one, ast.Constant)]
    return list(dict.fromkeys(one for one in found if isinstance(one, str) and one != node.value))


def _likeness(one: str, other: str) -> float:
    """Returns how much of two words is the same."""
    if len(one) == 1 or len(other) == 1:
        return 0.0
    return difflib.SequenceMatcher(None, one, other).ratio()


def modes(setting: Setting, node: ast.Call) -> Iterator[Draft]:
    """Yields `layer.train(training)` for `layer.eval()`."""
    match node:
        case ast.Call(func=ast.Attribute(value=value, attr="eval" | "train"), args=[], keywords=[]):
            pass
        case _:
            return
    for flag in known(setting, node, Nature.FLAG)[:_MOST]:
        text = f"{setting.program.text(value)}.train({flag})"
        yield put(setting.program, node, text, "flag", CHANGE, "the mode that a module is in")


_MOST_CASES = 8
_SUBJECT = "which case is for what"


def patterns(setting: Setting, node: ast.Match) -> Iterator[Draft]:
    """Yields other patterns of the cases of a `match`."""
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
    """Returns two patterns at each other's place."""
    program = setting.program
    spans = program.span(first), program.span(second)
    pieces = (
        Replacement(spans[0].start, spans[0].end, program.text(second)),
        Replacement(spans[1].start, spans[1].end, program.text(first)),
    )
    return Draft("case", cost, _SUBJECT, node, pieces, spans[0].start)


def _is_any(pattern: ast.pattern) -> bool:
    """Returns whether a pattern matches whatever comes."""
    return isinstance(pattern, ast.MatchAs) and pattern.pattern is None
