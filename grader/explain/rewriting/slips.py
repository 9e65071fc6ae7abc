"""Slips: rewrite rules and words, the engine's from `rules/` and an assignment's from its own file.

The handout holds an assignment's without their examples, so that `pytest` finds the same lines at
home.
"""

from __future__ import annotations

import ast
import builtins
import functools
import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from grader.core.assignment import BadAssignment
from grader.core.names import meant
from grader.explain.rewriting.edit import CHANGE
from grader.explain.rewriting.ingredients import Wanted
from grader.explain.rewriting.patterns import Row, Table, spelled_out
from grader.explain.rewriting.positions import Position
from grader.explain.rewriting.program.source import LIBRARIES
from grader.explain.rewriting.program.vocabulary import PLAIN, Group, Nature, Vocabulary
from grader.testing.cases import FIXTURES
from grader.testing.cases import SLIPS as FROZEN

SLIPS = Path("solutions/slips.toml")
HANDED_OUT = Path("tests/public", FIXTURES, FROZEN)
# Before the kinds of variables that nothing reads.
_UNREAD = "unread "
_POSITIONS = {one.name.lower(): one for one in Position}
_NATURES = {one.name.lower(): one for one in Nature}
_RULES = Path(__file__).with_name("rules")
_KEYS = ("subject", "kind", "edits", "before", "after", "where", "at", "cost", "example")
Known = TypeVar("Known")


@dataclass(frozen=True, slots=True)
class Example:
    """An example of a slip: a wrong line, and the line that one of its rows turns it into."""

    place: str
    before: str
    after: str

    def program(self, line: str) -> str:
        """Returns a function with a line as its body, and the names of both lines as parameters."""
        own = dict.fromkeys([*_names(self.after), *_names(self.before)])
        body = line.replace("\n", "\n    ")
        return f"def example({', '.join(own)}):\n    {body}\n"


@dataclass(frozen=True, eq=False)
class Slips:
    """The rows and the words of an assignment, and the examples of its slips."""

    rows: Sequence[Row] = ()
    vocabulary: Vocabulary = PLAIN
    examples: Sequence[Example] = field(default=(), repr=False)

    @functools.cached_property
    def table(self) -> Table:
        """Returns the rows by the type of node that they apply to."""
        return Table(self.rows)


NO_SLIPS = Slips()


@functools.cache
def slips_of_engine() -> Slips:
    """Returns the slips in Python and torch."""
    texts = (file.read_text(encoding="utf-8") for file in sorted(_RULES.glob("*.toml")))
    return _slips({"slip": [one for text in texts for one in tomllib.loads(text)["slip"]]})


def load_slips(root: Path) -> Slips:
    """Returns the slips of the assignment or the handout in `root`, or `NO_SLIPS` without a file.

    Raises:
        BadAssignment: if the file is invalid; the message names the row.
    """
    content = _content(root)
    return NO_SLIPS if content is None else _slips(content)


def handed_out(root: Path) -> str | None:
    """Returns the slips without their examples, as students get them; None without a file.

    Raises:
        BadAssignment: if the file is invalid.
    """
    content = _content(root)
    if content is None:
        return None
    _slips(content)
    rows = [{key: row[key] for key in row if key != "example"} for row in content.get("slip", [])]
    return json.dumps({**content, "slip": rows}, ensure_ascii=False, indent=1) + "\n"


def _content(root: Path) -> dict[str, Any] | None:
    reader: Callable[[str], Any]
    for name, form, reader in ((SLIPS, "TOML", tomllib.loads), (HANDED_OUT, "JSON", json.loads)):
        try:
            if (root / name).is_file():
                content = reader((root / name).read_text(encoding="utf-8"))
                return content if isinstance(content, dict) else None
        except OSError as problem:
            raise BadAssignment(f"{name} cannot be read: {problem.strerror}") from None
        except ValueError as problem:
            raise BadAssignment(f"{name} is not {form}: {problem}") from None
    return None


def _slips(content: Mapping[str, Any]) -> Slips:
    _only(content, ("slip", "words"), f"{SLIPS}")
    rows = content.get("slip", [])
    if not _are(rows, dict):
        raise BadAssignment(f"{SLIPS}: write each row under [[slip]]")
    read = [_slip(row, f"{SLIPS}, slip {number}") for number, row in enumerate(rows, 1)]
    found = tuple(row for own, _ in read for row in own)
    examples = tuple(example for _, example in read if example is not None)
    return Slips(found, _vocabulary(content.get("words", {})), examples)


