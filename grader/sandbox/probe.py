"""Tries each layer of confinement for real: attempts that must be refused or stopped."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from grader.core.folders import PASSABLE, new_scratch, removed_afterwards
from grader.core.processes import Allowance
from grader.core.submission import Submission
from grader.core.wire.calls import Call
from grader.sandbox.fork_server import ForkServer, ForkServers, warm_zygote
from grader.sandbox.limits import Patience
from grader.sandbox.worker import Worker, WorkerLost

_MEGABYTE = 1 << 20
ALLOWED = Allowance(256 * _MEGABYTE, disk=48 * _MEGABYTE, files=500, cpu_seconds=4)
# Twice what is allowed, plus what measuring may miss.
TOO_MUCH_MEMORY = 2 * ALLOWED.memory + 64 * _MEGABYTE
TOO_MUCH_DISK = 2 * ALLOWED.disk + 32 * _MEGABYTE
_TOO_MANY_THREADS, _TOO_MANY_SECONDS = 1000, 12
_PATIENCE = Patience(30.0, 90.0)
_TAKING = "taking"  # the module of attempts to take too much; the others are in `reaching`


@dataclass(frozen=True, slots=True)
class ProbeTrial:
    """An attempt to be made: the layer that it tries, its description, its adapter and module.

    `most` is the amount that would be too much. `needs` is the namespace without which no refusal
    is promised. An attempt that is `wanted` must succeed; `patience` is its time limit.
    """

    layer: str
    what: str
    adapter: str
    module: str = "reaching"
    most: int | None = None
    needs: str = ""
    wanted: bool = False
    patience: Patience = _PATIENCE


def _each(
    layer: str, most: int | None = None, needs: str = "", **attempts: str
) -> list[ProbeTrial]:
    """Returns a trial for each keyword: the adapter's name without `run_`, and a description."""
    module = "reaching" if most is None else _TAKING
    return [
        ProbeTrial(layer, what, f"run_{name}", module, most, needs)
        for name, what in attempts.items()
    ]


# One or two for each layer that a machine may lack; further ways to try a layer are in
# `tests/harness/sandbox/attempts`.
TRIALS = (
    ProbeTrial("filesystem", "read /etc/passwd", "run_read_the_system"),
    ProbeTrial("filesystem", "read a file beside its own folder", "run_read_beside"),
    ProbeTrial("filesystem", "write into its own source folder", "run_write_elsewhere"),
    ProbeTrial("scratch", "write into its scratch folder", "run_write_scratch", wanted=True),
    *_each("processes", fork="start a process", execute="execute a program"),
    *_each("network", internet="open an internet socket", unix="open a local socket"),
    # Users already keep a process from another's signals; only the filter refuses a watch.
    *_each(
        "syscalls",
        signal_parent="signal its parent",
        watch="watch a shared folder (inotify)",
    ),
    *_each("identity", environment="find the user's environment", privileges="become another user"),
    *_each(
        "namespaces", needs="files", size_of_a_file_elsewhere="ask the size of a file elsewhere"
    ),
    *_each("namespaces", needs="process ids", other_processes="find other processes by number"),
    *_each("memory", TOO_MUCH_MEMORY, memory="take twice its memory"),
    *_each("disk", TOO_MUCH_DISK, disk="write twice what it may"),
    ProbeTrial("threads", "start a thread", "run_thread", _TAKING, wanted=True),
    *_each("threads", _TOO_MANY_THREADS, threads="start a thousand threads"),
    *_each("time", _TOO_MANY_SECONDS, processor="compute longer than it may"),
    ProbeTrial("output", "print 36 megabytes", "run_print_much", _TAKING, wanted=True),
)


