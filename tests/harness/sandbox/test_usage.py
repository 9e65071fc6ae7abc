"""The time, memory and disk that a worker used, and the limits that they are compared with."""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from grader.core.processes import Allowance
from grader.sandbox import limits
from grader.sandbox.limits import Clock, Exceeded, Late, Patience, Taken
from grader.sandbox.usage_watch import (
    DiskQuota,
    Usage,
    UsageWatch,
    charge_unlisted,
    fits,
    out_of_memory,
    process_tree,
)

pytestmark = [
    pytest.mark.unit,
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux reports what a process uses"),
]

MB = 1 << 20


@pytest.mark.parametrize(
    ("taken", "own"),
    [
        (Taken(3.0, 1.0, 0.5), 2.5),
        (Taken(3.0, 2.9, 0.5), 2.9),
        (Taken(3.0, 0.0, 3.0), 0.0),
        (Taken(1.0, 4.0, 0.0), 4.0),
    ],
)
def test_waiting_for_a_processor_is_not_the_workers_time(taken, own):
    assert taken.own == own


def test_reading_an_answer_costs_four_times_its_seconds():
    assert Taken(3.0, 1.0, 0.5).with_reading(0.5) == Taken(3.5, 4.5, 0.5)


@pytest.mark.parametrize(
    ("taken", "says"),
    [
        (Taken(1.0, 1.0, 0.0), None),
        (Taken(2.0, 2.0, 0.0), None),
        (Taken(1.0, 2.1, 0.0), "2 seconds of processor time"),
        (Taken(2.1, 0.0, 0.0), "2 seconds"),
        (Taken(8.0, 1.0, 7.0), None),
        (Taken(8.1, 1.0, 7.0), "8 seconds by the clock"),
    ],
)
def test_a_late_worker_is_told_which_limit_it_exceeded(taken, says):
    if says is None:
        Patience(2.0, 8.0).check(taken)
    else:
        with pytest.raises(Late) as late:
            Patience(2.0, 8.0).check(taken)
        assert str(late.value) == says


class Kernel:
    """Times as the kernel tells them: by the clock, on a processor, and waiting for one."""

    def __init__(self) -> None:
        self.now, self.processor, self.delays = 100.0, 5.0, [1.0, 2.0]
        self.has_ended = False

    def monotonic(self) -> float:
        """Returns the time by the clock."""
        return self.now

    def clock_gettime(self, _clock: int) -> float:
        """Returns the processor time of the watched process."""
        if self.has_ended:
            raise ProcessLookupError
        return self.processor

    def delayed(self, descriptor: int) -> float:
        """Returns the time in which the watched process (0) or the judge (1) waited."""
        return self.delays[descriptor]

    def go_on(
        self, wall: float, processor: float, waiting: float = 0.0, of_judge: float = 0.0
    ) -> None:
        """Lets some time pass."""
        self.now += wall
        self.processor += processor
        self.delays = [self.delays[0] + waiting, self.delays[1] + of_judge]


@pytest.fixture
def kernel(monkeypatch) -> Kernel:
    """The kernel that clocks ask."""
    own = Kernel()
    monkeypatch.setattr(limits, "time", own)
    monkeypatch.setattr(limits, "_delayed", own.delayed)
    descriptors = iter([0, 1])
    monkeypatch.setattr(limits, "_opened", lambda _file: next(descriptors))
    return own


def rounded(taken: Taken) -> tuple[float, float, float]:
    return round(taken.wall, 6), round(taken.processor, 6), round(taken.waiting, 6)


def test_a_clock_measures_from_its_start(kernel):
    """Both the worker and its judge may wait for a processor."""
    clock = Clock(7)
    kernel.go_on(3.0, 1.0, 1.0, 1.0)
    clock.stop()
    clock.start()
    kernel.go_on(0.2, 0.15, 0.03, 0.01)
    assert rounded(clock.taken()) == (0.2, 0.15, 0.04)
    kernel.go_on(0.2, 0.05, 5.0)
    assert rounded(clock.stop()) == (0.4, 0.2, 0.4)
    clock.start()
    kernel.go_on(0.1, 0.1)
    assert rounded(clock.stop()) == (0.1, 0.1, 0.0)


def test_a_clock_leaves_out_the_time_in_which_the_judge_was_stopped(kernel):
    """Nobody computes in a container that is paused."""
    clock = Clock(7)
    kernel.go_on(30.0, 0.3)
    clock.leave_out(29.5)
    assert rounded(clock.taken()) == (0.5, 0.3, 0.0)
    assert rounded(clock.stop()) == (0.5, 0.3, 0.0)


