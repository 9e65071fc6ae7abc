"""Each fault of a decision's table, each target that it may name, and each form of a time."""

from __future__ import annotations

import datetime
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from grader.core.late_rule import LateRule
from grader.core.submission import Author
from grader.core.verdict import Status
from grader.results.anonymous import AnonymousResults, numbered
from grader.results.decisions.decision import BadDecisions, ClassList, UnknownName, Whom
from grader.results.decisions.file import append_decision, complaints, remove_decision
from grader.results.decisions.opening import open_settling, read_times
from grader.results.decisions.settling import effects
from grader.results.results import Results
from grader.results.store import Store
from tests.harness.conftest import write_files
from tests.harness.export_fixtures import a_batch, a_grade, a_verdict, scored

pytestmark = pytest.mark.unit

ALICE, JANE, BOB = Author("Alice Apple", "11"), Author("Jane Doe", "12"), Author("Bob Roe", "13")
WANDA = Author("Wanda Absent", "99", "wanda@x.edu")
POINTS = {"person": "a", "reason": "r"}
NOON = datetime.datetime(2026, 10, 3, 12, tzinfo=datetime.UTC)


@pytest.mark.parametrize(
    ("kind", "table", "wrong"),
    [
        ("points", {**POINTS, "to": 0}, ()),
        ("points", {**POINTS, "to": 2.5, "exercise": "x", "who": "w", "when": NOON}, ()),
        ("points", {**POINTS, "by": -1.25, "test": "x"}, ()),
        ("points", POINTS, ("[[points]] needs one of to and by",)),
        ("points", {**POINTS, "to": 1, "by": 1}, ("[[points]] needs one of to and by",)),
        ("points", {**POINTS, "to": -1}, ("to must be 0 or more, not -1",)),
        ("points", {**POINTS, "to": True}, ("to must be a number of points, not True",)),
        ("points", {**POINTS, "by": float("inf")}, ("by must be a number of points, not inf",)),
        ("points", {**POINTS, "by": float("nan")}, ("by must be a number of points, not nan",)),
        ("points", {**POINTS, "by": 1e9}, ()),
        ("points", {**POINTS, "by": 1e9 + 1}, ("by must be a number of points, not 1000000001.0",)),
        ("points", {**POINTS, "by": 0.001}, ("by must be whole hundredths of a point, not 0.001",)),
        (
            "points",
            {**POINTS, "by": 1, "test": "t", "exercise": "e"},
            ("[[points]] is of a test or an exercise, not of both",),
        ),
        (
            "points",
            {"to": 1},
            (
                "[[points]] needs 'person'",
                "[[points]] needs 'reason'",
            ),
        ),
        ("comment", {"person": "a", "text": " "}, ("text must be text in quotes, not ' '",)),
        ("comment", {"person": 3, "text": "x"}, ("person must be text in quotes, not 3",)),
        ("extension", {"person": "a", "days": 0}, ()),
        ("extension", {"person": "a", "days": 10_000}, ()),
        (
            "extension",
            {"person": "a", "days": 10_001},
            ("days must be a whole number of days, not 10001",),
        ),
        (
            "late_days",
            {"person": "a", "left": -1},
            ("left must be a whole number of days, not -1",),
        ),
        (
            "late_days",
            {"person": "a", "left": True},
            ("left must be a whole number of days, not True",),
        ),
        (
            "late_days",
            {"person": "a", "left": 1.5},
            ("left must be a whole number of days, not 1.5",),
        ),
        ("handed_in", {"person": "a", "at": NOON}, ()),
        (
            "handed_in",
            {"person": "a", "at": NOON.date()},
            ("at must be a date with a time, as 2026-10-03T23:59:00, not 2026-10-03",),
        ),
        ("taken_out", {"reason": "r", "test": "t"}, ()),
        (
            "taken_out",
            {"reason": "r"},
            ("[[taken_out]] needs one of test and exercise",),
        ),
        (
            "bonus",
            {"reason": "r", "exercise": "e", "tset": "x"},
            ("[[bonus]] knows no 'tset': did you mean test?",),
        ),
        ("pionts", {}, ("nothing is decided by [[pionts]]: did you mean points?",)),
    ],
)
def test_each_fault_of_a_table_is_one_sentence(
    kind: str, table: dict[str, Any], wrong: Sequence[str]
) -> None:
    """A table without faults has none."""
    assert [*complaints(kind, table)] == [*wrong]