_CANARY = "GRADER_PROBE"
_LOADING = Patience(120.0, 240.0)
ATTEMPTS = Path(__file__).with_name("attempts")


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt of a confined process: its layer, its description, and whether it succeeded.

    A `wanted` attempt must succeed (a thread, a file in the scratch folder). Any other must be
    refused, or its process `stopped`. If no refusal is `promised` here, either result is accepted.
    """

    layer: str
    what: str
    succeeded: bool
    wanted: bool
    detail: str
    stopped: bool = False
    promised: bool = True

    @property
    def ok(self) -> bool:
        """Returns whether the attempt ended as it must."""
        return not self.promised or self.succeeded == self.wanted


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """The state of each layer of isolation, as a worker reports it, and the attempts' results."""

    isolation: Mapping[str, str]
    attempts: tuple[Attempt, ...]

    @property
    def holds(self) -> bool:
        """Returns whether every layer is there and every attempt ended as it must."""
        return "none" not in self.isolation.values() and all(one.ok for one in self.attempts)


def examine_confinement(whole: bool = True) -> ProbeResult:
    """Confines workers on this machine as a batch does, and has them try to get out.

    If the examination need not be `whole`, it ends where a layer of isolation is missing.

    Raises:
        ForkServerLost: if no worker starts.
    """
    with (
        new_scratch() as scratch,
        _canary(),
        warm_zygote() as zygote,
        ForkServers(zygote, scratch) as servers,
    ):
        isolation: Mapping[str, str] = {}
        attempts = []
        for trial in TRIALS:
            isolation, attempt = attempted(servers.current(), scratch, trial)
            attempts.append(attempt)
            if not whole and "none" in isolation.values():
                return ProbeResult(isolation, tuple(attempts))
    return ProbeResult(isolation, tuple(attempts))


def attempted(
    server: ForkServer, scratch: Path, trial: ProbeTrial, attempts: Path = ATTEMPTS
) -> tuple[Mapping[str, str], Attempt]:
    """Returns the isolation of a new worker, and the attempt that it made.

    `attempts` is the folder that holds the trial's module.
    """
    with confined_worker(server, scratch, ALLOWED, trial.module, attempts) as worker:
        arguments = {} if trial.most is None else {"most": trial.most}
        stopped = False
        try:
            answer = worker.ask(Call(trial.adapter, arguments), trial.patience).opened()
            detail = f"{answer.raised.kind}: {answer.raised.message}" if answer.raised else ""
            succeeded = answer.raised is None and answer.value is True
        except WorkerLost as lost:
            detail, succeeded, stopped = lost.message, False, True
        isolation = worker.isolation
    promised = trial.needs in isolation.get("namespaces", "")
    return isolation, Attempt(
        trial.layer, trial.what, succeeded, trial.wanted, detail, stopped, promised
    )


@contextlib.contextmanager
def confined_worker(
    server: ForkServer,
    scratch: Path,
    allowance: Allowance = ALLOWED,
    module: str = "reaching",
    attempts: Path = ATTEMPTS,
) -> Iterator[Worker]:
    """Provides a worker that has imported a module of attempts, like any submission.

    The worker's folder is removed afterwards.
    """
    with removed_afterwards(Path(tempfile.mkdtemp(dir=scratch))) as folder:
        folder.chmod(PASSABLE)
        (folder / "beside.txt").write_text("secret")
        root = folder / "submission"
        shutil.copytree(attempts, root / "attempts", ignore=shutil.ignore_patterns("__pycache__"))
        for path in (root, *root.rglob("*")):
            path.chmod(0o755)  # whatever the umask is
        place, name = f"attempts/{module}.py", f"attempts.{module}"
        worker = Worker.in_new_folder(server, folder, allowance)
        try:
            worker.load(Submission("probe", root, place, name), _LOADING)
            yield worker
        finally:
            worker.end()


@contextlib.contextmanager
def _canary() -> Iterator[None]:
    """Sets an environment variable that no worker may see."""
    os.environ[_CANARY] = "what a worker must not see"
    try:
        yield
    finally:
        os.environ.pop(_CANARY, None)
