"""Has edited programs answer calls, one after another, each from the state after the import."""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from types import ModuleType

import torch

from grader.wire.calls import Call
from grader.wire.flattening import as_tensor
from grader.wire.trials import Change, Outcomes, Trials
from grader.wire.values import Elsewhere, Foreign
from grader.worker.carrying_out import Living
from grader.worker.handing_over import arrived, copied, portable
from grader.worker.observing.following import Follower
from grader.worker.trying.alarm import Alarm
from grader.worker.trying.exchanging import CannotExchange, Source, Swap, functions_below
from grader.worker.trying.remembering import State, modules_below

# Of a processor. An edited loop may never end: no call of a trial, nor what it makes, takes longer.
_CALL_SECONDS = 0.4
_MOST_NUMBERS = 1 << 14

Function = Callable[..., object]
Edit = Mapping[str, Sequence[Change]]
Answer = torch.Tensor | None


class Trying:
    """Tries edits of one submission's loaded functions.

    Its modules are those of files below `root`, unless they are told. Time is kept by a `clock` in
    seconds.
    """

    def __init__(
        self,
        functions: Mapping[str, Function],
        root: Path,
        modules: Collection[ModuleType] | None = None,
        clock: Callable[[], float] = time.thread_time,
    ) -> None:
        self._adapters = functions
        self._root = root
        own = modules_below(f"{root}{os.sep}") if modules is None else modules
        within = None if modules is None else {id(vars(module)) for module in modules}
        self._functions = functions_below(f"{root}{os.sep}", within)
        functions_of_files = itertools.chain(*self._functions.values())
        self._state = State(f"{root}{os.sep}", own, functions_of_files, within)
        self._sources: dict[str, Source | None] = {}
        self._clock = clock
        self._alarm = Alarm()

    def perform(self, trials: Trials) -> Outcomes:
        """What the edited programs answer: as far as they answer otherwise than the loaded one.

        An edit goes on to the next call as long as its answers are tensors or numbers, and other
        ones than without it, where they are to change. What is not begun in time is left out.
        """
        end = self._clock() + trials.seconds
        outcomes = Outcomes()
        with self._alarm.held():
            with Follower(self._root) as follower:
                for call in trials.calls[: trials.follow]:
                    self._answer(call, ())
            outcomes.passed = follower.passed
            edits = bool(trials.edits)
            before = [self._answer(call, ()) for call in trials.calls] if edits else []
            for number, edit in enumerate(trials.edits):
                if self._clock() > end:
                    break
                outcomes.tried += 1
                self._try(number, edit, trials, before, outcomes)
        self._alarm.go_on()
        self._state.restore()
        return outcomes

    def _try(
        self, number: int, edit: Edit, trials: Trials, before: Sequence[Answer], outcomes: Outcomes
    ) -> None:
        self._state.restore()
        try:
            swaps = [swap for file, own in edit.items() for swap in self._swaps(file, own)]
        except CannotExchange:
            return
        for place, call in enumerate(trials.calls):
            outcomes.calls += 1
            answer = self._answer(call, swaps)
            must_change = place < trials.to_change
            if must_change and (answer is None or _same(answer, before[place])):
                return
            if answer is not None:
                outcomes.add(number, place, answer)

    def _swaps(self, file: str, changes: Sequence[Change]) -> Sequence[Swap]:
        source = self._source(file)
        if source is None:
            raise CannotExchange
        self._alarm.set(_CALL_SECONDS)
        try:
            return source.exchange_for(changes)
        finally:
            self._alarm.set(0)

    def _answer(self, call: Call, swaps: Sequence[Swap]) -> Answer:
        """What the program answers to a call when so much of it is exchanged.

        Nothing, if that cannot cross.
        """
        function = self._adapters.get(call.adapter)
        if function is None:
            return None
        self._alarm.go_on()
        self._state.restore()
        torch.default_generator.manual_seed(call.seed)
        random.seed(call.seed)
        arguments = {name: arrived(copied(own)) for name, own in call.arguments.items()}
        done: list[Swap] = []
        try:
            for swap in swaps:
                swap.apply()
                done.append(swap)
            self._alarm.set(_CALL_SECONDS)
            with Living(self._adapters) as living:
                made = living.result(function, arguments, call)
                result = portable(made, may_be_on_cpu=True)
        except BaseException:  # an edited program may raise anything at all
            return None
        finally:
            self._alarm.set(0)
            for swap in reversed(done):
                swap.undo()
        if isinstance(result, Foreign | Elsewhere):
            return None
        answer = as_tensor(result)
        return answer if answer.numel() <= _MOST_NUMBERS else None

    def _source(self, file: str) -> Source | None:
        if file not in self._sources:
            path = self._root / file
            self._sources[file] = None
            with contextlib.suppress(OSError, ValueError, SyntaxError, RecursionError):
                self._sources[file] = Source(path, self._functions.get(str(path), []))
        return self._sources[file]


def _same(one: torch.Tensor, other: Answer) -> bool:
    return other is not None and one.dtype == other.dtype and torch.equal(one, other)
