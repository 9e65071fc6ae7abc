"""Mends a student's wrong exercises in the process of `pytest`: that proves the line."""

from __future__ import annotations

import contextlib
import io
import random
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import torch

from grader.explaining.deadline import Deadline
from grader.explaining.mending.choosing import Mended, chosen
from grader.explaining.mending.exercises import one_by_one
from grader.explaining.mending.mending import IN_CLASS, Bounds, Search, Workbench
from grader.explaining.mending.questions import Asked
from grader.explaining.mending.sources import Sources
from grader.explaining.naming.catalogue import Catalogue
from grader.home.second_copy import SecondCopy
from grader.wire.frames import decode, receive
from grader.wire.trials import Outcomes, Trials, encode_trials, trials_in
from grader.worker.trying.trying import Trying

if sys.platform == "linux":
    import resource

_ADAPTERS = "adapters.py"
_MEMORY = 1 << 30


@dataclass(frozen=True, slots=True)
class Patience:
    """How much is tried in all: edits, and seconds (a net) in which trials are begun."""

    edits: int
    seconds: float


QUICK = Patience(1500, 2.0)
ENDLESS = Patience(1 << 40, float(1 << 20))


@dataclass(slots=True)
class Mending:
    """By exercise, where it can be mended; `complete` if nothing was left untried."""

    mended: dict[str, Mended] = field(default_factory=dict)
    complete: bool = True


class HomeBench:
    """A copy of the student's modules in this very process, in which edits can be tried."""

    def __init__(self, root: Path, deadline: Deadline) -> None:
        self._deadline = deadline
        with _quietly():
            self._copy = SecondCopy(root)
            self._trying = Trying(self._copy.functions, root, self._copy.modules)
        self.sources = Sources.of(root, self._copy.files)

    def try_edits(self, trials: Trials) -> Outcomes:
        """What comes of trials, on what would have arrived in a worker."""
        left = max(0.0, self._deadline.at - time.monotonic())
        sent = io.BytesIO(encode_trials(replace(trials, seconds=min(trials.seconds, left))))
        arrived = decode(receive(lambda size: bytearray(sent.read(size))), trusted=True)
        with _quietly(), _bounded_memory(), self._copy.in_place():
            return self._trying.perform(trials_in(*arrived))


def mend(
    root: Path, catalogue: Catalogue, asked: Mapping[str, Sequence[Asked]], patience: Patience
) -> Mending:
    """Where wrong exercises can be mended: `asked` are the calls whose right answer is known.

    What cannot be imported twice is not mended. Ctrl-C ends it with what was found.
    """
    found = Mending()
    every = [one for own in asked.values() for one in own]
    # No other thread can be stopped in the midst of a call.
    is_main = threading.current_thread() is threading.main_thread()
    if all(one.right for one in every) or not is_main:
        return found
    try:
        _mend(root, catalogue, asked, patience, found)
    except KeyboardInterrupt:
        found.complete = False
    return found


def _mend(
    root: Path,
    catalogue: Catalogue,
    asked: Mapping[str, Sequence[Asked]],
    patience: Patience,
    found: Mending,
) -> None:
    deadline = Deadline.after(patience.seconds)
    try:
        bench = HomeBench(root, deadline)
    except Exception:  # a student's code may raise anything at all
        return
    every = [one for own in asked.values() for one in own]
    left = patience.edits

    @contextlib.contextmanager
    def lent() -> Iterator[Workbench]:
        yield bench

    def choose(exercise: str) -> Mended | None:
        nonlocal left
        if deadline.passed or not left:
            found.complete = False
            return None
        bounds = Bounds(min(left, IN_CLASS.edits), patience.seconds, patience.seconds)
        search = Search(catalogue, lent, exercise, every, bounds)
        mends = search.mends(bench.sources)
        left -= min(left, search.cost.edits)
        if search.left_out:
            found.complete = False
            mends = [one for one in mends if one.share == 1]
        return chosen(mends, bench.sources, _ADAPTERS)

    for attempt in one_by_one(asked, choose):
        if attempt.choice is not None:
            found.mended |= dict.fromkeys(attempt.mended, attempt.choice)


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """Swallows what is printed, and leaves random numbers as they were."""
    states = torch.default_generator.get_state(), random.getstate()
    nowhere = io.StringIO()
    try:
        with contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
            yield
    finally:
        torch.default_generator.set_state(states[0])
        random.setstate(states[1])


@contextlib.contextmanager
def _bounded_memory() -> Iterator[None]:
    """Lets a call of an edited program that would take all of the machine's memory fail."""
    if sys.platform != "linux":
        yield
        return
    held = int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_DATA)
    most = held + _MEMORY
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(
            resource.RLIMIT_DATA, (most if before[1] < 0 else min(most, before[1]), before[1])
        )
    try:
        yield
    finally:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_DATA, before)
