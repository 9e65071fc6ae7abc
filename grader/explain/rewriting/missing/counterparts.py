"""Rewrite rules for masks, scales, rates, signs and the other half of a pair, where they lack."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from grader.explain.rewriting.edit import CHANGE, SLIP, UNLIKELY, WRAP, Draft, put, wrap
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

_PARTS = {"sin": "cos", "cos": "sin", "0::2": "1::2", "1::2": "0::2", "::2": "1::2"}
_MOST_NAMES = 24
_INVERSES = (("1 / ", ""), ("-", ""))


def terms(setting: Setting, node: ast.BinOp) -> Iterator[Draft]:
    """Yields `a * cos - b * sin` for `a * cos`."""
    if not isinstance(node.op, ast.Mult) or setting.scopes.nature(node) is not Nature.TENSOR:
        return
    home = setting.program.home(node)
    if isinstance(home.parent, (ast.BinOp, ast.UnaryOp, ast.Attribute, ast.Subscript)):
        return
    program = setting.program
    text = program.text(node)
    other = counterpart(setting, node, text)
    if other == text or "\n" in text:
        return
    subject = "a term that is missing"
    for before, after in (
        ("", f" - {other}"),
        ("", f" + {other}"),
        (f"{other} - ", ""),
        (f"{other} + ", ""),
    ):
        if before != f"{other} + ":
            yield wrap(program, node, before, after, "term", CHANGE, subject, loose=True)


def counterpart(setting: Setting, node: ast.AST, text: str) -> str:
    """Returns a text in which each name, function and stride gave way to the other of its pair."""
    names = [one.name for one in setting.seen.variables(node)]
    if len(names) > _MOST_NAMES:
        return text
    known_names = setting.scopes.names(node)
    became: dict[str, str] = {}
    for name in names:
        kin = [one for one in names if one != name and known_names.kin(name, one) == 2]
        if len(kin) == 1 and re.search(rf"\b{re.escape(name)}\b", text):
            became[name] = kin[0]
    became |= {one: other for one, other in _PARTS.items() if one in text}
    if not became:
        return text
    longest = sorted(became, key=len, reverse=True)
    pattern = re.compile("|".join(rf"(?<!\w){re.escape(one)}(?!\w)" for one in longest))
    return pattern.sub(lambda found: became[found[0]], text)


def inverses(setting: Setting, node: ast.expr) -> Iterator[Draft]:
    """Yields one divided by a tensor, or its negative, where it is stored or handed on."""
    parent = setting.parent(node)
    if setting.scopes.nature(node) is not Nature.TENSOR or isinstance(parent, ast.BinOp):
        return
    yield from _exponents(setting, node, parent)
    if not isinstance(node, (ast.Name, ast.Call, ast.Subscript, ast.Attribute)):
        return
    is_given = (
        isinstance(parent, ast.Call)
        and node in parent.args
        and (callee(parent) in ("einsum", "where") or setting.signature(parent) is not None)
    )
    is_entry = isinstance(parent, (ast.Tuple, ast.List)) and isinstance(parent.ctx, ast.Load)
    is_value = isinstance(parent, (ast.Assign, ast.Return)) and parent.value is node
    if not (is_given or is_entry or is_value) or callee(node) in ("softmax", "einsum", "matmul"):
        return
    is_number = isinstance(node, ast.Call) and not is_value
    for before, after in _INVERSES:
        cost = CHANGE if before == "-" else WRAP
        if before == "1 / " and is_value and callee(node) in ("pow", "exp", "sqrt"):
            cost = SLIP + 0.25
        if before == "-" or is_number or is_value:
            subject = "a sign" if before == "-" else "an inverse"
            yield wrap(setting.program, node, before, after, "inverse", cost, subject)


def _exponents(setting: Setting, node: ast.expr, parent: ast.AST) -> Iterator[Draft]:
    """Yields the sign of what is exponentiated."""
    match parent:
        case ast.Attribute(attr="exp"):
            cost = SLIP
        case ast.Attribute(attr="mul" | "sin"):
            cost = CHANGE
        case ast.Call(args=[*_, last]) if last is node and callee(parent) in ("exp", "pow"):
            cost = SLIP
        case _:
            return
    yield wrap(setting.program, node, "-", "", "inverse", cost, "a sign")


def counters(setting: Setting, node: ast.expr) -> Iterator[Draft]:
    """Yields one more or half of what counts features or tokens, where it is stored or returned."""
    parent = setting.parent(node)
    if not isinstance(parent, (ast.Assign, ast.Return)) or parent.value is not node:
        return
    if setting.scopes.nature(node) is not Nature.TENSOR:
        return
    if callee(node) == "arange" or isinstance(node, ast.Name):
        for after in (" + 1", " - 1", " // 2", " * 2"):
            subject = "what is counted"
            yield wrap(setting.program, node, "", after, "counter", WRAP, subject)


def logarithms(setting: Setting, node: ast.expr) -> Iterator[Draft]:
    """Yields the logarithm of a number inside what is exponentiated."""
    if setting.scopes.nature(node) is not Nature.NUMBER or isinstance(node, ast.BinOp):
        return
    parent = setting.parent(node)
    if isinstance(parent, ast.UnaryOp):
        parent = setting.parent(parent)
    elif isinstance(node, ast.UnaryOp):
        return
    if isinstance(parent, ast.BinOp) and isinstance(parent.op, (ast.Mult, ast.Div)):
        text = f"torch.log(torch.tensor({setting.program.text(node)}))"
        yield put(setting.program, node, text, "logarithm", WRAP, "a logarithm that is missing")


_KEYS = {"q", "k", "query", "key", "queries", "keys"}
_SCORES = {"scores", "score", "logits", "attn", "att", "masked", "sim", "similarity", "energy"}
_RATES = {"p", "rate", "dropout", "prob", "drop", "probability", "keep", "kept"}
_WIDTHS = {"k", "v", "q", "dk", "dh", "head", "dim", "model", "size", "features"}
_OF_KEYS = {"k", "dk", "dh", "head"}


def scales(setting: Setting, node: ast.expr) -> Iterator[Draft]:
    """Yields a product divided by, or multiplied with, the root of a width."""
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
    """Returns whether the submission's own function makes scores, as they are called, of keys."""
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
    """Yields drafts that divide kept entries by the share kept, or multiply by it."""
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
    """Returns whether a statement gives a variable its own value."""
    match node:
        case ast.Assign(targets=[ast.Name(id=one)], value=ast.Name(id=other)):
            return one == other
        case _:
            return False


