"""Access times of files: once closed, they do not change when a file is read."""

import os
import stat
import sys
import time

import pytest

from grader.worker.confinement.layers import close_access_times, renew

pytestmark = [
    pytest.mark.unit,
    pytest.mark.skipif(sys.platform != "linux", reason="Linux notes accesses sparingly"),
]

LONG_AGO = 1_000_000_000


@pytest.fixture
def folder(tmp_path):
    """A folder with a file that was last read years ago, where the file system notes reads."""
    inner = tmp_path / "package"
    inner.mkdir()
    (inner / "module.py").write_text("x = 1\n")
    (tmp_path / "link").symlink_to(inner / "module.py")
    set_old_access_time(inner / "module.py")
    (inner / "module.py").read_text()
    if access_time(inner / "module.py") == LONG_AGO:
        pytest.skip("no access is noted here")
    set_old_access_time(inner / "module.py")
    return tmp_path


def set_old_access_time(path):
    os.utime(path, (LONG_AGO, LONG_AGO))


def access_time(path):
    return os.lstat(path).st_atime


def test_reading_a_file_does_not_change_its_closed_access_time(folder):
    """Its access time is recent, and stays the same when the file is read again."""
    file = folder / "package" / "module.py"
    close_access_times([folder])
    closed = os.lstat(file).st_atime_ns
    assert closed > LONG_AGO * 10**9
    file.read_text()
    assert os.lstat(file).st_atime_ns == closed


def test_a_file_read_half_a_day_ago_keeps_its_closed_access_time(folder):
    """Otherwise the kernel would note its next read tomorrow, in the middle of a batch."""
    file = folder / "package" / "module.py"
    fields = list(os.lstat(file))
    fields[stat.ST_ATIME], fields[stat.ST_CTIME] = int(time.time()) - 13 * 3600, LONG_AGO
    renew(str(file), os.stat_result(fields, {"st_mtime_ns": LONG_AGO * 10**9}))
    closed = os.lstat(file)
    assert closed.st_atime > closed.st_ctime
    assert closed.st_mtime == LONG_AGO
    file.read_text()
    assert os.lstat(file).st_atime_ns == closed.st_atime_ns


def test_following_a_link_does_not_change_its_closed_access_time(folder):
    """The kernel also notes when it follows a link."""
    close_access_times([folder])
    closed = access_time(folder / "link")
    (folder / "link").read_text()
    assert access_time(folder / "link") == closed


def test_nested_and_missing_places_may_be_closed_together(folder):
    """Missing places are skipped."""
    close_access_times([folder, folder / "package", folder / "absent"])
    assert access_time(folder / "package" / "module.py") > LONG_AGO
