"""A job on another machine, and the thread that it lives by."""

from __future__ import annotations

import queue
import threading
import time
from concurrent.futures import Future

from grader.core.settings import Settings
from grader.grading.attempts import attempted
from grader.grading.job.client import JobClient
from grader.grading.task import Explained, ExplanationTask, GradedTask, Task

# A batch that was killed says nothing to its stations; what it left running must end some time.
_IDLE_SECONDS = 600.0
_END_SECONDS = 20.0
# Nobody knows how many submissions come; few is not worth a cluster.
_EXPECTED = 1000


Wish = Task | ExplanationTask
Result = GradedTask | Explained


class RemoteJob:
    """A job that is started with the first submission, and again after a long rest.

    The system ends a job with the thread that started it. Dask's threads come and go; this one
    stays as long as the seat.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._client = JobClient(settings, _EXPECTED)
        self._orders: queue.SimpleQueue[tuple[Wish, Future[Result]] | None] = queue.SimpleQueue()
        self._stopping = threading.Event()
        self._is_grading = False
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def fulfil(self, wish: Wish) -> Result:
        """The grade of a submission, or the words for one.

        Raises:
            BadAssignment: if the assignment's tests cannot be run.
        """
        result: Future[Result] = Future()
        self._orders.put((wish, result))
        return result.result()

    def end(self) -> None:
        """Ends the job, in the midst of a submission if need be."""
        self._stopping.set()
        self._orders.put(None)
        deadline = time.monotonic() + _END_SECONDS
        while self._thread.is_alive() and time.monotonic() < deadline:
            if self._is_grading:
                self._client.kill()
            self._thread.join(0.1)

    def _serve(self) -> None:
        while True:
            try:
                order = self._orders.get(timeout=_IDLE_SECONDS)
            except queue.Empty:
                self._client.close()
                continue
            if order is None:
                break
            self._carry_out(*order)
        self._client.close()

    def _carry_out(self, wish: Wish, result: Future[Result]) -> None:
        self._is_grading = True
        try:
            if isinstance(wish, ExplanationTask):
                words = self._client.explain(wish.entry, wish.grade())
                result.set_result(Explained(wish, words))
            else:
                grade = attempted(self._client, wish, self._settings, self._stopping)
                result.set_result(GradedTask(wish, grade))
        except Exception as problem:  # whoever waits for the result is told
            result.set_exception(problem)
        finally:
            self._is_grading = False
