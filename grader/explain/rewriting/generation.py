"""Generates all small edits of a program."""

from __future__ import annotations

import ast
import warnings
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence

from grader.explain.rewriting.combined import Combination, pairs, together
from grader.explain.rewriting.edit import CHANGE, SLIP, Draft, Edit, Replacement
from grader.explain.rewriting.finishing import Finished, Finishing
from grader.explain.rewriting.program.elsewhere import ProgramIndex
from grader.explain.rewriting.program.scopes import Scopes
from grader.explain.rewriting.program.setting import Setting
from grader.explain.rewriting.program.signatures import Signatures
from grader.explain.rewriting.program.source import Program, Statement
from grader.explain.rewriting.replaced.statements import block_after
from grader.explain.rewriting.rules import FAMILIES, OF_VALUES

_OUT, _IN, _BEFORE, _AFTER, _INLINED, _TURNED = -6, -7, -8, -9, -10, -11
_SIMPLE = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Return)
_BLOCKS = (ast.For, ast.While, ast.If)
_LOOPS = (ast.For, ast.While)
_FIRST = 2
_WHERE = "in which block a statement stands"


def moved(setting: Setting, given: Sequence[ast.stmt]) -> Iterator[Combination]:
    """Yields simple statements moved in their block, to the block before, or out of a loop."""
    within = set(given)
    for node in given:
        if not isinstance(node, _SIMPLE) or not _is_alone(setting.program, node):
            continue
        if "\n" in setting.program.text(node):
            continue
        yield from _out_of_block(setting, node)
        yield from _into_block(setting, node)
        yield from _before_loop(setting, node)
        yield from _into_loop(setting, node)
        following = block_after(setting.program, node)
        if following in within and following is not None:
            yield from _inlined(setting, node, following)
            yield from _arguments_turned(setting, node, following)


def _out_of_block(setting: Setting, node: ast.stmt) -> Iterator[Combination]:
    """Yields the last statement of a block after it."""
    block = setting.program.home(node).parent
    if not isinstance(block, _BLOCKS) or block.orelse or len(block.body) < 2:
        return
    if node is block.body[-1]:
        pieces = _indented(setting.program, node, _indent(setting.program, block))
        yield _combined(setting, "block", SLIP, _WHERE, pieces, node, ((node, _OUT),))


def _into_block(setting: Setting, node: ast.stmt) -> Iterator[Combination]:
    """Yields the statement after a block at its end."""
    home = setting.program.home(node)
    beside = getattr(home.parent, home.field)
    if not home.index or not isinstance(beside, list):
        return
    block = beside[home.index - 1]
    if isinstance(block, _BLOCKS) and not block.orelse and block.body[0].lineno > block.lineno:
        pieces = _indented(setting.program, node, _indent(setting.program, block.body[-1]))
        yield _combined(setting, "block", SLIP, _WHERE, pieces, node, ((node, _IN),))


def _before_loop(setting: Setting, node: ast.stmt) -> Iterator[Combination]:
    """Yields an edit that moves an assignment from a loop's body to the place before the loop."""
    program = setting.program
    loop = program.home(node).parent
    if not isinstance(loop, _LOOPS) or not isinstance(node, ast.Assign):
        return
    before = _block_before(program, loop)
    if node not in loop.body[:_FIRST] or before is None:
        return
    end, own = program.span(before).end, program.span(node)
    text = f"; {program.text(node)}"
    pieces = (Replacement(end, end, text), Replacement(own.start, own.end, "pass"))
    yield _combined(setting, "block", SLIP, _WHERE, pieces, node, ((node, _BEFORE),))


def _into_loop(setting: Setting, node: ast.stmt) -> Iterator[Combination]:
    """Yields an edit that moves an assignment from before a loop into the loop's body."""
    program = setting.program
    loop = block_after(program, node)
    if not isinstance(loop, _LOOPS) or not isinstance(node, ast.Assign):
        return
    if isinstance(loop.body[0], _SIMPLE) and _is_alone(program, loop.body[0]):
        own, start = program.span(node), program.span(loop.body[0]).start
        text = f"{program.text(node)}; "
        pieces = (Replacement(own.start, own.end, "pass"), Replacement(start, start, text))
        yield _combined(setting, "block", CHANGE, _WHERE, pieces, node, ((node, _AFTER),))


