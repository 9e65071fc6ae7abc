"""Cached verdicts: after a change, only the tests that the change affects run again."""

import contextlib
import dataclasses
import shutil
import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Self

import pytest

import grader
from grader.core.assignment import find_assignment
from grader.core.verdict import Grade, Verdict
from grader.grading.fingerprints import (
    SHARED,
    hashes_by_test,
    suite_files,
)
from grader.results.store import Store
from tests.harness.conftest import RIGHT, TINY, write_files
from tests.harness.marks import rest_slow

pytestmark = pytest.mark.unit

ROOT = Path(__file__).parents[3]
DOUBLE = """
    from grader.testing import assert_matches, exercise

    @exercise("run_double")
    def test_doubles(student, reference, draw):
        '''Every number is doubled.'''
        x = draw(2, 3)
        assert_matches(student(x), reference(x))

    @exercise("run_double", aspect="generality")
    def test_doubles_more(student, reference, draw):
        '''Of another size, too.'''
        x = draw(4)
        assert_matches(student(x), reference(x))
    """
COUNT = """
    from grader.testing import assert_matches, exercise

    @exercise("run_count")
    def test_counts(student, reference, draw):
        '''The numbers are counted.'''
        x = draw(2, 3)
        assert_matches(student(x), reference(x))

    @exercise("run_count", aspect="generality")
    def test_counts_more(student, reference, draw):
        '''However many there are.'''
        x = draw(5)
        assert_matches(student(x), reference(x))
    """
# The tests run in the judge, and so can write to a log.
CONFTEST = """
    from pathlib import Path

    import pytest

    pytest_plugins = ["grader.testing.plugin"]

    @pytest.fixture(autouse=True)
    def written_down(request):
        with (Path(__file__).parents[1] / "run.log").open("a") as log:
            log.write(request.node.name + "\\n")
    """
# Wrong in both exercises, by a mistake that the catalogue has for both.
ZEROED = "def run_double(x):\n    return 0 * x\n\ndef run_count(x):\n    return 0\n"
COUNTS_ARE_ONE_MORE = ("reference(x))", "reference(x) + 1)")


RIGHTLY, WRONGLY, WITH_WORDS = "alice", "bob", "carol"
CLASS = {
    RIGHTLY: RIGHT,
    WRONGLY: ZEROED,
    WITH_WORDS: RIGHT.replace("return x.numel()", "print('so many')\n    return x.numel()"),
}


class Course:
    """An assignment with one test module per exercise, and its submissions."""

    def __init__(self, folder: Path) -> None:
        self.root, self.submissions = folder / "course", folder / "class"

    def write(self, submissions: Mapping[str, str]) -> Self:
        """Writes the assignment and the submissions."""
        tests = {"tests/hidden/test_double.py": DOUBLE, "tests/hidden/test_count.py": COUNT}
        parts = {n: t for n, t in TINY.items() if not n.startswith("tests/")} | tests
        write_files(self.root, parts | {"tests/conftest.py": CONFTEST})
        files = {f"{name}/adapters.py": text for name, text in submissions.items()}
        write_files(self.submissions, files)
        return self

    def change(self, part: str, old: str, new: str) -> None:
        file = self.root / part
        text = file.read_text()
        assert old in text
        file.write_text(text.replace(old, new))

    def grade(self, out: Path, timeout: float = 120) -> tuple[list[Grade], set[str]]:
        """Returns the grades, and the names of the tests that ran for them."""
        log = self.root / "run.log"
        log.write_text("")
        results = grader.batch(
            self.submissions, out, assignment=self.root, seed=7, timeout=timeout, jobs=1
        )
        return [*results.grades()], set(log.read_text().split())

    def hashes(self) -> dict[str, str]:
        return hashes_by_test(find_assignment(self.root))


