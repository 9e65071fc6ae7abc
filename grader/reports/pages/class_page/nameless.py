"""Groups of submissions that answer alike without a known mistake, on the page of the class."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from grader.core.evidence import Excerpt, Picture
from grader.core.text import one_line
from grader.explain.mistakes.grouping import AnswerCluster, groups_of
from grader.explain.mistakes.names import NamedMistake, read_names
from grader.reports.groups import AT_LEAST, case_in_words, name_of, suspected
from grader.reports.pages.class_page.class_data import ClassEntry
from grader.results.results import Results

_MOST = 30
_ROWS, _COLUMNS = 6, 8
# Of what differs by less than this, relative to the larger, nobody sees a difference.
_SAME = 1e-3


@dataclass(frozen=True, slots=True)
class Cell:
    """One number of an answer, and whether it is another one than was expected."""

    number: str
    wrong: bool


@dataclass(frozen=True, slots=True)
class ShownTensor:
    """The beginning of a small tensor: what came, by rows, beside what was expected."""

    what: str
    expected: tuple[tuple[Cell, ...], ...]
    got: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True, slots=True)
class MemberLines:
    """The lines of one member of a group, whose first has the number `first`."""

    submission: str
    file: str
    first: int
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UnknownCluster:
    """A group: what it is, who is in it, where it shows, and two of its sources."""

    id: str
    said: str
    named: bool
    also: tuple[str, ...]
    members: tuple[ClassEntry, ...]
    tests: tuple[str, ...]
    case: str
    picture: ShownTensor | None
    sources: tuple[MemberLines, ...]


def nameless(results: Results, entries: Iterable[ClassEntry]) -> list[UnknownCluster]:
    """The groups of a class with two members or more, the largest first.

    Raises:
        BadNames: if what an instructor named cannot be read.
        StoreError: if the results cannot be read.
    """
    by_name = {entry.submission: entry for entry in entries}
    names = read_names(results.folder)
    groups = [one for one in groups_of(results.wrong_answers()) if len(one.members) >= AT_LEAST]
    return [_shown(group, names, by_name, results) for group in groups[:_MOST]]


def _shown(
    group: AnswerCluster,
    names: Sequence[NamedMistake],
    by_name: Mapping[str, ClassEntry],
    results: Results,
) -> UnknownCluster:
    called = name_of(group, names)
    return UnknownCluster(
        id=group.id,
        said=suspected(group, called),
        named=called is not None,
        also=tuple(one_line(one.exercise) for one in group.also),
        members=tuple(by_name[name] for name in group.members if name in by_name),
        tests=tuple(one_line(test.partition("::")[2] or test, 120) for test in group.tests),
        case=one_line(case_in_words(group.smallest), 400),
        picture=_picture(group, results),
        sources=tuple(_source(name, excerpt) for name, excerpt in group.sources),
    )


def _picture(group: AnswerCluster, results: Results) -> ShownTensor | None:
    """The smallest picture of a member in which the group is wrong."""
    grades = results.grades_of(group.members[:1], whole=True)
    seen = [one for grade in grades for one in grade.evidence.pictures if one.test in group.tests]
    return _beginning(min(seen, key=lambda one: len(one.expected))) if seen else None


def _beginning(picture: Picture) -> ShownTensor:
    width = picture.shape[-1] if picture.shape else 1
    expected, got = [], []
    for start in range(0, min(len(picture.expected), _ROWS * width), max(width, 1)):
        end = start + min(width, _COLUMNS)
        wanted, came = picture.expected[start:end], picture.got[start:end]
        wrong = [
            not abs(one - two) <= _SAME * max(abs(one), abs(two), 1)
            for one, two in zip(wanted, came, strict=True)
        ]
        expected.append(tuple(Cell(f"{one:.4g}", False) for one in wanted))
        got.append(tuple(Cell(f"{one:.4g}", bad) for one, bad in zip(came, wrong, strict=True)))
    test = picture.test.partition("::")[2] or picture.test
    what = f"{picture.what}, shape {list(picture.shape)}, in {test}"
    return ShownTensor(one_line(what, 200), tuple(expected), tuple(got))


def _source(submission: str, excerpt: Excerpt) -> MemberLines:
    name, file = one_line(submission, 80), one_line(excerpt.file)
    return MemberLines(name, file, excerpt.first, excerpt.lines)
