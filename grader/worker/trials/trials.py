"""Lets edited programs answer calls, each from the state after the import."""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from types import ModuleType

import torch

from grader.core.wire.calls import Call
from grader.core.wire.trials import Outcomes, TextChange, Trials
from grader.core.wire.value_rows import as_tensor
from grader.core.wire.values import Elsewhere, Foreign
from grader.worker.marshalling import arrived, copied, portable, same_values
from grader.worker.observing.lines import LineFollower
from grader.worker.performing import Living, seed
from grader.worker.trials.alarm import Alarm
from grader.worker.trials.exchange import CannotExchange, LoadedSource, Swap, functions_below
from grader.worker.trials.memory import State, modules_below

# Seconds of processor time for a call, and for applying an edit: an edited loop may never end.
_CALL_SECONDS = 0.4
# A larger answer is as good as none: many answers wait in memory.
_MOST_NUMBERS = 1 << 14

Function = Callable[..., object]
Edit = Mapping[str, Sequence[TextChange]]
Answer = torch.Tensor | None


class Trying:
    """Trials of edits of one submission's loaded functions.

    Without `modules`, the submission's modules are those whose files are below `root`. `clock`
    returns seconds.
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
        self._modules = own
        self._sources: dict[str, LoadedSource | None] = {}
        self._clock = clock
        self._alarm = Alarm()

    def perform(self, trials: Trials) -> Outcomes:
        """Returns the answers of edited programs, and the lines that calls of the loaded one run.

        An edit is dropped at the first call whose answer must change, and does not or is missing.
        Edits that would begin too late are left out. An edit that stays is only applied.
        """
        end = self._clock() + trials.seconds
        outcomes = Outcomes()
        self._state.restore()
        with self._alarm.held():
            if trials.stays:
                swaps = self._swaps_of(trials.edits[0])
                for swap in swaps or ():
                    swap()
                outcomes.tried = int(swaps is not None)
                return outcomes
            follower = LineFollower(self._root)
            for call in trials.calls[: trials.follow]:
                with follower:  # for each call: an alarm in a trace function ends the tracing
                    self._answer(call, ())
            outcomes.passed = follower.passed
            changing = trials.calls[: trials.to_change] if trials.edits else ()
            controls = [self._answer(call, ()) for call in changing]
            for number, edit in enumerate(trials.edits):
                if self._clock() > end:
                    break
                outcomes.tried += 1
                self._try(number, edit, trials, controls, outcomes)
        self._alarm.go_on()
        return outcomes

    def _try(
        self,
        number: int,
        edit: Edit,
        trials: Trials,
        controls: Sequence[Answer],
        outcomes: Outcomes,
    ) -> None:
        """Adds the answers of one edited program to the outcomes."""
        swaps = self._swaps_of(edit)
        if swaps is None:
            return
        for place, call in enumerate(trials.calls):
            answer = self._answer(call, swaps)
            if place < len(controls) and (answer is None or same_values(answer, controls[place])):
                return
            if answer is not None:
                outcomes.add(number, place, answer)

    def _swaps_of(self, edit: Edit) -> Sequence[Swap] | None:
        """Returns the swaps that make an edit; None if the loaded program cannot be edited so."""
        try:
            return [swap for file, own in edit.items() for swap in self._swaps(file, own)]
        except CannotExchange:
            return None

    def _swaps(self, file: str, changes: Sequence[TextChange]) -> Sequence[Swap]:
        source = self._source(file)
        if source is None:
            raise CannotExchange
        self._alarm.set(_CALL_SECONDS)
        try:
            return source.exchange_for(changes)
        finally:
            self._alarm.set(0)
            self._state.restore()

    def _answer(self, call: Call, swaps: Sequence[Swap]) -> Answer:
        """Returns the program's answer to a call after some swaps, and restores the state.

        Returns None if the call raises or takes too long, or its answer is too large or cannot
        cross.
        """
        function = self._adapters.get(call.adapter)
        if function is None:
            return None
        self._alarm.go_on()
        arguments = arrived(copied(dict(call.arguments)))
        try:
            for swap in swaps:
                swap()
            self._alarm.set(_CALL_SECONDS)
            with Living(self._adapters) as living:
                made = living.result(function, arguments, call, functools.partial(seed, call))
                # The answer may share memory with the state.
                result = copied(portable(made, may_be_on_cpu=True))
        except BaseException:  # an edited program may raise anything
            return None
        finally:
            self._alarm.set(0)
            self._state.restore()
        if isinstance(result, Foreign | Elsewhere):
            return None
        answer = as_tensor(result)
        return answer if answer.numel() <= _MOST_NUMBERS else None

    def _source(self, file: str) -> LoadedSource | None:
        if file not in self._sources:
            path = self._root / file
            self._sources[file] = None
            with contextlib.suppress(OSError, ValueError, SyntaxError, RecursionError):
                self._sources[file] = LoadedSource(
                    path, self._functions.get(str(path), []), self._modules
                )
        return self._sources[file]
