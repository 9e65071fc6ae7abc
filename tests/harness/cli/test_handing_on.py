"""`grader export` and `grader feedback` print what is missing, and exit with 1 if something is."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from grader.core.submission import Author
from tests.harness.export_fixtures import a_batch, not_graded, scored
from tests.harness.own_command import grader_here

pytestmark = pytest.mark.unit

GRADEBOOK = """\
Student,ID,SIS Login ID,Section,Attention (7)
    Points Possible,,,,20
Ann Ash,1,ann,A,
"""
ANN = Author("Ann Ash", "1", "ann@x.edu")


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """The results of ann, who has 7.5 of 10 points, and a gradebook with a maximum of 20."""
    absent = [Author("Cy Coe", "3", "cy@x.edu")]
    a_batch(tmp_path, scored("ann", 4, 3.5), authors={"ann": [ANN]}, absentees=absent)
    (tmp_path / "gradebook.csv").write_text(GRADEBOOK, encoding="utf-8")
    return tmp_path


@pytest.fixture
def incomplete(tmp_path: Path) -> Path:
    """The results of two submissions, one of which is not graded."""
    a_batch(tmp_path, scored("ann", 4, 3.5), not_graded("bob"), authors={"ann": [ANN]})
    return tmp_path


def column(text: str, title: str) -> list[str]:
    """Returns a column of a table."""
    return [row[title] for row in csv.DictReader(text.removeprefix("\ufeff").splitlines())]


@pytest.mark.parametrize(
    ("options", "titles", "has"),
    [
        ((), ["run_rope", "run_mha", "total"], True),
        (("--points", "exercise"), ["run_rope", "run_mha", "total"], True),
        (("--points", "total"), ["run_rope", "run_mha"], False),
    ],
    ids=["default", "exercise", "total"],
)
def test_points_chooses_the_columns_of_a_table(out, options, titles, has):
    """A table has a column for each exercise by default."""
    done = grader_here("export", out, "--format", "csv", *options)
    assert done.returncode == 0, done.stderr
    header = next(csv.reader([done.stdout.removeprefix("\ufeff").splitlines()[0]]))
    assert {*titles} <= {*header} if has else {*titles}.isdisjoint(header)
    assert "7.5" in column(done.stdout, "total")


def test_absentees_are_blank_unless_they_get_zero(out):
    """The roster says who handed in nothing."""
    totals = [
        column(grader_here("export", out, "--format", "csv", *more).stdout, "total")
        for more in ((), ("--absent-zero",))
    ]
    assert ["" in own for own in totals] == [True, False]
    assert [("0" in own or "0.0" in own) for own in totals] == [False, True]


@pytest.mark.parametrize(
    ("options", "cell"),
    [((), "15"), (("--no-scale",), "7.5"), (("--column", "Attention (7)"), "15")],
    ids=["scaled", "as they are", "named column"],
)
def test_a_template_is_filled_in_and_scaled_to_the_platforms_maximum(out, options, cell):
    """The remark on stderr counts the rows. The template stays as it is."""
    upload, template = out / "upload.csv", out / "gradebook.csv"
    given = ("--template", template, "--out", upload, *options)
    done = grader_here("export", out, "--format", "canvas", *given)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert "filled 'Attention (7)' in 1 of 1 rows" in done.stderr
    assert upload.read_text().splitlines()[-1] == f"Ann Ash,1,ann,A,{cell}"
    assert template.read_text() == GRADEBOOK
    assert not [*out.glob(".*.partial")]


@pytest.mark.parametrize(
    ("form", "option", "taker"),
    [
        ("csv", "--template x.csv", "moodle"),
        ("json", "--column T", "canvas"),
        ("moodle", "--points total", "csv"),
        ("junit", "--absent-zero", "canvas"),
        ("csv", "--no-scale", "moodle"),
        ("canvas", "--feedback", "moodle"),
    ],
)
def test_an_option_of_another_format_is_refused(out, form, option, taker):
    """An option without an effect would be mistaken for one with an effect."""
    done = grader_here("export", out, "--format", form, *option.split())
    assert (done.returncode, done.stdout) == (2, "")
    refusal = rf"{option.split()[0]} is for --format [\w, ]*\b{taker}\b[\w, ]*, not for {form}"
    assert re.search(refusal, done.stderr)


def test_the_template_is_never_overwritten(out):
    """Two spellings of one path are the same file; a new file is not."""
    template = out / "gradebook.csv"
    given = ("--template", template, "--out", out / "." / "gradebook.csv")
    done = grader_here("export", out, "--format", "canvas", *given)
    assert done.returncode == 2
    assert "is the template itself: name another --out" in done.stderr
    assert template.read_text() == GRADEBOOK
    given = ("--template", out / "none.csv", "--out", out / "none.csv")
    assert "itself" not in grader_here("export", out, "--format", "canvas", *given).stderr
    (out / "upload.csv").write_text("earlier")
    given = ("--template", template, "--out", out / "upload.csv")
    assert grader_here("export", out, "--format", "canvas", *given).returncode == 0


def test_missing_points_are_listed_and_exit_with_one(incomplete):
    """All other points are there."""
    done = grader_here("export", incomplete, "--format", "csv", "--out", incomplete / "a.csv")
    assert done.returncode == 1
    assert "  bob: the judge was lost twice" in done.stderr
    assert "7.5" in (incomplete / "a.csv").read_text()


def test_an_unwritable_export_is_refused_and_leaves_nothing(out):
    """The sentence has the file and the reason."""
    (out / "file").touch()
    done = grader_here("export", out, "--format", "csv", "--out", out / "file" / "a.csv")
    assert (done.returncode, "a.csv cannot be written (" in done.stderr) == (2, True)
    assert not [*out.glob("**/.*")]


@pytest.mark.parametrize(
    ("options", "place", "below"),
    [
        ((), "feedback-folders", "ann"),
        (("--format", "mail"), "feedback-mail", "mail.csv"),
        (("--out", "elsewhere"), "elsewhere", "ann"),
    ],
    ids=["default", "mail", "out"],
)
def test_feedback_goes_into_a_folder_of_its_form(out, options, place, below):
    """The output says where it lies and how to hand it back."""
    words = [str(out / one) if one == "elsewhere" else one for one in options]
    done = grader_here("feedback", out, *words)
    assert (done.returncode, done.stderr) == (0, "")
    written, how = done.stdout.splitlines()
    assert written.startswith("feedback of 1 submission: ")
    assert how == f"how it is handed back: {out / place / 'README.txt'}"
    assert (out / place / below).exists()


def test_submissions_without_feedback_are_listed_with_the_reason(incomplete):
    """The exit code is 1. Submissions with one reason share a line."""
    done = grader_here("feedback", incomplete)
    assert done.returncode == 1
    assert done.stderr == "without feedback: bob: not graded yet\n"
    assert done.stdout.startswith("feedback of 1 submission: ")
