"""Submissions' pages written by several processes at a time, a stretch of the class each.

They are fresh interpreters, not forks, for who writes a report may have threads. `multiprocessing`
would start such ones as well, but has each run the main script once more, and leaves them waiting
where their parent is killed: these end with the pipe that they are asked by.
"""

from __future__ import annotations

import contextlib
import errno
import gc
import os
import pickle
import queue
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from grader.core.processes import processors
from grader.reports.pages.changes import Changes
from grader.reports.pages.class_data import ClassData
from grader.reports.pages.graded import Graded
from grader.reports.pages.submission_page import submission_page
from grader.results.database import StoreError
from grader.results.decisions.settling import Settling
from grader.results.results import Results


@dataclass(frozen=True, slots=True)
class PageWriting:
    """The pages to write, and where: the pages of `results`, as they are settled, in `folder`.

    If they are compared with another batch, `against` is that one.
    """

    results: Results
    settling: Settling
    folder: Path
    against: Results | None


@dataclass(frozen=True, slots=True)
class Stretch:
    """The data for the class pages from some submissions that follow each other."""

    found: ClassData
    changes: Changes | None


def write_stretch(writing: PageWriting, names: Sequence[str]) -> Stretch:
    """Writes the pages of the submissions with these names.

    Raises:
        OSError: if one cannot be written.
        StoreError: if results cannot be read.
    """
    results, against = writing.results, writing.against
    earlier = {grade.submission: grade for grade in against.grades_of(names)} if against else {}
    found, changes = ClassData(), Changes() if against else None
    for grade in results.grades_of(names, whole=True):
        name, graded = grade.submission, Graded.of(grade)
        settled = writing.settling.settle(grade)
        content = submission_page(results.assignment, graded, grade.evidence, settled)
        (writing.folder / graded.page).write_text(content, encoding="utf-8", newline="\n")
        found.add(graded, results.authors.get(name, ()), settled)
        if changes is not None:
            changes.add(graded, earlier.get(name))
    return Stretch(found, changes)


_COMMAND = (sys.executable, "-P", "-c", "from grader.reports.pages.pool import serve; serve()")
# What one process is asked for at a time. What was found in it comes back whole.
_STRETCH = 50
# To start a process costs half a second, a tenth of what these pages do.
_WORTH_A_PROCESS = 1000


@contextlib.contextmanager
def stretches(
    writing: PageWriting, names: Sequence[str], processes: int | None = None
) -> Iterator[Iterator[Stretch]]:
    """Provides the stretches of a class, in its order, each when its pages are written.

    By default there are as many processes as processors, none for a small class. They are gone
    when this ends, however it ends.

    Raises:
        OSError: if a page cannot be written, or a process is lost.
        StoreError: if results cannot be read.
    """
    parts = [tuple(names[first : first + _STRETCH]) for first in range(0, len(names), _STRETCH)]
    if processes is None:
        processes = min(processors(), len(names) // _WORTH_A_PROCESS)
    if processes < 2:
        yield (write_stretch(writing, part) for part in parts)
        return
    with contextlib.ExitStack() as ending:
        # Left from last to first: a thread ends once the process that it waits for is gone.
        threads = ending.enter_context(ThreadPoolExecutor(processes))
        idle: queue.SimpleQueue[_Writer] = queue.SimpleQueue()
        for _ in range(processes):
            idle.put(ending.enter_context(_Writer(writing)))
        ending.callback(threads.shutdown, wait=False, cancel_futures=True)

        def write(part: Sequence[str]) -> Stretch:
            writer = idle.get()
            try:
                return writer.write(part)
            finally:
                idle.put(writer)

        yield threads.map(write, parts)


class _Writer:
    """One process that writes pages; a context manager, at whose end it is gone."""

    def __init__(self, writing: PageWriting) -> None:
        # In a session of its own no Ctrl-C reaches it: it ends with this process, in silence.
        self._process = subprocess.Popen(
            _COMMAND,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=_environment(),
            start_new_session=True,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._asked, self._answers = self._process.stdin, self._process.stdout
        self._unasked: list[object] = [writing]

    def __enter__(self) -> _Writer:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._asked, self._answers):
            with contextlib.suppress(BrokenPipeError):
                pipe.close()

    def write(self, names: Sequence[str]) -> Stretch:
        """Has it write the pages of a stretch."""
        self._unasked.append(names)
        try:
            for question in self._unasked:
                pickle.dump(question, self._asked)
            self._asked.flush()
            self._unasked.clear()
            answer: Stretch | Exception = pickle.load(self._answers)
        except (EOFError, BrokenPipeError, pickle.UnpicklingError) as error:
            raise self._lost() from error
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _lost(self) -> ChildProcessError:
        code = self._process.wait()
        ended = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        why = f"a process that wrote pages was lost ({ended}); run grader report again"
        return ChildProcessError(errno.ECHILD, why)


def _environment() -> dict[str, str]:
    """Returns this process's environment, with the engine on the path."""
    engine = str(Path(__file__).resolve().parents[3])
    paths = [engine, *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths)}


def serve() -> None:
    """Writes the stretches that standard input asks for, until nobody asks any more.

    Questions and answers are pickles, and both ends this module's own. What a submission made up is
    in them as text, which no unpickling runs.
    """
    # Few cycles are made: they are looked for after each stretch, not hundreds of times in one.
    gc.disable()
    asked, answers = sys.stdin.buffer, sys.stdout.buffer
    with contextlib.suppress(EOFError, BrokenPipeError):
        writing: PageWriting = pickle.load(asked)
        while True:
            pickle.dump(_answer(writing, pickle.load(asked)), answers)
            answers.flush()
            gc.collect()


def _answer(writing: PageWriting, names: tuple[str, ...]) -> Stretch | OSError | StoreError:
    """Returns the data of a stretch, or the error that kept its pages from being written."""
    try:
        return write_stretch(writing, names)
    except (OSError, StoreError) as refusal:
        return refusal
