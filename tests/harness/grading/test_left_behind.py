"""After a batch, however it ended, no process, file, mount or control group is left."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.harness.conftest import ROOT
from tests.harness.hostile import traces
from tests.harness.hostile.ranks import Rank, rank
from tests.harness.marks import rest_slow
from tests.harness.waiting import until

pytestmark = pytest.mark.process

RANKS = ("root", "an ordinary user", "root of a container without rights")
OWN_RANK = RANKS[0] if os.geteuid() == 0 else RANKS[1]
THREADS = 25
# A user id that nobody else has: some samples act on all processes of their user.
USER = 64_000 + os.getpid() % 1000
JOB = b"grader.grading.job.process"
ZYGOTE = b"grader.worker.zygote"

# Holds memory, an unlinked file, descriptors and threads, ignores all signals, and waits.
HOLDER = """
import contextlib, ctypes, mmap, os, signal, socket, tempfile, threading, time

libc, kept, here = ctypes.CDLL(None), [], tempfile.gettempdir()

@contextlib.contextmanager
def trying():
    with contextlib.suppress(OSError, RuntimeError, MemoryError):
        yield

for number in range(1, 65):
    with trying():
        signal.signal(number, signal.SIG_IGN)
with trying():
    libc.prctl(ctypes.c_ulong(1 << 32 | 1), ctypes.c_ulong(0), 0, 0, 0)  # of its parent's death
    libc.prctl(1, 0, 0, 0, 0)
with trying():
    kept.append(mmap.mmap(-1, 64 << 20, mmap.MAP_SHARED | mmap.MAP_ANONYMOUS))
    kept[-1].write(bytes(64 << 20))
with trying():
    kept.append(open(os.path.join(here, "unlinked"), "wb", buffering=0))
    os.unlink(kept[-1].name)
    kept[-1].write(bytes(16 << 20))
with trying():
    kept += socket.socketpair()
    socket.send_fds(kept[-1], [b"!"], [kept[-3].fileno()])
for pid in {0, os.getppid()}:
    with trying():
        os.setpriority(os.PRIO_PROCESS, pid, 19)
with trying():
    os.setpriority(os.PRIO_PGRP, os.getpgid(os.getppid()), 19)
with trying():
    if os.getuid() != 0:  # root has other processes on this machine
        os.setpriority(os.PRIO_USER, 0, 19)
threading.stack_size(64 << 10)
for _ in range(30):
    with trying():
        threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
time.sleep(1000)
"""


# Right in every exercise, but each call leaves folders without permissions or with long paths.
LEAVER = """
import os, tempfile

def run_double(x):
    return x + x

def run_count(x):
    os.umask(0)
    top = tempfile.mkdtemp()
    for mode in (0o000, 0o100, 0o300):
        os.mkdir(os.path.join(top, f"closed-{mode}"), mode)
        os.mkdir(os.path.join(top, f"inner-{mode}"))
        os.mkdir(os.path.join(top, f"inner-{mode}", "closed"), mode)
    below = os.open(top, os.O_RDONLY)
    for _ in range(40):
        os.mkdir("d" * 255, dir_fd=below)
        below = os.open("d" * 255, os.O_RDONLY, dir_fd=below)
    return x.numel()
"""


@dataclass
class Batch:
    """A batch of hostile and honest submissions with its own temporary folder."""

    rank: Rank
    process: subprocess.Popen[bytes]
    root: Path
    seen: set[int] = field(default_factory=set)
    lowered: set[str] = field(default_factory=set)

    def look(self) -> list[int]:
        """Returns the live processes; records them, and the grader's lowered priorities."""
        alive = [self.process.pid, *traces.descendants(self.process.pid)]
        self.seen |= set(alive)
        for pid in alive:
            with contextlib.suppress(OSError):
                niceness = os.getpriority(os.PRIO_PROCESS, pid)
                if niceness > os.getpriority(os.PRIO_PROCESS, 0) and not _is_worker(pid):
                    self.lowered.add(f"process {pid} to {niceness}: {_said(pid, 'cmdline')[:80]!r}")
        return alive

    def holding(self) -> list[int]:
        """Returns the workers that hold everything they tried to take."""
        below = traces.descendants(self.process.pid)
        return [pid for pid in below if _is_worker(pid) and _field(pid, b"Threads") >= THREADS]

    def is_over(self) -> bool:
        """Returns whether the batch has ended, after one more look at its processes."""
        self.look()
        return self.process.poll() is not None

    def judges(self) -> list[int]:
        """Returns the jobs' child processes, which grade."""
        jobs = [
            pid
            for pid in traces.descendants(self.process.pid)
            if JOB in _said(pid, "cmdline").replace(b"\0", b" ")
        ]
        return [pid for pid in jobs if {_parent(pid), _parent(_parent(pid))} <= set(jobs)]

    def left(self) -> list[str]:
        """Returns everything that the batch left on the machine."""
        return [
            *(f"process {pid} is alive" for pid in self.seen if _is_alive(pid)),
            *traces.processes_of(self.root),
            *traces.mounts_of(self.root / "tmp"),
            *traces.groups_of(self.seen),
            *(f"{path.name} in the temporary folder" for path in (self.root / "tmp").iterdir()),
        ]


