"""Marks of tests: a missing or wrong mark is an error, and a kind can run alone."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.harness.conftest import ROOT, write_files

pytestmark = pytest.mark.process

PLUGIN = """
from tests.harness.conftest import pytest_addoption, pytest_configure
"""
MARKED = """
import subprocess, sys
import pytest

@pytest.mark.unit
def test_nothing_is_started(): pass

@pytest.mark.process
def test_a_process_is_started(): subprocess.run([sys.executable, "-S", "-c", ""], check=True)

@pytest.mark.process(takes="a second")
def test_much_is_computed(): pass

@pytest.mark.slow
def test_much_is_started(): pass
"""
FALSE = """
import subprocess, sys
import pytest

@pytest.mark.unit
def test_one_is_started(): subprocess.run([sys.executable, "-S", "-c", ""], check=True)

@pytest.mark.process
def test_none_is_started(): pass
"""
UNMARKED = "def test_anything(): pass"
SLOW_ALONE = "import pytest\n\n@pytest.mark.slow\ndef test_much(): pass"
BROKEN = "import pytest\npytestmark = pytest.mark.process\nraise ValueError"


@pytest.fixture
def pytest_output(warm, tmp_path: Path) -> Callable[..., str]:
    """A function that runs modules with the plugin for marks and returns pytest's output."""

    def run(*options: str, **modules: str) -> str:
        files = {f"{name}.py": text for name, text in modules.items()}
        folder = write_files(tmp_path, {"conftest.py": PLUGIN, "pytest.ini": "[pytest]", **files})
        command = ("-m", "pytest", "-p", "no:cacheprovider", "-q", *options)
        done = warm.run(command, folder, os.environ | {"PYTHONPATH": str(ROOT)})
        return done.stdout + done.stderr

    return run


def test_true_marks_pass_and_a_kind_is_run_alone(pytest_output):
    """Modules without a test of that kind are not even imported."""
    assert "4 passed" in pytest_output(test_marked=MARKED)
    said = pytest_output("--kind", "unit", test_marked=MARKED, test_broken=BROKEN)
    assert "1 passed, 3 deselected" in said


def test_a_false_mark_fails(pytest_output):
    """A unit test may not start a process, and a process test must start one."""
    said = pytest_output(test_false=FALSE)
    assert "2 failed" in said
    assert re.search(r"it is marked unit and starts a process: subprocess\.Popen", said)
    assert "it is marked process and starts none: mark it unit" in said


@pytest.mark.parametrize("options", [(), ("--kind", "unit")], ids=["all", "units"])
def test_a_test_without_a_mark_is_refused(pytest_output, options):
    """The selected kind does not matter."""
    said = pytest_output(*options, test_unmarked=UNMARKED, test_marked=MARKED)
    assert "mark the tests of test_unmarked.py: process, slow, unit" in said


def test_a_module_with_slow_tests_only_is_refused(pytest_output):
    """Slow tests run too rarely to show a fault in time."""
    assert "test_slow.py has slow tests only" in pytest_output(test_slow=SLOW_ALONE)
