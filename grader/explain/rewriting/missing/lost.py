"""Values that get lost: sums that start anew in a loop, overwritten names."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from grader.explain.rewriting.edit import CHANGE, SLIP, WRAP, Draft, Replacement, put, wrap
from grader.explain.rewriting.program.name_similarity import kin_of, kinship
from grader.explain.rewriting.program.setting import Setting, integer, known
from grader.explain.rewriting.program.value_kinds import Nature

_MOST = 3
_ENTRIES = {"0]": "1]", "1]": "0]"}
_PARTS = {"sin": "cos", "cos": "sin", "0::2": "1::2", "1::2": "0::2"}


def sums(setting: Setting, node: ast.Assign) -> Iterator[Draft]:
    """Yields `x = x + a` for `x = a` in a loop before which x was set."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            pass
        case _:
            return
    if not _is_in_loop(setting, node) or isinstance(value, ast.Constant):
        return
    first = setting.scopes.names(node).first.get(name, node.lineno)
    if first >= node.lineno:
        return
    program = setting.program
    start = program.outer_span(value).start
    reads = any(isinstance(one, ast.Name) and one.id == name for one in ast.walk(value))
    if not reads:
        for operator, cost in (("+", SLIP), ("*", WRAP)):
            piece = Replacement(start, start, f"{name} {operator} ")
            subject = f"how `{name}` goes on in a loop"
            yield Draft("sum", cost, subject, node, (piece,), program.span(node).start)


def renamed(setting: Setting, node: ast.Assign) -> Iterator[Draft]:
    """Yields another name of a kin throughout a statement: `k = turn(k)` for `v = turn(v)`."""
    program = setting.program
    targets = {
        one.id for target in node.targets for one in ast.walk(target) if isinstance(one, ast.Name)
    }
    text = program.text(node)
    span = program.span(node)
    if "\n" in text:
        return
    names = setting.scopes.names(node)
    for name in sorted(targets):
        uses = len(re.findall(rf"\b{name}\b", text))
        others = [
            one
            for one in names.natures
            if kinship(name, one) == 2 and one != name and one not in targets
        ]
        for other in others[:_MOST] if uses > 1 else ():
            new = re.sub(rf"(?<!\.)\b{name}\b", other, text)
            piece = Replacement(span.start, span.end, new)
            subject = f"where `{name}` is used"
            yield Draft("name", CHANGE, subject, node, (piece,), span.start)


def attributes(setting: Setting, node: ast.Assign) -> Iterator[Draft]:
    """Yields `self.v = ...` for the second `self.k = ...` of a function that sets no `self.v`."""
    scope = setting.program.scope(node)
    match node.targets:
        case [ast.Attribute(value=ast.Name(id=holder), attr=attr) as target]:
            pass
        case _:
            return
    if isinstance(scope, (ast.Module, ast.ClassDef)):
        return
    stored = [
        one.attr
        for one in ast.walk(scope)
        if isinstance(one, ast.Attribute)
        and isinstance(one.ctx, ast.Store)
        and isinstance(one.value, ast.Name)
        and one.value.id == holder
    ]
    read = _read_of(setting.parent(scope), holder) if stored.count(attr) > 1 else []
    others = [
        one
        for one in dict.fromkeys((*setting.signatures.attributes(attr), *read))
        if setting.seen.uses(one)
    ]
    others = [one for one in dict.fromkeys((*others, *kin_of(attr))) if one not in stored]
    others.sort(key=lambda one: -kinship(attr, one))
    end = setting.program.span(target).end
    for other in others[:_MOST] if stored.count(attr) > 1 else ():
        piece = Replacement(end - len(attr), end, other)
        subject = f"where `{holder}.{attr}` is set"
        yield Draft("name", SLIP, subject, node, (piece,), end - len(attr))


def _read_of(around: ast.AST, holder: str) -> list[str]:
    """Returns the attributes that code reads from an object and never sets."""
    found: dict[type, list[str]] = {ast.Load: [], ast.Store: []}
    for one in ast.walk(around):
        match one:
            case ast.Attribute(value=ast.Name(id=name), attr=attr, ctx=context) if name == holder:
                found.setdefault(type(context), []).append(attr)
            case ast.FunctionDef(name=name):
                found[ast.Store].append(name)
            case _:
                pass
    return [one for one in found[ast.Load] if one not in found[ast.Store]]


