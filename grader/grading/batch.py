"""A batch, which grades new and changed submissions of a class into a folder of results.

No earlier grade is lost. Then grades without words are explained; the words are stored, and yielded
as they arrive.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from grader.core.assignment import Assignment, Settings
from grader.core.explanation import PENDING, Words, needs_words
from grader.core.names import several
from grader.core.verdict import Grade, GradeStatus, Status
from grader.explain.mistakes.named_mistakes import apply_names
from grader.grading.fingerprints import grade_key, is_explained_alike
from grader.grading.options import (
    Explained,
    ExplanationTask,
    GradedTask,
    JobPool,
    Options,
    Pools,
    Task,
    chosen_otherwise,
)
from grader.intake.discovery import discover
from grader.intake.entry import Discovery, Entry, GradedBefore, names_of, of_another
from grader.intake.handed_in import fingerprint
from grader.results.database import LINES, StoreError
from grader.results.results import People
from grader.results.store import Store
from grader.worker.packages import is_installed

_WAITING = "found, not graded yet: run the batch again"
_ELSEWHERE = "name another folder for the results with --out"
_ANYWAY = "name another folder for the results, or start over with --fresh"


class GradesWouldBeLost(StoreError):
    """A folder with grades that a batch would replace or forget without being asked to."""


class Batch:
    """The submissions of a class that need a grade, and the store for their grades.

    `entries` is the class, `waiting` are the tasks to grade, and `kept` counts
    the submissions whose grades stay. `forgotten` are the names of submissions that were graded
    before and are no longer handed in. `is_regrade` is whether there were grades and none of them
    stays. `moved` holds the earlier and the new points of submissions that were graded again with
    another result. `to_explain` counts the submissions to explain, after all are graded.
    """

    def __init__(
        self, store: Store, settings: Settings, discovery: Discovery, assignment: Assignment
    ) -> None:
        self._store = store
        self._settings = settings
        self.entries = discovery.entries
        self.to_explain = 0
        self.moved: dict[str, tuple[float, float]] = {}
        finished = store.finished()
        self._graded_before = frozenset(finished)
        self.forgotten = _gone(store, discovery)
        self.waiting = _tasks(store, finished, settings, discovery)
        self.kept = len(discovery.entries) - len(self.waiting)
        self.is_regrade = bool(finished) and not self.kept
        _remember(store, discovery)
        known = set(store.submissions())
        for task in self.waiting:
            if task.entry.name not in known:  # a batch that is stopped leaves nobody out
                store.add(task.ungraded(settings, _WAITING), task.key, task.position)
        store.remember(late=assignment.late.as_json() if assignment.late else None)

    @property
    def wordless(self) -> list[str]:
        """Returns the names of submissions whose grades still need words."""
        return [name for name, why in self._store.unexplained().items() if why == PENDING]

    def results(self, pools: Pools, explain: bool = True) -> Generator[Grade | Explained]:
        """Has a pool of jobs grade the waiting submissions, then explain those without words.

        All grades are stored and written out before the first words. Each result is stored, then
        yielded. A caller that stops early closes the generator, which ends the jobs.

        Raises:
            BadAssignment: if the assignment's tests cannot be run.
            StoreError: if a grade cannot be stored.
            NoCluster: if the jobs are on other machines, and these cannot be reached or used.
        """
        if not self.waiting and not (explain and self.wordless):
            return
        with pools(self._settings) as pool:
            for graded in pool.grade(self.waiting) if self.waiting else ():
                yield self._stored(graded)
            if explain and (wordless := self.wordless):
                self._store.update_jsonl(self._store.folder / LINES)
                tasks = explanation_tasks(self._store, self.entries, wordless)
                self.to_explain = len(tasks)
                yield from explain_each(pool, self._store, tasks)
                apply_names(self._store)

    def _stored(self, graded: GradedTask) -> Grade:
        """Puts a grade into the store, which keeps the earlier words if the same tests went wrong.

        A grade of content that changed meanwhile is nobody's: half of it may have been copied.
        """
        task, grade = graded.task, graded.grade
        if fingerprint(task.entry) != task.submission_hash:
            grade = task.ungraded(self._settings, _CHANGED_MEANWHILE)
        if needs_words(grade):
            grade = replace(grade, unexplained=PENDING)
        name = grade.submission
        before = self._store.grade(name) if name in self._graded_before else None
        if before and grade.is_complete and before.final != grade.final:
            self.moved[name] = before.final, grade.final
        keeps_words = before is not None and _has_words_of(grade, before)
        self._store.add(grade, task.key, task.position, keeps_words)
        return grade


@contextlib.contextmanager
def open_batch(
    discovery: Discovery,
    paths: Sequence[Path],
    out: Path,
    assignment: Assignment,
    options: Options,
    fresh: bool = False,
) -> Iterator[Batch]:
    """Provides a batch over the folder `out`, which resumes an earlier one unless `fresh`.

    The batch is of the submissions that were discovered in `paths`. However it ends,
    `results.jsonl` then holds all grades; a file that already does is not written again.

    Raises:
        BadAssignment: if an exercise is not one of the assignment's.
        GradesWouldBeLost: if the grades in `out` were made with other options, are mostly of
            submissions that are not handed in now, or would be replaced by another person's.
        StoreError: if `out` cannot be written, is in use, or holds something else. Also if it is
            a submission, lies in one, or holds them.
    """
    _refuse_among_submissions(out, discovery, paths)
    settings = replace(options.settings(assignment), reuses_seed=True)
    with Store.open(out, assignment.name) as store:
        if fresh:
            store.clear()
        earlier = store.options()
        if earlier is not None and store.finished():
            _refuse_to_lose(store, out, discovery, options, Options.from_json(earlier))
            settings = replace(settings, seed=earlier["seed"])
        told = replace(options, seed=settings.seed).as_json()
        store.remember(options=told, paths=[str(path.absolute()) for path in paths])
        try:
            yield Batch(store, settings, discovery, assignment)
        finally:
            store.update_jsonl(out / LINES)


def _refuse_among_submissions(out: Path, discovery: Discovery, paths: Sequence[Path]) -> None:
    """Refuses results where the next batch would take them for a submission, or one for them."""
    place = Path(os.path.realpath(out))
    tops = {Path(os.path.realpath(path)) for path in paths}
    handed_in = {entry.path for entry in discovery.entries if not entry.pieces}
    if place in tops or not handed_in.isdisjoint((place, *place.parents)):
        raise StoreError(f"{out} is or lies in what was handed in: {_ELSEWHERE}")
    if place.parent in tops and place.is_dir():
        names = [item.name for item in place.iterdir() if not item.name.startswith(".")]
        if names and not any(name.startswith("results.") for name in names):
            raise StoreError(
                f"{out} lies among the submissions and is not a batch's, but holds "
                f"{several(sorted(names))}: {_ELSEWHERE}"
            )


def _refuse_to_lose(
    store: Store, out: Path, discovery: Discovery, options: Options, earlier: Options
) -> None:
    otherwise = chosen_otherwise(options, earlier)
    if otherwise:
        raise GradesWouldBeLost(
            f"the grades in {out} were made with other options ({'; '.join(otherwise)}): "
            f"repeat those, {_ANYWAY}"
        )
    graded = store.finished()
    gone = [name for name in _gone(store, discovery) if name in graded]
    if 2 * len(gone) > len(graded):
        raise GradesWouldBeLost(
            f"most of the submissions with grades in {out} are not handed in now "
            f"({several(gone)}): give their download as well, {_ANYWAY}"
        )
    known = _graded(store)
    for entry in of_another(discovery.entries, known, fingerprint):
        owners = names_of(known[entry.name].authors)
        raise GradesWouldBeLost(
            f"the grade of {entry.name} in {out} is {owners}'s, and {entry.name} is now "
            f"{names_of(entry.authors)}'s: {_ANYWAY}"
        )


def _graded(store: Store) -> dict[str, GradedBefore]:
    hashes, people, finished = store.submission_hashes(), store.people, store.finished()
    return {
        name: GradedBefore(people.authors.get(name, ()), digest)
        for name, digest in hashes.items()
        if name in finished
    }


def _remember(store: Store, discovery: Discovery) -> None:
    """Writes the present class to the store."""
    entries = discovery.entries
    store.keep_only([entry.name for entry in entries])
    people = People(
        {entry.name: tuple(entry.authors) for entry in entries if entry.authors},
        frozenset(entry.name for entry in entries if entry.late),
        tuple(discovery.absentees),
        {entry.name: entry.handed_in for entry in entries if entry.handed_in},
        dict(discovery.unsure),
    )
    store.set_people(people)
    store.remember(downloads={entry.name: entry.downloaded_as for entry in entries})


def _gone(store: Store, discovery: Discovery) -> list[str]:
    names = {entry.name for entry in discovery.entries}
    return [name for name in store.submissions() if name not in names]


def _tasks(
    store: Store,
    finished: dict[str, str],
    settings: Settings,
    discovery: Discovery,
) -> Sequence[Task]:
    """Returns the submissions without a grade, and those whose grade depends on a change."""
    lacking = store.lacking()
    wanted = {package for packages in lacking.values() for package in packages}
    installed = {package for package in wanted if is_installed(package)}
    tasks = []
    for position, entry in enumerate(discovery.entries):
        digest = fingerprint(entry)
        key = grade_key(settings, digest)
        if finished.get(entry.name) != key or lacking.get(entry.name, set()) & installed:
            tasks.append(Task(entry, position, digest, key))
    return tasks


def _has_words_of(grade: Grade, before: Grade) -> bool:
    """Returns whether an earlier grade's words are true of this grade of the same submission."""
    return (
        grade.submission_hash == before.submission_hash
        and is_explained_alike(grade.suite_hash, before.suite_hash)
        and (grade.status, before.status) == (GradeStatus.GRADED, GradeStatus.GRADED)
        and _went_wrong(grade) == _went_wrong(before)
    )


