"""Another device than the CPU: whether a confined worker can use it, and whose turn it is."""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import torch

from grader.assignment import BadAssignment
from grader.judge.forkserver import ForkServer
from grader.judge.replies import opened
from grader.judge.scratch import PASSABLE
from grader.judge.settings import CPU
from grader.judge.worker import Allowance, Worker, WorkerLost
from grader.submission import Submission
from grader.wire.calls import Call

_TRIAL = "def run_trial(x):\n    return x + x\n"
_MEMORY = 8 << 30
_SECONDS = 120.0


def require_device(server: ForkServer, scratch: Path, device: str) -> None:
    """Has a worker, confined as all are, compute on the device: no student shall find out.

    Raises:
        BadAssignment: if it cannot; the text says why.
        ForkServerLost: if no worker could be had.
    """
    if device == CPU:
        return
    folder = Path(tempfile.mkdtemp(dir=scratch))
    folder.chmod(PASSABLE)
    (folder / "adapters.py").write_text(_TRIAL)
    worker = Worker.in_new_folder(server, scratch, Allowance(_MEMORY, device=device))
    try:
        worker.load(Submission("trial", folder, "adapters.py", "adapters"), _SECONDS)
        call = Call("run_trial", {"x": torch.ones(2)}, device=device)
        answer = opened(worker.ask(call, _SECONDS))
        raised = answer.raised
        why = f"{raised.kind}: {raised.message}" if raised else "another result came back"
        if isinstance(answer.value, torch.Tensor) and answer.value.tolist() == [2.0, 2.0]:
            return
    except WorkerLost as lost:
        why = lost.message
    finally:
        worker.end()
    raise BadAssignment(
        f"--device {device}: a worker on this machine cannot use it ({' '.join(why.split())}): "
        f"grade with --device {CPU}, or where torch {torch.__version__} finds such a device"
    )


@contextlib.contextmanager
def turn_on(device: str) -> Iterator[None]:
    """Waits until no other judge of this user on this machine has a worker on the device."""
    if device == CPU:
        yield
        return
    name = f"grader-{os.getuid()}-{device.replace(':', '-')}.lock"
    with (Path(tempfile.gettempdir()) / name).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
