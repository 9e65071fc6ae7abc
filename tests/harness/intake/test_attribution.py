"""No student's files change another student's grade."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from grader.grading.batch import GradesWouldBeLost
from grader.intake.people import Person
from grader.results.store import Store
from tests.harness.export_fixtures import exported
from tests.harness.intake_batches import Members, batch, laid_out
from tests.harness.marks import rest_slow

pytestmark = pytest.mark.unit

ALICE = Person("Alice Doe", "alice@school.example", (("id", "7"), ("github", "alice")))
MALLORY = Person("Mallory Roe", "mallory@school.example", (("id", "8"), ("github", "mallory")))
BOB = Person("Bob Lee", "bob@school.example", (("id", "9"), ("github", "bob-1")))
ROSTER = (ALICE, MALLORY, BOB)
GRADEBOOK = """\
Student,ID,SIS User ID,SIS Login ID,Section,tiny (1)
    Points Possible,,,,,10
"Doe, Alice",7,alice,alice@school.example,A,
"Roe, Mallory",8,mallory,mallory@school.example,A,
"Lee, Bob",9,bob-1,bob@school.example,A,
"""


def gradescope(**submitters: tuple[str, str, str]) -> str:
    """Returns the metadata of an export; each submitter has a name, an id and an e-mail address."""
    lines = []
    for folder, (name, sid, email) in submitters.items():
        person = [f":name: {name!r}", f":sid: {sid!r}", f":email: {email!r}"]
        lines += [f"{folder}:", "  :submitters:", f"  - {person[0]}"]
        lines += [f"    {more}" for more in person[1:]]
    return "\n".join(lines) + "\n"


A_G = ("Alice Doe", "7", "alice@school.example")
B_G = ("Bob Lee", "9", "bob@school.example")
M_G = ("Mallory Roe", "8", "mallory@school.example")
META = "submission_metadata.yml"
HONEST: dict[str, Members] = {
    "canvas": {"doealice_7_70_adapters.py": 10, "leebob_9_71_adapters.py": 5},
    "moodle": {
        "Alice Doe_7_assignsubmission_file/adapters.py": 10,
        "Bob Lee_9_assignsubmission_file/adapters.py": 5,
    },
    "moodle, flat": {
        "Alice Doe_7_assignsubmission_file_adapters.py": 10,
        "Bob Lee_9_assignsubmission_file_adapters.py": 5,
    },
    "gradescope": {
        META: gradescope(submission_1=A_G, submission_2=B_G),
        "submission_1/adapters.py": 10,
        "submission_2/adapters.py": 5,
    },
    "classroom": {
        "hw-alice/.git/HEAD": "",
        "hw-alice/adapters.py": 10,
        "hw-bob-1/.git/HEAD": "",
        "hw-bob-1/adapters.py": 5,
    },
    "folders": {"alice/adapters.py": 10, "bob-1/adapters.py": 5},
}


@dataclass(frozen=True, slots=True)
class Hostile:
    """Files added to an honest class; files that begin with an entry of `gone` are removed."""

    platform: str
    added: Members
    gone: tuple[str, ...] = ()

    @property
    def members(self) -> dict[str, str | int]:
        """Returns the files of the class with the hostile ones."""
        there = {n: c for n, c in HONEST[self.platform].items() if not n.startswith(self.gone)}
        return there | dict(self.added)


def clone(name: str) -> Members:
    return {f"{name}/.git/HEAD": "", f"{name}/adapters.py": 0}


def by(*person: str) -> Members:
    """Returns a third submission of a Gradescope export, whose author claims to be `person`."""
    submitters = gradescope(submission_1=A_G, submission_2=B_G, submission_3=person)
    return {META: submitters, "submission_3/adapters.py": 0}


def inside(platform: str, within: str) -> Members:
    """Returns a platform's whole download, with 0 points for Alice, below the folder `within`."""
    return {
        f"{within}/{name}": 0 if content == 10 else content
        for name, content in HONEST[platform].items()
    }


