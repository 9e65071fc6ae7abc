"""Final points are the exact sum of the machine's points and every change."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from grader.core.submission import Author
from grader.core.verdict import Aspect, Carried, Grade, Status, Verdict
from grader.results.decisions.file import append_decision
from grader.results.decisions.opening import open_settling
from grader.results.decisions.settlement import ChangeKind, Settlement
from grader.results.decisions.settling import effects
from grader.results.results import Results
from tests.harness.export_fixtures import (
    a_batch,
    a_grade,
    a_verdict,
    exported,
    not_graded,
    scored,
    unreadable,
)

pytestmark = pytest.mark.unit

ALICE, JANE, BOB = Author("Alice Apple", "11"), Author("Jane Doe", "12"), Author("Bob Roe", "13")
WANDA = Author("Wanda Absent", "99")


def decide(folder: Path, *decisions: tuple[str, dict[str, object]]) -> None:
    for kind, table in decisions:
        append_decision(folder / "decisions.toml", kind, {"reason": "so it is", **table})


def settlements_by_name(results: Results) -> dict[str, Settlement]:
    """Returns the settlement of each person, by name."""
    settling = open_settling(results)
    return {
        person.name: own
        for grade in results.grades()
        for own in settling.settle(grade)
        for person in own.people
    }


def a_class(folder: Path) -> Results:
    return a_batch(
        folder,
        scored("alice", 4, 2),
        scored("group 1", 1, 6),
        unreadable("bea"),
        not_graded("lara"),
        authors={"alice": [ALICE], "group 1": [JANE, BOB]},
        absentees=[WANDA],
    )


def test_without_decisions_the_final_points_are_those_of_the_tests(tmp_path: Path) -> None:
    """A submission without a grade gets nothing, which is not 0."""
    found = settlements_by_name(a_class(tmp_path))
    assert {name: own.final for name, own in found.items()} == {
        "Alice Apple": 6.0,
        "Jane Doe": 7.0,
        "Bob Roe": 7.0,
        "bea": 0.0,
        "lara": None,
    }


def test_a_decision_sets_points_or_changes_them_by_an_amount(tmp_path: Path) -> None:
    """A decision may concern an exercise, a test or the whole. Points never fall below zero."""
    results = a_class(tmp_path)
    decide(
        tmp_path,
        ("points", {"person": "alice", "exercise": "run_mha", "to": 4.5}),
        ("points", {"person": "Jane Doe", "test": "test_run_rope.py::test_values", "to": 3}),
        ("points", {"person": "13", "by": -0.25}),
        ("points", {"person": "bea", "by": -3}),
        ("points", {"person": "lara", "to": 5}),
    )
    found = settlements_by_name(results)
    assert {name: own.final for name, own in found.items()} == {
        "Alice Apple": 8.5,
        "Jane Doe": 9.0,
        "Bob Roe": 6.75,
        "bea": 0.0,
        "lara": 5.0,
    }
    (change,) = found["Alice Apple"].changes
    assert (change.kind, change.hundredths, change.exercise) == (ChangeKind.DECIDED, 250, "run_mha")
    assert change.source == "decisions.toml:5"


def several_tests(*passed: bool) -> Grade:
    """Returns a grade of one exercise with 10 points.

    It has two tests of the values, worth 3 points each, and two of generality, worth 2.
    """
    of = [("values", 3.0), ("values", 3.0), ("generality", 2.0), ("generality", 2.0)]
    right = sum(passed[:2]) / 2
    tests = [
        _test(number, Aspect(aspect), worth, ok, right)
        for number, ((aspect, worth), ok) in enumerate(zip(of, passed, strict=True))
    ]
    return a_grade("s", *tests)


def _test(number: int, aspect: Aspect, worth: float, passed: bool, right: float) -> Verdict:
    counts = 1.0 if aspect is Aspect.VALUES else right
    return a_verdict(
        "run_rope",
        worth * counts if passed else 0.0,
        worth,
        id=f"tests/hidden/test_rope.py::test_{number}[a]",
        aspect=aspect,
        status=Status.PASSED if passed else Status.FAILED,
    )


@pytest.mark.parametrize(
    ("kind", "test", "passed", "final"),
    [
        ("taken_out", "test_2", (True, True, False, True), 10.0),
        ("taken_out", "test_2", (True, True, True, False), 7.5),
        ("taken_out", "test_1", (True, False, True, True), 10.0),
        ("taken_out", "test_0", (True, False, True, True), 0.0),
        ("bonus", "test_2", (True, True, True, True), 12.0),
        ("bonus", "test_2", (True, True, False, True), 10.0),
    ],
)
def test_points_of_a_test_taken_out_go_to_the_other_tests(
    tmp_path: Path, kind: str, test: str, passed: Sequence[bool], final: float
) -> None:
    """The other tests get its points. Values that failed only there no longer limit other tests."""
    results = a_batch(tmp_path, several_tests(*passed))
    decide(tmp_path, (kind, {"test": test}))
    (own,) = settlements_by_name(results).values()
    assert (own.final, own.worth) == (final, 1000)


def test_carried_points_disappear_with_their_exercise(tmp_path: Path) -> None:
    """A mistake costs points once. If its exercise is taken out, the carried points go too."""
    carried = Carried("run_mha", "run_rope", "no-scale", 3.5)
    results = a_batch(tmp_path, replace(scored("s", 1, 2), carried=(carried,)))
    (own,) = settlements_by_name(results).values()
    assert (own.machine, own.final) == (300, 6.5)
    assert [*own.sentences()] == [
        "run_mha: +3.5 points. One error is that of run_rope (no-scale), where it was already "
        "deducted."
    ]
    assert own.changes[0].source == "[tool.grader] carry_over"
    decide(tmp_path, ("taken_out", {"exercise": "run_mha"}))
    (own,) = settlements_by_name(results).values()
    assert (own.final, own.worth) == (1.0, 400)


@pytest.mark.parametrize(
    ("test", "percent", "final"),
    [("test_0", 100, 10.0), ("test_0", 50, 5.0), ("test_1", 50, 7.14), ("test_2", 50, 6.88)],
)
def test_carried_points_keep_their_share_when_a_test_is_taken_out(
    tmp_path: Path, test: str, percent: int, final: float
) -> None:
    """Full marks stay full if a test that passed is taken out; half of what is lost comes back."""
    grade = several_tests(True, False, False, False)
    back = Carried("run_rope", "run_mha", "no-scale", 7 * percent / 100)
    results = a_batch(tmp_path, replace(grade, carried=(back,)))
    decide(tmp_path, ("taken_out", {"test": test}))
    (own,) = settlements_by_name(results).values()
    assert (own.final, own.worth) == (final, 1000)


def test_a_deduction_keeps_its_proportion_when_a_test_is_taken_out(tmp_path: Path) -> None:
    """A forbidden call cost half of each test's points."""
    tests = several_tests(True, True, True, False).tests
    results = a_batch(tmp_path, a_grade("s", *(it._replace(score=it.score / 2) for it in tests)))
    decide(tmp_path, ("taken_out", {"test": "test_3"}))
    (own,) = settlements_by_name(results).values()
    assert (own.machine, own.final, own.worth) == (400, 5.0, 1000)


