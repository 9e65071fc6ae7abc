"""Messages about exceptions show no folder of the grading machine."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from grader.core.wire.scripts import GIVEN
from grader.sandbox.claims import without_places
from grader.worker.marshalling import ScriptFiles

pytestmark = pytest.mark.unit


@pytest.fixture
def path_of_test_file() -> Path:
    """The path of a file that a test gives to the submission."""
    return Path(ScriptFiles().new_place("model.pt"))


def test_a_file_made_by_a_test_is_shown_without_its_folder(path_of_test_file, tmp_path):
    """The folder does not matter."""
    assert without_places(f"{path_of_test_file} is empty", tmp_path, tmp_path / "scratch") == (
        "…/model.pt is empty"
    )


@pytest.mark.parametrize("text", ["a", f"{GIVEN}a", f"{GIVEN}aaaaaaaa/1", f"'{GIVEN}a/"])
def test_a_text_of_few_spaces_is_searched_in_little_time(tmp_path, text):
    """A submission chooses the text of each exception, and the judge pays for the search."""
    root, scratch = tmp_path / "root", tmp_path / "scratch"
    before = time.thread_time()
    without_places(text * (20_000 // len(text)), root, scratch)
    assert time.thread_time() - before < 0.2
