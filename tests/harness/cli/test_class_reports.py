"""`grader report`, `tolerances` and `mistakes`: what they print, and where the pages go."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from grader.core.explanation import WrongAnswer, WrongAnswers
from grader.core.submission import Author
from grader.core.verdict import Measurement
from grader.explain.mistakes.clusters import clusters_of
from grader.explain.mistakes.named_mistakes import read_names
from grader.results.store import Store
from tests.harness.conftest import write_files
from tests.harness.export_fixtures import a_batch, a_grade, a_verdict, not_graded, scored
from tests.harness.own_command import grader_here
from tests.harness.storing import words_in

pytestmark = pytest.mark.unit

FIVE = ("bob", "cy", "dee", "eve", "fay")  # enough to doubt a test

SAYING = ("--sentence", "Your keys\nare not transposed.", "--hint", " Which axes?  ")


def next_steps(printed: str) -> list[str]:
    """Returns the lines after `next:`."""
    return printed.partition("\nnext:\n")[2].splitlines()


def test_a_report_prints_the_class_and_the_next_steps(tmp_path):
    """Each step has a command that can be typed: a folder's name may have a space."""
    out = tmp_path / "my results"
    a_batch(out, *(scored(name, 0, 6) for name in FIVE))
    done = grader_here("report", out)
    assert (done.returncode, done.stderr) == (0, "")
    assert "bob" in done.stdout
    assert "6 / 10" in done.stdout
    typed = shlex.quote(str(out))
    faulty, *steps = next_steps(done.stdout)
    assert faulty == f"  1 exercise has tests that may be faulty: grader report {typed} --details"
    assert steps == [
        f"  the class in full: {out / 'report' / 'index.html'}",
        f"  hand grades on: grader export {typed} --format csv --out grades.csv",
    ]
    assert (out / "report" / "index.html").exists()


@pytest.mark.parametrize(
    ("count", "said"),
    [(1, "1 submission is not fully explained"), (2, "2 submissions are not fully explained")],
)
def test_submissions_without_explanations_are_a_next_step(tmp_path, count, said):
    """The command that adds explanations stands beside their number."""
    wrong = [replace(scored(name, 0, 6), unexplained="late") for name in "ab"[:count]]
    a_batch(tmp_path, *wrong, scored("c", 4, 6))
    done = grader_here("report", tmp_path)
    assert f"  {said}: grader explain {tmp_path}" in next_steps(done.stdout)


def test_a_report_goes_where_out_says(tmp_path):
    """The default folder is not made."""
    a_batch(tmp_path / "results", scored("ann", 4, 6))
    done = grader_here("report", tmp_path / "results", "--out", tmp_path / "pages")
    assert (tmp_path / "pages" / "index.html").exists()
    assert not (tmp_path / "results" / "report").exists()
    assert f"{tmp_path / 'pages' / 'index.html'}" in done.stdout


def test_details_list_the_tests_that_may_be_faulty(tmp_path):
    """Without the option, only the submissions are listed."""
    a_batch(tmp_path, *(scored(name, 4, 0) for name in FIVE))
    short, full = (grader_here("report", tmp_path, *more).stdout for more in ([], ["--details"]))
    assert "tried by 5:" in full
    assert "tried by 5:" not in short


def test_changes_since_an_earlier_batch_are_counted(tmp_path):
    """One submission went up, one down, one stayed; one is new, one gone, one graded once only."""
    old, new = tmp_path / "old", tmp_path / "new"
    a_batch(
        old,
        *(scored(name, 2, 2) for name in ("up", "down", "same", "gone", "lost")),
    )
    a_batch(
        new,
        *(scored("up", 4, 2), scored("down", 0, 2), scored("same", 2, 2), scored("fresh", 2, 2)),
        not_graded("lost"),
    )
    done = grader_here("report", new, "--against", old)
    assert done.returncode == 0, done.stderr
    assert (
        "1 up, 1 down, 1 with the same score, 1 graded in one batch only, 1 new, "
        "1 only in the earlier batch\n"
    ) in done.stdout
    same = grader_here("report", new, "--against", new).stdout
    assert "0 up, 0 down, 5 with the same score\n" in same


def test_an_anonymous_report_says_what_it_does_not_hide(tmp_path):
    """The pages have a folder of their own, unless one is named."""
    a_batch(tmp_path, scored("ann-ash", 4, 6), authors={"ann-ash": [Author("Ann Ash")]})
    done = grader_here("report", tmp_path, "--anonymous")
    assert "are replaced by numbers" in done.stderr
    assert "ann" not in done.stdout.lower().replace(str(tmp_path).lower(), "")
    assert (tmp_path / "report-anonymous" / "index.html").exists()
    assert not (tmp_path / "report").exists()
    grader_here("report", tmp_path, "--anonymous", "--out", tmp_path / "pages")
    assert (tmp_path / "pages" / "index.html").exists()


def test_tolerances_compare_right_and_wrong_answers(tmp_path):
    """A test whose right answers lie near its tolerance is in doubt."""
    a_batch(
        tmp_path,
        *(
            a_grade(str(error), a_verdict("run_rope", 4.0, measurement=measured(error)))
            for error in (0.4, 0.5)
        ),
    )
    done = grader_here("tolerances", tmp_path)
    assert done.returncode == 0
    assert "0 of 1 tests have a sound tolerance" in done.stdout


