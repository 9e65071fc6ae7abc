"""Scales: divisors that are missing or wrong, and what makes weights of scores."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.explain.rewriting.draft import CHANGE, SLIP, WRAP, Draft, put, wrap
from grader.explain.rewriting.program.name_similarity import words
from grader.explain.rewriting.program.setting import (
    Setting,
    callee,
    first_tensor,
    is_product,
    known,
    last_tensor,
    meets_softmax,
)
from grader.explain.rewriting.program.value_kinds import Nature

_KEYS = {"q", "k", "query", "key", "queries", "keys"}
_SCORES = {"scores", "score", "logits", "attn", "att", "masked", "sim", "similarity", "energy"}
_RATES = {"p", "rate", "dropout", "prob", "drop", "probability", "keep", "kept"}
_WIDTHS = {"k", "v", "q", "dk", "dh", "head", "dim", "model", "size", "features"}
_OF_KEYS = {"k", "dk", "dh", "head"}


def scales(setting: Setting, node: ast.expr) -> Iterator[Draft]:
    """A product divided by, or multiplied with, the root of a width."""
    is_made = is_product(setting, node) or _is_made_of_keys(setting, node)
    if not is_made and not _is_named_product(setting, node):
        return
    widths = [name for name in known(setting, node, Nature.SIZE) if set(words(name)) & _WIDTHS]
    around = first_tensor(setting, node), last_tensor(setting, node)
    # The last one may be turned already, and is as wide as there are keys then.
    own = [f"{one}.shape[-1]" for one in dict.fromkeys(reversed(around)) if one]
    if isinstance(node, ast.Name):
        tensors = known(setting, node, Nature.TENSOR) + known(setting, node, Nature.WEIGHT)
        keys = [one for one in tensors if _KEYS & set(words(one))]
        own = [f"{one}.shape[-1]" for one in keys[:1]] or own
    for place, width in enumerate([*own, *widths[:4]]):
        cost = SLIP if place < len(own) or _OF_KEYS & set(words(width)) else CHANGE
        if cost == SLIP and isinstance(node, ast.Name):  # a product has its scale where it is made
            cost += 0.25
        root = f"{width} ** 0.5"
        yield _after(setting, node, f" / {root}", "scale", cost, "a factor that is missing")
        yield _after(setting, node, f" * {root}", "scale", WRAP, "a factor that is missing")
        yield _after(setting, node, f" / {width}", "scale", WRAP, "a factor that is missing")


def _is_made_of_keys(setting: Setting, node: ast.expr) -> bool:
    """Whether the submission's own function makes scores, as they are called, of keys."""
    match setting.parent(node), node:
        case ast.Assign(targets=[ast.Name(id=name)]), ast.Call(args=[_, ast.Name(id=last)]):
            return bool(_SCORES & set(words(name)) and _KEYS & set(words(last)))
        case _:
            return False


def _is_named_product(setting: Setting, node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Name)
        and (meets_softmax(setting, node) or bool(_SCORES & set(words(node.id))))
        and isinstance(node.ctx, ast.Load)
        and not isinstance(setting.parent(node), ast.Attribute)
    )


def rates(setting: Setting, node: ast.expr) -> Iterator[Draft]:
    """What is kept, divided by the share that is kept."""
    match node:
        case (
            ast.BinOp(op=ast.Mult())
            | ast.Name()
            | ast.Call(
                func=ast.Attribute(attr="masked_fill" | "where" | "mul" | "multiply" | "mul_")
            )
        ):
            pass
        case _:
            return
    parent = setting.parent(node)
    if not isinstance(parent, (ast.Assign, ast.Return, ast.Lambda, ast.IfExp)):
        return
    if isinstance(node, ast.Name) and not (isinstance(parent, ast.Return) or _is_idle(parent)):
        return
    if setting.scopes.nature(node) is not Nature.TENSOR:
        return
    rates = known(setting, node, Nature.NUMBER)
    if isinstance(node, ast.Name):
        rates = [one for one in rates if _RATES & set(words(one))]
    for rate in rates[:2]:
        for after in (f" / (1 - {rate})", f" / {rate}", f" * {rate}", f" * (1 - {rate})"):
            cost = CHANGE if after.startswith(" / (") else WRAP
            yield _after(setting, node, after, "scale", cost, "a factor that is missing")


def _is_idle(node: ast.AST) -> bool:
    """Whether a statement gives a variable its own value."""
    match node:
        case ast.Assign(targets=[ast.Name(id=one)], value=ast.Name(id=other)):
            return one == other
        case _:
            return False