def without_durations(grade: Grade) -> Grade:
    """Returns a grade without its durations, which differ between gradings."""
    tests = tuple(test._replace(duration_s=0) for test in grade.tests)
    return dataclasses.replace(grade, tests=tests, duration_s=0)


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A course with one right submission, and its results in `out`."""
    folder = tmp_path_factory.mktemp("graded")
    _, run = Course(folder).write({RIGHTLY: RIGHT}).grade(folder / "out")
    assert run == DOUBLES | COUNTS
    return folder


@pytest.fixture
def course(graded: Path, tmp_path: Path) -> Course:
    """A copy of the course in `graded`, with its results in `tmp_path / "out"`."""
    shutil.copytree(graded, tmp_path, dirs_exist_ok=True)
    return Course(tmp_path)


def doubles_in_another_way(course: Course) -> None:
    course.change("tests/hidden/test_double.py", "draw(2, 3)", "draw(3, 2)")


def counting_is_worth_more(course: Course) -> None:
    course.change("pyproject.toml", "run_count = 1", "run_count = 2")


def counting_is_dropped(course: Course) -> None:
    course.change("pyproject.toml", "run_count = 1\n", "")
    (course.root / "tests/hidden/test_count.py").unlink()


DOUBLES, COUNTS = {"test_doubles", "test_doubles_more"}, {"test_counts", "test_counts_more"}


def a_test_is_added(course: Course) -> None:
    course.change(
        "tests/hidden/test_count.py",
        '@exercise("run_count", aspect="generality")',
        '@exercise("run_count")\ndef test_counts_one(student, reference, draw):\n'
        "    assert student(draw(1)) == 1\n\n"
        '@exercise("run_count", aspect="generality")',
    )


def a_test_is_dropped(course: Course) -> None:
    count = course.root / "tests/hidden/test_count.py"
    before, _, _ = count.read_text().rpartition("@exercise")
    count.write_text(before)


@pytest.mark.process
@pytest.mark.parametrize(
    ("change", "run"),
    rest_slow(
        [
            (doubles_in_another_way, {"test_doubles"}),
            (a_test_is_added, {"test_counts_one"}),
            (a_test_is_dropped, set()),
            (counting_is_worth_more, set()),
            (counting_is_dropped, set()),
        ],
        3,
        rows=True,
    ),
)
def test_only_the_test_that_changed_is_run_again(
    course: Course, tmp_path: Path, change: Callable[[Course], None], run: set[str]
) -> None:
    """The grade equals the grade of a fresh grading, points included."""
    (before,) = Store.read(tmp_path / "out").grades()
    change(course)
    (after,), run_again = course.grade(tmp_path / "out")
    assert run_again == run
    assert after.suite_hash != before.suite_hash
    assert after.score == after.max_score
    (afresh,), _ = course.grade(tmp_path / "afresh")
    assert without_durations(after) == without_durations(afresh)
    assert course.grade(tmp_path / "out") == ([after], set())


# An unlikely duration in seconds. It marks verdicts, so that the kept ones can be recognised.
LONG = 0.125


@dataclasses.dataclass(frozen=True)
class Changed:
    """The grades of a class before a change, after it, and from a fresh grading."""

    before: Mapping[str, Grade]
    after: Mapping[str, Grade]
    afresh: Mapping[str, Grade]

    def kept(self, name: str) -> set[str]:
        """Returns the tests whose verdicts were kept, recognised by their durations."""
        ids = [test.id for test in self.after[name].tests if test.duration_s == LONG]
        return {test.rpartition("::")[2] for test in ids}


def changed_by(folder: Path, change: Callable[[Course], None]) -> Changed:
    """Grades the class, changes the course, and grades again: with the old results and afresh."""
    course = Course(folder).write(CLASS)
    before, _ = course.grade(folder / "out")
    with contextlib.closing(sqlite3.connect(folder / "out" / "results.sqlite")) as store, store:
        store.execute("UPDATE verdict SET duration_s = ?", (LONG,))
        store.execute("UPDATE words SET message = message || ' (as before)'")
    change(course)
    after, _ = course.grade(folder / "out")
    afresh, _ = course.grade(folder / "afresh")
    grades = ({grade.submission: grade for grade in grades} for grades in (before, after, afresh))
    return Changed(*grades)


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Changed:
    """The class after a change of `test_doubles` that changes no verdict's status."""
    return changed_by(tmp_path_factory.mktemp("changed"), doubles_in_another_way)


