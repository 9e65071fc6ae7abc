"""A grade's name stays with the same people, even if others later hand in under that name."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from grader.core.submission import Author
from grader.intake.entry import Discovery, Entry
from grader.intake.graded_before import GradedBefore, keep_graded
from grader.results.store import Store
from tests.harness.intake_batches import Members, batch, laid_out

pytestmark = pytest.mark.unit

ALICE = Author("Alice Doe", "7", "alice@school.example")
MALLORY = Author("Mallory Roe", "8", "mallory@school.example")
BOB = Author("Bob Lee", "9", "bob@school.example")


def an_entry(name: str, *authors: Author, content: str = "new", **fields: object) -> Entry:
    return dataclasses.replace(Entry(name, Path(content), authors=authors), **fields)


def after_comparison(
    *entries: Entry, graded: dict[str, GradedBefore], **found: object
) -> Discovery:
    """Returns the class after the comparison with old grades; a path's name is its digest."""
    return keep_graded(Discovery(entries, **found), graded, lambda entry: entry.path.name)


def old_grade_of(*authors: Author) -> GradedBefore:
    return GradedBefore(authors, "old")


@pytest.mark.parametrize("content", ["new", "old"])
def test_another_persons_submission_gets_another_name(content: str) -> None:
    """This holds even for an exact copy of the first submission."""
    found = after_comparison(
        an_entry("s_1", MALLORY, content=content), graded={"s_1": old_grade_of(ALICE)}
    )
    (entry,) = found.entries
    assert (entry.name, found.kept) == ("s_1-2", ("s_1",))
    why = "handed in under the name of Alice Doe's submission s_1, whose grade stays"
    assert dict(found.unsure) == {"s_1-2": why}
    assert found.notes == (f"s_1-2 is {why}.",)


def test_a_third_batch_keeps_the_names_of_the_second() -> None:
    """Nobody is graded again, and names do not change further."""
    graded = {"s_1": old_grade_of(ALICE), "s_1-2": old_grade_of(MALLORY)}
    found = after_comparison(an_entry("s_1", MALLORY), graded=graded)
    assert [entry.name for entry in found.entries] == ["s_1-2"]
    assert found.kept == ("s_1",)


def test_a_new_name_is_never_one_that_is_already_used() -> None:
    """The new name is neither in the class nor among the old grades."""
    graded = {"s_1": old_grade_of(ALICE), "s_1-2": old_grade_of(BOB)}
    found = after_comparison(an_entry("s_1", MALLORY), an_entry("s_1-3", BOB), graded=graded)
    assert [entry.name for entry in found.entries] == ["s_1-4", "s_1-3"]


def test_an_old_grade_is_dropped_if_its_author_has_a_new_submission() -> None:
    """If the platform renumbers submissions, each is graded by its current files."""
    found = after_comparison(
        an_entry("s_1", MALLORY), an_entry("s_2", ALICE), graded={"s_1": old_grade_of(ALICE)}
    )
    assert [entry.name for entry in found.entries] == ["s_1-2", "s_2"]
    assert found.kept == ()


def test_a_person_whose_grade_is_kept_is_no_absentee() -> None:
    """Alice handed in before, although not this time."""
    found = after_comparison(
        an_entry("s_1", MALLORY), graded={"s_1": old_grade_of(ALICE)}, absentees=(ALICE, BOB)
    )
    assert found.absentees == (BOB,)


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
def test_a_submission_by_the_same_people_keeps_its_name(
    first: tuple[Author, ...], now: tuple[Author, ...]
) -> None:
    """They have a new name, address or group, or more or fewer identifiers."""
    found = after_comparison(an_entry("hw-x-1", *now), graded={"hw-x-1": old_grade_of(*first)})
    assert [entry.name for entry in found.entries] == ["hw-x-1"]
    assert (found.kept, found.unsure) == ((), ())


def test_a_corrected_roster_moves_the_grade_of_unchanged_files() -> None:
    """The files are unchanged: the instructor corrected the author's name."""
    graded = {"ali": old_grade_of(ALICE)}
    corrected = an_entry("ali", BOB, content="old", named_only=True)
    assert after_comparison(corrected, graded=graded).entries == (corrected,)
    again = an_entry("ali", BOB, content="new", named_only=True)
    assert after_comparison(again, graded=graded).kept == ("ali",)


def test_a_second_submission_attributed_by_name_alone_is_unsure() -> None:
    """A later batch still marks the submission as unsure."""
    alice = an_entry("alice", ALICE, named_only=True)
    other = an_entry("alice-doe", ALICE, named_only=True)
    first = after_comparison(alice, other, graded={"alice": old_grade_of(ALICE)})
    why = "Alice Doe has a grade already, for alice"
    assert dict(first.unsure) == {"alice-doe": why}
    assert first.notes == (f"It is not certain whose alice-doe is: {why}.",)
    graded = {"alice": old_grade_of(ALICE), "alice-doe": GradedBefore((ALICE,), "old", why)}
    assert dict(after_comparison(alice, other, graded=graded).unsure) == {"alice-doe": why}


