"""`grader report` writes pages, replaces only its own, and compares batches."""

import json
import re
from pathlib import Path

import pytest

from grader.core.submission import Author
from grader.core.verdict import Diagnosis, Grade
from grader.reports.feedback import write_feedback
from grader.reports.pages.class_data import Graded, ProblemCounts, ranked
from grader.reports.pages.rendering import NotWritten
from grader.reports.pages.report import write_report
from grader.results.decisions.file import append_decision
from grader.results.decisions.opening import open_settling
from grader.results.results import People
from grader.results.store import Store
from tests.harness.conftest import RIGHT, write_files
from tests.harness.export_fixtures import a_batch, a_grade, a_verdict, not_graded, scored
from tests.harness.pages_fixtures import a_class, regraded, store_class

pytestmark = pytest.mark.unit


def store_grades(folder: Path, *grades: Grade) -> Path:
    return store_class(folder, iter(grades), with_people=False)


def data_of(index: Path) -> dict:
    """Returns the data that the page of a class gives to its script."""
    found = re.search('id="data">(.*?)</script>', index.read_text(), re.DOTALL)
    return json.loads(found[1])


@pytest.mark.process
def test_a_second_report_replaces_the_first_one(grader, tmp_path):
    """The pages lie beside the results, which stay. A new report replaces the whole old one."""
    results = store_grades(tmp_path / "results", *a_class(3))
    before = (results / "results.sqlite").read_bytes()
    done = grader("report", results)
    assert done.returncode == 0, done.stderr
    assert f"the class in full: {results}/report/index.html\n" in done.stdout
    (results / "report" / "submissions" / "stale.html").write_text("")
    assert grader("report", results).returncode == 0
    assert len([*(results / "report" / "submissions").iterdir()]) == 3
    assert (results / "results.sqlite").read_bytes() == before
    assert not [*results.glob("grader-scratch*")]


@pytest.mark.process
def test_a_foreign_folder_is_not_replaced_by_a_report(grader, tmp_path):
    """The refusal is one sentence."""
    results = store_grades(tmp_path / "results", *a_class(1))
    own = write_files(tmp_path / "own", {"index.html": "<h1>my page</h1>"})
    done = grader("report", results, "--out", own)
    assert done.returncode == 2
    assert re.fullmatch(
        "grader: .* holds other files than a report's, which would be lost: .*\n", done.stderr
    )
    assert (own / "index.html").read_text() == "<h1>my page</h1>"


def test_an_unwritable_report_folder_is_reported(tmp_path):
    """A full or closed disk is reported in a sentence, and no file is left half written."""
    results = Store.read(store_grades(tmp_path / "results", *a_class(1)))
    (tmp_path / "file").write_text("")
    with pytest.raises(NotWritten, match=r"cannot be written to .*: (Not a directory|File exists)"):
        write_report(results, tmp_path / "file" / "report")


@pytest.mark.process
def test_a_batch_ends_with_its_report(grader, tiny, tmp_path):
    """The batch prints the report's path."""
    write_files(tmp_path / "class" / "ann", {"adapters.py": RIGHT})
    out = tmp_path / "results"
    done = grader("batch", tmp_path / "class", "--out", out, "--assignment", tiny)
    assert done.returncode == 0, done.stderr
    assert f"the class in full: {out}/report/index.html" in done.stdout
    assert data_of(out / "report" / "index.html")["names"] == ["ann"]


@pytest.mark.process
def test_a_batch_that_cannot_write_its_report_keeps_the_grades(grader, tiny, tmp_path):
    """The batch prints the grades, and its exit code depends on them alone."""
    write_files(tmp_path / "class" / "ann", {"adapters.py": RIGHT})
    write_files(tmp_path / "results" / "report", {"thesis.tex": "mine"})
    out = tmp_path / "results"
    done = grader("batch", tmp_path / "class", "--out", out, "--assignment", tiny)
    assert done.returncode == 0
    assert "other files than a report's" in done.stderr
    assert (out / "report" / "thesis.tex").read_text() == "mine"


def test_an_empty_class_has_a_page(tmp_path):
    """A batch may be stopped before its first grade."""
    index = write_report(Store.read(store_grades(tmp_path / "results")), tmp_path / "pages").index
    assert "0 submissions" in index.read_text()


