"""Repairs of wrong exercises, tried in the process of `pytest`, that prove a line wrong."""

from __future__ import annotations

import contextlib
import io
import itertools
import pdb
import random
import sys
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy
import pytest
import torch

from grader.core.processes import limited_memory_growth
from grader.core.wire.frames import decode, received
from grader.core.wire.trials import Outcomes, Passed, Trials, encode_trials, trials_in
from grader.explain.mistakes.catalogue import Catalogue
from grader.explain.repair.choice import Line, RepairedExercise
from grader.explain.repair.earlier_calls import Dependence, dependence
from grader.explain.repair.exercises import ExerciseRepair
from grader.explain.repair.questions import CheckedCall, telling
from grader.explain.repair.search import Search, SearchBounds, Workbench
from grader.explain.repair.sources import EditableSources
from grader.explain.rewriting.slips import load_slips
from grader.home.bench import CONTRACT
from grader.home.reimport import CannotCopy, Reimport
from grader.home.time_limit import own_time
from grader.worker.trials.alarm import TooLong
from grader.worker.trials.trials import Trying

_ADAPTERS = "adapters.py"
_MEMORY = 1 << 30
_FOLLOWED = 3
# With another axis `vmap` may read beyond a tensor's memory, which would crash `pytest`.
_CRASHING = "vmap"


# The bounds of all searches together.
QUICK = SearchBounds(2000, 2.0)
UNHURRIED = SearchBounds(sys.maxsize, 1e9)


class HomeRepair:
    """The repairs of wrong exercises, searched for on request within one budget.

    `asked` are the calls whose right answer is known, in the order of exercises. `is_complete`
    tells whether nothing was left untried for an exercise without a repair. `ignored` says what its
    code takes and never uses.
    """

    def __init__(
        self,
        bench: HomeBench,
        catalogue: Catalogue,
        asked: Mapping[str, Sequence[CheckedCall]],
        patience: SearchBounds,
    ) -> None:
        self._bench = bench
        self._catalogue = catalogue
        self._asked = asked
        self._left = patience
        self._end = 0.0
        self._begun: list[Search] = []
        self._wrong = [name for name, own in asked.items() if not all(one.right for one in own)]
        self._passed: dict[str, set[Line]] = {}
        self._repairs = ExerciseRepair(bench.sources, _ADAPTERS, self._search)
        self.ignored = self._repairs.ignored
        self.is_complete = True

    def of(self, exercise: str) -> RepairedExercise | None:
        """Returns the repair of an exercise. Exercises that share its lines come first.

        Raises:
            KeyboardInterrupt: at Ctrl-C.
        """
        if exercise not in self._wrong:
            return None
        if exercise not in self._repairs.chosen:
            self._end = own_time() + self._left.seconds
            try:
                self._attempt(exercise)
            finally:
                self._left = SearchBounds(self._left.edits, self._end - own_time())
        return self._repairs.chosen.get(exercise)

    def roots_of(self, exercise: str, failing: Iterable[str]) -> list[str]:
        """Returns `failing` or earlier wrong exercises all of whose lines this one also runs."""
        own = self._lines_of(exercise)
        others = dict.fromkeys([*self._earlier(exercise), *failing])
        return [one for one in others if one != exercise and set() < self._lines_of(one) <= own]

    def _earlier(self, exercise: str) -> list[str]:
        return [*itertools.takewhile(lambda one: one != exercise, self._wrong)]

    def _attempt(self, exercise: str) -> None:
        own = self._lines_of(exercise)
        roots = [one for one in self._earlier(exercise) if self._lines_of(one) & own]
        asked = {name: self._asked[name] for name in (*roots, exercise)}
        try:
            for attempt in self._repairs.attempts(asked):
                self.is_complete &= attempt.is_whole or attempt.choice is not None
        except (MemoryError, TooLong):
            self._repairs.chosen.setdefault(exercise, None)
            self.is_complete = False
        except KeyboardInterrupt:
            self.is_complete = False
            raise

    def _search(self, exercise: str, answers_only: bool) -> Search | None:
        """Returns a search within the rest of the budget; None if the budget is used up."""
        edits = self._left.edits - sum(one.tried for one in self._begun)
        seconds = self._end - own_time()
        if edits <= 0 or seconds <= 0:
            return None
        bounds, every = SearchBounds(edits, seconds), [*itertools.chain(*self._asked.values())]
        search = Search(self._catalogue, self._bench.lent, exercise, every, answers_only, bounds)
        self._begun.append(search)
        return search

    def running(self, lines: Collection[Line]) -> list[str]:
        """Returns the exercises of which a few calls run one of these lines."""
        return [name for name in self._asked if not self._passed_by(name).isdisjoint(lines)]

    def _lines_of(self, exercise: str) -> set[Line]:
        """Returns the lines outside the adapters that a few calls of an exercise run."""
        return {line for line in self._passed_by(exercise) if line[0] != _ADAPTERS}

    def _passed_by(self, exercise: str) -> set[Line]:
        """Returns the lines that a few calls of an exercise run.

        Takes calls with wrong answers if there are any.
        """
        if exercise not in self._passed:
            own = self._asked.get(exercise, ())
            wrong = [one for one in own if not one.right] or own
            calls = [one.question.call for one in telling(wrong, _FOLLOWED)]
            passed: Sequence[Passed] = ()
            with contextlib.suppress(MemoryError, TooLong):
                passed = self._bench.try_edits(Trials(calls, 0, (), 1.0, len(calls))).passed
            self._passed[exercise] = {(one.file, line) for one in passed for line in one.lines}
        return self._passed[exercise]