def test_the_time_of_short_answers_is_not_counted_twice(kernel):
    """The kernel is asked only after longer ones, and then tells all time since."""
    clock = Clock(7)
    for _ in range(2):
        clock.start()
        kernel.go_on(0.02, 0.02)
        assert rounded(clock.stop()) == (0.02, 0.02, 0.0)
    clock.start()
    kernel.go_on(0.1, 0.08)
    assert rounded(clock.taken()) == (0.1, 0.08, 0.0)
    assert rounded(clock.stop()) == (0.1, 0.08, 0.0)
    clock.start()
    kernel.go_on(0.1, 0.03)
    assert rounded(clock.stop()) == (0.1, 0.03, 0.0)
    clock.start()
    kernel.go_on(0.04, 0.0)
    clock.stop()
    clock.start()
    kernel.go_on(0.06, 0.01)
    assert rounded(clock.stop()) == (0.06, 0.0, 0.0)


def test_a_process_that_has_ended_keeps_its_last_times(kernel):
    clock = Clock(7)
    kernel.has_ended = True
    clock.start()
    kernel.go_on(0.2, 0.1, 0.1, 0.05)
    assert rounded(clock.stop()) == (0.2, 0.0, 0.05)


def test_a_clock_reads_the_kernels_files_until_it_is_closed():
    clock = Clock(os.getpid())
    assert clock._processor > 0
    descriptors = clock._its_statistics, clock._own_statistics
    assert all(limits._delayed(one) >= 0 for one in descriptors)
    clock.close()
    assert (clock._its_statistics, clock._own_statistics) == (-1, -1)
    clock.close()
    for one in descriptors:
        with pytest.raises(OSError, match="Bad file"):
            os.fstat(one)
    assert limits._opened("/proc/absent") == -1


def test_the_waiting_time_of_a_thread_is_the_second_number(tmp_path):
    """The kernel tells nanoseconds."""
    for text, seconds in (("5 2500000000 7\n", 2.5), ("5\n", 0.0), ("a b\n", 0.0), ("", 0.0)):
        (tmp_path / "schedstat").write_text(text)
        descriptor = limits._opened(str(tmp_path / "schedstat"))
        assert limits._delayed(descriptor) == seconds
        os.close(descriptor)
    assert limits._delayed(-1) == 0.0


# --- Memory and threads --------------------------------------------------------------------------


def test_the_usage_of_processes_is_summed_and_an_ended_one_has_none():
    here = os.getpid()
    one, two = Usage.of([here]), Usage.of([here, here, 2**22 - 1])
    assert one.threads >= 1
    assert one.memory > MB
    assert two.threads == 2 * one.threads
    assert 0.9 < two.memory / one.memory / 2 < 1.1
    assert Usage.of([]) == Usage(0, 0)