@pytest.mark.process
@pytest.mark.parametrize("name", CLASS)
def test_verdicts_of_unchanged_tests_are_kept(changed: Changed, name: str) -> None:
    """Only the changed test runs, and the points equal those of a fresh grading."""
    assert changed.kept(name) == (DOUBLES | COUNTS) - {"test_doubles"}
    assert changed.after[name].suite_hash != changed.before[name].suite_hash
    scores = [[test.score for test in it[name].tests] for it in (changed.after, changed.afresh)]
    assert scores[0] == scores[1]


@pytest.mark.process
def test_an_explanation_is_kept_where_no_verdict_changed(changed: Changed) -> None:
    """The same tests fail as before, so their explanation is kept."""
    wrong = [test for test in changed.after[WRONGLY].tests if test.status != "passed"]
    assert {(test.message or "").endswith(" (as before)") for test in wrong} == {True}
    assert changed.after[WRONGLY].unexplained is None


@pytest.mark.slow
@pytest.mark.process
def test_an_explanation_is_new_where_a_verdict_changed(tmp_path: Path) -> None:
    """A new failure is explained as in a fresh grading of all exercises."""
    changed = changed_by(tmp_path, counts_are_one_more)
    assert "test_doubles" in changed.kept(RIGHTLY)
    for name in (RIGHTLY, WITH_WORDS):
        assert without_durations(changed.after[name]) == without_durations(changed.afresh[name])


@pytest.mark.process
def test_a_test_that_timed_out_is_not_run_again(tmp_path: Path) -> None:
    """A verdict of `timeout` is kept as long as its own test does not change."""
    hangs = RIGHT.replace("return x.numel()", "while True: pass")
    course = Course(tmp_path).write({RIGHTLY: hangs})
    course.change("pyproject.toml", "call_timeout = 2", "call_timeout = 0.3")
    (before,), _ = course.grade(tmp_path / "out", timeout=1)
    doubles_in_another_way(course)
    (after,), run_again = course.grade(tmp_path / "out", timeout=1)
    assert run_again == {"test_doubles"}
    late = [
        {test.id: test.status for test in verdicts_on(it, "run_count")} for it in (before, after)
    ]
    assert late[0] == late[1]
    assert {*late[0].values()} == {"timeout"}


@pytest.mark.slow
@pytest.mark.process
def test_a_submission_whose_import_timed_out_is_not_imported_again(tmp_path: Path) -> None:
    """Only a changed submission is imported again. Without a worker, `isolation` is empty."""
    course = Course(tmp_path).write({RIGHTLY: f"while True: pass\n{RIGHT}"})
    (before,), _ = course.grade(tmp_path / "out", timeout=0.5)
    assert (before.status, bool(before.isolation)) == ("unreadable", True)
    doubles_in_another_way(course)
    (after,), run_again = course.grade(tmp_path / "out", timeout=0.5)
    assert (after.isolation, run_again) == ({}, set())
    told = [(test.status, test.message, test.where) for test in after.tests]
    assert told == [(test.status, test.message, test.where) for test in before.tests]
    assert (after.status, after.message) == (before.status, before.message)
    (course.submissions / RIGHTLY / "adapters.py").write_text(RIGHT)
    (fixed,), _ = course.grade(tmp_path / "out", timeout=0.5)
    assert fixed.score == fixed.max_score


def verdicts_on(grade: Grade, exercise: str) -> list[Verdict]:
    return [test for test in grade.tests if test.exercise == exercise]


def counts_are_one_more(course: Course) -> None:
    course.change("tests/hidden/test_count.py", *COUNTS_ARE_ONE_MORE)


@pytest.mark.process
def test_a_newly_failed_exercise_is_explained_as_in_a_fresh_grading(
    course: Course, tmp_path: Path
) -> None:
    counts_are_one_more(course)
    (after,), run_again = course.grade(tmp_path / "out")
    assert run_again >= COUNTS
    assert {test.status for test in after.tests if test.exercise == "run_count"} == {"failed"}
    (afresh,), _ = course.grade(tmp_path / "afresh")
    assert without_durations(after) == without_durations(afresh)


DOUBLE_FILE, COUNT_FILE = "tests/hidden/test_double.py", "tests/hidden/test_count.py"
OF_DOUBLES = {f"{DOUBLE_FILE}::{name}" for name in DOUBLES}
ALL = {SHARED, *OF_DOUBLES, *(f"{COUNT_FILE}::{name}" for name in COUNTS)}


