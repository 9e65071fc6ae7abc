"""Values that go nowhere: not appended, returned, counted, called, or loaded into a layer."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from grader.explain.rewriting.edit import CHANGE, SLIP, Draft, Replacement, put, wrap
from grader.explain.rewriting.missing.forgotten import unused
from grader.explain.rewriting.program.name_similarity import kinship
from grader.explain.rewriting.program.setting import Setting, callee
from grader.explain.rewriting.program.value_kinds import Nature

_COLLECTING = ("append", "extend", "add", "insert", "write")


def appended(setting: Setting, node: ast.Expr) -> Iterator[Draft]:
    """Yields `found.append(value)` for `value` alone, to the lists that the function appends to."""
    if not isinstance(node.value, (ast.Call, ast.BinOp, ast.Name, ast.Subscript)):
        return
    if callee(node.value).startswith(_COLLECTING):
        return
    for name in _appended_to(setting, node):
        subject = "a value that goes nowhere"
        before = f"{name}.append("
        yield wrap(setting.program, node.value, before, ")", "result", SLIP, subject, loose=True)


def _appended_to(setting: Setting, node: ast.AST) -> list[str]:
    """Returns the known variables at a place to which the function appends something."""
    visible = setting.seen.visible(node)
    found = {
        one.func.value.id: None
        for one in ast.walk(setting.program.scope(node))
        if isinstance(one, ast.Call)
        and isinstance(one.func, ast.Attribute)
        and one.func.attr in ("append", "extend")
        and isinstance(one.func.value, ast.Name)
    }
    return [name for name in found if name in visible]


def returned(setting: Setting, node: ast.Return) -> Iterator[Draft]:
    """Yields `return first, second` for `return first`, of a kin that nothing reads."""
    if not isinstance(node.value, ast.Name):
        return
    own = node.value.id
    scope = setting.program.scope(node)
    subject = f"what `{getattr(scope, 'name', '')}` returns"
    first = setting.scopes.names(node).first
    for other, _ in unused(setting, node):
        if kinship(own, other) == 2:
            is_later = first[other] >= first.get(own, 0)
            before, after = ("", f", {other}") if is_later else (f"{other}, ", "")
            value = node.value
            yield wrap(
                setting.program, value, before, after, "entry-added", SLIP, subject, loose=True
            )


def all_of(setting: Setting, node: ast.Return | ast.Assign) -> Iterator[Draft]:
    """Yields `torch.cat(parts, dim=-1)` for one of the parts that a loop collected."""
    match node.value:
        case (
            ast.Subscript(value=ast.Name(id=name), slice=ast.Constant() | ast.UnaryOp())
            | ast.Call(func=ast.Attribute(attr="stack"), args=[ast.Name(id=name)], keywords=[])
        ):
            if setting.scopes.names(node).natures.get(name) in (Nature.OTHER, Nature.SIZE):
                subject = f"what becomes of `{name}`"
                text = f"torch.cat({name}, dim=-1)"
                yield put(setting.program, node.value, text, "collected", CHANGE, subject)
        case _:
            pass


def joined_unread(setting: Setting, node: ast.Call) -> Iterator[Draft]:
    """Yields `f(torch.cat(parts, dim=-1))` for `f(x)`, where nothing reads the list `parts`."""
    for one in node.args:
        if not isinstance(one, ast.Name) or setting.scopes.nature(one) is not Nature.TENSOR:
            continue
        for name, nature in unused(setting, node):
            if nature is Nature.OTHER:
                text, subject = f"torch.cat({name}, dim=-1)", f"`{name}`, which is never used"
                yield put(setting.program, one, text, "collected", CHANGE, subject)


def returned_early(setting: Setting, node: ast.Assign) -> Iterator[Draft]:
    """Yields `return value` for `result = value` at the end of a branch, which nothing reads."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name) as target], value=value):
            branch = setting.parent(node)
        case _:
            return
    if not isinstance(branch, ast.If) or branch.orelse or node is not branch.body[-1]:
        return
    if not isinstance(setting.program.scope(node), ast.FunctionDef):
        return
    if not setting.scopes.names(node).read.get(name) or _is_set_after(setting, branch, name):
        start, end = setting.program.span(target).start, setting.program.outer_span(value).start
        piece = Replacement(start, end, "return ")
        subject = f"what becomes of `{name}` in a branch"
        yield Draft("result", SLIP, subject, node, (piece,), start)


