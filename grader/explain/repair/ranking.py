"""Ranks the edits that fix a program by how likely each undoes the author's slip.

Several edits often fix one program, and the source tells them apart. A slip leaves odd code: a
name that is never used, or the second thing before the first. Undoing the slip leaves ordinary
code.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Collection

from grader.core.names import is_adapter
from grader.explain.repair.search import FileEdit
from grader.explain.repair.sources import EditableSources
from grader.explain.rewriting.program.source import Function, bound_in
from grader.explain.rewriting.program.variables import asked_for_none
from grader.explain.rewriting.program.vocabulary import Vocabulary

_NAME = re.compile(r"[^\W\d]\w*")
# Words in a string are not names; an f-string may hold names in its braces.
_TEXT = re.compile(r"(?<![fF])(?:\"[^\"\n]*\"|'[^'\n]*')")
# The two sides of a comparison have no usual order.
_COMPARED = re.compile(r"[<>]=?|[=!]=")
# A quarter turn swaps two values and negates one: `(-second, first)` is in order.
_TURNED = re.compile(r"(?<=[(\[,])\s*-\s*[\w.]+")

_MORE_ORDERLY = -0.6
_LESS_ORDERLY = 0.8
# Swapping names that are in order only compensates for a mistake elsewhere.
_OUT_OF_ORDER = 1.6
_USES_WHAT_IS_UNUSED = -1.0
_LEAVES_UNUSED = 1.0


def weight_of(made: FileEdit, sources: EditableSources) -> float:
    """Returns the weight of an edit: its cost, plus penalties, minus bonuses.

    The lighter an edit, the likelier.
    """
    edit, source = made.edit, sources.text(made.file)
    before, after = _changed_lines(source, edit.applied(source), edit.lines)
    found = edit.cost + _by_order(before, after, sources.slips.vocabulary)
    node = sources.node(made.file, edit.line)
    if node is not None:
        old, new = (Counter(_NAME.findall(_TEXT.sub("", text))) for text in (before, after))
        unused = _unused_beside(node, edit.lines)
        if unused & (new.keys() - old.keys()):
            found += _USES_WHAT_IS_UNUSED
        if unused & (old.keys() - new.keys()) and not is_adapter(node.name):
            found += _LEAVES_UNUSED
    return found


def _by_order(before: str, after: str, vocabulary: Vocabulary) -> float:
    """Returns a bonus if an edit puts names in their usual order, a penalty if out of it."""
    was, is_now = (disorder(text, vocabulary) for text in (before, after))
    if is_now > was and sorted(_NAME.findall(before)) == sorted(_NAME.findall(after)):
        return _OUT_OF_ORDER
    return _MORE_ORDERLY if is_now < was else _LESS_ORDERLY if is_now > was else 0.0


def disorder(text: str, vocabulary: Vocabulary) -> int:
    """Returns how often a name stands right after one that it usually precedes."""
    parts = _COMPARED.split(_TURNED.sub("", text))
    return sum(vocabulary.disorder(_NAME.findall(part)) for part in parts)


def _unused_beside(node: Function, lines: Collection[int]) -> set[str]:
    """Returns the names that a function binds and reads on no line but these.

    A comparison with None is no use of a name.
    """
    asked = {id(one) for one in map(asked_for_none, ast.walk(node)) if one is not None}
    used = {
        one.id
        for one in ast.walk(node)
        if isinstance(one, ast.Name)
        and isinstance(one.ctx, ast.Load)
        and one.lineno not in lines
        and id(one) not in asked
    }
    return bound_in(node) - used - {"self", "cls"}


def _changed_lines(source: str, edited: str, lines: Collection[int]) -> tuple[str, str]:
    old, new = source.split("\n"), edited.split("\n")
    before = [old[line - 1] for line in lines if line <= len(old)]
    after = [new[line - 1] for line in lines if line <= len(new)]
    return "\n".join(before), "\n".join(after)
