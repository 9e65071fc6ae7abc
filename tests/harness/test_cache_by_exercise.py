"""A grade depends on the parts of the assignment by exercise: only what is stale is graded."""

import contextlib
import dataclasses
import shutil
import sqlite3
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Self

import pytest

import grader
from grader.assignment import find_assignment
from grader.dispatch.fingerprints import SUITE, exercise_hashes
from grader.dispatch.test_files import exercises_of
from grader.store import Store
from grader.verdict import Grade
from tests.harness.conftest import RIGHT, TINY, write_files

ROOT = Path(__file__).parents[2]
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
# Tests run in the judge, and so may write down that they did.
CONFTEST = """
    from pathlib import Path

    import pytest

    pytest_plugins = ["grader.testing.plugin"]

    @pytest.fixture(autouse=True)
    def written_down(request):
        with (Path(__file__).parents[1] / "run.log").open("a") as log:
            log.write(request.node.name + "\\n")
    """
# Both exercises are wrong by one mistake that the catalogue knows of both.
ZEROED = "def run_double(x):\n    return 0 * x\n\ndef run_count(x):\n    return 0\n"
COUNTS_ARE_ONE_MORE = ("reference(x))", "reference(x) + 1)")


# A class: who is wrong is explained by all exercises together, and so is graded as a whole.
RIGHTLY, WRONGLY, WITH_WORDS = "alice", "bob", "carol"
CLASS = {
    RIGHTLY: RIGHT,
    WRONGLY: ZEROED,
    WITH_WORDS: RIGHT.replace("return x.numel()", "print('so many')\n    return x.numel()"),
}


class Course:
    """An assignment with a module of tests for each exercise, and the submissions to it."""

    def __init__(self, folder: Path) -> None:
        self.root, self.submissions = folder / "course", folder / "class"

    def write(self, submissions: Mapping[str, str]) -> Self:
        """Writes both."""
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

    def grade(self, out: Path) -> tuple[list[Grade], set[str]]:
        """The grades, and the names of the tests that were run for them."""
        log = self.root / "run.log"
        log.write_text("")
        results = grader.batch(self.submissions, out, assignment=self.root, seed=7, jobs=1)
        return [*results.grades()], set(log.read_text().split())

    def hashes(self) -> dict[str, str]:
        return exercise_hashes(find_assignment(self.root))


def timeless(grade: Grade) -> Grade:
    """The grade without its durations, which no two gradings share."""
    tests = tuple(test._replace(duration_s=0) for test in grade.tests)
    return dataclasses.replace(grade, tests=tests, duration_s=0)


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A course with one right submission, and its results beside it."""
    folder = tmp_path_factory.mktemp("graded")
    _, run = Course(folder).write({RIGHTLY: RIGHT}).grade(folder / "out")
    assert run == DOUBLES | COUNTS
    return folder


@pytest.fixture
def course(graded: Path, tmp_path: Path) -> Course:
    """A copy of it, whose results are in the folder `out` of the test."""
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


@pytest.mark.parametrize(
    ("change", "run"), [(counting_is_worth_more, COUNTS), (counting_is_dropped, set())]
)
def test_only_the_exercise_that_changed_is_graded_again(
    course: Course, tmp_path: Path, change: Callable[[Course], None], run: set[str]
) -> None:
    """The grade is the one that grading everything afresh would have come to."""
    (before,) = Store.read(tmp_path / "out").grades()
    change(course)
    (after,), run_again = course.grade(tmp_path / "out")
    assert run_again == run
    assert after.suite_hash != before.suite_hash
    assert after.score == after.max_score
    (afresh,), _ = course.grade(tmp_path / "afresh")
    assert timeless(after) == timeless(afresh)
    assert course.grade(tmp_path / "out") == ([after], set())


# What no verdict takes, so that those that are kept are known by it.
LONG = 1000.0


@dataclasses.dataclass(frozen=True)
class Changed:
    """A class before and after its tests of doubling changed, and as it is afresh."""

    before: Mapping[str, Grade]
    after: Mapping[str, Grade]
    afresh: Mapping[str, Grade]

    def kept(self, name: str) -> set[str]:
        """The exercises whose verdicts are the very ones of before, by their durations."""
        return {test.exercise for test in self.after[name].tests if test.duration_s == LONG}


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Changed:
    """What became of the class."""
    folder = tmp_path_factory.mktemp("changed")
    course = Course(folder).write(CLASS)
    before, _ = course.grade(folder / "out")
    with contextlib.closing(sqlite3.connect(folder / "out" / "results.sqlite")) as store, store:
        store.execute("UPDATE verdict SET duration_s = ?", (LONG,))
    doubles_in_another_way(course)
    after, _ = course.grade(folder / "out")
    afresh, _ = course.grade(folder / "afresh")
    grades = ({grade.submission: grade for grade in grades} for grades in (before, after, afresh))
    return Changed(*grades)


def test_of_who_is_right_only_the_exercise_that_changed_is_graded(changed: Changed) -> None:
    """The others' verdicts are the very ones of before; the grade is as if all were graded now."""
    assert changed.kept(RIGHTLY) == {"run_count"}
    assert changed.after[RIGHTLY].suite_hash != changed.before[RIGHTLY].suite_hash
    assert timeless(changed.after[RIGHTLY]) == timeless(changed.afresh[RIGHTLY])


