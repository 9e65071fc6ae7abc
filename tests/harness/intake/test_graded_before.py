"""Grades whose names another person's submission has, which a batch refuses to replace."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from grader.core.submission import Author
from grader.grading.batch import GradesWouldBeLost
from grader.intake.entry import Entry, GradedBefore, of_another
from grader.results.store import Store
from tests.harness.intake_batches import Members, batch, laid_out

pytestmark = pytest.mark.unit

ALICE = Author("Alice Doe", "7", "alice@school.example")
MALLORY = Author("Mallory Roe", "8", "mallory@school.example")
BOB = Author("Bob Lee", "9", "bob@school.example")


def is_anothers(entry: Entry, *first: Author) -> bool:
    """Returns whether an entry has the name of a grade of others; a path's name is its digest."""
    graded = {entry.name: GradedBefore(first, "old")}
    return of_another([entry], graded, lambda one: one.path.name) == [entry]


@pytest.mark.parametrize("content", ["new", "old"])
def test_another_persons_submission_has_the_name_of_a_grade(content: str) -> None:
    """This holds even for an exact copy of the first submission."""
    entry = Entry("s_1", Path(content), authors=(MALLORY,))
    assert is_anothers(entry, ALICE)
    assert of_another([entry], {"s_2": GradedBefore((ALICE,), "old")}, str) == []


@pytest.mark.parametrize(
    ("first", "now"),
    [
        ((ALICE,), (Author("Alice Roe", "7", "roe@school.example"),)),
        ((ALICE,), (Author("", "", "ALICE@school.example "),)),
        ((ALICE,), (Author("Doe, Alice", "s7", "alice@school.example"),)),
        ((ALICE, BOB), (BOB, MALLORY)),
        ((ALICE,), ()),
        ((), (ALICE,)),
        ((Author("Zoë"),), (Author("Zoe\u0308"),)),
        ((Author(id="1"),), (Author(id="x-1"),)),
        ((Author("Jo", "1", "old@x.example"),), (Author("Jo", "x-1", "new@x.example"),)),
    ],
)
def test_a_grade_of_the_same_people_may_be_replaced(
    first: tuple[Author, ...], now: tuple[Author, ...]
) -> None:
    """They have a new name, address or group, or more or fewer identifiers."""
    assert not is_anothers(Entry("hw-x-1", Path("new"), authors=now), *first)


def test_a_corrected_roster_moves_the_grade_of_unchanged_files() -> None:
    """The files are unchanged: the instructor corrected the author's name."""
    corrected = Entry("ali", Path("old"), authors=(BOB,), named_only=True)
    assert not is_anothers(corrected, ALICE)
    assert is_anothers(dataclasses.replace(corrected, path=Path("new")), ALICE)


def test_a_grade_is_not_replaced_by_another_persons(tiny: Path, tmp_path: Path) -> None:
    """The batch says whose it is, and grades nothing."""

    def export(name: str, sid: str, points: int) -> Members:
        people = f"submission_1:\n  :submitters:\n  - :name: {name}\n    :sid: '{sid}'\n"
        return {"submission_metadata.yml": people, "submission_1/adapters.py": points}

    folder, out = tmp_path / "export", tmp_path / "out"
    batch(tiny, [laid_out(folder, export("Alice", "7", 10))], out)
    said = "the grade of submission_1 in .* is Alice's, and submission_1 is now Mallory's: "
    with pytest.raises(GradesWouldBeLost, match=said):
        batch(tiny, [laid_out(folder, export("Mallory", "8", 0))], out)
    results = Store.read(out)
    assert [grade.score for grade in results.grades()] == [10]
    assert results.people.authors["submission_1"] == (Author("Alice", "7"),)
