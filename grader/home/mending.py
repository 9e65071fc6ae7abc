"""Mends a student's wrong exercises in the process of `pytest`: that proves the line."""

from __future__ import annotations

import contextlib
import io
import random
import sys
import threading
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch

from grader.explaining.mending.choosing import Mended
from grader.explaining.mending.exercises import Mender
from grader.explaining.mending.mending import Bounds, FileEdit, Search, Workbench
from grader.explaining.mending.questions import Asked
from grader.explaining.mending.sources import Sources
from grader.explaining.naming.catalogue import Catalogue
from grader.home.second_copy import CannotCopy, SecondCopy
from grader.wire.frames import decode, receive
from grader.wire.trials import Outcomes, Trials, encode_trials, trials_in
from grader.worker.trying.alarm import TooLong
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


QUICK = Patience(2000, 2.0)
UNHURRIED = Patience(sys.maxsize, 1e9)


@dataclass(slots=True)
class Mending:
    """By exercise, where it can be mended; `is_complete` if nothing was left untried."""

    mended: dict[str, Mended] = field(default_factory=dict)
    is_complete: bool = True


def mend(
    root: Path, catalogue: Catalogue, asked: Mapping[str, Sequence[Asked]], patience: Patience
) -> Mending:
    """Where wrong exercises can be mended: `asked` are the calls whose right answer is known.

    What cannot be imported twice, or resists, is not mended. Ctrl-C ends it with what was found.
    """
    found = Mending()
    is_wrong = any(not one.right for own in asked.values() for one in own)
    # In any other thread nothing can be stopped in the midst of a call.
    if not is_wrong or threading.current_thread() is not threading.main_thread():
        return found
    try:
        bench = HomeBench(root)
        searches = _Searches(bench, catalogue, asked, patience)
        for attempt in Mender(bench.sources, _ADAPTERS, searches.new).attempts(asked):
            if attempt.choice is not None:
                found.mended |= dict.fromkeys(attempt.mended, attempt.choice)
            else:
                found.is_complete &= attempt.is_whole
    except KeyboardInterrupt:
        found.is_complete = False
    except (CannotCopy, MemoryError, TooLong):
        found.mended.clear()
    return found


class HomeBench:
    """A copy of the student's modules in this very process, in which edits can be tried.

    Raises:
        CannotCopy: if they cannot be imported a second time.
    """

    def __init__(self, root: Path) -> None:
        with _quietly():
            self._copy = SecondCopy(root)
            functions, modules = self._copy.functions, self._copy.modules
            self._trying = Trying(functions, root, modules, time.monotonic)
        self.sources = Sources.of(root, self._copy.files)

    def try_edits(self, trials: Trials) -> Outcomes:
        """What comes of trials, on what would have arrived in a worker."""
        sent = io.BytesIO(encode_trials(trials))
        arrived = decode(receive(lambda size: bytearray(sent.read(size))), trusted=True)
        with _quietly(), _bounded_memory(), self._copy.in_place():
            return self._trying.perform(trials_in(*arrived))


class _Searches:
    """Searches that share a patience; none is begun once that is used up."""

    def __init__(
        self,
        bench: HomeBench,
        catalogue: Catalogue,
        asked: Mapping[str, Sequence[Asked]],
        patience: Patience,
    ) -> None:
        self._bench = bench
        self._catalogue = catalogue
        self._every = [one for own in asked.values() for one in own]
        self._edits = patience.edits
        self._end = time.monotonic() + patience.seconds
        self._begun: list[Search] = []

    def new(self, exercise: str, besides: FileEdit | None) -> Search | None:
        """A search for what mends an exercise, with what is left."""
        edits = self._edits - sum(one.cost.edits for one in self._begun)
        seconds = self._end - time.monotonic()
        if edits <= 0 or seconds <= 0:
            return None
        bounds = Bounds(edits, seconds)
        search = Search(self._catalogue, self._lent, exercise, self._every, besides, bounds)
        self._begun.append(search)
        return search

    @contextlib.contextmanager
    def _lent(self) -> Iterator[Workbench]:
        yield self._bench


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """Swallows what is printed and warned of, and leaves random numbers as they were."""
    states = torch.default_generator.get_state(), random.getstate()
    threads = torch.get_num_threads()
    # Calls are small: to wait for other threads takes longer than they do.
    torch.set_num_threads(1)
    nowhere = io.StringIO()
    try:
        with (
            contextlib.redirect_stdout(nowhere),
            contextlib.redirect_stderr(nowhere),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")
            yield
    finally:
        torch.set_num_threads(threads)
        torch.default_generator.set_state(states[0])
        random.setstate(states[1])


@contextlib.contextmanager
def _bounded_memory() -> Iterator[None]:
    """Lets a call of an edited program that would take all of the machine's memory fail."""
    if sys.platform != "linux":
        yield
        return
    held = int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limits = [one for one in (soft, hard) if one != resource.RLIM_INFINITY]
    most = min([held + _MEMORY, *limits])
    resource.setrlimit(resource.RLIMIT_DATA, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
