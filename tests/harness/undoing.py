"""Tables of slips that an edit must undo, and the check of one slip."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

from grader.explain.rewriting import generation
from grader.explain.rewriting.combined import combined
from grader.explain.rewriting.edit import Edit
from grader.explain.rewriting.slips import load_slips

ATTENTION = load_slips(Path(__file__).parents[2])
# Returns the edits of a program of the root assignment.
edits_of = partial(generation.edits_of, slips=ATTENTION)


def with_combinations(source: str, lines: Iterable[int] | None = None) -> list[Edit]:
    """Returns the edits of a program that are tried: those of single lines, and combinations."""
    single = [one for one in edits_of(source, lines) if len(one.lines) == 1]
    return sorted([*single, *combined(source, single)], key=lambda one: (one.cost, one.line))


def table_of(slips: Mapping[str, Sequence[Sequence[str]]]) -> list[tuple[str, str, str, str]]:
    """Returns a row for each slip: its group, the right code, the wrong code and the fixed code."""
    return [
        (group, right, wrong, fixed[0] if fixed else right)
        for group, own in slips.items()
        for right, wrong, *fixed in own
    ]


def assert_undone(program: str, group: str, right: str, wrong: str, fixed: str) -> None:
    """Asserts that an edit of the slip's own lines turns the wrong program into the fixed one."""
    assert program.count(right) >= 1, right
    slipped, wanted = program.replace(right, wrong, 1), program.replace(right, fixed, 1)
    first = program[: program.index(right)].count("\n") + 1
    lines = range(first, first + wrong.count("\n") + 1)
    assert wanted in Programs(
        slipped, [*edits_of(slipped, lines), *with_combinations(slipped, lines)]
    ), group


class Programs:
    """The programs that edits make of a source: `in` finds one with a program's syntax tree."""

    def __init__(self, source: str, edits: Iterable[Edit]) -> None:
        self._sources = [edit.applied(source) for edit in edits]

    def __contains__(self, program: str) -> bool:
        # Parsing takes a hundred times as long as comparing what equal trees share.
        marks = _without_layout(program)
        alike = (source for source in self._sources if _without_layout(source) == marks)
        return any(tree(source) == tree(program) for source in alike)


def _without_layout(source: str) -> str:
    return re.sub(r"[\s()\[\],;'\"\\]+", "", source)


def tree(source: str) -> str:
    """Returns a program's syntax tree, which has no layout."""
    return ast.dump(ast.parse(source))
