"""The pages of a stretch of the class: all that can be written of it without the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.reports.pages.changes import Changes
from grader.reports.pages.class_page.class_data import ClassData
from grader.reports.pages.submission_page.graded import Graded
from grader.reports.pages.submission_page.page import submission_page
from grader.results.decisions.settling import Settling
from grader.results.results import Results


@dataclass(frozen=True, slots=True)
class PageWriting:
    """What is written, and where: the pages of `results`, as they are settled, in `folder`.

    If they are compared with another batch, `against` is that one.
    """

    results: Results
    settling: Settling
    folder: Path
    against: Results | None


@dataclass(frozen=True, slots=True)
class Stretch:
    """What the pages of the class need of some submissions that follow each other."""

    found: ClassData
    changes: Changes | None


def write_stretch(writing: PageWriting, names: Sequence[str]) -> Stretch:
    """Writes the pages of the submissions with these names.

    Raises:
        OSError: if one cannot be written.
        StoreError: if results cannot be read.
    """
    results, against = writing.results, writing.against
    earlier = {grade.submission: grade for grade in against.grades_of(names)} if against else {}
    found, changes = ClassData(), Changes() if against else None
    for grade in results.grades_of(names, whole=True):
        name, graded = grade.submission, Graded.of(grade)
        settled = writing.settling.settle(grade)
        content = submission_page(results.assignment, graded, grade.evidence, settled)
        (writing.folder / graded.page).write_text(content, encoding="utf-8", newline="\n")
        found.add(graded, results.authors.get(name, ()), settled)
        if changes is not None:
            changes.add(graded, earlier.get(name))
    return Stretch(found, changes)