def test_memory_is_counted_in_bytes():
    before = Usage.of([os.getpid()]).memory
    # New pages of the kernel's: an allocator may have free memory left.
    with mmap.mmap(-1, 32 * MB, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as held:
        held.write(bytes(32 * MB))
        assert 28 * MB < Usage.of([os.getpid()]).memory - before < 96 * MB


def test_a_process_without_children_is_a_tree_of_one():
    assert process_tree(2**22 - 1) == [2**22 - 1]
    assert process_tree(os.getpid())[0] == os.getpid()


def watch(scratch: Path, **limits: int) -> UsageWatch:
    """Returns a watch over this process."""
    own = UsageWatch(os.getpid(), None, scratch, Allowance(**({"memory": 1 << 40} | limits)))
    own.is_alone = True
    return own


def test_a_worker_that_holds_too_much_memory_is_noticed(tmp_path):
    """Memory that it had before does not count."""
    one = watch(tmp_path, memory=16 * MB)
    one.look()
    held = bytearray(os.urandom(MB) * 32)
    assert 28 * MB < one.held < 64 * MB
    with pytest.raises(Exceeded) as exceeded:
        one.look()
    assert str(exceeded.value) == str(out_of_memory(Allowance(16 * MB)))
    assert str(exceeded.value) == "it used more than its limit of 16 MB of memory"
    one.kept = {"memory"}
    one.look()
    del held


def test_a_worker_with_too_many_threads_is_noticed(tmp_path):
    now = Usage.of([os.getpid()]).threads
    one, leave = watch(tmp_path, threads=now), threading.Event()
    one.look()
    thread = threading.Thread(target=leave.wait)
    thread.start()
    try:
        with pytest.raises(Exceeded, match=f"more than its limit of {now} threads"):
            one.look()
        one.kept = {"threads"}
        one.look()
    finally:
        leave.set()
        thread.join()


# --- Disk ----------------------------------------------------------------------------------------


def filled(folder: Path, **sizes: int) -> Path:
    folder.mkdir(exist_ok=True)
    for name, size in sizes.items():
        (folder / name).write_bytes(b"x" * size)
    return folder


def test_a_worker_that_writes_too_much_is_noticed(tmp_path):
    """The disk is looked at less often than the memory."""
    filled(tmp_path, one=MB)
    for bounds, fault in (
        ({"disk": 2 * MB}, False),
        ({"disk": MB // 2}, True),
        ({"files": 0}, True),
    ):
        one = watch(tmp_path, **bounds)
        if fault:
            with pytest.raises(Exceeded, match=r"MB or \d+ files, or in folders that cannot"):
                one.look()
            one.look()
            one._looked_at_disk = 0.0
            one.kept = {"disk"}
        one.look()


@pytest.mark.parametrize(
    ("files", "size", "is_enough"), [(3, 2, True), (2, 2, False), (3, 1, False)]
)
def test_files_and_bytes_below_a_folder_are_counted(tmp_path, files, size, is_enough):
    """An inner folder counts as a name too; its files are counted as well."""
    folder = filled(tmp_path / "scratch", one=MB)
    filled(folder / "inner", two=MB - 8192)
    assert fits(folder, DiskQuota(size * MB + 8192, files)) is is_enough


def test_a_file_with_two_names_counts_its_bytes_once(tmp_path):
    folder = filled(tmp_path / "scratch", one=MB)
    os.link(folder / "one", folder / "two")
    assert fits(folder, DiskQuota(MB + 8192, 2))
    assert not fits(folder, DiskQuota(MB + 8192, 1))


def test_folders_too_deep_to_be_counted_do_not_fit(tmp_path):
    deep = tmp_path
    for _ in range(100):
        deep /= "d"
    deep.mkdir(parents=True)
    assert fits(tmp_path, DiskQuota(1 << 30, 1000))
    (deep / "d").mkdir()
    assert not fits(tmp_path, DiskQuota(1 << 30, 1000))


def test_an_absent_folder_fits_and_an_unreadable_one_does_not(tmp_path):
    assert fits(tmp_path / "absent", DiskQuota(0, 0))
    (tmp_path / "file").write_text("")
    assert not fits(tmp_path / "file", DiskQuota(1 << 30, 1000))


def test_exactly_as_much_as_allowed_fits():
    assert DiskQuota(0, 0).is_kept
    assert not DiskQuota(-1, 0).is_kept
    assert not DiskQuota(0, -1).is_kept


def unlisted(folder: Path) -> tuple[int, int]:
    """Returns the names and the bytes that this process holds without a name."""
    quota = DiskQuota(100 * MB, 100)
    charge_unlisted(os.getpid(), folder, 7 * MB, None, quota)
    return 100 - quota.files, 100 * MB - quota.size


def test_open_and_mapped_files_without_a_name_count(tmp_path):
    """The size of a file that is only mapped is unknown: it counts as the largest."""
    names, size = unlisted(tmp_path)
    with tempfile.TemporaryFile(dir=tmp_path) as unnamed:
        unnamed.write(b"x" * MB)
        unnamed.flush()
        os.fsync(unnamed.fileno())
        now = unlisted(tmp_path)
        assert now[0] == names + 1
        assert MB <= now[1] - size <= MB + 8192
    for name in "ab":
        (tmp_path / name).write_bytes(b"x" * MB)
    held = [mapped(tmp_path / name) for name in "ab"]
    (tmp_path / "a").unlink()
    assert unlisted(tmp_path) == (names, size + 7 * MB)
    assert unlisted(tmp_path / "elsewhere") == (names, size)
    for address in held:
        ctypes.CDLL(None).munmap(ctypes.c_void_p(address), ctypes.c_size_t(4096))
    assert unlisted(tmp_path) == (names, size)


def mapped(file: Path) -> int:
    """Maps a file and closes its descriptor, which Python's own mappings keep open."""
    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    with file.open("rb") as opened:
        place = ctypes.c_size_t(4096), mmap.PROT_READ, mmap.MAP_SHARED, opened.fileno()
        return int(libc.mmap(None, *place, ctypes.c_long(0)))
