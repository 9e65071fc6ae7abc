"""Notes weights that a call loads with `strict=False`, and not wholly."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import FrameType
from typing import Any

import torch

from grader.core.wire.calls import MAX_UNLOADED
from grader.core.wire.records import Line, Unloaded
from grader.worker.observing.lines import OwnLines

_MOST_NAMES = 20


@dataclass(frozen=True, slots=True)
class _Load:
    """The last load of a module: the parameters that no load has set, with their versions."""

    module: torch.nn.Module
    line: Line
    left: Mapping[str, tuple[torch.nn.Parameter, int]]
    of: int

    def unloaded(self) -> Unloaded | None:
        """Returns the parameters that nothing has set since, if there are any."""
        now = dict(self.module.named_parameters())
        names = [
            name
            for name, (parameter, version) in self.left.items()
            if now.get(name) is parameter and parameter._version == version
        ]
        some = tuple(names[:_MOST_NAMES])
        return Unloaded(self.line, some, len(names), self.of) if names else None


class PartialLoads:
    """Looks on at a call: the parameters that all loads of a module leave as they were."""

    def __init__(self, lines: OwnLines) -> None:
        self._lines = lines
        self._loads: dict[int, _Load] = {}

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """Notes the loads of modules in this context."""
        earlier = torch.nn.Module.load_state_dict

        @functools.wraps(earlier)
        def load(module: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
            result: Any = earlier(module, *args, **kwargs)
            with contextlib.suppress(Exception):  # a submission's own classes may raise anything
                self._note(module, result.missing_keys, sys._getframe(1))
            return result

        torch.nn.Module.load_state_dict = load  # type: ignore[method-assign, assignment]
        try:
            yield
        finally:
            torch.nn.Module.load_state_dict = earlier  # type: ignore[method-assign]

    def unloaded(self) -> tuple[Unloaded, ...]:
        """Returns what stayed as it was, by module."""
        with contextlib.suppress(Exception):
            found = [load.unloaded() for load in self._loads.values()]
            return tuple(one for one in found if one is not None)[:MAX_UNLOADED]
        return ()

    def _note(self, module: torch.nn.Module, missing: list[str], frame: FrameType) -> None:
        lines, before = self._lines.stack(frame), self._loads.get(id(module))
        if not lines:
            return
        own, absent = dict(module.named_parameters()), set(missing)
        if before is not None:  # another load has set the others
            absent &= before.left.keys()
        left = {name: (one, one._version) for name, one in own.items() if name in absent}
        self._loads[id(module)] = _Load(module, lines[-1], left, len(own))
