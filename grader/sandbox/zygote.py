"""The grader's end of the zygote: the warm process without secrets that forks fork servers."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from grader.core.folders import make_scratch, remove_scratch
from grader.sandbox.cgroups import Ground

_SECONDS_TO_END = 10.0
_STDERR_KEPT = 1 << 12
_ENGINE = Path(__file__).resolve().parents[2]
# Variables that restrict which processor instructions torch and its libraries use.
_INSTRUCTIONS = ("ATEN_CPU_CAPABILITY", "MKL_CBWR", "ONEDNN_MAX_CPU_ISA")
_FLAGS = ("-s", "-P", "-B")
_BOOT = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from grader.worker.zygote import main; main(sys.argv[2])"
)


class Zygote:
    """A fresh interpreter that inherits one descriptor and a scrubbed environment, and loads torch.

    `ground` is where fork servers make their control groups. Forks of the process that started the
    zygote may ask it as well. When all these processes are gone, the zygote removes the ground and
    ends. Its home lies below `temporary`, by default the folder for temporary files.
    """

    def __init__(self, ground: Ground | None = None, temporary: Path | None = None) -> None:
        self.preload: tuple[str, ...] = ()
        self.granted: tuple[str, ...] = ()
        self.leaves_no_marks = False
        self.ground = ground
        self._started_by = os.getpid()
        self._is_asked = False
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.temporary = temporary or Path(tempfile.gettempdir())
        self._home = home = make_scratch(self.temporary)
        order = {
            "control": theirs.fileno(),
            "home": os.fspath(home),
            "groups": [os.fspath(folder) for folder in ground.folders] if ground else [],
        }
        with theirs:
            self._process = subprocess.Popen(
                # Not -I, which would ignore PYTHONHASHSEED: sets have one order in every worker.
                [sys.executable, *_FLAGS, "-c", _BOOT, str(_ENGINE), json.dumps(order)],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env=_environment(home),
                cwd=home,
                start_new_session=True,
            )

    def warm_up(
        self,
        preload: Sequence[str] = (),
        granted: Sequence[str] = (),
        submissions: int = 1,
        leaves_no_marks: bool = False,
    ) -> None:
        """Has the zygote load the modules that workers need, for about so many `submissions`.

        `preload` are modules of installed packages, `granted` system calls that workers may make
        in addition to the usual ones. If it `leaves_no_marks`, fork servers renew access times of
        files, so that reading leaves no trace for workers without a file tree of their own.
        """
        self.preload, self.granted = tuple(preload), tuple(granted)
        self.leaves_no_marks = leaves_no_marks
        order = {
            "preload": self.preload,
            "granted": self.granted,
            "several": submissions > 1,
        }
        with contextlib.suppress(OSError):  # it has ended: the next fork server fails to start
            self._control.send(json.dumps(order).encode())

    @property
    def has_ended(self) -> bool:
        """Returns whether the zygote has ended."""
        return hung_up(self._control)

    def fork(self, order: Mapping[str, Any], descriptors: Sequence[int]) -> None:
        """Orders a fork server; if the zygote has ended, the fork server's channel is closed."""
        self._is_asked = True
        with contextlib.suppress(OSError):
            socket.send_fds(self._control, [json.dumps(order).encode()], descriptors)

    def stderr(self) -> str:
        """Returns the end of its stderr so far."""
        stream = self._process.stderr
        return end_of_output(stream.fileno(), 0)[0] if stream is not None else ""

    def close_own(self) -> None:
        """Closes the channel, and ends the zygote if this very process started it."""
        self._control.close()
        if self._started_by != os.getpid():
            return
        if not self._is_asked:  # without an order, it need not finish warming up
            self._process.terminate()
        try:
            self._process.wait(_SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        if self._process.stderr is not None:
            self._process.stderr.close()
        remove_scratch(self._home)


def hung_up(channel: socket.socket) -> bool:
    """Returns whether the other end of a channel is closed."""
    poll = select.poll()
    poll.register(channel, 0)
    return bool(poll.poll(0))


def end_of_output(pipe: int, seconds: float) -> tuple[str, bool]:
    """Returns the end of the output that comes in some seconds, and whether the pipe was closed."""
    said, deadline = b"", time.monotonic() + seconds
    while select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))[0]:
        piece = os.read(pipe, 1 << 16)
        if not piece:
            return said.decode(errors="replace"), True
        said = (said + piece)[-_STDERR_KEPT:]
    return said.decode(errors="replace"), False


def _environment(home: Path) -> dict[str, str]:
    """Returns the environment of a worker: nothing of the course's, the grader's or the user's.

    Restrictions of processor instructions are kept, so that a worker adds up in the same order as
    its judge.
    """
    threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    instructions = {name: os.environ[name] for name in _INSTRUCTIONS if name in os.environ}
    return (
        threads
        | instructions
        | {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "USER": "student",  # the worker's user id may have no name
            "HOME": str(home),
            "TMPDIR": str(home),
            "LANG": "C.UTF-8",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONHASHSEED": "0",
        }
    )
