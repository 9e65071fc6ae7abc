"""Words of grades in the store: kept, replaced and named; what of a grade stands in the next."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from grader.core.evidence import Evidence
from grader.core.explanation import PENDING, Told, Words, WrongAnswer, WrongAnswers
from grader.core.submission import Imports
from grader.core.verdict import (
    Aspect,
    Carried,
    Diagnosis,
    Grade,
    GradeStatus,
    Measurement,
    Status,
    Verdict,
    Visibility,
    Where,
)
from grader.results.store import Store

pytestmark = pytest.mark.unit

HALF = Diagnosis("half", "You take half.", "How much is twice?")
MASK = Diagnosis("mask", "The mask is inverted.", "What does True stand for?")
FAR = Measurement(1.0, 2.0, 1e-6, 1e-5, 9.0, 3, 4, (1, 2))


def a_verdict(test: str, status: Status = Status.PASSED, **fields: Any) -> Verdict:
    """Returns a verdict as a judge reaches it; "y1" is a test of run_y."""
    told: dict[str, Any] = {
        "id": f"t.py::{test}", "exercise": f"run_{test[0]}", "aspect": Aspect.VALUES,
        "status": status, "score": 1.0 if status is Status.PASSED else 0.0, "max_score": 1.0,
        "visibility": Visibility.HIDDEN, "duration_s": 0.5,
        "message": None if status is Status.PASSED else "wrong",
    }  # fmt: skip
    return Verdict(**told | fields)


X1, X2, Y1 = a_verdict("x1", Status.FAILED), a_verdict("x2"), a_verdict("y1", Status.FAILED)


def a_grade(name: str, *tests: Verdict, **fields: Any) -> Grade:
    grade = Grade(
        name, GradeStatus.GRADED, 1.0, 3.0, 7, f"hash of {name}", "suite", 0.2, None, {}, tests
    )
    return replace(grade, **fields)


def wrong(number: float, exercise: str = "run_x") -> WrongAnswers:
    answer = WrongAnswer("t.py::x1", 0, True, (1,), (number,), (1e-6, 1e-5), "x", 1)
    return WrongAnswers(exercise, (answer,))


TOLD = Told("3 of 4 are wrong", FAR, HALF, Where("a.py", 3, "scores"))
WORDS = Words(
    {"t.py::x1": TOLD, "t.py::gone": TOLD},
    "it was slow",
    Evidence(printed="hello"),
    "the worker was lost",
    (wrong(1.0), wrong(2.0, "run_y")),
)
EXPLAINED = X1._replace(
    message="3 of 4 are wrong", measurement=FAR, diagnosis=HALF, where=Where("a.py", 3, "scores")
)


def read(folder: Path, name: str = "ann") -> Grade:
    (grade,) = Store.read(folder).grades_of([name], whole=True)
    return grade


def test_words_change_no_outcome_and_replace_the_earlier_ones(tmp_path: Path) -> None:
    """Words for an unknown submission or test are dropped."""
    with Store.open(tmp_path, "attention") as store:
        store.add(a_grade("ann", X1, X2, unexplained=PENDING), "k", 0)
        store.add_words("ann", WORDS)
        store.add_words("nobody", WORDS)
        assert store.unexplained() == {"ann": "the worker was lost"}
        assert store.wrong_answers() == {"ann": [*WORDS.wrong]}
    grade = read(tmp_path)
    assert grade.tests == (EXPLAINED, X2)
    assert (grade.message, grade.unexplained) == ("it was slow", "the worker was lost")
    assert grade.evidence.printed == "hello"
    assert grade.score == 1.0
    with Store.open(tmp_path, "attention") as store:
        store.add_words("ann", Words())
        assert (store.unexplained(), store.wrong_answers()) == ({}, {})
    assert read(tmp_path) == a_grade("ann", X1, X2)


@pytest.mark.parametrize(
    ("again", "is_kept"), [((X1, X2), True), ((X2, X1), True), ((X1, X2), False)]
)
def test_words_stand_if_the_next_grade_keeps_them(
    tmp_path: Path, again: tuple[Verdict, ...], is_kept: bool
) -> None:
    """The explainer need not run again."""
    with Store.open(tmp_path, "attention") as store:
        store.add(a_grade("ann", X1, X2), "k", 0)
        store.add_words("ann", WORDS)
        store.add(a_grade("ann", *again, unexplained=PENDING), "k2", 0, is_kept)
        assert store.wrong_answers() == ({"ann": [*WORDS.wrong]} if is_kept else {})
    grade = read(tmp_path)
    assert grade.evidence.printed == ("hello" if is_kept else "")
    assert grade.unexplained == ("the worker was lost" if is_kept else PENDING)
    assert grade.message == ("it was slow" if is_kept else None)
    assert (EXPLAINED in grade.tests) == is_kept


def test_words_that_are_still_to_come_do_not_stand(tmp_path: Path) -> None:
    """An explanation without evidence is one all the same."""
    with Store.open(tmp_path, "attention") as store:
        store.add(a_grade("ann", X1, unexplained=PENDING), "k", 0)
        store.add(a_grade("ann", X1, unexplained=PENDING), "k2", 0, True)
        assert store.unexplained() == {"ann": PENDING}
        store.add_words("ann", Words({"t.py::x1": TOLD}))
        store.add(a_grade("ann", X1, unexplained=PENDING), "k3", 0, True)
        assert store.unexplained() == {}
    assert read(tmp_path).tests == (EXPLAINED,)


def diagnoses(store: Store) -> dict[str, list[str | None]]:
    return {
        grade.submission: [test.diagnosis and test.diagnosis.mistake for test in grade.tests]
        for grade in store.grades()
    }


def test_an_instructors_name_explains_failures_that_nothing_else_explains(tmp_path: Path) -> None:
    """The name is taken back when it is no longer given; other explanations stay."""
    error = a_verdict("x3", Status.ERROR)
    own = Told("wrong", None, None, None)
    with Store.open(tmp_path, "attention") as store:
        for place, name in enumerate(("ann", "bob")):
            tests = (X1, a_verdict("x2", Status.FAILED), error, Y1)
            store.add(a_grade(name, *tests), "k", place)
            store.add_words(name, Words({test.id: own for test in tests} | {X1.id: TOLD}))
        store.set_names([("ann", "run_x", MASK)])
        assert diagnoses(store) == {
            "ann": ["half", "mask", None, None],
            "bob": ["half", None, None, None],
        }
        ((_, named, *_),) = (grade.tests for grade in store.grades_of(["ann"]))
        assert named.diagnosis == MASK
        store.set_names([("ann", "run_y", MASK), ("bob", "run_x", MASK)])
        assert diagnoses(store) == {
            "ann": ["half", None, None, "mask"],
            "bob": ["half", "mask", None, None],
        }
        store.set_names([])
        assert diagnoses(store) == {name: ["half", None, None, None] for name in ("ann", "bob")}


def test_a_name_that_the_explainer_finds_by_itself_stays(tmp_path: Path) -> None:
    """The instructor named a mistake, and then added it to the known ones under the same id."""
    with Store.open(tmp_path, "attention") as store:
        store.add(a_grade("ann", X1), "k", 0)
        store.add_words("ann", Words({X1.id: Told("wrong", None, None, None)}))
        store.set_names([("ann", "run_x", MASK)])
        store.add(a_grade("ann", X1), "k2", 0)
        store.add_words("ann", Words({X1.id: Told("wrong", None, MASK, None)}))
        store.set_names([])
        assert diagnoses(store) == {"ann": ["mask"]}


def test_the_packages_that_a_class_lacks_are_counted(tmp_path: Path) -> None:
    """Those that most submissions lack come first."""
    imports = {
        "ann": Imports(("einx", "cv2")),
        "bob": Imports(("einx", "einx")),
        "cem": Imports(),
    }
    with Store.open(tmp_path, "attention") as store:
        for place, (name, own) in enumerate(imports.items()):
            store.add(a_grade(name, X1, imports=own), "k", place)
        assert store.lacking() == {"ann": {"einx", "cv2"}, "bob": {"einx"}}
        assert [*store.lacking_packages().items()] == [("einx", 2), ("cv2", 1)]


def test_grades_are_read_as_they_were_stored_and_explained(tmp_path: Path) -> None:
    """Words replace a verdict's own message; measurements of right answers are read as well."""
    noted = a_verdict("x4", message="uses torch.rot90")
    measured = X2._replace(measurement=FAR)
    carried = (Carried("run_x", "run_y", "half", 0.5),)
    with Store.open(tmp_path, "attention") as store:
        for place, name in enumerate(("ann", "bob")):
            grade = a_grade(name, X1, measured, noted, Y1, notes=("left out",), carried=carried)
            store.add(grade, "k", place)
        store.add_words("ann", Words({X1.id: TOLD}))
    results = Store.read(tmp_path)
    ann, bob = results.grades()
    assert ann.tests == (EXPLAINED, measured, noted, Y1)
    assert bob.tests == (X1, measured, noted, Y1)
    assert (bob.notes, bob.carried) == (("left out",), carried)
    assert results.grade("nobody") is None