def test_exercises_with_the_same_only_error_share_a_sentence(tmp_path: Path) -> None:
    """Nine lines that differ only in a name would hide the error."""
    failed = [a_verdict("run_rope", 0, 4), a_verdict("run_mha", 0, 6), a_verdict("run_more", 0, 5)]
    carried = (Carried("run_mha", "run_rope", "x", 6), Carried("run_more", "run_rope", "x", 5))
    (own,) = settlements_by_name(a_batch(tmp_path, a_grade("s", *failed, carried=carried))).values()
    assert [*own.sentences()] == [
        "run_mha and run_more: full marks (+11 points). Their only error is that of run_rope (x), "
        "where it was already deducted."
    ]


def test_carried_and_decided_points_stay_within_the_possible_points(tmp_path: Path) -> None:
    """A decision about one test cannot lift an exercise above its possible points."""
    carried = Carried("run_mha", "run_rope", "no-scale", 5)
    grade = a_grade(
        "s", a_verdict("run_rope", 1, 4), a_verdict("run_mha", 1, 6), carried=(carried,)
    )
    results = a_batch(tmp_path, grade)
    test = next(one.id for one in grade.tests if one.exercise == "run_mha")
    decide(tmp_path, ("points", {"person": "s", "test": test, "to": 6}))
    (own,) = settlements_by_name(results).values()
    assert own.exercises["run_mha"].final == 600
    assert own.final == 7.0


