"""Late submissions: the assignment's rule sets each deduction, and a sentence explains it."""

from __future__ import annotations

import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from grader.core.assignment import BadAssignment, find_assignment
from grader.core.late_rule import LateRule
from grader.core.submission import Author
from grader.intake.discovery import discover
from grader.results.decisions.file import append_decision
from grader.results.decisions.opening import open_settling
from grader.results.decisions.settlement import (
    ChangeKind,
    LateAllowance,
    Settlement,
    in_words,
    lateness,
)
from grader.results.decisions.settling import effects
from grader.results.results import People, Results
from grader.results.store import Store
from tests.harness.export_fixtures import a_batch, a_grade, a_verdict, exported, not_graded
from tests.harness.storing import add

pytestmark = pytest.mark.unit

ZURICH = ZoneInfo("Europe/Zurich")
DUE = datetime.datetime(2026, 10, 3, 23, 59)
RULE = LateRule(due=DUE, zone="Europe/Zurich", percent=10)
JANE, BOB = Author("Jane Doe", "12"), Author("Bob Roe", "13")


def handed_in_at(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(text).replace(tzinfo=ZURICH)


def cost(rule: LateRule, text: str, allowance: LateAllowance = LateAllowance()) -> int:  # noqa: B008
    """Returns the hundredths of a point that a late submission with 80 of 100 points loses."""
    return lateness(rule, handed_in_at(text), False, allowance, 8000, 10_000).cost


@pytest.mark.parametrize(
    ("when", "lost"),
    [
        ("2026-10-03T23:59", 0),
        ("2026-10-03T23:59:01", 800),
        ("2026-10-04T23:59", 800),
        ("2026-10-05T00:00", 1600),
        ("2026-10-20T00:00", 8000),
    ],
)
def test_each_started_late_day_is_deducted(when: str, lost: int) -> None:
    """The first day begins a second after the due date. Points never fall below zero."""
    assert cost(RULE, when) == lost


@pytest.mark.parametrize(
    ("changed", "when", "lost"),
    [
        ({"grace": 15}, "2026-10-04T00:14", 0),
        ({"grace": 15}, "2026-10-04T00:15", 800),
        ({"percent": 0.0, "points": 2.5}, "2026-10-05T12:00", 500),
        ({"of": "possible"}, "2026-10-04T12:00", 1000),
        ({"last": datetime.datetime(2026, 10, 6, 23, 59)}, "2026-10-06T23:59", 2400),
        ({"last": datetime.datetime(2026, 10, 6, 23, 59)}, "2026-10-07T00:00", 8000),
        ({"days": 2}, "2026-10-05T12:00", 0),
        ({"days": 2}, "2026-10-06T12:00", 800),
    ],
)
def test_each_key_of_the_late_rule_changes_the_deduction(
    changed: dict[str, object], when: str, lost: int
) -> None:
    rule = LateRule(**{"due": DUE, "zone": "Europe/Zurich", "percent": 10.0, **changed})
    assert cost(rule, when) == lost


def test_a_late_day_follows_the_clock_across_a_time_change() -> None:
    """On 25 October 2026 the day in Zurich has 25 hours."""
    rule = LateRule(datetime.datetime(2026, 10, 24, 23, 59), "Europe/Zurich", percent=10)
    assert cost(rule, "2026-10-25T23:59") == 800
    assert cost(rule, "2026-10-26T00:00") == 1600


def test_a_late_sentence_names_the_time_the_day_and_the_rule() -> None:
    """A student can check the deduction with a calendar."""
    late = lateness(RULE, handed_in_at("2026-10-05T14:03"), False, LateAllowance(), 8000, 10_000)
    assert late.sentence == (
        "handed in on 2026-10-05 14:03 CEST, day 2 after the due date (2026-10-03 23:59 CEST): "
        "10 % of the points reached a day"
    )
    spending = LateRule(due=DUE, zone="Europe/Zurich", percent=10, days=1)
    late = lateness(
        spending, handed_in_at("2026-10-05T14:03"), False, LateAllowance(), 8000, 10_000
    )
    assert ": free days spent: 1 of 1; for the rest 10 % of the points" in late.sentence


def test_an_extension_moves_the_due_date() -> None:
    """An extension is a new date or more days. It moves the last day equally."""
    rule = LateRule(DUE, "Europe/Zurich", percent=10, last=datetime.datetime(2026, 10, 5, 23, 59))
    until = LateAllowance(until=datetime.datetime(2026, 10, 6, 12))
    assert cost(rule, "2026-10-06T12:00") == 8000
    assert cost(rule, "2026-10-06T12:00", until) == 0
    assert cost(rule, "2026-10-06T12:01", until) == 800
    assert cost(rule, "2026-10-05T12:00", LateAllowance(more_days=2)) == 0


def test_an_extension_to_an_earlier_date_costs_no_points() -> None:
    """An extension to an earlier date is a typing error and costs no points."""
    assert cost(RULE, "2026-10-03T12:00", LateAllowance(until=datetime.datetime(2026, 9, 1))) == 0


@pytest.mark.parametrize(
    ("rule", "marked", "said"),
    [
        (None, True, "there is no [tool.grader.late]"),
        (RULE, True, "marked late by the platform, which tells no time"),
        (RULE, False, ""),
        (None, False, ""),
    ],
)
def test_lateness_without_a_rule_or_a_time_stays_undecided(
    rule: LateRule | None, marked: bool, said: str
) -> None:
    """The grader never guesses a deduction: the instructor decides."""
    late = lateness(rule, None, marked, LateAllowance(), 8000, 10_000)
    assert said in late.undecided
    assert bool(late.undecided) == bool(said)
    assert late.cost == 0


def test_the_late_rule_is_read_from_the_assignment(tmp_path: Path) -> None:
    """The rule is read with the assignment's other tables, and an error names its table."""
    project = tmp_path / "pyproject.toml"
    project.write_text(
        "[tool.grader.exercises]\nrun_x = 1\n[tool.grader.late]\ndue = 2026-10-03T23:59:00+02:00\n"
    )
    rule = find_assignment(tmp_path).late
    assert rule is not None
    assert rule.due.utcoffset() == datetime.timedelta(hours=2)
    assert LateRule.from_json(rule.as_json()) == rule
    project.write_text(project.read_text().replace("due", "do"))
    with pytest.raises(BadAssignment, match=r"\[tool.grader.late\] knows no 'do'"):
        find_assignment(tmp_path)


def a_late_class(
    folder: Path, times: dict[str, datetime.datetime], late: tuple[str, ...] = ()
) -> Results:
    with Store.open(folder, "Attention") as store:
        authors = {"alice": [Author("Alice Apple", "11")], "g": [JANE, BOB]}
        store.set_people(People(authors, late, (), times))
        store.remember(late=RULE.as_json())
        for place, name in enumerate(("alice", "g")):
            add(store, a_grade(name, a_verdict("run_rope", 80.0, 100.0)), "key", place)
    return Store.read(folder)


def settlements_by_name(results: Results) -> dict[str, Settlement]:
    settling = open_settling(results)
    return {
        person.name: own
        for grade in results.grades()
        for own in settling.settle(grade)
        for person in own.people
    }


LATE = datetime.datetime(2026, 10, 5, 12, tzinfo=ZURICH)


def test_a_late_deduction_is_a_separate_change_of_points(tmp_path: Path) -> None:
    """The deduction comes after decisions about exercises and before those about the whole."""
    results = a_late_class(tmp_path, {"alice": LATE})
    own = settlements_by_name(results)["Alice Apple"]
    assert (own.machine, own.final, own.late) == (8000, 64.0, True)
    file = tmp_path / "decisions.toml"
    why = {"person": "alice", "reason": "so it is"}
    append_decision(file, "points", {**why, "exercise": "run_rope", "to": 90})
    append_decision(file, "points", {**why, "by": 1})
    own = settlements_by_name(results)["Alice Apple"]
    assert [(change.kind, change.points) for change in own.changes] == [
        (ChangeKind.DECIDED, 10.0),
        (ChangeKind.LATE, -18.0),
        (ChangeKind.DECIDED, 1.0),
    ]
    assert in_words(own.changes[1]).startswith("−18 points: handed in on 2026-10-05 12:00 CEST")
    assert exported("csv", results).column("late", "name")["Alice Apple"] == "yes"


@pytest.mark.parametrize(
    ("late", "told"),
    [((), {"Alice Apple": "no", "Jane Doe": ""}), (("alice",), {"Jane Doe": "no"})],
)
def test_a_table_says_nothing_of_lateness_that_nobody_knows(
    tmp_path: Path, late: tuple[str, ...], told: dict[str, str]
) -> None:
    """A platform that marked somebody marked everybody who was late."""
    times = {"alice": LATE - datetime.timedelta(days=9)}
    column = exported("csv", a_late_class(tmp_path, times, late)).column("late", "name")
    assert {name: column[name] for name in told} == told


def test_an_extension_applies_to_the_group_and_late_days_to_each_member(tmp_path: Path) -> None:
    """The group has one submission, but each member has their own remaining late days."""
    results = a_late_class(tmp_path, {"g": LATE})
    file = tmp_path / "decisions.toml"
    append_decision(file, "late_days", {"person": "Jane Doe", "left": 1})
    found = settlements_by_name(results)
    assert (found["Jane Doe"].final, found["Bob Roe"].final) == (72.0, 64.0)
    append_decision(file, "extension", {"person": "Bob Roe", "days": 2})
    found = settlements_by_name(results)
    assert (found["Jane Doe"].final, found["Bob Roe"].final) == (80.0, 80.0)
    assert not found["Bob Roe"].late


def test_submission_times_can_come_from_a_table(tmp_path: Path) -> None:
    """Canvas's download only marks a file as LATE."""
    results = a_late_class(tmp_path, {}, late=("alice", "g"))
    assert all(own.undecided for own in settlements_by_name(results).values())
    assert "tells no time" in exported("csv", results).said
    table = (
        "Student,ID,Submitted At\nApple,11,2026-10-05 10:00:00 UTC\nDoe,12,2026-10-04T01:00+02:00"
    )
    (tmp_path / "times.csv").write_text(f"{table}\nStranger,99,-\n")
    append_decision(tmp_path / "decisions.toml", "times", {"table": "times.csv"})
    found = settlements_by_name(results)
    assert (found["Alice Apple"].final, found["Bob Roe"].final) == (64.0, 72.0)
    append_decision(
        tmp_path / "decisions.toml",
        "handed_in",
        {"person": "g", "at": DUE, "reason": "by mail"},
    )
    assert settlements_by_name(results)["Bob Roe"].final == 80.0


def test_a_decision_promises_nothing_to_a_late_person_without_points(tmp_path: Path) -> None:
    """The rule takes points off once the submission is graded."""
    a_batch(tmp_path, not_graded("alice"), authors={"alice": [Author("Alice Apple", "11")]})
    with Store.open(tmp_path, "Attention") as store:
        store.remember(late=RULE.as_json())
    file, at = tmp_path / "decisions.toml", DUE.replace(day=5)
    append_decision(file, "handed_in", {"person": "11", "at": at, "reason": "by mail"})
    results = Store.read(tmp_path)
    (late,) = effects(results, open_settling(results))
    assert late.lines == ["Alice Apple: not graded"]


def test_submission_times_are_read_from_a_gradescope_export(tmp_path: Path) -> None:
    """Canvas only marks late files, and Moodle and GitHub not even that."""
    export = tmp_path / "assignment_1_export"
    (export / "submission_7").mkdir(parents=True)
    (export / "submission_7" / "adapters.py").write_text("")
    (export / "submission_metadata.yml").write_text(
        "submission_7:\n  :submitters:\n  - :name: Jane\n    :sid: '12'\n"
        "  :created_at: 2026-10-05 10:00:00.861687000 Z\n"
    )
    (entry,) = discover([export], "adapters.py").entries
    assert entry.handed_in is not None
    assert entry.handed_in.isoformat() == "2026-10-05T10:00:00.861687+00:00"
