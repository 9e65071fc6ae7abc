"""Edits that belong together: the same change in like places, and changes that swap.

Whoever writes three like lines makes the same slip in each; whoever mixes two things up does it in
two places.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from grader.explain.rewriting.edit import Edit, Replacement, common_start

# The cost of making a change in several places.
_TOGETHER = 0.5
_MOST = 6
# The changed texts, each with its new text.
_Change = tuple[tuple[str, str], ...]


def combined(source: str, edits: Iterable[Edit]) -> Iterator[Edit]:
    """Yields combinations of the edits of a file that each change a single line.

    Places are like if they are in one line, or if the same parts of like statements of one function
    change.
    """
    groups: dict[tuple[str | int, _Change], list[Edit]] = defaultdict(list)
    for edit in edits:
        pieces = ((source[one.start : one.end], one.text) for one in edit.replacements)
        change = tuple(_shortest(*piece) for piece in pieces)
        for where in (edit.role, edit.line):
            groups[where, change].append(edit)
    found: dict[tuple[Replacement, ...], Edit] = {}
    for (where, change), group in groups.items():
        contrary = tuple((new, old) for old, new in change)
        swapping = groups.get((where, contrary), []) if change < contrary else []
        swaps = itertools.islice(itertools.product(group, swapping), _MOST)
        for own in (group, *_runs(group), [*group, *swapping] if swapping else [], *swaps):
            if 1 < len(own) <= _MOST and (made := _together(own)) is not None:
                found.setdefault(made.replacements, made)
    yield from found.values()


def _runs(edits: Iterable[Edit]) -> list[list[Edit]]:
    """Returns the edits in groups of adjacent lines."""
    runs: list[list[Edit]] = []
    for edit in sorted(edits, key=lambda one: one.line):
        if runs and edit.line <= runs[-1][-1].line + 1:
            runs[-1].append(edit)
        else:
            runs.append([edit])
    return runs


def _shortest(old: str, new: str) -> tuple[str, str]:
    """Returns what changes in a text: ".T" and "" for "q.T" and "q"."""
    same = common_start(old, new)
    old, new = old[same:], new[same:]
    end = common_start(old[::-1], new[::-1])
    return old[: len(old) - end], new[: len(new) - end]


def _together(edits: Sequence[Edit]) -> Edit | None:
    """Returns the edit that makes all of the edits, or None if they meet."""
    pieces: list[Replacement] = sorted(one for edit in edits for one in edit.replacements)
    lines = tuple(sorted({line for edit in edits for line in edit.lines}))
    ends = [one.end for one in pieces[:-1]]
    if any(end > one.start for end, one in zip(ends, pieces[1:], strict=True)):
        return None
    cost = max(edit.cost for edit in edits) + _TOGETHER
    first = min(edits, key=lambda edit: edit.line)
    return replace(first, line=lines[0], lines=lines, cost=cost, replacements=tuple(pieces))
