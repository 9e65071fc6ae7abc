"""Rewrite rules for signs and parentheses."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.explain.rewriting.edit import CHANGE, SLIP, Draft, Replacement, keep
from grader.explain.rewriting.program.setting import Setting


def signs(setting: Setting, node: ast.UnaryOp) -> Iterator[Draft]:
    """Yields an expression without its minus; another rule changes the signs of constants."""
    if isinstance(node.op, ast.USub) and not isinstance(node.operand, ast.Constant):
        yield keep(setting, node, node.operand, "sign-dropped", SLIP, "a sign")


def parentheses(setting: Setting, node: ast.BinOp) -> Iterator[Draft]:
    """Yields removed or added parentheses: `a * (b + c)` and `a * b + c` become each other."""
    for inner, leaf in ((node.left, node.right), (node.right, node.left)):
        if not isinstance(inner, ast.BinOp):
            continue
        outer_span, inner_span = setting.outer_span(inner), setting.span(inner)
        subject = "whether parentheses are missing"
        if outer_span != inner_span:
            subject = "whether parentheses stand in the wrong place"
            pieces = (
                Replacement(outer_span.start, inner_span.start, ""),
                Replacement(inner_span.end, outer_span.end, ""),
            )
        else:
            near = inner.right if inner is node.left else inner.left
            start = min(setting.outer_span(near).start, setting.outer_span(leaf).start)
            end = max(setting.outer_span(near).end, setting.outer_span(leaf).end)
            pieces = (Replacement(start, start, "("), Replacement(end, end, ")"))
        yield Draft("groups", CHANGE, subject, node, pieces, pieces[0].start)
