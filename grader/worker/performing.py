"""Makes one call of an adapter and observes it; nothing here decides anything."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path

import torch

from grader.counting import WorkCounter
from grader.wire.calls import Answer, Call, Raised, Work
from grader.wire.frames import DTYPES, MAX_PAYLOAD, Elsewhere, Foreign, Value
from grader.worker.observing.recording import Recorder
from grader.worker.observing.tracing import Tracer
from grader.worker.telling.describing import foreign
from grader.worker.telling.raising import describe_exception

_DTYPE_NAMES = {dtype: name for name, dtype in DTYPES.items()}


def perform(function: Callable[..., object], call: Call, root: Path) -> Answer:
    """Calls an adapter as `call` says; whatever it raises becomes part of the answer.

    Frames of what was raised are those of files below `root`.
    """
    # torch.manual_seed would also note for devices that are not there who asked for it.
    torch.default_generator.manual_seed(call.seed)
    if call.device.startswith("cuda"):
        torch.cuda.manual_seed(call.seed)
    random.seed(call.seed)
    counter = WorkCounter() if call.count_work else None
    numbers = not any(isinstance(value, torch.Tensor) for value in call.arguments.values())
    recorder = Recorder(root, follow_numbers=numbers) if call.record else None
    tracer = Tracer(root) if call.trace is not None else None
    try:
        arguments = {name: _put(value, call.device) for name, value in call.arguments.items()}
        watched = {
            name: value.clone()
            for name, value in arguments.items()
            if call.watch_inputs and isinstance(value, torch.Tensor)
        }
        wanted = {name: _differentiable(arguments[name]) for name in call.wrt}
        with ExitStack() as observed:
            if call.default_device:
                observed.enter_context(torch.device(call.device))
            for onlooker in (counter, recorder, tracer):
                if onlooker is not None:
                    observed.enter_context(onlooker)
            result = function(**arguments)
        return Answer(
            value=portable(result, call.device, may_be_on_cpu=numbers),
            gradients=_gradients(result, wanted, call.cotangent),
            changed_inputs=tuple(
                name for name, before in watched.items() if not _same(before, arguments[name])
            ),
            work=Work(counter.operations, counter.largest) if counter is not None else None,
            records=tuple(recorder.records) if recorder is not None else (),
            origin=tracer.origin(result, call.trace) if tracer and call.trace else None,
        )
    except BaseException as exception:  # a submission may raise anything at all
        return Answer(raised=describe_exception(exception, root, function))


def absent(adapter: str) -> Answer:
    """The answer to a call of an adapter that the submission does not have."""
    return Answer(raised=Raised("NameError", f"there is no function {adapter}", missing=True))


def portable(result: object, device: str = "cpu", may_be_on_cpu: bool = False) -> Value:
    """What of a result can cross to the judge: plain numbers, dense tensors, else a description.

    A tensor crosses from the `device` of the call; from the CPU also where `may_be_on_cpu`, as
    the inputs of the call are on no device.
    """
    if result is None or isinstance(result, bool | int | float):
        return result if not isinstance(result, int) or abs(result) < 1 << 63 else Foreign("int")
    if not isinstance(result, torch.Tensor):
        return foreign(result)
    with torch._C.DisableTorchFunctionSubclass():
        dtype = _DTYPE_NAMES.get(result.dtype)
        shape = tuple(result.shape)
        kind = result.device.type
        is_there = kind == device.partition(":")[0] or (may_be_on_cpu and kind == "cpu")
        if not is_there or kind == "meta":
            return Elsewhere(str(result.dtype).removeprefix("torch."), shape, str(result.device))
        if dtype is None or result.layout is not torch.strided:
            return Foreign(f"a tensor of dtype {result.dtype} and layout {result.layout}")
        if math.prod(size or 1 for size in shape) * result.element_size() > MAX_PAYLOAD:
            return Foreign(f"a tensor of shape {list(shape)}, too large to be an answer")
        return result.detach().cpu().resolve_conj().resolve_neg().contiguous()


def _put(value: Value, device: str) -> Value:
    return value.to(device) if isinstance(value, torch.Tensor) and device != "cpu" else value


def _differentiable(value: Value) -> torch.Tensor:
    if not isinstance(value, torch.Tensor):
        raise TypeError("a gradient is wanted with respect to something that is no tensor")
    return value.requires_grad_()


def _gradients(
    result: object, wanted: Mapping[str, torch.Tensor], cotangent: torch.Tensor | None
) -> dict[str, torch.Tensor]:
    """The products that exist; an input that the result does not depend on has none."""
    if not wanted or not isinstance(result, torch.Tensor) or not result.requires_grad:
        return {}
    if cotangent is None or cotangent.shape != result.shape:
        return {}
    products = torch.autograd.grad(
        result, list(wanted.values()), cotangent.to(result), allow_unused=True
    )
    return {
        name: product.cpu().contiguous()
        for name, product in zip(wanted, products, strict=True)
        if product is not None
    }


def _same(before: torch.Tensor, after: Value) -> bool:
    return (
        isinstance(after, torch.Tensor)
        and before.shape == after.shape
        and before.dtype == after.dtype
        and bool(((before == after) | before.ne(before)).all())
    )
