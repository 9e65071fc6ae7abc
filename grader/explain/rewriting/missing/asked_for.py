"""Conditions that ask for too little: a flag that nothing reads, lengths that must be equal."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from grader.explain.rewriting.draft import CHANGE, WRAP, Draft, put, wrap
from grader.explain.rewriting.missing.forgotten import unused
from grader.explain.rewriting.program.setting import Setting
from grader.explain.rewriting.program.value_kinds import Nature

_MOST = 3
_SUBJECT = "the condition of a branch"


def conditions(setting: Setting, node: ast.expr) -> Iterator[Draft]:
    """A condition that also looks at an unused flag."""
    home = setting.program.home(node)
    if home.field != "test" or not isinstance(home.parent, (ast.If, ast.IfExp)):
        return
    yield from _of_lengths(setting, node)
    for name, nature in unused(setting, node):
        if nature is Nature.FLAG:
            for before in (f"not {name} or ", f"{name} and "):
                yield wrap(setting.program, node, before, "", "condition", CHANGE, _SUBJECT)
            yield put(setting.program, node, name, "condition", CHANGE, _SUBJECT)
            yield put(setting.program, node, f"not {name}", "condition", WRAP, _SUBJECT)


def _of_lengths(setting: Setting, node: ast.expr) -> Iterator[Draft]:
    """`causal and n == m` for `causal`, where two lengths are read nowhere or little."""
    if setting.scopes.nature(node) is not Nature.FLAG or not isinstance(node, ast.Name):
        return
    sizes = [one for one in setting.seen.variables(node) if one.nature is Nature.SIZE]
    lengths = [one.name for one in sizes if setting.scopes.names(node).siblings.get(one.name)]
    tensors = [one.name for one in setting.seen.variables(node) if one.nature is Nature.TENSOR]
    pairs = [
        *itertools.combinations(lengths[:_MOST], 2),
        *itertools.combinations([f"{one}.shape[-2]" for one in tensors[:_MOST]], 2),
    ]
    for one, other in pairs:
        after = f" and {one} == {other}"
        yield wrap(setting.program, node, "", after, "condition", CHANGE, _SUBJECT, loose=True)
