"""The comparison of a class's submissions with each other and with other code."""

from __future__ import annotations

import contextlib
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from grader.core.assignment import Assignment
from grader.core.files import new_scratch
from grader.core.names import several
from grader.core.submission import Unreadable
from grader.core.text import Refusal
from grader.intake.copying import CopyFailed
from grader.intake.discovery import discover, single
from grader.intake.entry import Entry, NothingToGrade
from grader.reports.similarity.sources import (
    ComparedSources,
    Numbers,
    Pair,
    Ranking,
    SourcesClient,
    lines_of,
    ranked,
)
from grader.results.anonymous import Mask
from grader.results.database import FILE
from grader.results.results import Results
from grader.results.store import Store

_HANDED_OUT = ("adapters.py", "assignment", "tests/conftest.py", "tests/public")
_ADAPTERS = "adapters.py"


@dataclass(frozen=True, slots=True)
class Compared:
    """A submission of the class, or other code to compare with: its label and its origin.

    `origin` is "" for the class's own submissions.
    """

    name: str
    origin: str
    entry: Entry


@dataclass(frozen=True, slots=True)
class SideBySide:
    """A pair with its code, and the lines of each that hold rare code of both."""

    pair: Pair
    one: Compared
    other: Compared
    sources: tuple[ComparedSources, ComparedSources]
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


@dataclass(slots=True)
class Collection:
    """The submissions to compare, and the remarks on those that are left out.

    With a `mask`, the class's numbers stand for names.
    """

    mask: Mask | None
    found: list[Compared] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    def add(self, entries: Iterable[Entry], origin: str) -> None:
        """Adds submissions of the class, or those of an origin."""
        self.found += [Compared(self.label(entry.name), origin, entry) for entry in entries]

    def label(self, name: str) -> str:
        """Returns the label of a submission."""
        return self.mask.labels[name] if self.mask else name


def compare(
    results: Results,
    assignment: Assignment,
    others: Sequence[Path] = (),
    repositories: Sequence[Path] = (),
    given: Sequence[Path] = (),
    most: int = 30,
    mask: Mask | None = None,
    advance: Callable[[int], None] | None = None,
) -> SimilarPairs:
    """Compares the submissions of a class with each other, `others` and `repositories`.

    `others` are results or folders of submissions, and `repositories` are folders or archives of
    code. `given` is handed-out code in addition to the assignment's own files. With a `mask`,
    numbers stand for names. `advance` gets the number of all submissions after each that is read.

    Raises:
        Refusal: if the class's submissions are gone, or a named path does not exist.
        StoreError: if results cannot be read.
    """
    collection = Collection(mask)
    _add_class(collection, results)
    for other in others:
        _add_others(collection, other)
    for repository in repositories:
        name = repository.resolve().name or str(repository)
        collection.found.append(Compared(name, "repository", single(repository)))
    return _compared(collection, assignment, given, most, advance)


def _compared(
    collection: Collection,
    assignment: Assignment,
    given: Sequence[Path],
    most: int,
    advance: Callable[[int], None] | None,
) -> SimilarPairs:
    handed_out = [assignment.root / part for part in _HANDED_OUT]
    entries = [single(path) for path in (*filter(Path.exists, handed_out), *given)]
    with SourcesClient() as client:
        known = [_known(client, entry) for entry in entries]
        digests = frozenset(file.digest for one in known for file in one.files)
        common = np.unique(np.concatenate([*(one.prints for one in known), np.empty(0, np.int64)]))
        read, prints = _read_all(client, collection, digests, advance)
        own = sum(not one.origin for one in read)
        ranking = ranked(prints, own, common, most)
        pairs = [*_side_by_side(client, read, digests, ranking)]
    usual = statistics.median(ranking.nearest) if ranking.nearest else 0.0
    remarks = tuple(collection.remarks)
    return SimilarPairs(tuple(pairs), usual, own, len(read) - own, remarks)


def _known(client: SourcesClient, entry: Entry) -> ComparedSources:
    """Returns a source that students were given.

    Raises:
        Refusal: if it cannot be read.
    """
    try:
        return _read(client, entry)
    except Unreadable as error:
        raise Refusal(f"{entry.path}: {error}") from error


def _add_class(collection: Collection, results: Results) -> None:
    names = {*results.submissions()}
    try:
        there = _entries(results)
    except NothingToGrade as error:
        raise Refusal(
            f"the submissions of {results.folder} are no longer where they were graded: {error}"
        ) from error
    collection.add((entry for entry in there if entry.name in names), "")
    lacking = names - {entry.name for entry in there}
    if gone := sorted(map(collection.label, lacking)):
        collection.remarks.append(f"gone since they were graded, and not compared: {several(gone)}")


def _add_others(collection: Collection, folder: Path) -> None:
    try:
        is_results, is_there = (folder / FILE).exists(), folder.exists()
    except OSError as error:
        raise Refusal(f"{folder} cannot be read: {error.strerror}") from error
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
        collection.remarks.append(f"{folder} was not compared, {why}")
        return
    own = {(one.entry.path, one.entry.pieces) for one in collection.found}
    others = (entry for entry in there if (entry.path, entry.pieces) not in own)
    collection.add(others, folder.resolve().name or str(folder))


def _entries(results: Results) -> Sequence[Entry]:
    options = results.options() or {}
    adapters = str(options.get("adapters", _ADAPTERS))
    return discover([Path(path) for path in results.paths()], adapters, results.folder).entries


def _read_all(
    client: SourcesClient,
    collection: Collection,
    digests: frozenset[str],
    advance: Callable[[int], None] | None,
) -> tuple[list[Compared], list[Numbers]]:
    """Returns what can be read, with its fingerprints."""
    read: list[Compared] = []
    prints: list[Numbers] = []
    unread: list[str] = []
    for one in collection.found:
        try:
            sources = _read(client, one.entry, digests)
        except Unreadable:
            unread.append(one.name)
        else:
            read.append(one)
            prints.append(sources.prints)
        if advance is not None:
            advance(len(collection.found))
    if unread:
        collection.remarks.append(f"could not be read, and not compared: {several(unread)}")
    return read, prints


def _side_by_side(
    client: SourcesClient,
    found: Sequence[Compared],
    digests: frozenset[str],
    ranking: Ranking,
) -> Iterator[SideBySide]:
    """Yields the pairs with their code; a submission in them is read once more, with its texts."""
    shown = {place for pair in ranking.pairs for place in (pair.one, pair.other)}
    texts: dict[int, ComparedSources] = {}
    for place in sorted(shown):
        # One that is gone meanwhile, or late this time, is shown without code.
        texts[place] = ComparedSources()
        with contextlib.suppress(Unreadable):
            texts[place] = _read(client, found[place].entry, digests, texts=True)
    for pair in ranking.pairs:
        sources = texts[pair.one], texts[pair.other]
        one, other = sources
        shared = ranking.rare & {*one.prints.tolist()} & {*other.prints.tolist()}
        lines = lines_of(one, shared), lines_of(other, shared)
        yield SideBySide(pair, found[pair.one], found[pair.other], sources, lines)


def _read(
    client: SourcesClient,
    entry: Entry,
    given: frozenset[str] = frozenset(),
    texts: bool = False,
) -> ComparedSources:
    try:
        with new_scratch() as into:
            return client.read(entry, into, given, texts)
    except (CopyFailed, OSError) as error:
        raise Refusal(f"nothing can be compared: {error}") from error
