"""Values that go nowhere: not appended, returned, counted, called, or loaded into a layer."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from grader.explain.rewriting.edit import CHANGE, SLIP, Draft, Replacement
from grader.explain.rewriting.program.name_similarity import kinship
from grader.explain.rewriting.program.setting import Setting
from grader.explain.rewriting.program.value_kinds import Nature

_MOST = 3


def results(setting: Setting, node: ast.Expr) -> Iterator[Draft]:
    """Yields a value that goes nowhere, given to a variable that it is made of."""
    if isinstance(node.value, (ast.Constant, ast.Await, ast.Yield)):
        return
    span = setting.program.span(node)
    natures = setting.scopes.names(node).natures
    subject = "a value that goes nowhere"
    targets: dict[str, None] = {}
    if isinstance(node.value, ast.Tuple):
        targets[", ".join(_first_argument(one) for one in node.value.elts)] = None
    for one in ast.walk(node.value):
        if isinstance(one, ast.Name) and natures.get(one.id, Nature.OTHER).is_tensor:
            targets[one.id] = None
    own = setting.scopes.names(node).own
    match node.value:
        # Never what a module holds: without it every later trial would fail.
        case ast.Call(func=ast.Attribute(value=ast.Attribute(value=ast.Name(id=name)) as held)) if (
            name in own
        ):
            targets[setting.program.text(held)] = None
        case _:
            pass
    several: list[str] = []
    if isinstance(node.value, ast.Call) and all(isinstance(o, ast.Name) for o in node.value.args):
        given = [one.id for one in node.value.args if isinstance(one, ast.Name)]
        several = [", ".join(given[:count]) for count in range(min(3, len(given)), 1, -1)]
    for target in [*list(targets)[:_MOST], *several]:
        piece = Replacement(span.start, span.start, f"{target} = ")
        yield Draft("result", SLIP, subject, node, (piece,), span.start)


def _first_argument(node: ast.expr) -> str:
    if isinstance(node, ast.Call) and node.args:
        return ast.unparse(node.args[0])
    return ast.unparse(node)


_MOST_LAYERS = 4


def layers(setting: Setting, node: ast.Expr | ast.Assign) -> Iterator[Draft]:
    """Yields `layer.out.weight.copy_(w_o)` after `layer.v.weight.copy_(w_v)`, for a new weight."""
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
    """Returns the layers beside one that the function does not mention, those of a kin first."""
    around = setting.program.text(setting.program.scope(node))
    layers = setting.signatures.attributes(loaded)
    free = [one for one in layers if not re.search(rf"\.{one}\b", around)]
    return sorted(free, key=lambda one: -kinship(loaded, one))[:_MOST_LAYERS]


def _loaded(node: ast.AST) -> str | None:
    """Returns the layer whose weight a statement sets."""
    for one in ast.walk(node):
        match one:
            case ast.Attribute(value=ast.Attribute(attr=layer), attr="weight"):
                return layer
            case _:
                pass
    return None
