"""Scratch folders: the grader removes those that a grader made and left, and nothing else."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from grader.core import scratch as module
from grader.core.scratch import new_scratch

pytestmark = pytest.mark.unit

HOLDS = """
import os, sys, time
from pathlib import Path
from grader.core.scratch import new_scratch
scratch = new_scratch(Path(sys.argv[1]))
(scratch.path / "deep").mkdir()
if sys.argv[2] == "child" and os.fork():
    os._exit(0)  # its child lives on
print(scratch.path, os.getpid(), flush=True)
time.sleep(600)
"""
SAID_BY_NAME = ["grader-2026-fall", "grader-1-x", "grader-999999999-notes", "grader-scratch-0-old"]


@contextmanager
def another_grader(temporary: Path, holder: str = "itself") -> Iterator[tuple[Path, int]]:
    """Yields a process's scratch folder, and the id of the process that holds it."""
    command = [sys.executable, "-c", HOLDS, temporary, holder]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        place, pid = process.stdout.readline().split()
        try:
            yield Path(place), int(pid)
        finally:
            _kill(int(pid), process)


def _kill(pid: int, process: subprocess.Popen[str]) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    process.wait()
    assert process.stdout is not None
    assert process.stdout.read() == ""  # the holder is gone


def test_user_folders_are_kept_whatever_their_names(tmp_path):
    """No name leads to removal, neither beside the grader's own folder nor within it."""
    with new_scratch(tmp_path) as first:
        house = first.parent.parent
        for place in (tmp_path, house):
            for name in SAID_BY_NAME:
                (place / name).mkdir()
                (place / name / "grades.csv").write_text("alice,20\n")
        (house / "file").touch()
        (house / "link").symlink_to("/etc")
        os.mkfifo(house / "pipe")
        before = {path for path in tmp_path.rglob("*") if "scratch" not in path.parts}
        new_scratch(tmp_path).remove()
        assert before <= set(tmp_path.rglob("*"))
    assert not first.exists()


def test_a_copy_of_a_scratch_folder_stays(tmp_path):
    """The mark in the copy names another folder."""
    with new_scratch(tmp_path) as kept:
        entry = kept.parent
        (kept / "grades.csv").touch()
        copied = entry.with_name("copied")
        shutil.copytree(entry, copied)
    new_scratch(tmp_path).remove()
    assert (copied / "scratch" / "grades.csv").exists()


def test_removing_scratch_folders_leaves_nothing(tmp_path):
    """The grader's own folder goes with the last scratch folder."""
    with new_scratch(tmp_path), new_scratch(tmp_path):
        assert len(list(tmp_path.iterdir())) == 1
    assert not list(tmp_path.iterdir())


def test_graders_that_start_together_leave_nothing(tmp_path):
    """Each looks for abandoned folders, and may lock one that another is just making."""

    def make_and_remove(_: int) -> None:
        with new_scratch(tmp_path):
            pass

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(make_and_remove, range(400)))
    assert list(tmp_path.rglob("*")) == []


@pytest.mark.process
def test_scratch_folders_of_a_killed_grader_are_removed_by_the_next(tmp_path):
    """The kernel releases its lock, however the grader ended."""
    with another_grader(tmp_path) as (left, pid):
        with new_scratch(tmp_path):
            assert (left / "deep").exists()
        os.kill(pid, signal.SIGKILL)
    with new_scratch(tmp_path):
        assert not left.parent.exists()


@pytest.mark.process
def test_a_scratch_folder_is_kept_while_anybody_holds_it(tmp_path):
    """Process ids prove nothing: the maker may be gone, and containers have other ids."""
    with another_grader(tmp_path, "child") as (held, _), new_scratch(tmp_path):
        assert (held / "deep").exists()
    with new_scratch(tmp_path):
        assert not held.parent.exists()


@pytest.mark.process
def test_scratch_folders_of_another_machine_are_kept_for_a_week(tmp_path, monkeypatch):
    """Its locks may be invisible here, but no batch takes a week."""
    with another_grader(tmp_path) as (left, _):
        pass
    lock = left.with_name("lock")
    first, folder, _start = lock.read_bytes().splitlines()
    monkeypatch.setattr(module, "_mark", lambda _: b"%s\n%s\nstart of another\n" % (first, folder))
    new_scratch(tmp_path).remove()
    assert left.exists()
    os.utime(lock, (0, 0))
    new_scratch(tmp_path).remove()
    assert not left.exists()


def test_a_link_in_place_of_the_scratch_folder_is_not_followed(tmp_path):
    """The grader makes a folder of its own instead."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    house = tmp_path / f"grader-scratch-{os.geteuid()}"
    house.symlink_to(elsewhere)
    with new_scratch(tmp_path) as scratch:
        assert scratch.is_dir()
        assert not list(elsewhere.iterdir())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["elsewhere", house.name]


def test_a_scratch_folder_is_made_without_permission_to_list_folders(tmp_path, monkeypatch):
    """A judge needs no access to other folders, even where it may not list them."""

    def refused(_path):
        raise PermissionError

    monkeypatch.setattr("os.scandir", refused)
    assert new_scratch(tmp_path).path.is_dir()