def test_twenty_faults_of_a_file_are_shown_and_the_others_counted(tmp_path: Path) -> None:
    """The first ones suffice to see what is wrong."""
    file = tmp_path / "decisions.toml"
    for count in (11, 23):
        file.write_text("[[comment]]\n" * count)
        with pytest.raises(BadDecisions) as refused:
            append_decision(file, "comment", {"person": "a", "text": "b"})
        lines = str(refused.value).split("\n")
        # Each table has two faults.
        assert len(lines) == 21
        assert lines[-1] == f"and {2 * count - 20} more"
        assert lines[19].startswith("decisions.toml:10: [[comment]] needs 'text'")
    file.write_text('[[comment]]\nperson = "a"\ntext = "b"\n')
    with pytest.raises(BadDecisions, match=r"decisions\.toml:2: no decision begins here"):
        remove_decision(file, 2)


def a_class(folder: Path) -> Results:
    return a_batch(
        folder,
        scored("alice", 4, 2),
        scored("group 1", 0, 6),
        authors={"alice": [ALICE], "group 1": [JANE, BOB]},
        absentees=[WANDA, Author("Zoë Absent", "98")],
    )


def test_a_class_list_finds_people_submissions_and_tests(tmp_path: Path) -> None:
    """Case, spaces and accents written in two ways do not matter."""
    known = ClassList(a_class(tmp_path))
    assert known.whom("Everybody") == Whom()
    assert known.whom(" ALICE ") == Whom(submission="alice")
    assert known.whom("jane  doe") == known.whom("12") == Whom(author=JANE)
    assert known.whom("wanda@X.edu") == Whom(author=WANDA)
    assert known.whom("zoe\u0308 absent").author == Author("Zoë Absent", "98")
    assert known.submission("Group 1") == "group 1"
    assert known.exercises == ("run_rope", "run_mha")
    rope = "tests/hidden/test_run_rope.py::test_values"
    mha = "tests/hidden/test_run_mha.py::test_values"
    assert known.tests("test_values") == (rope, mha)
    assert known.tests("test_run_rope.py::test_values") == known.tests(rope) == (rope,)
    assert known.exercise_of(mha) == "run_mha"
    for ask, name, said in (
        (known.whom, "alicia", "'alicia' is nobody of this class: did you mean alice?"),
        (known.submission, "x", "no submission is called 'x': check the name"),
        (known.exercise, "x", "no exercise is called 'x': check the name"),
        (known.tests, "x", "no test is called 'x': check the name"),
        (known.tests, "run_rope.py::test_values", "no test is called"),
    ):
        with pytest.raises(UnknownName) as refused:
            ask(name)
        assert str(refused.value).startswith(said)


def test_a_name_of_a_submission_means_its_only_author_in_each_submission(tmp_path: Path) -> None:
    """If it is somebody else's id, the decision is refused."""
    maria, jo, ann = Author("Maria", "123"), Author("Jo", "12"), Author("Ann", "40")
    submissions = {"Maria": [maria], "late": [maria], "12": [ann], "pair": [jo, ann]}
    graded = (scored(name, 4, 2) for name in submissions)
    known = ClassList(a_batch(tmp_path, *graded, authors=submissions))
    assert known.whom("maria") == known.whom("123") == Whom(author=maria)
    assert known.whom("pair") == Whom(submission="pair")
    with pytest.raises(UnknownName, match="'12' is a submission, and somebody else's name or id"):
        known.whom("12")


def test_submissions_whose_names_differ_only_in_case_are_told_apart(tmp_path: Path) -> None:
    """A decision on one of them must not fall on the other."""
    known = ClassList(a_batch(tmp_path, scored("Anna", 1, 1), scored("anna", 2, 2)))
    for name in ("Anna", "anna"):
        assert known.whom(name) == Whom(submission=name)
        assert known.submission(name) == name
    with pytest.raises(UnknownName, match="'ANNA' is nobody of this class: did you mean anna"):
        known.whom("ANNA")


