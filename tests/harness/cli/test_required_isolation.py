"""`--require-isolation` refuses to grade where a layer does not hold, and only if it is given."""

import subprocess
import sys

import pytest

from tests.harness.waiting import PATIENCE

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform != "linux", reason="Landlock is Linux's"),
]
# A container whose filter knows no Landlock.
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
    """Before anything else is looked at: here there is not even an assignment."""
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