def counterparts(setting: Setting, node: ast.Assign) -> Iterator[Draft]:
    """Yields a draft that repeats an assignment to one part for the other part.

    For example, `t[1::2] = cos` follows `t[0::2] = sin`. The repeated assignment replaces names,
    functions and strides by their kin, unread names first.
    """
    if not isinstance(node.targets[0], ast.Subscript):
        return
    program = setting.program
    text, span = program.text(node), program.span(node)
    known = {one.name: one.is_read for one in setting.seen.variables(node)}
    became: dict[str, str] = {}
    for name in known:
        kin = [other for other in known if other != name and kinship(name, other) == 2]
        kin.sort(key=lambda other: known[other])
        if kin and re.search(rf"\b{name}\b", text):
            became[name] = kin[0]
    became |= _constants(setting, text)
    became |= {one: other for one, other in _PARTS.items() if re.search(rf"\b{one}\b", text)}
    index = node.targets[0].slice
    last = index.elts[-1] if isinstance(index, ast.Tuple) and index.elts else index
    entry = f"{program.text(last)}]"
    if entry in _ENTRIES:
        became[entry] = _ENTRIES[entry]
    if "\n" in text or not became:
        return
    pattern = re.compile("|".join(rf"(?<!\w){re.escape(one)}(?!\w)" for one in became))
    other = pattern.sub(lambda found: became[found[0]], text)
    piece = Replacement(span.end, span.end, f"; {other}")
    subject = "what is written into one part alone"
    yield Draft("repeated", CHANGE, subject, node, (piece,), span.start)


def _constants(setting: Setting, text: str) -> dict[str, str]:
    """Returns the other of two constants of the file that are of a kin."""
    names = [
        target.id
        for one in setting.program.tree.body
        if isinstance(one, ast.Assign)
        for target in one.targets
        if isinstance(target, ast.Name)
    ]
    return {
        one: other
        for one in names
        for other in names
        if one != other and kinship(one, other) == 2 and re.search(rf"\b{one}\b", text)
    }


def _is_in_loop(setting: Setting, node: ast.AST) -> bool:
    scope = setting.program.scope(node)
    while node is not scope and not isinstance(node, ast.Module):
        if isinstance(node, (ast.For, ast.While)):
            return True
        node = setting.parent(node)
    return False


_SUBJECT = "what changes from turn to turn of a loop"


def starts(setting: Setting, node: ast.Assign) -> Iterator[Draft]:
    """Yields a loop's variable that nothing reads, and so many times each size, for a constant."""
    if not isinstance(node.targets[0], ast.Name) or integer(node.value) is None:
        return
    read = setting.scopes.names(node).read
    for variable in [one for one in setting.seen.loops(node) if not read.get(one)][:1]:
        sizes = [one for one in known(setting, node.value, Nature.SIZE) if one != variable]
        for text in (variable, *(f"{variable} * {size}" for size in sizes[:_MOST])):
            yield put(setting.program, node.value, text, "turn", CHANGE, _SUBJECT)


def ends(setting: Setting, node: ast.Assign) -> Iterator[Draft]:
    """Yields `start + size` for `size`, after a statement that set `start`."""
    home = setting.program.home(node)
    block = getattr(home.parent, home.field)
    if not home.index or not setting.seen.loops(node):
        return
    natures = setting.scopes.names(node).natures
    match node, block[home.index - 1]:
        case (
            ast.Assign(targets=[ast.Name(id=end)], value=ast.Name(id=size)),
            ast.Assign(targets=[ast.Name(id=start)], value=ast.BinOp()),
        ) if natures.get(start) is natures.get(size) is Nature.SIZE and start not in (end, size):
            yield wrap(setting.program, node.value, f"{start} + ", "", "turn", SLIP, _SUBJECT)
        case _:
            pass
