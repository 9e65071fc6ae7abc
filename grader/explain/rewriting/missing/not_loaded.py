"""Weights that are given and put into no layer, beside others that are."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from grader.explain.rewriting.draft import CHANGE, Draft
from grader.explain.rewriting.edit import Replacement
from grader.explain.rewriting.program.name_similarity import kinship
from grader.explain.rewriting.program.setting import Setting

_MOST_LAYERS = 4


def layers(setting: Setting, node: ast.Expr | ast.Assign) -> Iterator[Draft]:
    """`layer.out.weight.copy_(w_o)` after `layer.v.weight.copy_(w_v)`, with a weight left over."""
    program = setting.program
    text, end = program.text(node), program.span(node).end
    loaded = _loaded(node)
    if loaded is None or "\n" in text:
        return
    variables = setting.seen.variables(node)
    unread = [one.name for one in variables if not one.is_read and one.nature.is_tensor]
    names = [one.id for one in ast.walk(node) if isinstance(one, ast.Name)]
    pairs = [(name, one) for name in names for one in unread if kinship(name, one) == 2]
    for name, other in pairs:
        for layer in _free(setting, node, loaded):
            new = re.sub(rf"\b{name}\b", other, text)
            new = re.sub(rf"\.{loaded}\b", f".{layer}", new)
            subject = f"`{other}`, which is put into no layer"
            piece = Replacement(end, end, f"; {new}")
            yield Draft("repeated", CHANGE, subject, node, (piece,), program.span(node).start)


def _free(setting: Setting, node: ast.stmt, loaded: str) -> list[str]:
    """The layers beside one that the function does not mention, those of a kin first."""
    around = setting.program.text(setting.program.scope(node))
    layers = setting.signatures.attributes(loaded)
    free = [one for one in layers if not re.search(rf"\.{one}\b", around)]
    return sorted(free, key=lambda one: -kinship(loaded, one))[:_MOST_LAYERS]


def _loaded(node: ast.AST) -> str | None:
    """The layer whose weight a statement sets."""
    for one in ast.walk(node):
        match one:
            case ast.Attribute(value=ast.Attribute(attr=layer), attr="weight"):
                return layer
            case _:
                pass
    return None
