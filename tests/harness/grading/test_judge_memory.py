"""The judge's memory limit, for tests whose memory use depends on a submission's answer."""

import sys

import pytest

from grader.core.assignment import Settings
from grader.intake.entry import Entry
from tests.harness.conftest import TINY, write_files
from tests.harness.grading_jobs import GradingJob

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform != "linux", reason="Linux alone bounds a process's memory"),
]

LARGE = 2 << 30
# The judge's limit is half a gigabyte plus the submission's limit: less than `LARGE`.
MEMORY_MB = 512
TEST = "tests/public/test_tiny.py"
DOUBLES, OF_COUNT, COUNTS = TINY[TEST].partition('@exercise("run_count")')
COMPARED = "assert_matches(student(x), reference(x))"
AS_BYTES = "assert_matches(bool(bytes(student(x))), bool(bytes(reference(x))))"


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    files = TINY | {TEST: DOUBLES + OF_COUNT + COUNTS.replace(COMPARED, AS_BYTES)}
    files = {name: text for name, text in files.items() if "tests/hidden" not in name}
    folder = write_files(tmp_path_factory.mktemp("bytes"), files)
    job = GradingJob(Settings(str(folder), 1, (), "adapters.py", 20.0, MEMORY_MB, "suite"))
    yield job
    job.close()


@pytest.fixture
def graded(job, tmp_path):
    def grade(count):
        adapters = (
            f"def run_double(x):\n    return 2 * x\n\ndef run_count(x):\n    return {count}\n"
        )
        folder = write_files(tmp_path / "submission", {"adapters.py": adapters})
        return job.grade(Entry("submission", folder), "hash")

    return grade


def test_an_answer_that_exceeds_the_judges_memory_fails_only_its_test(graded):
    """Only this test fails, and the other exercise keeps its points."""
    grade = graded(LARGE)
    double, count = grade.tests
    assert (grade.status, double.status, count.status) == ("graded", "passed", "failed")
    assert "answer cannot be compared" in count.message


def test_an_honest_answer_is_compared(graded):
    """The same judge grades it, directly after the large answer."""
    grade = graded("x.numel()")
    assert grade.score == grade.max_score
