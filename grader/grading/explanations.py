"""Words for grades that lack them: asked for, stored, and yielded as they arrive."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from grader.core.assignment import Assignment
from grader.core.explanation import Words
from grader.core.verdict import Grade
from grader.explain.mistakes.clusters import apply_names
from grader.grading.options import Options
from grader.grading.pool import Explained, ExplanationTask, JobPool, Pools
from grader.intake.discovery import discover
from grader.intake.entry import Entry
from grader.intake.handed_in import fingerprint
from grader.results.database import LINES, StoreError
from grader.results.store import Store

_CHANGED = "it was changed or taken away since it was graded: grade it again"


def questions(
    store: Store, entries: Iterable[Entry], names: Collection[str]
) -> list[ExplanationTask]:
    """Returns those of the submissions that are among `names`, as questions."""
    return [
        ExplanationTask(entry, _grade_of(store, entry.name))
        for entry in entries
        if entry.name in names
    ]


def answered(pool: JobPool, store: Store, asked: Iterable[ExplanationTask]) -> Iterator[Explained]:
    """Yields the words for all questions: each is stored, then yielded.

    Of submissions that are the same, to the last byte and the last verdict, one is explained.
    """
    alike: dict[bytes, list[ExplanationTask]] = {}
    for question in asked:
        grade = question.grade()
        question = replace(
            question, verdicts=_digest([(one.id, one.status) for one in grade.tests])
        )
        alike.setdefault(_content(grade), []).append(question)
    same = {own[0].entry.name: own for own in alike.values()}
    firsts = [own[0] for own in alike.values()]
    for explained in pool.explain(firsts) if firsts else ():
        for question in same[explained.question.entry.name]:
            store.add_words(question.entry.name, explained.words)
            yield replace(explained, question=question)


def _content(grade: Grade) -> bytes:
    """Returns a hash of all that the words for a grade follow from."""
    verdicts = [(test.id, test.status, test.message) for test in grade.tests]
    return _digest([grade.submission_hash, grade.status, grade.message, verdicts])


def _digest(content: Sequence[object]) -> bytes:
    return hashlib.sha256(repr(content).encode("utf-8", "surrogatepass")).digest()


class MissingExplanations:
    """The grades in a folder that lack words; a generator's worth of work.

    `waiting` counts them, `changed` are the names of those that are no longer as they were graded.
    """

    def __init__(self, store: Store, assignment: Assignment) -> None:
        options = store.options()
        if options is None:
            raise StoreError("no batch was run over these results: there is nothing to explain")
        self._store = store
        self._settings = Options.from_json(options).settings(assignment)
        lacking = store.unexplained()
        there = _unchanged(store, lacking, self._settings.adapters)
        self._questions = questions(store, there, lacking)
        self.waiting = len(self._questions)
        self.changed = [name for name in lacking if name not in {one.name for one in there}]

    def words(self, pools: Pools) -> Generator[Explained]:
        """Has jobs of a pool explain what lacks words.

        Raises:
            BadAssignment: if the assignment's tests cannot be run.
            StoreError: if words cannot be stored.
        """
        for name in self.changed:
            self._store.add_words(name, Words(missing=_CHANGED))
        if self._questions:
            with pools(self._settings) as pool:
                yield from answered(pool, self._store, self._questions)
                apply_names(self._store)


def explain_folder(
    out: Path, assignment: Assignment, pools: Pools, begin: Callable[[MissingExplanations], None]
) -> Generator[Explained]:
    """Adds the words that are missing in a folder of results; `begin` is told what there is to do.

    Raises:
        StoreError: if there are no such results, or they cannot be written.
        BadAssignment: if the assignment's tests cannot be run.
        NothingToGrade: if the submissions are no longer where they were.
    """
    Store.read(out)
    with Store.open(out, assignment.name) as store:
        explanation = MissingExplanations(store, assignment)
        begin(explanation)
        try:
            yield from explanation.words(pools)
        finally:
            store.update_jsonl(out / LINES)


def _unchanged(store: Store, lacking: Collection[str], adapters: str) -> list[Entry]:
    """Returns the submissions that lack words and are as they were when they were graded."""
    if not lacking:
        return []
    hashes = store.submission_hashes()
    return [
        entry
        for entry in discover([Path(path) for path in store.paths()], adapters).entries
        if entry.name in lacking and fingerprint(entry) == hashes.get(entry.name)
    ]


def _grade_of(store: Store, submission: str) -> Callable[[], Grade]:
    return functools.partial(_read, store, submission)


def _read(store: Store, submission: str) -> Grade:
    grade = store.grade(submission)
    if grade is None:
        raise StoreError(f"the grade of {submission} is gone")
    return grade