def test_points_decided_beyond_the_possible_ones_count_and_are_reported(tmp_path: Path) -> None:
    """The instructor decides last, and the sentence shows the resulting points."""
    carried = Carried("run_mha", "run_rope", "no-scale", 3.5)
    results = a_batch(tmp_path, replace(scored("s", 1, 2), carried=(carried,)))
    decide(tmp_path, ("points", {"person": "s", "exercise": "run_mha", "by": 2}))
    decide(tmp_path, ("points", {"person": "s", "by": 2}))
    (own,) = settlements_by_name(results).values()
    assert own.final == 10.5
    assert [*own.sentences()][1:] == [
        "+2 points in run_mha: so it is, which makes 7.5 of 6",
        "+2 points: so it is, which makes 10.5 of 10",
    ]


def test_a_decision_that_changes_no_points_is_listed_too(tmp_path: Path) -> None:
    """A row names every decision about it, also comments and extensions."""
    results = a_class(tmp_path)
    decide(
        tmp_path,
        ("comment", {"person": "alice", "text": "Well argued.", "reason": None}),
        ("extension", {"person": "alice", "days": 2}),
    )
    changes = exported("csv", results).column("changes", "name")["Alice Apple"]
    assert changes == (
        "there was more time: so it is (decisions.toml:9); see also decisions.toml:5"
    )
    first, second = effects(results, open_settling(results))
    assert first.lines == ["Alice Apple: reads it"]
    assert second.lines == ["Alice Apple: there was more time: so it is; 6 points"]


def test_an_exercise_taken_out_or_made_a_bonus_lowers_the_possible_points(tmp_path: Path) -> None:
    """Students keep the points of a bonus exercise."""
    results = a_class(tmp_path)
    decide(tmp_path, ("bonus", {"exercise": "run_rope"}))
    found = settlements_by_name(results)
    assert (found["Alice Apple"].final, found["Alice Apple"].worth) == (6.0, 600)
    (effect,) = effects(results, open_settling(results))
    assert effect.in_short() == ["changes nobody's points"]
    assert found["Alice Apple"].exercises["run_rope"].apart == "bonus"
    decide(tmp_path, ("taken_out", {"exercise": "run_rope"}))
    found = settlements_by_name(results)
    assert (found["Alice Apple"].final, found["Alice Apple"].worth) == (2.0, 600)
    assert found["Alice Apple"].exercises["run_rope"].apart == "taken out"


def test_an_excused_exercise_earns_the_share_of_the_other_exercises(tmp_path: Path) -> None:
    """Everyone has the same possible points, and an excused student neither gains nor loses."""
    results = a_class(tmp_path)
    decide(tmp_path, ("excused", {"person": "alice", "exercise": "run_rope"}))
    own = settlements_by_name(results)["Alice Apple"]
    assert (own.final, own.worth) == (3.33, 1000)  # 2 of 6, and 1.33 of 4


def test_two_excused_exercises_earn_the_share_of_the_others_alone(tmp_path: Path) -> None:
    """Neither of them counts for the other; with nothing left, the student is excused."""
    points = (("run_a", 0.0), ("run_b", 0.0), ("run_c", 5.0))
    verdicts = [a_verdict(name, score, 10.0) for name, score in points]
    results = a_batch(tmp_path, a_grade("alice", *verdicts), authors={"alice": [ALICE]})
    for exercise in ("run_a", "run_b"):
        decide(tmp_path, ("excused", {"person": "alice", "exercise": exercise}))
    own = settlements_by_name(results)["Alice Apple"]
    assert [one.final for one in own.exercises.values()] == [500, 500, 500]
    decide(tmp_path, ("excused", {"person": "alice", "exercise": "run_c"}))
    assert settlements_by_name(results)["Alice Apple"].excused


@pytest.mark.parametrize(
    ("steps", "final"),
    [
        ([("test_0", 2), ("test_0", 3)], 3.0),
        ([("test_1", 3), ("test_1", 0)], 0.0),
        ([("test_0", 2), ("test_rope.py::test_0", 1)], 1.0),
        ([("test_0", 2), ("test_1", 1)], 3.0),
    ],
)
def test_a_later_decision_about_a_test_replaces_an_earlier_one(
    tmp_path: Path, steps: Sequence[tuple[str, float]], final: float
) -> None:
    """Correcting a decision by another one does not add its points."""
    results = a_batch(tmp_path, several_tests(False, False, False, False))
    for test, to in steps:
        decide(tmp_path, ("points", {"person": "s", "test": test, "to": to}))
    (own,) = settlements_by_name(results).values()
    assert own.final == final


