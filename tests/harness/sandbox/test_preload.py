"""A class's imports: packages preloaded, missing packages named."""

import dataclasses
from pathlib import Path

import pytest

import grader as verbs
from grader.core.assignment import Settings
from grader.core.submission import Imports
from grader.core.verdict import GradeStatus, Status
from grader.intake.entry import Entry
from grader.reports.package_needs import missing_in_words, not_preloaded_in_words
from grader.results.store import Store
from grader.worker.packages import is_installed
from tests.harness.conftest import RIGHT, TINY, write_files
from tests.harness.grading_jobs import GradingJob
from tests.harness.storing import add

pytestmark = pytest.mark.unit

# Installed with the grader, but imported by no worker by default.
INSTALLED = "jinja2"
ABSENT = "surely_not_installed"
KEYS = f'preload = ["{INSTALLED}", "not_there_either"]\npackages = ["{ABSENT}"]'
LAZY = f"""
def run_double(x):
    import {ABSENT}
    return {ABSENT}.double(x)

def run_count(x):
    return x.numel()
"""


def assignment_with(folder: Path, keys: str) -> Path:
    """Writes the tiny assignment with further keys in its table."""
    pyproject = TINY["pyproject.toml"].replace(
        'name = "tiny"', 'name = "tiny"\n' + keys.replace("\n", "\n        ")
    )
    return write_files(folder, TINY | {"pyproject.toml": pyproject})


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An assignment that preloads packages, and allows imports of an absent one."""
    return assignment_with(tmp_path_factory.mktemp("prepared"), KEYS)


@pytest.fixture(scope="module")
def graded(prepared: Path, tmp_path_factory: pytest.TempPathFactory):
    """A function that grades a submission of the given modules for `prepared`."""
    client = GradingJob(Settings(str(prepared), 1, (), "adapters.py", 8.0, 512, "suite"))

    def grade_submission(**files: str):
        named = {f"{name}.py": text for name, text in files.items()}
        folder = write_files(tmp_path_factory.mktemp("submission"), named)
        return client.grade(Entry("submission", folder), "hash")

    yield grade_submission
    client.close()


@pytest.mark.process
def test_a_package_that_cannot_be_preloaded_is_reported(graded):
    """It costs nothing, like an import of a preloaded one."""
    grade = graded(adapters=f"import {INSTALLED}\n{RIGHT}")
    assert grade.score == grade.max_score
    assert set(grade.imports.not_preloaded) == {"not_there_either"}


@pytest.mark.process
def test_a_module_of_the_submission_hides_a_preloaded_package(graded):
    """The student's own module also wins at home."""
    adapters = f"from {INSTALLED} import run_double\ndef run_count(x):\n    return x.numel()\n"
    own = "def run_double(x):\n    return 2 * x\n"
    grade = graded(adapters=adapters, **{INSTALLED: own})
    assert grade.score == grade.max_score


@pytest.mark.process
@pytest.mark.parametrize("fixture", ["graded", "grade"])
def test_an_unneeded_absent_package_is_reported_and_costs_no_points(request, fixture):
    """This holds whether or not it is in `packages`; the instructor learns that it is missing."""
    program = f"import {ABSENT}\n{RIGHT}"
    grade = request.getfixturevalue(fixture)
    judged = grade(adapters=program) if fixture == "graded" else grade(program).grade
    assert judged.score == judged.max_score
    assert judged.imports.lacking == (ABSENT,)


@pytest.mark.process
def test_only_the_exercise_that_imports_a_listed_absent_package_is_not_graded(graded):
    """Only that exercise is not graded, because the others have answers."""
    grade = graded(adapters=LAZY)
    assert grade.status is GradeStatus.NOT_GRADED
    by_exercise = {"run_double": Status.NOT_GRADED, "run_count": Status.PASSED}
    assert all(test.status is by_exercise[test.exercise] for test in grade.tests)


@pytest.mark.process
def test_using_an_unlisted_absent_package_is_an_error(grade):
    """The package is not in the list that submissions may import."""
    assert grade(LAZY).statuses("run_double") == {"error"}


@pytest.mark.process
@pytest.mark.parametrize("claimed", ["torch", "json", "solutions", "mine", "not a name", "a" * 500])
def test_a_false_claim_of_an_absent_package_is_not_reported(grade, claimed):
    """Installed packages, and files of the submission or the course, are not reported."""
    raising = f"raise ModuleNotFoundError('no', name={claimed!r})\n"
    judged = grade(raising, lib__mine_py="x = 1\n").grade
    assert judged.imports.lacking == ()


@pytest.mark.process
def test_a_batch_names_the_packages_that_are_not_installed(grader, prepared, tmp_path):
    """The output counts submissions for each missing package, and names a failed preload once."""
    adapters = f"import {ABSENT}\n{RIGHT}"
    a_class = write_files(tmp_path / "class", {"alice.py": adapters, "bob.py": adapters + "#\n"})
    done = grader("batch", a_class, "--out", tmp_path / "out", cwd=prepared)
    assert done.returncode == 0, done.stderr
    assert f"\nnot installed here: {ABSENT} (2 submissions); see grader doctor" in done.stdout
    assert done.stderr.count("not_there_either could not be imported") == 1
    assert f"{ABSENT} (2 submissions)" in (tmp_path / "out/report/index.html").read_text()


@pytest.mark.process
def test_a_submission_is_graded_again_once_its_absent_package_is_installed(tiny, tmp_path):
    """The submission is unchanged, but the new package may change its grade."""
    out = tmp_path / "out"
    a_class = write_files(tmp_path / "class", {"alice.py": RIGHT})
    (before,) = verbs.batch(a_class, out, assignment=tiny, seed=7, jobs=1).grades()
    with Store.open(out, "tiny") as store:
        key = store.finished()["alice"]
        poorer = dataclasses.replace(before, score=0.0, imports=Imports(lacking=(INSTALLED,)))
        add(store, poorer, key, 0)
    (after,) = verbs.batch(a_class, out, assignment=tiny, seed=7, jobs=1).grades()
    assert after.score == before.score


def test_sentences_on_packages_are_plain_text():
    """Each package has the number of submissions that lack it."""
    assert missing_in_words({"einx": 12, "wandb": 1}) == (
        "not installed here: einx (12 submissions), wandb (1 submission); "
        "see grader doctor SUBMISSIONS"
    )
    assert missing_in_words({}) == ""
    (said,) = not_preloaded_in_words({"lost": "ImportError: no \x1b[31mred"})
    assert "\x1b" not in said


def test_a_package_that_cannot_be_found_is_not_installed():
    assert is_installed("torch")
    assert not is_installed(ABSENT)
