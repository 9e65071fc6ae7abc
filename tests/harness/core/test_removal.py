"""Cleaning up after submissions: it never raises and never recurses, whatever they left."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.core.folders import remove
from grader.sandbox.usage_watch import DiskQuota, fits

pytestmark = pytest.mark.unit

NOBODY = 65534


def make_closed_folders(folder: Path, then: Callable[[], bool] = lambda: True) -> int:
    """Makes folders, as an ordinary user, that cannot be listed, entered or written to.

    Returns 0 if what that user does `then` succeeds.
    """
    child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            os.chdir(folder)
            for name, mode in (("closed", 0), ("open", 0o100), ("listed", 0o500)):
                Path(name, "inner", "innermost").mkdir(parents=True)
                Path(name, "inner", "file").touch()
                Path(name, "inner").chmod(mode)
                Path(name).chmod(mode)
            os._exit(0 if then() else 2)
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def world_writable_folder(tmp_path: Path) -> Path:
    """Returns a folder in which any user may write."""
    left = tmp_path / "left"
    left.mkdir()
    left.chmod(0o777)
    for parent in (tmp_path, *tmp_path.parents):
        if parent.stat().st_mode & 0o005 != 0o005:
            parent.chmod(0o755)
    return left


def make_nested_folders(folder: Path, depth: int, name: str = "d") -> None:
    """Makes nested folders, deeper than the longest path, with a file in each."""
    before = os.open(".", os.O_RDONLY)
    try:
        os.chdir(folder)
        for _ in range(depth):
            Path(name).mkdir()
            os.chdir(name)
            Path("file").touch()
    finally:
        os.fchdir(before)
        os.close(before)


@pytest.mark.parametrize(("depth", "name"), [(1500, "d"), (100, "d" * 255)])
def test_nested_folders_are_removed_at_any_depth(tmp_path, depth, name):
    """Neither the stack, nor the length of a path, nor the limit on open files matters."""
    folder = tmp_path / "left"
    folder.mkdir()
    make_nested_folders(folder, depth, name)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(
        resource.RLIMIT_NOFILE, (len(list(Path("/proc/self/fd").iterdir())) + 8, hard)
    )
    try:
        assert remove(folder)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert not folder.exists()


def test_a_tree_that_is_wide_and_deep_is_removed(tmp_path):
    """Removal moves folders up, where they meet others of the same name."""
    folder = tmp_path / "left"
    for way in ("a/a/a/a", "a/a/b", "b/a/a", "b/b", "a/b/a/b"):
        (folder / way).mkdir(parents=True, exist_ok=True)
        (folder / way / "file").touch()
    assert remove(folder)
    assert not folder.exists()


def test_removal_keeps_the_targets_of_links(tmp_path):
    """A submission's link may lead anywhere."""
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").touch()
    folder = tmp_path / "left"
    (folder / "deep").mkdir(parents=True)
    for place in (folder, folder / "deep"):
        (place / "folder").symlink_to(kept)
        (place / "file").symlink_to(kept / "file")
        (place / "nowhere").symlink_to(tmp_path / "nowhere")
    alone = tmp_path / "alone"
    alone.symlink_to(kept)
    assert remove(folder)
    assert remove(alone)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kept"]
    assert (kept / "file").exists()


@pytest.mark.process
def test_folders_without_permissions_are_removed(tmp_path):
    """A folder of mode 0 cannot be listed, and one without w cannot be emptied or moved."""
    left = world_writable_folder(tmp_path)
    assert make_closed_folders(left) == 0
    assert remove(left)
    assert not left.exists()


@pytest.mark.process
def test_an_ordinary_user_removes_their_own_folders_without_permissions(tmp_path):
    """Root may move what an ordinary user must first make writable."""
    left = world_writable_folder(tmp_path)
    assert make_closed_folders(left, lambda: all(map(remove, left.iterdir()))) == 0
    assert not [*left.iterdir()]


def test_failed_removal_returns_false_and_raises_nothing(tmp_path):
    """The process that cleans up continues."""
    assert remove(tmp_path / "not there")
    assert not remove(Path("/proc/self"))
    assert not remove(Path("nul\0"))
    file = tmp_path / "file"
    file.touch()
    assert remove(file)
    assert not file.exists()


def test_a_scratch_folder_that_is_too_deep_does_not_fit(tmp_path):
    """Paths beyond the limit cannot be counted, and counting along long paths takes too long."""
    make_nested_folders(tmp_path, 20)
    assert fits(tmp_path, DiskQuota(1 << 30, 1000))
    make_nested_folders(tmp_path / "d" / "d", 120, "e")
    assert not fits(tmp_path, DiskQuota(1 << 30, 10_000))


def test_files_behind_too_long_paths_count_against_the_limit(tmp_path):
    """Such files would otherwise not count against the limit."""
    make_nested_folders(tmp_path, 30, "d" * 255)
    assert fits(tmp_path, DiskQuota(1 << 30, 60))
    assert not fits(tmp_path, DiskQuota(1 << 30, 59))


@pytest.mark.process
def test_files_in_folders_without_permissions_count_against_the_limit(tmp_path):
    """Otherwise a submission could fill the disk from a folder that cannot be listed."""
    left = world_writable_folder(tmp_path)
    assert make_closed_folders(left) == 0
    assert fits(left, DiskQuota(1 << 30, 12))
    assert not fits(left, DiskQuota(1 << 30, 11))


def test_hard_links_count_once_by_size_and_each_by_number(tmp_path):
    """Every name also takes space in the file system, even for the same file."""
    (tmp_path / "first").write_bytes(bytes(1 << 20))
    for number in range(9):
        (tmp_path / str(number)).hardlink_to(tmp_path / "first")
    assert fits(tmp_path, DiskQuota(2 << 20, 10))
    assert not fits(tmp_path, DiskQuota(2 << 20, 9))


DIES_WITH_ITS_PARENT = """
import ctypes, os, sys, tempfile
from pathlib import Path
from grader.sandbox.usage_watch import DiskQuota, charge_unlisted
libc, told = ctypes.CDLL(None), ctypes.c_int()
libc.prctl(1, 9, 0, 0, 0)
with tempfile.TemporaryFile() as file:
    file.write(bytes(1 << 20))
    file.flush()
    quota = DiskQuota(2 << 20, 10)
    charge_unlisted(os.getpid(), Path(tempfile.gettempdir()), 0, int(sys.argv[1]), quota)
libc.prctl(2, ctypes.byref(told), 0, 0, 0)
print(told.value, quota.files)
"""


@pytest.mark.process
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells what a process has open")
@pytest.mark.parametrize("user", [0, NOBODY])
def test_a_process_that_inspects_as_another_user_still_dies_with_its_parent(user):
    """A change of user drops the parent-death signal: the judge would outlive its job."""
    if os.geteuid() != 0:
        pytest.skip("only root looks as another user")
    done = subprocess.run(
        [sys.executable, "-c", DIES_WITH_ITS_PARENT, str(user)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split()[0] == "9"


def test_a_folder_that_vanishes_while_counted_takes_no_room(tmp_path):
    """Workers also remove their own files."""
    assert fits(tmp_path / "gone", DiskQuota(0, 0))
