"""Tries each layer of a worker's confinement for real: attempts that must be refused."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from grader.removal import remove
from grader.sandbox.forkserver import ForkServer
from grader.sandbox.forkservers import ForkServers
from grader.sandbox.limits.allowance import Allowance, Patience
from grader.sandbox.replies import opened
from grader.sandbox.scratch import PASSABLE, new_scratch
from grader.sandbox.worker import Worker, WorkerLost
from grader.submission import Submission
from grader.wire.calls import Call

_CANARY = "GRADER_PROBE"
_MEMORY = 256 << 20
_PATIENCE = Patience(30.0, 60.0)
_ATTEMPTS_FILE = Path(__file__).with_name("attempts.py")
# The layer that each attempt of attempts.py tries, and what the attempt is.
_ATTEMPTS: Mapping[str, tuple[str, str]] = {
    "run_read_the_system": ("filesystem", "read /etc/passwd"),
    "run_read_beside": ("filesystem", "read a file beside its own folder"),
    "run_write_elsewhere": ("filesystem", "write into its own source folder"),
    "run_write_scratch": ("scratch", "write into its scratch folder"),
    "run_fork": ("processes", "start a process"),
    "run_execute": ("processes", "execute a program"),
    "run_thread": ("threads", "start a thread"),
    "run_internet": ("network", "open an internet socket"),
    "run_unix": ("network", "open a local socket"),
    "run_signal_parent": ("syscalls", "signal its parent"),
    "run_trace_parent": ("syscalls", "trace its parent"),
    "run_change_mode": ("syscalls", "change a file's mode"),
    "run_environment": ("identity", "find the user's environment"),
    "run_privileges": ("identity", "become another user"),
    "run_memory": ("memory", "take twice its memory"),
}
_WANTED = frozenset({"run_write_scratch", "run_thread"})


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt of a confined process: its layer, what it tried, and whether that ended well.

    Two attempts must succeed (a thread, a file in the scratch folder); all others must be refused.
    """

    layer: str
    what: str
    succeeded: bool
    wanted: bool
    detail: str

    @property
    def ok(self) -> bool:
        """Whether it went as it must."""
        return self.succeeded == self.wanted


@dataclass(frozen=True, slots=True)
class Examination:
    """What each layer came to, as a worker says, and how the attempts went."""

    isolation: Mapping[str, str]
    attempts: tuple[Attempt, ...]

    @property
    def holds(self) -> bool:
        """Whether every layer is there and every attempt went as it must."""
        return "none" not in self.isolation.values() and all(one.ok for one in self.attempts)


def examine_confinement() -> Examination:
    """Confines workers on this machine as a batch does, and has them try to get out.

    Raises:
        ForkServerLost: if no worker can be had.
    """
    scratch = new_scratch()
    os.environ[_CANARY] = "what a worker must not see"
    with _removed(scratch), ForkServers(scratch) as servers:
        isolation: Mapping[str, str] = {}
        attempts = []
        for name in _ATTEMPTS:
            isolation, attempt = _attempt(servers.current(), scratch, name)
            attempts.append(attempt)
    return Examination(isolation, tuple(attempts))


def _attempt(server: ForkServer, scratch: Path, name: str) -> tuple[Mapping[str, str], Attempt]:
    folder = Path(tempfile.mkdtemp(dir=scratch))
    folder.chmod(PASSABLE)
    (folder / "beside.txt").write_text("secret")
    root = folder / "submission"
    root.mkdir()
    (root / "adapters.py").write_bytes(_ATTEMPTS_FILE.read_bytes())
    worker = Worker.in_new_folder(server, folder, Allowance(_MEMORY))
    layer, what = _ATTEMPTS[name]
    try:
        worker.load(Submission("probe", root, "adapters.py", "adapters"), _PATIENCE)
        answer = opened(worker.ask(Call(name, {}), _PATIENCE))
        detail = f"{answer.raised.kind}: {answer.raised.message}" if answer.raised else ""
        succeeded = answer.raised is None and answer.value is True
    except WorkerLost as lost:
        detail, succeeded = lost.message, False
    finally:
        worker.end()
    return worker.isolation, Attempt(layer, what, succeeded, name in _WANTED, detail)


@contextmanager
def _removed(folder: Path) -> Iterator[None]:
    try:
        yield
    finally:
        os.environ.pop(_CANARY, None)
        remove(folder)
