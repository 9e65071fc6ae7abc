"""Files whose access times were closed take no mark from whoever reads them."""

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
    """A folder with a file that nobody read for years; the file system notes when somebody does."""
    inner = tmp_path / "package"
    inner.mkdir()
    (inner / "module.py").write_text("x = 1\n")
    (tmp_path / "link").symlink_to(inner / "module.py")
    aged(inner / "module.py")
    (inner / "module.py").read_text()
    if accessed(inner / "module.py") == LONG_AGO:
        pytest.skip("no access is noted here")
    aged(inner / "module.py")
    return tmp_path


def aged(path):
    os.utime(path, (LONG_AGO, LONG_AGO))


def accessed(path):
    return os.lstat(path).st_atime


def test_a_file_takes_no_mark_afterwards(folder):
    """Its access time is new, and stays as it is when it is read again."""
    file = folder / "package" / "module.py"
    close_access_times([folder])
    closed = os.lstat(file).st_atime_ns
    assert closed > LONG_AGO * 10**9
    file.read_text()
    assert os.lstat(file).st_atime_ns == closed


def test_neither_does_a_file_that_was_read_half_a_day_ago(folder):
    """The kernel would note its next reading tomorrow, in the midst of a batch."""
    file = folder / "package" / "module.py"
    fields = list(os.lstat(file))
    fields[stat.ST_ATIME], fields[stat.ST_CTIME] = int(time.time()) - 13 * 3600, LONG_AGO
    renew(str(file), os.stat_result(fields, {"st_mtime_ns": LONG_AGO * 10**9}))
    closed = os.lstat(file)
    assert closed.st_atime > closed.st_ctime
    assert closed.st_mtime == LONG_AGO
    file.read_text()
    assert os.lstat(file).st_atime_ns == closed.st_atime_ns


def test_neither_does_a_link(folder):
    """To follow its name would be noted as well."""
    close_access_times([folder])
    closed = accessed(folder / "link")
    (folder / "link").read_text()
    assert accessed(folder / "link") == closed


def test_places_inside_one_another_are_read_once(folder):
    """And what is not there is passed over."""
    close_access_times([folder, folder / "package", folder / "absent"])
    assert accessed(folder / "package" / "module.py") > LONG_AGO
