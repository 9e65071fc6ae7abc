"""Clones of GitHub Classroom: recognised by their folders' names, and attributed to accounts."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.intake.discovery import discover
from grader.intake.process import take_in
from tests.harness.conftest import write_files

pytestmark = pytest.mark.unit

CODE = "def run_softmax(in_features, dim): return in_features\n"


def clones(folder: Path, *names: str) -> Path:
    for name in names:
        write_files(folder / name, {"adapters.py": CODE, ".git/config": "[core]\n"})
    return folder


def test_clones_around_their_results_stay_clones(tmp_path: Path) -> None:
    """The name of that folder begins otherwise than theirs."""
    folder = clones(tmp_path / "clones", "hw-jdoe", "hw-zoe")
    found = discover([folder])
    (folder / "results").mkdir()
    assert discover([folder], out=folder / "results") == found


def test_clones_of_github_classroom_are_attributed_to_accounts(tmp_path: Path) -> None:
    """The account follows the assignment's name, and may hold hyphens."""
    folder = clones(
        tmp_path / "clones", "attention-hw-jdoe", "attention-hw-zoe-b", "attention-hw-x"
    )
    found = discover([folder])
    assert found.kinds == ("GitHub Classroom clones of attention-hw, 3 submissions",)
    assert {entry.name: entry.authors[0].id for entry in found.entries} == {
        "attention-hw-jdoe": "jdoe",
        "attention-hw-x": "x",
        "attention-hw-zoe-b": "zoe-b",
    }
    (tmp_path / "into").mkdir()
    assert take_in(found.entries[0], tmp_path / "into").adapters == "adapters.py"


def test_the_name_of_a_github_classroom_folder_gives_the_assignment(tmp_path: Path) -> None:
    """The folder's name helps if all accounts begin alike, or if there is only one clone."""
    folder = clones(tmp_path / "hw-submissions", "hw-jane-doe", "hw-jane-roe")
    assert [e.authors[0].id for e in discover([folder]).entries] == ["jane-doe", "jane-roe"]
    folder = clones(tmp_path / "lab-submissions", "lab-jane")
    assert [e.authors[0].id for e in discover([folder]).entries] == ["jane"]
    folder = clones(tmp_path / "clones", "hw-ann-lee", "hw-bob-roe")
    assert [e.authors[0].id for e in discover([folder]).entries] == ["ann-lee", "bob-roe"]


@pytest.mark.parametrize(
    ("cloned", "plain", "is_so"),
    [
        (["hw-a", "hw-b"], ["hw-c"], True),
        (["hw-a", "hw-b"], ["hw-c", "hw-d"], False),
        (["hw-a"], [], False),
        (["hw-a", "lab-b"], [], False),
        (["hwa", "hwb"], [], False),
    ],
)
def test_most_folders_of_a_classroom_are_checkouts_with_one_beginning(
    tmp_path: Path, cloned: list[str], plain: list[str], is_so: bool
) -> None:
    """A student may have removed the history; one clone alone tells no assignment."""
    folder = clones(tmp_path / "d", *cloned)
    for name in plain:
        write_files(folder / name, {"adapters.py": CODE})
    (folder / "notes.txt").touch()
    found = discover([folder])
    assert found.kinds[0].startswith("GitHub Classroom clones of hw, ") is is_so
    reason = (
        "not a clone" if is_so else "neither a folder nor an archive, a notebook or a Python file"
    )
    assert [one.reason for one in found.skipped] == [reason]


def test_folders_that_begin_alike_are_no_clones(tmp_path: Path) -> None:
    """A plain folder stays one, and nobody's name is guessed from it."""
    for name in ("team-1", "team-2"):
        write_files(tmp_path / "d" / name, {"adapters.py": CODE})
    found = discover([tmp_path / "d"])
    assert found.kinds == ("folder, 2 submissions",)
    assert [entry.authors for entry in found.entries] == [(), ()]
