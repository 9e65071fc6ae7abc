"""The life of a worker: load one submission, then answer calls until the judge hangs up."""

from __future__ import annotations

import os
import resource
import signal
import socket
import sys
from pathlib import Path
from typing import Any

from grader.wire.calls import Answer, decode_call, encode_answer, raised_as_json
from grader.wire.frames import BadFrame, decode, encode
from grader.worker.loading import Loaded, load
from grader.worker.performing import absent, perform


def serve(channel: socket.socket, memory: int) -> None:
    """Serves one submission over `channel`, within `memory` bytes beyond what is there already."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    os.setsid()
    _silence()
    _limit(memory)
    order, _ = decode(lambda size: receive_exactly(channel, size), trusted=True)
    root = Path(order["root"])
    loaded = load(
        root,
        order["module"],
        order["import_paths"],
        _distribution(order["distribution"]),
        Path(order["scratch"]),
    )
    problem = raised_as_json(loaded.problem)
    channel.sendall(encode({"adapters": sorted(loaded.functions), "problem": problem}, {}))
    while True:
        channel.sendall(_answer(channel, loaded, root))


def receive_exactly(channel: socket.socket, size: int) -> bytearray:
    """The next `size` bytes of a channel.

    Raises:
        EOFError: if the other side hung up.
    """
    data = bytearray(size)
    view = memoryview(data)
    while view:
        count = channel.recv_into(view)
        if count == 0:
            raise EOFError
        view = view[count:]
    return data


def _answer(channel: socket.socket, loaded: Loaded, root: Path) -> bytes:
    call = decode_call(*decode(lambda size: receive_exactly(channel, size), trusted=True))
    function = loaded.functions.get(call.adapter)
    answer = absent(call.adapter) if function is None else perform(function, call, root)
    try:
        return encode_answer(answer)
    except BadFrame:
        return encode_answer(Answer())


def _distribution(pair: Any) -> tuple[str, str] | None:
    return None if pair is None else (pair[0], pair[1])


def _silence() -> None:
    """Nothing that a submission prints may mix with anything of the judge."""
    sys.stdout.flush()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    os.close(nowhere)


def _limit(memory: int) -> None:
    """Bounds private memory: an address-space limit would refuse the mappings that torch makes."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        here = Path("/proc/self/status").read_text()
        data = next(line for line in here.splitlines() if line.startswith("VmData:"))
        limit = int(data.split()[1]) * 1024 + memory
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
