"""A letter's text and page after decisions, and its forms in a platform's files."""

from __future__ import annotations

import html
import io
import tarfile
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from grader.core.points import TAKEN_OFF
from grader.core.verdict import Status
from grader.reports.letter import Letter, in_format_of, letters
from grader.results.decisions.opening import open_settling
from tests.harness.export_fixtures import a_batch, a_grade, a_verdict

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("decision", "holds"),
    [
        ('[[taken_out]]\ntest = "test_c"', {"run_a": True, "run_b": False}),
        (
            '[[points]]\nperson = "jane"\nexercise = "run_a"\nto = 4',
            {"run_a": False, "run_b": True},
        ),
        (
            '[[points]]\nperson = "jane"\nexercise = "run_b"\nby = 1',
            {"run_a": True, "run_b": False},
        ),
        (
            '[[points]]\nperson = "jane"\nexercise = "run_b"\nto = 1',
            {"run_a": True, "run_b": False},
        ),
        ('[[points]]\nperson = "jane"\nby = 1', {"run_a": True, "run_b": True}),
    ],
)
def test_feedback_states_no_cost_that_a_decision_replaced(
    tmp_path: Path, decision: str, holds: dict[str, bool]
):
    """A decision about an exercise may leave nothing of what its tests cost."""
    taken_off = f"50% {TAKEN_OFF}"
    costly = a_verdict(
        "run_a", 2.0, status=Status.PASSED, message=f"It uses sum, which is forbidden: {taken_off}"
    )
    tests = [a_verdict("run_b", 0.0 if one == "c" else 4.0, id=f"t::test_{one}") for one in "bc"]
    results = a_batch(tmp_path, a_grade("jane", costly, *tests))
    (tmp_path / "decisions.toml").write_text(f'{decision}\nreason = "not in the text"\n')
    (letter,) = letters(results, open_settling(results), apart=True)
    assert isinstance(letter, Letter)
    for told in (" ".join(letter.text.split()), html.unescape(letter.page)):
        assert {"run_a": taken_off in told, "run_b": "(-4 points)" in told} == holds


def test_a_feedback_text_says_that_its_explanation_is_incomplete(tmp_path: Path):
    """Without that, a failure without a line looks like one of which nothing more is known."""
    grade = replace(a_grade("jane", a_verdict("run_a", 0.0)), unexplained="time ended")
    results = a_batch(tmp_path, grade)
    (letter,) = letters(results, open_settling(results), apart=True)
    assert isinstance(letter, Letter)
    assert "is incomplete, which does not affect the grade: time ended." in letter.text


NO_SETTLEMENT: Any = None
LETTER = Letter(
    (), a_grade("jane"), NO_SETTLEMENT, (), "text\n\nmore\n", "<p>page</p>", pdf=b"%PDF"
)
FILES = ["feedback.html", "feedback.txt", "feedback.pdf"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.HTML", b"<p>page</p>"),
        ("a.htm", b"<p>page</p>"),
        ("a.pdf", b"%PDF"),
        ("a.py", b"# text\n#\n# more\n"),
        ("a.txt", b"text\n\nmore\n"),
        ("notes.MD", b"```text\ntext\n\nmore\n\n```"),
        ("README", b"text\n\nmore\n"),
        ("a.docx", None),
        ("a.gz", None),
        ("a.", None),
    ],
)
def test_feedback_has_the_format_that_its_name_promises(name: str, content: bytes | None):
    """Nobody could open a page that is called a document."""
    assert in_format_of(LETTER, name) == content
    assert in_format_of(replace(LETTER, pdf=None), "a.pdf") is None


@pytest.mark.parametrize("suffix", ["tar", "tar.gz", "TGZ"])
def test_feedback_in_an_archive_has_every_form(suffix: str):
    """Equal content gives equal bytes."""
    packed = in_format_of(LETTER, f"a.{suffix}")
    assert packed is not None
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        assert archive.getnames() == FILES
        pages = archive.extractfile(FILES[0])
        assert pages is not None
        assert pages.read() == b"<p>page</p>"
    assert packed == in_format_of(LETTER, f"b.{suffix}")
    zipped = in_format_of(LETTER, "a.zip")
    assert zipped is not None
    with zipfile.ZipFile(io.BytesIO(zipped)) as inner:
        assert inner.namelist() == FILES
        assert {one.date_time for one in inner.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert {one.compress_type for one in inner.infolist()} == {zipfile.ZIP_DEFLATED}