def test_tests_with_parameters_are_found_by_each_of_their_names(tmp_path: Path) -> None:
    """The whole id, the function, or the function with one set of parameters."""
    tests = [
        a_verdict("run_x", id=f"tests/hidden/test_x.py::test_lead[{n}]") for n in ("one", "two")
    ]
    known = ClassList(a_batch(tmp_path, a_grade("ann", *tests)))
    one, two = (test.id for test in tests)
    assert known.tests("test_lead") == known.tests("test_x.py::test_lead") == (one, two)
    assert known.tests("tests/hidden/test_x.py::test_lead") == (one, two)
    assert known.tests("test_lead[two]") == known.tests("test_x.py::test_lead[two]") == (two,)
    with pytest.raises(UnknownName, match=r"did you mean test_lead\[two\]\?"):
        known.tests("test_lead[tow]")


def test_a_part_of_a_name_is_answered_with_the_names_that_hold_it(tmp_path: Path) -> None:
    known = ClassList(a_batch(tmp_path, *(scored(f"{n}-gold", 1, 1) for n in ("gina", "Gil"))))
    with pytest.raises(
        UnknownName, match=r"'GINA' is nobody of this class: did you mean gina-gold\?"
    ):
        known.whom("GINA")
    with pytest.raises(UnknownName, match=r"did you mean Gil-gold\?|did you mean gina-gold\?"):
        known.submission("gold")


@pytest.mark.parametrize(("known", "said"), [("Doe, Jane", "jane doe"), ("Jane Doe", "Doe, Jane")])
def test_a_name_is_found_with_the_surname_first_or_last(
    tmp_path: Path, known: str, said: str
) -> None:
    """Canvas puts the surname first, and people say it last."""
    jane, other = Author(known, "1"), Author(known, "2")
    found = ClassList(a_batch(tmp_path / "a", scored("g", 4, 2), authors={"g": [jane]}))
    assert found.whom(said) == Whom(author=jane)
    twins = ClassList(a_batch(tmp_path / "b", scored("g", 4, 2), authors={"g": [jane, other]}))
    with pytest.raises(UnknownName, match=rf"2 people are called '{said}': give the id \(1, 2\)"):
        twins.whom(said)


@pytest.mark.parametrize("said", ["", " ", ","])
def test_no_name_is_not_the_name_of_somebody_without_one(tmp_path: Path, said: str) -> None:
    """A variable of the shell may be empty, and a roster may hold ids alone."""
    nameless = {"g": [Author("", "1")]}
    found = ClassList(a_batch(tmp_path, scored("g", 4, 2), authors=nameless))
    with pytest.raises(UnknownName, match="is nobody of this class"):
        found.whom(said)


def times_of(folder: Path, table: str | bytes) -> list[tuple[Whom, str]]:
    file = folder / "times.csv"
    file.write_bytes(table if isinstance(table, bytes) else table.encode())
    times, _ = read_times(file, ClassList(a_class(folder)))
    return [(whom, at.isoformat()) for whom, at in times]


@pytest.mark.parametrize(
    ("written", "at"),
    [
        ("2026-10-05 10:00:00 UTC", "2026-10-05T10:00:00+00:00"),
        ("2026-10-05 10:00:00  GMT", "2026-10-05T10:00:00+00:00"),
        (" 2026-10-05 10:00:00 Z ", "2026-10-05T10:00:00+00:00"),
        ("2026-10-05 10:00:00 -0700", "2026-10-05T10:00:00-07:00"),
        ("2026-10-05 10:00 +02:00", "2026-10-05T10:00:00+02:00"),
        ("2026-10-05T10:00:00.123456789Z", "2026-10-05T10:00:00.123456+00:00"),
        ("2026-10-05", "2026-10-05T00:00:00"),
    ],
)
def test_a_time_is_read_in_the_form_of_each_platform(tmp_path: Path, written: str, at: str) -> None:
    """Without a zone it is in the assignment's."""
    assert times_of(tmp_path, f"id,time\n11,{written}\n") == [(Whom(author=ALICE), at)]