def test_the_class_page_counts_scores_and_ungraded_submissions(tmp_path):
    """The mean is over all who have a score. Submissions without a grade stand on top."""
    grades = (
        a_grade("ann", a_verdict("run_x")),
        a_grade("bob", a_verdict("run_x", 0.0)),
        not_graded("cem"),
    )
    index = write_report(
        Store.read(store_grades(tmp_path / "r", *grades)), tmp_path / "pages"
    ).index
    text = index.read_text()
    assert "1 NOT GRADED" in text
    assert re.search("<dt>mean of 4</dt><dd>2</dd>", text)
    data = data_of(index)
    assert sum(data["histogram"]) == 2
    assert data["statuses"] == "ggn"


def test_mistakes_are_ranked_by_number_of_submissions():
    """A submission counts once, however many tests and exercises the mistake explains."""
    half, mask = (Diagnosis(name, f"{name} explained", "hint") for name in ("half", "mask"))
    counts = ProblemCounts()
    classes = [
        [("run_x", half), ("run_y", half), ("run_y", half)],
        [("run_x", mask)],
        [("run_x", mask), ("run_y", None)],
    ]
    for place, made in enumerate(classes):
        verdicts = [
            a_verdict(exercise, 0.0, diagnosis=diagnosis, message="wrong")
            for exercise, diagnosis in made
        ]
        counts.add(place, Graded.of(a_grade(f"s{place}", *verdicts)))
    found = ranked(counts.mistakes.values())
    assert [(kind.words, kind.who) for kind in found] == [("mask", [1, 2]), ("half", [0])]
    assert found[1].exercises == {"run_x": 1, "run_y": 1}
    assert [kind.who for kind in counts.others.values()] == [[2]]


def test_a_note_shared_by_submissions_is_shown_once(tmp_path):
    """The note names all submissions that it concerns."""
    note = "notes.pdf was left out"
    grades = (a_grade(name, a_verdict("run_x"), notes=(note,)) for name in ("ann", "bob"))
    text = write_report(
        Store.read(store_grades(tmp_path / "r", *grades)), tmp_path / "p"
    ).index.read_text()
    assert text.count(note) == 1
    assert "1 note on what was handed in" in text


@pytest.mark.process
def test_two_batches_are_compared(grader, tmp_path):
    """The terminal gets a few words, and a page has all changes. Neither batch is changed."""
    before = store_grades(tmp_path / "before", *a_class(12))
    after = store_grades(tmp_path / "after", *regraded(a_class(12)))
    kept = [(folder / "results.sqlite").read_bytes() for folder in (before, after)]
    done = grader("report", after, "--against", before)
    assert done.returncode == 0, done.stderr
    assert re.search(
        r"(?m)^\d+ up, \d+ down, \d+ with the same score, 1 graded in one", done.stdout
    )
    assert (after / "report" / "changes.html").exists()
    assert 'href="changes.html"' in (after / "report" / "index.html").read_text()
    assert kept == [(folder / "results.sqlite").read_bytes() for folder in (before, after)]


@pytest.mark.parametrize(
    ("points", "said", "bins"),
    [
        (
            (0, 1, 2, 3, 4),
            ("2", "2", "1"),
            {0: 1, 5: 1, 10: 1, 15: 1, 19: 1},
        ),
        ((1, 4, 4), ("3", "4", "2"), {5: 1, 19: 2}),
        ((3,), ("3", "3", "0"), {15: 1}),
    ],
)
def test_the_class_page_describes_the_scores_of_a_class(tmp_path, points, said, bins):
    """The mean, the median, full scores and the histogram."""
    grades = [a_grade(f"s{n}", a_verdict("run_x", score)) for n, score in enumerate(points)]
    index = write_report(Store.read(store_grades(tmp_path / "r", *grades)), tmp_path / "p").index
    text = index.read_text()
    figures = dict(re.findall("<div><dt>(.*?)</dt><dd>(.*?)</dd></div>", text))
    mean, median, full = said
    assert figures == {
        "graded": str(len(points)),
        "unreadable": "0",
        "not graded": "0",
        "mean of 4": mean,
        "median": median,
        "full score": full,
    }
    assert data_of(index)["histogram"] == [bins.get(place, 0) for place in range(20)]


def test_points_between_two_bars_are_in_the_upper_one(tmp_path):
    """1.2 of 6 points are a fifth, although the quotient of the two floats is a little less."""
    folder = store_grades(tmp_path / "r", a_grade("ann", a_verdict("run_x", 1.2, 6)))
    index = write_report(Store.read(folder), tmp_path / "p").index
    assert data_of(index)["histogram"][3:5] == [0, 1]


