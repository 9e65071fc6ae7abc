"""The letter to the people of one submission, about nobody else, and the files that hold it.

A letter is a page and a text; a browser prints pages as PDF. A platform that takes a file back
shows it under the name of the submitted file. A page with the name `attention.zip` could not be
opened, so feedback gets the format that the name promises.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import shutil
import stat
import subprocess
import tarfile
import tempfile
import textwrap
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.core.explanation import lack_in_words
from grader.core.points import points_of
from grader.core.text import Refusal, one_line, plain, points
from grader.core.verdict import Grade, GradeStatus
from grader.reports.pages.class_data import Graded
from grader.reports.pages.submission_page import submission_page
from grader.reports.standing import ExerciseStanding, Standing, feedback, fenced, notes, shortened
from grader.results.decisions.settlement import Settlement
from grader.results.decisions.settling import Settling
from grader.results.results import Results

_ANOTHERS = (
    "the platform has it under another person's name: hand it to its author with --format mail "
    "or folders"
)
_UNEQUAL = "its people have different points or comments: use --format mail or folders"


@dataclass(frozen=True, slots=True)
class Letter:
    """A submission's feedback; `downloaded_as` are its files' names in the platform's download.

    `settled` holds its people's final points; `told` holds comments and decisions, in sentences.
    `pdf` is the page as printed.
    """

    downloaded_as: tuple[str, ...]
    grade: Grade
    settled: Settlement
    told: tuple[str, ...]
    text: str
    page: str
    pdf: bytes | None = None

    def files(self) -> dict[str, bytes]:
        """Returns the contents of the feedback's files, by name."""
        found = {"feedback.html": self.page.encode(), "feedback.txt": self.text.encode()}
        return found | ({"feedback.pdf": self.pdf} if self.pdf else {})


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A submission without feedback for some of its people, and the reason, in a few words."""

    submission: str
    reason: str


def letters(
    results: Results, settling: Settling, apart: bool, to_people: bool = False
) -> Iterator[Letter | LeftOut]:
    """Yields the feedback of each submission, in the order of the class, one at a time.

    With `apart`, members of a group who get different points have separate letters; otherwise
    their submission is left out. With `to_people`, letters go to people and not back to a platform,
    so submissions of uncertain authors are left out.

    Raises:
        StoreError: if results cannot be read.
    """
    downloads = results.downloads()
    for grade in results.grades_of(results.submissions(), whole=True):
        graded, settled = Graded.of(grade), settling.settle(grade)
        if not settled:
            why = "another submission was taken instead"
        elif to_people and grade.submission in settling.unsure:
            why = "its author is not certain"
        elif not apart and _is_anothers(results, grade.submission, settled):
            why = _ANOTHERS
        else:
            why = _UNEQUAL if not apart and len(settled) > 1 else ""
        if why:
            yield LeftOut(grade.submission, why)
            continue
        named = downloads.get(grade.submission, ())
        for one in settled:
            if one.has_points or one.excused:
                yield _letter(results.assignment, graded, one, named)
            else:
                yield LeftOut(grade.submission, "not graded yet")


def _is_anothers(results: Results, submission: str, settled: Iterable[Settlement]) -> bool:
    """Returns whether a submission counts for others than its authors on the platform."""
    authors = results.people.authors.get(submission)
    if not authors or submission in results.people.unsure:
        return False
    return {person for one in settled for person in one.people} != {*authors}


def _letter(assignment: str, graded: Graded, settled: Settlement, named: tuple[str, ...]) -> Letter:
    grade = graded.grade
    told = tuple(plain(text) for text in (*settled.comments, *settled.sentences()))
    return Letter(
        downloaded_as=named,
        grade=grade,
        settled=settled,
        told=told,
        text=_text(assignment, graded.after_decisions(settled), settled, told),
        page=submission_page(assignment, graded, grade.evidence, (settled,)),
    )


def _text(assignment: str, graded: Graded, settled: Settlement, told: Sequence[str]) -> str:
    """Returns the feedback as plain text: points, decisions, and why exercises are wrong.

    Right exercises without notes come last, in one line. The text names no test, because `feedback`
    names none.
    """
    grade, worth = graded.grade, points(points_of(settled.worth))
    score = "excused" if settled.final is None else f"{points(settled.final)} of {worth} points"
    parts = [f"{one_line(assignment)}: {score}"]
    if told:
        parts.append("\n".join(told))
    if grade.message:
        parts.append(shortened(plain(grade.message)))
    if grade.unexplained:
        parts.append(lack_in_words(one_line(grade.unexplained)))
    if grade.status is GradeStatus.UNREADABLE:
        return "\n\n".join([*parts, "Nothing could be graded."]) + "\n"
    right = []
    for each in graded.exercises if graded.grade.is_complete else ():
        name, score = one_line(each.exercise), _points_of(each, settled)
        tests = graded.tests[each.exercise]
        if each.standing is Standing.FULL and not notes(tests):
            right.append(f"{name} ({score})")
            continue
        indented = textwrap.indent(feedback(tests, graded.causes), "  ")
        parts.append(f"{name}: {score}\n{indented}")
    if right:
        parts.append(f"Right: {', '.join(right)}")
    return "\n\n".join(parts) + "\n"


def _points_of(each: ExerciseStanding, settled: Settlement) -> str:
    own = settled.exercises.get(each.exercise)
    if own is None:
        return f"{points(each.score)} of {points(each.max_score)}"
    got = points(points_of(own.final))
    return f"{got}, {own.apart}" if own.apart else f"{got} of {points(points_of(own.worth))}"


_TIME = (1980, 1, 1, 0, 0, 0)
_PAGES = (".html", ".htm")
_TEXTS = (".txt", ".toml", ".yaml", ".yml", ".cfg", ".ini", ".log", ".tex")
_TARS = (".tar", ".tar.gz", ".tgz")


def in_format_of(letter: Letter, name: str) -> bytes | None:
    """Returns the feedback as content of a file of this name; None if its kind cannot hold it."""
    lower = name.lower()
    suffix = f".{lower.rpartition('.')[2]}"
    if suffix == ".zip":
        return zipped(letter.files())
    if lower.endswith(_TARS):
        packed = _tarred(letter.files())
        return packed if suffix == ".tar" else gzip.compress(packed, mtime=0)
    if suffix == ".ipynb":
        return _notebook(letter.text).encode()
    if suffix == ".py":
        return "".join(f"# {line}".rstrip() + "\n" for line in letter.text.splitlines()).encode()
    if suffix in _PAGES:
        return letter.page.encode()
    if suffix == ".pdf":
        return letter.pdf
    if suffix == ".md":  # a message may hold links and HTML
        return fenced(letter.text).encode()
    return letter.text.encode() if suffix in _TEXTS or "." not in name else None


def _tarred(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(mode="w", fileobj=buffer) as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def zipped(files: dict[str, bytes]) -> bytes:
    """Returns a zip of these files, the same bytes for the same content."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            add_to_zip(archive, name, content)
    return buffer.getvalue()