def _block_before(program: Program, node: ast.stmt) -> ast.stmt | None:
    """Returns the simple statement on its own line that stands before a statement."""
    home = program.home(node)
    beside = getattr(home.parent, home.field)
    before = beside[home.index - 1] if home.index else None
    return before if isinstance(before, _SIMPLE) and _is_alone(program, before) else None


def _inlined(setting: Setting, node: ast.stmt, following: ast.stmt) -> Iterator[Combination]:
    """Yields `found.append(f(x))` for `x = f(x)` and `found.append(x)` after it, in a loop."""
    program = setting.program
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            pass
        case _:
            return
    if not isinstance(program.home(node).parent, _LOOPS) or not _reads(value, name):
        return
    read = [one for one in _names(following) if one.id == name and isinstance(one.ctx, ast.Load)]
    if len(read) != 1 or not _is_alone(program, following):
        return
    own, place = program.span(node), program.span(read[0])
    pieces = (
        Replacement(own.start, own.end, "pass"),
        Replacement(place.start, place.end, f"({program.text(value)})"),
    )
    subject = f"what `{name}` is in the next turn"
    trees = ((node, _INLINED), (following, _INLINED))
    yield _combined(setting, "block", CHANGE, subject, pieces, node, trees)


def _arguments_turned(
    setting: Setting, node: ast.stmt, following: ast.stmt
) -> Iterator[Combination]:
    """Yields `first.copy_(a)`, `second.copy_(b)` for `first.copy_(b)`, `second.copy_(a)`."""
    match node, following:
        case (
            ast.Expr(value=ast.Call(func=ast.Attribute(attr=one), args=[given])),
            ast.Expr(value=ast.Call(func=ast.Attribute(attr=other), args=[held])),
        ) if one == other:
            pass
        case _:
            return
    program = setting.program
    texts = program.text(given), program.text(held)
    if texts[0] == texts[1]:
        return
    first, second = program.span(given), program.span(held)
    pieces = (
        Replacement(first.start, first.end, texts[1]),
        Replacement(second.start, second.end, texts[0]),
    )
    subject = f"what `{one}` is given"
    trees = ((node, _TURNED), (following, _TURNED))
    yield _combined(setting, "arguments", SLIP, subject, pieces, node, trees)


def _combined(
    setting: Setting,
    kind: str,
    cost: float,
    subject: str,
    pieces: tuple[Replacement, ...],
    node: ast.stmt,
    trees: tuple[tuple[ast.stmt, int], ...],
) -> Combination:
    program = setting.program
    function = program.function(program.scope(node))
    at = program.span(node).start
    return Combination(kind, cost, subject, pieces, at, function, trees)


def _indented(program: Program, node: ast.stmt, indent: str) -> tuple[Replacement, ...]:
    """Returns a statement on a line that begins with such a space."""
    start = program.span(node).start
    return (Replacement(start - len(_indent(program, node)), start, indent),)


def _indent(program: Program, node: ast.stmt) -> str:
    """Returns the space before a statement that begins its line."""
    start = program.span(node).start
    line = program.source[:start].rpartition("\n")[2]
    return line if not line.strip() else ""


def _is_alone(program: Program, node: ast.stmt) -> bool:
    """Returns whether a statement begins its line, and no other follows on its last."""
    span = program.span(node)
    before = program.source[: span.start].rpartition("\n")[2]
    after = program.source[span.end :].partition("\n")[0].strip()
    return not before.strip() and (not after or after.startswith("#") or isinstance(node, _BLOCKS))


def _names(node: ast.AST) -> Iterator[ast.Name]:
    return (one for one in ast.walk(node) if isinstance(one, ast.Name))


def _reads(node: ast.AST, name: str) -> bool:
    return any(one.id == name for one in _names(node))


def returned(
    program: Program, finishing: Finishing, finished: Iterable[Finished]
) -> Iterator[Finished]:
    """Yields `x = f(a); return g(x)` for `x = f(a); return x`, where `x = g(f(a))` is an edit."""
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


_FEWEST = 120
_MOST_OF_A_LINE = 320
# The most edits for a program that was written to cost much.
_MOST = 12_000


