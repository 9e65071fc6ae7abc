"""`grader batch` and `grader explain` over a folder of grades: what they print and keep.

In most tests every submission keeps its grade, so that no judge starts.
"""

from __future__ import annotations

import dataclasses
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from grader.core.explanation import PENDING
from grader.core.submission import Imports
from grader.intake.people import read_roster
from grader.results.store import Store
from tests.harness.intake_batches import batch, laid_out
from tests.harness.own_command import grader_here

pytestmark = pytest.mark.unit

ROSTER = "name,id\nAnn Ash,ann\nCy Coe,cy\n"


@pytest.fixture
def graded(tiny, tmp_path) -> Path:
    """A folder with a class of three, its grades and its roster; each has 10 of 10 points."""
    laid_out(tmp_path / "class", {f"{name}/adapters.py": 10 for name in ("ann", "bob", "dan")})
    (tmp_path / "roster.csv").write_text(ROSTER)
    batch(tiny, [tmp_path / "class"], tmp_path / "out")
    return tmp_path


def again(graded: Path, tiny: Path, *more: object) -> subprocess.CompletedProcess[str]:
    """Runs the batch again, in the folder above the class."""
    words = ("batch", "class", "--out", "out", "--assignment", tiny, *more)
    return grader_here(*words, cwd=graded)


def test_an_unchanged_class_keeps_its_grades(graded, tiny):
    """The class is on standard output, all else on standard error. Pages are written."""
    done = again(graded, tiny)
    assert done.returncode == 0, done.stderr
    assert "3 graded before and unchanged; 0 to grade\n" in done.stderr
    assert "roster" not in done.stderr
    assert "no longer handed in" not in done.stderr
    assert [name for name in ("ann", "bob", "dan") if f"{name} " in done.stdout] == [
        *("ann", "bob", "dan")
    ]
    assert "the class in full: out/report/index.html" in done.stdout
    assert (graded / "out" / "report" / "index.html").exists()


def test_the_roster_of_a_batch_names_absentees_and_strangers(graded, tiny):
    """They are also kept with the results."""
    done = again(graded, tiny, "--roster", "roster.csv")
    assert done.returncode == 0, done.stderr
    assert "roster: 1 of 2 people handed in\nhanded in nothing: Cy Coe\n" in done.stderr
    assert "by nobody on the roster: bob, dan\n" in done.stderr
    people = Store.read(graded / "out").people
    assert [one.name for one in people.absentees] == ["Cy Coe"]
    assert [one.name for one in people.authors["ann"]] == ["Ann Ash"]
    assert len(read_roster(graded / "roster.csv")) == 2


def test_what_is_skipped_or_gone_is_named_with_its_reason(graded, tiny):
    """A grade whose submission is gone is removed."""
    shutil.rmtree(graded / "class" / "dan")
    (graded / "class" / "notes.txt").write_text("hello")
    done = again(graded, tiny)
    assert "skipped 'notes.txt': " in done.stderr
    assert "no longer handed in, and removed from the results: dan\n" in done.stderr
    assert Store.read(graded / "out").submissions() == ["ann", "bob"]


def test_details_add_the_tests_that_may_be_faulty(graded, tiny):
    """Everybody passes the one test here."""
    said = "There is no complaint about the tests."
    assert said in again(graded, tiny, "--details").stdout
    assert said not in again(graded, tiny).stdout


def test_pages_are_written_again_only_if_something_changed(graded, tiny):
    """Grades, the roster, decisions, and the pages themselves count; the next steps are shown."""
    report = graded / "out" / "report"

    def writes(*more: object) -> bool:
        before = report.stat().st_ino if report.exists() else 0
        done = again(graded, tiny, *more)
        assert "the class in full: out/report/index.html" in done.stdout
        return report.stat().st_ino != before

    assert [writes(), writes()] == [True, False]
    (graded / "out" / "decisions.toml").write_text(
        '[[points]]\nperson = "ann"\nto = 1\nreason = "oral"\n'
    )
    assert [writes(), writes()] == [True, False]
    next((report / "submissions").iterdir()).unlink()
    assert [writes(), writes()] == [True, False]
    assert [writes("--roster", "roster.csv"), writes("--roster", "roster.csv")] == [True, False]
    shutil.rmtree(graded / "class" / "dan")
    assert writes("--roster", "roster.csv")


def test_pages_that_cannot_be_written_cost_no_grade(graded, tiny):
    """A report that is not the grader's stays. The exit code is that of the grading."""
    report = graded / "out" / "report"
    report.mkdir()
    (report / "mine.txt").write_text("precious")
    done = again(graded, tiny)
    assert done.returncode == 0
    assert done.stderr.endswith("; the grades are kept\n")
    assert [file.name for file in report.iterdir()] == ["mine.txt"]


def test_decisions_that_cannot_be_read_cost_no_grade(graded, tiny):
    """The sentence names the line. The points are those of the tests."""
    (graded / "out" / "decisions.toml").write_text('[[point]]\nperson = "ann"\n')
    done = again(graded, tiny)
    assert done.returncode == 0
    assert "decisions.toml:1: nothing is decided by [[point]]" in done.stderr
    assert done.stderr.endswith("no report is written until this is fixed; the grades are kept\n")
    assert "10 / 10" in done.stdout
    assert not (graded / "out" / "report").exists()


