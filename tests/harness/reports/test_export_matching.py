"""Points go to the row that is certainly the person's, or to none."""

from __future__ import annotations

import pytest

from grader.core.submission import Author
from grader.reports.export.sheet import Directory, NoRow, PersonRow

pytestmark = pytest.mark.unit

# Name, Canvas's number, SIS user id, SIS login.
CLASS = (
    ("Doe, Jane", "123", "s123", "jdoe"),
    ("Roe, Bob", "124", "125", "bob@uni.example"),
    ("Møller, Åse", "126", "s126", "aase"),
    ("van der Berg, Jan-Piet", "127", "s127", "jpb"),
    ("Smith, Ann", "128", "s128", "ann1"),
    ("Smith, Ann", "129", "s129", "ann2"),
    ("王小明", "130", "s130", "wang"),
)
DIRECTORY = Directory(
    PersonRow(number, name, keys, (name,))
    for number, (name, *keys) in enumerate(map(tuple, CLASS), 1)
)


def row_of(*author: str) -> int:
    (row,), _ = DIRECTORY.rows_of(Author(*author))
    return row.number


@pytest.mark.parametrize(
    ("author", "row"),
    [
        (("", "123"), 1),
        (("", "s123"), 1),
        (("", "jdoe"), 1),
        (("", "", "Bob@Uni.example"), 2),
        (("Jane Doe",), 1),
        (("Doe, Jane",), 1),
        (("jane   DOE",), 1),
        (("Jan-Piet van der Berg",), 4),
        (("王小明",), 7),
    ],
)
def test_people_are_found_by_id_login_address_or_name(author: tuple[str, ...], row: int) -> None:
    """The order is that of Canvas's own importer; names match in any spelling."""
    assert row_of(*author) == row


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("bob@uni.example", 2),
        ("jdoe", 1),
        ("s126", 3),
        ("123", 1),
        ("doejane", 1),
        ("jane-doe", 1),
        ("A\u030ase Møller", 3),
    ],
)
def test_a_submissions_name_stands_for_its_author(name: str, row: int) -> None:
    """A plain folder has no more: its name may be a login, an address or a platform's file name."""
    assert row_of(name) == row


@pytest.mark.parametrize("name", ["group_123", "hw_3", "zoe", "", "_", "Doe", "j"])
def test_a_name_that_only_resembles_a_person_matches_no_row(name: str) -> None:
    """A number at the end of a name proves nothing unless the name agrees."""
    with pytest.raises(NoRow, match=r"^$"):
        row_of(name)


def test_a_shared_name_matches_only_together_with_the_id() -> None:
    """Points for the wrong Ann are worse than points for no Ann."""
    assert row_of("Ann Smith", "129") == 6
    with pytest.raises(NoRow, match="2 rows have this name"):
        row_of("Ann Smith")


def test_contradicting_ids_names_and_addresses_match_no_row() -> None:
    """One person's id beside another's address is a slip in a list."""
    with pytest.raises(NoRow, match="the id leads to another row than the e-mail address"):
        row_of("Jane Doe", "123", "bob@uni.example")
    with pytest.raises(NoRow, match="the id leads to another row than the name"):
        row_of("Jane Doe", "s127")
    # Two people have this name, and neither of them has this id.
    with pytest.raises(NoRow, match="the id leads to another row than the name"):
        row_of("Ann Smith", "s123")


def test_a_number_from_another_list_is_not_taken_for_a_canvas_id() -> None:
    """Numbers of rosters and groups may equal Canvas's by chance. The name decides."""
    assert row_of("Jane Doe", "127") == 1
    with pytest.raises(NoRow, match=r"^$"):
        row_of("Group A", "127")


def test_an_id_matches_another_spelling_of_the_name() -> None:
    """One word in common with the name is enough. A SIS id needs no name."""
    assert row_of("doejane", "123") == 1
    assert row_of("Jane Doe-Smith", "123") == 1
    assert row_of("Wang Xiaoming", "s130") == 7


def test_a_group_name_matches_every_member() -> None:
    """Moodle's download names only the team; the worksheet lists its members."""
    directory = Directory(
        PersonRow(number, f"row {number}", (str(number),), (f"Person {number}",), (group,))
        for number, group in enumerate(["Group A", "Group B", "Group A"], 1)
    )
    assert [row.number for row in directory.rows_of(Author("Group A", "2"))[0]] == [1, 3]
    with pytest.raises(NoRow):
        directory.rows_of(Author("Group C", "2"))


@pytest.mark.parametrize(
    "author", [("Bob Roe", "", "nobody@x.example"), ("", "125", "b@x.example")]
)
def test_a_different_address_rules_out_a_row(author: tuple[str, ...]) -> None:
    """Two people may have the same name."""
    with pytest.raises(NoRow, match="not the one of that row"):
        row_of(*author)


def test_a_row_without_an_address_is_found_by_name() -> None:
    """There is no address that could contradict the name."""
    assert row_of("Jane Doe", "", "jane@x.example") == 1