@pytest.mark.parametrize(
    ("table", "whoms"),
    [
        ("\ufeffID;Submitted At\n11;2026-10-05\n", [ALICE]),
        ("s.i.d.\tname\tTime\n0\tBob Roe\t2026-10-05\n", [BOB]),
        ("name,created_at,time\nJane Doe,2026-10-05,-\nBob Roe,2026-10-05,\n", [JANE, BOB]),
        ("id,time\n11, \n12,-\n13,2026-10-05\n99,\n\n", [BOB]),
        ("id,time\n13\n11,2026-10-05\n", [ALICE]),
        ("name,time\neverybody,2026-10-05\nnobody,2026-10-05\n", []),
    ],
)
def test_a_table_of_times_may_have_any_separator_and_other_rows(
    tmp_path: Path, table: str, whoms: list[Author]
) -> None:
    """Rows without a time or of a stranger are skipped; the first known column counts."""
    assert [whom.author for whom, _ in times_of(tmp_path, table)] == whoms


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_a_table_of_times_may_have_any_encoding_of_a_roster(tmp_path: Path, encoding: str) -> None:
    """A spreadsheet saves both in the same way."""
    table = "Straße,Name,Time\nä,Bob Roe,2026-10-05\n".encode(encoding)
    assert [whom.author for whom, _ in times_of(tmp_path, table)] == [BOB]


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("id,time\n", "is not a table of times: it needs a header and a row for each"),
        (b"id,time\n11,\x81\n", "is not a CSV file in UTF-8: save it as CSV UTF-8"),
        ("id,when\n11,2026-10-05", "no column for times, such as submitted_at: it has id, when"),
        ("who,time\n11,2026-10-05", "no column for people, such as id or name: it has who, time"),
        ("id,time\n\n12,now", "times.csv:3: 'now' is not a time such as"),
        ("id,time\n12,9999-12-31 23:59", "times.csv:2: '9999-12-31 23:59' is not a time such as"),
    ],
)
def test_a_table_that_is_not_of_times_is_refused(
    tmp_path: Path, table: str | bytes, said: str
) -> None:
    """One sentence says why."""
    with pytest.raises(BadDecisions) as refused:
        times_of(tmp_path, table)
    assert said in str(refused.value)


def test_a_pipe_in_the_place_of_the_decisions_is_refused(tmp_path: Path) -> None:
    """Nothing would ever come out of it."""
    results = a_class(tmp_path)
    os.mkfifo(tmp_path / "decisions.toml")
    with pytest.raises(BadDecisions, match=r"decisions\.toml is not an ordinary file"):
        open_settling(results)


def test_a_decided_time_replaces_those_of_tables_and_platforms(tmp_path: Path) -> None:
    """The last table counts. Each time knows the decision that set it."""
    results = a_class(tmp_path)
    write_files(tmp_path, {"one.csv": "id,time\n11,2026-10-05\n12,2026-10-05\n"})
    write_files(tmp_path, {"two.csv": "id,time\n11,2026-10-06\n"})
    (tmp_path / "decisions.toml").write_text(
        '[[handed_in]]\nperson = "group 1"\nat = 2026-10-07T12:00:00\n'
        '[[times]]\ntable = "one.csv"\n[[times]]\ntable = "two.csv"\n'
    )
    settling = open_settling(results)
    assert {name: at.isoformat() for name, at in settling.times.items()} == {
        "alice": "2026-10-06T00:00:00",
        "group 1": "2026-10-07T12:00:00",
    }
    assert settling.timed_by == {"alice": "decisions.toml:6", "group 1": "decisions.toml:1"}


def test_the_late_rule_is_the_assignments_own_or_the_batchs(tmp_path: Path) -> None:
    """A rule that was fixed after the batch counts, unless it is another assignment's."""
    stored = LateRule(due=datetime.datetime(2026, 10, 1), zone="UTC", percent=10)
    a_class(tmp_path / "results")
    with Store.open(tmp_path / "results", "Attention") as store:
        store.remember(late=stored.as_json() if stored else None)
    results = Store.read(tmp_path / "results")
    table = '[tool.grader]\nname = "Attention"\n[tool.grader.exercises]\nrun_x = 1\n'
    fixed = f"{table}[tool.grader.late]\ndue = 2026-10-03T23:59:00Z\n"
    write_files(tmp_path / "own", {"pyproject.toml": fixed})
    write_files(tmp_path / "other", {"pyproject.toml": fixed.replace("Attention", "Other")})
    (tmp_path / "none").mkdir()
    own = open_settling(results, start=tmp_path / "own").rule
    assert own is not None
    assert own.due.day == 3
    for folder in ("other", "none"):
        assert open_settling(results, start=tmp_path / folder).rule == stored


