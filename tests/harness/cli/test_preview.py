"""The preview of a batch goes to stderr before any grading: stdout is for results."""

from pathlib import Path

import pytest

from grader.cli.commands.batch import say_what_was_found, say_who_handed_in
from grader.intake.discovery import discover
from grader.intake.entry import Author, Discovery, Entry, Skipped
from grader.intake.people import Attribution
from tests.harness.conftest import write_files

pytestmark = pytest.mark.unit


def test_a_preview_reports_the_roster_on_stderr(tmp_path, capsys):
    """The message counts the people on the roster, and names absentees and unknown submissions."""
    found = discover([write_files(tmp_path, {"ann/adapters.py": "", "bo/adapters.py": ""})])
    say_who_handed_in(
        Attribution(found.entries, 2, (Author("Poe, Cy", "3"),), ("bo",)), ["Poe, Cy"]
    )
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.splitlines() == [
        "roster: 1 of 2 people handed in",
        "handed in nothing: Poe, Cy",
        "by nobody on the roster: bo",
    ]


def test_a_roster_that_matches_no_submission_is_reported_on_stderr(tmp_path, capsys):
    """The roster's names may be in another column."""
    found = discover([write_files(tmp_path, {"ann/adapters.py": ""})])
    say_who_handed_in(Attribution(found.entries, 3, strangers=("ann",)), [])
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("roster: no submission is known to be by one of its 3 people.")


def test_skipped_files_are_reported_on_stderr(tmp_path, capsys):
    """Each skipped file is named with its reason."""
    write_files(tmp_path, {"ann/adapters.py": "", "notes.txt": "hello"})
    say_what_was_found(discover([tmp_path]))
    said = capsys.readouterr()
    assert said.out == ""
    assert "skipped 'notes.txt': " in said.err


def test_notes_and_the_kind_of_each_path_are_reported(capsys):
    """They come in one order: kinds, skipped files, notes."""
    skipped = Skipped(Path("a/notes.txt"), "not a submission")
    say_what_was_found(Discovery((), (skipped,), ("a note",), ("a: a folder",)))
    assert capsys.readouterr().err.splitlines() == [
        "a: a folder",
        "skipped 'notes.txt': not a submission",
        "a note",
    ]
    say_who_handed_in(Attribution((Entry("ann", Path("ann")),), 1, notes=("unclear",)), [])
    assert capsys.readouterr().err.splitlines() == ["roster: 1 of 1 people handed in", "unclear"]
