"""Processes that start at once: they are forked from an interpreter that has loaded torch.

A fresh interpreter needs two seconds to load torch, pytest and the rest before a test's first line.
Three *templates* load them once, for all processes of a run of pytest. A process that is forked
from one is real: its arguments, folder, environment, descriptors, session and exit code are its
own. Only the steps before Python's first line are missing. A test of those, or of the modules that
a command loads, starts an interpreter itself.

The *command* template serves `grader`, `pytest` and the processes that collect tests. The *zygote*
template has a scrubbed environment and serves zygotes, which must hold nothing of the others. The
*intake* template is small, as intake processes are, and without torch.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import gc
import json
import os
import runpy
import select
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import types
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

ROOT = Path(__file__).parents[2]
# A safety limit: the longest command of a sweep takes eight minutes on an idle machine.
_SECONDS = 3600
_MESSAGE = 1 << 18
_DESCRIPTORS = 64
# The templates that serve what was forked from the first one, and the test's own process.
_SERVED = ("zygote", "intake")
# Received descriptors wait above all numbers that a command uses.
_PARKED = 512
_JOB = ("-P", "-m", "grader.grading.job.process")
_ZYGOTE = ("-s", "-P", "-B", "-c")
_INTAKE = ("-I", "-X", f"utf8={sys.flags.utf8_mode}", "-c")
# These packages are plugins of pytest.
_PLUGINS = ("grader", "jaxtyping")
# torch reads these when it loads: a zygote with one of them starts an interpreter.
_READ_AT_START = ("ATEN_CPU_CAPABILITY", "MKL_CBWR", "ONEDNN_MAX_CPU_ISA")


class Warm:
    """The templates of a run of pytest: they start at their first use, and end with the run.

    `folder` holds their addresses, and `owner` is the id of the run's first process.
    """

    def __init__(self, folder: Path, owner: int) -> None:
        folder.mkdir(exist_ok=True)
        self._folder = folder
        self._owner = owner
        # A `Popen` without a reference warns that its process still runs.
        self._started: list[subprocess.Popen[bytes]] = []

    def address(self, name: str) -> Path:
        """Returns the address of a template: "command", "zygote" or "intake"; may start it."""
        with (self._folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            return self._address(name)

    def _address(self, name: str) -> Path:
        address = self._folder / name
        if not address.exists():
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
                listening.bind(os.fspath(address))
                listening.listen(64)
                # Whatever is forked from the first one is served by the others.
                others = [*map(self._address, _SERVED)] if name == "command" else []
                self._started.append(_start(name, listening.fileno(), self._owner, others))
        return address

    def run(
        self,
        arguments: Sequence[object],
        cwd: Path,
        environment: Mapping[str, str],
        start_new_session: bool = False,
    ) -> subprocess.CompletedProcess[str]:
        """Runs `python` with these arguments: `-m module …`, `-P -m module …` or `-c code …`."""
        command = [sys.executable, *map(str, arguments)]
        with tempfile.TemporaryFile() as printed, tempfile.TemporaryFile() as complained:
            process = ForkedPopen(
                self.address("command"),
                command,
                stdout=printed.fileno(),
                stderr=complained.fileno(),
                env=environment,
                cwd=cwd,
                start_new_session=start_new_session,
            )
            code = process.wait(_SECONDS)
            texts = [_text(file) for file in (printed, complained)]
        return subprocess.CompletedProcess(command, code, *texts)

    def program(self, *arguments: str) -> str:
        """Returns a shell script that is `python` with these arguments and its own."""
        here = [sys.executable, "-I", "-S", __file__, "run", os.fspath(self.address("command"))]
        return f'#!/bin/sh\nexec {shlex.join([*here, *arguments])} "$@"\n'

    def serve_this_process(self) -> None:
        """Makes this process fork its jobs, zygotes and intake processes from the templates."""
        fork_from(self.address)


def fork_from(address: Callable[[str], Path]) -> None:
    """Replaces this process's starting of interpreters by forks of the templates."""
    import grader.grading.job.lines
    import grader.intake.client
    import grader.sandbox.zygote

    command, zygote, intake = (partial(address, name) for name in ("command", *_SERVED))
    grader.grading.job.lines.subprocess = _forking(_JOB, command, dies_with_parent=True)
    grader.sandbox.zygote.subprocess = _forking(_ZYGOTE, zygote, dies_with_parent=False)
    grader.intake.client.subprocess = _forking(_INTAKE, intake, dies_with_parent=True)


