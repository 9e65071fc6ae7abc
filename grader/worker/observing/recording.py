"""Records the intermediate values of a call, with the submission's lines that computed them."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from types import FrameType
from typing import Any, Self

import torch
from torch._C._functorch import is_functorch_wrapped_tensor
from torch.utils._python_dispatch import TorchDispatchMode

from grader.core.wire.calls import MAX_NUMBERS, MAX_RECORDS, MAX_TOGETHER, Record
from grader.worker.observing.lines import Onlooker

_LARGEST_NUMBER = 1 << 53
# A submission may keep a table of thousands of positions, whatever the call asks for.
_MOST_OF_A_TABLE = 1 << 14


class Recorder(Onlooker):
    """An observer of a call: it records results of torch operations and the submission's functions.

    With `follow_numbers`, it also records the integers that functions return, and the first rows of
    a large table. Other large tensors are skipped, and after a bounded number of elements all are.
    """

    def __init__(self, root: Path, follow_numbers: bool) -> None:
        super().__init__(root)
        self.records: list[Record] = []
        self._left = MAX_TOGETHER
        self._is_keeping = False
        self._follow_numbers = follow_numbers
        self._operations = _Operations(self)

    def __enter__(self) -> Self:
        self._operations.__enter__()  # type: ignore[no-untyped-call]
        return super().__enter__()

    def __exit__(self, *raised: object) -> None:
        super().__exit__(*raised)
        self._operations.__exit__(*raised)  # type: ignore[no-untyped-call]

    def _returned(self, frame: FrameType, value: object) -> None:
        is_final = not frame.f_code.co_flags & inspect.CO_GENERATOR
        if is_final and (self._follow_numbers or isinstance(value, torch.Tensor)):
            self.keep(value, frame)

    def keep(self, value: object, frame: FrameType | None) -> None:
        """Keeps a tensor or an integer, if there is room, with the lines on a frame's stack."""
        if self._is_keeping or len(self.records) == MAX_RECORDS:
            return
        # The recorder's own operations are not part of the call.
        self._is_keeping = True
        try:
            if isinstance(value, torch.Tensor) and self._follow_numbers:
                value = _first_rows(value)
            if isinstance(value, torch.Tensor) and self.has_room_for(value):
                self._left -= _numbers_in(value)
                self.records.append(Record(_copy(value), self._lines.stack(frame)))
            elif _is_whole(value) and self._left:
                self._left -= 1
                exact = torch.tensor(value, dtype=torch.float64, device="cpu")
                self.records.append(Record(exact, self._lines.stack(frame)))
        finally:
            self._is_keeping = False

    def has_room_for(self, tensor: torch.Tensor) -> bool:
        """Returns whether a tensor is of the kind and size that is kept."""
        return (
            0 < _numbers_in(tensor) <= min(MAX_NUMBERS, self._left)
            and _has_plain_memory(tensor)
            and tensor.device.type != "meta"
        )


class _Operations(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """A mode of torch that sees every operation, at any depth."""

    supports_higher_order_operators = True  # else torch refuses `torch.cond` under this mode

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._recorder = recorder

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:  # the signature is torch's
        result = func(*args, **kwargs or {})
        if "empty" in func.__name__ and isinstance(result, torch.Tensor):
            # Old contents of that memory must not be taken for computed values.
            return result.zero_() if self._recorder.has_room_for(result) else result
        frame = sys._getframe(1)
        schema = getattr(func, "_schema", None)  # operators like `torch.cond` have none
        is_mutable = schema is not None and schema.is_mutable
        for tensor in result if isinstance(result, tuple | list) else (result,):
            if isinstance(tensor, torch.Tensor):
                self._recorder.keep(tensor, frame)
                # x[..., 0::2] = y writes into x through a view of it.
                if is_mutable and tensor._base is not None:
                    self._recorder.keep(tensor._base, frame)
        return result


def _is_whole(value: object) -> bool:
    return type(value) is int and abs(value) < _LARGEST_NUMBER


def _numbers_in(tensor: torch.Tensor) -> int:
    """Returns how many real numbers a tensor holds."""
    return tensor.numel() * (2 if tensor.is_complex() else 1)


def _has_plain_memory(tensor: torch.Tensor) -> bool:
    return tensor.layout is torch.strided and not is_functorch_wrapped_tensor(tensor)


def _first_rows(table: torch.Tensor) -> torch.Tensor:
    """Returns the first rows of a tensor that is too large to be kept, and others as they are."""
    with torch._C.DisableTorchFunctionSubclass():  # a submission's class may take no slices
        numbers = _numbers_in(table)
        if numbers <= MAX_NUMBERS or not _has_plain_memory(table):
            return table
        return torch.narrow(table, 0, 0, _MOST_OF_A_TABLE * table.shape[0] // numbers)


def _copy(tensor: torch.Tensor) -> torch.Tensor:
    plain = torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor
    plain = plain.detach()
    wanted = torch.bool if plain.dtype is torch.bool else torch.float32
    return plain.to("cpu", wanted).clone(memory_format=torch.contiguous_format)
