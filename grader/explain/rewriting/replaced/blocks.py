"""Where a block ends: a `return` that stands too far inside."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.explain.rewriting.draft import SLIP, Draft
from grader.explain.rewriting.edit import Replacement
from grader.explain.rewriting.program.setting import Setting


def ends(setting: Setting, node: ast.Return) -> Iterator[Draft]:
    """A `return` at the end of a loop's body, after the loop."""
    home = setting.program.home(node)
    loop = home.parent
    if not isinstance(loop, (ast.For, ast.While)) or home.field != "body" or loop.orelse:
        return
    if node is not loop.body[-1] or len(loop.body) < 2:
        return
    start = setting.program.span(node).start
    deeper = node.col_offset - loop.col_offset
    before = setting.program.source[start - deeper : start]
    if deeper > 0 and before.isspace() and "\n" not in before:
        piece = Replacement(start - deeper, start, "")
        yield Draft("block", SLIP, "where a loop ends", loop, (piece,), start)
