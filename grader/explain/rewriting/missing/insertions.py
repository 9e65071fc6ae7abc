"""Rewrite rules for what may be missing: a factor, a term, a sign, a mask, a call."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.explain.rewriting.edit import CHANGE, SLIP, WRAP, Draft, put, wrap
from grader.explain.rewriting.program.setting import (
    Setting,
    argument_of,
    callee,
    is_axis,
    is_second_name,
    known,
)
from grader.explain.rewriting.program.value_kinds import Nature

# The text before, the text after, and whether the factor only scales.
_FACTORS = (
    ("2 * ", "", True),
    ("", " / 2", True),
    ("3 * ", "", True),
    ("1 / ", "", False),
    ("1 - ", "", False),
    ("", " ** 0.5", False),
    ("", " ** 2", False),
    ("", " + 1", False),
    ("", " - 1", False),
)
# A negation too many stands there to be seen: a little likelier than one that is missing.
_NEGATED = SLIP + 0.1
_OF_COUNTS = (("", " ** 0.5"), ("3 * ", ""))
_RARELY = (("", " ** 2"), ("1 / ", ""))
_RARE = 2.5
_SELECTING = ("index_select", "gather", "take", "take_along_dim")


def factors(setting: Setting, node: ast.expr) -> Iterator[Draft]:
    """Yields signs, small terms and factors around numbers, and around tensors in arithmetic."""
    if not _is_value(setting, node) or is_axis(setting, node):
        return
    nature, parent = setting.scopes.nature(node), setting.parent(node)
    if nature is Nature.FLAG and isinstance(parent, ast.BinOp):
        yield _around(setting, node, "3 * ", "", "factor", WRAP, "a factor")
    if isinstance(parent, ast.UnaryOp) or not (nature.is_number or nature is Nature.TENSOR):
        return
    scaled = isinstance(parent, ast.BinOp) and isinstance(parent.op, (ast.Mult, ast.Div))
    is_operand = isinstance(parent, ast.BinOp) and not isinstance(parent.op, ast.MatMult)
    if isinstance(parent, ast.BinOp) and not is_operand:
        return
    if nature is Nature.TENSOR and not (is_operand or _in_arithmetic(setting, node)):
        return
    if scaled and isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Div)):
        return
    is_exponent = (
        isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Pow) and node is parent.right
    )
    is_count = nature is Nature.SIZE and not is_operand
    if not (is_count or (scaled and _is_scaled_above(setting, parent))):
        cost = SLIP if is_exponent else CHANGE
        yield _around(setting, node, "-", "", "sign", cost, "a sign")
    subject = "a factor or a term"
    for before, after, multiplies in _FACTORS:
        if not ((multiplies and scaled) or (is_count and (before, after) not in _OF_COUNTS)):
            if nature is Nature.NUMBER and before == "1 / " and not is_operand:
                yield _around(setting, node, before, after, "factor", SLIP + 0.25, subject)
                continue
            likely = before == "1 - " and nature is Nature.NUMBER
            # A rate that is handed over is meant as it is: its user takes the other share.
            likely_cost = CHANGE + 0.35 if isinstance(parent, ast.Call) else CHANGE
            cost = likely_cost if likely else _RARE if (before, after) in _RARELY else WRAP
            yield _around(setting, node, before, after, "factor", cost, subject)
    if is_operand and isinstance(node, ast.Name):
        factor, cost = ("", CHANGE) if _is_doubled(parent) else ("2 * ", WRAP)
        yield put(setting.program, node, f"{factor}({node.id} // 2)", "factor", cost, subject)


def _is_doubled(product: ast.AST) -> bool:
    match product:
        case ast.BinOp(left=ast.Constant(value=2), op=ast.Mult()):
            return True
        case _:
            return False


def _is_scaled_above(setting: Setting, node: ast.AST) -> bool:
    """Returns whether a product is itself a factor, so that its sign is that of the whole."""
    above = setting.parent(node)
    return isinstance(above, ast.BinOp) and isinstance(above.op, (ast.Mult, ast.Div))


def _in_arithmetic(setting: Setting, node: ast.expr) -> bool:
    """Returns whether an expression is a whole operation, or an argument of a function."""
    if isinstance(node, ast.BinOp):
        return not isinstance(node.op, ast.MatMult)
    parent = setting.parent(node)
    if isinstance(parent, (ast.Tuple, ast.List)):
        return isinstance(setting.parent(parent), ast.Call)
    return isinstance(parent, ast.Call) and callee(parent) in ("exp", "sin", "cos", "sqrt", "pow")


def steps(setting: Setting, node: ast.expr) -> Iterator[Draft]:
    """Yields one more or one less of a whole number that bounds or counts."""
    if setting.scopes.nature(node) is not Nature.SIZE or isinstance(node, ast.Constant):
        return
    if is_axis(setting, node):
        return
    given = argument_of(setting, node)
    bounds = given is not None and callee(given[0]) in ("arange", "range", "linspace")
    cost = SLIP if bounds or isinstance(setting.parent(node), ast.Slice) else CHANGE
    for after in (" + 1", " - 1"):
        yield _around(setting, node, "", after, "step", cost, "a number that may be off by one")
    for after in (" // 2", " * 2"):
        yield _around(
            setting, node, "", after, "step", WRAP, "a number that may be too large or small"
        )


def indices(setting: Setting, node: ast.expr) -> Iterator[Draft]:
    """Yields drafts that shift a tensor of indices by one, or double a size in an index."""
    if not isinstance(node, ast.Name):
        return
    given, nature = argument_of(setting, node), setting.scopes.nature(node)
    if given is not None and callee(given[0]) in _SELECTING and nature is Nature.TENSOR:
        for after in (" + 1", " - 1"):
            yield _around(setting, node, "", after, "step", CHANGE, "which entries are taken")
    if nature is Nature.SIZE and _is_in_index(setting, node):
        text = f"2 * {node.id}"
        yield put(setting.program, node, text, "doubled", CHANGE, "an index", "index")


def flips(setting: Setting, node: ast.expr) -> Iterator[Draft]:
    """Yields the other way round, of one of two factors in a sum that are the same."""
    parent = setting.parent(node)
    if not isinstance(node, ast.Name) or setting.scopes.nature(node) is not Nature.TENSOR:
        return
    if not isinstance(parent, ast.BinOp) or not isinstance(parent.op, ast.Mult):
        return
    statement = setting.program.home(node).statement
    same = [one for one in ast.walk(statement) if isinstance(one, ast.Name) and one.id == node.id]
    if len(same) > 1:
        yield _around(setting, node, "", ".flip(-1)", "flip", WRAP, "the order of features")


def _is_in_index(setting: Setting, node: ast.expr) -> bool:
    parent = setting.parent(node)
    if isinstance(parent, ast.BinOp) and isinstance(parent.op, (ast.Add, ast.Sub)):
        node, parent = parent, setting.parent(parent)
    if isinstance(parent, ast.Tuple):
        node, parent = parent, setting.parent(parent)
    return isinstance(parent, ast.Subscript) and node is parent.slice


def negations(setting: Setting, node: ast.expr) -> Iterator[Draft]:
    """Yields a mask negated."""
    if setting.scopes.nature(node) is not Nature.MASK or not _is_value(setting, node):
        return
    parent = setting.parent(node)
    if isinstance(parent, ast.UnaryOp):
        return
    if isinstance(parent, (ast.If, ast.BoolOp, ast.IfExp, ast.Compare)):
        return
    yield _around(setting, node, "~", "", "negation", _NEGATED, "which part of a mask counts")
    after, subject = ".transpose(-2, -1)", "the axes of a mask"
    yield _around(setting, node, "", after, "transposition", WRAP, subject)


def conversions(setting: Setting, node: ast.expr) -> Iterator[Draft]:
    """Yields a tensor cloned or converted; an axis of length 1 more."""
    nature = setting.scopes.nature(node)
    if nature not in (Nature.TENSOR, Nature.MASK):
        return
    parent = setting.parent(node)
    is_stored = isinstance(parent, (ast.Assign, ast.Return))
    is_combined = isinstance(parent, ast.BinOp) and not isinstance(parent.op, ast.MatMult)
    if isinstance(parent, ast.Compare):
        is_combined = not isinstance(parent.ops[0], (ast.Is, ast.IsNot))
    is_passed = isinstance(parent, ast.Call) and node in parent.args
    is_passed = is_passed or isinstance(parent, (ast.Dict, ast.keyword))
    is_passed = is_passed or (isinstance(parent, ast.IfExp) and node is not parent.test)
    if isinstance(node, ast.Name) and (is_combined or is_passed):
        for axis in ("-1", "-2", "-3", "0", "1") if is_passed else ("-1", "-2", "-3"):
            likely = nature is Nature.MASK or is_combined or (axis == "-2" and "pos" in node.id)
            cost = CHANGE if likely else WRAP
            yield _around(setting, node, "", f".unsqueeze({axis})", "unsqueeze", cost, "an axis")
    elif is_stored and isinstance(node, ast.Name):
        cost = CHANGE if is_second_name(setting, node) else WRAP
        for axis in ("-3", "-2", "1", "0", "-1"):
            yield _around(setting, node, "", f".unsqueeze({axis})", "unsqueeze", cost, "an axis")
    if is_stored and callee(node) == "arange":
        for axis in ("-1", "-2"):
            yield _around(setting, node, "", f".unsqueeze({axis})", "unsqueeze", CHANGE, "an axis")
    if isinstance(parent, ast.Return) and isinstance(node, ast.Call):
        yield _around(setting, node, "", ".squeeze(0)", "unsqueeze", CHANGE, "an axis")
    if nature is Nature.MASK and isinstance(node, ast.Name) and (is_stored or is_passed):
        yield _around(setting, node, "", ".bool()", "conversion", WRAP, "the type of a tensor")
    if is_stored and isinstance(node, (ast.Name, ast.Call)):
        yield _around(setting, node, "", ".float()", "conversion", WRAP, "the type of a tensor")
    if is_stored and isinstance(node, ast.Name):
        yield _around(setting, node, "", ".clone()", "copy", WRAP, "a tensor that is written into")


def probabilities(setting: Setting, node: ast.expr) -> Iterator[Draft]:
    """Yields a softmax, or the greatest subtracted, where it was forgotten."""
    parent = setting.parent(node)
    if setting.scopes.nature(node) is not Nature.TENSOR:
        return
    is_bare = isinstance(node, ast.Name) and isinstance(parent, ast.Assign)
    is_factor = isinstance(node, ast.Name) and _is_first_factor(node, parent)
    if is_factor or is_bare or _is_returned(parent):
        yield _around(
            setting, node, "torch.softmax(", ", dim=-1)", "softmax", WRAP, "a call that is missing"
        )


def projections(setting: Setting, node: ast.expr) -> Iterator[Draft]:
    """Yields a weight that the function never uses, and calls that were forgotten."""
    parent = setting.parent(node)
    if not isinstance(node, (ast.Name, ast.Call, ast.BinOp)):
        return
    if setting.scopes.nature(node) is not Nature.TENSOR:
        return
    if not isinstance(parent, (ast.Return, ast.Assign, ast.Call)):
        return
    names = setting.scopes.names(node)
    unused = [name for name in known(setting, node, Nature.WEIGHT) if not names.read.get(name)]
    for weight in unused[:3]:
        for after in (f" @ {weight}.T", f" @ {weight}"):
            yield _around(
                setting, node, "", after, "projection", CHANGE, "a projection that is missing"
            )
    if isinstance(node, ast.Name) or _is_returned(parent):
        yield from _forgotten_calls(setting, node)
        for name, nature in names.natures.items():
            if nature is Nature.FUNCTION and not names.read.get(name):
                yield _around(
                    setting, node, f"{name}(", ")", "call", CHANGE, "a call that is missing"
                )


def _forgotten_calls(setting: Setting, node: ast.expr) -> Iterator[Draft]:
    scope = setting.program.scope(node)
    around = "" if isinstance(scope, ast.Module) else scope.name
    fitting = [
        (f"{prefix}{one.name}(", ", dim=-1)" if one.parameters[1:] == ("dim",) else ")", one)
        for prefix, known in (
            ("", setting.scopes.functions),
            ("self.", setting.scopes.methods(node)),
        )
        for one in known.values()
        if (one.least == 1 or one.parameters[1:] == ("dim",))
        and one.name != around
        and not one.name.startswith(("run_", "__"))
    ]
    parent = setting.parent(node)
    for before, after, one in fitting[:4]:
        if callee(node) != one.name and callee(parent) != one.name:
            yield _around(setting, node, before, after, "call", WRAP, "a call that is missing")


def _around(
    setting: Setting,
    node: ast.expr,
    before: str,
    after: str,
    kind: str,
    cost: float,
    subject: str,
) -> Draft:
    alike = (type(node).__name__, callee(node), setting.program.text(node)[:12])
    loose = before.endswith("(")
    return wrap(setting.program, node, before, after, kind, cost, subject, alike, loose=loose)


def _is_first_factor(node: ast.expr, parent: ast.AST) -> bool:
    return (
        isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.MatMult) and node is parent.left
    )


def _is_returned(parent: ast.AST) -> bool:
    return isinstance(parent, ast.Return)


def _is_value(setting: Setting, node: ast.expr) -> bool:
    """Returns whether an expression is read at a place where an operator may stand before it."""
    if not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
        return False
    parent = setting.parent(node)
    if isinstance(parent, ast.Attribute):
        return False
    if isinstance(parent, ast.Call) and node is parent.func:
        return False
    return not (isinstance(parent, ast.Subscript) and node is parent.value)