def measured(error: float) -> Measurement:
    """Returns the measurement of an error, as a multiple of the tolerance."""
    return Measurement(error, error, 1e-6, 1e-5, error)


def an_answer(number: float) -> WrongAnswer:
    """Returns a wrong answer to the first call of a test."""
    return WrongAnswer("tests/public/a.py::t", 0, True, (1,), (number,), (1e-6, 1e-5), "x", 1)


@pytest.fixture
def clusters(tmp_path) -> Path:
    """The results of a class: two submissions answer alike in two exercises, one otherwise."""
    answers = {"ann": 1.0, "bob": 1.0, "cy": 2.0}
    grades = {name: scored(name, 0, 0) for name in answers}
    a_batch(tmp_path, *grades.values())
    with Store.open(tmp_path, "Attention") as store:
        for name, number in answers.items():
            wrong = [
                WrongAnswers(exercise, (an_answer(number),), f"a.py:{number:g}")
                for exercise in ("run_rope", "run_mha")
            ]
            store.add_words(name, replace(words_in(grades[name]), wrong=tuple(wrong)))
    return tmp_path


def groups(folder: Path) -> list[str]:
    """Returns the ids of the groups, the largest first."""
    return [one.id for one in clusters_of(Store.read(folder).wrong_answers())]


def test_mistakes_lists_groups_and_nobody_who_is_alone(clusters):
    """Without a command, `mistakes` lists."""
    large, small = groups(clusters)
    short = grader_here("mistakes", clusters)
    assert grader_here("mistakes", clusters, "list").stdout == short.stdout
    assert short.stdout.startswith(f"{large}  2 submissions answer alike in run_rope: ")
    assert small not in short.stdout


def test_a_named_group_gets_its_name_in_all_its_exercises(clusters):
    """The words are put on one line. The rest of the class keeps no name."""
    done = grader_here("mistakes", clusters, "name", groups(clusters)[0], "half", *SAYING)
    assert done.stdout.splitlines() == [
        "2 submissions answer alike in run_rope: named half",
        f"reports and exports say so from now on: grader report {clusters}",
    ]
    names = read_names(clusters)
    assert [one.exercise for one in names] == ["run_rope", "run_mha"]
    (diagnosis,) = {one.diagnosis for one in names}
    assert (diagnosis.explanation, diagnosis.hint) == (
        "Your keys are not transposed.",
        "Which axes?",
    )
    ann, bob, cy = Store.read(clusters).grades()
    assert all(test.diagnosis == diagnosis for one in (ann, bob) for test in one.tests)
    assert not any(test.diagnosis for test in cy.tests)
    assert "half" in (clusters / "results.jsonl").read_text()


def test_a_group_can_be_given_other_words_but_no_second_name(clusters):
    """A name belongs to one group, until it is removed from the file."""
    large, small = groups(clusters)
    grader_here("mistakes", clusters, "name", large, "half", *SAYING)
    again = ("--sentence", "Half is too much.", "--hint", "How much?")
    assert grader_here("mistakes", clusters, "name", large, "half", *again).returncode == 0
    assert {one.diagnosis.explanation for one in read_names(clusters)} == {"Half is too much."}
    refused = (small, "half", "other answers are"), (large, "other", "this group is")
    for group, name, named in refused:
        done = grader_here("mistakes", clusters, "name", group, name, *SAYING)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == (
            f"grader: {named} named half already: change or remove that name in "
            f"{clusters / 'mistakes.toml'}\n"
        )
    assert grader_here("mistakes", clusters, "name", small, "own", *SAYING).returncode == 0
    assert len(read_names(clusters)) == 4


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("zzz", "half", *SAYING), "no group has the id 'zzz': grader mistakes RESULTS lists"),
        (("", "half", *SAYING), "several groups have the id ''"),
        (("FIRST", "Half!", *SAYING), "'Half!' is not an id of a mistake"),
        (("FIRST", "half", "--sentence", " ", "--hint", "h"), "a sentence and a hint need words"),
        (("FIRST", "half", "--sentence", "s", "--hint", ""), "a sentence and a hint need words"),
    ],
)
def test_a_name_that_cannot_be_given_is_refused(clusters, words, said):
    """Nothing is written."""
    given = [groups(clusters)[0] if word == "FIRST" else word for word in words]
    done = grader_here("mistakes", clusters, "name", *given)
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr
    assert not (clusters / "mistakes.toml").exists()


def test_a_named_mistake_is_added_to_the_assignment(clusters, tmp_path):
    """The files are printed, with the next step. An unknown name lists the known ones."""
    course = write_files(
        tmp_path / "course",
        {"pyproject.toml": '[tool.grader]\nname = "it"\n[tool.grader.exercises]\nrun_rope = 1\n'},
    )
    there = ("--assignment", course)
    done = grader_here("mistakes", clusters, "add", "half", *there)
    assert "named 'half': there is none yet" in done.stderr
    grader_here("mistakes", clusters, "name", groups(clusters)[0], "half", *SAYING)
    done = grader_here("mistakes", clusters, "add", "hlaf", *there)
    assert done.stderr.endswith("named 'hlaf': there is half\n")
    done = grader_here("mistakes", clusters, "add", "half", *there)
    seen = course / "solutions" / "seen"
    assert done.stdout.splitlines() == [
        f"written: {seen / 'half.toml'}",
        f"written: {seen / 'half.py'}",
        "go on there, list the mistake in MISTAKES, then: grader verify",
    ]
