"""Generates all small edits of a program."""

from __future__ import annotations

import ast
import functools
import types
import warnings
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from grader.core.assignment import BadAssignment
from grader.explain.rewriting import transplants
from grader.explain.rewriting.edit import PRIMARY, Draft, Edit, Replacement, edit_of, replaced
from grader.explain.rewriting.further_arguments import further_arguments
from grader.explain.rewriting.patterns import rewritten
from grader.explain.rewriting.program.scopes import Observed
from grader.explain.rewriting.program.setting import Setting
from grader.explain.rewriting.program.source import Program, Statement
from grader.explain.rewriting.program.vocabulary import speaking
from grader.explain.rewriting.replaced import (
    calls,
    constants,
    entries,
    names,
    operators,
    statements,
)
from grader.explain.rewriting.slips import NO_SLIPS, Slips, slips_of_engine

_FEWEST = 120
_MOST_OF_A_LINE = 320
# Bounds the work for a program that is written to be expensive.
_MOST = 12_000


def edits_of(
    source: str,
    lines: Collection[int] | None = None,
    elsewhere: Sequence[str] = (),
    slips: Slips = NO_SLIPS,
    observed: Observed = types.MappingProxyType({}),
) -> list[Edit]:
    """Returns the small edits of a program, or those that change statements on the given lines.

    The likeliest edits come first. All edited programs are well formed and different. A program
    that does not parse has no edits. `elsewhere` holds the texts of files that the program may
    import. `slips` holds the assignment's rules and words, and `observed` what the program's
    variables were seen to hold. If the edits exceed a bound, later statements have none.
    """
    with warnings.catch_warnings(), speaking(slips.vocabulary):
        warnings.simplefilter("ignore")  # invalid escapes in the program warn; not a concern here
        try:
            return _edits(Setting(source, elsewhere, observed), slips, lines)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return []


def _edits(setting: Setting, slips: Slips, lines: Collection[int] | None) -> list[Edit]:
    own = None if lines is None else set(lines)
    given = [one for one in setting.statements if _is_given(one, own)]
    check = DraftCheck(setting)
    edits: list[Edit] = []
    for statement in given:
        if len(edits) > _MOST:
            break
        edits += _of_statement(setting, check, slips, statement)
    return sorted(edits, key=lambda edit: (edit.cost, edit.line, edit.kind, edit.replacements))


def check_examples(slips: Slips) -> None:
    """Tries the example of each row of an assignment.

    Raises:
        BadAssignment: if no edit turns the first line of an example into its second.
    """
    for one in slips.examples:
        source = one.program(one.before)
        made = edits_of(source, slips=slips)
        if ast.dump(ast.parse(one.program(one.after))) not in (
            ast.dump(ast.parse(edit.applied(source))) for edit in made
        ):
            raise BadAssignment(
                f"{one.place}: no edit makes {one.after!r} of {one.before!r}; check where and at, "
                "and whether [words.kinds] knows the names in the example"
            )


def _of_statement(
    setting: Setting, check: DraftCheck, slips: Slips, statement: Statement
) -> list[Edit]:
    """Returns the cheapest edits of one statement, no two of them equal."""
    found: dict[str, Edit] = {}
    most = min(_MOST_OF_A_LINE, _FEWEST + 6 * len(statement.nodes))
    most *= len(_head(statement.node))
    for draft in _likeliest_first(_drafts(setting, slips, statement)):
        if len(found) >= most:
            break
        checked = check.checked(draft)
        if checked is not None:
            found.setdefault(*checked)
    return list(found.values())


def _drafts(setting: Setting, slips: Slips, statement: Statement) -> Iterator[Draft]:
    for node in statement.nodes:
        for family in FAMILIES.get(type(node), ()):
            yield from family(setting, node)
        for table in (slips_of_engine().table, slips.table):
            yield from rewritten(table, setting, node)
        if isinstance(node, ast.expr) and _is_read(node):
            for family in OF_VALUES:
                yield from family(setting, node)


def _likeliest_first(drafts: Iterable[Draft]) -> list[Draft]:
    """Returns the drafts by cost; drafts of one cost take turns among their nodes."""
    seen: dict[tuple[ast.AST, float], int] = defaultdict(int)
    ranked: list[tuple[float, int, int, Draft]] = []
    for draft in drafts:
        turn = seen[draft.node, draft.cost]
        seen[draft.node, draft.cost] = turn + 1
        ranked.append((draft.cost, turn, len(ranked), draft))
    return [draft for _, _, _, draft in sorted(ranked, key=lambda one: one[:3])]


def _is_given(statement: Statement, lines: set[int] | None) -> bool:
    if lines is None:
        return True
    return not lines.isdisjoint(_head(statement.node))


def _is_read(node: ast.expr) -> bool:
    """Returns whether an expression is read, not assigned to, and not a literal or a slice."""
    if isinstance(node, (ast.Slice, ast.Starred, ast.Constant, ast.JoinedStr)):
        return False
    return isinstance(getattr(node, "ctx", ast.Load()), ast.Load)


def _head(node: ast.stmt) -> range:
    """Returns the lines that a statement has before its block."""
    body = getattr(node, "body", None)
    end = node.end_lineno or node.lineno
    if isinstance(body, list) and body:
        end = max(node.lineno, min(end, body[0].lineno - 1))
    return range(node.lineno, end + 1)


# Stands in a dump for the tree that a draft changes.
_GAP = ast.dump(ast.Name("the gap"))
# Around these, no part of an expression needs parentheses.
_KEEPS_WHOLE = (ast.stmt, ast.keyword, ast.Tuple, ast.List)
_ATOMS = (*PRIMARY, ast.Constant, ast.JoinedStr)


class DraftCheck:
    """A check of drafts against the program that they change."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._dump = functools.cache(_dump)
        self._parse = functools.cache(self._parsed)
        self._around = functools.cache(self._dump_around)

    def checked(self, draft: Draft) -> tuple[str, Edit] | None:
        """Returns the dump of a statement's new tree, and the edit that a draft makes.

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
        """Returns how many lines a replacement adds; a negative number if it removes lines."""
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
        home = self._program.home(node)
        is_bare = isinstance(home.parent, _KEEPS_WHOLE) or (
            isinstance(home.parent, ast.Call) and home.field == "args"
        )
        return isinstance(tree, ast.Tuple) or not is_bare


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


Family = Callable[[Setting, Any], Iterator[Draft]]
OF_VALUES: tuple[Family, ...] = (
    transplants.transplanted,
    transplants.idle_calls,
)
FAMILIES: dict[type[ast.AST], tuple[Family, ...]] = {
    ast.Constant: (
        constants.constants,
        entries.patterns,
        names.instead_of_constants,
        constants.other_words,
    ),
    ast.UnaryOp: (constants.negatives, operators.signs, names.instead_of_constants),
    ast.BinOp: (operators.parentheses,),
    ast.Name: (names.variables,),
    ast.Attribute: (names.variables, names.attributes),
    ast.Call: (
        calls.functions,
        calls.dropped,
        calls.options,
        calls.arguments,
        further_arguments,
    ),
    ast.Tuple: (calls.elements,),
    ast.List: (calls.elements,),
    ast.JoinedStr: (entries.patterns,),
    ast.Subscript: (transplants.like_indices,),
    ast.Assign: (statements.assignments, statements.results),
    ast.Expr: (statements.results,),
}
