"""The store knows the authors of each submission, and the notes for instructors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from grader.core.submission import Author
from grader.core.verdict import Grade, GradeStatus
from grader.results.results import People
from grader.results.store import Store
from tests.harness.storing import add

pytestmark = pytest.mark.unit

JANE = Author("Doe, Jane", "123", "jane@school.example")
JOHN = Author("=John \udcff", "", "")


def a_grade(name: str, *notes: str) -> Grade:
    return Grade(name, GradeStatus.GRADED, 0.0, 5.0, 7, "5ab", "c0de", 0.2, None, {}, (), notes)


def test_stored_people_are_read_back_in_order(tmp_path: Path) -> None:
    """Exports credit every member of a group, and leave unknown people blank."""
    with Store.open(tmp_path, "attention") as store:
        store.set_people(People({"g1": [JANE, JOHN], "g2": []}, ["g2", "g1"], [JANE]))
        assert store.people.authors["g1"][0] == JANE
    results = Store.read(tmp_path)
    assert results.people.authors == {"g1": (JANE, Author("=John \\udcff")), "g2": ()}
    assert results.people.late == {"g1", "g2"}
    assert results.people.absentees == (JANE,)


def test_the_present_class_replaces_the_stored_people(tmp_path: Path) -> None:
    """A person who has handed in is no longer an absentee."""
    with Store.open(tmp_path, "attention") as store:
        store.set_people(People({"alice": [JANE]}, ["alice"], [JOHN]))
        store.set_people(People({"alice": [JANE]}))
        assert (store.people.authors, store.people.late, store.people.absentees) == (
            {"alice": (JANE,)},
            set(),
            (),
        )


def test_notes_are_stored_with_their_grade_but_not_in_results_jsonl(tmp_path: Path) -> None:
    """The fields of `results.jsonl` are fixed, and a new grade has new notes."""
    with Store.open(tmp_path, "attention") as store:
        add(store, a_grade("alice", "Left out: data.bin.", "Of two one was taken."), "k", 0)
        add(store, a_grade("bob", "Left out: old.bin."), "k", 1)
        add(store, a_grade("bob"), "k2", 1)
        store.write_jsonl(tmp_path / "results.jsonl")
    alice, bob = Store.read(tmp_path).grades()
    assert alice.notes == ("Left out: data.bin.", "Of two one was taken.")
    assert bob.notes == ()
    assert "notes" not in json.loads((tmp_path / "results.jsonl").read_text().splitlines()[0])
