"""Hands submissions to judges and yields their grades as they arrive."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator, Sequence

from grader.assignment import BadAssignment
from grader.dispatch.attempts import attempted
from grader.dispatch.judge_client import Follow, JudgeClient
from grader.dispatch.task import Graded, Task
from grader.settings import Settings


class Coordinator:
    """A pool of judges, each with its own fork server; a context manager.

    A judge that is lost is replaced and its submission tried once more; after that it is
    *not graded*, which costs nobody points. `follow` is given each verdict when it is reached, in
    a thread of the pool, and all of them again if a submission is tried once more.
    """

    def __init__(self, settings: Settings, jobs: int, follow: Follow | None = None) -> None:
        self._settings = settings
        self._follow = follow
        self._clients = [JudgeClient(settings) for _ in range(jobs)]
        self._waiting: queue.SimpleQueue[Task] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[Graded | BadAssignment] = queue.SimpleQueue()
        self._stopping = threading.Event()
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Coordinator:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._stopping.set()
        if kind is not None:
            for client in self._clients:
                client.kill()
        for thread in self._threads:
            thread.join()

    def grade(self, tasks: Sequence[Task]) -> Iterator[Graded]:
        """The grade of every task, in the order in which they arrive.

        Raises:
            BadAssignment: if the assignment's tests cannot be run.
        """
        for task in tasks:
            self._waiting.put(task)
        # A judge that waits for work at start-up would cost seconds for nothing.
        for client in self._clients[: len(tasks)]:
            thread = threading.Thread(target=self._work, args=(client,), daemon=True)
            self._threads.append(thread)
            thread.start()
        for _ in tasks:
            arrived = self._done.get()
            if isinstance(arrived, BadAssignment):
                raise arrived
            yield arrived

    def _work(self, client: JudgeClient) -> None:
        try:
            while not self._stopping.is_set():
                task = self._waiting.get_nowait()
                grade = attempted(client, task, self._settings, self._stopping, self._follow)
                self._done.put(Graded(task, grade))
        except queue.Empty:
            pass
        except BadAssignment as problem:
            self._done.put(problem)
        finally:
            client.close()