def test_submissions_their_hashes_and_tests_are_read_in_class_order(tmp_path: Path) -> None:
    with Store.open(tmp_path, "attention") as store:
        store.add(a_grade("bob", X2, a_verdict("x3", Status.NOT_GRADED)), "k", 1)
        store.add(a_grade("ann", X1, status=GradeStatus.UNREADABLE), "k", 0)
        assert store.submissions() == ["ann", "bob"]
        assert store.submission_hashes() == {"ann": "hash of ann", "bob": "hash of bob"}
        assert store.tests() == {"t.py::x2": "run_x", "t.py::x3": "run_x", "t.py::x1": "run_x"}


def test_the_facts_of_a_batch_are_kept(tmp_path: Path) -> None:
    """The last ones replace earlier ones."""
    with Store.open(tmp_path, "attention") as store:
        assert (store.options(), store.paths(), store.downloads(), store.numbers()) == (
            None, [], {}, {},
        )  # fmt: skip
        assert store.late_rule() is None
    for paths in (["elsewhere"], ["class"]):
        with Store.open(tmp_path, "attention") as store:
            store.remember(options={"seed": 7}, paths=paths, downloads={"ann": ("a.zip",)})
            store.remember(late=None)
    results = Store.read(tmp_path)
    assert (results.options(), results.paths()) == ({"seed": 7}, ["class"])
    assert results.downloads() == {"ann": ("a.zip",)}


def test_results_jsonl_is_written_again_only_if_it_is_not_current(tmp_path: Path) -> None:
    """A new grade, an edit or a deletion makes it old."""
    file = tmp_path / "results.jsonl"
    with Store.open(tmp_path, "attention") as store:
        store.add(a_grade("ann", X1), "k", 0)
        store.update_jsonl(file)
        written, first = file.read_text(), file.stat()
        store.update_jsonl(file)
        assert file.stat().st_ino == first.st_ino
        file.write_text("edited\n")
        store.update_jsonl(file)
        assert file.read_text() == written
        file.unlink()
        store.update_jsonl(file)
        assert file.read_text() == written
        store.add(a_grade("bob", X1), "k", 1)
        store.update_jsonl(file)
        assert len(file.read_text().splitlines()) == 2