@pytest.mark.parametrize(
    ("steps", "final"),
    [
        ([("test_0", {"to": 3})], 4.29),
        ([("test_0", {"by": 1})], 4.29),
        ([("test_1", {"to": 0})], 0.0),
        ([("test_2", {"to": 2}), ("test_3", {"to": 2})], 10.0),
    ],
)
def test_points_of_a_test_taken_out_count_for_nobody(
    tmp_path: Path, steps: Sequence[tuple[str, dict[str, object]]], final: float
) -> None:
    """Nothing decided about it counts; full points of the others are full points."""
    results = a_batch(tmp_path, several_tests(True, True, False, False))
    decide(tmp_path, ("taken_out", {"test": "test_0"}))
    for test, points in steps:
        decide(tmp_path, ("points", {"person": "s", "test": test, **points}))
    (own,) = settlements_by_name(results).values()
    assert own.final == final


def test_points_decided_in_an_exercise_taken_out_are_gone(tmp_path: Path) -> None:
    """An exercise that counts for nobody gives nobody points, in whatever order it is decided."""
    results = a_class(tmp_path)
    decide(tmp_path, ("points", {"person": "alice", "exercise": "run_rope", "to": 4}))
    decide(tmp_path, ("taken_out", {"exercise": "run_rope"}))
    own = settlements_by_name(results)["Alice Apple"]
    assert (own.final, own.worth) == (2.0, 600)
    (effect, _) = effects(results, open_settling(results))
    assert effect.lines == ["Alice Apple: 2 points"]


def test_a_student_excused_from_all_that_counts_is_excused(tmp_path: Path) -> None:
    """The other exercise was taken out: it gives the excused one no proportion."""
    results = a_class(tmp_path)
    decide(
        tmp_path,
        ("taken_out", {"exercise": "run_rope"}),
        ("excused", {"person": "alice", "exercise": "run_mha"}),
    )
    found = settlements_by_name(results)
    assert found["Alice Apple"].excused
    assert not found["Jane Doe"].excused


def test_a_class_with_everything_taken_out_has_no_possible_points(tmp_path: Path) -> None:
    """Nobody has 0 of the points that there were before."""
    results = a_batch(tmp_path, several_tests(True, True, True, True))
    decide(tmp_path, ("taken_out", {"exercise": "run_rope"}))
    (own,) = settlements_by_name(results).values()
    assert (own.final, own.worth) == (0.0, 0)


def test_a_fully_excused_student_has_neither_points_nor_zero(tmp_path: Path) -> None:
    """Canvas has a mark for excused students. An absent student may be excused too."""
    results = a_class(tmp_path)
    decide(tmp_path, ("excused", {"person": "bea"}), ("excused", {"person": "Wanda Absent"}))
    gradebook = tmp_path / "gradebook.csv"
    gradebook.write_text("Student,ID,Login,Section,Attention (1)\nbea,,,,\nWanda Absent,,,,\n")
    out = exported("canvas", results, gradebook, absent_zero=True)
    assert out.column("Attention (1)", "Student") == {"bea": "EX", "Wanda Absent": "EX"}
    table = exported("csv", results)
    assert "excused" in table.column("status", "name")["bea"]
    assert table.column("changes", "name")["bea"] == "excused: so it is (decisions.toml:5)"
    assert table.column("changes", "name")["Wanda Absent"] == "excused: so it is (decisions.toml:9)"


def test_the_chosen_one_of_two_submissions_counts(tmp_path: Path) -> None:
    """Without a choice neither submission counts."""
    results = a_batch(
        tmp_path, scored("one", 4, 6), scored("two", 1, 1), authors={"one": [ALICE], "two": [ALICE]}
    )
    decide(tmp_path, ("taken_instead", {"person": "11", "submission": "two"}))
    table = exported("csv", results)
    assert [row[0] for row in table.table()[2:]] == ["two"]
    assert table.column("changes", "submission")["two"] == "see also decisions.toml:5"


def test_members_of_a_group_may_get_different_points(tmp_path: Path) -> None:
    """Every format has one entry per member."""
    results = a_class(tmp_path)
    decide(tmp_path, ("points", {"person": "Jane Doe", "by": 1}))
    totals = exported("csv", results).column("total", "name")
    assert (totals["Jane Doe"], totals["Bob Roe"]) == ("8", "7")
    document = json.loads(exported("json", results).text)["submissions"]
    group = {e["authors"][0]["name"]: e for e in document if e["submission"] == "group 1"}
    assert {name: (e["score"], e["final"]) for name, e in group.items()} == {
        "Jane Doe": (7.0, 8.0),
        "Bob Roe": (7.0, 7.0),
    }
    (change,) = group["Jane Doe"]["changes"]
    assert change == {
        "kind": "decided",
        "exercise": None,
        "sentence": "so it is",
        "source": "decisions.toml:5",
        "points": 1.0,
    }


