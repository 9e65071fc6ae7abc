"""Scratch folders: the grader removes those that a grader made and left, and nothing else."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from grader.core import files as module
from grader.core.files import new_scratch, replaced

pytestmark = pytest.mark.unit

HOLDS = """
import os, sys, time
from pathlib import Path
from grader.core.files import new_scratch
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


def left_behind(temporary: Path) -> Path:
    """Returns a scratch folder as a killed grader leaves it: with a lock that nobody holds."""
    with new_scratch(temporary) as kept:
        entry = kept.parent
        left = entry.with_name("left")
        (kept / "grades.csv").touch()
        shutil.copytree(entry, left)
        first, _, last = (entry / "lock").read_text().splitlines(keepends=True)
        (left / "lock").write_text(f"{first}folder {left.stat().st_ino}\n{last}")
    return left / "scratch"


def test_an_abandoned_scratch_folder_is_removed_by_the_next_grader(tmp_path):
    """Its lock goes with it, and so does the grader's own folder."""
    left_behind(tmp_path)
    new_scratch(tmp_path).remove()
    assert not list(tmp_path.iterdir())


def with_a_fifo(lock: Path) -> None:
    """Puts a FIFO in the place of a lock."""
    lock.unlink()
    os.mkfifo(lock)


def with_a_link(lock: Path) -> None:
    """Puts a link in the place of a lock."""
    lock.rename(lock.with_name("moved"))
    lock.symlink_to("moved")


@pytest.mark.parametrize(
    "change",
    [
        lambda lock: lock.parent.chmod(0o731),
        lambda lock: lock.parent.chmod(0o713),
        lambda lock: lock.chmod(0o620),
        lambda lock: lock.chmod(0o602),
        lambda lock: lock.write_text(lock.read_text().replace("made by", "said by")),
        lambda lock: lock.write_text(""),
        lambda lock: lock.unlink(),
        with_a_fifo,
        with_a_link,
    ],
)
def test_a_folder_that_others_could_have_made_is_kept(tmp_path, change):
    """Somebody who may write to the folder or to its lock could forge the mark."""
    left = left_behind(tmp_path)
    change(left.with_name("lock"))
    new_scratch(tmp_path).remove()
    assert (left / "grades.csv").exists()


def test_a_scratch_folder_is_entered_and_not_listed_by_other_users(tmp_path):
    """Workers may run as another user, and only the grader reads its lock."""
    before = os.umask(0o077)
    try:
        with new_scratch(tmp_path) as scratch:
            modes = [path.stat().st_mode & 0o777 for path in (scratch, *scratch.parents[:2])]
            assert modes == [0o711, 0o711, 0o711]
            assert scratch.with_name("lock").stat().st_mode & 0o777 == 0o600
    finally:
        os.umask(before)


def test_a_folder_of_the_graders_name_that_others_may_change_is_not_used(tmp_path):
    """The grader makes one of its own, and leaves the other one alone."""
    house = tmp_path / f"grader-scratch-{os.geteuid()}"
    house.mkdir()
    house.chmod(0o777)
    with new_scratch(tmp_path) as scratch:
        assert scratch.parent.parent != house
    assert [*tmp_path.iterdir()] == [house]
    house.chmod(0o711)
    with new_scratch(tmp_path) as scratch:
        assert scratch.parent.parent == house


def test_no_scratch_folder_is_made_where_there_is_no_folder_for_it(tmp_path):
    """The command ends with one sentence, after some tries."""
    with pytest.raises(FileNotFoundError, match="vanish at once"):
        new_scratch(tmp_path / "gone")


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


@pytest.mark.parametrize("refusal", [BlockingIOError, OSError(errno.ENOLCK, "no locks")])
def test_a_folder_is_made_although_its_lock_is_refused_at_first(tmp_path, monkeypatch, refusal):
    """Another grader may look at it just then, and some file systems have no locks."""
    refusals, lock = [refusal], fcntl.flock

    def refused_at_first(*arguments):
        if refusals:
            raise refusals.pop()
        lock(*arguments)

    monkeypatch.setattr(fcntl, "flock", refused_at_first)
    with new_scratch(tmp_path) as scratch:
        assert [*scratch.parents[1].iterdir()] == [scratch.parent]


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


# --- Files written whole -------------------------------------------------------------------------


def test_a_device_or_a_pipe_is_written_to_and_not_replaced(tmp_path, monkeypatch):
    """A file in its place would break the machine: `grader run . --out /dev/null` as root."""
    pipe, link, devices = tmp_path / "pipe", tmp_path / "link", tmp_path / "devices"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    for place in (pipe, link):
        with replaced(place) as given:
            assert given == place
    assert stat.S_ISFIFO(link.stat().st_mode)
    devices.mkdir()
    (tmp_path / "output").touch()
    (devices / "stdout").symlink_to(tmp_path / "output")
    monkeypatch.setattr(module, "_DEVICES", devices)
    with replaced(devices / "stdout") as given:
        given.write_text("told")
    assert (devices / "stdout").is_symlink()
    assert (tmp_path / "output").read_text() == "told"
    with replaced(tmp_path / "output") as given:
        given.write_text("new")
        assert (tmp_path / "output").read_text() == "told"
    assert (tmp_path / "output").read_text() == "new"
