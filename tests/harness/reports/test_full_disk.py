"""A full disk keeps the earlier files, and leaves no half-written ones beside them."""

from __future__ import annotations

import resource
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.core.text import Refusal
from grader.reports.export.scores import write_whole
from grader.results.database import StoreError
from grader.results.decisions.file import append_decision
from grader.results.store import Store
from tests.harness.export_fixtures import a_batch, a_grade, a_verdict

pytestmark = pytest.mark.unit

LONG = "x" * 10_000


def write_lines(file: Path) -> None:
    Store.read(file.parent).write_jsonl(file)


def write_decision(file: Path) -> None:
    append_decision(file, "comment", {"person": "alice", "text": LONG})


def write_export(file: Path) -> None:
    write_whole(file, LONG)


@pytest.mark.parametrize("write", [write_lines, write_decision, write_export])
def test_a_full_disk_leaves_no_partial_file(tmp_path: Path, write: Callable[[Path], None]) -> None:
    """A limit on the size of files stands in for the full disk."""
    a_batch(tmp_path, a_grade("alice", a_verdict("run_rope", 0.0, message=LONG)))
    file = tmp_path / "written"
    file.write_text("# earlier\n")
    there = sorted(tmp_path.iterdir())
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5000, limits[1]))
    try:
        with pytest.raises((Refusal, StoreError), match="cannot be written"):
            write(file)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert sorted(tmp_path.iterdir()) == there
    assert file.read_text() == "# earlier\n"
