"""The coordinator: hands submissions to the jobs of this machine, and replaces lost judges."""

from __future__ import annotations

import contextlib
import itertools
import queue
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace

from grader.core.assignment import Assignment, Settings
from grader.core.explanation import PENDING, explained, needs_words
from grader.core.names import CPU
from grader.core.text import plain
from grader.core.verdict import Grade
from grader.grading.job.client import Follow, JobClient, JobLost
from grader.grading.options import (
    AnyTask,
    Explained,
    ExplanationTask,
    GradedTask,
    JobPool,
    Options,
    Result,
    Task,
)
from grader.intake.entry import Entry
from grader.intake.handed_in import fingerprint

_TRIES = 2


def grade_with_retry(
    client: JobClient,
    task: Task,
    settings: Settings,
    stopping: threading.Event,
    follow: Follow | None = None,
) -> Grade:
    """Returns the grade of a submission.

    If its judge is lost, a new judge tries the submission once more. If the new one is lost too,
    the submission is *not graded*, which costs no points.

    Raises:
        BadAssignment: if the assignment's tests cannot be run.
    """
    problem = ""
    for _ in range(_TRIES):
        try:
            return client.grade(task, follow)
        except JobLost as lost:
            problem = str(lost)
            if stopping.is_set():
                break
    return task.ungraded(settings, problem)


class TaskQueue:
    """The tasks that jobs take, one after another; safe to use from threads.

    A job stays with a group of submissions that have the same verdicts. When the group is empty, it
    takes the largest group that no job has begun. If there is none, it helps with a group in
    progress. Submissions without a grade are one group.
    """

    def __init__(self, tasks: Iterable[AnyTask]) -> None:
        groups: defaultdict[bytes, deque[AnyTask]] = defaultdict(deque)
        for task in tasks:
            groups[task.verdicts].append(task)
        self._groups = dict(sorted(groups.items(), key=lambda one: -len(one[1])))
        self._at: dict[Hashable, bytes] = {}
        self._lock = threading.Lock()

    def take(self, job: Hashable) -> AnyTask:
        """Returns this job's next task.

        Raises:
            KeyError: if all are taken.
        """
        with self._lock:
            verdicts = self._at.get(job)
            if verdicts is None or verdicts not in self._groups:
                begun = {*self._at.values()}
                new = (one for one in self._groups if one not in begun)
                verdicts = next(itertools.chain(new, self._groups), b"")
            self._at[job] = verdicts
            tasks = self._groups[verdicts]
            task = tasks.popleft()
            if not tasks:
                del self._groups[verdicts]
            return task


# Silence after which the coordinator says which submissions it waits for; then twice as long.
_SILENT_SECONDS = 10.0


class Coordinator(JobPool):
    """A context manager with a pool of jobs, each of which has its own fork server.

    `follow` gets each verdict when it is reached, in a thread of the pool. It gets all of them
    again if a submission is tried once more. If nothing arrives for `silent_seconds`, `say` gets a
    sentence that names the submissions at work.
    """

    def __init__(
        self,
        settings: Settings,
        jobs: int,
        follow: Follow | None = None,
        say: Callable[[str], None] | None = None,
        silent_seconds: float = _SILENT_SECONDS,
    ) -> None:
        self._settings = settings
        self._follow = follow
        self._say = say
        self._silent_seconds = silent_seconds
        self._begun: dict[str, float] = {}
        # Submissions take turns on a GPU: two would share its memory and its time.
        self._jobs = jobs if settings.device == CPU else 1
        self._clients: list[JobClient] = []
        self._waiting: queue.SimpleQueue[Callable[[JobClient], None] | None] = queue.SimpleQueue()
        self._stopping = threading.Event()
        self._threads: list[threading.Thread] = []

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.end(at_once=kind is not None)

    def end(self, at_once: bool) -> None:
        """Ends the jobs, when they have done their work or `at_once`."""
        self._stopping.set()
        for _thread in self._threads:
            self._waiting.put(None)
        if at_once:
            for client in self._clients:
                client.kill()
        for thread in self._threads:
            thread.join()

    def start(self, submissions: int) -> None:
        """Starts the jobs for a number of submissions."""
        # An idle job would only cost memory.
        wanted = min(self._jobs, submissions) - len(self._clients)
        if wanted <= 0:
            return
        started = JobClient.several(self._settings, wanted, submissions)
        self._clients += started
        for client in started:
            thread = threading.Thread(target=self._work, args=(client,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _results(self, tasks: Sequence[AnyTask]) -> Iterator[Result]:
        waiting = TaskQueue(tasks)
        done: queue.SimpleQueue[Result | Exception] = queue.SimpleQueue()

        def do_next(client: JobClient) -> None:
            task = waiting.take(client)
            try:
                with self._noted(task.entry.name):
                    done.put(self._result(task, client))
            except Exception as problem:  # raised again by the reader
                done.put(problem)

        for _ in tasks:
            self._waiting.put(do_next)
        self.start(len(tasks))
        for _ in tasks:
            arrived = self._next(done)
            if isinstance(arrived, Exception):
                raise arrived
            yield arrived

    def _result(self, task: AnyTask, client: JobClient) -> Result:
        if isinstance(task, ExplanationTask):
            return Explained(task, client.explain(task.entry, task.grade()))
        grade = grade_with_retry(client, task, self._settings, self._stopping, self._follow)
        return GradedTask(task, grade)

    def _next(self, done: queue.SimpleQueue[Result | Exception]) -> Result | Exception:
        """Returns the next result; says which submissions are at work while none arrives.

        Raises:
            JobLost: if the pool ended meanwhile.
        """
        silent = self._silent_seconds
        while True:
            try:
                return done.get(timeout=silent)
            except queue.Empty:
                if self._stopping.is_set():
                    raise JobLost("the jobs were ended") from None
                silent *= 2
                if self._say is not None and (waited := self._waited()):
                    self._say(f"still waiting for {waited}")

    def _waited(self) -> str:
        """Returns the submissions that take long, the longest first, with the seconds so far."""
        now = time.monotonic()
        begun = sorted((at, name) for name, at in self._begun.copy().items())
        longest = [(name, now - at) for at, name in begun if now - at >= self._silent_seconds]
        return ", ".join(f"{plain(name)} ({seconds:.0f} s)" for name, seconds in longest)

    @contextlib.contextmanager
    def _noted(self, name: str) -> Iterator[None]:
        self._begun[name] = time.monotonic()
        try:
            yield
        finally:
            del self._begun[name]

    def _work(self, client: JobClient) -> None:
        """Does the waiting work, then ends the job."""
        try:
            while (work := self._waiting.get()) is not None and not self._stopping.is_set():
                work(client)
        finally:
            client.close()


def graded_alone(
    entry: Entry,
    assignment: Assignment,
    options: Options,
    explain: bool = True,
    follow: Follow | None = None,
) -> Grade:
    """Returns the grade of one submission, with its words unless `explain` is False.

    `follow` gets each verdict when it is reached.

    Raises:
        BadAssignment: if the assignment's tests cannot be run.
    """
    settings = options.settings(assignment)
    with Coordinator(settings, 1, follow) as coordinator:
        (graded,) = coordinator.grade([Task(entry, 0, fingerprint(entry), "")])
        grade = graded.grade
        if not needs_words(grade):
            return grade
        if not explain:
            return replace(grade, unexplained=PENDING)
        (answer,) = coordinator.explain([ExplanationTask(entry, lambda: grade)])
    return explained(grade, answer.words)
