"""The evidence that reports show beside the verdicts is kept with the grade, and nowhere else."""

import json
import math

import pytest

from grader.core.evidence import Evidence, Excerpt, Picture, StepSeen, StepWalk, in_six_digits
from grader.core.verdict import Where
from grader.explain.excerpts import excerpts
from grader.results.store import Store
from tests.harness.export_fixtures import a_grade
from tests.harness.storing import add

pytestmark = pytest.mark.unit

EVIDENCE = Evidence(
    pictures=(
        Picture(
            "tests/public/test_x.py::test_y", "the result", ("", "keys"), (1, 4),
            (0.5, 1.0, -math.inf, 2.0), (math.inf, -0.25, 1e-7, 2.0),
        ),
    ),
    walks=(
        StepWalk(
            "run_x", "tests/public/test_x.py::test_y",
            (StepSeen("scores", (1, 4), (4, 1), True), StepSeen("weights", (1, 4), None, None)),
        ),
    ),
    excerpts=(Excerpt("attention.py", 3, ("def f(x):", "    return <b>x</b>")),),
    printed="hello",
)  # fmt: skip


def test_evidence_survives_packing():
    """Infinities survive too, although JSON has none."""
    assert Evidence.unpacked(EVIDENCE.packed()) == EVIDENCE


def test_numbers_of_pictures_have_six_digits():
    """More digits are never looked at, and would be most of a grade's size in the store."""
    assert in_six_digits((2 / 3, -123456789.0, math.inf)) == (0.666667, -123457000.0, math.inf)


def test_evidence_is_kept_with_its_grade(tmp_path):
    """A new grade replaces it. `results.jsonl`, whose form is fixed, holds none of it."""
    with Store.open(tmp_path, "x") as store:
        add(store, a_grade("ann", evidence=EVIDENCE), "key", 0)
        add(store, a_grade("bob"), "key", 1)
        store.write_jsonl(tmp_path / "results.jsonl")
    whole = Store.read(tmp_path).grades_of(["ann", "nobody", "bob"], whole=True)
    assert [one.evidence for one in whole] == [EVIDENCE, Evidence()]
    rows = [json.loads(line) for line in (tmp_path / "results.jsonl").read_text().splitlines()]
    assert [row.keys() & {"evidence", "notes"} for row in rows] == [set(), set()]
    with Store.open(tmp_path, "x") as store:
        add(store, a_grade("ann", evidence=Evidence(printed="bye")), "key", 0)
    (ann,) = Store.read(tmp_path).grades_of(["ann"], whole=True)
    assert ann.evidence == Evidence(printed="bye")


@pytest.mark.process
def test_a_public_failure_is_kept_as_a_picture(grade):
    """It shows the expected values beside the student's, and nothing of hidden tests."""
    evidence = grade("def run_double(x):\n    return 3 * x\n").grade.evidence
    (picture,) = evidence.pictures
    assert picture.test == "tests/public/test_tiny.py::test_doubles"
    assert (picture.what, picture.axes, picture.shape) == (
        "the result",
        ("the leading axis", "n"),
        (2, 3),
    )
    assert picture.got == pytest.approx([1.5 * number for number in picture.expected], rel=1e-4)


@pytest.mark.process
def test_lines_around_a_place_are_kept(grade):
    """They are the lines as the submission has them."""
    text = "\n" * 9 + "def run_double(x):\n    return x.nothing\n# <i>the end</i>\n"
    (excerpt,) = grade(text).grade.evidence.excerpts
    assert (excerpt.file, excerpt.first) == ("adapters.py", 7)
    assert excerpt.lines[-3:] == ("def run_double(x):", "    return x.nothing", "# <i>the end</i>")


@pytest.mark.process
def test_the_end_of_the_printed_output_is_stored(grade):
    """Long output loses its beginning, and all output loses this machine's folders."""
    text = """
    print("import", __file__)
    def run_double(x):
        print("x" * 9000, "end")
        return 3 * x
    """
    printed = grade(text).grade.evidence.printed
    assert printed.endswith("end\n")
    assert len(printed) <= 4096


def test_no_excerpt_is_taken_from_outside_a_submission(tmp_path):
    """A worker may name any file as its own."""
    (tmp_path / "secret.txt").write_text("secret\n")
    root = tmp_path / "submission"
    root.mkdir()
    (root / "link.py").symlink_to(tmp_path / "secret.txt")
    (root / "mine.py").write_text("mine\n")
    files = ["../secret.txt", "link.py", str(tmp_path / "secret.txt"), "none.py", ".", "mine.py"]
    found = excerpts(root, [None, *(Where(file, 1) for file in files)])
    assert [excerpt.lines for excerpt in found] == [("mine",)]