@pytest.fixture(params=rest_slow(RANKS, [OWN_RANK]))
def batch(request: pytest.FixtureRequest, tiny: Path) -> Iterator[Callable[[int], Batch]]:
    """Starts a batch with a limit in seconds; waits until two workers hold everything."""
    root = Path(tempfile.mkdtemp(prefix="left-behind-"))
    root.chmod(0o755)
    started: list[Batch] = []

    def start(seconds: int) -> Batch:
        own = rank(request.param, root, USER)
        started.append(_start(root, tiny, own, seconds))
        until(lambda: started[0].is_over() or len(started[0].holding()) >= 2, "two hold all")
        said = (root / "said").read_text()[-2000:]
        assert started[0].process.poll() is None, f"nothing was held: {said}"
        return started[0]

    try:
        with traces.adopting_orphans():
            try:
                yield start
            finally:
                for one in started:
                    _end(one)
    finally:
        shutil.rmtree(root, ignore_errors=True)


def test_a_batch_leaves_nothing_behind(batch):
    """The batch ends by itself, after it killed some workers."""
    running = batch(4)
    until(running.is_over, "the batch has ended")
    assert not _soon(running.left)
    assert not running.lowered


@pytest.mark.slow
def test_a_killed_coordinator_leaves_nothing_behind(batch):
    """A command that gets `kill -9` cannot tell its other processes to end."""
    running = batch(60)
    running.process.kill()
    running.process.wait()
    assert not _soon(running.left)


def test_a_killed_judge_leaves_nothing_behind(batch):
    """All judges get `kill -9`, as on a machine without free memory, and the batch goes on."""
    running = batch(4)
    held, judges = running.holding(), running.judges()
    assert judges
    for pid in judges:
        os.kill(pid, signal.SIGKILL)
    assert not _soon(lambda: [pid for pid in [*held, *judges] if _is_alive(pid)])
    until(running.is_over, "the batch has ended")
    assert not _soon(running.left)
    assert not running.lowered


@pytest.mark.slow
def test_a_killed_fork_server_leaves_nothing_behind(batch):
    """Workers die with their fork server, and the batch goes on with a new one."""
    running = batch(4)
    held = running.holding()
    for pid in {_parent(pid) for pid in held}:
        os.kill(pid, signal.SIGKILL)
    assert not _soon(lambda: [pid for pid in held if _is_alive(pid)])
    until(running.is_over, "the batch has ended")
    assert not _soon(running.left)


def _start(root: Path, tiny: Path, rank: Rank, seconds: int) -> Batch:
    shutil.copytree(tiny, root / "course", ignore=shutil.ignore_patterns("__pycache__"))
    for name, text in {"a-holder": HOLDER, "b-holder": HOLDER, "c-leaver": LEAVER}.items():
        (root / "handed-in" / name).mkdir(parents=True)
        (root / "handed-in" / name / "adapters.py").write_text(text)
    for name in ("tmp", "home"):
        (root / name).mkdir()
    if rank.owner is not None:
        for path in [root, *root.rglob("*")]:
            os.lchown(path, rank.owner, rank.owner)
    command = [
        *(*rank.prefix, sys.executable, "-m", "grader", "batch", str(root / "handed-in")),
        *("--out", str(root / "out"), "--assignment", str(root / "course"), "--jobs", "2"),
        *("--timeout", str(seconds), "--memory", "512", "--no-explain"),
    ]
    own = {"HOME": str(root / "home"), "TMPDIR": str(root / "tmp"), "PYTHONPATH": str(ROOT)}
    with (root / "said").open("wb") as said:
        process = subprocess.Popen(
            command,
            cwd=root / "course",
            env=os.environ | own | {"PYTHONDONTWRITEBYTECODE": "1"},
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    return Batch(rank, process, root)


def _end(batch: Batch) -> None:
    """Kills what a failed test would leave running, but only processes of the batch."""
    for pid in [batch.process.pid, *batch.seen]:
        if pid == batch.process.pid or _is_of(pid, batch.root):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    batch.process.wait()


def _soon(found: Callable[[], list[str]] | Callable[[], list[int]]) -> list[str] | list[int]:
    """Returns what `found` still finds after a while, or nothing as soon as it finds nothing."""
    with contextlib.suppress(pytest.fail.Exception):
        until(lambda: not found(), "nothing is found")
    return found()


def _said(pid: int, name: str) -> bytes:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/{name}").read_bytes()
    return b""


def _field(pid: int, name: bytes) -> int:
    """Returns a number from a process's status file, or 0 if the process is gone."""
    for line in _said(pid, "status").splitlines():
        if line.startswith(name + b":"):
            return int(line.split()[1])
    return 0


def _parent(pid: int) -> int:
    return _field(pid, b"PPid")


def _is_worker(pid: int) -> bool:
    """Returns whether a process was forked from a fork server, or is about to end."""
    line = [pid]
    while len(line) < 4:  # its fork server, the fork server's reaper, the zygote
        line.append(_parent(line[-1]))
    said = [_said(one, "cmdline") for one in line]
    return not said[0] or all(ZYGOTE in one for one in said)


def _is_alive(pid: int) -> bool:
    status = _said(pid, "status")
    return bool(status) and b"State:\tZ" not in status


def _is_of(pid: int, root: Path) -> bool:
    """Returns whether a process belongs to the batch, because process ids are reused."""
    told = _said(pid, "environ") + _said(pid, "cmdline")
    return os.fsencode(root) in told
