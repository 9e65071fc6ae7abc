"""A Dask worker's part of a batch: the assignment's files, and a job for each thread."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from distributed import Worker, WorkerPlugin, get_worker

from grader.core.assignment import BadAssignment, Settings
from grader.core.folders import remove, removed_afterwards
from grader.grading.cluster.bundle import RemoteRequest, packed_reply, unpacked_assignment, versions
from grader.grading.coordinator import Coordinator
from grader.grading.job.client import JobLost
from grader.grading.options import ExplanationTask, require_isolation
from grader.intake.copying import CopyFailed
from grader.intake.handed_in import unpack

# A killed batch closes no remote worker: after this time without a request, a remote worker ends
# its jobs and removes the assignment by itself.
_IDLE_SECONDS = 600.0
# The number of submissions is unknown; a cluster gets many.
_EXPECTED = 1000
_ASSIGNMENT = "assignment"
_CLOSED = "its remote worker is closed"


class RemoteWorker(WorkerPlugin):
    """A remote worker, which grades and explains the submissions in packages.

    It handles as many at a time as the Dask worker has threads. Its files lie below the Dask
    worker's local directory, for its own user alone, until it is closed or long without a request.
    """

    def __init__(self, folder: Path, settings: Settings, jobs: int) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._running = 0
        self._coordinator = Coordinator(settings, jobs)
        # In a thread that lasts: the system ends jobs with the thread that started them.
        self._coordinator.start(_EXPECTED)
        self._idle = self._started_timer()

    def run(self, request: RemoteRequest) -> dict[str, Any]:
        """Returns the reply to a request: the grade, the words, or why there are none.

        Raises:
            JobLost: if the remote worker was closed meanwhile.
        """
        with self._counted(), removed_afterwards(Path(tempfile.mkdtemp(dir=self._folder))) as place:
            task = request.task_for(unpack(request.package, request.name, place))
            try:
                if isinstance(task, ExplanationTask):
                    (explained,) = self._coordinator.explain([task])
                    return {"words": explained.words.as_json()}
                (graded,) = self._coordinator.grade([task])
                return {"grade": graded.grade.as_json(whole=True)}
            except BadAssignment as problem:
                return {"stopped": str(problem)}

    @contextlib.contextmanager
    def _counted(self) -> Iterator[None]:
        with self._lock:
            if not self._folder.exists():
                raise JobLost(_CLOSED)
            self._running += 1
            self._idle.cancel()
        try:
            yield
        finally:
            with self._lock:
                self._running -= 1
                if not self._running:
                    self._idle = self._started_timer()

    def _started_timer(self) -> threading.Timer:
        timer = threading.Timer(_IDLE_SECONDS, self._close_if_idle)
        timer.daemon = True
        timer.start()
        return timer

    def _close_if_idle(self) -> None:
        with self._lock:
            if self._running:
                return
            remove(self._folder)
        self._coordinator.end(at_once=True)

    def _close(self) -> None:
        self._idle.cancel()
        self._coordinator.end(at_once=True)
        remove(self._folder)

    async def teardown(self, worker: Worker) -> None:  # noqa: ARG002  # Dask gives it
        """Ends the judges and removes the files; Dask waits for it when its worker closes."""
        await asyncio.to_thread(self._close)


async def open_remote_worker(
    name: str,
    assignment_bundle: bytes,
    settings: Mapping[str, Any],
    wanted: Mapping[str, str],
    must_isolate: bool,
    *,
    dask_worker: Worker,
) -> dict[str, Any]:
    """Opens a remote worker on a Dask worker if its versions are the same as the batch's.

    Returns its versions and its number of jobs, which is 0 if it was not opened.

    Raises:
        NotIsolated: if every layer of isolation is required, and one does not hold there.
    """
    folder = Path(tempfile.mkdtemp(prefix="remote-worker-", dir=dask_worker.local_directory))
    with contextlib.ExitStack() as stack:
        stack.callback(remove, folder)
        here = await asyncio.to_thread(
            unpacked_assignment,
            assignment_bundle,
            folder / _ASSIGNMENT,
            Settings.from_json(dict(settings)),
        )
        there = versions(here)
        if there != dict(wanted):
            return {"versions": there, "jobs": 0}
        if must_isolate:
            await asyncio.to_thread(require_isolation)
        remote_worker = RemoteWorker(folder, here, dask_worker.state.nthreads)
        await dask_worker.plugin_add(remote_worker, name=name, catch_errors=False)
        stack.pop_all()
        return {"versions": there, "jobs": dask_worker.state.nthreads}


async def close_remote_worker(name: str, *, dask_worker: Worker) -> None:
    """Ends the judges of a remote worker and removes its files."""
    if name in dask_worker.plugins:
        await dask_worker.plugin_remove(name=name)


def run_request(name: str, request: RemoteRequest) -> bytes:
    """Grades or explains the submission of a request; a task of Dask.

    A problem of this machine is returned as a reply, so that the batch asks another machine.
    """
    remote_worker = get_worker().plugins.get(name)
    if not isinstance(remote_worker, RemoteWorker):
        return packed_reply({"failed": _CLOSED})
    try:
        return packed_reply(remote_worker.run(request))
    except JobLost:
        return packed_reply({"failed": _CLOSED})
    except (CopyFailed, OSError) as problem:
        return packed_reply({"failed": f"it has no room for a submission: {problem}"})
