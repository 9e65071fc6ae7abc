"""The tests of a file that affect no other test, as a change of the file is judged by them."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path

import pytest

from grader.grading.fingerprints import files_of_tests, without_parameters
from tests.harness.conftest import write_files
from tests.harness.grading.test_cache_by_test import COUNT, COUNTS, DOUBLE, DOUBLES

pytestmark = pytest.mark.unit


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
        "@exercise('run_double')\ndef test_doubles(student): ...",
        "def make():\n    @exercise('run_double')\n    def test_it(student): ...",
        "@exercise('run_double')\ndef check_it(student): ...",
    ],
)
def test_a_file_with_an_unclear_test_affects_every_test(tmp_path: Path, source: str) -> None:
    """A stale grade is worse than an unnecessary second grading."""
    file, doubtful = tmp_path / "test_double.py", textwrap.dedent(DOUBLE) + "\n" + source
    file.write_text(textwrap.dedent(DOUBLE))
    assert independent_tests_in([file]) == {file: DOUBLES}
    file.write_text(doubtful)
    assert independent_tests_in([file]) == {}


def test_a_file_that_another_mentions_affects_every_test(tmp_path: Path) -> None:
    """A test also depends on the test modules that it imports."""
    written = {"test_double.py": DOUBLE, "test_count.py": COUNT, "shapes.py": "SIZE = 3\n"}
    write_files(tmp_path, written)
    double, count, shapes = (tmp_path / name for name in written)
    assert independent_tests_in([double, count, shapes]) == {double: DOUBLES, count: COUNTS}
    count.write_text(f"from tests.hidden.test_double import draw\n{textwrap.dedent(COUNT)}")
    assert independent_tests_in([double, count, shapes]) == {count: COUNTS}


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
def test_every_form_of_import_counts_as_a_mention(tmp_path: Path, mention: str) -> None:
    """Any form of import counts if the source holds the file's name."""
    double = write_files(tmp_path, {"test_double.py": DOUBLE, "shapes.py": mention})
    files = [double / "test_double.py", double / "shapes.py"]
    assert independent_tests_in(files) == {}
    assert independent_tests_in(files[:1], files[1:]) == {}


def test_a_function_with_the_name_of_a_file_is_no_mention(tmp_path: Path) -> None:
    """Public and hidden test files share names, and often one of their tests does too."""
    named = textwrap.dedent(DOUBLE).replace("test_doubles(", "test_double(")
    files = [tmp_path / part / "test_double.py" for part in ("public", "hidden")]
    write_files(tmp_path, {f"{file.parent.name}/{file.name}": named for file in files})
    assert independent_tests_in(files) == {
        file: {"test_double", "test_doubles_more"} for file in files
    }


def test_a_test_that_another_calls_affects_its_whole_file(tmp_path: Path) -> None:
    """A change of the called test also changes its callers."""
    called = textwrap.dedent(DOUBLE) + "\nALSO = [test_doubles]\n"
    file = write_files(tmp_path, {"test_double.py": called}) / "test_double.py"
    (parts,) = files_of_tests([file], []).values()
    assert {test.content for test in parts.tests} == {""}
    assert all(f"def {name}(" in parts.rest for name in DOUBLES)


def test_tests_in_a_class_have_its_name(tmp_path: Path) -> None:
    """Names follow pytest, so that each verdict's id is found among the hashes."""
    source = "class TestIt:\n    @exercise('run_double')\n    def test_one(self, student): ...\n"
    file = write_files(tmp_path, {"test_double.py": source}) / "test_double.py"
    (parts,) = files_of_tests([file], []).values()
    assert [(test.name, test.exercise) for test in parts.tests] == [
        ("TestIt::test_one", "run_double")
    ]
    assert without_parameters("tests/test_double.py::TestIt::test_one[a::b[0]]") == (
        "tests/test_double.py::TestIt::test_one"
    )


def independent_tests_in(files: list[Path], others: Sequence[Path] = ()) -> dict[Path, set[str]]:
    """Returns, for each file, the tests that certainly affect no other test."""
    found = files_of_tests(files, others)
    return {file: {test.name for test in parts.tests} for file, parts in found.items()}
