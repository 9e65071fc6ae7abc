"""A judge on another machine, and the thread that it lives by."""

from __future__ import annotations

import queue
import threading
import time
from concurrent.futures import Future

from grader.dispatch.attempts import attempted
from grader.dispatch.judge_client import JudgeClient
from grader.dispatch.task import Task
from grader.settings import Settings
from grader.verdict import Grade

# A batch that was killed says nothing to its stations; what it left running must end some time.
_IDLE_SECONDS = 600.0
_END_SECONDS = 20.0


class Seat:
    """A judge that is started with the first submission, and again after a long rest.

    The system ends a judge with the thread that started it. Dask's threads come and go; this one
    stays as long as the seat.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._client = JudgeClient(settings)
        self._orders: queue.SimpleQueue[tuple[Task, Future[Grade]] | None] = queue.SimpleQueue()
        self._stopping = threading.Event()
        self._is_grading = False
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def grade(self, task: Task) -> Grade:
        """The grade of a submission.

        Raises:
            BadAssignment: if the assignment's tests cannot be run.
        """
        grade: Future[Grade] = Future()
        self._orders.put((task, grade))
        return grade.result()

    def end(self) -> None:
        """Ends the judge, in the midst of a submission if need be."""
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

    def _carry_out(self, task: Task, grade: Future[Grade]) -> None:
        self._is_grading = True
        try:
            grade.set_result(attempted(self._client, task, self._settings, self._stopping))
        except Exception as problem:  # whoever waits for the grade is told
            grade.set_exception(problem)
        finally:
            self._is_grading = False
