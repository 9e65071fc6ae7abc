"""Names with something before or after them: `turned_q` and `turned_k` where `q` and `k` stand."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

from grader.edits.draft import SLIP, Draft
from grader.edits.edit import Replacement
from grader.edits.reading.setting import Setting

_FEWEST = 2


def affixes(setting: Setting, node: ast.Call | ast.Tuple) -> Iterator[Draft]:
    """For several variables at once those of the same names, but for what is added to each."""
    given = node.elts if isinstance(node, ast.Tuple) else node.args
    held = [one for one in given if isinstance(one, ast.Name)]
    if len(held) < _FEWEST or isinstance(getattr(node, "ctx", None), ast.Store):
        return
    known = [one.name for one in setting.seen.variables(node)]
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