def test_what_was_wrong_is_not_kept(changed: Changed) -> None:
    """Its explanation may lie in the exercise that changed."""
    assert changed.kept(WRONGLY) == set()
    assert timeless(changed.after[WRONGLY]) == timeless(changed.afresh[WRONGLY])


def test_what_prints_is_graded_as_a_whole(changed: Changed) -> None:
    """The printed text that reports show is that of all exercises."""
    assert changed.kept(WITH_WORDS) == set()


def test_what_is_wrong_now_is_explained_with_all_exercises(course: Course, tmp_path: Path) -> None:
    """Grading one exercise finds it wrong: then what the others answer counts as well."""
    course.change("tests/hidden/test_count.py", *COUNTS_ARE_ONE_MORE)
    (after,), run_again = course.grade(tmp_path / "out")
    assert run_again == DOUBLES | COUNTS
    assert {test.status for test in after.tests if test.exercise == "run_count"} == {"failed"}
    (afresh,), _ = course.grade(tmp_path / "afresh")
    assert timeless(after) == timeless(afresh)


@pytest.mark.parametrize(
    ("part", "old", "new", "stale"),
    [
        ("tests/hidden/test_double.py", "draw(4)", "draw(5)", {"run_double"}),
        ("pyproject.toml", "run_double = 4", "run_double = 5", {"run_double"}),
        ("pyproject.toml", 'name = "tiny"', 'name = "tiny" # short', set()),
        ("pyproject.toml", 'name = "tiny"', 'name = "tiny"\npreload = ["numpy"]', set()),
        ("pyproject.toml", "call_timeout = 2", "call_timeout = 3", {"run_double", "run_count"}),
        ("solutions/__init__.py", "2 * x", "x + x", {"run_double", "run_count"}),
        ("adapters.py", "... n", "... m", {"run_double", "run_count"}),
        ("tests/conftest.py", "plugin", "plugin'", {"run_double", "run_count"}),
    ],
)
def test_what_each_part_matters_to(
    course: Course, part: str, old: str, new: str, stale: set[str]
) -> None:
    """Tests and points are an exercise's own; the rest is everybody's, but for what is loaded."""
    before = course.hashes()
    course.change(part, old, new)
    after = course.hashes()
    assert {name for name in after if after[name] != before[name]} == stale


