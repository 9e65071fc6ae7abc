"""Names with something before or after them: `turned_q` and `turned_k` where `q` and `k` stand."""

from __future__ import annotations

import ast
import itertools
from collections import defaultdict
from collections.abc import Iterator, Sequence

from grader.explain.rewriting.draft import SLIP, Draft
from grader.explain.rewriting.edit import Replacement
from grader.explain.rewriting.program.setting import Setting

_FEWEST = 2


def affixes(setting: Setting, node: ast.Call | ast.Tuple | ast.List) -> Iterator[Draft]:
    """For several variables at once those of the same names, but for what is added to each."""
    given = node.args if isinstance(node, ast.Call) else node.elts
    held = [one for one in given if isinstance(one, ast.Name)]
    if len(held) < _FEWEST or isinstance(getattr(node, "ctx", None), ast.Store):
        return
    known = [one.name for one in setting.seen.variables(node)]
    yield from _unread(setting, node, held)
    found: dict[tuple[str, str], list[tuple[ast.Name, str]]] = defaultdict(list)
    for one in held:
        for other in known:
            if other != one.id and one.id in other:
                before, _, after = other.partition(one.id)
                found[before, after].append((one, other))
    for (before, after), pairs in found.items():
        if len(pairs) < _FEWEST or (before and after):
            continue
        spans = [setting.program.span(one) for one, _ in pairs]
        pieces = tuple(
            Replacement(span.start, span.end, other)
            for span, (_, other) in zip(spans, pairs, strict=True)
        )
        names = " and ".join(f"`{one.id}`" for one, _ in pairs)
        yield Draft("names", SLIP, f"where {names} are used", node, pieces, spans[0].start)


def _unread(
    setting: Setting, node: ast.Call | ast.Tuple | ast.List, held: Sequence[ast.Name]
) -> Iterator[Draft]:
    """Two variables of a kin that nothing reads, in the place of two others."""
    names = setting.scopes.names(node)
    unread = [
        name
        for name, first in names.first.items()
        if name in names.own and not names.read.get(name) and 0 < first < node.lineno
    ]
    if len(unread) != _FEWEST or names.kin(*unread) != _FEWEST:
        return
    for pair in itertools.pairwise(held):
        if not {one.id for one in pair} & set(unread):
            spans = [setting.program.span(one) for one in pair]
            pieces = tuple(
                Replacement(span.start, span.end, other)
                for span, other in zip(spans, unread, strict=True)
            )
            told = " and ".join(f"`{one.id}`" for one in pair)
            yield Draft("names", SLIP, f"where {told} are used", node, pieces, spans[0].start)