def edits_of(
    source: str,
    lines: Collection[int] | None = None,
    elsewhere: Sequence[str] = (),
    users: Sequence[str] = (),
) -> list[Edit]:
    """Returns the small edits of a program, or those that change statements on the given lines.

    The likeliest edits come first. All edits keep the program well formed, and no two make the
    same one. A program that does not parse has none. `elsewhere` holds the texts of files that the
    program may import. `users` holds the texts of files that may import the program. Where there
    are far more edits than any program of a course has, the later statements have none.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what a program's strings escape is not ours to say
        try:
            program = Program(source)
            made = _Generation(program, Signatures(program.tree, elsewhere, users))
            return made.edits(None if lines is None else set(lines))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return []


class _Generation:
    """The making of one program's edits."""

    def __init__(self, program: Program, signatures: Signatures) -> None:
        self._program = program
        scopes = Scopes(program)
        self._setting = Setting(program, scopes, signatures, ProgramIndex(program, scopes))
        self._finishing = Finishing(program)

    def edits(self, lines: set[int] | None) -> list[Edit]:
        """Returns all edits of statements that have one of the lines."""
        given = [one for one in self._program.statements if _is_given(one, lines)]
        finished: list[Finished] = []
        for statement in given:
            if len(finished) > _MOST:
                break
            finished += self._of_statement(statement)
        finished += list(returned(self._program, self._finishing, finished))
        combined = together(self._setting, self._finishing, [one.node for one in given], finished)
        nodes = [one.node for one in given]
        paired = (*pairs(self._setting, nodes), *moved(self._setting, nodes))
        return self._distinct(finished, (*combined, *paired))

    def _of_statement(self, statement: Statement) -> list[Finished]:
        """Returns the cheapest edits of one statement, no two of them equal."""
        drafts = _likeliest_first(self._drafts(statement))
        found: dict[int, Finished] = {}
        most = min(_MOST_OF_A_LINE, _FEWEST + 6 * len(statement.nodes))
        most *= _head_lines(statement.node)
        for draft in drafts:
            if len(found) >= most:
                break
            finished = self._finishing.finish(draft)
            if finished is not None:
                found.setdefault(finished.tree, finished)
        return list(found.values())

    def _drafts(self, statement: Statement) -> Iterator[Draft]:
        for node in statement.nodes:
            for family in FAMILIES.get(type(node), ()):
                yield from family(self._setting, node)
            if isinstance(node, ast.expr) and _is_read(node):
                for family in OF_VALUES:
                    yield from family(self._setting, node)

    def _distinct(self, single: Iterable[Finished], combined: Iterable[Combination]) -> list[Edit]:
        """Edits in their order, of equal ones the cheapest."""
        found: dict[frozenset[tuple[int, int]], Edit] = {}
        singles = (Combination.of(one) for one in single)
        program = self._program
        places = {one.node: place for place, one in enumerate(program.statements)}
        for one in sorted((*singles, *combined), key=lambda one: one.cost):
            trees = frozenset((places[node], tree) for node, tree in one.trees)
            if trees not in found:
                found[trees] = _edit(program, one)
        edits = list(found.values())
        edits.sort(key=lambda edit: (edit.cost, edit.line, edit.kind, edit.replacements))
        return edits


def _likeliest_first(drafts: Iterable[Draft]) -> list[Draft]:
    """Returns the drafts by cost; within one cost, some of each node come before the rest."""
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
    """Returns whether a node is an expression whose value is used."""
    if isinstance(node, (ast.Slice, ast.Starred, ast.Constant, ast.JoinedStr)):
        return False
    return isinstance(getattr(node, "ctx", ast.Load()), ast.Load)


def _head_lines(node: ast.stmt) -> int:
    """Returns how many lines a statement has without the blocks in it."""
    body = getattr(node, "body", None)
    end = node.end_lineno or node.lineno
    if isinstance(body, list) and body:
        end = max(node.lineno, min(end, body[0].lineno - 1))
    return end - node.lineno + 1


def _edit(program: Program, one: Combination) -> Edit:
    return Edit(
        one.kind,
        program.line(one.at),
        tuple(sorted(_lines(program, one.pieces))),
        one.cost,
        one.pieces,
        one.subject,
        one.function,
    )


def _lines(program: Program, pieces: Iterable[Replacement]) -> set[int]:
    """Returns the lines that are not the same after replacements."""
    found: set[int] = set()
    for piece in pieces:
        first = program.line(piece.start)
        if "\n" not in piece.text and program.line(piece.end) == first:
            found.add(first)
            continue
        old = program.source[piece.start : piece.end].split("\n")
        new = piece.text.split("\n")
        if len(old) == len(new):
            pairs = enumerate(zip(old, new, strict=True))
            found |= {first + place for place, (one, other) in pairs if one != other}
        else:
            found |= set(range(first, first + len(old)))
    return found
