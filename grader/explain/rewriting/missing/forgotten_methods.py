"""Methods and operations that were forgotten, by what a name or a place tells of a value."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from grader.explain.rewriting.edit import CHANGE, SLIP, WRAP, Draft, wrap
from grader.explain.rewriting.program.elsewhere import Variable
from grader.explain.rewriting.program.name_similarity import words
from grader.explain.rewriting.program.setting import Setting, callee
from grader.explain.rewriting.program.value_kinds import Nature

_WIDTHS = frozenset({"d", "dim", "width", "k", "size", "head", "model", "features", "dims"})
_COUNTS = frozenset({"heads", "head", "h", "n", "num", "count", "groups"})
_TURNED = frozenset({"transpose", "swapaxes", "movedim", "moveaxis", "permute", "stack"})
_SCALING = frozenset({"div", "divide", "true_divide", "mul", "multiply", "div_", "mul_"})


def values(setting: Setting, node: ast.expr) -> Iterator[Draft]:
    """Yields a method of a tensor that is stored or returned as it is."""
    if not _is_whole(setting, node) or setting.scopes.nature(node) is not Nature.TENSOR:
        return
    program, parent = setting.program, setting.parent(node)
    subject = "a call that is missing"
    told = _told_by_target(setting, node)
    if told is not None:
        yield wrap(program, node, "", f".{told}()", "method", SLIP, subject)
    if isinstance(node, (ast.Name, ast.BinOp, ast.Call)):
        is_call = isinstance(node, ast.Call)
        for after, cost in ((".exp()", CHANGE), (".sqrt()", WRAP), (".softmax(-1)", WRAP)):
            yield wrap(program, node, "", after, "method", WRAP if is_call else cost, subject)
    if isinstance(parent, ast.Return):
        for name in _tensors(setting, node)[:1]:
            yield wrap(program, node, "", f".to({name}.dtype)", "method", WRAP, subject)
    is_idle = isinstance(node, ast.Name) and isinstance(parent, ast.Assign)
    if callee(node) in _TURNED or is_idle:
        yield wrap(program, node, "", ".flatten(-2)", "method", CHANGE, subject)
    if callee(node) in ("tril", "triu"):
        yield wrap(program, node, "", ".bool()", "method", CHANGE, subject)
    if callee(node) in ("ones", "ones_like", "full", "zeros", "zeros_like"):
        for after in (".tril()", ".triu()", ".triu(1)", '.fill_(float("-inf"))'):
            yield wrap(program, node, "", after, "method", CHANGE, subject)


def shifted(setting: Setting, node: ast.expr) -> Iterator[Draft]:
    """Yields the greatest value subtracted before the exponential is taken."""
    parent = setting.parent(node)
    is_receiver = isinstance(parent, ast.Attribute) and parent.attr == "exp"
    is_given = isinstance(parent, ast.Call) and callee(parent) == "exp" and node in parent.args
    if not (is_receiver or is_given) or not isinstance(node, ast.Name):
        return
    subject = "a term that is missing"
    known = setting.seen.variables(node)
    for axis in (*_axes(known), "-1"):
        after = f" - {node.id}.amax({axis}, keepdim=True)"
        yield wrap(setting.program, node, "", after, "shift", SLIP, subject)
    unread = [one.name for one in known if not one.is_read and one.nature.is_tensor]
    for name in unread[:2]:
        yield wrap(setting.program, node, "", f" - {name}", "shift", SLIP, subject)


def sizes(setting: Setting, node: ast.expr) -> Iterator[Draft]:
    """Yields the root of a size, or the share of one head, where a size is all there is."""
    if setting.scopes.nature(node) is not Nature.SIZE or isinstance(node, ast.Constant):
        return
    parent = setting.parent(node)
    is_divisor = isinstance(parent, ast.BinOp) and isinstance(parent.op, (ast.Div, ast.Mult))
    is_divisor = is_divisor or (isinstance(parent, ast.Call) and callee(parent) in _SCALING)
    if not (_is_whole(setting, node) or is_divisor or isinstance(parent, ast.AugAssign)):
        return
    program = setting.program
    if isinstance(node, (ast.Name, ast.Call, ast.Subscript, ast.Attribute)):
        subject = "a root that is missing"
        yield wrap(program, node, "", " ** 0.5", "root", _cost_of_root(parent), subject)
        if isinstance(parent, (ast.Assign, ast.Return)):
            yield wrap(program, node, "", " ** 2", "share", CHANGE, "a factor that is missing")
    if isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Div) and node is parent.left:
        return
    names = setting.scopes.names(node)
    visible = setting.seen.visible(node)
    own = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
    counts = [
        name
        for name, nature in names.natures.items()
        if nature is Nature.SIZE and (name in visible or name.startswith("self."))
        if name not in own and set(words(name)) & (_COUNTS | _WIDTHS)
    ]
    for name in counts[:4]:
        is_count = bool(set(words(name)) & _COUNTS)
        for before, after, cost in (
            ("", f" // {name}", CHANGE if is_count else WRAP),
            ("", f" * {name}", CHANGE if not is_count else WRAP),
        ):
            yield wrap(program, node, before, after, "share", cost, "a number of one part only")
    named = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    if set(words(named)) & _COUNTS:
        for name in [one for one in counts if not set(words(one)) & _COUNTS][:2]:
            text = f"{name} // "
            yield wrap(program, node, text, "", "share", CHANGE, "a number of one part only")
    for factor in (2, 3):
        if isinstance(parent, ast.AugAssign):
            yield wrap(program, node, f"{factor} * ", "", "factor", WRAP, "a factor")


def _cost_of_root(parent: ast.AST) -> float:
    """Returns the cost of a forgotten root: low for a divisor, high for a width."""
    match parent:
        case ast.Assign(targets=[ast.Name(id=name), *_]) if _WIDTHS & set(words(name)):
            return CHANGE
        case ast.Assign() | ast.AnnAssign() | ast.Return():
            return SLIP + 0.25
        case _:
            return SLIP


def doubled(setting: Setting, node: ast.expr) -> Iterator[Draft]:
    """Yields a factor of two, or its contrary, inside an exponent or a ratio of features."""
    parent = setting.parent(node)
    if not isinstance(parent, (ast.BinOp, ast.UnaryOp)) or isinstance(node, ast.BinOp):
        return
    if isinstance(parent, ast.UnaryOp):
        if not isinstance(parent.op, ast.USub) or not _is_in_ratio(setting, parent):
            return
    elif not (isinstance(parent.op, ast.Div) and node is parent.left):
        return
    if isinstance(node, ast.Constant) or not _is_counting(setting, node):
        return
    subject = "a factor"
    for before, after, cost in (("2 * ", "", SLIP), ("", " / 2", CHANGE), ("-", "", CHANGE)):
        yield wrap(setting.program, node, before, after, "doubled", cost, subject)


def _is_whole(setting: Setting, node: ast.expr) -> bool:
    """Returns whether a node is all that is stored or returned, or an element of it."""
    home = setting.program.home(node)
    parent = home.parent
    if isinstance(parent, ast.IfExp) and home.field in ("body", "orelse"):
        return _is_whole(setting, parent)
    if isinstance(parent, (ast.Assign, ast.Return, ast.AugAssign)):
        return home.field == "value"
    return isinstance(parent, ast.keyword) or (
        isinstance(parent, ast.Call)
        and home.field == "args"
        and (callee(parent)[:1].isupper() or callee(parent) == "register_buffer")
    )


def _told_by_target(setting: Setting, node: ast.expr) -> str | None:
    """Returns the operation that the name of an assignment's target implies, or None.

    Examples of such names are `log_base` and `exp_scores`.
    """
    match setting.parent(node):
        case ast.Assign(targets=[ast.Name(id=name) | ast.Attribute(attr=name)]):
            return next(
                (one for one in words(name) if one in ("log", "exp", "sqrt", "cos", "sin")), None
            )
        case _:
            return None


def _tensors(setting: Setting, node: ast.expr) -> list[str]:
    """Returns the variables that are tensors, of the function around a node."""
    known = setting.seen.variables(node)
    return [one.name for one in known if one.nature is Nature.TENSOR]


def _axes(known: Iterable[Variable]) -> list[str]:
    """Returns the variables that say along which axis something is done."""
    return [one.name for one in known if one.name in ("dim", "axis")]


def _is_in_ratio(setting: Setting, node: ast.expr) -> bool:
    parent = setting.parent(node)
    return isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Div) and node is parent.left


def _is_counting(setting: Setting, node: ast.expr) -> bool:
    """Returns whether an expression may count features, as a tensor or a number over a width."""
    return setting.scopes.nature(node) in (Nature.TENSOR, Nature.SIZE, Nature.NUMBER, Nature.OTHER)
