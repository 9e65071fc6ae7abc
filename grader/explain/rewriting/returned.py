"""What may be missing around a value, also where the value is returned in the next line."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from grader.explain.rewriting.draft import Draft
from grader.explain.rewriting.edit import Replacement
from grader.explain.rewriting.finishing import Finished, Finishing
from grader.explain.rewriting.program.source import Program
from grader.explain.rewriting.replaced.statements import block_after


def returned(
    program: Program, finishing: Finishing, finished: Iterable[Finished]
) -> Iterator[Finished]:
    """`x = f(a); return g(x)` for `x = f(a); return x`, where `x = g(f(a))` is an edit."""
    for one in finished:
        following = block_after(program, one.statement)
        match one.statement, following:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value),
                ast.Return(value=ast.Name(id=own) as result),
            ) if name == own and one.draft.node is value:
                pass
            case _:
                continue
        draft = one.draft
        start, end = program.outer_span(value).start, program.outer_span(value).end
        if {(piece.start, piece.end) for piece in draft.pieces} <= {(start, start), (end, end)}:
            span = program.span(result)
            pieces = tuple(
                Replacement(place, place, piece.text)
                for piece in draft.pieces
                for place in (span.start if piece.start == start else span.end,)
            )
            again = Draft(draft.kind, draft.cost, draft.subject, result, pieces, span.start)
            done = finishing.finish(again)
            if done is not None:
                yield done
