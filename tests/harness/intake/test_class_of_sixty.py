"""A class of sixty that hands in work in many forms: each row of the sheet has its own person."""

from __future__ import annotations

import io
import json
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from grader.intake.people import Person
from grader.results.store import Store
from tests.harness.export_fixtures import exported
from tests.harness.intake_batches import batch, laid_out

pytestmark = pytest.mark.unit

Files = dict[str, bytes]


@dataclass(frozen=True, slots=True)
class Student:
    """A student; `points` is the worth of the adapters that the student hands in."""

    number: int
    name: str
    points: int

    @property
    def account(self) -> str:
        """Returns the student's account name on every platform."""
        return f"s{self.number}"

    @property
    def sortable(self) -> str:
        """Returns the name as Canvas writes it into file names."""
        first, _, last = self.name.rpartition(" ")
        return "".join(c for c in f"{last}{first}".casefold() if c.isalnum()) or "x"

    @property
    def person(self) -> Person:
        """Returns the student's row of the roster."""
        ids = (("id", str(self.number)), ("github", self.account))
        return Person(self.name, f"{self.account}@school.example", ids)


def code(points: int) -> bytes:
    """Returns adapters that are worth that number of points."""
    return f"# {points}\ndef run_softmax(in_features, dim): ...\n".encode()


def zipped(files: Mapping[str, bytes]) -> bytes:
    """Returns the bytes of a zip."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def tarred(files: Mapping[str, bytes]) -> bytes:
    """Returns the bytes of a compressed tar."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def notebook(points: int) -> bytes:
    """Returns a notebook whose only cell holds the adapters."""
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    cells = [cell | {"source": code(points).decode()}]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()


# The forms in which students hand in files.
WAYS: Mapping[str, Callable[[int], Files]] = {
    "a file": lambda p: {"adapters.py": code(p)},
    "a zip": lambda p: {"hw.zip": zipped({"adapters.py": code(p)})},
    "a zip of a folder": lambda p: {"hw.zip": zipped({"hw/adapters.py": code(p)})},
    "a zip in a zip": lambda p: {"hw.zip": zipped({"in.zip": zipped({"adapters.py": code(p)})})},
    "a tar": lambda p: {"hw.tar.gz": tarred({"hw/adapters.py": code(p)})},
    "a notebook": lambda p: {"adapters.ipynb": notebook(p)},
    "a notebook as browsers save it": lambda p: {"adapters.ipynb.json": notebook(p)},
    "a notebook in a zip": lambda p: {"hw.zip": zipped({"adapters.ipynb": notebook(p)})},
    "a suffix in capitals": lambda p: {"adapters.PY": code(p)},
    "clutter beside it": lambda p: {
        "hw.zip": zipped({"hw/adapters.py": code(p), "__MACOSX/hw/._adapters.py": b"\0\5\x16\7"})
    },
    "a package": lambda p: {
        "hw.zip": zipped({"README.md": b"mine", "hw1/adapters.py": code(p), "hw1/model.py": b""})
    },
    "a report beside it": lambda p: {"adapters.py": code(p), "report.pdf": b"%PDF-1.4"},
}
# Real names, two of them equal.
NAMES = ("Zoë O'Neil", "Nguyễn Thị Ánh", "王小明", "Jane Doe", "Jane Doe", "Émile van der Berg")


def sixty() -> list[tuple[Student, Files]]:
    """Returns the students with their files."""
    found = []
    for at in range(60):
        name = NAMES[at // 12] if at % 12 == at // 12 else f"Student {chr(65 + at % 26)}x{at}"
        student = Student(1000 + at, name, at % 11)
        found.append((student, [*WAYS.values()][at % len(WAYS)](student.points)))
    return found


CLASS = sixty()


def canvas() -> Files:
    """Returns the files of Canvas's "Download Submissions"; each file has its own number."""
    return {
        f"{student.sortable}_{student.number}_{7000 + 10 * at + nth}_{name}": content
        for at, (student, files) in enumerate(CLASS)
        for nth, (name, content) in enumerate(files.items())
    }


def moodle() -> Files:
    """Returns the files of Moodle's download, in folders."""
    return {
        f"{student.name}_{student.number}_assignsubmission_file/{name}": content
        for student, files in CLASS
        for name, content in files.items()
    }


def moodle_flat() -> Files:
    """Returns the files of Moodle's download, without folders."""
    return {
        f"{student.name}_{student.number}_assignsubmission_file_{name}": content
        for student, files in CLASS
        for name, content in files.items()
    }


def gradescope() -> Files:
    """Returns the files of a Gradescope export with its metadata."""
    lines = []
    found: Files = {}
    for at, (student, files) in enumerate(CLASS):
        person = student.person
        lines += [
            f"submission_{at}:",
            "  :submitters:",
            f"  - :name: {json.dumps(person.name)}",
            f"    :sid: '{student.number}'",
            f"    :email: {person.email}",
        ]
        found |= {f"submission_{at}/{name}": content for name, content in files.items()}
    return found | {"submission_metadata.yml": "\n".join(lines).encode()}


def classroom() -> Files:
    """Returns the clones of a GitHub Classroom assignment."""
    found: Files = {}
    for student, files in CLASS:
        found[f"hw-{student.account}/.git/HEAD"] = b"ref: refs/heads/main\n"
        found |= {f"hw-{student.account}/{name}": content for name, content in files.items()}
    return found


@pytest.mark.process(takes="a second")
@pytest.mark.parametrize(
    "platform", [canvas, moodle, moodle_flat, gradescope, classroom], ids=lambda one: one.__name__
)
def test_each_of_sixty_students_gets_their_own_points(
    tiny: Path, tmp_path: Path, platform: Callable[[], Files]
) -> None:
    """Each student gets exactly their own points, and no submission stays undecided."""
    folder = laid_out(tmp_path / "hw", platform())
    found = batch(tiny, [folder], tmp_path / "out", [student.person for student, _ in CLASS])
    assert (found.unsure, found.absentees) == ((), ())
    sheet = exported("csv", Store.read(tmp_path / "out"))
    assert not sheet.loses, sheet.said
    points = sheet.column("total", "email")
    wanted = {student.person.email: f"{student.points:g}" for student, _ in CLASS}
    assert {who: points.get(who) for who in wanted} == wanted