@pytest.mark.parametrize(
    "source",
    [
        "name = 'run_double'\n@exercise(name)\ndef test_it(student): ...",
        "from elsewhere import mark\n@mark\ndef test_it(student): ...",
        "from elsewhere import *",
        "from elsewhere import test_more",
        "from grader.testing import exercise as of",
        "test_it = made_elsewhere()",
        "class TestIt(Elsewhere): ...",
        "def pytest_generate_tests(metafunc): ...",
        "mark = getattr(pytest.mark, 'exercise')",
        "of = exercise",
        "def test_it(:",
    ],
)
def test_a_file_with_a_doubtful_test_matters_to_every_exercise(tmp_path: Path, source: str) -> None:
    """A grade that stands where it should not is worse than one made twice."""
    file, doubtful = tmp_path / "test_double.py", textwrap.dedent(DOUBLE) + "\n" + source
    file.write_text(textwrap.dedent(DOUBLE))
    assert exercises_of([file], []) == {file: {"run_double"}}
    file.write_text(doubtful)
    assert exercises_of([file], []) == {}


def test_a_file_that_another_one_mentions_matters_to_every_exercise(tmp_path: Path) -> None:
    """What a test imports from another module of tests changes it, too."""
    written = {"test_double.py": DOUBLE, "test_count.py": COUNT, "shapes.py": "SIZE = 3\n"}
    write_files(tmp_path, written)
    double, count, shapes = (tmp_path / name for name in written)
    assert exercises_of([double, count, shapes], []) == {
        double: {"run_double"},
        count: {"run_count"},
    }
    count.write_text(f"from tests.hidden.test_double import draw\n{textwrap.dedent(COUNT)}")
    assert exercises_of([double, count, shapes], []) == {count: {"run_count"}}


@pytest.mark.parametrize(
    "mention",
    [
        "import tests.hidden.test_double",
        "from tests.hidden import test_double",
        "from . import test_double as double",
        "import tests.hidden\nx = tests.hidden.test_double.x",
        "double = runpy.run_path('tests/hidden/test_double.py')",
        "double = getattr(tests.hidden, 'test_double')",
        "def test_double(draw): ...\nfrom tests.hidden import test_double",
        "defer = 'def'\ndouble = 'test_double'",
    ],
)
def test_whatever_may_import_a_file_is_a_mention(tmp_path: Path, mention: str) -> None:
    """However it is written, as long as the file's name is."""
    double = write_files(tmp_path, {"test_double.py": DOUBLE, "shapes.py": mention})
    files = [double / "test_double.py", double / "shapes.py"]
    assert exercises_of(files, []) == {}
    assert exercises_of(files[:1], files[1:]) == {}


def test_a_function_that_is_called_like_a_file_is_no_mention(tmp_path: Path) -> None:
    """The public and the hidden file of an exercise are called alike, and often a test in them."""
    named = textwrap.dedent(DOUBLE).replace("test_doubles(", "test_double(")
    files = [tmp_path / part / "test_double.py" for part in ("public", "hidden")]
    write_files(tmp_path, {f"{file.parent.name}/{file.name}": named for file in files})
    assert exercises_of(files, []) == {file: {"run_double"} for file in files}


def test_each_file_of_the_bundled_tests_matters_to_one_exercise(tmp_path: Path) -> None:
    """With its fixture tensors; what several files share matters to all exercises."""
    for part in SUITE:
        copy, source = tmp_path / part, ROOT / part
        copy.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if source.is_dir() else shutil.copyfile)(source, copy)
    assignment = find_assignment(tmp_path)
    before = exercise_hashes(assignment)
    for file in sorted([*tmp_path.glob("tests/*/*.py"), *tmp_path.glob("tests/*/*/*.safetensors")]):
        content = file.read_bytes()
        file.write_bytes(content + b"\n")
        after = exercise_hashes(assignment)
        file.write_bytes(content)
        own, name = file.stem.startswith("test_"), file.stem.replace("test_", "run_", 1)
        assert {it for it in after if after[it] != before[it]} == ({name} if own else {*before})
