"""The pool of jobs on a Dask cluster: sends submissions out, and yields grades and words."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import secrets
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

from distributed import Client, Future

from grader.core.assignment import BadAssignment, Settings, find_assignment
from grader.core.explanation import Words
from grader.core.text import plain
from grader.grading.cluster.bundle import (
    BadReply,
    RemoteRequest,
    difference,
    packed_assignment,
    result_in,
    unpacked_reply,
    versions,
)
from grader.grading.cluster.connection import NoCluster
from grader.grading.cluster.remote_worker import (
    close_remote_worker,
    open_remote_worker,
    run_request,
)
from grader.grading.options import (
    AnyTask,
    Explained,
    ExplanationTask,
    GradedTask,
    JobPool,
    NotIsolated,
    Result,
)
from grader.intake.copying import CopyFailed
from grader.intake.handed_in import pack

if TYPE_CHECKING:
    from tornado.ioloop import IOLoop

Say = Callable[[str], None]
_TRIES = 4
_LOOK_SECONDS = 1.0
_TOLD_AFTER_SECONDS = 30.0
_CLOSE_SECONDS = 30.0
_KEPT = "the grades so far are kept; run the command again to continue"


@dataclass(slots=True)
class _Attempt:
    """A submission that waits or was sent out, and the Dask workers that it was sent to."""

    task: AnyTask
    sent_to: list[str] = field(default_factory=list)


# The handling of an event that Dask's threads report; it may lead to results.
_Event = Callable[[], Iterable[Result] | None]


class ClusterPool(JobPool):
    """Judges on the Dask workers of a scheduler; a context manager.

    `client` is connected to the scheduler at the address `scheduler`. Each Dask worker opens a
    remote worker, also one that joins later. A Dask worker with other versions is refused, and
    `say` reports it. A submission whose Dask worker is lost is sent to another one.

    At most `jobs` submissions are graded at a time, by default one for each of Dask's threads. Each
    Dask worker may be required to have every layer of isolation. After `patience` seconds without a
    Dask worker, the pool gives up.
    """

    def __init__(
        self,
        client: Client,
        scheduler: str,
        settings: Settings,
        say: Say,
        jobs: int | None = None,
        require_isolation: bool = False,
        patience: float = 300.0,
    ) -> None:
        self._client = client
        self._settings = settings
        self._say = say
        self._jobs = jobs or sys.maxsize
        self._require_isolation = require_isolation
        self._patience = patience
        self._name = f"grader-{secrets.token_hex(8)}"
        self._scheduler = scheduler
        self._versions = versions(settings)
        self._assignment_bundle = packed_assignment(find_assignment(Path(settings.assignment)))
        # The Dask workers that were asked to grade, which Dask's thread alone changes.
        self._asked: set[str] = set()
        # By address: how many more submissions may be sent there, and why none may.
        self._room: dict[str, int] = {}
        self._refused: dict[str, str] = {}
        self._events: queue.SimpleQueue[_Event] = queue.SimpleQueue()
        self._waiting: deque[_Attempt] = deque()
        self._flights: dict[Future[bytes], _Attempt] = {}
        self._alone_since: float | None = None
        self._is_wait_told = False

    def __enter__(self) -> Self:
        self._client.subscribe_topic("all", self._heard)
        for address in self._client.scheduler_info()["workers"]:
            self._loop.add_callback(self._open, address)
        return self

    def __exit__(self, *_: object) -> None:
        if self._client.status != "running":
            return
        self._client.unsubscribe_topic("all")
        self._client.cancel([*self._flights], force=True)
        closing = threading.Thread(target=self._close, daemon=True)
        closing.start()
        closing.join(_CLOSE_SECONDS)

    def _results(self, tasks: Sequence[AnyTask]) -> Iterator[Result]:
        """Yields the grade or the words of every task.

        Raises:
            BadAssignment: if the assignment's tests cannot be run.
            NoCluster: if the scheduler is lost, or no Dask worker is there that may grade.
        """
        self._waiting.extend(_Attempt(task) for task in tasks)
        while self._waiting or self._flights:
            yield from self._send_what_has_room()
            self._look_who_is_there()
            with contextlib.suppress(queue.Empty):
                handle = self._events.get(timeout=_LOOK_SECONDS)
                yield from handle() or ()

    def _send_what_has_room(self) -> Iterator[Result]:
        while self._waiting and len(self._flights) < self._jobs:
            address = self._place(self._waiting[0].sent_to)
            if address is None:
                return
            attempt = self._waiting.popleft()
            try:
                request = RemoteRequest.of(attempt.task, pack(attempt.task.entry))
            except CopyFailed as problem:
                yield self._given_up(attempt, str(problem))
            else:
                self._send(attempt, request, address)

    def _place(self, shunned: Collection[str]) -> str | None:
        """Returns the address with the most room, or None; a `shunned` one only without another."""
        free = [address for address, room in self._room.items() if room > 0]
        elsewhere = [address for address in free if address not in shunned]
        return max(elsewhere or free, key=self._room.__getitem__, default=None)

    def _send(self, attempt: _Attempt, request: RemoteRequest, address: str) -> None:
        future = self._client.submit(
            run_request, self._name, request, workers=[address], pure=False
        )
        attempt.sent_to.append(address)
        self._room[address] -= 1
        self._flights[future] = attempt
        self._loop.add_callback(self._await, future)

    @property
    def _loop(self) -> IOLoop:
        return cast("IOLoop", self._client.loop)

    async def _await(self, future: Future[bytes]) -> None:
        """Waits for a reply in Dask's thread, which does so for all flights at once."""
        reply: object
        try:
            reply = await future
        except (Exception, asyncio.CancelledError) as problem:  # Dask may raise anything
            reply = problem
        self._events.put(partial(self._take, future, reply))

    def _heard(self, event: tuple[float, Mapping[str, Any]]) -> None:
        """Notes a Dask worker that came or left, in Dask's thread."""
        _, message = event
        match message.get("action"):
            case "add-worker":
                self._loop.add_callback(self._open, message["worker"])
            case "remove-worker":
                self._asked.discard(message["worker"])
                self._events.put(partial(self._lose, message["worker"]))

    def _lose(self, address: str) -> Iterator[Result]:
        """Sends the submissions of a Dask worker that left elsewhere."""
        self._room.pop(address, None)
        self._refused.pop(address, None)
        lost = [one for one, attempt in self._flights.items() if attempt.sent_to[-1] == address]
        self._client.cancel(lost, force=True)
        for future in lost:
            yield from self._send_elsewhere(future, "its machine was lost")

    def _take(self, future: Future[bytes], reply: object) -> Iterator[Result]:
        """Takes the end of a flight: a reply, or the exception that Dask raised."""
        if future not in self._flights:
            return
        self._require_scheduler()
        attempt = self._flights[future]
        try:
            if isinstance(reply, Exception):
                raise BadReply(_in_words(reply))
            answer = unpacked_reply(reply)
            result = result_in(answer, attempt.task)
        except BadReply as problem:
            answer, result = {"failed": str(problem)}, None
        if "stopped" in answer:
            raise BadAssignment(f"{attempt.sent_to[-1]}: {answer['stopped']}")
        if result is None:
            yield from self._send_elsewhere(future, str(answer["failed"]))
        else:
            self._land(future)
            yield result

    def _send_elsewhere(self, future: Future[bytes], why: str) -> Iterator[Result]:
        attempt = self._land(future)
        if len(attempt.sent_to) < _TRIES:
            self._waiting.appendleft(attempt)
        else:
            last = f"{attempt.sent_to[-1]}, the last of {_TRIES} machines that it was sent to"
            yield self._given_up(attempt, f"{last}: {why}")

    def _land(self, future: Future[bytes]) -> _Attempt:
        attempt = self._flights.pop(future)
        # The future's destructor would swallow a Ctrl-C that comes meanwhile.
        future.release()
        if attempt.sent_to[-1] in self._room:
            self._room[attempt.sent_to[-1]] += 1
        return attempt

    def _given_up(self, attempt: _Attempt, problem: str) -> Result:
        if isinstance(attempt.task, ExplanationTask):
            return Explained(attempt.task, Words(missing=problem))
        return GradedTask(attempt.task, attempt.task.ungraded(self._settings, problem))

    async def _open(self, address: str) -> None:
        """Opens a remote worker, in Dask's thread."""
        if address in self._asked:
            return
        self._asked.add(address)
        answers: Mapping[str, object] = {}
        with contextlib.suppress(Exception):  # a lost scheduler is noticed elsewhere
            answers = await self._client.run(
                open_remote_worker,
                self._name,
                self._assignment_bundle,
                self._settings.as_json(),
                self._versions,
                self._require_isolation,
                workers=[address],
                on_error="return",
            )
        answer = answers.get(address, OSError("it is gone"))
        self._events.put(partial(self._admit, address, answer))

    def _close(self) -> None:
        """Closes the remote workers; one that is about to open closes when it is long idle."""
        with contextlib.suppress(Exception):  # a worker that does not answer is gone
            addresses = [*self._room]
            self._client.run(close_remote_worker, self._name, workers=addresses, on_error="ignore")

    def _admit(self, address: str, answer: object) -> None:
        """Takes the answer of a Dask worker that was asked to open a remote worker."""
        if address not in self._asked:
            return  # it left meanwhile
        match answer:
            case {"jobs": int(jobs), "versions": dict()} if jobs > 0:
                self._room[address] = jobs
                self._refused.pop(address, None)
                return
            case {"versions": dict(there)}:
                reason = difference(there, self._versions)
            case NotIsolated():
                reason = str(answer)
            case ImportError() | AttributeError():
                reason = f"it has no such grader as here ({_in_words(answer)})"
            case _:
                reason = _in_words(answer)
        self._refused[address] = reason
        self._say(f"{address} is refused: {plain(reason)}")

    def _look_who_is_there(self) -> None:
        self._require_scheduler()
        if self._refused and len(self._refused) == len(self._asked):
            refused = "; ".join(f"{at}: {why}" for at, why in self._refused.items())
            raise NoCluster(f"every worker of {self._scheduler} is refused ({plain(refused)})")
        if self._room:
            self._alone_since = None
        elif self._alone_since is None:
            self._alone_since = time.monotonic()
            self._is_wait_told = False
        else:
            self._wait(time.monotonic() - self._alone_since)

    def _wait(self, seconds: float) -> None:
        """Reports that there is no worker; gives up if `seconds` exceed the patience."""
        if seconds > self._patience:
            raise NoCluster(
                f"{self._scheduler} has had no worker for {self._patience:.0f} seconds: "
                f"start some with `dask worker {self._scheduler}`; {_KEPT}"
            )
        if seconds > _TOLD_AFTER_SECONDS and not self._is_wait_told:
            self._is_wait_told = True
            self._say(f"{self._scheduler} has no worker that is ready: waiting for one")

    def _require_scheduler(self) -> None:
        if self._client.status != "running":
            raise NoCluster(f"the scheduler at {self._scheduler} was lost: {_KEPT}")


def _in_words(problem: object) -> str:
    text = " ".join(str(problem).split())
    return f"{type(problem).__name__}: {text}" if isinstance(problem, Exception) else text