def test_one_decision_about_a_test_may_concern_several_exercises(tmp_path: Path) -> None:
    """The name of a test function may stand in the files of two exercises."""
    results = a_class(tmp_path)
    append_decision(
        tmp_path / "decisions.toml", "taken_out", {"test": "test_values", "reason": "bad"}
    )
    settling = open_settling(results)
    assert [(one.target, len(one.tests)) for one in settling.decisions] == [
        ("run_rope", 1),
        ("run_mha", 1),
    ]


def test_people_of_an_anonymous_class_are_called_by_numbers(tmp_path: Path) -> None:
    """Members of a group have one each, and so have absentees."""
    results = a_class(tmp_path)
    numbers = numbered(results)
    settling = open_settling(AnonymousResults.of(results))
    group, alice = (f"Submission {numbers[name]}" for name in ("group 1", "alice"))
    assert settling.people == {
        alice: (Author(alice),),
        group: (Author(f"{group}, member 1"), Author(f"{group}, member 2")),
    }
    assert settling.absentees == (Author("Absent 1"), Author("Absent 2"))
    anonymous = AnonymousResults.of(results)
    first, second = sorted(numbers.values())
    assert [grade.submission for grade in anonymous.grades()] == [
        f"Submission {first}",
        f"Submission {second}",
    ]


def test_a_grade_with_a_test_that_was_not_judged_has_no_points(tmp_path: Path) -> None:
    """The status says so, too."""
    lost = a_verdict("run_mha", 0.0, status=Status.NOT_GRADED)
    grade = a_grade("ann", a_verdict("run_rope"), lost)
    (own,) = open_settling(a_batch(tmp_path, grade)).settle(grade)
    assert (own.status, own.machine, own.final, own.has_points) == ("not_graded", None, None, False)


def test_members_of_a_group_may_be_settled_apart(tmp_path: Path) -> None:
    """A comment or a change of one member is not the other's."""
    results = a_class(tmp_path)
    file = tmp_path / "decisions.toml"
    for kind, table in (
        ("comment", {"person": "group 1", "text": "Both: well done."}),
        ("comment", {"person": "Jane Doe", "text": "Jane: see me."}),
        ("points", {"person": "group 1", "by": 1, "reason": "agreed"}),
        ("points", {"person": "Jane Doe", "by": 1, "reason": "hers"}),
    ):
        append_decision(file, kind, table)
    settling = open_settling(results)
    (grade,) = results.grades_of(["group 1"])
    jane, bob = settling.settle(grade)
    assert (jane.final, bob.final) == (8.0, 7.0)


def test_the_effects_of_decisions_are_told_in_short(tmp_path: Path) -> None:
    """Six lines are shown, and the others counted."""
    results = a_batch(tmp_path, *(scored(f"s{n}", 4, n % 2) for n in range(9)))
    file = tmp_path / "decisions.toml"
    for kind, table in (
        ("points", {"person": "everybody", "exercise": "run_mha", "to": 1, "reason": "all"}),
        ("points", {"person": "everybody", "by": 1, "reason": "gift", "who": "ada"}),
        ("excused", {"person": "s1"}),
        ("excused", {"person": "s2", "exercise": "run_rope", "reason": "ill"}),
        ("taken_out", {"test": "test_run_rope.py::test_values", "reason": "bad"}),
        ("comment", {"person": "s3", "text": "Good."}),
    ):
        append_decision(file, kind, table)
    found = effects(results, open_settling(results))
    assert [one.words for one in found] == [
        "points: everybody, run_mha, to 1: all",
        "points: everybody, by +1: gift (ada)",
        "excused: s1",
        "excused: s2, run_rope: ill",
        "taken_out: test_run_rope.py::test_values: bad",
        "comment: s3, Good.",
    ]
    first, second, third, fourth, fifth, sixth = (one.in_short() for one in found)
    assert len(first) == 5
    assert first[0] == "s0: +1 point in run_mha: all; 2 points"
    assert len(second) == 7
    assert second[-1] == "and 3 more"
    assert third == ["s1: excused"]
    assert fourth[0].startswith("s2: ")
    assert sixth == ["s3: reads it"]
    assert fifth
