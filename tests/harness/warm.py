"""Commands that start in no time: processes forked from an interpreter that has loaded torch.

A fresh interpreter needs two seconds to load torch, pytest and the rest, before the first line that
a test is about. A process that is forked here is a command's own as a fresh one is: its arguments,
folder, environment, streams and exit code are real, and the assignment and whatever lies in its
folder are imported anew. What happens before Python's first line is not: a test of that, or of what
a command loads, starts an interpreter itself.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

_SECONDS = 600
_MESSAGE = 1 << 18


class Warm:
    """The interpreter that commands are forked from; one after another."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", __file__, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
            )

    def run(
        self,
        module: str,
        arguments: Sequence[object],
        cwd: Path,
        environment: Mapping[str, str],
        finds_cwd: bool = True,
    ) -> subprocess.CompletedProcess[str]:
        """What came of `python -m module arguments`, of `python -P -m` unless it `finds_cwd`."""
        order = {
            "module": module,
            "arguments": [module, *map(str, arguments)],
            "cwd": str(cwd),
            "environment": dict(environment),
            "finds_cwd": finds_cwd,
        }
        with tempfile.TemporaryFile() as printed, tempfile.TemporaryFile() as complained:
            streams = [printed.fileno(), complained.fileno()]
            socket.send_fds(self._socket, [json.dumps(order).encode()], streams)
            self._socket.settimeout(_SECONDS)
            code = json.loads(self._socket.recv(_MESSAGE))
            texts = [_text(file) for file in (printed, complained)]
        return subprocess.CompletedProcess(order["arguments"], code, *texts)

    def close(self) -> None:
        """Ends it."""
        self._socket.close()
        self._process.wait(timeout=_SECONDS)


def _text(file: Any) -> str:
    file.seek(0)
    text: str = file.read().decode("utf-8", errors="replace")
    return text.replace("\r\n", "\n")


def main(descriptor: int) -> None:
    """Forks a process for each order, until nobody is left to give one."""
    _load()
    orders = socket.socket(fileno=descriptor)
    while True:
        message, streams, _, _ = socket.recv_fds(orders, _MESSAGE, 2)
        if not message:
            return
        child = os.fork()
        if not child:
            orders.close()
            _become(json.loads(message), *streams)
        for stream in streams:
            os.close(stream)
        _, status = os.waitpid(child, 0)
        orders.send(json.dumps(os.waitstatus_to_exitcode(status)).encode())


def _load() -> None:
    """Loads what takes long, but for plugins of pytest: it wants to import these itself."""
    import click
    import einops
    import jinja2
    import pytest
    import rich.console
    import safetensors.torch
    import torch
    import torch._dynamo

    from grader.cli.main import COMMANDS, cli

    for command in COMMANDS:
        cli.get_command(click.Context(cli), command)
    del einops, jinja2, pytest, rich, safetensors, torch
    gc.collect()
    gc.freeze()


def _become(order: Mapping[str, Any], printed: int, complained: int) -> NoReturn:
    """Goes on as the command, as if Python had been started for it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.dup2(printed, 1)
    os.dup2(complained, 2)
    os.close(printed)
    os.close(complained)
    os.chdir(order["cwd"])
    os.environ.clear()
    os.environ.update(order["environment"])
    encoding, _, errors = os.environ.get("PYTHONIOENCODING", "utf-8").partition(":")
    sys.stdout = open(1, "w", encoding=encoding, errors=errors or "strict", closefd=False)  # noqa: SIM115
    sys.stderr = open(  # noqa: SIM115
        2, "w", encoding=encoding, errors="backslashreplace", buffering=1, closefd=False
    )
    sys.__stdout__, sys.__stderr__ = sys.stdout, sys.stderr
    found = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:0] = [*([order["cwd"]] if order["finds_cwd"] else []), *filter(None, found)]
    sys.argv = order["arguments"]
    code = _run(order["module"])
    # As an interpreter does at its end, but that nobody needs its memory in order.
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _run(module: str) -> int:
    """Runs a module as a program; its exit code."""
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        return 1
    return 0


if __name__ == "__main__":
    main(int(sys.argv[1]))
