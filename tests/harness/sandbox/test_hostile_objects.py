"""Objects that hang, lie or grow fail their own exercise; the next test goes on."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from grader import Grade, batch
from grader.core.verdict import GradeStatus, Status
from tests.harness.hostile.objects import LIES, OBJECTS, SPOILERS
from tests.harness.testing.test_values import ASSIGNMENT, COURSES, OWN, RIGHT, wrong_program

pytestmark = pytest.mark.process

EXERCISES = (
    *("run_counts", "run_tokens", "run_pairs"),
    *("get_tokenizer", "get_optimizer_class", "run_primes"),
)
IMPORTS = "import itertools, os, sys, threading, time\nimport torch\n"


@pytest.fixture(scope="module")
def grades(tmp_path_factory) -> Mapping[str, Grade]:
    """The grades of all objects, with a limit of one second for each call."""
    folder = tmp_path_factory.mktemp("objects")
    assignment = shutil.copytree(ASSIGNMENT, folder / "assignment")
    settings = assignment / "pyproject.toml"
    settings.write_text(settings.read_text().replace("call_timeout = 10", "call_timeout = 1"))
    for name, (function, body) in OBJECTS.items():
        program = f"{wrong_program(function, body)}\n{LIES}".replace(COURSES, OWN)
        _write(folder / "class" / name / "adapters.py", f"{IMPORTS}{program}")
    _write(folder / "class" / "right" / "adapters.py", RIGHT.replace(COURSES, OWN))
    found: dict[str, Grade] = {}
    batch(
        folder / "class",
        out=folder / "out",
        assignment=assignment,
        exercises=EXERCISES,
        memory_mb=512,
        explain=False,
        on_grade=lambda grade: found.update({grade.submission: grade}),
    )
    return found


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True)
    path.write_text(text, "utf-8")


def test_a_right_submission_gets_full_marks_beside_hostile_ones(grades):
    """One second is enough for right code."""
    assert grades["right"].score == grades["right"].max_score


@pytest.mark.parametrize("name", OBJECTS)
def test_a_bad_object_fails_its_own_exercise(grades, name):
    """The exercise neither passes nor is *not graded*, and no other exercise loses points."""
    grade, function = grades[name], OBJECTS[name][0]
    assert grade.status is GradeStatus.GRADED, grade.message
    own = [test for test in grade.tests if test.exercise.partition("_")[2] == function]
    others = [test for test in grade.tests if test not in own]
    assert {test.status for test in own} <= {
        *(Status.FAILED, Status.ERROR, Status.TIMEOUT, Status.CRASHED),
    }, [(test.status, test.message) for test in own]
    assert name in SPOILERS or {test.status for test in others} == {Status.PASSED}, [
        (test.id, test.message) for test in others if test.status is not Status.PASSED
    ]
