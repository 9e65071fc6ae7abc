"""The comparison of a class's submissions, and the pages of similar pairs for instructors only."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from grader.core.assignment import Assignment
from grader.core.files import refusing
from grader.core.folders import new_scratch
from grader.core.names import several
from grader.core.submission import Unreadable
from grader.core.text import Refusal, one_line, plain
from grader.intake.copying import CopyFailed
from grader.intake.discovery import discover, single
from grader.intake.entry import Entry, NothingToGrade
from grader.reports.pages.rendering import INDEX, assets, render, whole_folder, write_page
from grader.reports.similarity.sources import ComparedSources, Pair, SourcesClient, lines_of, ranked
from grader.results.anonymous import Mask
from grader.results.database import FILE
from grader.results.results import Results
from grader.results.store import Store

_MOST = 30  # pairs
_HANDED_OUT = ("adapters.py", "assignment", "tests/conftest.py", "tests/public")
_ADAPTERS = "adapters.py"


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """A submission of the class, or other code to compare with: its label, origin and code.

    `origin` is "" for the class's own submissions.
    """

    name: str
    origin: str
    sources: ComparedSources


@dataclass(frozen=True, slots=True, eq=False)
class SideBySide:
    """A pair with its code, and the lines of each that hold rare code of both."""

    pair: Pair
    one: Compared
    other: Compared
    lines: tuple[frozenset[tuple[int, int]], frozenset[tuple[int, int]]]


@dataclass(frozen=True, slots=True)
class SimilarPairs:
    """The most similar pairs in descending order, the class's usual similarity, and remarks.

    `usual` is the median similarity between a submission and its nearest one. `read` is the number
    of submissions of the class that were compared, and `others` the number of others.
    """

    pairs: tuple[SideBySide, ...]
    usual: float
    read: int
    others: int
    remarks: tuple[str, ...] = ()


# Code to compare: its label, its origin, and where it lies.
_Wanted = tuple[str, str, Entry]


def compare(
    results: Results,
    assignment: Assignment,
    others: Sequence[Path] = (),
    repositories: Sequence[Path] = (),
    given: Sequence[Path] = (),
    most: int = _MOST,
    mask: Mask | None = None,
    advance: Callable[[int], None] = lambda _: None,
) -> SimilarPairs:
    """Compares the submissions of a class with each other, `others` and `repositories`.

    `others` are results or folders of submissions, and `repositories` are folders or archives of
    code. `given` is handed-out code in addition to the assignment's own files. With a `mask`,
    numbers stand for names. `advance` gets the number of all submissions after each that is read.

    Raises:
        Refusal: if the class's submissions are gone, or a named path does not exist.
        StoreError: if results cannot be read.
    """
    remarks: list[str] = []
    wanted = _of_class(results, mask.labels.__getitem__ if mask else str, remarks)
    for other in others:
        wanted += _of_others(other, wanted, remarks)
    for path in repositories:
        wanted.append((path.resolve().name or str(path), "repository", single(path)))
    handed_out = [path for part in _HANDED_OUT if (path := assignment.root / part).exists()]
    found: list[Compared] = []
    unread: list[str] = []
    with SourcesClient() as client:
        known = [_known(client, single(path)) for path in (*handed_out, *given)]
        digests = frozenset(file.digest for one in known for file in one.files)
        for name, origin, entry in wanted:
            try:
                found.append(Compared(name, origin, _read(client, entry, digests)))
            except Unreadable:
                unread.append(name)
            advance(len(wanted))
    if unread:
        remarks.append(f"could not be read, and not compared: {several(unread)}")
    common = np.unique(np.concatenate([*(one.prints for one in known), np.empty(0, np.int64)]))
    own = sum(not one.origin for one in found)
    ranking = ranked([one.sources.prints for one in found], own, common, most)
    pairs = tuple(_side_by_side(pair, found, ranking.rare) for pair in ranking.pairs)
    usual = statistics.median(ranking.nearest) if ranking.nearest else 0.0
    return SimilarPairs(pairs, usual, own, len(found) - own, tuple(remarks))


def _side_by_side(pair: Pair, found: Sequence[Compared], rare: frozenset[int]) -> SideBySide:
    one, other = found[pair.one], found[pair.other]
    shared = rare & {*one.sources.prints.tolist()} & {*other.sources.prints.tolist()}
    lines = lines_of(one.sources, shared), lines_of(other.sources, shared)
    return SideBySide(pair, one, other, lines)


def _known(client: SourcesClient, entry: Entry) -> ComparedSources:
    """Returns a source that students were given.

    Raises:
        Refusal: if it cannot be read.
    """
    try:
        return _read(client, entry)
    except Unreadable as error:
        raise Refusal(f"{entry.path}: {error}") from error


def _of_class(results: Results, label: Callable[[str], str], remarks: list[str]) -> list[_Wanted]:
    names = {*results.submissions()}
    try:
        there = {entry.name: entry for entry in _entries(results) if entry.name in names}
    except NothingToGrade as error:
        raise Refusal(
            f"the submissions of {results.folder} are no longer where they were graded: {error}"
        ) from error
    if gone := sorted(map(label, names - there.keys())):
        remarks.append(f"gone since they were graded, and not compared: {several(gone)}")
    return [(label(name), "", entry) for name, entry in there.items()]


def _of_others(folder: Path, known: Sequence[_Wanted], remarks: list[str]) -> list[_Wanted]:
    with refusing(Refusal, f"{folder} cannot be read"):
        is_results, is_there = (folder / FILE).exists(), folder.exists()
    try:
        there = _entries(Store.read(folder)) if is_results else discover([folder]).entries
    except NothingToGrade as error:
        if not is_there:
            raise
        why = str(error)
        if is_results:
            why = (
                f"as its submissions are no longer where they were graded ({error}): name the "
                "folder or download that they are in now"
            )
        remarks.append(f"{folder} was not compared, {why}")
        return []
    own = {(entry.path, entry.pieces) for *_, entry in known}
    origin = folder.resolve().name or str(folder)
    return [(one.name, origin, one) for one in there if (one.path, one.pieces) not in own]


def _entries(results: Results) -> Sequence[Entry]:
    options = results.options() or {}
    adapters = str(options.get("adapters", _ADAPTERS))
    return discover([Path(path) for path in results.paths()], adapters, results.folder).entries


def _read(
    client: SourcesClient, entry: Entry, given: frozenset[str] = frozenset()
) -> ComparedSources:
    try:
        with new_scratch() as into:
            return client.read(entry, into, given)
    except (CopyFailed, OSError) as error:
        raise Refusal(f"nothing can be compared: {error}") from error


_STYLES = ("assets/page.css", "assets/alike.css")
_SCRIPTS = ("assets/theme.js",)


def alike_page(assignment: str, comparison: SimilarPairs, pages: Sequence[str]) -> str:
    """Returns the list of pairs, whose pages are at these paths."""
    return render(
        "alike.html.jinja",
        assets=assets(_STYLES, _SCRIPTS),
        assignment=one_line(assignment),
        pairs=[
            (found, len(found.lines[0]), page)
            for found, page in zip(comparison.pairs, pages, strict=True)
        ],
        usual=comparison.usual,
        read=comparison.read,
        others=comparison.others,
        remarks=[one_line(remark, 600) for remark in comparison.remarks],
    )


_MOST_LINES = 4000
_LONGEST_LINE = 400
Redacted = Callable[[str], str]


# A line of code: its number, its text, and whether it holds rare code of both.
CodeLine = tuple[int, str, bool]


def pair_page(assignment: str, found: SideBySide, redacted: Redacted) -> str:
    """Returns the page of a pair; `redacted` is applied to the texts of both submissions."""
    sides = zip("ab", (found.one, found.other), found.lines, strict=True)
    return render(
        "pair.html.jinja",
        assets=assets(_STYLES, _SCRIPTS),
        assignment=one_line(assignment),
        found=found,
        columns=[
            (side, one_line(one.name, 80), *_files(one.sources, shared, redacted))
            for side, one, shared in sides
        ],
    )


def _files(
    sources: ComparedSources, shared: Set[tuple[int, int]], redacted: Redacted
) -> tuple[list[tuple[str, list[CodeLine]]], int]:
    """Returns the files of a submission with their lines, and how many lines are left out."""
    files: list[tuple[str, list[CodeLine]]] = []
    room, left_out = _MOST_LINES, 0
    for place, file in enumerate(sources.files):
        texts = redacted(file.text).split("\n")
        left_out += max(len(texts) - room, 0)
        lines = [
            (number, plain(text).replace("\n", " ")[:_LONGEST_LINE], (place, number) in shared)
            for number, text in enumerate(texts[:room], 1)
        ]
        room -= len(lines)
        if lines:
            files.append((one_line(redacted(file.name)), lines))
    return files, left_out


_PAIRS = "pairs"


def write_alike(
    assignment: str,
    comparison: SimilarPairs,
    folder: Path,
    redacted: Redacted = str,
) -> Path:
    """Writes the list of pairs and a page for each into `folder`; returns the list's file.

    `redacted` is applied to the texts of submissions.

    Raises:
        NotWritten: if `folder` holds anything but such pages, or the disk refuses.
    """
    pages = [f"{_PAIRS}/{number:03}.html" for number, _ in enumerate(comparison.pairs, 1)]
    with whole_folder(folder) as partial:
        (partial / _PAIRS).mkdir()
        for found, page in zip(comparison.pairs, pages, strict=True):
            write_page(partial / page, pair_page(assignment, found, redacted))
        write_page(partial / INDEX, alike_page(assignment, comparison, pages))
    return folder / INDEX
