"""Values that go nowhere, given to a variable, copied, or called."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.explain.rewriting.draft import SLIP, Draft, put, wrap
from grader.explain.rewriting.edit import Replacement
from grader.explain.rewriting.program.setting import Setting
from grader.explain.rewriting.program.value_kinds import Nature

# A statement that only names a method does nothing at all: no other slip is likelier.
_MENTIONED = 0.5
_MOST = 3


def results(setting: Setting, node: ast.Expr) -> Iterator[Draft]:
    """A value that goes nowhere, given to a variable that it is made of."""
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


def copied(setting: Setting, node: ast.Expr) -> Iterator[Draft]:
    """`weight.copy_(w)` for `weight * w`, which changes nothing."""
    match node.value:
        case ast.BinOp(left=ast.Attribute() as left, right=right):
            program = setting.program
            text = f"{program.outer_text(left)}.copy_({program.text(right)})"
            yield put(program, node.value, text, "result", SLIP, "a value that goes nowhere")
        case _:
            pass


def mentioned(setting: Setting, node: ast.Expr) -> Iterator[Draft]:
    """A method that is named and not called, called with the variables that it asks for by name."""
    method = node.value
    if not isinstance(method, ast.Attribute):
        return
    subject = "a method that is named and not called"
    signature = setting.signatures.of(ast.Call(method, [], []))
    if signature is None:
        yield wrap(setting.program, method, "", "()", "call", _MENTIONED, subject)
        return
    known = {one.name.lower(): one.name for one in setting.seen.variables(node)}
    given = [known.get(one.name.lower()) for one in signature.positional]
    if all(given):
        text = f"({', '.join(name for name in given if name)})"
        yield wrap(setting.program, method, "", text, "call", _MENTIONED, subject)


def _first_argument(node: ast.expr) -> str:
    if isinstance(node, ast.Call) and node.args:
        return ast.unparse(node.args[0])
    return ast.unparse(node)
