"""Checks that drafts of edits keep the program well formed and have an effect."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable, Sequence
from dataclasses import replace

from grader.explain.rewriting.edit import PRIMARY, Draft, Edit, Replacement, edit_of, replaced
from grader.explain.rewriting.program.source import Program

# Stands in a dump for the tree that a draft changes.
_GAP = ast.dump(ast.Name("the gap"))
_ATOMS = (*PRIMARY, ast.Constant, ast.JoinedStr)


class DraftCheck:
    """A check of drafts against the program that they change."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._dump = functools.cache(_dump)
        self._parse = functools.cache(self._parsed)
        self._around = functools.cache(self._dump_around)

    def checked(self, draft: Draft) -> tuple[str, Edit] | None:
        """Returns the edit of a draft after the dump of the statement's new tree.

        The edit has the parentheses that it needs. Returns None if it is invalid or has no effect.
        """
        program = self._program
        node = draft.node
        span = program.outer_span(node)
        added = [self._added_lines(piece) for piece in draft.pieces]
        if any(count > 0 for count in added):
            return None
        pieces = merged(
            # Line ends are added, so that a replacement keeps the number of lines.
            Replacement(piece.start, piece.end, piece.text + "\n" * -count)
            for piece, count in zip(draft.pieces, added, strict=True)
        )
        text = replaced(program.source[span.start : span.end], pieces, span.start)
        parsed = self._parse(text, isinstance(node, ast.expr))
        if parsed is None or parsed[0] == self._dump(node):
            return None
        dump, tree = parsed
        edit = edit_of(program, draft, pieces)
        if isinstance(node, ast.expr) and self._needs_parentheses(node, tree, pieces, text):
            before = Replacement(span.start, span.start, "(")
            pieces = merged((before, *pieces, Replacement(span.end, span.end, ")")))
            edit = replace(edit, replacements=pieces)
        return self._around(node).replace(_GAP, dump), edit

    def _dump_around(self, node: ast.AST) -> str:
        """Returns the dump of a node's statement with a gap in the node's place."""
        home, gap = self._program.home(node), ast.Name("the gap")
        if isinstance(node, ast.stmt):
            return _GAP
        own = getattr(home.parent, home.field)
        changed = [gap if one is node else one for one in own] if isinstance(own, list) else gap
        setattr(home.parent, home.field, changed)
        found = _dump(home.statement)
        setattr(home.parent, home.field, own)
        return found

    def _added_lines(self, piece: Replacement) -> int:
        before = self._program.source.count("\n", piece.start, piece.end)
        return piece.text.count("\n") - before

    def _parsed(self, text: str, is_expression: bool) -> tuple[str, ast.AST] | None:
        try:
            if is_expression:
                tree: ast.AST = ast.parse(f"({text}\n)", mode="eval").body
            else:
                module = ast.parse(text)
                tree = module.body[0] if len(module.body) == 1 else module
        except (SyntaxError, ValueError):
            return None
        return None if _repeats_keyword(tree) else (_dump(tree), tree)

    def _needs_parentheses(
        self, node: ast.expr, tree: ast.AST, pieces: Sequence[Replacement], text: str
    ) -> bool:
        """Returns whether an expression may need parentheses to stay one at its place."""
        if "\n" in text and self._parse(f"_ = {text}", False) is None:
            return True
        if isinstance(tree, _ATOMS):
            return False
        inner, outer = self._program.span(node), self._program.outer_span(node)
        if inner != outer:
            return not all(inner.start <= p.start and p.end <= inner.end for p in pieces)
        if type(tree) is type(node) and _operator(tree) is _operator(node):
            return False
        is_in_statement = isinstance(self._program.parent(node), ast.stmt)
        return isinstance(tree, ast.Tuple) or not is_in_statement


def _dump(tree: ast.AST) -> str:
    """Returns the dump of a tree, in which a target of an assignment is like a value."""
    return ast.dump(tree).replace("ctx=Store()", "ctx=Load()")


def _repeats_keyword(tree: ast.AST) -> bool:
    """Returns whether a call has a keyword twice, which parses and does not compile."""
    calls = (one.keywords for one in ast.walk(tree) if isinstance(one, ast.Call))
    given = ([one.arg for one in own if one.arg] for own in calls)
    return any(len(own) > len({*own}) for own in given)


def _operator(tree: ast.AST) -> type[object]:
    return type(getattr(tree, "op", None))


def merged(pieces: Iterable[Replacement]) -> tuple[Replacement, ...]:
    """Returns the replacements, with adjacent ones joined into one."""
    found: list[Replacement] = []
    for piece in pieces:
        if found and found[-1].end == piece.start:
            last = found.pop()
            found.append(Replacement(last.start, piece.end, last.text + piece.text))
        elif piece.start != piece.end or piece.text:
            found.append(piece)
    return tuple(found)