def _went_wrong(grade: Grade) -> dict[str, Status]:
    """Returns the tests that did not pass, with their statuses: these need words."""
    return {one.id: one.status for one in grade.tests if one.status is not Status.PASSED}


_CHANGED_MEANWHILE = "it was changed or taken away while the class was graded: run the batch again"
_CHANGED = "it was changed or taken away since it was graded: grade it again"
_OUTDATED = "the tests changed since it was graded: grade it again"


def explanation_tasks(
    store: Store, entries: Iterable[Entry], names: Collection[str]
) -> list[ExplanationTask]:
    """Returns an explanation task for each submission that is among `names`."""
    return [
        ExplanationTask(entry, functools.partial(_read, store, entry.name))
        for entry in entries
        if entry.name in names
    ]


def explain_each(
    pool: JobPool, store: Store, tasks: Iterable[ExplanationTask]
) -> Iterator[Explained]:
    """Yields the words for all tasks, after storing them.

    Words for content that changed since it was graded are dropped.
    """
    hashes = store.submission_hashes()
    told = [replace(task, verdicts=_verdicts(task.grade())) for task in tasks]
    for explained in pool.explain(told) if told else ():
        entry = explained.task.entry
        if fingerprint(entry) != hashes[entry.name]:
            explained = replace(explained, words=Words(missing=_CHANGED))
            store.set_unexplained(entry.name, _CHANGED)
        else:
            store.add_words(entry.name, explained.words)
        yield explained


