"""Two like things that take each other's places in a statement: parts, functions, attributes."""

from __future__ import annotations

import ast
import itertools
from collections import defaultdict
from collections.abc import Iterator

from grader.explain.rewriting.draft import CHANGE, SLIP, WRAP, Draft
from grader.explain.rewriting.edit import Replacement
from grader.explain.rewriting.program.name_similarity import kinship
from grader.explain.rewriting.program.setting import Setting, callee
from grader.explain.rewriting.program.source import Program, Span
from grader.explain.rewriting.replaced.siblings import siblings

_MOST_PAIRS = 6
_MOST_PLACES = 8

Spans = dict[str, list[Span]]


def likes(setting: Setting, node: ast.stmt) -> Iterator[Draft]:
    """`x[1::2]` and `x[0::2]`, `sin` and `cos`, `self.w_q` and `self.w_k` exchanged throughout."""
    value = getattr(node, "value", None)
    if not isinstance(node, (ast.Assign, ast.Return, ast.AugAssign, ast.Expr)) or value is None:
        return
    for spans, cost in _groups(setting.program, value):
        pairs = itertools.combinations(spans, 2)
        for one, other in itertools.islice(pairs, _MOST_PAIRS):
            places = [(span, other) for span in spans[one]] + [(span, one) for span in spans[other]]
            if len(places) > _MOST_PLACES:
                continue
            pieces = tuple(sorted(Replacement(s.start, s.end, text) for s, text in places))
            subject = f"where `{one}` and `{other}` are used"
            own = cost if len(places) == 2 else cost + 0.5
            yield Draft("likes", own, subject, node, pieces, pieces[0].start)


def _groups(program: Program, value: ast.expr) -> Iterator[tuple[Spans, float]]:
    """Texts that may stand for each other, with where each stands."""
    parts: dict[str, Spans] = defaultdict(lambda: defaultdict(list))
    called: Spans = defaultdict(list)
    members: dict[str, Spans] = defaultdict(lambda: defaultdict(list))
    for one in program.parts(value):
        match one:
            case ast.Subscript(value=base, slice=index, ctx=ast.Load()):
                parts[program.text(base)][program.text(index)].append(program.span(index))
            case ast.Call():
                name = callee(one)
                end = program.span(one.func).end
                if name:
                    called[name].append(Span(end - len(name), end))
            case ast.Attribute(value=ast.Name() as holder, attr=attr, ctx=ast.Load()):
                end = program.span(one).end
                members[holder.id][attr].append(Span(end - len(attr), end))
            case _:
                pass
    for own in parts.values():
        if len(own) > 1 and not _are_nested(own):
            yield own, SLIP
    for name, other in itertools.combinations(called, 2):
        if other in siblings(name):
            yield {name: called[name], other: called[other]}, CHANGE
    for own in members.values():
        for name, other in itertools.combinations(own, 2):
            if kinship(name, other) == 2:
                yield {name: own[name], other: own[other]}, SLIP if len(own) < 4 else WRAP


def _are_nested(spans: Spans) -> bool:
    found = sorted((one.start, one.end) for own in spans.values() for one in own)
    return any(end > start for (_, end), (start, _) in itertools.pairwise(found))
