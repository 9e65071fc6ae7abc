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
class _Made:
    """A tensor that a torch function made, and the line from which on it has its dtype.

    It is `derived` if a floating-point tensor that existed before the call went into it. It is
    `created` if no tensor went into it, or if all noted ones of its dtype that did are `created`.
    """

    tensor: weakref.ref[torch.Tensor]
    line: Line
    derived: bool
    created: bool


class Tracer(Onlooker):
    """An observer that notes the results of the submission's and torch's functions in a call."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self._returns: list[_Return] = []
        self._made: dict[int, _Made] = {}
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

    def origin(self, result: object) -> Line | None:
        """Returns the line that gave a tensor its dtype, or that returned another result.

        Returns None if it is not certain.
        """
        made = self._known(result) if isinstance(result, torch.Tensor) else None
        if made is not None:
            return made.line
        found = self._return_of(result)
        return None if found is None else found.line

    def note(self, inputs: Iterator[object], output: object, frame: FrameType | None) -> None:
        """Notes the result of a torch function, made from its input tensors.

        The result's own line gave it its dtype, if no noted input has that dtype. The same holds
        if a `derived` input has another dtype, or if a `created` tensor meets a converted one:
        either may be at fault.
        """
        if not isinstance(output, torch.Tensor) or len(self._made) == _MOST_NOTED:
            return
        stack = self._lines.stack(frame)
        if not stack:
            return
        tensors = [(one, self._known(one)) for one in inputs if isinstance(one, torch.Tensor)]
        derived = {
            one.dtype
            for one, made in tensors
            if one.is_floating_point() and (made is None or made.derived)
        }
        alike = [made for one, made in tensors if made and one.dtype is output.dtype]
        alike.sort(key=lambda made: not made.derived)
        is_first = not alike or bool(derived - {output.dtype})
        is_mixed = len({made.created for made in alike}) == 2
        self._made[id(output)] = _Made(
            weakref.ref(output),
            stack[-1] if is_first or is_mixed else alike[0].line,
            bool(derived),
            all(made.created for made in alike) if alike else not tensors,
        )

    def _known(self, tensor: torch.Tensor) -> _Made | None:
        """Returns the origin of a tensor; None if it came from outside."""
        made = self._made.get(id(tensor))
        return made if made is not None and made.tensor() is tensor else None

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
