"""The warm process that forks workers: it has loaded torch, and holds no secret.

It obeys the judge over one socket. `spawn` forks a worker, which gets the two descriptors of the
message as its channel and its output. `end` kills every process that the last worker and its
descendants left running. When the judge hangs up, the fork server and all workers end.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import signal
import socket
import sys
import sysconfig
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from grader.core.processes import end_with_parent, prctl
from grader.worker.confinement.file_tree import enter_file_tree, readable_by_all
from grader.worker.confinement.identity import enter_other_namespaces, unprivileged_user
from grader.worker.confinement.layers import (
    InheritedState,
    close_access_times,
    mapped,
)
from grader.worker.confinement.seccomp import prepare_filter
from grader.worker.packages import load_ahead, package_folders

_MESSAGE = 4096
_PR_SET_CHILD_SUBREAPER = 36


def serve_judges(
    order: Mapping[str, Any],
    control: socket.socket,
    number: int,
    namespaces: list[str],
    not_preloaded: Mapping[str, str],
) -> None:
    """Greets the judge, and serves it until it hangs up; the process is warm.

    No other fork server has this `number`; the `namespaces` were entered before.
    """
    with contextlib.suppress(KeyboardInterrupt, EOFError, ConnectionError):
        # Orphans of a worker become children of this process, which can then end them.
        prctl(_PR_SET_CHILD_SUBREAPER, 1)
        if order["namespaces"]:
            namespaces = [*namespaces, *enter_other_namespaces()]
        own = mapped()
        if order["namespaces"] and enter_file_tree(Path(order["scratch"])):
            namespaces = [*namespaces, "files"]
        if order["leaves_no_marks"] and "files" not in namespaces:
            close_access_times(readable_by_all())
        user = unprivileged_user(number)
        control.send(json.dumps({"user": user, "not_preloaded": not_preloaded}).encode())
        granted = tuple(order["granted"])
        _obey(control, InheritedState(user, tuple(namespaces), engine_modules(), *own, granted))
    end_descendants()


def _obey(control: socket.socket, inherited: InheritedState) -> None:
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, _MESSAGE, 2)
        if not message:
            return
        if json.loads(message)["do"] == "spawn":
            channel, output = descriptors
            pid = _fork(channel, output, inherited)
            os.close(channel)
            os.close(output)
            control.send(json.dumps({"pid": pid}).encode())
        else:
            control.send(json.dumps({"codes": end_descendants()}).encode())


def _fork(channel: int, output: int, inherited: InheritedState) -> int:
    parent = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    try:
        end_with_parent(parent)
        from grader.worker.serving import serve

        serve(socket.socket(fileno=channel), output, inherited)
    except (EOFError, ConnectionError):
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    finally:
        os._exit(0)


def engine_modules() -> tuple[str, ...]:
    """Returns the engine's modules; a worker that searched them would copy all modules' pages."""
    return tuple(name for name in sys.modules if name.partition(".")[0] == "grader")


def warm_up(
    preload: Sequence[str] = (), granted: Sequence[str] = (), several: bool = True
) -> dict[str, str]:
    """Loads the modules that submissions need, and keeps only the import paths of packages.

    Returns by name why modules of `preload` could not be loaded.

    A backward pass is left to the workers: autograd's threads do not survive a fork. Modules that
    torch loads on first use of the meta device are loaded here. For `several` submissions, so is
    `torch._dynamo`, which takes a second and which few submissions need: optimizer steps load it.
    """
    import beartype
    import einops
    import jaxtyping
    import numpy
    import torch

    import grader.worker.serving
    from grader.worker.observing.counting import WorkCounter
    from grader.worker.observing.watching import watch_operation
    from grader.worker.uncompiled import load_no_compiler, use_native_meta_kernels

    loaded = (beartype, einops, jaxtyping, numpy, torch, grader.worker.serving)
    jaxtyping.config.update("jaxtyping_disable", True)
    torch.set_num_threads(1)
    if several:
        importlib.import_module("torch._dynamo")
    load_no_compiler()
    use_native_meta_kernels()
    # Torch warns about the first kernel that a process replaces, which takes some milliseconds.
    watch_operation("aten::silu", lambda: None)
    with WorkCounter(), torch.device("meta"):
        halves = torch.ones(2, 2) / 2
        einops.rearrange(torch.einsum("i j, j -> i", halves, torch.ones(2)), "a -> a 1")
    del loaded, halves
    forget_the_project()
    failed = load_ahead(preload)
    readable_by_all()  # kept for every worker
    prepare_filter(granted)
    gc.freeze()
    gc.enable()
    return failed


def forget_the_project() -> None:
    """Makes only the standard library and installed packages importable.

    The grader itself is often installed in place, from the folder that also holds the references.
    """
    paths = sysconfig.get_paths()
    allowed = [paths["stdlib"], paths["platstdlib"], *package_folders()]
    archives = {path for path in sys.path if path.endswith(".zip")}
    dynamic = {path for path in sys.path if path.endswith("lib-dynload")}
    sys.path[:] = [
        path for path in sys.path if path in archives | dynamic or path in map(str, allowed)
    ]
    sys.meta_path[:] = [finder for finder in sys.meta_path if not _is_editable(finder)]
    sys.path_hooks[:] = [hook for hook in sys.path_hooks if not _is_editable(hook)]
    sys.path_importer_cache.clear()


def _is_editable(finder: object) -> bool:
    module = getattr(finder, "__module__", type(finder).__module__)
    return str(module).startswith("__editable__")


def end_descendants() -> dict[int, int]:
    """Kills and reaps all descendants; returns exit codes (negative: signals) by process id.

    In a pid namespace of its own, one call kills all of them at once.
    """
    codes: dict[int, int] = {}
    while True:
        with contextlib.suppress(ProcessLookupError):
            if os.getpid() == 1:  # the init of a pid namespace
                os.kill(-1, signal.SIGKILL)
            else:
                _kill_children()
        try:
            pid, status = os.waitpid(-1, 0)
        except ChildProcessError:
            return codes
        codes[pid] = os.waitstatus_to_exitcode(status)


def _kill_children() -> None:
    for pid in _children():
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
            if sys.platform != "linux":
                os.killpg(pid, signal.SIGKILL)


def _children() -> list[int]:
    here = os.getpid()
    try:
        return [int(pid) for pid in Path(f"/proc/{here}/task/{here}/children").read_text().split()]
    except OSError:
        import subprocess

        listed = subprocess.run(["pgrep", "-P", str(here)], capture_output=True, check=False)
        return [int(pid) for pid in listed.stdout.split()]