def test_points_above_the_maximum_have_a_part_of_their_own(tmp_path):
    """Points that were decided, or of a bonus, are more than the possible ones."""
    results = a_batch(tmp_path / "r", scored("ann", 4, 6), scored("bo", 4, 6), scored("cy", 4, 5))
    decision = {"person": "ann", "by": 2, "reason": "a talk"}
    append_decision(results.folder / "decisions.toml", "points", decision)
    index = write_report(results, tmp_path / "p").index
    text = index.read_text()
    assert data_of(index)["histogram"][18:] == [1, 1, 1]
    assert '9.5 to 10</th><td class="number">1</td>' in text
    assert 'above 10</th><td class="number">1</td>' in text
    assert "10 points are possible, and 1 submission has more." in text


@pytest.mark.parametrize(("kind", "got"), [("bonus", "4"), ("taken_out", "0")])
def test_every_display_says_that_an_exercise_is_not_among_the_possible_points(tmp_path, kind, got):
    """Its points stand without a maximum, so that the others add up to the total."""
    results = a_batch(tmp_path / "r", scored("ann", 4, 6))
    decision = {"exercise": "run_rope", "reason": "not read"}
    append_decision(results.folder / "decisions.toml", kind, decision)
    report, words = write_report(results, tmp_path / "p"), kind.replace("_", " ")
    assert f'">{got}<span class="faint">, {words}</span></td>' in report.index.read_text()
    (page,) = (tmp_path / "p" / "submissions").iterdir()
    assert f'">{got}<span class="faint">, {words}' in page.read_text()
    write_feedback(results, open_settling(results), "folders", tmp_path / "f")
    text = (tmp_path / "f" / "ann" / "feedback.txt").read_text()
    assert f"run_rope ({got}, {words}), run_mha (6 of 6)" in text


def test_a_report_has_every_submission_of_a_large_class(tmp_path):
    """Grades are read fifty at a time, and compared with as many of the earlier batch."""
    grades = [a_grade(f"s{n:02}", a_verdict("run_x")) for n in range(52)]
    before = Store.read(store_grades(tmp_path / "before", *grades[2:], a_grade("t")))
    after = Store.read(store_grades(tmp_path / "after", *grades))
    written = write_report(after, tmp_path / "pages", before)
    data = data_of(written.index)
    assert data["names"] == [f"s{n:02}" for n in range(52)]
    pages = {file.name for file in (tmp_path / "pages" / "submissions").iterdir()}
    assert pages == {*data["pages"]}
    changes = written.changes
    assert [one.name for one in changes.new] == ["s00", "s01"]
    assert (changes.same, changes.gone) == (50, ["t"])
    assert 'href="changes.html"' in written.index.read_text()


def test_the_class_page_offers_only_filters_that_find_somebody(tmp_path):
    """Late submissions and changed points may be looked for, and people without a submission."""
    folder = store_grades(tmp_path / "r", a_grade("ann", a_verdict("run_x")))
    text = write_report(Store.read(folder), tmp_path / "p").index.read_text()
    for absent in ('value="late"', 'value="changed"', "handed in nothing", 'href="changes.html"'):
        assert absent not in text
    with Store.open(folder, "attention") as store:
        store.set_people(People({}, frozenset({"ann"}), (Author("Wanda Absent"),)))
    (folder / "decisions.toml").write_text(
        '[[points]]\nperson = "ann"\nby = 1\nreason = "agreed"\n'
    )
    text = write_report(Store.read(folder), tmp_path / "p").index.read_text()
    assert 'value="late"' in text
    assert 'value="changed"' in text
    assert "1 person on the roster handed in nothing" in text
    assert "<li>Wanda Absent</li>" in text


def test_a_report_makes_its_folder_and_all_above_it(tmp_path):
    """An empty folder is nobody's."""
    results = Store.read(store_grades(tmp_path / "r", a_grade("ann", a_verdict("run_x"))))
    assert write_report(results, tmp_path / "a" / "b" / "report").index.is_file()
    (tmp_path / "empty").mkdir()
    assert write_report(results, tmp_path / "empty").index.is_file()
    (tmp_path / "mine").write_text("text")
    with pytest.raises(NotWritten, match="holds other files than a report's"):
        write_report(results, tmp_path / "mine")
