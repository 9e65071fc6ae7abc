"""A submission on its way to a grade and to words, and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from grader.core.verdict import Carried, Grade, Status, Verdict
from grader.core.words import Words
from grader.intake.entry import Entry


@dataclass(frozen=True, slots=True)
class Task:
    """A submission that wants a grade: its place in the class, its hash, its cache key.

    `kept` are verdicts that stand from an earlier grade, `carried` what came back in it, `wrong` is
    what went wrong in it; the other tests are wanted. Of a submission whose import was late,
    `late_import` says so: it is not imported again.
    """

    entry: Entry
    position: int
    submission_hash: str
    key: str
    kept: tuple[Verdict, ...] = ()
    carried: tuple[Carried, ...] = ()
    wrong: Mapping[str, Status] | None = None
    late_import: str | None = None


@dataclass(frozen=True, slots=True)
class GradedTask:
    """A task and its grade."""

    task: Task
    grade: Grade


@dataclass(frozen=True, slots=True)
class ExplanationTask:
    """A submission whose grade wants words; the grade is read when it is needed.

    `verdicts` are equal where all tests ended in the same way: a mistake is likely to be the same.
    """

    entry: Entry
    grade: Callable[[], Grade]
    verdicts: bytes = b""


@dataclass(frozen=True, slots=True)
class Explained:
    """A question and the words for it; where there are none, they say why."""

    question: ExplanationTask
    words: Words
