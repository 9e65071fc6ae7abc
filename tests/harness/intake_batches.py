"""A class in a real store: each grade is the number in the first line of its adapters."""

from __future__ import annotations

import dataclasses
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from grader.core.assignment import find_assignment
from grader.core.submission import Unreadable
from grader.grading.batch import open_batch
from grader.grading.options import GradedTask, Options, Task
from grader.intake.discovery import discover
from grader.intake.entry import Discovery
from grader.intake.people import Person, attribute
from grader.intake.process import take_in
from tests.harness.export_fixtures import a_grade as a_whole_grade
from tests.harness.export_fixtures import a_verdict

WORTH = 10.0
_POINTS = re.compile(r"^# ([0-9]+)$", re.MULTILINE)
Members = Mapping[str, str | int | bytes]


def laid_out(folder: Path, members: Members) -> Path:
    """Writes a folder with these files only; a number stands for adapters with those points."""
    shutil.rmtree(folder, ignore_errors=True)
    for name, content in members.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(f"# {content}\n" if isinstance(content, int) else content)
    return folder


def batch(
    assignment: Path, paths: Sequence[Path], out: Path, people: Sequence[Person] = ()
) -> Discovery:
    """Runs a batch without its grading; returns the class."""
    found = discover(paths)
    if people:
        found = attribute(found.entries, people).applied_to(found)
    course = find_assignment(assignment)
    suite = Options(seed=7).settings(course).suite_hash
    with open_batch(found, paths, out, course, Options(seed=7)) as opened:
        for task in opened.waiting:
            opened._stored(_graded(task, out.parent / "copy", suite))
    return found


def _graded(task: Task, copy: Path, suite: str) -> GradedTask:
    shutil.rmtree(copy, ignore_errors=True)
    copy.mkdir()
    try:
        taken = take_in(task.entry, copy)
        # A notebook's cells become files in a folder beside the adapters that run them.
        files = [taken.root / taken.adapters, *taken.root.glob("*.ipynb/*")]
        points = float(_POINTS.search("".join(file.read_text() for file in files))[1])
    except Unreadable:
        points = 0.0
    grade = a_whole_grade(task.entry.name, a_verdict("run_rope", points, WORTH))
    hashes = {"submission_hash": task.submission_hash, "suite_hash": suite}
    return GradedTask(task, dataclasses.replace(grade, **hashes))
