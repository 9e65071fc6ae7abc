"""The judge's end of the fork server: starts it, asks it for workers, has them ended."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.refusal import Refusal

START_SECONDS = 120.0
_ORDER_SECONDS = 20.0
_GREETING = 1 << 16
_ENGINE = Path(__file__).resolve().parents[2]
# What torch and the libraries below it use of the processor.
_INSTRUCTIONS = ("ATEN_CPU_CAPABILITY", "MKL_CBWR", "ONEDNN_MAX_CPU_ISA")
_BOOT = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from grader.worker.forkserver import main; "
    "main(int(sys.argv[2]), sys.argv[4:], sys.argv[3].split())"
)


class ForkServerLost(Refusal):
    """The fork server did not start, or does not obey; the text says which."""


@dataclass(frozen=True, slots=True)
class Spawned:
    """A worker that was forked: its process id, the channel to it, and what it prints."""

    pid: int
    channel: socket.socket
    printed: int


class ForkServer:
    """A warm process without secrets that forks workers; a context manager.

    It is a fresh interpreter that inherits one descriptor and a scrubbed environment. A fork
    server that stops obeying is killed with all that it started. `preload` are modules of installed
    packages that it loads before it forks, `granted` system calls that its workers may make beside
    those that every worker may.
    """

    def __init__(
        self, scratch: Path, preload: Sequence[str] = (), granted: Sequence[str] = ()
    ) -> None:
        self._scratch = scratch
        self.preload = tuple(preload)
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-I", "-c", _BOOT, str(_ENGINE), str(theirs.fileno())),
                    *(" ".join(granted), *preload),
                ],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env=_environment(scratch),
                cwd=scratch,
                start_new_session=True,
            )
        self._starter = os.getpid()
        self._ready = False
        self._user: int | None = None
        self.is_lost = False
        self.not_preloaded: Mapping[str, str] = {}

    def __enter__(self) -> ForkServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def pid(self) -> int:
        """The process id of the fork server, the ancestor of all workers."""
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        """Whether its process is known to have ended; only who started it can know."""
        return self._starter == os.getpid() and self._process.poll() is not None

    def spawn(self) -> Spawned:
        """Forks a worker.

        Raises:
            ForkServerLost: if none came.
        """
        self.wait_until_ready()
        ours, theirs = socket.socketpair()
        printed, output = os.pipe()
        try:
            order = json.dumps({"do": "spawn"}).encode()
            socket.send_fds(self._control, [order], [theirs.fileno(), output])
            return Spawned(int(self._reply()["pid"]), ours, printed)
        except (OSError, KeyError) as error:
            ours.close()
            os.close(printed)
            raise self._lost(f"it forked no worker ({error})") from error
        finally:
            theirs.close()
            os.close(output)

    def end_workers(self) -> dict[int, int]:
        """Kills every process that a worker left; the exit codes by process id.

        Raises:
            ForkServerLost: if it does not say that they are gone.
        """
        try:
            self._control.send(json.dumps({"do": "end"}).encode())
            codes = self._reply()["codes"]
        except (OSError, KeyError) as error:
            raise self._lost(f"it ended no worker ({error})") from error
        return {int(pid): int(code) for pid, code in codes.items()}

    def close(self) -> None:
        """Ends the fork server and all that it started."""
        with contextlib.suppress(ForkServerLost, OSError):
            if self._ready and self._process.poll() is None:
                self.end_workers()
        self._control.close()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        if self._process.stderr is not None:
            self._process.stderr.close()

    def wait_until_ready(self) -> int | None:
        """The user id that its workers will have, if they are to have one of their own.

        Raises:
            ForkServerLost: if it did not start.
        """
        if not self._ready:
            readable, _, _ = select.select([self._control], [], [], START_SECONDS)
            said = self._control.recv(_GREETING) if readable else b""
            if not said:
                raise self._lost("it did not start")
            greeting = json.loads(said)
            self._user, self.not_preloaded = greeting["user"], greeting["not_preloaded"]
            self._ready = True
        return self._user

    def _reply(self) -> dict[str, Any]:
        readable, _, _ = select.select([self._control], [], [], _ORDER_SECONDS)
        data = self._control.recv(1 << 16) if readable else b""
        if not data:
            raise OSError("it does not answer")
        reply: dict[str, Any] = json.loads(data)
        return reply

    def _lost(self, why: str) -> ForkServerLost:
        self.is_lost = True
        self._control.close()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        said = self._process.stderr.read().decode(errors="replace") if self._process.stderr else ""
        last = said.strip().splitlines()[-1:] or ["nothing more is known"]
        return ForkServerLost(f"the fork server was lost: {why}: {last[0]}")


def _environment(scratch: Path) -> dict[str, str]:
    """What a worker may see: nothing of the course's, the grader's or the user's.

    It adds up in the order in which its judge does: whoever holds instructions of the processor
    back holds them back for both.
    """
    one = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    held_back = {name: os.environ[name] for name in _INSTRUCTIONS if name in os.environ}
    return (
        one
        | held_back
        | {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": str(scratch),
            "TMPDIR": str(scratch),
            "LANG": "C.UTF-8",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONHASHSEED": "0",
        }
    )
