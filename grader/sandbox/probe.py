"""Tries each layer of confinement for real: attempts that must be refused or stopped."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from grader.core.scratch import PASSABLE, new_scratch, removed_afterwards
from grader.core.submission import Submission, Unreadable
from grader.core.wire.calls import Call
from grader.intake.client import IntakeClient
from grader.intake.entry import Entry
from grader.sandbox.fork_server import ForkServer, ForkServers, warm_zygote
from grader.sandbox.limits import Allowance, Patience
from grader.sandbox.worker import Worker, WorkerLost
from grader.testing.memory import opened

_ADAPTERS = "def run_nothing(): ...\n"
_CELLS, _KEYS = 100_000, 16_000
_INTAKE_SECONDS = 3.0
_COPIES = 100
_SECRET = "what only the grader may read"
_OWN = "what everybody here can read."


def tried_while_taken_in(scratch: Path) -> Iterator[tuple[str, bool]]:
    """Yields each attempt on the intake in words, and whether it succeeded."""
    with IntakeClient() as client, removed_afterwards(Path(tempfile.mkdtemp(dir=scratch))) as here:
        yield "have a file read by swapping links", _is_led_astray(client, here)
        yield "have a notebook cost seconds", _costs_much(client, here, _notebook(here))
        yield "have settings cost seconds", _costs_much(client, here, _settings(here))


def _is_led_astray(client: IntakeClient, here: Path) -> bool:
    """Returns whether a copy holds a secret after its folder was swapped for a link meanwhile."""
    handed_in, secret = here / "handed-in", here / "secret"
    for folder, text in ((handed_in / "sub", _OWN), (secret, _SECRET)):
        folder.mkdir(parents=True)
        (folder / "file.txt").write_text(text)
    (handed_in / "adapters.py").write_text(_ADAPTERS)
    (here / "link").symlink_to(secret)
    ended = threading.Event()
    swapping = threading.Thread(target=_swap, args=(handed_in / "sub", here / "link", ended))
    swapping.start()
    try:
        return any(_holds_secret(client, here, handed_in) for _ in range(_COPIES))
    finally:
        ended.set()
        swapping.join()


def _swap(one: Path, other: Path, ended: threading.Event) -> None:
    aside = one.with_name("aside")
    while not ended.is_set():
        for source, target in ((one, aside), (other, one), (aside, other)):
            source.rename(target)
        time.sleep(0)


def _holds_secret(client: IntakeClient, here: Path, handed_in: Path) -> bool:
    with removed_afterwards(Path(tempfile.mkdtemp(dir=here))) as into:
        with contextlib.suppress(Unreadable):
            client.take_in(Entry("probe", handed_in), into, "adapters.py")
        return any(file.read_text() == _SECRET for file in into.rglob("file.txt"))


def _costs_much(client: IntakeClient, here: Path, handed_in: Path) -> bool:
    """Returns whether taking a submission in, or refusing it, takes too much processor time."""
    before = client.processor_seconds()
    own = removed_afterwards(Path(tempfile.mkdtemp(dir=here)))
    with own as into, contextlib.suppress(Unreadable):
        client.take_in(Entry("probe", handed_in), into, "adapters.py")
    used = client.processor_seconds() - before
    return used < 0 or used > _INTAKE_SECONDS  # below 0: the intake process was replaced


def _notebook(here: Path) -> Path:
    file = here / "many-cells.ipynb"
    file.write_text(json.dumps({"nbformat": 4, "cells": [{"cell_type": "code"}] * _CELLS}))
    return file


def _settings(here: Path) -> Path:
    folder = here / "dotted-keys"
    folder.mkdir()
    (folder / "adapters.py").write_text(_ADAPTERS)
    (folder / "pyproject.toml").write_text("a." * _KEYS + "a = 1\n")
    return folder


_MEGABYTE = 1 << 20
ALLOWED = Allowance(256 * _MEGABYTE, disk=48 * _MEGABYTE, files=500, cpu_seconds=4)
# Twice what is allowed, plus what measuring may miss. Without control groups, memory that the
# kernel holds for a process comes on top of the process's own.
_TOO_MUCH_MEMORY = 2 * ALLOWED.memory + 64 * _MEGABYTE
_TOO_MUCH_OF_THE_KERNEL = ALLOWED.memory + 64 * _MEGABYTE
_TOO_MUCH_DISK = 2 * ALLOWED.disk + 32 * _MEGABYTE
_TOO_MANY_FILES, _TOO_MANY_THREADS, _TOO_MANY_SECONDS = 2 * ALLOWED.files, 1000, 12
_PATIENCE = Patience(30.0, 90.0)
_TAKING = "taking"  # the module of attempts to take too much; the others are in `reaching`


@dataclass(frozen=True, slots=True)
class ProbeTrial:
    """An attempt to be made: the layer that it tries, its description, its adapter and module.

    `most` is the amount that would be too much. `needs` is the namespace without which no refusal
    is promised. `after` is the adapter that another worker calls first; that worker stays alive. An
    attempt that is `wanted` must succeed; `patience` is its time limit.
    """

    layer: str
    what: str
    adapter: str
    module: str = "reaching"
    most: int | None = None
    needs: str = ""
    after: str = ""
    wanted: bool = False
    patience: Patience = _PATIENCE


def _each(
    layer: str, most: int | None = None, needs: str = "", after: str = "", **attempts: str
) -> list[ProbeTrial]:
    """Returns an attempt for each adapter, without `run_`, and its description."""
    module = "reaching" if most is None else _TAKING
    return [
        ProbeTrial(layer, what, f"run_{name}", module, most, needs, after)
        for name, what in attempts.items()
    ]


TRIALS = (
    ProbeTrial("filesystem", "read /etc/passwd", "run_read_the_system"),
    ProbeTrial("filesystem", "read a file beside its own folder", "run_read_beside"),
    ProbeTrial("filesystem", "write into its own source folder", "run_write_elsewhere"),
    ProbeTrial("scratch", "write into its scratch folder", "run_write_scratch", wanted=True),
    ProbeTrial("scratch", "write where it runs", "run_write_where_it_runs", wanted=True),
    *_each("processes", fork="start a process", execute="execute a program"),
    *_each("network", internet="open an internet socket", unix="open a local socket"),
    *_each(
        "syscalls",
        signal_parent="signal its parent",
        trace_parent="trace its parent",
        change_mode="change a file's mode",
        outlive_its_parent="live on when its parent dies",
        priority_of_its_user="lower all of its user's processes",
        priority_of_its_parent="change its parent's priority",
        turns_at_the_disk="change its user's turns at disks",
        limits_of_its_parent="read its parent's limits",
        watch="watch a shared folder (inotify)",
        notify="watch a shared folder (dnotify)",
        lease="lease a file that workers share",
    ),
    *_each("syscalls", after="run_hold_locks", see_locks="see what another worker locks"),
    *_each("identity", environment="find the user's environment", privileges="become another user"),
    *_each(
        "namespaces",
        needs="files",
        size_of_a_file_elsewhere="ask the size of a file elsewhere",
        place_of_a_file_elsewhere="ask if a file is there elsewhere",
    ),
    *_each("namespaces", needs="process ids", other_processes="find other processes by number"),
    *_each(
        "memory",
        _TOO_MUCH_MEMORY,
        memory="take twice its memory",
        memory_at_once="take it in a single call",
        memory_forgotten="hold shared memory out of sight",
        memory_by_a_page="hold shared memory by one page",
        memory_mapped_twice="hold shared memory mapped twice",
        memory_read_only="hold memory that is read-only",
        memory_while_it_drips="take it while an answer drips",
    ),
    *_each(
        "memory",
        _TOO_MUCH_OF_THE_KERNEL,
        memory_of_page_tables="have page tables take it",
        memory_in_sockets="have pipes and sockets take it",
    ),
    *_each(
        "disk",
        _TOO_MUCH_DISK,
        disk="write twice what it may",
        disk_unlinked="hold files without a name",
        disk_never_named="hold files that never had one",
        disk_mapped="hold files by mappings alone",
        disk_in_flight="hold files that are being sent",
        disk_below_deep_folders="write deeper than paths reach",
        disk_in_a_closed_folder="write where nobody may list",
        disk_allocated="allocate beyond the end of a file",
    ),
    *_each("disk", _TOO_MANY_FILES, files="make twice the files that it may"),
    ProbeTrial("threads", "start a thread", "run_thread", _TAKING, wanted=True),
    *_each("threads", _TOO_MANY_THREADS, threads="start a thousand threads"),
    *_each("time", _TOO_MANY_SECONDS, processor="compute longer than it may"),
    ProbeTrial("time", "never answer", "run_for_ever", _TAKING, patience=Patience(1.0, 5.0)),
    ProbeTrial("output", "print 36 megabytes", "run_print_much", _TAKING, wanted=True),
)


_CANARY = "GRADER_PROBE"
_LOADING = Patience(30.0, 60.0)
_ATTEMPTS = Path(__file__).with_name("attempts")


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
            isolation, attempt = _attempted(servers.current(), scratch, trial)
            attempts.append(attempt)
            if not whole and "none" in isolation.values():
                return ProbeResult(isolation, tuple(attempts))
        attempts += [
            Attempt("intake", what, succeeded, False, "")
            for what, succeeded in tried_while_taken_in(scratch)
        ]
    return ProbeResult(isolation, tuple(attempts))


def _attempted(
    server: ForkServer, scratch: Path, trial: ProbeTrial
) -> tuple[Mapping[str, str], Attempt]:
    with contextlib.ExitStack() as workers:
        if trial.after:
            other = workers.enter_context(_worker(server, scratch, trial))
            opened(other.ask(Call(trial.after, {}), trial.patience))
        worker = workers.enter_context(_worker(server, scratch, trial))
        arguments = {} if trial.most is None else {"most": trial.most}
        stopped = False
        try:
            answer = opened(worker.ask(Call(trial.adapter, arguments), trial.patience))
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
def _worker(server: ForkServer, scratch: Path, trial: ProbeTrial) -> Iterator[Worker]:
    """Provides a worker that has imported the module which makes the attempt, like any submission.

    The worker's folder is removed afterwards.
    """
    with removed_afterwards(Path(tempfile.mkdtemp(dir=scratch))) as folder:
        folder.chmod(PASSABLE)
        (folder / "beside.txt").write_text("secret")
        root = folder / "submission"
        shutil.copytree(_ATTEMPTS, root / "attempts", ignore=shutil.ignore_patterns("__pycache__"))
        place, module = f"attempts/{trial.module}.py", f"attempts.{trial.module}"
        worker = Worker.in_new_folder(server, folder, ALLOWED)
        try:
            worker.load(Submission("probe", root, place, module), _LOADING)
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
