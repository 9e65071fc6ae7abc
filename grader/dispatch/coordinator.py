"""Hands submissions to judges and yields their grades as they arrive."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from grader.assignment import BadAssignment
from grader.dispatch.judge_client import Follow, JudgeClient, JudgeLost
from grader.intake import Entry
from grader.judge.settings import Settings
from grader.verdict import Grade, GradeStatus

_TRIES = 2


@dataclass(frozen=True, slots=True)
class Task:
    """A submission that wants a grade: its place in the class, its hash, its cache key.

    `exercises` are those that are wanted; the verdicts on the others are known, and all right.
    """

    entry: Entry
    position: int
    submission_hash: str
    key: str
    exercises: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Graded:
    """A task and its grade."""

    task: Task
    grade: Grade


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
                self._done.put(Graded(task, self._grade(client, task)))
        except queue.Empty:
            pass
        except BadAssignment as problem:
            self._done.put(problem)
        finally:
            client.close()

    def _grade(self, client: JudgeClient, task: Task) -> Grade:
        problem = ""
        for _ in range(_TRIES):
            try:
                return client.grade(task.entry, task.submission_hash, self._follow, task.exercises)
            except JudgeLost as lost:
                problem = str(lost)
                if self._stopping.is_set():
                    break
        return Grade(
            submission=task.entry.name,
            status=GradeStatus.NOT_GRADED,
            score=0.0,
            max_score=0.0,
            seed=self._settings.seed,
            submission_hash=task.submission_hash,
            suite_hash=self._settings.suite_hash,
            duration_s=0.0,
            message=problem,
            isolation={},
            tests=(),
        )