CASES: Mapping[str, Hostile] = {
    # Canvas: the student chooses names of person and files, Canvas the numbers.
    "canvas: Alice's name": Hostile("canvas", {"doealice_8_72_adapters.py": 0}),
    "canvas: Alice's name, late": Hostile("canvas", {"doealice_LATE_8_72_adapters.py": 0}),
    "canvas: a file named like Alice's": Hostile(
        "canvas", {"roemallory_8_72_doealice_7_99_adapters.py": 0}
    ),
    "canvas: a name with Alice's number": Hostile("canvas", {"doealice7_8_72_adapters.py": 0}),
    "canvas: a name that ends in LATE": Hostile("canvas", {"doealice_LATE_LATE_8_72_a.py": 0}),
    "canvas: typed, under Alice's name": Hostile("canvas", {"doealice_8_text.html": "<p>0</p>"}),
    "canvas: Alice's number with a zero": Hostile("canvas", {"doealice_07_72_adapters.py": 0}),
    "canvas: Alice's number in other digits": Hostile(
        "canvas", {"doealice_\uff17_72_adapters.py": 0}
    ),
    "canvas: a name that holds Alice's number": Hostile(
        "canvas", {"doealice_7_8_72_adapters.py": 0}
    ),
    "canvas: Alice's name and number, and a large one": Hostile(
        "canvas", {"doealice_7_99999_8_72_adapters.py": 0}
    ),
    "canvas: Alice's name and number, and a likely one": Hostile(
        "canvas", {"doealice_7_73_8_72_adapters.py": 0}
    ),
    "canvas: Alice's name and number, and many others": Hostile(
        "canvas", {f"doealice_7_73_{'1_' * 9}8_72_adapters.py": 0}
    ),
    "canvas: a late file with Alice's number": Hostile(
        "canvas", {"roemallory_8_5000_7_73_adapters.py": 0}
    ),
    "canvas: Alice's name and number, typed": Hostile("canvas", {"doealice_7_8_text.html": "0"}),
    "canvas: anonymous with Alice's number": Hostile("canvas", {"anon_7_72_adapters.py": 0}),
    "canvas: in place of Alice's": Hostile(
        "canvas", {"doealice_8_72_adapters.py": 0}, ("doealice_7",)
    ),
    "canvas: a Gradescope export as a folder": Hostile("canvas", inside("gradescope", "doealice")),
    # Moodle: the student chooses the full name.
    "moodle: Alice's name": Hostile("moodle", {"Alice Doe_8_assignsubmission_file/adapters.py": 0}),
    "moodle: the whole name of Alice's folder": Hostile(
        "moodle", {"Alice Doe_7_assignsubmission_file_8_assignsubmission_file/adapters.py": 0}
    ),
    "moodle: Alice's name and number": Hostile(
        "moodle", {"Alice Doe_7_8_assignsubmission_file/adapters.py": 0}
    ),
    "moodle: Alice's name without a number": Hostile(
        "moodle", {"Alice Doe_assignsubmission_file/adapters.py": 0}
    ),
    "moodle: a Canvas download within": Hostile(
        "moodle", inside("canvas", "Mallory Roe_8_assignsubmission_file")
    ),
    "moodle, flat: Alice's name": Hostile(
        "moodle, flat", {"Alice Doe_8_assignsubmission_file_adapters.py": 0}
    ),
    "moodle, flat: the name of Alice's file as a name": Hostile(
        "moodle, flat",
        {"Alice Doe_7_assignsubmission_file_8_assignsubmission_file_adapters.py": 0},
    ),
    "moodle, flat: the name of Alice's file as a file": Hostile(
        "moodle, flat",
        {"Mallory Roe_8_assignsubmission_file_Alice Doe_7_assignsubmission_file_adapters.py": 0},
    ),
    "moodle, flat: Alice's name in another normal form": Hostile(
        "moodle, flat", {"\uff21lice Doe_8_assignsubmission_file_adapters.py": 0}
    ),
    # Gradescope: the student chooses the name, Gradescope the id and the address.
    "gradescope: Alice's name": Hostile("gradescope", by("Alice Doe", "", "m@elsewhere.example")),
    "gradescope: Alice's name alone": Hostile("gradescope", by("Alice Doe", "", "")),
    "gradescope: Alice's name, Mallory's number": Hostile("gradescope", by("Alice Doe", "8", "")),
    "gradescope: Alice's number": Hostile("gradescope", by("Mallory Roe", "7", M_G[2])),
    "gradescope: Alice's address as a name": Hostile("gradescope", by(A_G[2], "8", M_G[2])),
    "gradescope: Alice's name in other letters": Hostile(
        "gradescope", by("ALICE  DOE", "8", M_G[2])
    ),
    "gradescope: metadata of Mallory's own": Hostile(
        "gradescope", {f"submission_2/{META}": gradescope(submission_1=M_G)}
    ),
    "gradescope: the name of Alice's folder": Hostile(
        "gradescope",
        {
            META: gradescope(submission_1=M_G, submission_2=B_G),
            "submission_1/adapters.py": 0,
        },
    ),
    "gradescope: the name of Alice's folder, and Alice has another": Hostile(
        "gradescope",
        {
            META: gradescope(submission_1=M_G, submission_2=B_G, submission_3=A_G),
            "submission_1/adapters.py": 0,
            "submission_3/adapters.py": 10,
        },
    ),
    "gradescope: the name of Alice's folder, and Alice's name": Hostile(
        "gradescope",
        {
            META: gradescope(
                submission_1=("Alice Doe", "", "m@elsewhere.example"), submission_2=B_G
            ),
            "submission_1/adapters.py": 0,
        },
    ),
    # GitHub Classroom: the student chooses any account that is free.
    "classroom: an account that ends like Alice's": Hostile("classroom", clone("hw-evil-alice")),
    "classroom: an account that begins like Alice's": Hostile("classroom", clone("hw-alice-1")),
    "classroom: an account like Alice's address": Hostile("classroom", clone("hw-alice-doe")),
    "classroom: an account like Alice's number": Hostile("classroom", clone("hw-7")),
    "classroom: an account like Bob's end": Hostile("classroom", clone("hw-1")),
    "classroom: alone with a longer one": Hostile("classroom", clone("hw-x-alice"), ("hw-bob",)),
    "classroom: clones in a clone": Hostile("classroom", inside("classroom", "hw-mallory")),
    # Folders: there is only a name.
    "folders: a download within": Hostile("folders", inside("gradescope", "mallory")),
    "folders: a download like Moodle's within": Hostile("folders", inside("moodle", "mallory")),
    "folders: a folder named like Canvas's": Hostile("folders", {"alice_7_8_adapters.py": 0}),
    "folders: Alice's name": Hostile("folders", {"Alice Doe/adapters.py": 0}),
    "folders: Alice's address": Hostile("folders", {"alice@school.example/adapters.py": 0}),
    "folders: Alice's number": Hostile("folders", {"7/adapters.py": 0}),
    "folders: Alice's name with a number": Hostile("folders", {"alice-doe-2/adapters.py": 0}),
    "folders: Alice's name in capitals": Hostile("folders", {"ALICE/adapters.py": 0}),
    "folders: a file of Alice's name": Hostile("folders", {"alice.py": 0}),
}