def divisors(setting: Setting, node: ast.BinOp | ast.AugAssign) -> Iterator[Draft]:
    """Yields another divisor of a product: the root of its width."""
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


def _after(
    setting: Setting, node: ast.expr, after: str, kind: str, cost: float, subject: str
) -> Draft:
    alike = (type(node).__name__, callee(node), setting.program.text(node)[:12])
    return wrap(setting.program, node, "", after, kind, cost, subject, alike)


_INFINITY = 'float("-inf")'
_CONVERSIONS = {"to", "float", "int", "double", "type_as"}


def missing(setting: Setting, node: ast.expr) -> Iterator[Draft]:
    """Scores masked before they become weights."""
    if not (
        is_product(setting, node) or meets_softmax(setting, node) or _is_to_be_masked(setting, node)
    ):
        return
    subject = "a mask that is missing"
    for mask in known(setting, node, Nature.MASK)[:2]:
        for sign, cost in (("~", CHANGE), ("", WRAP)):
            after = f".masked_fill({sign}{mask}, {_INFINITY})"
            yield wrap(setting.program, node, "", after, "mask", cost, subject)
    scores = node.id if isinstance(node, ast.Name) else first_tensor(setting, node)
    if scores:
        size = f"{scores}.shape[{-1 if isinstance(node, ast.Name) else -2}]"
        triangle = f"torch.ones({size}, {size}, dtype=torch.bool).tril()"
        for sign, cost in (("~", CHANGE), ("", UNLIKELY)):
            after = f".masked_fill({sign}{triangle}, {_INFINITY})"
            yield wrap(setting.program, node, "", after, "mask", cost, subject)


