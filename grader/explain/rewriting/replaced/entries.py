"""Entries of a tuple or a list, one too many or too few; sides and loops the wrong way round."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.explain.rewriting.draft import CHANGE, SLIP, WRAP, Draft, exchange, keep
from grader.explain.rewriting.edit import Replacement
from grader.explain.rewriting.program.name_similarity import kin_of, kinship
from grader.explain.rewriting.program.setting import Setting, callee
from grader.explain.rewriting.program.source import Program
from grader.explain.rewriting.program.value_kinds import Nature

_MOST_ENTRIES = 6
_MOST_ADDED = 3
_JOINING = frozenset({"cat", "concat", "stack", "hstack", "vstack", "sum", "prod", "zip"})


def dropped(setting: Setting, node: ast.List | ast.Tuple) -> Iterator[Draft]:
    """One entry less of what is handed over."""
    if not _is_handed_over(setting, node) or not 2 <= len(node.elts) <= _MOST_ENTRIES:
        return
    if isinstance(node, ast.Tuple) and len(node.elts) == 2:
        return
    for place, one in enumerate(node.elts):
        piece = _without(setting.program, node, place)
        at = setting.program.span(one).start
        subject = "what may not belong in a list"
        yield Draft("entry-dropped", WRAP, subject, node, (piece,), at)


def alone(setting: Setting, node: ast.Return) -> Iterator[Draft]:
    """One of two values that are returned."""
    if not isinstance(node.value, ast.Tuple) or len(node.value.elts) != 2:
        return
    for cost, one in zip((SLIP, CHANGE), node.value.elts, strict=True):
        if not isinstance(one, ast.Starred):
            subject = "how many values are returned"
            yield keep(setting.program, node.value, one, "entry-dropped", cost, subject)


def added(setting: Setting, node: ast.List | ast.Tuple) -> Iterator[Draft]:
    """One entry more: a variable of a kin, or one that nothing reads."""
    if not _is_handed_over(setting, node) or not node.elts:
        return
    texts = [setting.program.text(one) for one in node.elts]
    found = [
        (one.is_read, one.name)
        for one in setting.seen.variables(node)
        if one.name not in texts and any(kinship(one.name, text) == 2 for text in texts)
    ]
    end = setting.program.outer_span(node.elts[-1]).end
    for is_read, name in sorted(found)[:_MOST_ADDED]:
        piece = Replacement(end, end, f", {name}")
        cost = CHANGE if is_read else SLIP
        subject = "what may be missing in a list"
        yield Draft("entry-added", cost, subject, node, (piece,), end)


def words_added(setting: Setting, node: ast.List | ast.Tuple) -> Iterator[Draft]:
    """One word more: `("q", "k", "v")` for `("q", "k")`."""
    given = [one.value for one in node.elts if isinstance(one, ast.Constant)]
    words = [one for one in given if isinstance(one, str)]
    if len(words) != len(node.elts) or not isinstance(node.ctx, ast.Load) or not words:
        return
    known = [*setting.signatures.words, *(kin for one in words for kin in kin_of(one))]
    found = [
        one
        for one in dict.fromkeys(known)
        if one not in words and any(kinship(one, other) == 2 for other in words)
    ]
    end = setting.program.outer_span(node.elts[-1]).end
    for word in found[:_MOST_ADDED]:
        piece = Replacement(end, end, f", {word!r}")
        subject = "what may be missing in a list"
        yield Draft("entry-added", CHANGE, subject, node, (piece,), end)


def on_both_sides(setting: Setting, node: ast.Assign) -> Iterator[Draft]:
    """`q, k = (turn(x) for x in (q, k))` for `q, k, v = (turn(x) for x in (q, k, v))`."""
    match node:
        case ast.Assign(targets=[ast.Tuple() as target], value=ast.Tuple() as source):
            pass
        case ast.Assign(
            targets=[ast.Tuple() as target],
            value=(
                ast.GeneratorExp(generators=[ast.comprehension(iter=ast.Tuple() as source)])
                | ast.ListComp(generators=[ast.comprehension(iter=ast.Tuple() as source)])
            ),
        ):
            pass
        case _:
            return
    if len(target.elts) != len(source.elts) or len(target.elts) < 3:
        return
    program = setting.program
    for place, one in enumerate(target.elts):
        pieces = (_without(program, target, place), _without(program, source, place))
        subject = f"what is done to `{program.text(one)}`"
        at = program.span(one).start
        yield Draft("entry-dropped", CHANGE, subject, node, pieces, at)


def starred(setting: Setting, node: ast.Tuple) -> Iterator[Draft]:
    """`*a, b = x` for `a, *b = x` and for `b, *a = x`."""
    if not isinstance(node.ctx, ast.Store) or len(node.elts) != 2:
        return
    if sum(isinstance(one, ast.Starred) for one in node.elts) == 1:
        subject = "the order in which values are unpacked"
        yield exchange(setting.program, node, node.elts, (1, 0), "elements", SLIP, subject)


def reversed_sides(setting: Setting, node: ast.Assign) -> Iterator[Draft]:
    """`self.mode = mode` for `mode = self.mode`."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name) as target], value=ast.Attribute() as value):
            pass
        case _:
            return
    scope = setting.program.scope(node)
    if isinstance(scope, ast.FunctionDef) and any(
        one.arg == name for one in ast.walk(scope.args) if isinstance(one, ast.arg)
    ):
        parts, subject = (target, value), f"what `{name}` is assigned"
        yield exchange(setting.program, node, parts, (1, 0), "sides", SLIP, subject)


def clauses(setting: Setting, node: ast.ListComp | ast.GeneratorExp) -> Iterator[Draft]:
    """The loops of a comprehension the other way round."""
    if len(node.generators) != 2:
        return
    program = setting.program
    first, second = node.generators
    starts = [program.outer_span(one.target).start for one in (first, second)]
    ends = [program.outer_span((one.ifs or [one.iter])[-1]).end for one in (first, second)]
    texts = [program.source[start:end] for start, end in zip(starts, ends, strict=True)]
    pieces = (
        Replacement(starts[0], ends[0], texts[1]),
        Replacement(starts[1], ends[1], texts[0]),
    )
    subject = "the order of loops"
    yield Draft("loops", CHANGE, subject, node, pieces, starts[0])
    targets = [program.text(one.target) for one in (first, second)]
    spans = [program.outer_span(one.target) for one in (first, second)]
    exchanged = tuple(
        Replacement(span.start, span.end, text)
        for span, text in zip(spans, reversed(targets), strict=True)
    )
    yield Draft("loops", SLIP, subject, node, exchanged, spans[0].start)


def _is_handed_over(setting: Setting, node: ast.List | ast.Tuple) -> bool:
    """Whether entries are tensors that are joined, returned or gone through."""
    if not isinstance(node.ctx, ast.Load) or any(isinstance(o, ast.Starred) for o in node.elts):
        return False
    parent = setting.parent(node)
    if isinstance(parent, ast.Call):
        if callee(parent) not in _JOINING:
            return False
    elif not isinstance(parent, (ast.comprehension, ast.For, ast.Return, ast.Assign, ast.BinOp)):
        return False
    return not any(setting.scopes.nature(one) is Nature.FLAG for one in node.elts)


def _without(program: Program, node: ast.List | ast.Tuple, place: int) -> Replacement:
    """Drops an entry and the comma that goes with it."""
    own = program.outer_span(node.elts[place])
    if place > 0:
        return Replacement(program.outer_span(node.elts[place - 1]).end, own.end, "")
    return Replacement(own.start, program.outer_span(node.elts[1]).start, "")
