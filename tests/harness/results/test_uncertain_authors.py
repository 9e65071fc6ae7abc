"""Submissions of unknown authors: no one gets their points until the instructor decides."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest
from rich.console import Console

from grader.core.submission import Author
from grader.reports.feedback import write_feedback
from grader.reports.pages.report import write_report
from grader.reports.summary import print_summary
from grader.results.anonymous import AnonymousResults
from grader.results.decisions.file import append_decision
from grader.results.decisions.opening import open_settling
from grader.results.decisions.settling import effects
from grader.results.results import People, Results
from grader.results.store import Store
from tests.harness.export_fixtures import exported, scored
from tests.harness.storing import add

pytestmark = pytest.mark.unit

ALICE = Author("Alice Doe", "7", "alice@school.example")
STRANGER = Author("Alice Doe", "", "m@elsewhere.example")
BO = Author("Bo Ill", "8", "bo@school.example")
WANDA = Author("Wanda Absent", "9", "wanda@school.example")
GRADEBOOK = """\
Student,ID,SIS User ID,SIS Login ID,Section,Attention (1)
    Points Possible,,,,,10
"Doe, Alice",7,,alice@school.example,A,
"Absent, Wanda",9,,wanda@school.example,A,
"""
WHY = "handed in under a name that is another's"


def a_class(folder: Path) -> Results:
    """Returns a class: Alice has 10 points, and a submission with 4 has no certain author."""
    with Store.open(folder, "Attention") as store:
        people = {"s_1": [ALICE], "s_1-2": [STRANGER]}
        store.set_people(People(people, absentees=[WANDA, BO], unsure={"s_1-2": WHY}))
        for place, grade in enumerate((scored("s_1", 4, 6), scored("s_1-2", 4, 0))):
            add(store, grade, "key", place)
    return Store.read(folder)


def decide(results: Results, kind: str, **table: str) -> None:
    append_decision(results.folder / "decisions.toml", kind, table)


def exported_points(results: Results) -> dict[str, str]:
    template = results.folder / "gradebook.csv"
    template.write_text(GRADEBOOK, encoding="utf-8")
    return exported("canvas", results, template).column("Attention (1)", "ID")


def test_an_uncertain_submission_counts_for_nobody_until_a_decision(tmp_path: Path) -> None:
    """A comment to the author does not decide who the author is."""
    results = a_class(tmp_path)
    decide(results, "comment", person="s_1-2", text="Come and see me.")
    assert exported_points(results)["7"] == "10"
    assert exported_points(results)["9"] == ""
    decide(results, "whose", submission="s_1-2", person="wanda absent")
    assert exported_points(results) == {"": "10", "7": "10", "9": "4"}


def test_the_decided_author_replaces_the_assumed_one(tmp_path: Path) -> None:
    """The decided author replaces the assumed ones.

    An author of two submissions still needs a decision between them.
    """
    results = a_class(tmp_path)
    decide(results, "whose", submission="s_1-2", person="9")
    settling = open_settling(results)
    assert settling.people == {"s_1": (ALICE,), "s_1-2": (WANDA,)}
    assert settling.absentees == (BO,)
    assert [effect.in_short() for effect in effects(results, settling)] == [
        ["Wanda Absent: handed in s_1-2"]
    ]


def test_a_decision_can_confirm_the_assumed_author(tmp_path: Path) -> None:
    """The decision names the submission itself: the instructor has asked its author."""
    results = a_class(tmp_path)
    decide(results, "whose", submission="s_1-2", person="s_1-2")
    settling = open_settling(results)
    assert (settling.people["s_1-2"], settling.unsure) == ((STRANGER,), {})


def test_decisions_about_authors_show_no_name_in_anonymous_results(tmp_path: Path) -> None:
    """Neither the reason for the uncertainty nor the decision's effect has a name."""
    results = AnonymousResults.of(a_class(tmp_path))
    assert [*open_settling(results).unsure] == [results.mask.labels["s_1-2"]]
    decide(results.named, "whose", submission="s_1-2", person="9")
    (effect,) = effects(results, open_settling(results))
    said = f"{effect.words} {effect.in_short()}"
    assert "Wanda" not in said
    assert "s_1" not in said
    assert open_settling(results).unsure == {}


def test_an_uncertain_author_gets_no_mail(tmp_path: Path) -> None:
    """A mail to the wrong person cannot be recalled."""
    results = a_class(tmp_path / "results")
    bundle = write_feedback(results, open_settling(results), "mail", tmp_path / "mail")
    assert "m@elsewhere.example" not in (tmp_path / "mail" / "mail.csv").read_text()
    assert [one.reason for one in bundle.left_out] == ["its author is not certain"]


@pytest.mark.parametrize("form", ["csv", "json"])
def test_every_export_reports_uncertain_authors(tmp_path: Path, form: str) -> None:
    """Formats with one row per submission say so too."""
    results = a_class(tmp_path)
    assert WHY in exported(form, results).said
    decide(results, "whose", submission="s_1-2", person="9")
    assert WHY not in exported(form, results).said


def test_the_report_asks_for_an_uncertain_author_until_a_decision(tmp_path: Path) -> None:
    """The report shows the command for the decision."""
    results = a_class(tmp_path / "results")
    decide(results, "comment", person="s_1-2", text="Come and see me.")
    write_report(results, tmp_path / "report")
    page = (tmp_path / "report" / "index.html").read_text()
    assert "whose SUBMISSION PERSON" in page
    decide(results, "whose", submission="s_1-2", person="9")
    write_report(results, tmp_path / "report")
    page = (tmp_path / "report" / "index.html").read_text()
    assert "whose SUBMISSION PERSON" not in page


def test_who_handed_in_follows_from_the_decisions_everywhere(tmp_path: Path) -> None:
    """Tables, pages and exports agree: the decided author did, the first one did not."""
    results = a_class(tmp_path / "results")
    decide(results, "excused", person="bo@school.example", reason="ill")
    decide(results, "whose", submission="s_1", person="bo@school.example")
    decide(results, "whose", submission="s_1", person="wanda absent")
    settling = open_settling(results)
    assert settling.absentees == (BO, ALICE)
    told = [effect.in_short() for effect in effects(results, settling)]
    assert told[1:] == [["changes nobody's points"], ["Wanda Absent: handed in s_1"]]
    console = Console(file=io.StringIO(), width=100)
    print_summary(results, settling, console)
    assert re.search("^Wanda Absent +10 / 10", console.file.getvalue(), re.MULTILINE)
    write_report(results, tmp_path / "report")
    page = (tmp_path / "report" / "index.html").read_text()
    assert "2 people on the roster handed in nothing" in page
    assert "<li>Bo Ill (excused)</li><li>Alice Doe</li>" in page
    table = exported("csv", results)
    assert table.column("status", "id")["7"] == "absent"
    assert "handed in nothing, left blank: 1\n  Alice Doe (7, " in table.said
    absentees = json.loads(exported("json", results).text)["absentees"]
    assert [one["id"] for one in absentees] == ["8", "7"]