# Without a roster, these names fit Alice no worse than the name of her own submission does. With
# one, every name of a plain folder does that fits her: the instructor decides.
SHARED = {
    "classroom: an account like Alice's number",
    "folders: Alice's address",
    "folders: Alice's number",
    "folders: Alice's name in capitals",
}
# If Alice handed in nothing, her name with an unknown number may be hers: the roster decides.
BY_CHANCE = {"canvas: in place of Alice's"}
EACH = [
    (case, with_roster)
    for case in CASES
    for with_roster in (True, False)
    if with_roster or case not in BY_CHANCE
]


def points(out: Path, folder: Path) -> tuple[dict[str, str], str]:
    """Returns the gradebook's points by person id, and the export's messages."""
    template = folder / "gradebook.csv"
    template.write_text(GRADEBOOK, encoding="utf-8")
    written = exported("canvas", Store.read(out), template)
    return written.column("tiny (1)", "ID"), written.said


@pytest.mark.parametrize(("case", "with_roster"), rest_slow(EACH, 11, rows=True))
def test_a_later_submission_does_not_change_the_grade_of_another_student(
    tiny: Path, tmp_path: Path, case: str, with_roster: bool
) -> None:
    """A later submission by another student is graded separately, and a message reports it."""
    hostile, out, people = CASES[case], tmp_path / "out", ROSTER if with_roster else ()
    folder = laid_out(tmp_path / "hw", HONEST[hostile.platform])
    batch(tiny, [folder], out, people)
    before, _ = points(out, tmp_path)
    assert (before["7"], before["9"]) == ("10", "5")
    for _ in range(2):  # a third batch changes as little as the second
        laid_out(folder, hostile.members)
        with contextlib.suppress(GradesWouldBeLost):  # its message says whose grade is there
            batch(tiny, [folder], out, people)
        after, said = points(out, tmp_path)
        assert after["7"] in ("", "10"), said
        assert hostile.gone or after["9"] == before["9"], said
        if after["7"] == "" and (case in SHARED or (people and hostile.platform == "folders")):
            assert "rows that fit several submissions" in said
        elif not hostile.gone:
            assert after["7"] == before["7"], said


@pytest.mark.parametrize(("case", "with_roster"), rest_slow(EACH, 11, rows=True))
def test_no_student_gets_the_points_of_another_in_a_first_batch(
    tiny: Path, tmp_path: Path, case: str, with_roster: bool
) -> None:
    """Alice gets her own points, or none until the instructor decides; the export says so."""
    hostile, out, people = CASES[case], tmp_path / "out", ROSTER if with_roster else ()
    batch(tiny, [laid_out(tmp_path / "hw", hostile.members)], out, people)
    got, said = points(out, tmp_path)
    assert got["7"] in ("", "10"), said
    if not got["7"] and not hostile.gone:
        assert "Alice" in said or "alice" in said
