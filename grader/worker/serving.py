"""The life of a worker: confined, it loads one submission, then answers calls until it is ended."""

from __future__ import annotations

import contextlib
import dataclasses
import faulthandler
import os
import signal
import socket
import sys
import tempfile
from pathlib import Path
from types import FrameType

from grader.core.processes import DUMP_AT_ONCE, DUMP_IN_PYTHON, Allowance
from grader.core.wire.calls import Answer, Call, CallDecoder, Raised, encode_answer
from grader.core.wire.frames import decode, encode, receive
from grader.core.wire.records import BadFrame, written
from grader.core.wire.trials import TRIALS, Outcomes, Trials, encode_outcomes, trials_in
from grader.core.wire.values import Foreign
from grader.worker.confinement.layers import (
    InheritedState,
    close_descriptors,
    confine,
)
from grader.worker.loading import load
from grader.worker.multiprocessing import do_without_forking
from grader.worker.observing.watching import CallWatch
from grader.worker.performing import Functions, Living, absent, perform
from grader.worker.trials.trials import Trying
from grader.worker.uncompiled import do_without_compiling

# The kernel attaches the sender's process id, as the judge sees it, to this first byte.
HELLO = b"\0"


def serve(channel: socket.socket, output: int, inherited: InheritedState) -> None:
    """Serves one submission over `channel`; its output goes to the descriptor `output`."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    os.setsid()
    _redirect(output)
    close_descriptors(channel.fileno())
    channel.sendall(HELLO)
    order, _ = decode(receive(lambda size: _receive_exactly(channel, size)), trusted=True)
    root, scratch = Path(order["root"]), Path(order["scratch"])
    _settle(scratch)
    confined = confine(root, scratch, Allowance(**order["bounds"]), inherited)
    channel.sendall(encode(confined, {}))
    _dump_stack_if_asked(channel.fileno())
    do_without_forking()
    do_without_compiling()
    watch = CallWatch(order["forbidden"], root)
    functions, report = load(root, scratch, inherited.engine, **order["load"])
    _print_the_rest()
    imported = dataclasses.replace(report, uses=watch.take())
    channel.sendall(encode({"imported": written(imported)}, {}))
    trying: Trying | None = None
    living, calls = Living(functions, watch.call), CallDecoder()
    while True:
        header, values = decode(receive(lambda size: _receive_exactly(channel, size)), trusted=True)
        if TRIALS in header:
            trying = trying or Trying(functions, root)
            channel.sendall(_outcomes(trying, trials_in(header, values)))
        else:
            call = calls.call_in(header, values)
            channel.sendall(_answer(call, functions, root, watch, living))


def _dump_stack_if_asked(channel: int) -> None:
    """Has two signals send a traceback over the channel and end this process."""

    def dump(_number: int, _frame: FrameType | None) -> None:
        faulthandler.dump_traceback(channel, all_threads=False)
        os._exit(1)

    signal.signal(DUMP_IN_PYTHON, dump)
    # This handler runs outside of Python, so that a loop in C does not delay it.
    faulthandler.register(DUMP_AT_ONCE, channel, all_threads=False, chain=True)


def _receive_exactly(channel: socket.socket, size: int) -> bytearray:
    data = bytearray(size)
    view = memoryview(data)
    while view:
        count = channel.recv_into(view)
        if count == 0:
            raise EOFError
        view = view[count:]
    return data


def _outcomes(trying: Trying, trials: Trials) -> bytes:
    outcomes = trying.perform(trials)
    _print_the_rest()
    try:
        return encode_outcomes(outcomes)
    except (BadFrame, MemoryError):
        return encode_outcomes(Outcomes())


def _answer(
    call: Call, functions: Functions, root: Path, watch: CallWatch, living: Living
) -> bytes:
    if call.adapter and call.adapter not in functions:
        answer = absent(call.adapter)
    else:
        function = functions.get(call.adapter, lambda: None)
        answer = perform(function, call, root, functions, living)
    if uses := watch.take():
        answer = dataclasses.replace(answer, uses=uses)
    _print_the_rest()
    try:
        return encode_answer(answer)
    except BadFrame:
        instead = Answer(Foreign("a value that is too large to be an answer"))
    except MemoryError:
        instead = Answer(raised=Raised("MemoryError", "no room is left to hand over the result"))
    return encode_answer(dataclasses.replace(instead, uses=answer.uses))


def _redirect(output: int) -> None:
    """Sends the submission's output to a descriptor, and gives it no input.

    The streams are new. The old ones count as files with positions, which a pipe does not have: a
    program could not put its own wrapper around them.
    """
    nowhere = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nowhere, 0)
    os.close(nowhere)
    for stream in (1, 2):
        os.dup2(output, stream)
    for name, stream in (("stdout", 1), ("stderr", 2)):
        text = os.fdopen(stream, "w", 1, "utf-8", "backslashreplace", closefd=False)
        vars(sys).update({name: text, f"__{name}__": text})


def _print_the_rest() -> None:
    """Flushes output that has no line end yet, so that it arrives before the answer."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()


def _settle(scratch: Path) -> None:
    """Makes the scratch folder the home and the folder for temporary files."""
    os.environ["HOME"] = os.environ["TMPDIR"] = str(scratch)
    tempfile.tempdir = None