def test_a_grade_that_is_itself_unsure_makes_no_other_one_unsure() -> None:
    """Nobody knows whether its author is right."""
    graded = {"alice": GradedBefore((ALICE,), "old", "by its name alone")}
    other = an_entry("alice-doe", ALICE, named_only=True)
    assert after_comparison(other, graded=graded).unsure == ()
    sure = an_entry("submission_7", ALICE)
    assert after_comparison(sure, graded={"alice": old_grade_of(ALICE)}).unsure == ()


def test_a_numbered_submission_gets_back_the_name_of_its_grade() -> None:
    """A new path before the first one took that name; people count more than content."""
    graded = {"s": old_grade_of(ALICE)}
    new, numbered = an_entry("s", content="new"), an_entry("s-2", content="old", shared_name="s")
    found = after_comparison(new, numbered, graded=graded)
    assert {entry.name: entry.path.name for entry in found.entries} == {"s": "old", "s-2": "new"}
    mine = an_entry("s", ALICE, content="new")
    found = after_comparison(mine, numbered, graded=graded)
    assert [entry.path.name for entry in found.entries if entry.name == "s"] == ["new"]
    neither = an_entry("s-2", content="other", shared_name="s")
    found = after_comparison(new, neither, graded=graded)
    assert [entry.path.name for entry in found.entries] == ["new", "other"]
    assert after_comparison(numbered, graded=graded).entries == (numbered,)


@pytest.mark.parametrize(
    ("contents", "names"),
    [
        (("new", "a", "b"), {"s": "a", "s-2": "b", "s-3": "new"}),
        (("b", "a"), {"s": "a", "s-2": "b"}),
        (("new", "c", "a"), {"s": "a", "s-5": "c", "s-2": "new"}),
        (("a", "new"), {"s": "a", "s-2": "new"}),
        (("a", "a", "b"), {"s": "a", "s-2": "b", "s-3": "a"}),
    ],
)
def test_every_submission_of_one_name_gets_back_the_name_of_its_grade(
    contents: tuple[str, ...], names: dict[str, str]
) -> None:
    """The third one would otherwise take the grade of the second, and what was decided about it."""
    digests = {"s": "a", "s-2": "b", "s-5": "c", "s-x": "new"}
    graded = {name: GradedBefore((), digest) for name, digest in digests.items()}
    first, *others = (
        an_entry(f"s-{number}", content=content, shared_name="s")
        for number, content in enumerate(contents, 1)
    )
    first = dataclasses.replace(first, name="s", shared_name="")
    found = after_comparison(first, *others, graded=graded)
    assert {entry.name: entry.path.name for entry in found.entries} == names


TWO: tuple[Members, Members] = ({"alice/adapters.py": 10}, {"alice/adapters.py": 0})


def test_a_folder_given_first_does_not_take_names_of_graded_submissions(
    tiny: Path, tmp_path: Path
) -> None:
    """Equal names are numbered by position, but graded submissions keep their names."""
    mine, other = (laid_out(tmp_path / name, files) for name, files in zip("ba", TWO, strict=True))
    batch(tiny, [mine], tmp_path / "out")
    batch(tiny, [other, mine], tmp_path / "out")
    grades = {grade.submission: grade.score for grade in Store.read(tmp_path / "out").grades()}
    assert grades == {"alice": 10, "alice-2": 0}


def test_the_store_keeps_authors_and_times_of_graded_submissions(
    tiny: Path, tmp_path: Path
) -> None:
    """The old grade keeps its authors; the newcomer is stored with the reason."""

    def export(name: str, sid: str, points: int) -> Members:
        people = f"submission_1:\n  :submitters:\n  - :name: {name}\n    :sid: '{sid}'\n"
        people += "  :created_at: 2026-10-03 12:00:00 Z\n"
        return {"submission_metadata.yml": people, "submission_1/adapters.py": points}

    folder, out = tmp_path / "export", tmp_path / "out"
    batch(tiny, [laid_out(folder, export("Alice", "7", 10))], out)
    for _ in range(2):
        batch(tiny, [laid_out(folder, export("Mallory", "8", 0))], out)
    results = Store.read(out)
    assert {grade.submission: grade.score for grade in results.grades()} == {
        "submission_1": 10,
        "submission_1-2": 0,
    }
    assert results.people.authors["submission_1"] == (Author("Alice", "7"),)
    assert results.people.authors["submission_1-2"] == (Author("Mallory", "8"),)
    assert [*results.people.unsure] == ["submission_1-2"]
    assert results.people.times.keys() == {"submission_1", "submission_1-2"}
    assert results.downloads().keys() == {"submission_1", "submission_1-2"}
