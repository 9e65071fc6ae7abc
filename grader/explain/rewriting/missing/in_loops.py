"""Where a turn of a loop begins and ends, which does not hang on the turn: `0` for `i * size`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.explain.rewriting.draft import CHANGE, SLIP, Draft, put, wrap
from grader.explain.rewriting.program.setting import Setting, integer, known
from grader.explain.rewriting.program.value_kinds import Nature

_MOST = 3
_SUBJECT = "what changes from turn to turn of a loop"


def starts(setting: Setting, node: ast.Assign) -> Iterator[Draft]:
    """A loop's variable that nothing reads, and so many times each size, for a constant."""
    if not isinstance(node.targets[0], ast.Name) or integer(node.value) is None:
        return
    read = setting.scopes.names(node).read
    for variable in [one for one in setting.seen.loops(node) if not read.get(one)][:1]:
        sizes = [one for one in known(setting, node.value, Nature.SIZE) if one != variable]
        for text in (variable, *(f"{variable} * {size}" for size in sizes[:_MOST])):
            yield put(setting.program, node.value, text, "turn", CHANGE, _SUBJECT)


def ends(setting: Setting, node: ast.Assign) -> Iterator[Draft]:
    """`start + size` for `size`, after a statement that set `start`."""
    home = setting.program.home(node)
    block = getattr(home.parent, home.field)
    if not home.index or not setting.seen.loops(node):
        return
    natures = setting.scopes.names(node).natures
    match node, block[home.index - 1]:
        case (
            ast.Assign(targets=[ast.Name(id=end)], value=ast.Name(id=size)),
            ast.Assign(targets=[ast.Name(id=start)], value=ast.BinOp()),
        ) if natures.get(start) is natures.get(size) is Nature.SIZE and start not in (end, size):
            yield wrap(setting.program, node.value, f"{start} + ", "", "turn", SLIP, _SUBJECT)
        case _:
            pass
