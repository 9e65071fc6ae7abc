"""Records the intermediate values of a call, with the submission's lines that computed them.

Weights that a call loads only in part, with `strict=False` or without a bias, are noted as well.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from torch._C._functorch import is_functorch_wrapped_tensor
from torch.nn.modules.module import register_module_forward_pre_hook
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

from grader.core.wire.calls import MAX_UNLOADED
from grader.core.wire.records import MAX_NUMBERS, MAX_RECORDS, MAX_TOGETHER, Line, Record, Unloaded
from grader.worker.observing.lines import Onlooker, OwnLines

_MOST_NAMES = 20
_MOST_LAYERS = 20


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


@dataclass(frozen=True, slots=True)
class _Made:
    """A linear layer that a call makes, with the numbers that it has at first."""

    layer: torch.nn.Linear
    line: Line
    weight: torch.Tensor
    bias: torch.Tensor

    def unloaded(self) -> Unloaded | None:
        """Returns the bias if it still has its first numbers, and the weight has others."""
        layer, bias = self.layer, self.layer.bias
        left = bias is not None and torch.equal(bias.detach(), self.bias)
        if not left or torch.equal(layer.weight.detach(), self.weight):
            return None
        return Unloaded(self.line, ("bias",), 1, 2, as_made=True)


class PartialLoads:
    """An observer of a call: it notes the parameters of a module that no load sets.

    It also notes the biases of linear layers that are called with them after their weights alone
    were set. `torch.func.functional_call` may call a layer with another bias than its own.
    """

    def __init__(self, lines: OwnLines) -> None:
        self._lines = lines
        self._loads: dict[int, _Load] = {}
        self._made: dict[int, _Made] = {}
        self._called: set[int] = set()
        self._set: dict[int, torch.nn.Parameter] = {}

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

        first = torch.nn.Linear.reset_parameters

        @functools.wraps(first)
        def make(layer: Any) -> None:
            first(layer)
            with contextlib.suppress(Exception), _disable_current_modes():
                self._note_layer(layer, sys._getframe(1))

        torch.nn.Module.load_state_dict = load  # type: ignore[method-assign, assignment]
        torch.nn.Linear.reset_parameters = make  # type: ignore[method-assign, assignment]
        hook = register_module_forward_pre_hook(lambda one, _: self._note_call(one))
        try:
            yield
        finally:
            hook.remove()
            torch.nn.Module.load_state_dict = earlier  # type: ignore[method-assign]
            torch.nn.Linear.reset_parameters = first  # type: ignore[method-assign]

    def unloaded(self) -> tuple[Unloaded, ...]:
        """Returns the parameters that are still not set, by module."""
        with contextlib.suppress(Exception):
            told = {id(one) for load in self._loads.values() for one, _ in load.left.values()}
            made = sorted(self._made.values(), key=lambda one: (one.line.file, one.line.line))
            found = [load.unloaded() for load in self._loads.values()]
            found += [one.unloaded() for one in made if id(one.layer.bias) in self._called - told]
            return tuple(one for one in found if one is not None)[:MAX_UNLOADED]
        return ()

    def _note_layer(self, layer: torch.nn.Linear, frame: FrameType) -> None:
        lines = self._lines.stack(frame)
        is_small = layer.bias is not None and layer.weight.numel() <= MAX_NUMBERS
        if lines and is_small and len(self._made) < _MOST_LAYERS:
            weight, bias = (one.detach().clone() for one in (layer.weight, layer.bias))
            self._called.discard(id(layer.bias))  # of a bias that is gone
            self._made[id(layer)] = _Made(layer, lines[-1], weight, bias)

    def _note_call(self, module: torch.nn.Module) -> None:
        if id(module) in self._made:
            self._called.add(id(module._parameters.get("bias")))

    def _note(self, module: torch.nn.Module, missing: list[str], frame: FrameType) -> None:
        absent = set(missing)
        # A parameter may have several names, and modules that are loaded alone.
        every = module.named_parameters(remove_duplicate=False)
        self._set |= {id(one): one for name, one in every if name not in absent}
        if lines := self._lines.stack(frame):
            own = dict(module.named_parameters())
            left = {n: (one, one._version) for n, one in own.items() if id(one) not in self._set}
            self._loads[id(module)] = _Load(module, lines[-1], left, len(own))


_LARGEST_NUMBER = 1 << 53
# A submission may keep a table of thousands of positions, whatever the call asks for.
_MOST_OF_A_TABLE = 1 << 14


class Recorder:
    """An observer of a call: it records results of torch operations and the submission's functions.

    With `follow_numbers`, it also records the integers that variables hold, line by line, and the
    first rows of a large table. Other large tensors are skipped, and after a bounded number of
    elements all are. `loads` notes the modules that are loaded only in part.
    """

    def __init__(self, root: Path, follow_numbers: bool) -> None:
        self.records: list[Record] = []
        self._left = MAX_TOGETHER
        self._is_keeping = False
        self._lines = OwnLines(root)
        self.loads = PartialLoads(self._lines)
        self._follow_numbers = follow_numbers
        self._contexts = ExitStack()

    def __enter__(self) -> Recorder:
        self._contexts.enter_context(_Operations(self))
        self._contexts.enter_context(_FunctionCalls(self, self._lines, self._follow_numbers))
        self._contexts.enter_context(self.loads.watched())
        return self

    def __exit__(self, *_: object) -> None:
        self._contexts.close()

    def keep(self, value: object, frame: FrameType | None, number: int = 0) -> None:
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
                self.records.append(Record(_copy(value), self._lines.stack(frame, number)))
            elif _is_whole(value) and self._left:
                self._left -= 1
                exact = torch.tensor(value, dtype=torch.float64, device="cpu")
                self.records.append(Record(exact, self._lines.stack(frame, number)))
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


class _FunctionCalls(Onlooker):
    """An observer of the results of the submission's functions and, if asked, their integers."""

    def __init__(self, recorder: Recorder, lines: OwnLines, follow_numbers: bool) -> None:
        self._recorder = recorder
        self._lines = lines
        self._follow_numbers = follow_numbers
        self._known: dict[FrameType, tuple[int, dict[str, object]]] = {}

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        self._known.clear()

    def _called(self, frame: FrameType, _event: str, _argument: object) -> Any:
        code = frame.f_code
        if not self._lines.holds(code.co_filename) or code.co_flags & inspect.CO_GENERATOR:
            return None
        frame.f_trace_lines = self._follow_numbers
        return self._local_trace

    def _local_trace(self, frame: FrameType, event: str, argument: object) -> Any:
        if self._follow_numbers:
            self._keep_numbers(frame)
        if event == "return" and (self._follow_numbers or isinstance(argument, torch.Tensor)):
            self._recorder.keep(argument, frame)
        if event == "return":
            self._known.pop(frame, None)
        return self._local_trace

    def _keep_numbers(self, frame: FrameType) -> None:
        """Keeps the integers that the line which has just run put into variables."""
        numbers = {name: one for name, one in frame.f_locals.items() if _is_whole(one)}
        line, before = self._known.get(frame, (0, numbers))
        for name, one in numbers.items():
            if before.get(name) != one:
                self._recorder.keep(one, frame, line)
        self._known[frame] = frame.f_lineno or 0, numbers


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