@pytest.mark.process
@pytest.mark.parametrize(
    ("part", "old", "new", "stale"),
    [
        (DOUBLE_FILE, "draw(4)", "draw(5)", {f"{DOUBLE_FILE}::test_doubles_more"}),
        (DOUBLE_FILE, "from grader", "SIZE = 3\nfrom grader", OF_DOUBLES),
        (DOUBLE_FILE, "from grader", "# A comment.\n\nfrom grader", set()),
        ("pyproject.toml", "run_double = 4", "run_double = 5", set()),
        ("pyproject.toml", 'name = "tiny"', 'name = "tiny" # short', set()),
        ("pyproject.toml", 'name = "tiny"', 'name = "tiny"\npreload = ["numpy"]', set()),
        ("pyproject.toml", "call_timeout = 2", "call_timeout = 3", ALL),
        ("solutions/__init__.py", "2 * x", "x + x", ALL),
        ("adapters.py", "... n", "... m", ALL),
        ("tests/conftest.py", "plugin", "plugin'", ALL),
        ("tests/beside.py", "SIZE = 3", "SIZE = 4", ALL),
        ("solutions/.DS_Store", "3", "4", set()),
    ],
)
def test_a_change_makes_only_the_tests_that_it_affects_stale(
    course: Course, part: str, old: str, new: str, stale: set[str]
) -> None:
    """A test's source affects that test, points and `preload` none, and everything else all."""
    others = {"tests/beside.py": "SIZE = 3\n", "solutions/.DS_Store": "3\n"}
    write_files(course.root, others)
    before = course.hashes()
    assert set(before) == ALL
    course.change(part, old, new)
    after = course.hashes()
    assert {name for name in after if after[name] != before[name]} == stale


@pytest.mark.process
def test_changed_points_change_the_scores_and_run_no_test(course: Course, tmp_path: Path) -> None:
    """A change of points runs no test again, but changes the scores."""
    counting_is_worth_more(course)
    (after,), run_again = course.grade(tmp_path / "out")
    assert (run_again, after.max_score) == (set(), 6.0)


def test_files_of_linked_folders_belong_to_the_suite(tmp_path: Path) -> None:
    """A change in them concerns every test; a link to a folder above adds nothing."""
    course = Course(tmp_path).write({})
    data = write_files(tmp_path / "shared", {"data/numbers.txt": "1 2 3", ".git/config": "x"})
    hidden = course.root / "tests" / "hidden"
    (hidden / "linked").symlink_to(data)
    (data / "back").symlink_to(hidden)
    before = course.hashes()
    linked = [file for file in suite_files(course.root) if "linked" in file.parts]
    assert linked == [hidden / "linked" / "data" / "numbers.txt"]
    (data / "data" / "numbers.txt").write_text("1 2 4")
    after = course.hashes()
    assert all(after[test] != before[test] for test in before)


@pytest.mark.process(takes="a second")
@pytest.mark.parametrize("part", rest_slow(range(18), 18))
def test_a_change_of_a_bundled_test_module_affects_only_its_own_tests(
    tmp_path: Path, part: int
) -> None:
    """Shared modules affect all tests; frozen fixtures, which no judge reads, affect none."""
    for source in suite_files(ROOT):
        copy = tmp_path / source.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, copy)
    assignment = find_assignment(tmp_path)
    before = hashes_by_test(assignment)
    files = [*tmp_path.glob("tests/*/*.py"), *tmp_path.glob("tests/*/*/*.safetensors")]
    for file in sorted(files)[part::18]:
        content = file.read_bytes()
        file.write_bytes(content + b"\nSIZE = 3\n")
        after = hashes_by_test(assignment)
        file.write_bytes(content)
        stale = {it for it in after if after[it] != before[it]}
        place = file.relative_to(tmp_path).as_posix()
        own = {it for it in before if it.startswith(f"{place}::")}
        if file.suffix == ".safetensors":
            assert stale == set()
        else:
            assert stale == (own if file.stem.startswith("test_") else {*before})