def _forking(
    marks: Sequence[str], address: Callable[[], Path], dies_with_parent: bool
) -> types.ModuleType:
    """Returns `subprocess` with a `Popen` that forks commands with these first arguments."""

    def start(command: Sequence[str], **options: Any) -> Any:
        is_known = tuple(command[1 : 1 + len(marks)]) == tuple(marks)
        if not is_known or set(_READ_AT_START) & {*options.get("env", ())}:
            return subprocess.Popen(command, **options)
        return ForkedPopen(address(), command, dies_with_parent=dies_with_parent, **options)

    replaced = types.ModuleType("subprocess")
    replaced.__dict__.update(subprocess.__dict__, Popen=start)
    return replaced


class ForkedPopen:
    """A process that was forked from a template, with the part of `Popen` that the engine uses."""

    def __init__(
        self,
        address: Path,
        command: Sequence[str],
        *,
        stdin: int = subprocess.DEVNULL,
        stdout: int = subprocess.DEVNULL,
        stderr: int | None = None,
        pass_fds: Sequence[int] = (),
        env: Mapping[str, str] = os.environ,
        cwd: Path | None = None,
        start_new_session: bool = False,
        dies_with_parent: bool = True,
    ) -> None:
        sys.audit("tests.forked", command[1:3])
        self.stderr: Any = None
        self.returncode: int | None = None
        order = {
            "command": list(command),
            "environment": dict(env),
            "cwd": os.fspath(cwd or Path.cwd()),
            "session": start_new_session,
            "dies_with_parent": dies_with_parent,
            "numbers": [0, 1, 2, *pass_fds],
        }
        self._keeper = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._keeper.settimeout(_SECONDS)
        self._keeper.connect(os.fspath(address))
        with contextlib.ExitStack() as opened, Path(os.devnull).open("r+b") as nothing:
            if stderr == subprocess.PIPE:
                reading, writing = os.pipe()
                self.stderr = os.fdopen(reading, "rb")
                opened.callback(os.close, writing)
                stderr = writing
            streams = [stdin, stdout, 2 if stderr is None else stderr]
            standard = [nothing.fileno() if it == subprocess.DEVNULL else it for it in streams]
            message = [json.dumps(order).encode()]
            socket.send_fds(self._keeper, message, [*standard, *pass_fds])
        self.pid: int = json.loads(self._keeper.recv(_MESSAGE))

    def wait(self, timeout: float | None = None) -> int:
        """Waits for the process's end; returns its exit code, or minus the signal.

        Raises:
            subprocess.TimeoutExpired: if it has not ended by then.
        """
        if self.returncode is None:
            self._keeper.settimeout(timeout)
            try:
                self.returncode = json.loads(self._keeper.recv(_MESSAGE))
            except TimeoutError:
                raise subprocess.TimeoutExpired("a forked process", timeout or 0) from None
            self._keeper.close()
        return self.returncode

    def terminate(self) -> None:
        """Sends the process a SIGTERM."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGTERM)


def _start(
    name: str, listening: int, owner: int, others: Sequence[Path]
) -> subprocess.Popen[bytes]:
    """Starts the interpreter of a template; the zygotes' one gets no secrets."""
    isolated = name == "zygote"
    flags = {"command": ["-P"], "zygote": [*_ZYGOTE[:-1]], "intake": [*_INTAKE[:-1]]}[name]
    environment = {"PATH": os.defpath, "LANG": "C.UTF-8", "PYTHONHASHSEED": "0"}
    return subprocess.Popen(
        [sys.executable, *flags, __file__, name, str(listening), str(owner), *others],
        pass_fds=[listening],
        stdin=subprocess.DEVNULL,
        env=environment if isolated else None,
        cwd="/" if isolated else None,
    )


def _text(file: Any) -> str:
    file.seek(0)
    text: str = file.read().decode("utf-8", errors="replace")
    return text.replace("\r\n", "\n")


# --- Templates ----------------------------------------------------------------------------------


def main(name: str, listening: int, owner: int, *others: str) -> None:
    """Loads the slow modules, then forks a process for each order, until the owner ends."""
    orders, ending = socket.socket(fileno=listening), os.pidfd_open(owner)
    if name != "command":
        sys.path.insert(0, os.fspath(ROOT))
    if name == "command":
        _load_commands()
        addresses = map(Path, (orders.getsockname(), *others))
        fork_from(dict(zip(("command", *_SERVED), addresses, strict=True)).__getitem__)
    elif name == "zygote":
        _load_zygotes()
    else:
        _load_intake()
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while ending not in select.select([orders, ending], [], [])[0]:
        asked, _ = orders.accept()
        with asked:
            if os.fork() == 0:
                orders.close()
                os.close(ending)
                _keep(asked)


def _load_commands() -> None:
    """Loads all modules except plugins of pytest, which pytest imports itself."""
    import beartype
    import click
    import einops
    import execnet
    import jinja2
    import numpy
    import pytest
    import rich.console
    import safetensors.torch
    import torch._dynamo

    import grader.explain.explainer.service
    import grader.explain.rewriting.slips
    import grader.grading.job.work
    from grader.cli.command_line import COMMANDS, cli

    for command in COMMANDS:
        cli.get_command(click.Context(cli), command)
    del beartype, einops, execnet, grader, jinja2, numpy, pytest, rich, safetensors, torch


