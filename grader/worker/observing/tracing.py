"""Finds the line that gave a result its type or dtype.

The call is repeated under observation. Only lines of the submission itself are named.
"""

from __future__ import annotations

import io
import re
import sys
import warnings
import weakref
from collections.abc import Iterator
from contextlib import ExitStack, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, Self

import torch
from torch.overrides import TorchFunctionMode

from grader.core.wire.calls import Traced
from grader.core.wire.records import Line
from grader.worker.observing.lines import Onlooker

_MOST_NOTED = 4000


@dataclass(frozen=True, slots=True)
class _Return:
    """A return of a submission's function: its frame, its caller's, its value and line."""

    frame: int
    caller: int
    value: object
    line: Line


@dataclass(frozen=True, slots=True)
class _Operation:
    """A torch function that the submission called: its dtypes in and out, and its line.

    `parents` are the places of the operations that made the inputs. `derived` are the dtypes of
    float inputs that come from the call's own input.
    """

    inputs: frozenset[torch.dtype]
    output: torch.dtype
    line: Line
    parents: tuple[int, ...] = ()
    derived: frozenset[torch.dtype] = frozenset()


class Tracer(Onlooker):
    """An observer that notes the results of the submission's and torch's functions in a call."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self._returns: list[_Return] = []
        self._operations: list[_Operation] = []
        self._makers: dict[int, tuple[weakref.ref[torch.Tensor], int]] = {}
        self._contexts = ExitStack()

    def __enter__(self) -> Self:
        # Output and warnings were already reported at the first call.
        self._contexts.enter_context(redirect_stdout(io.StringIO()))
        self._contexts.enter_context(warnings.catch_warnings(action="ignore"))
        self._contexts.enter_context(_FunctionCalls(self))
        return super().__enter__()

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        self._contexts.close()

    def origin(self, result: object, what: Traced) -> Line | None:
        """Returns the line that gave a result its property `what`; None if it is not certain."""
        found = self._return_of(result)
        line = None if found is None else found.line
        if not isinstance(result, torch.Tensor):
            return line
        made = self._maker(result)
        if what is Traced.DTYPE and made is not None:
            line = self._operations[made].line
        return self._dtype_line(result) or line

    def note(self, inputs: Iterator[object], output: object, frame: FrameType | None) -> None:
        """Notes the result of a torch function and its input tensors."""
        if not isinstance(output, torch.Tensor) or len(self._operations) == _MOST_NOTED:
            return
        tensors = [one for one in inputs if isinstance(one, torch.Tensor)]
        stack = self._lines.stack(frame)
        if not stack:
            return
        dtypes = frozenset(one.dtype for one in tensors)
        made_by = [self._maker(one) for one in tensors]
        parents = tuple(dict.fromkeys(one for one in made_by if one is not None))
        derived = frozenset(
            one.dtype
            for one, maker in zip(tensors, made_by, strict=True)
            if one.is_floating_point() and (maker is None or self._operations[maker].derived)
        )
        self._makers[id(output)] = weakref.ref(output), len(self._operations)
        self._operations.append(_Operation(dtypes, output.dtype, stack[-1], parents, derived))

    def _maker(self, tensor: torch.Tensor) -> int | None:
        """Returns the place of the operation that made a tensor; None if it came from outside."""
        made, place = self._makers.get(id(tensor), (None, 0))
        return place if made is not None and made() is tensor else None

    def _return_of(self, result: object) -> _Return | None:
        """Returns the innermost return of the result, which outer functions only handed on."""
        if not self._returns or self._returns[-1].value is not result:
            return None
        found = self._returns[-1]
        for earlier in reversed(self._returns[:-1]):
            is_handed_on = result is not None or re.match(r"return\b", found.line.source)
            if earlier.caller != found.frame or earlier.value is not result or not is_handed_on:
                break
            found = earlier
        return found

    def _dtype_line(self, result: torch.Tensor) -> Line | None:
        """Returns the line that gave a result its dtype: the first for floats, else the last.

        Returns None if some floats were converted and others were created with the dtype, because
        the result may depend on either. If all were created so, the line is the one where the input
        meets them.
        """
        dtype = result.dtype
        made = [one for one in self._operations if one.output is dtype]
        becoming = [one for one in made if dtype not in one.inputs]
        if not dtype.is_floating_point:
            return becoming[-1].line if becoming else None
        if len({bool(one.inputs) for one in becoming}) == 2:
            return None
        behind = self._behind(result)
        meeting = [one for one in behind if one.derived - {dtype}]
        first = [*meeting, *(one for one in becoming if one in behind or not behind)]
        return first[0].line if first else None

    def _behind(self, result: torch.Tensor) -> list[_Operation]:
        """Returns the operations of a result's dtype that lead to it without leaving that dtype."""
        found: set[int] = set()
        maker = self._maker(result)
        left = [] if maker is None else [maker]
        while left:
            place = left.pop()
            operation = self._operations[place]
            if place not in found and operation.output is result.dtype:
                found.add(place)
                left += operation.parents
        return [self._operations[place] for place in sorted(found)]

    def _returned(self, frame: FrameType, value: object) -> None:
        if len(self._returns) < _MOST_NOTED:
            line = self._lines.stack(frame)[-1]
            caller = self._own_caller(frame)
            self._returns.append(_Return(id(frame), id(caller), value, line))

    def _own_caller(self, frame: FrameType) -> FrameType | None:
        """Returns the nearest of the submission's own frames that called a frame."""
        caller = frame.f_back
        while caller is not None and not self._lines.holds(caller.f_code.co_filename):
            caller = caller.f_back
        return caller


class _FunctionCalls(TorchFunctionMode):
    """A mode of torch that sees every call of a torch function, above autograd."""

    def __init__(self, tracer: Tracer) -> None:
        super().__init__()
        self._tracer = tracer

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:  # the signature is torch's
        result = func(*args, **kwargs or {})
        inputs = [*args, *(kwargs or {}).values()]
        inner = [one for each in inputs if isinstance(each, list | tuple) for one in each]
        self._tracer.note(iter([*inputs, *inner]), result, sys._getframe(1))
        return result