def test_explain_finds_nothing_to_do_in_a_whole_class(graded, tiny):
    """The pages are written all the same."""
    done = grader_here("explain", graded / "out", "--assignment", tiny)
    assert (done.returncode, done.stderr) == (0, "")
    first = "0 submissions explained, 0 with an incomplete explanation"
    assert done.stdout.splitlines()[0] == first
    assert (graded / "out" / "report" / "index.html").exists()


def test_explain_leaves_out_what_changed_since_it_was_graded(graded, tiny):
    """The words would be about another program: the exit code is 1. The grade keeps the reason."""
    with Store.open(graded / "out", "tiny") as store:
        (ann, bob, _) = store.grades()
        for place, grade in enumerate((ann, bob)):
            store.add(dataclasses.replace(grade, unexplained=PENDING), "key", place)
    for name in ("ann", "bob"):
        (graded / "class" / name / "adapters.py").write_text("# 5\n")
    done = grader_here("explain", graded / "out", "--assignment", tiny)
    assert done.returncode == 1, done.stderr
    said = "changed or gone since they were graded, or graded by other tests; "
    assert done.stderr == f"{said}run grader batch over them first: ann, bob\n"
    assert "2 submissions are not fully explained" in done.stdout
    why = Store.read(graded / "out").grade("ann").unexplained
    assert "changed or taken away" in why


def test_packages_that_are_missing_are_reported_below_the_class(graded, tiny):
    """The sentence says what to do."""
    with Store.open(graded / "out", "tiny") as store:
        key, (ann, *_) = store.finished()["ann"], store.grades()
        imports = Imports(lacking=("einx_of_nobody",))
        store.add(dataclasses.replace(ann, imports=imports), key, 0)
    done = again(graded, tiny)
    assert done.returncode == 0, done.stderr
    assert "not installed here: einx_of_nobody (1 submission); see grader doctor" in done.stdout


@pytest.mark.parametrize(
    ("words", "place", "said"),
    [
        (
            ("batch", "class", "--out", "out"),
            "batch.say_what_was_found",
            "stopped: the grades so far are kept; run the command again to continue\n",
        ),
        (
            ("explain", "out"),
            "batch.open_explanations",
            "stopped: the explanations so far are kept; run the command again to continue\n",
        ),
        (("mistakes", "out"), "mistakes.in_words", "grader: stopped\n"),
    ],
    ids=["batch", "explain", "any other"],
)
def test_a_stopped_command_says_so_with_the_exit_code_of_shells(
    graded, tiny, monkeypatch, words, place, said
):
    """Ctrl-C shows no traceback."""

    def interrupt(*_: object) -> None:
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(f"grader.cli.commands.{place}", interrupt)
    course = () if words[0] == "mistakes" else ("--assignment", tiny)
    done = grader_here(*words, *course, cwd=graded)
    assert done.returncode == 130
    assert done.stderr.endswith(said)
    assert "Traceback" not in done.stderr


RIGHT = "def run_double(x):\n    return 2 * x\n\ndef run_count(x):\n    return x.numel()\n"


@pytest.mark.process
def test_a_batch_reports_what_it_runs_again_after_a_change(grader, tiny, tmp_path):
    """A changed test, new points and a new contract concern all submissions.

    If a test itself is wrong, no submission gets a grade, and the exit code is 1.
    """
    course = Path(shutil.copytree(tiny, tmp_path / "course"))
    programs = {"ann": RIGHT, "bob": RIGHT.replace("2 * x", "3 * x")}
    laid_out(tmp_path / "class", {f"{name}/adapters.py": it for name, it in programs.items()})

    def graded_again(*more: str, code: int = 0) -> list[str]:
        words = ("batch", tmp_path / "class", "--out", tmp_path / "out", *more)
        done = grader(*words, cwd=course)
        assert done.returncode == code, done.stderr
        return done.stderr.splitlines()

    said = graded_again("--no-explain")
    assert not [line for line in said if "before" in line or "explained" in line]
    assert said[-1].startswith("2/2: 2 graded; last: ")
    done = grader("explain", tmp_path / "out", "--jobs", 1, cwd=course)
    first = "1 submission explained, 0 with an incomplete explanation"
    assert done.stdout.splitlines()[0] == first
    assert done.stderr == "1/1: 1 explained; last: bob\n"

    change(course / "tests" / "hidden" / "test_tiny.py", "draw(7)", "draw(8)")
    (tmp_path / "class" / "cy.py").write_text(RIGHT)
    again = "everything changed since the last run: every submission is graded again"
    assert again in graded_again()
    change(course / "pyproject.toml", "run_count = 1", "run_count = 2")
    said = graded_again()
    assert again in said
    assert "points changed for 3 submissions: ann 5 -> 6, bob 1 -> 2, cy 5 -> 6" in said
    change(course / "adapters.py", "x: Float", "x : Float")
    change(course / "tests" / "hidden" / "test_tiny.py", "x = draw(8)", "x = draw(8) / None")
    change(course / "pyproject.toml", "call_timeout", 'preload = ["no_such"]\ncall_timeout')
    said = graded_again(code=1)
    assert again in said
    assert any(line.startswith("3/3: 3 not graded; last: ") for line in said)
    assert any(line.startswith("preload: no_such could not be imported, and is") for line in said)
    (isolation,) = [line for line in said if line.startswith("isolation: ")]
    missing = isolation.removeprefix("isolation: not here: ").removesuffix(" (grader doctor)")
    assert missing != isolation or isolation == "isolation: every layer holds"


def change(file: Path, old: str, new: str) -> None:
    """Replaces a text in a file."""
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
