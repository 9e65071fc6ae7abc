"""Makes one call of an adapter and observes it; nothing here decides anything."""

from __future__ import annotations

import contextlib
import random
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy
import torch

from grader.core.counting import WorkCounter
from grader.core.wire.calls import Answer, Call, Raised, Work
from grader.core.wire.values import Foreign
from grader.worker.calls.interpreter import Functions, Living, NoAdapter
from grader.worker.calls.marshalling import arrived, copied, differing, holds_tensor, portable
from grader.worker.exceptions.raising import describe_exception
from grader.worker.observing.lines import LineCounter
from grader.worker.observing.recording import Recorder
from grader.worker.observing.tracing import Tracer

_NUMPY_SEEDS = 1 << 32


def perform(
    function: Callable[..., object],
    call: Call,
    root: Path,
    functions: Functions | None = None,
    living: Living | None = None,
) -> Answer:
    """Calls an adapter as `call` says; whatever it raises becomes part of the answer.

    Frames of what was raised are those of files below `root`. Steps may ask other `functions`.
    `living` is what the call before made, if this one may go on with it.
    """
    goes_on = living is not None and call.is_plain and not call.record
    with contextlib.ExitStack() as leaving:
        if living is None or not goes_on:
            living = leaving.enter_context(Living(functions))
        return _performed(function, call, root, living)


def _performed(function: Callable[..., object], call: Call, root: Path, living: Living) -> Answer:
    counter = WorkCounter() if call.count_work else None
    lines = LineCounter() if call.count_lines else None
    numbers = not any(map(holds_tensor, call.arguments.values()))
    recorder = Recorder(root, follow_numbers=numbers) if call.record else None
    tracer = Tracer(root) if call.trace is not None else None
    try:
        arguments = {name: arrived(value, call.device) for name, value in call.arguments.items()}
        watched = {name: copied(own) for name, own in arguments.items() if call.watch_inputs}
        wanted = {name: _differentiable(arguments[name]) for name in call.wrt}
        with contextlib.ExitStack() as observed:
            if call.default_device:
                observed.enter_context(torch.device(call.device))
            for onlooker in (counter, recorder, tracer, lines):
                if onlooker is not None:
                    observed.enter_context(onlooker)
            result = living.result(function, arguments, call, lambda step: seed(call, step))
        value = portable(result, call.device, may_be_on_cpu=numbers)
        # Where nothing is encoded, later steps would change what was answered.
        value = copied(value) if call.is_script else value
        if not call.is_script and (not isinstance(value, Foreign) or torch.is_tensor(result)):
            # Data is no object that somebody goes on with.
            living.forget()
        return Answer(
            value=value,
            gradients=_gradients(result, wanted, call.cotangent),
            changed_inputs=differing(watched, arguments),
            work=_work(counter, lines),
            records=tuple(recorder.records) if recorder is not None else (),
            unloaded=recorder.loads.unloaded() if recorder is not None else (),
            origin=tracer.origin(result, call.trace) if tracer and call.trace else None,
        )
    except NoAdapter as lacking:
        return absent(str(lacking))
    except BaseException as exception:  # a submission may raise anything at all
        return Answer(raised=describe_exception(exception, root, living.called))


def _work(counter: WorkCounter | None, lines: LineCounter | None) -> Work | None:
    if counter is None and lines is None:
        return None
    operations, largest = (counter.operations, counter.largest) if counter is not None else (0, 0)
    return Work(operations, largest, lines.lines if lines is not None else 0)


def seed(call: Call, step: int) -> None:
    """Seeds all that draws random numbers, for one step of a call."""
    number = call.seed + step
    # torch.manual_seed would also note for devices that are not there who asked for it.
    torch.default_generator.manual_seed(number)
    if call.device.startswith("cuda"):
        torch.cuda.manual_seed(number)
    random.seed(number)
    if "numpy.random" in sys.modules:
        numpy.random.seed(number % _NUMPY_SEEDS)


def absent(adapter: str) -> Answer:
    """Returns the answer to a call of an adapter that the submission does not have."""
    return Answer(raised=Raised("NameError", f"there is no function {adapter}", missing=True))


def _differentiable(value: object) -> torch.Tensor:
    if not isinstance(value, torch.Tensor):
        raise TypeError("a gradient is wanted with respect to something that is no tensor")
    return value.requires_grad_()


def _gradients(
    result: object, wanted: Mapping[str, torch.Tensor], cotangent: torch.Tensor | None
) -> dict[str, torch.Tensor]:
    """Returns the products that exist; an input that the result does not depend on has none."""
    if not wanted or not isinstance(result, torch.Tensor) or not result.requires_grad:
        return {}
    if cotangent is None or cotangent.shape != result.shape or not _is_readable(result):
        return {}
    products = vector_jacobian_products(result, wanted, cotangent.to(result))
    return {name: product.cpu().contiguous() for name, product in products.items()}


def _is_readable(result: torch.Tensor) -> bool:
    """Returns whether a tensor is of real numbers that lie in its storage: none was resized."""
    furthest = sum(
        (size - 1) * step for size, step in zip(result.shape, result.stride(), strict=True)
    )
    needed = (result.storage_offset() + furthest + 1) * result.element_size()
    return result.is_floating_point() and result.untyped_storage().nbytes() >= needed


def vector_jacobian_products(
    result: torch.Tensor, wanted: Mapping[str, torch.Tensor], cotangent: torch.Tensor
) -> dict[str, torch.Tensor]:
    """Returns the product for each wanted tensor that the result depends on.

    The sum is derived, as autograd loads sympy to check a cotangent: a second for nothing.
    """
    with torch.enable_grad():  # which a call may have switched off
        total = (result * cotangent).sum()
    products = torch.autograd.grad(total, list(wanted.values()), allow_unused=True)
    return {
        name: product for name, product in zip(wanted, products, strict=True) if product is not None
    }
