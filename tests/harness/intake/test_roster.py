"""Rosters: who is who, who handed in nothing, and which submissions have no known author."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from grader.core.submission import Author
from grader.intake.entry import Entry
from grader.intake.people import BadRoster, Person, attribute, read_roster

pytestmark = pytest.mark.unit

HERE = Path()


def a_roster(tmp_path: Path, content: str | bytes, encoding: str = "utf-8") -> Path:
    path = tmp_path / "students.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
    return path


def read(tmp_path: Path, content: str | bytes, encoding: str = "utf-8") -> tuple[Person, ...]:
    return read_roster(a_roster(tmp_path, content, encoding))


@pytest.mark.parametrize(
    "table",
    [
        "name,id,email\nZoë Doe,123,zoe@school.example\n",
        "E-Mail Address;SIS User ID;Last Name;First Name\nzoe@school.example;123;Doe;Zoë\n",
        "First name\tSurname\tID number\tEmail address\nZoë\tDoe\t123\tzoe@school.example\n",
        "sep=;\r\n Full Name ; Student ID ; Mail \r\n Zoë Doe ;123; zoe@school.example\r\n\r\n",
        "Student\nname,id,email\nZoë Doe,123,zoe@school.example\n",
        'Course, 1\n\nVorname;Nachname;Matrikel-Nummer;E-Mail\n"Zoë";Doe;123;zoe@school.example',
        "Role,Name,SID,Email\nTA,Helper,9,h@school.example\nStudent,Zoë Doe,123,zoe@school.example",
        "name,id,email\nZoë Doe,123,zoe@school.example\nZoë Doe,123,zoe@school.example\n,,\n",
        "Name;Vorname;Matrikelnummer;E-Mail\nDoe;Zoë;123;zoe@school.example\n",
        "Name,First name,ID,Email\nZoë Doe,Zoe,123,zoe@school.example\n",
        "Course, 1, 2, 3\nname,id,email\nZoë Doe,123,zoe@school.example,,\n",
        "Full name,First name,ID,Email\nZoë Doe,Zo,123,zoe@school.example\n",
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_tables_of_many_kinds_are_read(tmp_path: Path, table: str, encoding: str) -> None:
    """Platforms and Excel write many formats."""
    (person,) = read(tmp_path, table, encoding)
    assert person.as_author() == Author("Zoë Doe", "123", "zoe@school.example")


def test_platforms_own_exports_are_rosters(tmp_path: Path) -> None:
    """Canvas's gradebook, Moodle's worksheet and Classroom's roster are read unchanged."""
    canvas = (
        "Student,ID,SIS User ID,SIS Login ID,Section,Attention (87568490)\n"
        "    Points Possible,,,,,10\n"
        '"Doe, Jane",123,S1,jdoe,A,7.5\n"Student, Test",999,,x,A,\n'
    )
    assert [one.as_author() for one in read(tmp_path, canvas)] == [Author("Doe, Jane", "123")]
    moodle = "Identifier,Full name,Email address,Status\nParticipant 37,Jane Doe,j@x.example,\n"
    assert [one.as_author() for one in read(tmp_path, moodle)] == [
        Author("Jane Doe", "37", "j@x.example")
    ]
    classroom = '"identifier","github_username","github_id","name"\n"j@x.example","jdoe","5",""\n'
    assert [one.as_author("githubusername") for one in read(tmp_path, classroom)] == [
        Author("", "jdoe", "j@x.example")
    ]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "is empty"),
        (b"\n\n ,,\n", "is empty"),
        (b"name,email\n", "a header and no rows"),
        (b"colour,size\nred,3\n", "only colour, size: call one of its columns name, email or id"),
        (b"name\nAnn Poe\nRoe, John\n", "in the row Roe, John: put a name .* in quotes"),
        (b"a,title,here\n\nname,id\nRoe, John,7\n", "in the row Roe, John, 7: put a name"),
        (b"PK\x03\x04 a workbook", "save the roster as CSV"),
        (b"\xff\xfen\x00a\x00m", "is not text"),
        (b"name\n\x00\x01", "is not text"),
        (b'name\n"' + b"x" * 200_000 + b'"\n', "is not a CSV file"),
    ],
)
def test_a_bad_roster_is_refused_with_one_sentence(
    tmp_path: Path, content: bytes, reason: str
) -> None:
    """The roster is read before anything is graded."""
    with pytest.raises(BadRoster, match=reason) as caught:
        read(tmp_path, content)
    assert "students.csv" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_names_on_a_roster_are_fit_to_print(tmp_path: Path) -> None:
    """Students may have filled in the names in a form."""
    (person,) = read(tmp_path, 'name,id\n"=cmd()\x1b[31m\n</b>",../..\n')
    assert person.as_author() == Author("=cmd()\\x1b[31m\\n</b>", "../..")


PEOPLE = (
    Person("Doe, Jane", "jdoe@school.example", (("id", "123"), ("github", "jane-doe"))),
    Person("John Roe", "roe@school.example", (("id", "124"), ("github", "Roe"))),
    Person("Ann Maria Poe", "poe@school.example", (("id", "125"), ("github", "doe"))),
    Person("Zoë O'Loe", "", (("id", "126"), ("github", "zloe"))),
)


