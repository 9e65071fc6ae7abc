"""The other of two: a term beside a term, a sign, an inverse, the share of a sum."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator

from grader.explain.rewriting.draft import CHANGE, SLIP, WRAP, Draft, put, wrap
from grader.explain.rewriting.program.setting import Setting, callee, known
from grader.explain.rewriting.program.value_kinds import Nature

_PARTS = {"sin": "cos", "cos": "sin", "0::2": "1::2", "1::2": "0::2", "::2": "1::2"}
# A mask that comes from outside is what its giver means; who negates it makes up for something.
_FROM_OUTSIDE = 2.5
_MOST_NAMES = 24
_MOST_SIZES = 3
_INVERSES = (("1 / ", ""), ("-", ""))


def terms(setting: Setting, node: ast.BinOp) -> Iterator[Draft]:
    """`a * cos - b * sin` for `a * cos`."""
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


def factors(setting: Setting, node: ast.Name) -> Iterator[Draft]:
    """`cos * odd + sin * even` for `odd + sin * even`."""
    parent = setting.parent(node)
    if not (isinstance(parent, ast.BinOp) and isinstance(parent.op, (ast.Add, ast.Sub))):
        return
    other = parent.right if node is parent.left else parent.left
    if not (isinstance(other, ast.BinOp) and isinstance(other.op, ast.Mult)):
        return
    subject = "a factor that is missing"
    for factor in (other.left, other.right):
        text = setting.program.text(factor)
        new = counterpart(setting, node, text)
        if isinstance(factor, (ast.Name, ast.Call, ast.Subscript)) and new not in (text, node.id):
            yield wrap(setting.program, node, "", f" * {new}", "factor", SLIP, subject)


def counterpart(setting: Setting, node: ast.AST, text: str) -> str:
    """A text in which each name, function and stride gave way to the other of its pair."""
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


def negations(setting: Setting, node: ast.Name) -> Iterator[Draft]:
    """`None if mask is None else ~mask` for a mask that is handed on."""
    parent = setting.parent(node)
    is_given = isinstance(parent, ast.Call) and node in parent.args
    if not (is_given or isinstance(parent, ast.keyword)):
        return
    if setting.scopes.nature(node) is Nature.MASK:
        text = f"None if {node.id} is None else ~{node.id}"
        subject = "which part of a mask counts"
        yield put(setting.program, node, text, "negation", _FROM_OUTSIDE, subject)


def inverses(setting: Setting, node: ast.expr) -> Iterator[Draft]:
    """One divided by a tensor, or its negative, where it is stored or handed on."""
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
    """The sign of what is exponentiated."""
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


def normalised(setting: Setting, node: ast.expr) -> Iterator[Draft]:
    """Numbers divided by their sum, where they are returned."""
    if not isinstance(setting.parent(node), ast.Return):
        return
    if not isinstance(node, (ast.Name, ast.Attribute)):
        return
    if setting.scopes.nature(node) is not Nature.TENSOR:
        return
    names = known(setting, node, Nature.SIZE)
    axes = [name for name in names if name.removeprefix("self.") in ("dim", "axis")]
    text = setting.program.text(node)
    for axis in (*axes, "-1"):
        after = f" / {text}.sum({axis}, keepdim=True)"
        yield wrap(setting.program, node, "", after, "share", CHANGE, "a division that is missing")


def counters(setting: Setting, node: ast.expr) -> Iterator[Draft]:
    """One more or half of what counts features or tokens, where it is stored or returned."""
    parent = setting.parent(node)
    if not isinstance(parent, (ast.Assign, ast.Return)) or parent.value is not node:
        return
    if setting.scopes.nature(node) is not Nature.TENSOR:
        return
    if callee(node) == "arange" or isinstance(node, ast.Name):
        for after in (" + 1", " - 1", " // 2", " * 2"):
            subject = "what is counted"
            yield wrap(setting.program, node, "", after, "counter", WRAP, subject)


def sums(setting: Setting, node: ast.expr) -> Iterator[Draft]:
    """A term more of a count: another size, or two of them multiplied."""
    parent = setting.parent(node)
    if not isinstance(parent, (ast.Assign, ast.Return, ast.AugAssign)) or parent.value is not node:
        return
    if setting.scopes.nature(node) is not Nature.SIZE or isinstance(node, ast.Constant):
        return
    sizes = [one.name for one in setting.seen.variables(node) if one.nature is Nature.SIZE]
    for one, other in itertools.combinations_with_replacement(sizes[:_MOST_SIZES], 2):
        subject = "a term that is missing"
        after = f" + {one} * {other}"
        yield wrap(setting.program, node, "", after, "term", WRAP, subject)


def logarithms(setting: Setting, node: ast.expr) -> Iterator[Draft]:
    """The logarithm of a number inside what is exponentiated."""
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
