"""A submission's page is sent to its author: it names no other submission and no hidden test."""

import random
from dataclasses import replace
from pathlib import Path

import pytest

from grader.core.submission import Author
from grader.core.verdict import Grade, Status, Visibility, Where
from grader.reports.pages.rendering import page_name
from grader.reports.pages.report import write_report
from grader.results.results import People
from grader.results.store import Store
from tests.harness.export_fixtures import a_grade, a_verdict
from tests.harness.pages_fixtures import (
    a_class,
    a_picture,
    a_submission,
    an_excerpt,
    store_class,
    suite,
)
from tests.harness.storing import add

pytestmark = pytest.mark.unit


def report_of(folder: Path, *grades: Grade) -> dict[str, str]:
    """Returns the pages of submissions, by the name of each."""
    with Store.open(folder / "results", "attention") as store:
        for place, grade in enumerate(grades):
            add(store, grade, "key", place)
            store.set_people(
                People({grade.submission: [Author("Zoë Somebody", "77", "zoe@x.edu")]})
            )
    index = write_report(Store.read(folder / "results"), folder / "pages").index
    pages = index.parent / "submissions"
    return {grade.submission: (pages / page_name(grade)).read_text() for grade in grades}


def test_a_submission_page_names_no_other_person(tmp_path):
    """The page has no other submission, no numbers of the class and no link to the class's page."""
    results = store_class(tmp_path / "results", a_class(30))
    index = write_report(Store.read(results), tmp_path / "pages").index
    names = [grade.submission for grade in Store.read(results).grades()]
    for page in (index.parent / "submissions").iterdir():
        text = page.read_text()
        named = [name for name in names if name in text]
        assert len(named) == 1
        assert "index.html" not in text
        assert "roster" not in text


def test_notes_for_instructors_are_not_on_a_submission_page(tmp_path):
    """Notes and addresses appear only on the page of the class."""
    grade = a_grade("ann", a_verdict("run_x"), notes=("left out: notes.pdf",))
    (page,) = report_of(tmp_path, grade).values()
    assert "notes.pdf" not in page
    assert "everything right" in page
    assert "see the note" not in page
    assert "zoe@x.edu" not in page
    index = (tmp_path / "pages" / "index.html").read_text()
    assert "notes.pdf" in index


def test_a_submission_page_counts_hidden_tests_without_naming_them(tmp_path):
    """The message is shown without the name of the test, as in other feedback."""
    hidden = a_verdict("run_x", 0.0, id="tests/hidden/test_x.py::test_secret", message="was wrong")
    public = hidden._replace(id="tests/public/test_x.py::test_known", visibility=Visibility.PUBLIC)
    (page,) = report_of(tmp_path, a_grade("ann", hidden, public)).values()
    assert "test_known" in page
    assert "test_secret" not in page
    assert "1 hidden test" in page


def test_pictures_are_of_public_tests_only(tmp_path):
    """A picture holds expected values, which for a hidden test must stay hidden."""
    rng = random.Random(0)
    grade = next(
        grade
        for grade in a_class(200)
        if sum(v.status is Status.FAILED for v in grade.tests) > 3 and grade.evidence.pictures
    )
    hidden = next(v.id for v in grade.tests if v.status is Status.FAILED and "hidden" in v.id)
    evidence = replace(grade.evidence, pictures=(a_picture(hidden, rng),))
    pages = report_of(tmp_path, grade, replace(grade, submission="other", evidence=evidence))
    assert 'class="picture"' in pages[grade.submission]
    assert 'class="picture"' not in pages["other"]


def test_a_submission_page_shows_each_wrong_line_once(tmp_path):
    """A line is one cause, however many exercises it fails; each exercise links to it."""
    where = Where("attention.py", 3)
    verdicts = [
        a_verdict(f"run_{n}", 0.0, message=f"wrong {n}", where=where, id=f"t{n}") for n in "abc"
    ]
    evidence = replace(a_submission(suite(), 0, random.Random(1)).evidence, pictures=())
    evidence = replace(evidence, excerpts=(an_excerpt(0.5),))
    (page,) = report_of(tmp_path, a_grade("ann", *verdicts, evidence=evidence)).values()
    assert page.count('class="marked"') == 1
    assert page.count('href="#cause-0"') == 3


@pytest.mark.parametrize(
    "name",
    [
        "a/b\\c:d",
        "..",
        "CON",
        "x" * 300,
        "Ünïcödé-王小明",
        "王小明",
        "\u202ereversed",
        "a b?#%2e&",
        "",
    ],
    ids=repr,
)
def test_page_file_names_are_valid_on_every_system(name):
    """A page's name has only letters, digits and hyphens, is short and never empty."""
    called = page_name(a_grade(name))
    stem = called.removesuffix(".html")
    assert called.endswith(".html")
    assert len(called) < 80
    assert stem == stem.lower()
    assert stem.replace("-", "").isalnum()
    assert stem.isascii()


def test_names_that_look_alike_have_pages_of_their_own():
    """The names differ even on systems that ignore case."""
    names = ["Ann", "ann", "ann ", "ánn", "ann/", "ann-"]
    assert len({page_name(a_grade(name)) for name in names}) == len(names)


def test_a_page_file_name_cannot_be_guessed_from_the_submission_name():
    """The name depends on the submission's content: a classmate's name is not enough."""
    one = page_name(a_grade("bob", submission_hash="x"))
    other = page_name(a_grade("bob", submission_hash="y"))
    assert one != other
    assert one == page_name(a_grade("bob", submission_hash="x"))