@pytest.mark.parametrize("seed", range(25))
def test_columns_of_the_exported_table_add_up(tmp_path: Path, seed: int) -> None:
    """The total is the machine's points plus changes, and exercises sum to the machine's points."""
    rng = random.Random(seed)
    results = a_random_class(tmp_path, rng)
    for _ in range(rng.randint(1, 12)):
        decide(tmp_path, a_random_decision(rng))
    out = exported("csv", results)
    header, _, *rows = out.table()
    first, last = header.index("machine"), header.index("total")
    exercises = [header.index(name) for name in ("run_rope", "run_mha")]
    for row in rows:
        if row[last] == "":
            continue
        assert sum(number(row[at]) for at in range(first, last)) == number(row[last]), row
        assert sum(number(row[at]) for at in exercises) == number(row[first]), row
        assert number(row[last]) >= 0


@pytest.mark.parametrize("seed", range(25))
def test_each_change_names_its_decision_and_each_decision_its_people(
    tmp_path: Path, seed: int
) -> None:
    """Every change names a line of the file. Every decision lists the people that it changed."""
    rng = random.Random(seed)
    results = a_random_class(tmp_path, rng)
    for _ in range(rng.randint(1, 12)):
        decide(tmp_path, a_random_decision(rng))
    settling = open_settling(results)
    lines = {effect.decision.source: effect for effect in effects(results, settling)}
    for grade in results.grades():
        for own in settling.settle(grade):
            for change in own.changes:
                effect = lines[change.source]
                assert effect.decision.reason in change.sentence
                shown = any(own.people[0].name in line for line in effect.lines)
                assert shown or not change.hundredths


@pytest.mark.parametrize("seed", range(10))
def test_final_exercise_points_add_up_to_the_total(tmp_path: Path, seed: int) -> None:
    """If a platform has a column per exercise, changes of the whole are divided among them."""
    rng = random.Random(seed)
    results = a_random_class(tmp_path, rng)
    decide(tmp_path, *(a_random_decision(rng) for _ in range(rng.randint(1, 8))))
    for own in settlements_by_name(results).values():
        assert sum(own.by_exercise().values()) == own.hundredths or not own.exercises


def test_decisions_still_apply_after_regrading(tmp_path: Path) -> None:
    """Decisions concern people and exercises, and apply to the new points."""
    a_class(tmp_path)
    decide(tmp_path, ("points", {"person": "alice", "by": 1}))
    before = (tmp_path / "decisions.toml").read_bytes()
    results = a_batch(tmp_path, scored("alice", 4, 4))
    assert (tmp_path / "decisions.toml").read_bytes() == before
    own = settlements_by_name(results)["alice"]
    assert (own.machine, own.final) == (800, 9.0)


def number(cell: str) -> Decimal:
    return Decimal(cell or "0")


def a_random_class(folder: Path, rng: random.Random) -> Results:
    grades = [
        scored(f"s{n}", rng.randint(0, 400) / 100, rng.randint(0, 600) / 100) for n in range(6)
    ]
    return a_batch(
        folder, *grades, unreadable("bea"), not_graded("lara"), authors={"s0": [JANE, BOB]}
    )


def a_random_decision(rng: random.Random) -> tuple[str, dict[str, object]]:
    person = rng.choice([*(f"s{n}" for n in range(6)), "Jane Doe", "12", "bea", "everybody"])
    part: dict[str, object] = rng.choice(
        [
            {},
            {"exercise": "run_rope"},
            {"exercise": "run_mha"},
            {"test": "test_run_rope.py::test_values"},
        ]
    )
    reason = {"reason": f"reason {rng.random()}"}
    kind = rng.choice(["points", "points", "points", "excused", "taken_out", "bonus"])
    if kind == "points":
        amount = {"by": rng.randint(-300, 300) / 100}
        amount = rng.choice([amount, {"to": rng.randint(0, 700) / 100}])
        return kind, {"person": person, **part, **amount, **reason}
    if kind == "excused":
        person = "s1" if person == "everybody" else person
        part = {} if "test" in part else part
        return kind, {"person": person, **part, **reason}
    return kind, {**(part or {"exercise": "run_mha"}), **reason}