def _load_zygotes() -> None:
    """Loads the modules of a zygote and computes nothing, which each zygote does itself."""
    import beartype
    import einops
    import jaxtyping
    import numpy
    import torch._dynamo
    import torch.fx.experimental.symbolic_shapes

    import grader.worker.observing.counting
    import grader.worker.observing.lines
    import grader.worker.serving
    import grader.worker.zygote

    del beartype, einops, grader, jaxtyping, numpy, torch


def _load_intake() -> None:
    """Loads the modules of an intake process, whose keeper sees to it that it ends in time."""
    import grader.intake.process
    import grader.intake.programs.source_facts

    grader.intake.process.end_with_parent = lambda _: None


def _keep(asked: socket.socket) -> NoReturn:
    """Forks the requested process, and reports its exit.

    Nobody else gets the process's id before whoever asked for it has waited, or has ended.
    """
    with contextlib.suppress(OSError):
        ended, ending = socket.socketpair()
        ending.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(ending.fileno())
        message, descriptors, _, _ = socket.recv_fds(asked, _MESSAGE, _DESCRIPTORS)
        order = json.loads(message)
        pid = os.fork()
        if pid == 0:
            try:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                _become(order, descriptors)
            finally:
                os._exit(1)
        for descriptor in descriptors:
            os.close(descriptor)
        asked.send(json.dumps(pid).encode())
        if asked in select.select([ended, asked], [], [])[0] and order["dies_with_parent"]:
            os.kill(pid, signal.SIGKILL)
        end = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        assert end is not None
        code = end.si_status if end.si_code == os.CLD_EXITED else -end.si_status
        asked.send(json.dumps(code).encode())
        asked.recv(1)
    os._exit(0)


def _become(order: Mapping[str, Any], descriptors: Sequence[int]) -> NoReturn:
    """Continues as the command, as if Python had been started for it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if order["session"]:
        os.setsid()
    _place(descriptors, order["numbers"])
    os.chdir(order["cwd"])
    os.environ.clear()
    os.environ.update(order["environment"])
    tempfile.tempdir = None
    encoding, _, errors = os.environ.get("PYTHONIOENCODING", "utf-8").partition(":")
    sys.stdout = open(1, "w", encoding=encoding, errors=errors or "strict", closefd=False)  # noqa: SIM115
    sys.stderr = open(  # noqa: SIM115
        2, "w", encoding=encoding, errors="backslashreplace", buffering=1, closefd=False
    )
    sys.__stdout__, sys.__stderr__ = sys.stdout, sys.stderr
    code = _run(order["command"][1:], order["cwd"])
    # These are an interpreter's last steps, except that its memory stays as it is.
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _place(descriptors: Sequence[int], numbers: Sequence[int]) -> None:
    """Gives received descriptors the numbers that the command knows, and closes all others."""
    parked = [fcntl.fcntl(one, fcntl.F_DUPFD, _PARKED) for one in descriptors]
    for one, number in zip(parked, numbers, strict=True):
        os.dup2(one, number)
    for number in [int(path.name) for path in Path("/dev/fd").iterdir()]:
        if number not in numbers:
            with contextlib.suppress(OSError):
                os.close(number)


def _run(arguments: Sequence[str], cwd: str) -> int:
    """Runs the arguments of a `python` command line; returns the exit code."""
    flags = {*arguments[: arguments.index("-m" if "-m" in arguments else "-c")]}
    kind, program, *rest = arguments[len(flags) :]
    if "-I" not in flags:
        found = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        sys.path[:0] = [*([] if "-P" in flags else [cwd]), *filter(None, found)]
    sys.argv = [program if kind == "-m" else "-c", *rest]
    if program == "pytest":  # pytest imports its plugins itself, and a student's has another engine
        for name in [name for name in sys.modules if name.partition(".")[0] in _PLUGINS]:
            del sys.modules[name]
    try:
        if kind == "-m":
            runpy.run_module(program, run_name="__main__", alter_sys=True)
        else:
            exec(program, {"__name__": "__main__"})
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        return 1
    return 0


def run_here(address: str, arguments: Sequence[str]) -> int:
    """Runs `python` with these arguments in place of this process; returns the exit code."""
    process = ForkedPopen(
        Path(address), [sys.executable, *arguments], stdin=0, stdout=1, stderr=2, env=os.environ
    )
    return process.wait() % 256


if __name__ == "__main__":
    if sys.argv[1] == "run":
        sys.exit(run_here(sys.argv[2], sys.argv[3:]))
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:])
