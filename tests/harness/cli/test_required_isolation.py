"""`--require-isolation` refuses to grade if a layer does not hold; without it, grading goes on."""

import subprocess
import sys

import pytest

from tests.harness.waiting import PATIENCE

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform != "linux", reason="Landlock is Linux's"),
]
# A container whose filter does not know Landlock.
WITHOUT_LANDLOCK = """
import errno, sys
import pyseccomp
rules = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
for landlock in (444, 445, 446):
    rules.add_rule(pyseccomp.ERRNO(errno.EPERM), landlock)
rules.load()
from grader.cli import main
main()
"""


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--require-isolation"], "isolation is required and does not hold here (filesystem"),
        ([], "no pyproject.toml with a [tool.grader] table"),
    ],
    ids=["required", "not required"],
)
def test_a_machine_without_a_layer_is_refused_if_isolation_is_required(tmp_path, options, said):
    """The refusal precedes all other checks: there is not even an assignment here."""
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_LANDLOCK, "run", "alice.py", *options],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 2
    assert said in done.stderr
