"""How much is counted: all numbers of a tensor for its rows, a product of sizes for their sum."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.explain.rewriting.draft import CHANGE, Draft, put, wrap
from grader.explain.rewriting.program.name_similarity import words
from grader.explain.rewriting.program.setting import Setting, argument_of, callee
from grader.explain.rewriting.program.value_kinds import Nature

_MOST = 3
_SUBJECT = "what is counted"
_HEADS = frozenset({("h",), ("heads",), ("head",), ("nh",)})
_LENGTHS = frozenset({"seq", "len", "length", "max", "positions", "tokens", "batch"})
_SUMS = (ast.GeneratorExp, ast.ListComp, ast.AugAssign)


def numbers(setting: Setting, node: ast.Subscript | ast.Call) -> Iterator[Draft]:
    """`p.numel()` for `p.shape[0]`, `p.size(0)` and `len(p)`, where sizes are summed."""
    parent = setting.parent(node)
    is_term = isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Add)
    if not (isinstance(parent, _SUMS) or is_term):
        return
    match node:
        case ast.Subscript(value=ast.Attribute(value=whole, attr="shape"), slice=ast.expr()):
            pass
        case ast.Call(func=ast.Attribute(value=whole, attr="size" | "dim")):
            pass
        case ast.Call(func=ast.Name(id="len"), args=[whole]):
            pass
        case _:
            return
    text = f"{setting.program.outer_text(whole)}.numel()"
    yield put(setting.program, node, text, "counted", CHANGE, _SUBJECT)


def factors(setting: Setting, node: ast.Name) -> Iterator[Draft]:
    """`a * b` for the size `a` in a sum of products."""
    parent = setting.parent(node)
    is_term = isinstance(parent, (ast.BinOp, ast.AugAssign)) and isinstance(parent.op, ast.Add)
    is_read = isinstance(node.ctx, ast.Load)
    if not (is_term and is_read) or setting.scopes.nature(node) is not Nature.SIZE:
        return
    sizes = [one.name for one in setting.seen.variables(node) if one.nature is Nature.SIZE]
    for size in [one for one in sizes if one not in (node.id, _target(parent))][:_MOST]:
        yield wrap(setting.program, node, "", f" * {size}", "counted", CHANGE, _SUBJECT)


def shares(setting: Setting, node: ast.Name) -> Iterator[Draft]:
    """`d // heads` for `d` in a root or handed over, and the root of a width that is."""
    if not isinstance(node.ctx, ast.Load) or setting.scopes.nature(node) is not Nature.SIZE:
        return
    parent = setting.parent(node)
    is_root = callee(parent) == "sqrt"
    if isinstance(parent, ast.BinOp):
        is_root = isinstance(parent.op, ast.Pow) and node is parent.left
    given = argument_of(setting, node)
    is_handed_over = given is not None and setting.signature(given[0]) is not None
    if is_root or is_handed_over:
        sizes = [one.name for one in setting.seen.variables(node) if one.nature is Nature.SIZE]
        heads = [one for one in sizes if one != node.id and words(one)[-1:] in _HEADS]
        for one in heads[:1] if _is_width(node.id) else ():
            subject = f"which size `{node.id}` is"
            yield wrap(setting.program, node, "", f" // {one}", "share", CHANGE, subject)
    if isinstance(parent, ast.Call) and callee(parent) in setting.signatures.functions:
        subject = "a root that is missing"
        yield wrap(setting.program, node, "", " ** 0.5", "root", CHANGE, subject, loose=True)


def _is_width(name: str) -> bool:
    """Whether a size may be meant that heads share, no length and not their number."""
    return words(name)[-1:] not in _HEADS and not _LENGTHS & set(words(name))


def products_apart(setting: Setting, node: ast.BinOp) -> Iterator[Draft]:
    """`3 * a * b + b * b` for `4 * a * b`."""
    match node:
        case ast.BinOp(
            left=ast.BinOp(left=ast.Constant(value=int(count)), op=ast.Mult(), right=one),
            op=ast.Mult(),
            right=other,
        ) if count > 1:
            pass
        case _:
            return
    first, second = setting.program.text(one), setting.program.text(other)
    for size in dict.fromkeys((second, first)):
        text = f"{count - 1} * {first} * {second} + {size} * {size}"
        yield put(setting.program, node, text, "counted", CHANGE, _SUBJECT)


def multiples(setting: Setting, node: ast.Constant) -> Iterator[Draft]:
    """`3 * n` for 3 in a sum of sizes."""
    parent = setting.parent(node)
    is_term = isinstance(parent, (ast.BinOp, ast.AugAssign)) and isinstance(parent.op, ast.Add)
    if not is_term or not isinstance(node.value, int) or node.value < 1:
        return
    sizes = [one.name for one in setting.seen.variables(node) if one.nature is Nature.SIZE]
    for size in [one for one in sizes if one != _target(parent)][:_MOST]:
        yield wrap(setting.program, node, "", f" * {size}", "counted", CHANGE, _SUBJECT)


def _target(node: ast.AST) -> str | None:
    target = getattr(node, "target", None)
    return target.id if isinstance(target, ast.Name) else None


def products(setting: Setting, node: ast.Call) -> Iterator[Draft]:
    """`math.prod(shape)` for `sum(shape)`."""
    if callee(node) != "sum" or len(node.args) != 1 or node.keywords:
        return
    if isinstance(node.args[0], (ast.Name, ast.Attribute)):
        text = f"torch.Size({setting.program.text(node.args[0])}).numel()"
        yield put(setting.program, node, text, "counted", CHANGE, _SUBJECT)


def sizes(setting: Setting, node: ast.Call) -> Iterator[Draft]:
    """`x.shape[-1]` for `len(x)`, `x.dim()` and `x.numel()`."""
    match node:
        case ast.Call(func=ast.Attribute(value=whole, attr="dim" | "numel"), args=[]):
            pass
        case ast.Call(func=ast.Name(id="len"), args=[whole]):
            pass
        case _:
            return
    if isinstance(setting.parent(node), (ast.Assign, ast.BinOp, ast.Call)):
        for axis in (-1, -2):
            text = f"{setting.program.outer_text(whole)}.shape[{axis}]"
            yield put(setting.program, node, text, "counted", CHANGE, _SUBJECT)