def _is_set_after(setting: Setting, branch: ast.If, name: str) -> bool:
    """Returns whether a statement after a branch sets a variable anew."""
    home = setting.program.home(branch)
    block = getattr(home.parent, home.field)
    return any(
        isinstance(target, ast.Name) and target.id == name
        for statement in block[block.index(branch) + 1 :]
        if isinstance(statement, ast.Assign)
        for target in statement.targets
    )


def joined(setting: Setting, node: ast.Call) -> Iterator[Draft]:
    """Yields `torch.cat(parts, dim=-1)` for `sum(parts)` and for `torch.stack(parts).mean(0)`."""
    match node:
        case ast.Call(func=ast.Name(id="sum"), args=[parts]):
            pass
        case ast.Call(
            func=ast.Attribute(value=ast.Call(args=[parts, *_]) as stacked, attr="sum" | "mean")
        ) if callee(stacked) == "stack":
            pass
        case _:
            return
    text = setting.program.text(parts)
    if isinstance(parts, ast.GeneratorExp):
        text = f"[{text.removeprefix('(').removesuffix(')')}]"
    subject = "how parts are put together"
    yield put(setting.program, node, f"torch.cat({text}, dim=-1)", "collected", CHANGE, subject)


def counts(setting: Setting, node: ast.Call) -> Iterator[Draft]:
    """Yields `sum(p.numel() for p in ps)` for `len([p for p in ps])` and `len(list(ps))`."""
    match node:
        case ast.Call(func=ast.Name(id="len"), args=[ast.ListComp(elt=ast.Name(id=name)) as each]):
            inner = setting.program.text(each).removeprefix("[").removesuffix("]").strip()
            text = f"sum({name}.numel(){inner.removeprefix(name)})"
        case ast.Call(
            func=ast.Name(id="len"), args=[ast.Call(func=ast.Name(id="list"), args=[over])]
        ):
            text = f"sum(one.numel() for one in {setting.program.text(over)})"
        case _:
            return
    yield put(setting.program, node, text, "counted", CHANGE, "what is counted")


def counted(setting: Setting, node: ast.ListComp | ast.GeneratorExp) -> Iterator[Draft]:
    """Yields drafts that count the loop variable, or its size, in place of a constant."""
    if not isinstance(node.elt, ast.Constant) or len(node.generators) != 1:
        return
    target = node.generators[0].target
    if not isinstance(target, ast.Name):
        return
    parent = setting.parent(node)
    subject = f"what `{callee(parent)}` counts" if callee(parent) else "what is counted"
    for after in (".numel()", ""):
        text = f"{target.id}{after}"
        yield put(setting.program, node.elt, text, "counted", SLIP, subject)


# A statement that only names a method does nothing at all: no other slip is likelier.
_MENTIONED = 0.5
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


def copied(setting: Setting, node: ast.Expr) -> Iterator[Draft]:
    """Yields `weight.copy_(w)` for `weight * w`, which changes nothing."""
    match node.value:
        case ast.BinOp(left=ast.Attribute() as left, right=right):
            program = setting.program
            text = f"{program.outer_text(left)}.copy_({program.text(right)})"
            yield put(program, node.value, text, "result", SLIP, "a value that goes nowhere")
        case _:
            pass


def mentioned(setting: Setting, node: ast.Expr) -> Iterator[Draft]:
    """Yields a method that is named but not called, called with the variables it asks for."""
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
