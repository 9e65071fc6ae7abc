"""`grader decide`: each command writes its table, and prints whose points it changed."""

from __future__ import annotations

import datetime
import tomllib
from pathlib import Path
from typing import Any

import pytest

from grader.core.late_rule import LateRule
from grader.core.submission import Author
from grader.results.anonymous import numbered
from grader.results.decisions.opening import open_settling
from grader.results.store import Store
from tests.harness.export_fixtures import a_batch, scored
from tests.harness.own_command import grader_here

pytestmark = pytest.mark.unit

ALICE, JANE, BOB = Author("Alice Apple", "11"), Author("Jane Doe", "12"), Author("Bob Roe", "13")
BY = ("--by", "Ann")
WHY = ("--reason", "so", *BY)
DUE = datetime.datetime(2026, 10, 5, 23, 59)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """The results of a class: alice has 4 and 2 points, jane and bob have 0 and 6."""
    a_batch(
        tmp_path,
        scored("alice", 4, 2),
        scored("pair", 0, 6),
        authors={"alice": [ALICE], "pair": [JANE, BOB]},
    )
    (tmp_path / "times.csv").write_text("submission,submitted_at\nalice,2026-10-03T12:00\n")
    return tmp_path


def decided(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Returns the decisions in the file of a folder, by table."""
    return tomllib.loads((folder / "decisions.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("words", "table", "row", "effect"),
    [
        (
            ("points", "alice", "run_rope", "2", *WHY),
            "points",
            {"person": "alice", "exercise": "run_rope", "to": 2, "reason": "so"},
            "Alice Apple: −2 points in run_rope: so; 4 points",
        ),
        (
            ("points", "alice", "+1.5", *WHY),
            "points",
            {"person": "alice", "by": 1.5, "reason": "so"},
            "Alice Apple: +1.5 points: so; 7.5 points",
        ),
        (
            ("points", "11", "−1", *WHY),
            "points",
            {"person": "11", "by": -1, "reason": "so"},
            "Alice Apple: −1 point: so; 5 points",
        ),
        (
            ("points", "alice", "-1", *WHY),
            "points",
            {"person": "alice", "by": -1, "reason": "so"},
            "Alice Apple: −1 point: so; 5 points",
        ),
        (
            ("points", "alice", "test_run_rope.py::test_values", "1", *WHY),
            "points",
            {"person": "alice", "test": "test_run_rope.py::test_values", "to": 1, "reason": "so"},
            "Alice Apple: −3 points in run_rope: so; 3 points",
        ),
        (
            ("comment", "alice", "Well argued.", *BY),
            "comment",
            {"person": "alice", "text": "Well argued."},
            "Alice Apple: reads it",
        ),
        (("excused", "bob roe", *BY), "excused", {"person": "bob roe"}, "excused"),
        (
            ("excused", "alice", "run_mha", *WHY),
            "excused",
            {"person": "alice", "exercise": "run_mha", "reason": "so"},
            "10 points",
        ),
        (
            ("extension", "alice", "--until", "2026-10-05T23:59", *BY),
            "extension",
            {"person": "alice", "until": DUE},
            "",
        ),
        (
            ("extension", "alice", "--days", "1", *WHY),
            "extension",
            {"person": "alice", "days": 1, "reason": "so"},
            "",
        ),
        (
            ("taken-out", "run_rope", *WHY),
            "taken_out",
            {"exercise": "run_rope", "reason": "so"},
            "points",
        ),
        (
            ("bonus", "test_run_mha.py::test_values", *WHY),
            "bonus",
            {"test": "test_run_mha.py::test_values", "reason": "so"},
            "points",
        ),
        (
            ("taken-instead", "alice", "pair", *WHY),
            "taken_instead",
            {"person": "alice", "submission": "pair", "reason": "so"},
            "alice: gets the grade of pair and of no other",
        ),
        (
            ("whose", "pair", "alice apple", *WHY),
            "whose",
            {"submission": "pair", "person": "alice apple", "reason": "so"},
            "Alice Apple: handed in pair",
        ),
        (("late-days", "alice", "0", *BY), "late_days", {"person": "alice", "left": 0}, ""),
        (
            ("handed-in", "alice", "2026-10-05T23:59", *WHY),
            "handed_in",
            {"person": "alice", "at": DUE, "reason": "so"},
            "",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_decision_is_written_into_its_table_and_its_effect_is_printed(
    out, words, table, row, effect
):
    """The row has the author and the time of the decision. Only given values are written."""
    done = grader_here("decide", out, *words)
    assert done.returncode == 0, done.stderr
    ((name, rows),) = decided(out).items()
    (found,) = rows
    when, who = found.pop("when"), found.pop("who")
    assert (name, found, who, when.tzinfo is not None) == (table, row, "Ann", True)
    first, *effects = done.stdout.splitlines()
    lines = (out / "decisions.toml").read_text().splitlines()
    line = [text.partition("]]")[0] for text in lines].index(f"[[{table}") + 1
    assert first == f"{out / 'decisions.toml'}:{line}: written"
    assert effects
    assert effect in "\n".join(effects)


def test_only_the_effects_of_the_new_decision_are_printed(out):
    """Earlier decisions were printed when they were made."""
    grader_here("decide", out, "comment", "alice", "one", *BY)
    done = grader_here("decide", out, "comment", "pair", "two", *BY)
    assert done.stdout.splitlines()[1:] == ["  Jane Doe, Bob Roe: reads it"]


def test_a_decision_says_how_to_renew_pages_that_were_written_before(out):
    """The pages of a report do not change by themselves."""
    (out / "report").mkdir()
    done = grader_here("decide", out, "comment", "alice", "one", *BY)
    assert done.stdout.splitlines()[-1] == f"  the pages show it after grader report {out}"


@pytest.mark.parametrize("place", ["", "elsewhere"])
def test_a_table_of_times_is_named_from_the_folder_of_results(out, place):
    """The table stays where it is, and may lie beside the results or elsewhere."""
    table = out / "times.csv"
    if place:
        (out / place).mkdir()
        table = table.rename(out / place / "times.csv")
    done = grader_here("decide", out, "times", table, *BY)
    assert done.returncode == 0, done.stderr
    assert decided(out)["times"][0]["table"] == str(Path(place, "times.csv"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("points", "alice", "a", "b", "2", *WHY), "one test or exercise at a time, not a, b"),
        (("points", "alice", "x", *WHY), "must be a number such as 2, +1.5 or -1, not 'x'"),
        (("points", "alice", "nan", *WHY), "to must be a number of points"),
        (("points", "alice", "2", *BY), "missing option '--reason'"),
        (("points", "alice", "run_rpoe", "2", *WHY), "no exercise is called 'run_rpoe': did you"),
        (("points", "alice", "test_vlaues", "2", *WHY), "no test is called 'test_vlaues'"),
        (("points", "alice", "x.py::y", "2", *WHY), "no test is called 'x.py::y'"),
        (("points", "alcie", "2", *WHY), "'alcie' is nobody of this class: did you mean alice?"),
        (("extension", "alice", *BY), "[[extension]] needs one of until and days"),
        (("extension", "alice", "--days", "0", *BY), "0 is not in the range x>=1"),
        (("extension", "alice", "--until", "soon", *BY), "'soon' does not match the formats"),
        (("late-days", "alice", "-1", *BY), "no such option"),
        (("taken-instead", "alice", "piar", *BY), "no submission is called 'piar'"),
        (("times", "nowhere.csv"), "'nowhere.csv' does not exist"),
        (("undo", "1"), "decisions.toml holds 0 decisions, and none with the number 1"),
        (("undo", "0"), "0 is not in the range x>=1"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_decision_that_cannot_be_made_is_refused_in_one_sentence(out, words, said):
    """The exit code is 2, and no file is written."""
    done = grader_here("decide", out, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (out / "decisions.toml").exists()


@pytest.mark.parametrize(
    "words",
    [
        ("points", "alice", "+1"),
        ("excused", "alice", "run_rope"),
        ("extension", "alice", "--days", "1"),
        ("taken-out", "run_rope"),
        ("bonus", "run_rope"),
        ("taken-instead", "Alice Apple", "pair"),
        ("whose", "alice", "Jane Doe"),
        ("late-days", "alice", "1"),
        ("handed-in", "alice", "2026-10-06T12:00"),
    ],
    ids=lambda words: words[0],
)
def test_the_help_says_who_reads_a_reason(out, words):
    """A reason that looks meant for the student must reach the student."""
    with Store.open(out, "Attention") as store:
        store.remember(late=LateRule(due=DUE, zone="Europe/Zurich", percent=10).as_json())
    assert grader_here("decide", out, *words, *WHY).returncode == 0
    results = Store.read(out)
    settling = open_settling(results)
    told = [
        said for one in results.grades() for own in settling.settle(one) for said in own.sentences()
    ]
    is_told = any(": so" in sentence for sentence in told)
    printed = grader_here("decide", out, words[0], "--help").stdout
    assert ("for the student to read" in printed) is is_told


@pytest.mark.parametrize("until", ["2026-10-05T23:59", "2026-10-05T21:59+00:00"])
def test_an_extension_until_the_due_date_is_refused(out, until):
    """The student would read that there was more time, until the ordinary due date."""
    with Store.open(out, "Attention") as store:
        store.remember(late=LateRule(due=DUE, zone="Europe/Zurich", percent=10).as_json())
    done = grader_here("decide", out, "extension", "alice", "--until", until, *BY)
    assert (done.returncode, done.stdout) == (2, "")
    assert "until must be after the due date, 2026-10-05T23:59 CEST" in done.stderr
    assert not (out / "decisions.toml").exists()
    later = ("extension", "alice", "--until", "2026-10-06T00:00", *BY)
    assert grader_here("decide", out, *later).returncode == 0


def test_decisions_are_listed_by_number_and_can_be_taken_back(out):
    """Without a command, `decide` lists. The numbers are those of the list."""
    assert grader_here("decide", out).stdout == (
        f"nothing is decided in {out / 'decisions.toml'}\n"
    )
    grader_here("decide", out, "points", "alice", "run_rope", "2", *WHY)
    grader_here("decide", out, "comment", "pair", "Fine.", *BY)
    lines = grader_here("decide", out).stdout.splitlines()
    assert grader_here("decide", out, "list").stdout.splitlines() == lines
    places = [line.split()[1] for line in lines[::2]]
    assert lines == [
        f"  1  {places[0]}  points: alice, run_rope, to 2: so (Ann)",
        "     Alice Apple: −2 points in run_rope: so; 4 points",
        f"  2  {places[1]}  comment: pair, Fine. (Ann)",
        "     Jane Doe, Bob Roe: reads it",
    ]
    refused = grader_here("decide", out, "undo", "3")
    assert refused.returncode == 2
    assert "holds 2 decisions, and none with the number 3" in refused.stderr
    done = grader_here("decide", out, "undo", "2")
    assert done.stdout == f"taken back: {places[1]}\n"
    assert [*decided(out)] == ["points"]
    assert grader_here("decide", out, "undo", "1").returncode == 0
    assert decided(out) == {}


@pytest.mark.parametrize("words", [("whose", "pair", "alice"), ("taken-instead", "alice", "pair")])
def test_a_later_submission_named_like_a_number_changes_no_decision(out, words):
    """Both names of a decision may be numbers, which are kept as labels."""
    numbers = numbered(Store.read(out))
    command, *named = words
    done = grader_here("decide", out, command, *(numbers[name] for name in named), *BY)
    assert done.returncode == 0, done.stderr
    (row,) = decided(out)[command.replace("-", "_")]
    assert {row["person"], row["submission"]} == {
        f"Submission {number}" for number in numbers.values()
    }
    people = open_settling(Store.read(out)).people
    later = [scored(str(number), 1, 1) for number in numbers.values()]
    a_batch(
        out,
        *(scored("alice", 4, 2), scored("pair", 0, 6), *later),
        authors={"alice": [ALICE], "pair": [JANE, BOB]},
    )
    assert open_settling(Store.read(out)).people.items() >= people.items()


def test_a_decision_by_an_anonymous_number_shows_no_name(out):
    """Neither the file nor the output says who that is."""
    grader_here("report", out, "--anonymous")
    number = Store.read(out).numbers()["alice"]
    done = grader_here("decide", out, "points", number, "run_rope", "2", *WHY)
    assert done.returncode == 0, done.stderr
    assert decided(out)["points"][0]["person"] == f"Submission {number}"
    listed = grader_here("decide", out, "list", "--anonymous").stdout
    for text in (done.stdout, listed):
        assert f"Submission {number}: −2 points in run_rope: so; 4 points" in text
        assert "alice" not in text.lower()
    assert "Alice Apple" in grader_here("decide", out, "list").stdout