def add_to_zip(archive: zipfile.ZipFile, name: str, content: bytes, mode: int = 0o644) -> None:
    """Adds a file to a zip with a fixed time, so that equal content gives equal bytes."""
    info = zipfile.ZipInfo(name, _TIME)
    info.create_system = 3  # Unix: file modes are applied
    info.external_attr = (stat.S_IFREG | mode) << 16
    info.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(info, content)


def _notebook(text: str) -> str:
    """Returns a notebook with the text in one cell, as a code block and not as Markdown."""
    cell = {
        "cell_type": "markdown",
        "id": "feedback",
        "metadata": {},
        "source": fenced(text.removesuffix("\n")) + "\n",
    }
    notebook = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(notebook, ensure_ascii=False, indent=1) + "\n"


_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_FLAGS = ("--headless", "--disable-gpu", "--no-first-run", "--no-pdf-header-footer")
_SECONDS = 60


def browser() -> list[str]:
    """Returns the command of a browser that prints pages.

    Raises:
        Refusal: if there is none.
    """
    found = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if found is None:
        raise Refusal(
            "a PDF needs Chromium or Chrome, which this machine does not have: install one, "
            "or leave out --pdf"
        )
    # A browser that root starts refuses to work in its own sandbox.
    return [found, *_FLAGS, *(["--no-sandbox"] if os.geteuid() == 0 else [])]


def print_pdf(command: Sequence[str], page: str) -> bytes:
    """Prints a page with the browser that the command starts; returns the PDF.

    A page contains all its parts and loads nothing, so the browser needs no network.

    Raises:
        Refusal: if the browser fails.
    """
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        source, target = folder / "page.html", folder / "page.pdf"
        into = [f"--user-data-dir={folder / 'profile'}", f"--print-to-pdf={target}"]
        try:
            source.write_text(page, encoding="utf-8")
            asked = [*command, *into, source.as_uri()]
            subprocess.run(asked, capture_output=True, timeout=_SECONDS, check=False)
            return target.read_bytes()
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Refusal(
                f"{command[0]} printed no PDF: leave out --pdf, or see what it says"
            ) from error