def _verdicts(grade: Grade) -> bytes:
    """Returns a hash of how a grade's tests ended."""
    ended = [(one.id, one.status) for one in grade.tests]
    return hashlib.sha256(repr(ended).encode("utf-8", "surrogatepass")).digest()


class MissingExplanations:
    """The grades in a folder that have no words.

    `waiting` counts the grades to explain. `changed` are the names of the other submissions: they
    or the tests changed since they were graded.
    """

    def __init__(self, store: Store, assignment: Assignment, seconds: float | None = None) -> None:
        options = store.options()
        if options is None:
            raise StoreError("no batch was run over these results: there is nothing to explain")
        self._store = store
        settings = Options.from_json(options).settings(assignment)
        self._settings = replace(settings, explain_seconds=seconds or settings.explain_seconds)
        lacking, now = store.unexplained(), self._settings.suite_hash
        graded = store.grades() if lacking else ()
        self._outdated = {one.submission for one in graded if one.suite_hash != now}
        there = _unchanged(store, lacking.keys() - self._outdated, self._settings.adapters)
        self._tasks = explanation_tasks(store, there, lacking)
        self.waiting = len(self._tasks)
        self.changed = [name for name in lacking if name not in {one.name for one in there}]

    def words(self, pools: Pools) -> Generator[Explained]:
        """Has jobs of a pool explain the grades, and yields the words.

        Raises:
            BadAssignment: if the assignment's tests cannot be run.
            StoreError: if words cannot be stored.
        """
        for name in self.changed:
            self._store.set_unexplained(name, _OUTDATED if name in self._outdated else _CHANGED)
        if self._tasks:
            with pools(self._settings) as pool:
                yield from explain_each(pool, self._store, self._tasks)
                apply_names(self._store)


@contextlib.contextmanager
def open_explanations(
    out: Path, assignment: Assignment, seconds: float | None = None
) -> Iterator[MissingExplanations]:
    """Provides the missing explanations of a folder of results, and writes `results.jsonl` at last.

    `seconds` is the time for one submission; by default the batch's.

    Raises:
        StoreError: if there are no such results, or they cannot be written.
        NothingToGrade: if the submissions are no longer where they were.
    """
    Store.read(out)
    with Store.open(out, assignment.name) as store:
        missing = MissingExplanations(store, assignment, seconds)
        try:
            yield missing
        finally:
            store.update_jsonl(out / LINES)


def _unchanged(store: Store, lacking: Collection[str], adapters: str) -> list[Entry]:
    """Returns the submissions without words that did not change since they were graded."""
    if not lacking:
        return []
    hashes = store.submission_hashes()
    found = discover([Path(path) for path in store.paths()], adapters, store.folder).entries
    return [
        entry
        for entry in found
        if entry.name in lacking and fingerprint(entry) == hashes.get(entry.name)
    ]


def _read(store: Store, submission: str) -> Grade:
    grade = store.grade(submission)
    if grade is None:
        raise StoreError(f"the grade of {submission} is gone")
    return grade
