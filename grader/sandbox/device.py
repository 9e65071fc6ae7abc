"""Another device than the CPU: whether a confined worker can use it, and whose turn it is."""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import torch

from grader.core.assignment import CPU, BadAssignment
from grader.core.replies import opened
from grader.core.scratch import PASSABLE
from grader.core.submission import Submission
from grader.core.wire.calls import Call
from grader.sandbox.fork_server import ForkServer, ForkServerLost
from grader.sandbox.limits import Allowance, Patience
from grader.sandbox.worker import Worker, WorkerLost

_TRIAL = "def run_trial(x):\n    return x + x\n"
_MEMORY = 8 << 30
_PATIENCE = Patience(120.0, 240.0)


def require_device(server: ForkServer, scratch: Path, device: str) -> None:
    """Has a worker, confined as all are, compute on the device: no student shall find out.

    Raises:
        BadAssignment: if it cannot, or no worker could be had; the text says why.
    """
    if device == CPU:
        return
    try:
        why = _tried(server, scratch, device)
    except (WorkerLost, ForkServerLost) as lost:
        why = str(lost)
    if why:
        raise BadAssignment(
            f"--device {device}: a worker on this machine cannot use it ({' '.join(why.split())}): "
            f"grade with --device {CPU}, or where torch {torch.__version__} finds such a device"
        )


def _tried(server: ForkServer, scratch: Path, device: str) -> str:
    """Returns why a worker could not compute on the device; nothing if it could."""
    folder = Path(tempfile.mkdtemp(dir=scratch))
    folder.chmod(PASSABLE)
    (folder / "adapters.py").write_text(_TRIAL)
    worker = Worker.in_new_folder(server, scratch, Allowance(_MEMORY, device=device))
    with contextlib.ExitStack() as ending:
        ending.callback(worker.end)
        worker.load(Submission("trial", folder, "adapters.py", "adapters"), _PATIENCE)
        call = Call("run_trial", {"x": torch.ones(2)}, device=device)
        answer = opened(worker.ask(call, _PATIENCE))
    if answer.raised is not None:
        return f"{answer.raised.kind}: {answer.raised.message}"
    is_right = isinstance(answer.value, torch.Tensor) and answer.value.tolist() == [2.0, 2.0]
    return "" if is_right else "another result came back"


@contextlib.contextmanager
def turn_on(device: str) -> Iterator[None]:
    """Waits until no other judge of this user on this machine has a worker on the device.

    Raises:
        ForkServerLost: if that cannot be known: no worker is to be had then.
    """
    if device == CPU:
        yield
        return
    # Others write to that folder too: what they put in the place of the lock is not followed.
    place = Path(tempfile.gettempdir()) / f"grader.{os.getuid()}.{device.replace(':', '-')}.lock"
    try:
        lock = os.open(place, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        why = f"{place} cannot be opened ({error.strerror}): remove it"
        raise ForkServerLost(f"nobody knows whose turn it is on {device}: {why}") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)
