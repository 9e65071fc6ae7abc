"""Messages about exceptions show no folder of the grading machine."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from grader.core.assignment import find_assignment
from grader.core.wire.calls import Raised
from grader.core.wire.scripts import GIVEN
from grader.sandbox.claims import without_places
from grader.sandbox.environment import Environment
from grader.worker.marshalling import ScriptFiles

pytestmark = pytest.mark.unit


@pytest.fixture
def path_of_test_file() -> Path:
    """The path of a file that a test gives to the submission."""
    return Path(ScriptFiles().new_place("model.pt"))


def file_not_found(path: Path) -> Raised:
    return Raised("FileNotFoundError", f"[Errno 2] No such file or directory: '{path}'")


def test_a_file_made_by_a_test_is_shown_without_its_folder(path_of_test_file, tmp_path):
    """The folder does not matter."""
    assert without_places(f"{path_of_test_file} is empty", tmp_path, tmp_path / "scratch") == (
        "…/model.pt is empty"
    )


def test_a_file_made_by_a_test_is_not_searched_in_the_submission(path_of_test_file, tmp_path, tiny):
    """A submitted file of the same name is unrelated."""
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "model.pt").write_text("")
    environment = Environment(find_assignment(tiny), tmp_path)
    assert environment.checked(file_not_found(path_of_test_file)).remark == ""
    assert (
        "handed in as deep/model.pt" in environment.checked(file_not_found(Path("model.pt"))).remark
    )


@pytest.mark.parametrize("text", ["a", f"{GIVEN}a", f"{GIVEN}aaaaaaaa/1", f"'{GIVEN}a/"])
def test_a_text_of_few_spaces_is_searched_in_little_time(tmp_path, text):
    """A submission chooses the text of each exception, and the judge pays for the search."""
    root, scratch = tmp_path / "root", tmp_path / "scratch"
    before = time.thread_time()
    without_places(text * (20_000 // len(text)), root, scratch)
    assert time.thread_time() - before < 0.2
