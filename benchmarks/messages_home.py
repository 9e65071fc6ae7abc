"""Runs `pytest` in the students' handout, with a wrong program in the place of theirs."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from benchmarks.slips_corpus import Slip, build

_SECONDS = 120


def in_the_handout(root: Path, asked: Iterable[tuple[Slip, str]]) -> dict[str, str]:
    """Returns the output for each slip: of the test file that contains the given test."""
    with tempfile.TemporaryDirectory() as scratch:
        handout = Path(scratch, "handout")
        command = [sys.executable, "-m", "grader", "handout", str(handout)]
        subprocess.run(command, cwd=root, check=True, capture_output=True)
        return {slip.id: _printed(slip, test, handout, Path(scratch)) for slip, test in asked}


def _printed(slip: Slip, test: str, handout: Path, scratch: Path) -> str:
    """Returns the output of `pytest -v` in a copy of the handout with the wrong program."""
    mine = scratch / slip.id.replace("/", "--")
    shutil.copytree(handout, mine)
    shutil.rmtree(mine / "assignment")
    program = build(slip, scratch / "programs")
    shutil.copytree(program, mine, dirs_exist_ok=True)
    options = ["-v", "-p", "no:cacheprovider", "--color=no"]
    command = [sys.executable, "-P", "-m", "pytest", *options, test.partition("::")[0]]
    try:
        done = subprocess.run(
            command, cwd=mine, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return ""
    finally:
        shutil.rmtree(mine)
    return done.stdout + done.stderr