class HomeBench:
    """A copy of the student's modules in this process, in which edits can be tried.

    `seconds` is the time that trials have taken.

    Raises:
        CannotCopy: if they cannot be imported a second time, or an edit may end this process.
    """

    def __init__(self, root: Path) -> None:
        with quietly():
            self._copy = Reimport(root)
            self.functions, modules = self._copy.functions, self._copy.modules
            self.settings = self._copy.settings
            with self.settings.in_force():
                self._trying = Trying(self.functions, root, modules, own_time)
        slips, contract = load_slips(root), root / CONTRACT
        self.sources = EditableSources.of(root, self._copy.files, slips, contract)
        if any(_CRASHING in text for text in self.sources.texts.values()):
            raise CannotCopy
        self.seconds = 0.0

    @contextlib.contextmanager
    def in_place(self) -> Iterator[None]:
        """Puts the copy in the place of the student's modules, quietly and with bounded memory."""
        with quietly(), limited_memory_growth(_MEMORY), self._copy.in_place():
            yield

    @contextlib.contextmanager
    def lent(self) -> Iterator[Workbench]:
        """Provides this bench itself: there is no other copy."""
        yield self

    def dependence(self, catalogue: Catalogue, asked: Iterable[CheckedCall]) -> Dependence:
        """Returns which wrong calls are right with no call before them."""
        with contextlib.suppress(MemoryError, TooLong):
            return dependence(catalogue, self.lent, asked)
        return Dependence()

    def try_edits(self, trials: Trials) -> Outcomes:
        """Returns the outcomes of trials, which pass through a frame as on the way to a worker."""
        arrived = decode(received(encode_trials(trials)), trusted=True)
        began = own_time()
        try:
            with self.in_place(), self.settings.in_force():
                return self._trying.perform(trials_in(*arrived))
        finally:
            self.seconds += own_time() - began


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """Swallows output and warnings, and restores the random number generators.

    No debugger starts: these calls are not those of a test.
    """
    states = torch.default_generator.get_state(), random.getstate(), numpy.random.get_state()
    threads = torch.get_num_threads()
    # Calls are small: waiting for other threads would take longer than the calls.
    torch.set_num_threads(1)
    nowhere = io.StringIO()
    try:
        with (
            contextlib.redirect_stdout(nowhere),
            contextlib.redirect_stderr(nowhere),
            warnings.catch_warnings(),
            pytest.MonkeyPatch.context() as patch,
        ):
            warnings.simplefilter("ignore")
            patch.setattr(sys, "breakpointhook", lambda *_, **__: None)
            patch.setattr(pdb, "set_trace", lambda *_, **__: None)
            yield
    finally:
        torch.set_num_threads(threads)
        torch.default_generator.set_state(states[0])
        random.setstate(states[1])
        numpy.random.set_state(states[2])
