"""Generates all small edits of a program."""

from __future__ import annotations

import ast
import types
import warnings
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any

from grader.core.assignment import BadAssignment
from grader.explain.rewriting.draft_check import DraftCheck
from grader.explain.rewriting.edit import Draft, Edit
from grader.explain.rewriting.missing import forgotten, handed_on, transplants
from grader.explain.rewriting.patterns import Table, rewritten
from grader.explain.rewriting.program.scopes import Observed
from grader.explain.rewriting.program.setting import Setting
from grader.explain.rewriting.program.source import Statement
from grader.explain.rewriting.program.vocabulary import speaking
from grader.explain.rewriting.replaced import (
    arguments,
    calls,
    constants,
    entries,
    names,
    operators,
    slices,
    statements,
)
from grader.explain.rewriting.rows import ROWS
from grader.explain.rewriting.slips import NO_SLIPS, Slips

_ROWS = Table(ROWS)
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
    most *= _head_lines(statement.node)
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
        for table in (_ROWS, slips.table):
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
    node = statement.node
    return not lines.isdisjoint(range(node.lineno, node.lineno + _head_lines(node)))


def _is_read(node: ast.expr) -> bool:
    """Returns whether an expression is read, not assigned to, and not a literal or a slice."""
    if isinstance(node, (ast.Slice, ast.Starred, ast.Constant, ast.JoinedStr)):
        return False
    return isinstance(getattr(node, "ctx", ast.Load()), ast.Load)


def _head_lines(node: ast.stmt) -> int:
    """Returns how many lines a statement has before its block."""
    body = getattr(node, "body", None)
    end = node.end_lineno or node.lineno
    if isinstance(body, list) and body:
        end = max(node.lineno, min(end, body[0].lineno - 1))
    return end - node.lineno + 1


Family = Callable[[Setting, Any], Iterator[Draft]]
OF_VALUES: tuple[Family, ...] = (
    operators.conditions,
    forgotten.values,
    transplants.transplanted,
    transplants.layers,
)
FAMILIES: dict[type[ast.AST], tuple[Family, ...]] = {
    ast.Constant: (
        constants.constants,
        entries.patterns,
        names.instead_of_constants,
        forgotten.values,
        constants.other_words,
    ),
    ast.UnaryOp: (constants.negatives, operators.signs, names.instead_of_constants),
    ast.BinOp: (operators.operations,),
    ast.Compare: (operators.comparisons,),
    ast.BoolOp: (operators.logic,),
    ast.IfExp: (operators.choices,),
    ast.Name: (names.variables,),
    ast.Attribute: (
        names.variables,
        names.attributes,
    ),
    ast.Call: (
        calls.functions,
        calls.dropped,
        calls.options,
        arguments.arguments,
        slices.turned,
        slices.split,
        handed_on.arguments,
    ),
    ast.Tuple: (arguments.elements,),
    ast.List: (arguments.elements,),
    ast.JoinedStr: (entries.patterns,),
    ast.Subscript: (slices.indices,),
    ast.AugAssign: (statements.names_exchanged,),
    ast.Assign: (statements.assignments, statements.names_exchanged),
    ast.Expr: (statements.results,),
    ast.Return: (statements.names_exchanged,),
}