def authors_by_submission(
    *entries: Entry, people: Sequence[Person] = PEOPLE
) -> dict[str, tuple[str, ...]]:
    """Returns the authors' names of each submission, according to the roster."""
    found = attribute(entries, people)
    return {entry.name: tuple(one.name for one in entry.authors) for entry in found.entries}


def test_authors_are_found_on_the_roster_by_id_address_or_name() -> None:
    """Canvas has a joined name and an id, Gradescope everything, and others only a name."""
    entries = [
        Entry("doejane_123", HERE, authors=(Author("doejane", "123"),)),
        Entry("John Roe", HERE, authors=(Author("John Roe"),)),
        Entry(
            "submission_1",
            HERE,
            authors=(Author("A. Poe", "", "POE@school.example"), Author("Zoe Oloe", "126")),
        ),
    ]
    found = attribute(entries, PEOPLE)
    assert [entry.authors for entry in found.entries] == [
        (Author("Doe, Jane", "123", "jdoe@school.example"),),
        (Author("John Roe", "124", "roe@school.example"),),
        (
            Author("Ann Maria Poe", "125", "poe@school.example"),
            Author("Zoë O'Loe", "126", ""),
        ),
    ]
    assert (found.absentees, found.strangers, found.notes) == ((), (), ())


def test_a_moodle_number_that_the_roster_lacks_contradicts_no_name() -> None:
    """Moodle numbers its participants anew in each assignment."""
    (entry,) = attribute([Entry("s", HERE, authors=(Author("John Roe", "37"),))], PEOPLE).entries
    assert entry.authors == (Author("John Roe", "37", "roe@school.example"),)


def test_a_namesake_with_another_id_of_the_platform_is_a_stranger() -> None:
    """Another submission shows that the roster's column holds the platform's ids."""
    entries = [
        Entry("roe", HERE, authors=(Author("John Roe", "124"),)),
        Entry("doejane_555_1", HERE, authors=(Author("doejane", "555"),)),
    ]
    found = attribute(entries, PEOPLE[:2])
    assert found.strangers == ("doejane_555_1",)
    assert found.entries[1].authors == (Author("doejane", "555"),)
    assert [one.name for one in found.absentees] == ["Doe, Jane"]


@pytest.mark.parametrize(
    ("name", "other"),
    [("ปิติ ใจดี", "ปีติ ใจดี"), ("रवि कुमार", "रवी कुमार"), ("タケタ ケン", "タケダ ケン")],
)
def test_names_that_differ_in_a_vowel_or_voicing_mark_are_two_names(name: str, other: str) -> None:
    """In Latin letters such marks are accents, which lists leave out."""
    people = (Person(name, "one@school.example", (("id", "123"),)),)
    found = authors_by_submission(Entry("s", HERE, authors=(Author(other),)), people=people)
    assert found == {"s": (other,)}
    assert authors_by_submission(Entry("s", HERE, authors=(Author(name),)), people=people) == {
        "s": (name,)
    }


@pytest.mark.parametrize(
    "label", ["jane-doe", "Doe_Jane", "DoeJane", "123", "jdoe", "jdoe@school.example", "jane doe"]
)
def test_a_plain_folder_may_be_named_by_any_identifier_of_its_author(label: str) -> None:
    """Without a platform, the folder's name is the only identifier."""
    assert authors_by_submission(Entry(label, HERE)) == {label: ("Doe, Jane",)}


@pytest.mark.parametrize(
    ("label", "other"),
    [
        ("kim", Person("Kim", "", ())),
        ("kim", Person("Bo Poe", "kim@school.example", ())),
        ("k@x.example", Person("Bo Poe", "k@x.example", ())),
    ],
)
def test_a_folder_that_names_two_people_in_two_ways_is_nobodys(label: str, other: Person) -> None:
    """It would otherwise go to the person with the id, and no doubt would be told."""
    people = (Person("Ann Lee", "", (("username", label),)), other)
    assert attribute([Entry(label, HERE)], people).strangers == (label,)


def test_a_folder_named_by_an_id_may_also_fit_a_namesake() -> None:
    """Accounts are often the name, and a number for the second person of that name."""
    people = [Person("Jane Doe", "", (("username", one),)) for one in ("janedoe", "janedoe2")]
    found = attribute([Entry("janedoe2", HERE), Entry("janedoe", HERE)], people)
    assert [entry.authors[0].id for entry in found.entries] == ["janedoe2", "janedoe"]
    people = [Person("Ann Lee", "", (("username", "kim1"),)), Person("Kim", "", ())]
    (entry,) = attribute([Entry("kim1", HERE)], people).entries
    assert entry.authors[0].name == "Ann Lee"


