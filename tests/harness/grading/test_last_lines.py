"""Last lines that exit or wait for input do not invalidate the code above them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from grader.core.verdict import Status
from tests.harness.conftest import RIGHT

pytestmark = pytest.mark.process

ENDS = {
    "exit": "exit()",
    "quit": "quit(0)",
    "sys.exit": "import sys\nsys.exit(1)",
    "input": "input('Press Enter to close')",
    "unittest": "import unittest\nclass T(unittest.TestCase):\n    def test(self): pass\n"
    "unittest.main()",
    "main guard": "if __name__ == '__main__':\n    raise SystemExit('usage: work.py FILE')",
}


@pytest.mark.parametrize("end", ENDS)
def test_code_above_a_last_line_that_exits_or_waits_is_graded(grade: Callable, end: str) -> None:
    """The same file also works on the student's machine."""
    graded = grade(f"{RIGHT}\n{ENDS[end]}\n").grade
    assert (graded.score, [test.status for test in graded.tests]) == (
        graded.max_score,
        [Status.PASSED] * len(graded.tests),
    )


def test_a_failed_download_at_import_is_explained_by_the_missing_network(grade: Callable) -> None:
    """The resolver's own message would send the student looking for a fault at home."""
    load = "import urllib.request\nurllib.request.urlopen('http://files.example/weights.pt')\n"
    graded = grade(f"{load}{RIGHT}").grade
    said = " ".join([graded.message or "", *(test.message or "" for test in graded.tests)])
    assert "there is no network while a submission is graded" in said
