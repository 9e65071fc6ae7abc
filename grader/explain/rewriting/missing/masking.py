"""Masks that are missing or wrong, and what is left unfinished."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.explain.rewriting.edit import CHANGE, SLIP, UNLIKELY, WRAP, Draft, put, wrap
from grader.explain.rewriting.program.name_similarity import words
from grader.explain.rewriting.program.setting import (
    Setting,
    callee,
    first_tensor,
    is_product,
    known,
    meets_softmax,
)
from grader.explain.rewriting.program.value_kinds import Nature, nature_of_name

_INFINITY = 'float("-inf")'
# An annotation with None tells of a default that is.
_SAID_TO_BE_NONE = 0.7
_MOST_TENSORS = 2
# An entry that is hidden by less than this is seen all the same.
_LOW = 1e4
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


def squares(setting: Setting, node: ast.expr) -> Iterator[Draft]:
    """Yields a triangle for what is true on its diagonal only."""
    if callee(node) == "eye":
        subject = "which part of a mask counts"
        before, after = "torch.ones_like(", ").tril()"
        yield wrap(setting.program, node, before, after, "triangle", WRAP, subject, loose=True)


def instead_of_none(setting: Setting, node: ast.Constant) -> Iterator[Draft]:
    """Yields a causal mask where None stands for one."""
    if node.value is not None or not _is_for_a_mask(setting, node):
        return
    subject = "a mask that is missing"
    for mask in known(setting, node, Nature.MASK)[:2]:
        yield put(setting.program, node, mask, "mask", CHANGE, subject)
    for tensor in known(setting, node, Nature.TENSOR)[:_MOST_TENSORS]:
        size = f"{tensor}.shape[-2]"
        text = f"torch.ones({size}, {size}, dtype=torch.bool).tril()"
        for sign, cost in (("", WRAP), ("~", UNLIKELY)):
            yield put(setting.program, node, f"{sign}{text}", "mask", cost, subject)
        for flag in known(setting, node, Nature.FLAG)[:1]:
            chosen = f"{text} if {flag} else None"
            yield put(setting.program, node, chosen, "mask", CHANGE, subject)


def none_by_default(setting: Setting, node: ast.Constant) -> Iterator[Draft]:
    """Yields `scale: float | None = None` for `scale: float | None = 1.0`."""
    given = setting.parent(node)
    if not isinstance(given, ast.arguments) or node.value is None:
        return
    positional = [*given.posonlyargs, *given.args]
    late = positional[len(positional) - len(given.defaults) :]
    pairs = [
        *zip(late, given.defaults, strict=True),
        *zip(given.kwonlyargs, given.kw_defaults, strict=True),
    ]
    for parameter, default in pairs:
        told = "" if parameter.annotation is None else ast.unparse(parameter.annotation)
        if default is node and ("None" in told or "Optional" in told):
            subject = f"what `{parameter.arg}` is when it is left out"
            yield put(setting.program, node, "None", "constant", _SAID_TO_BE_NONE, subject)


def none_instead(setting: Setting, node: ast.Call) -> Iterator[Draft]:
    """Yields None in the place of a mask that is handed over."""
    given = (*node.args, *(keyword.value for keyword in node.keywords))
    parts = [part for one in given for part in (one.elts if isinstance(one, ast.Tuple) else (one,))]
    for one in parts:
        is_made = callee(one) in setting.signatures.mask_makers
        if is_made or (isinstance(one, (ast.Name, ast.Call)) and _is_for_a_mask(setting, one)):
            subject = "a mask that may not belong there"
            yield put(setting.program, one, "None", "mask-dropped", CHANGE, subject)


def weak(setting: Setting, node: ast.Constant | ast.UnaryOp) -> Iterator[Draft]:
    """Yields a number as low as what is masked needs, where a mask is multiplied by a small one."""
    parent = setting.parent(node)
    if not isinstance(parent, ast.BinOp) or not isinstance(parent.op, ast.Mult):
        return
    value = node.operand if isinstance(node, ast.UnaryOp) else node
    if not isinstance(value, ast.Constant) or not isinstance(value.value, int | float):
        return
    other = parent.left if node is parent.right else parent.right
    names = [getattr(one, "attr", getattr(one, "id", "")) for one in ast.walk(other)]
    if abs(value.value) < _LOW and any(nature_of_name(one) is Nature.MASK for one in names if one):
        subject = "how low it is what a mask hides"
        yield put(setting.program, node, "-1e9", "fill", CHANGE, subject)


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


def _is_for_a_mask(setting: Setting, node: ast.expr) -> bool:
    match setting.parent(node):
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.keyword(arg=str(name)):
            return nature_of_name(name) is Nature.MASK
        case ast.Call(args=args) as call if node in args:
            signature = setting.signature(call)
            given = [] if signature is None else signature.positional[args.index(node) :]
            return bool(given) and nature_of_name(given[0].name) is Nature.MASK
        case _:
            return False


def _unconverted(node: ast.expr) -> ast.expr:
    match node:
        case ast.Call(func=ast.Attribute(value=value, attr=name)) if name in _CONVERSIONS:
            return value
        case _:
            return node


_RESULTS = (ast.Name, ast.Call)
_WEIGHTS = frozenset({"softmax", "weights", "attn", "attention", "probs", "probabilities", "w"})
_KEPT = frozenset({"mask", "keep", "kept", "survive", "survives", "drop", "noise"})
_VALUES = frozenset({"v", "value", "values"})


def chances(setting: Setting, node: ast.expr) -> Iterator[Draft]:
    """Yields random numbers compared with a rate."""
    is_compared = isinstance(setting.parent(node), ast.Compare)
    if is_compared and callee(node) in ("empty", "empty_like", "ones_like", "zeros_like"):
        subject = "random numbers that are missing"
        yield wrap(setting.program, node, "torch.rand_like(", ")", "chance", CHANGE, subject)
    if callee(node) not in ("rand", "rand_like") or is_compared:
        return
    for rate in known(setting, node, Nature.NUMBER)[:1]:
        for symbol in (">", "<"):
            before, after = "(", f" {symbol} {rate})"
            subject = "a comparison that is missing"
            yield wrap(setting.program, node, before, after, "chance", CHANGE, subject, loose=True)


def shared(setting: Setting, node: ast.Call) -> Iterator[Draft]:
    """Yields `torch.rand_like(x)` for random numbers of a part of a tensor's shape."""
    if callee(node) not in ("rand", "randn", "bernoulli") or not node.args:
        return
    tensors = [one.name for one in setting.seen.variables(node) if one.nature is Nature.TENSOR]
    for tensor in tensors[:1]:
        subject = "how many random numbers there are"
        yield put(setting.program, node, f"torch.rand_like({tensor})", "chance", SLIP, subject)