def test_an_ambiguous_submission_is_attributed_to_nobody() -> None:
    """If the id and the name differ, or two people share the name, nobody gets the grade."""
    twins = (*PEOPLE, Person("Jane Doe", "", (("id", "200"),)))
    entries = [
        Entry("a", HERE, authors=(Author("John Roe", "125"),)),
        Entry("b", HERE, authors=(Author("Jane Doe", ""),)),
        Entry("c", HERE, authors=(Author("Jane Doe", "200"),)),
        Entry("submission_126", HERE),
        Entry("anon_doe", HERE, authors=(Author(id="anon_doe"),)),
    ]
    found = attribute(entries, twins)
    assert found.strangers == ("a", "b", "submission_126", "anon_doe")
    assert found.entries[0].authors == (Author("John Roe", "125"),)
    assert found.entries[2].authors == (Author("Jane Doe", "200"),)


def test_absentees_and_unattributed_submissions_are_listed() -> None:
    """Absentees are listed with the same kind of id as authors."""
    entries = [
        Entry("roe", HERE, authors=(Author("John Roe", "124"),)),
        Entry("guest", HERE, authors=(Author("A Guest", "7"),)),
        Entry("group", HERE, authors=(Author("Doe, Jane", "123"), Author("Somebody Else", "8"))),
        Entry("again", HERE, authors=(Author("Jane Doe", "123"),)),
    ]
    found = attribute(entries, PEOPLE)
    assert [(one.name, one.id) for one in found.absentees] == [
        ("Ann Maria Poe", "125"),
        ("Zoë O'Loe", "126"),
    ]
    assert found.strangers == ("guest",)
    assert found.notes == (
        "Not on the roster: Somebody Else, of group.",
        "Doe, Jane has several submissions: group, again.",
    )


def test_each_doubtful_member_of_a_group_is_named() -> None:
    """Both have submissions with their ids, so that their names alone prove little."""
    entries = [
        Entry("roe", HERE, authors=(Author("John Roe", "124"),)),
        Entry("oloe", HERE, authors=(Author("Zoë O'Loe", "126"),)),
        Entry("group", HERE, authors=(Author("John Roe"), Author("Zoë O'Loe"))),
    ]
    assert attribute(entries, PEOPLE).doubts == (
        (
            "group",
            "by its name alone from John Roe, who handed in roe, "
            "and from Zoë O'Loe, who handed in oloe",
        ),
    )


def test_nobody_is_absent_if_the_roster_matches_no_submission() -> None:
    """With anonymous submissions or a wrong file, all absences would be false."""
    entries = [Entry("anon_x1", HERE, authors=(Author(id="anon_x1"),))]
    found = attribute(entries, PEOPLE)
    assert (found.absentees, found.strangers) == ((), ("anon_x1",))


ALICE = Person("Alice Doe", "alice@school.example", (("id", "7"), ("github", "alice")))
MALLORY = Person("Mallory Roe", "mallory@school.example", (("id", "8"), ("github", "mallory")))
OTHER_ALICE = Person("Alice Doe", "doe2@school.example", (("id", "9"),))


@pytest.mark.parametrize("people", [(ALICE, MALLORY), (ALICE, MALLORY, OTHER_ALICE)])
@pytest.mark.parametrize(
    "author",
    [
        Author("Alice Doe", "", "alice@elsewhere.example"),
        Author("alice doe", "", "nobody@elsewhere.example"),
        Author("ALICE DOE", "55", "nobody@elsewhere.example"),
        Author("Alice Doe", "8", "mallory@school.example"),
        Author("Alice Doe", "", "mallory@school.example"),
        Author("Alice Doe", "8"),
        Author("Mallory Roe", "7"),
        Author("Mallory Roe", "8", "alice@school.example"),
        Author("Mallory Roe", "7", "mallory@school.example"),
        Author("Alice Doe", "7", "mallory@school.example"),
        Author("Alice Doe", "8", "alice@school.example"),
        Author("", "7", "mallory@school.example"),
        Author("", "8", "alice@school.example"),
        Author("", "7", "alice@elsewhere.example"),
        Author("Alice Doe", "7", "alice@elsewhere.example"),
        Author("Alice Doe", "", "alice@school.example.evil"),
        Author("Alice Doe", "", "\uff41lice@school.example"),
    ],
)
def test_an_author_with_contradictory_identifiers_stays_unknown(
    author: Author, people: Sequence[Person]
) -> None:
    """If one identifier belongs to another person, or to nobody, the author stays unknown."""
    entry = Entry("submission_1", HERE, authors=(author,))
    found = attribute([entry], people)
    assert found.strangers == ("submission_1",)


@pytest.mark.parametrize(
    "names",
    [
        ("hw1-evil-alice", "hw1-mallory"),
        ("hw1-alice-1", "hw1-mallory"),
        ("hw1-x-alice", "hw1-mallory", "hw1-y-alice"),
        ("hw1-evil-alice", "hw1-alice"),
        ("hw1--alice", "hw1-mallory"),
    ],
)
def test_an_account_that_only_ends_like_a_known_one_stays_unknown(names: Sequence[str]) -> None:
    """The account `evil-alice` is not on the roster."""
    entries = [Entry(name, HERE, authors=(Author(id=name.removeprefix("hw1-")),)) for name in names]
    found = attribute(entries, (ALICE, MALLORY))
    strangers = [name for name in names if name not in ("hw1-alice", "hw1-mallory")]
    assert list(found.strangers) == strangers