def _is_to_be_masked(setting: Setting, node: ast.expr) -> bool:
    """Returns whether scores are stored as they are under a name that says that they are masked."""
    match setting.parent(node):
        case ast.Assign(targets=[ast.Name(id=name)]) if isinstance(node, ast.Name):
            return "masked" in words(name)
        case _:
            return False


def combined(setting: Setting, node: ast.BinOp | ast.AugAssign | ast.Call) -> Iterator[Draft]:
    """Yields a mask that is added or multiplied, filled in instead."""
    match node:
        case ast.BinOp(left=scores, op=ast.Add() | ast.Mult() | ast.Sub(), right=mask):
            before = ""
        case ast.AugAssign(target=ast.Name() as scores, op=ast.Add() | ast.Mult(), value=mask):
            before = f"{scores.id} = "
        case ast.Call(func=ast.Attribute(value=scores, attr="add" | "mul"), args=[mask]):
            before = ""
        case _:
            return
    bare = _unconverted(mask)
    is_buffer = isinstance(bare, ast.Subscript) and isinstance(bare.value, ast.Attribute)
    is_made = callee(bare) in setting.signatures.mask_makers
    if setting.scopes.nature(bare) is not Nature.MASK and not is_buffer and not is_made:
        return
    if isinstance(bare, ast.Constant):
        return
    program = setting.program
    text = f"{before}{program.outer_text(scores)}"
    if not isinstance(scores, (ast.Name, ast.Call)):
        text = f"{before}({program.text(scores)})"
    for compared in ("== 0", "!= 0"):
        filled = f"{text}.masked_fill({program.outer_text(bare)} {compared}, {_INFINITY})"
        yield put(program, node, filled, "mask", CHANGE, "how a mask is applied")


def triangles(setting: Setting, node: ast.expr) -> Iterator[Draft]:
    """Yields a square of ones of which only a triangle was meant."""
    if callee(node) in ("tril", "triu"):
        return
    parent = setting.parent(node)
    if callee(node) == "ones" and isinstance(parent, ast.Compare):
        subject = "which part of a mask counts"
        yield wrap(setting.program, node, "", ".tril()", "triangle", CHANGE, subject)
        return
    if setting.scopes.nature(node) is not Nature.MASK:
        return
    if isinstance(node, (ast.Call, ast.Name)) and isinstance(
        parent, (ast.Call, ast.Assign, ast.Return)
    ):
        for after in (".tril()", ".triu()"):
            subject = "which part of a mask counts"
            yield wrap(setting.program, node, "", after, "triangle", WRAP, subject)


def compared(setting: Setting, node: ast.BinOp) -> Iterator[Draft]:
    """Yields a mask of truth values for one of numbers: `x == 0` for `1 - x`."""
    match node:
        case ast.BinOp(left=ast.Constant(value=1), op=ast.Sub(), right=value):
            pass
        case _:
            return
    parent = setting.parent(node)
    if isinstance(parent, (ast.Assign, ast.Return)) and setting.scopes.nature(value).is_tensor:
        text = f"{setting.program.outer_text(value)} == 0"
        subject = "the type of a mask"
        yield put(setting.program, node, text, "comparison", CHANGE, subject)


def _unconverted(node: ast.expr) -> ast.expr:
    match node:
        case ast.Call(func=ast.Attribute(value=value, attr=name)) if name in _CONVERSIONS:
            return value
        case _:
            return node


def shared(setting: Setting, node: ast.Call) -> Iterator[Draft]:
    """Yields `torch.rand_like(x)` for random numbers of a part of a tensor's shape."""
    if callee(node) not in ("rand", "randn", "bernoulli") or not node.args:
        return
    tensors = [one.name for one in setting.seen.variables(node) if one.nature is Nature.TENSOR]
    for tensor in tensors[:1]:
        subject = "how many random numbers there are"
        yield put(setting.program, node, f"torch.rand_like({tensor})", "chance", SLIP, subject)
