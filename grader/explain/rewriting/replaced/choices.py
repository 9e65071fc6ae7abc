"""Other choices: flags, the patterns of a match, where a block ends."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator

from grader.explain.rewriting.edit import CHANGE, SLIP, Draft, put
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
