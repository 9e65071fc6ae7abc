"""What was left unfinished: random numbers without a rate, weights without values."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.explain.rewriting.draft import CHANGE, SLIP, Draft, put, wrap
from grader.explain.rewriting.program.name_similarity import words
from grader.explain.rewriting.program.setting import Setting, callee, known
from grader.explain.rewriting.program.value_kinds import Nature

_RESULTS = (ast.Name, ast.Call)
_WEIGHTS = frozenset({"softmax", "weights", "attn", "attention", "probs", "probabilities", "w"})
_KEPT = frozenset({"mask", "keep", "kept", "survive", "survives", "drop", "noise"})
_VALUES = frozenset({"v", "value", "values"})


def chances(setting: Setting, node: ast.expr) -> Iterator[Draft]:
    """Random numbers compared with a rate."""
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
    """`torch.rand_like(x)` for random numbers of a part of a tensor's shape."""
    if callee(node) not in ("rand", "randn", "bernoulli") or not node.args:
        return
    tensors = [one.name for one in setting.seen.variables(node) if one.nature is Nature.TENSOR]
    for tensor in tensors[:1]:
        subject = "how many random numbers there are"
        yield put(setting.program, node, f"torch.rand_like({tensor})", "chance", SLIP, subject)


def drawn(setting: Setting, node: ast.Call) -> Iterator[Draft]:
    """`torch.bernoulli(torch.full_like(x, p))` for the rates alone."""
    if callee(node) not in ("full", "full_like") or callee(setting.parent(node)) == "bernoulli":
        return
    if any(setting.scopes.nature(one) is Nature.NUMBER for one in node.args[1:]):
        before, subject = "torch.bernoulli(", "random numbers that are missing"
        yield wrap(setting.program, node, before, ")", "chance", CHANGE, subject, loose=True)


def kept(setting: Setting, node: ast.Name) -> Iterator[Draft]:
    """`x * keep` for `keep`, of the function's first tensor."""
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
    """The product of weights that are returned with values, or with the input."""
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