def _slip(told: Mapping[str, Any], place: str) -> tuple[list[Row], Example | None]:
    """Returns the rows of a slip, and its example."""
    subject, kind = told.get("subject"), told.get("kind", "rewritten")
    if not isinstance(subject, str) or not subject.strip() or not isinstance(kind, str):
        raise BadAssignment(f"{place}: subject must be a text")
    pairs = _pairs(told, place)
    place = f"{place} ({pairs[0][0]} -> {pairs[0][1]})"
    _only(told, _KEYS, place)
    cost, at, where = told.get("cost", CHANGE), told.get("at", []), told.get("where", {})
    if not isinstance(cost, int | float) or isinstance(cost, bool) or not 1 <= cost <= 3:
        raise BadAssignment(f"{place}: cost must be a number from 1 (likely) to 3 (unlikely)")
    if not _are(at, str):
        raise BadAssignment(f'{place}: at must be a list of places, as ["stored"]')
    if not isinstance(where, dict):
        raise BadAssignment(f'{place}: where must be a table, as {{ x = "tensor" }}')
    positions = [_known(one, _POSITIONS, f"{place}: at") for one in at]
    wanted = {name: _wanted(one, f"{place}: where.{name}") for name, one in where.items()}
    rows = [
        Row(before, after, float(cost), subject, wanted, positions, kind)
        for pair in pairs
        for before, after in spelled_out(*pair)
        if before != after
    ]
    problems = [one.problem for one in rows if one.problem is not None]
    strange = wanted.keys() - {name for one in rows for name in one.gaps}
    problems += [f"where names ${name}, which is not a gap of the row" for name in strange]
    if problems:
        raise BadAssignment(f"{place}: {problems[0]}")
    return rows, _example(told.get("example"), place)


def _pairs(told: Mapping[str, Any], place: str) -> list[tuple[str, str]]:
    """Returns the pairs of written code and meant code of a slip."""
    pairs: Any = told.get("edits", [[told.get("before"), told.get("after")]])
    is_list = isinstance(pairs, list) and pairs
    if not is_list or not all(_are(one, str) and len(one) == 2 for one in pairs):
        raise BadAssignment(
            f"{place}: before and after must be texts, or edits a list of such pairs"
        )
    return [(str(before), str(after)) for before, after in pairs]


def _example(lines: object, place: str) -> Example | None:
    if lines is None:
        return None
    if not isinstance(lines, list) or not _are(lines, str) or len(lines) != 2:
        raise BadAssignment(f"{place}: example must be two lines of code, wrong and right")
    example = Example(place, *lines)
    for line in lines:
        try:
            ast.parse(line)
        except SyntaxError as problem:
            why = f"{line!r} is not a line of Python: {problem.msg}"
            raise BadAssignment(f"{place}: {why}") from None
    return example


def _wanted(told: object, place: str) -> Wanted:
    """Returns a condition on a gap: a kind, several ones, or the variables that it may be."""
    if isinstance(told, list) and told and _are(told, str):
        return Wanted(names=tuple(told))
    if isinstance(told, str):
        kinds = told.removeprefix(_UNREAD)
        natures = frozenset(_known(one, _NATURES, place) for one in kinds.split("|"))
        return Wanted(natures, is_unread=kinds != told)
    raise BadAssignment(f"{place} must be a kind, or a list of names")


def _vocabulary(told: object) -> Vocabulary:
    place = f"{SLIPS}, [words]"
    if not isinstance(told, dict):
        raise BadAssignment(f"{place} must be a table")
    _only(told, ("exchanged", "in_order", "kinds"), place)
    families = told.get("in_order", [])
    if not isinstance(families, list):
        raise BadAssignment(f"{place} in_order must be a list of lists of texts")
    kinds = told.get("kinds", {})
    if not isinstance(kinds, dict):
        raise BadAssignment(f"{place} kinds must be a table of patterns")
    patterns = {}
    for name, pattern in kinds.items():
        try:
            re.compile(f"|{pattern}")  # it follows the engine's own: flags must not stand there
        except (re.error, TypeError) as problem:
            raise BadAssignment(f"{place} kinds.{name} is not a pattern: {problem}") from None
        patterns[_known(name, _NATURES, f"{place} kinds")] = pattern
    in_order = [_groups(family, f"{place} in_order") for family in families]
    return Vocabulary(_groups(told.get("exchanged", []), f"{place} exchanged"), in_order, patterns)


def _groups(told: object, place: str) -> Sequence[Group]:
    if not isinstance(told, list) or not _are(told, str):
        raise BadAssignment(f'{place} must be a list of texts, as ["query key value"]')
    return [tuple(group.split()) for group in told]


def _known(name: str, known: Mapping[str, Known], place: str) -> Known:
    if name not in known:
        raise BadAssignment(f"{place}: {name!r} is not known: {meant(name, known)}")
    return known[name]


def _only(table: Mapping[str, Any], keys: Sequence[str], place: str) -> None:
    for key in table:
        if key not in keys:
            raise BadAssignment(f"{place} knows no {key!r}: {meant(key, keys)}")


def _are(values: object, kind: type) -> bool:
    return isinstance(values, list) and all(isinstance(one, kind) for one in values)


def _names(line: str) -> Iterator[str]:
    known = {*dir(builtins), *LIBRARIES}
    for node in ast.walk(ast.parse(line)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in known:
            yield node.id
