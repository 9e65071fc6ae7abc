"""The folder of pages, written as a whole or not at all."""

from __future__ import annotations

import html
import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import grader
from grader.reports.pages.changes import Changes, changes_page
from grader.reports.pages.class_data import ClassData
from grader.reports.pages.class_needs import nameless, needs
from grader.reports.pages.class_page import class_page
from grader.reports.pages.graded import Graded
from grader.reports.pages.rendering import ALIKE, ALIKE_ANONYMOUS, HEAD, INDEX, whole_folder
from grader.reports.pages.submission_page import submission_page
from grader.results.anonymous import AnonymousResults
from grader.results.decisions.opening import open_settling
from grader.results.decisions.settling import Settling
from grader.results.results import Results

CHANGES = "changes.html"
SUBMISSIONS = "submissions"
# Grades are read a few at a time: who writes to the store never waits for a whole report.
_READ_AT_ONCE = 50
_NEEDS = re.compile(rb'name="results" content="([^"]*)"><meta name="needs" content="([^"]*)"')


@dataclass(frozen=True, slots=True)
class Report:
    """A report that was written: its first page, and what changed if two batches were compared.

    `needs` are what waits for the instructor, each in words and with the command that decides it.
    """

    index: Path
    needs: Sequence[tuple[str, str]] = ()
    changes: Changes | None = None


def write_report(results: Results, folder: Path, against: Results | None = None) -> Report:
    """Writes the pages of a batch in place of an earlier report in `folder`.

    With `against`, another batch over the same class, a page says what changed since. Only
    `folder` is written to.

    Raises:
        BadDecisions: if what was decided of these grades cannot be used.
        NotWritten: if something else than a report lies there, or the disk refuses.
        StoreError: if results cannot be read.
    """
    settling = open_settling(results)
    with whole_folder(folder) as partial:
        needs, changes = _write(results, settling, partial, against, _alike(results, folder))
    return Report(folder / INDEX, needs, changes)


def current_report(results: Results, folder: Path) -> Report | None:
    """Returns the report that lies there if it was made of these very results, by this grader.

    Raises:
        BadDecisions: if what was decided of them cannot be used.
    """
    wanted = _made_of(results, open_settling(results), _alike(results, folder)).encode()
    try:
        with (folder / INDEX).open("rb") as page:
            found = _NEEDS.search(page.read(HEAD))
        pages = sum(1 for _ in (folder / SUBMISSIONS).iterdir())
    except OSError:
        return None
    if not wanted or not found or found[1] != wanted or pages != len(results.outlines()):
        return None
    return Report(folder / INDEX, json.loads(html.unescape(found[2].decode())))


def _made_of(results: Results, settling: Settling, alike: str) -> str:
    beside = " alike" if alike else ""
    said = f"{results.state} {settling.digest} {grader.__version__}{beside}"
    return said if results.state else ""


def _alike(results: Results, folder: Path) -> str:
    """Returns the place of the similarity page relative to `folder`, if there is one."""
    name = ALIKE_ANONYMOUS if isinstance(results, AnonymousResults) else ALIKE
    index = results.folder / name / INDEX
    return os.path.relpath(index, folder) if index.is_file() else ""


def _write(
    results: Results,
    settling: Settling,
    folder: Path,
    against: Results | None,
    alike: str,
) -> tuple[Sequence[tuple[str, str]], Changes | None]:
    pages = folder / SUBMISSIONS
    pages.mkdir()
    names = _names(results)
    found, changes = ClassData(), Changes() if against else None
    for first in range(0, len(names), _READ_AT_ONCE):
        part = names[first : first + _READ_AT_ONCE]
        earlier = {grade.submission: grade for grade in against.grades_of(part)} if against else {}
        for grade in results.grades_of(part, whole=True):
            name, graded = grade.submission, Graded.of(grade)
            settled = settling.settle(grade)
            content = submission_page(results.assignment, graded, grade.evidence, settled)
            (pages / graded.page).write_text(content, encoding="utf-8", newline="\n")
            found.add(graded, results.authors.get(name, ()), settled)
            if changes is not None:
                changes.add(graded, earlier.get(name))
    if changes is not None and against is not None:
        still = frozenset(names)
        changes.add_gone(name for name in _names(against) if name not in still)
        content = changes_page(results.assignment, changes)
        (folder / CHANGES).write_text(content, encoding="utf-8", newline="\n")
    imports = results.class_imports()
    # Of what was compared with another batch there is more to see than of these results.
    made_of = "" if changes else _made_of(results, settling, alike)
    groups = nameless(results, found.entries)
    wanted = needs(found, settling.unsure, groups)
    content = class_page(results, found, imports, bool(changes), made_of, alike, groups, wanted)
    (folder / INDEX).write_text(content, encoding="utf-8", newline="\n")
    return [one.in_short for one in wanted], changes


def _names(results: Results) -> list[str]:
    """Returns the submissions in the order of the class."""
    return [outline.submission for outline in results.outlines()]