def divisors(setting: Setting, node: ast.BinOp | ast.AugAssign) -> Iterator[Draft]:
    """Another divisor of a product: the root of its width."""
    left, right = (
        (node.left, node.right) if isinstance(node, ast.BinOp) else (node.target, node.value)
    )
    if not isinstance(node.op, (ast.Div, ast.Mult)) or setting.scopes.nature(right).is_tensor:
        return
    first = first_tensor(setting, left)
    if setting.scopes.nature(left) is Nature.TENSOR and first is not None:
        tensors = known(setting, left, Nature.TENSOR)
        keys = [one for one in tensors if _KEYS & set(words(one))][:1]
        for name in dict.fromkeys((first, *keys, *tensors[-2:])):
            text = f"{name}.shape[-1] ** {'' if isinstance(node.op, ast.Div) else '-'}0.5"
            yield put(setting.program, right, text, "scale", WRAP, "a factor")


def shares(setting: Setting, node: ast.BinOp) -> Iterator[Draft]:
    """A softmax for numbers that are only divided by their sum."""
    program = setting.program
    match node:
        case ast.BinOp(
            left=scores, op=ast.Div(), right=ast.Call(func=ast.Attribute(attr="sum") as total)
        ):
            own = program.text(scores)
        case _:
            return
    if program.text(total.value) != own or not isinstance(node.right, ast.Call):
        return
    axes = [*node.right.args, *(one.value for one in node.right.keywords if one.arg == "dim")]
    for axis in axes[:1]:
        text = f"torch.softmax({own}, dim={program.text(axis)})"
        yield put(program, node, text, "softmax", CHANGE, "how weights come from scores")


def exponents(setting: Setting, node: ast.BinOp) -> Iterator[Draft]:
    """`base ** (2 * i / width)` for `base ** (2 * i)`."""
    match node:
        case ast.BinOp(
            op=ast.Pow(),
            right=ast.BinOp(op=ast.Mult()) | ast.Name() | ast.Call() | ast.UnaryOp() as power,
        ) if not isinstance(getattr(power, "operand", None), (ast.Constant, ast.BinOp)):
            pass
        case _:
            return
    for width in known(setting, node, Nature.SIZE)[:4]:
        if width not in setting.program.text(power):
            subject = "a division that is missing"
            yield wrap(setting.program, power, "(", f" / {width})", "ratio", CHANGE, subject)


def ratios(setting: Setting, node: ast.Call | ast.UnaryOp) -> Iterator[Draft]:
    """A logarithm divided by a width, where it multiplies what counts features."""
    parent = setting.parent(node)
    value = node.operand if isinstance(node, ast.UnaryOp) else node
    if callee(value) != "log" or not isinstance(parent, ast.BinOp):
        return
    if isinstance(parent.op, ast.Mult):
        for width in known(setting, node, Nature.SIZE)[:3]:
            subject = "a division that is missing"
            yield wrap(setting.program, node, "", f" / {width}", "ratio", CHANGE, subject)


def bases(setting: Setting, node: ast.Call) -> Iterator[Draft]:
    """A power of a number that nothing reads, where it is one of e: `theta ** x`."""
    if callee(node) != "exp" or len(node.args) != 1:
        return
    names = setting.scopes.names(node)
    for base in known(setting, node, Nature.NUMBER):
        if not names.read.get(base):
            text = f"{base} ** ({setting.program.text(node.args[0])})"
            yield put(setting.program, node, text, "base", SLIP, "the base of a power")


def shifts(setting: Setting, node: ast.Name) -> Iterator[Draft]:
    """The greatest subtracted from what is exponentiated."""
    parent = setting.parent(node)
    if not isinstance(node.ctx, ast.Load):
        return
    axes = [n for n in known(setting, node, Nature.SIZE) if n.endswith(("dim", "axis"))][:1]
    for axis in ("-1", *axes):
        text = f"{node.id} - {node.id}.amax({axis}, keepdim=True)"
        if isinstance(parent, ast.Attribute) and parent.attr == "exp":
            text = f"({text})"
        elif callee(parent) != "exp" and not _is_exponentiated(setting, parent):
            return
        subject = "a term that is missing"
        yield put(setting.program, node, text, "shift", SLIP, subject, node.id)


def _is_exponentiated(setting: Setting, node: ast.AST) -> bool:
    """Whether a statement gives a second name to what an exponential is taken of."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Name()):
            source = setting.program.source
            return f"exp({name}" in source or f"{name}.exp(" in source
        case _:
            return False


def _after(
    setting: Setting, node: ast.expr, after: str, kind: str, cost: float, subject: str
) -> Draft:
    alike = (type(node).__name__, callee(node), setting.program.text(node)[:12])
    return wrap(setting.program, node, "", after, kind, cost, subject, alike)
