"""Entries: whose a submission is, what its files were called, and the form that intake reads."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from grader.core.submission import Author
from grader.intake.copying import Admission
from grader.intake.entry import Entry, Piece, are_others, names_of, normalised
from grader.intake.limits import CopyLimits, FileAllowance

pytestmark = pytest.mark.unit

ALICE, BOB = Author("Alice Doe", "7", "alice@x.example"), Author("Bob Lee", "9", "bob@x.example")


def test_identifiers_are_compared_without_case_spaces_and_normal_form() -> None:
    """Platforms write the same letter in two ways."""
    assert normalised(" ZOE\u0308 ") == normalised("Zoë") == "zoë"


@pytest.mark.parametrize(
    ("one", "other", "are_so"),
    [
        ([ALICE], [BOB], True),
        ([ALICE], [ALICE, BOB], False),
        ([Author("Alice Doe", "7")], [Author("Alice Doe", "8")], True),
        ([Author("Alice Doe", "7")], [Author("Alice Doe", "", "a@x.example")], False),
        ([Author("A", "", "a@x.example")], [Author("A", "", "b@x.example")], True),
        ([Author("Alice")], [Author("Bob")], True),
        ([Author("Alice")], [Author(id="7")], False),
        ([Author("Alice")], [], False),
        ([Author(id="1")], [Author(id="x-1")], False),
        ([Author(id="1")], [Author(id="2")], True),
        ([Author(id="-1")], [Author(id="3")], True),
    ],
)
def test_the_strongest_identifier_of_both_decides_who_is_another(
    one: list[Author], other: list[Author], are_so: bool
) -> None:
    """An id at the end of the submission's name is the same person's, however long it is."""
    assert are_others("hw-x-1", one, other) is are_so
    assert are_others("hw-x-1", other, one) is are_so


def test_people_are_called_by_their_names_or_else_by_what_is_known() -> None:
    """An address is easier to recognise than a number."""
    people = [ALICE, Author("", "8", "c@x.example"), Author(id="9")]
    assert names_of(people) == "Alice Doe, c@x.example, 9"


def test_a_submission_remembers_what_a_download_called_its_files() -> None:
    """Without pieces that is the name of its file or folder."""
    pieces = (Piece("top/a_1_x.py", "x.py"), Piece("b\x1b_1.py", "y.py"))
    assert Entry("a", Path("d.zip"), pieces).downloaded_as == ("a_1_x.py", "b\\x1b_1.py")
    assert Entry("a", Path("class/ann.zip")).downloaded_as == ("ann.zip",)


def test_an_entry_crosses_to_the_intake_process_without_its_authors() -> None:
    """Names are the business of the trusted side alone."""
    entry = Entry(
        "a", Path("d.zip"), (Piece("x", ""),), (ALICE,), True, 3, left_out=("One.",), refused="no"
    )
    found = Entry.from_json(json.loads(json.dumps(entry.without_people.as_json())))
    assert found == Entry("a", Path("d.zip"), (Piece("x", ""),), left_out=("One.",), refused="no")


LIMITS = CopyLimits(
    source=FileAllowance(2, 10, 15), data=FileAllowance(9, 99, 999), depth=3, folders=3
)


@pytest.mark.parametrize(
    ("files", "admitted", "reason"),
    [
        ([("a.py", 10)], 1, ""),
        ([("a.py", 11)], 0, "larger than 10 bytes): a.py (11 bytes)"),
        ([("a.py", 10), ("b.py", 5)], 2, ""),
        ([("a.py", 10), ("b.py", 6)], 1, "beyond 15 bytes in all): b.py"),
        ([("a.py", 1), ("b.py", 1), ("c.py", 1)], 2, "beyond the first 2 files): c.py"),
        ([("a.py", 1), ("b.py", 1), ("c.txt", 1)], 3, ""),
        ([("x/y/a.py", 1)], 1, ""),
        ([("x/y/z/a.py", 1)], 0, "more than 3 folders deep): x/y/z/a.py"),
        ([("x/a.py", 1), ("y/a.txt", 1)], 2, ""),
        ([("x/y/a.py", 1), ("x/y/b.txt", 1)], 2, ""),
        ([("x/y/a.py", 1), ("z/b.txt", 1)], 1, "beyond the first 3 folders): z/b.txt"),
        ([("x/a.py", 1), ("x/y/a.txt", 1), ("x/z/a.txt", 1)], 2, "beyond the first 3 folders"),
        ([("n" * 255, 1)], 1, ""),
        ([("n" * 256, 1)], 0, "names that this machine cannot hold"),
        ([("a\0b", 1)], 0, "names that this machine cannot hold"),
        ([("\ud800", 1)], 0, "names that this machine cannot hold"),
        ([(".git/a.py", 1), ("a.pyc", 1)], 0, ""),
    ],
)
def test_files_are_admitted_up_to_each_limit(
    files: list[tuple[str, int]], admitted: int, reason: str
) -> None:
    """The folder at the top counts as one of the folders; clutter is left out without a note."""
    admission = Admission(LIMITS)
    assert sum(admission.admits(name.split("/"), size) for name, size in files) == admitted
    notes = admission.notes()
    assert len(notes) == bool(reason)
    assert reason in "".join(notes)


def test_a_note_names_five_files_and_counts_the_others() -> None:
    """Each reason has its own note, in the order in which they occurred."""
    admission = Admission(LIMITS)
    for number in range(7):
        admission.leave_out("odd", f"{number}")
    admission.leave_out("even", "x")
    assert admission.notes() == (
        "Left out (odd): 0, 1, 2, 3, 4 and 2 more.",
        "Left out (even): x.",
    )
