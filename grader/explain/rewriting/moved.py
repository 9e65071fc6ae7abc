"""Statements that stand on the wrong side of where a block begins or ends."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from grader.explain.rewriting.draft import CHANGE, SLIP
from grader.explain.rewriting.edit import Replacement
from grader.explain.rewriting.program.setting import Setting
from grader.explain.rewriting.program.source import Program
from grader.explain.rewriting.replaced.statements import block_after
from grader.explain.rewriting.together import Combination

_OUT, _IN, _BEFORE, _AFTER, _INLINED, _TURNED = -6, -7, -8, -9, -10, -11
_SIMPLE = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Return)
_BLOCKS = (ast.For, ast.While, ast.If)
_LOOPS = (ast.For, ast.While)
_FIRST = 2
_WHERE = "in which block a statement stands"


def moved(setting: Setting, given: Sequence[ast.stmt]) -> Iterator[Combination]:
    """Simple statements in the block around theirs, in the one before, and outside of a loop."""
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
    """The last statement of a block after it."""
    block = setting.program.home(node).parent
    if not isinstance(block, _BLOCKS) or block.orelse or len(block.body) < 2:
        return
    if node is block.body[-1]:
        pieces = _indented(setting.program, node, _indent(setting.program, block))
        yield _combined(setting, "block", SLIP, _WHERE, pieces, node, ((node, _OUT),))


def _into_block(setting: Setting, node: ast.stmt) -> Iterator[Combination]:
    """The statement after a block at its end."""
    home = setting.program.home(node)
    beside = getattr(home.parent, home.field)
    if not home.index or not isinstance(beside, list):
        return
    block = beside[home.index - 1]
    if isinstance(block, _BLOCKS) and not block.orelse and block.body[0].lineno > block.lineno:
        pieces = _indented(setting.program, node, _indent(setting.program, block.body[-1]))
        yield _combined(setting, "block", SLIP, _WHERE, pieces, node, ((node, _IN),))


def _before_loop(setting: Setting, node: ast.stmt) -> Iterator[Combination]:
    """What is set anew in each turn of a loop, once before it."""
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
    """What is set before a loop, anew in each turn of it."""
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
    """The simple statement on a line of its own that stands before a statement in its block."""
    home = program.home(node)
    beside = getattr(home.parent, home.field)
    before = beside[home.index - 1] if home.index else None
    return before if isinstance(before, _SIMPLE) and _is_alone(program, before) else None


def _inlined(setting: Setting, node: ast.stmt, following: ast.stmt) -> Iterator[Combination]:
    """`found.append(f(x))` for `x = f(x)` and `found.append(x)` after it, in a loop."""
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
    """`first.copy_(a)`, `second.copy_(b)` for `first.copy_(b)`, `second.copy_(a)`."""
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
    """A statement on a line that begins with such a space."""
    start = program.span(node).start
    return (Replacement(start - len(_indent(program, node)), start, indent),)


def _indent(program: Program, node: ast.stmt) -> str:
    """The space before a statement that begins its line."""
    start = program.span(node).start
    line = program.source[:start].rpartition("\n")[2]
    return line if not line.strip() else ""


def _is_alone(program: Program, node: ast.stmt) -> bool:
    """Whether a statement begins its line, and no other follows on its last."""
    span = program.span(node)
    before = program.source[: span.start].rpartition("\n")[2]
    after = program.source[span.end :].partition("\n")[0].strip()
    return not before.strip() and (not after or after.startswith("#") or isinstance(node, _BLOCKS))


def _names(node: ast.AST) -> Iterator[ast.Name]:
    return (one for one in ast.walk(node) if isinstance(one, ast.Name))


def _reads(node: ast.AST, name: str) -> bool:
    return any(one.id == name for one in _names(node))