def drawn(setting: Setting, node: ast.Call) -> Iterator[Draft]:
    """Yields `torch.bernoulli(torch.full_like(x, p))` for the rates alone."""
    if callee(node) not in ("full", "full_like") or callee(setting.parent(node)) == "bernoulli":
        return
    if any(setting.scopes.nature(one) is Nature.NUMBER for one in node.args[1:]):
        before, subject = "torch.bernoulli(", "random numbers that are missing"
        yield wrap(setting.program, node, before, ")", "chance", CHANGE, subject, loose=True)


def kept(setting: Setting, node: ast.Name) -> Iterator[Draft]:
    """Yields `x * keep` for `keep`, of the function's first tensor."""
    around: ast.AST = node
    while isinstance(around, (ast.Name, ast.BinOp, ast.Attribute, ast.Call)):
        around = setting.parent(around)
    if not isinstance(around, (ast.Return, ast.Assign)) or not isinstance(node.ctx, ast.Load):
        return
    if not _KEPT & set(words(node.id)):
        return
    tensors = [one for one in setting.seen.variables(node) if one.nature is Nature.TENSOR]
    looked_at = [one.value for one in ast.walk(around) if isinstance(one, ast.Attribute)]
    named = {
        one.id for one in ast.walk(around) if isinstance(one, ast.Name) and one not in looked_at
    }
    others = [one.name for one in tensors if one.name != node.id]
    if others and not named & set(others):
        before, subject = f"{others[0]} * ", "a factor that is missing"
        yield wrap(setting.program, node, before, "", "factor", CHANGE, subject)


def values(setting: Setting, node: ast.expr) -> Iterator[Draft]:
    """Yields the product of weights that are returned with values, or with the input."""
    if not isinstance(setting.parent(node), ast.Return) or not isinstance(node, _RESULTS):
        return
    if setting.scopes.nature(node) is not Nature.TENSOR:
        return
    named = set(words(callee(node) or getattr(node, "id", "")))
    if not named & _WEIGHTS:
        return
    tensors = [one.name for one in setting.seen.variables(node) if one.nature is Nature.TENSOR]
    likely = [one for one in tensors if _VALUES & set(words(one))]
    for name in (likely or tensors[:1])[:2]:
        subject = "a factor that is missing"
        yield wrap(setting.program, node, "", f" @ {name}", "factor", CHANGE, subject)
