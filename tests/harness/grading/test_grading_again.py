"""Grading again after a change of the assignment: what is graded, and which words stand."""

import contextlib
import json
import shutil
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Self

import pytest

import grader
from grader.core.assignment import find_assignment
from grader.core.verdict import Grade
from grader.grading.fingerprints import is_explained_alike, suite_files, suite_hash
from tests.harness.conftest import RIGHT, TINY, write_files

pytestmark = pytest.mark.unit

ROOT = Path(__file__).parents[3]
MODULE = """
    from grader.testing import assert_matches, exercise

    @exercise("run_{0}")
    def test_{0}s(student, reference, draw):
        '''The plain case.'''
        x = draw(2, 3)
        assert_matches(student(x), reference(x))

    @exercise("run_{0}", aspect="generality")
    def test_{0}s_more(student, reference, draw):
        '''Of another size, too.'''
        x = draw(4)
        assert_matches(student(x), reference(x))
    """
DOUBLE, COUNT = MODULE.format("double"), MODULE.format("count")
# Wrong in both exercises, by a mistake that the catalogue has for both.
ZEROED = "def run_double(x):\n    return 0 * x\n\ndef run_count(x):\n    return 0\n"
RIGHTLY, WRONGLY = "alice", "bob"
DOUBLE_FILE, COUNT_FILE = "tests/hidden/test_double.py", "tests/hidden/test_count.py"


class Course:
    """An assignment with one test module per exercise, and its submissions."""

    def __init__(self, folder: Path) -> None:
        self.root, self.submissions = folder / "course", folder / "class"

    def write(self, submissions: Mapping[str, str]) -> Self:
        """Writes the assignment and the submissions."""
        parts = {n: t for n, t in TINY.items() if not n.startswith("tests/hidden/")}
        write_files(self.root, parts | {DOUBLE_FILE: DOUBLE, COUNT_FILE: COUNT})
        files = {f"{name}/adapters.py": text for name, text in submissions.items()}
        write_files(self.submissions, files)
        return self

    def change(self, part: str, old: str, new: str) -> None:
        file = self.root / part
        text = file.read_text()
        assert old in text
        file.write_text(text.replace(old, new))

    def grade(self, out: Path) -> dict[str, Grade]:
        results = grader.batch(self.submissions, out, assignment=self.root, seed=7, jobs=1)
        return {grade.submission: grade for grade in results.grades()}

    def hash(self) -> str:
        return suite_hash(find_assignment(self.root))


def changed_by(folder: Path, *change: str) -> tuple[dict[str, Grade], dict[str, Grade]]:
    """Grades the class, changes the course, and grades again; the first words have a mark."""
    course = Course(folder).write({RIGHTLY: RIGHT, WRONGLY: ZEROED})
    before = course.grade(folder / "out")
    with contextlib.closing(sqlite3.connect(folder / "out" / "results.sqlite")) as store, store:
        told = store.execute(
            "SELECT name, words FROM submission WHERE words IS NOT NULL"
        ).fetchall()
        for name, text in told:
            words = json.loads(text)
            for test in words["tests"].values():
                test[0] += " (as before)"
            store.execute(
                "UPDATE submission SET words = ? WHERE name = ?", (json.dumps(words), name)
            )
    course.change(*change)
    return before, course.grade(folder / "out")


def marked(grade: Grade) -> set[bool]:
    wrong = [test for test in grade.tests if test.status != "passed"]
    return {(test.message or "").endswith(" (as before)") for test in wrong}


@pytest.mark.process
def test_an_explanation_is_kept_where_no_verdict_changed(tmp_path: Path) -> None:
    """An exercise is worth more: each submission is graded again, and the same tests fail."""
    before, after = changed_by(tmp_path, "pyproject.toml", "run_double = 4", "run_double = 5")
    for name in (RIGHTLY, WRONGLY):
        assert after[name].suite_hash != before[name].suite_hash
    assert marked(after[WRONGLY]) == {True}
    assert after[WRONGLY].unexplained is None


@pytest.mark.process
@pytest.mark.parametrize(
    ("name", "change"),
    [
        (RIGHTLY, (COUNT_FILE, "reference(x))", "reference(x) + 1)")),
        (WRONGLY, ("solutions/__init__.py", "2 * x", "x + x")),
        (WRONGLY, (DOUBLE_FILE, "draw(2, 3)", "draw(3, 2)")),
    ],
    ids=["verdict", "reference", "inputs"],
)
def test_an_explanation_is_new_where_it_may_differ(
    tmp_path: Path, name: str, change: tuple[str, ...]
) -> None:
    """Words hold numbers of the call: another reference or other inputs make them untrue."""
    _, after = changed_by(tmp_path, *change)
    assert marked(after[name]) == {False}
    assert all(grade.unexplained is None for grade in after.values())


@pytest.mark.parametrize(
    ("part", "old", "new", "is_new", "is_told_anew"),
    [
        (DOUBLE_FILE, "draw(4)", "draw(5)", True, True),
        ("pyproject.toml", "run_double = 4", "run_double = 5", True, False),
        ("pyproject.toml", 'name = "tiny"', 'name = "tiny" # short', False, False),
        ("pyproject.toml", 'name = "tiny"', 'name = "tiny"\npreload = ["numpy"]', False, False),
        ("pyproject.toml", "call_timeout = 2", "call_timeout = 3", True, True),
        ("solutions/__init__.py", "2 * x", "x + x", True, True),
        ("adapters.py", "... n", "... m", True, True),
        ("tests/conftest.py", "plugin", "plugin'", True, True),
        ("solutions/.DS_Store", "3", "4", False, False),
    ],
)
def test_a_change_of_what_grades_depend_on_changes_the_hash(
    tmp_path: Path, part: str, old: str, new: str, is_new: bool, is_told_anew: bool
) -> None:
    """Explanations depend on all but the points."""
    course = Course(tmp_path).write({})
    write_files(course.root, {"solutions/.DS_Store": "3\n"})
    before = course.hash()
    course.change(part, old, new)
    after = course.hash()
    assert (after != before, not is_explained_alike(after, before)) == (is_new, is_told_anew)


def test_files_of_linked_folders_belong_to_the_suite(tmp_path: Path) -> None:
    """A change in them counts; a link to a folder above adds nothing."""
    course = Course(tmp_path).write({})
    data = write_files(tmp_path / "shared", {"data/numbers.txt": "1 2 3", ".git/config": "x"})
    hidden = course.root / "tests" / "hidden"
    (hidden / "linked").symlink_to(data)
    (data / "back").symlink_to(hidden)
    before = course.hash()
    linked = [file for file in suite_files(course.root) if "linked" in file.parts]
    assert linked == [hidden / "linked" / "data" / "numbers.txt"]
    (data / "data" / "numbers.txt").write_text("1 2 4")
    assert course.hash() != before


def test_frozen_fixtures_do_not_change_the_hash(tmp_path: Path) -> None:
    """No judge reads them."""
    for source in suite_files(ROOT):
        copy = tmp_path / source.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, copy)
    assignment = find_assignment(tmp_path)
    before = suite_hash(assignment)
    files = [*tmp_path.glob("tests/*/*/*.safetensors")]
    assert files
    for file in files:
        file.write_bytes(b"damaged")
    assert suite_hash(assignment) == before
