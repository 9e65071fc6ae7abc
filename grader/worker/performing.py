"""Calls an adapter and observes the call, or runs a script; decides nothing.

The objects of a script stay in this process, where all steps of the script run.
"""

from __future__ import annotations

import contextlib
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy.random  # or numpy loads it in the first call that uses it, where nobody seeds it
import torch
from torch.overrides import TorchFunctionMode

from grader.core.names import CPU
from grader.core.wire.calls import Answer, Call, Raised, Work
from grader.core.wire.scripts import Doing, Step
from grader.core.wire.tensors import NAMES
from grader.core.wire.values import Foreign, Local, mapped, parts
from grader.worker.exceptions import describe_exception
from grader.worker.marshalling import (
    ScriptFiles,
    arrived,
    copied,
    differing,
    portable,
    same_values,
)
from grader.worker.observing.counting import LineCounter, WorkCounter
from grader.worker.observing.expression import foreign
from grader.worker.observing.recording import Recorder
from grader.worker.observing.tracing import Tracer

Seed = Callable[[int], None]
Functions = Mapping[str, Callable[..., Any]]
# Returns the result of an adapter for its arguments.
CallAdapter = Callable[[Callable[..., Any], Mapping[str, Any]], Any]
# A step's items have seeds that no step of a shorter script has.
_MOST_STEPS = 1 << 16


class NoAdapter(Exception):
    """A step asks an adapter that does not exist; the text is its name."""


class Living:
    """The objects that the latest call made, for a call whose script continues it.

    `functions` are the adapters that steps may ask; `called` is the last function that was called.
    `call` calls adapters. `_items` counts the items that the next step gave in the latest call.
    """

    def __init__(
        self, functions: Functions | None = None, call: CallAdapter = lambda one, own: one(**own)
    ) -> None:
        self._functions = functions or {}
        self._call_adapter = call
        self._call: Call | None = None
        self._made: list[Any] = []
        self._items = 0
        self._workshop = ScriptFiles()
        self.called: Callable[..., Any] | None = None

    def __enter__(self) -> Living:
        return self

    def __exit__(self, *_: object) -> None:
        self.forget()

    def result(
        self,
        function: Callable[..., Any],
        arguments: Mapping[str, Any],
        call: Call,
        seed: Seed | None = None,
    ) -> Any:
        """Returns the result of a call with all of its steps; steps taken before are not repeated.

        Each step, and each item of one, has its own seed, whether or not earlier ones are skipped.

        Raises:
            NoAdapter: if a step asks an adapter that does not exist.
        """
        left = self._goes_on(call)
        if left is None:
            self.forget()
        self._call = None
        for step in call.steps if left is None else left:
            for item in range(self._items, step.times):
                if seed is not None:
                    seed(len(self._made) + item * _MOST_STEPS)
                if call.adapter and len(self._made) == len(call.before):
                    own = _found(arguments, self._made) if call.before else arguments
                    result = self._asked(function, own)
                else:
                    result = self._done(step, call.device)
            self._made.append(result)
            self._items = 0
        self._call = call
        return self._made[-1]

    def forget(self) -> None:
        """Drops all objects that were made, and removes their files."""
        self._call, self._made, self._items = None, [], 0
        self._workshop.close()

    def _asked(self, adapter: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
        self.called = adapter
        return self._call_adapter(adapter, arguments)

    def _goes_on(self, call: Call) -> Sequence[Step] | None:
        """Returns the steps that have not run; None if the call does not continue the latest."""
        last_call = self._call
        if last_call is None or not call.is_script:
            return None
        heads = [(one.seed, one.device, one.default_device) for one in (last_call, call)]
        if heads[0] != heads[1]:
            return None
        done, wanted = last_call.steps, call.steps
        if not done or len(done) > len(wanted) or not all(map(alike, done[:-1], wanted)):
            return None
        last, now = done[-1], wanted[len(done) - 1]
        if not alike(replace(last, times=now.times), now) or last.times > now.times:
            return None
        rest = list(wanted[len(done) :])
        if last.times < now.times:
            self._made.pop()
            self._items = last.times
            rest.insert(0, now)
        return rest

    def _done(self, step: Step, device: str) -> Any:
        positional = _found(arrived(list(step.positional), device), self._made)
        keywords = _found(arrived(dict(step.keywords), device), self._made)
        if step.doing is Doing.MAKE:
            return self._workshop.make(step.name, positional, keywords)
        self._workshop.flush()
        if step.doing is Doing.ASK:
            if step.name not in self._functions:
                raise NoAdapter(step.name)
            return self._asked(self._functions[step.name], keywords)
        thing = self._made[step.on]
        if step.doing is Doing.WRITE:
            return setattr(thing, step.name, positional[0])
        if step.doing is Doing.ITERATE:
            return iter(thing)
        if step.doing is Doing.NEXT:
            return next(thing)
        self.called = None
        own = getattr(thing, step.name) if step.name else thing
        if step.doing is not Doing.CALL:
            return own
        self.called = own
        return own(*positional, **keywords)


def alike(one: Step, other: Step) -> bool:
    """Returns whether two steps do the same with the same values."""
    if one is other:
        return True
    heads = [(step.on, step.doing, step.name, step.times) for step in (one, other)]
    values = [[*step.positional, dict(step.keywords)] for step in (one, other)]
    return heads[0] == heads[1] and same_values(*values)


def _found(value: Any, made: Sequence[Any]) -> Any:
    """Returns the value, with objects of earlier steps in place of references to them."""
    return mapped(value, lambda one: made[one.number] if isinstance(one, Local) else one)


_COPIES, _INTO = ("cpu", "to"), ("copy_", "__setitem__")
_READS = re.compile(
    r"item|tolist|numpy|__(array|bool|int|float|index|contains)__|equal|allclose|nonzero|argwhere"
    r"|unique|masked_select|repeat_interleave"
)
_FILLS = ("masked_fill", "masked_fill_")
_PRODUCTS = re.compile(r"(__r?)?matmul(__)?|(b|add|baddb)?mm|linear|einsum|conv[123]d")
_SET_DATA = torch.Tensor.data.__set__  # type: ignore[attr-defined]
_ON_TWO = "Expected all tensors to be on the same device, but found at least two devices,"
_OTHER_DEVICE = re.compile("same device|expected device")


class LikeGPU(TorchFunctionMode):
    """Makes torch's meta device copy to the CPU and refuse products across devices, as a GPU does.

    Copies have no values. A call that reads some, or that then fails for another reason than the
    device of a tensor, raises the exception of its first copy. `data` may be set across devices,
    and `torch.autocast` takes the meta device, of which it knows nothing, for the CPU.
    """

    def __init__(self) -> None:
        super().__init__()
        self._refusal: Exception | None = None
        self._autocast = torch.autocast.__init__

    def __enter__(self) -> Self:
        """Changes `torch.autocast` too, because no mode of torch sees it."""
        initialise = self._autocast

        def known(self: torch.autocast, device_type: str, *args: Any, **kwargs: Any) -> None:
            initialise(self, "cpu" if device_type == "meta" else device_type, *args, **kwargs)

        torch.autocast.__init__ = known  # type: ignore[method-assign]
        super().__enter__()  # type: ignore[no-untyped-call]
        return self

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Calls a function of torch; the signature is torch's."""
        name, given = getattr(func, "__name__", ""), (*args, *(kwargs or {}).values())
        if self._refusal is not None and _READS.fullmatch(name):
            raise self._refusal
        tensors = [one for one in given if isinstance(one, torch.Tensor) and one.ndim]
        on_two = len({one.device.type for one in tensors}) > 1
        if on_two and _PRODUCTS.fullmatch(name):
            raise RuntimeError(f"{_ON_TWO} meta and cpu!")
        if on_two and func == _SET_DATA:
            return _set_data(*args)
        if name in _FILLS and args and args[0].device.type == "meta":
            args, kwargs = mapped((args, kwargs), _number_on_meta)
        try:
            return func(*args, **(kwargs or {}))
        except NotImplementedError as refusal:
            if name not in _COPIES + _INTO or "out of meta tensor" not in str(refusal):
                raise
            self._refusal = self._refusal or refusal
            return args[0] if name in _INTO else torch.zeros_like(args[0], device="cpu")

    def __exit__(self, kind: Any, raised: Any, trace: Any) -> None:
        """Raises the exception of the first copy if the call failed, but not for a device."""
        super().__exit__(kind, raised, trace)  # type: ignore[no-untyped-call]
        torch.autocast.__init__ = self._autocast  # type: ignore[method-assign]
        if self._refusal and raised and not _OTHER_DEVICE.search(str(raised)):
            raise self._refusal


def _number_on_meta(value: Any) -> Any:
    """Returns a tensor of one number on the meta device: a GPU fills with one from the CPU, too."""
    is_number = isinstance(value, torch.Tensor) and not value.ndim and value.dtype != torch.bool
    return value.to("meta") if is_number else value


def _set_data(tensor: torch.Tensor, value: torch.Tensor) -> None:
    """Sets a tensor's `data` to a value on another device; all else of the tensor stays."""
    own = value.detach().requires_grad_(tensor.is_leaf and tensor.requires_grad)
    if isinstance(tensor, torch.nn.Parameter):
        own = torch.nn.Parameter(own, tensor.requires_grad)
    torch.utils.swap_tensors(tensor, own)  # type: ignore[no-untyped-call]
    vars(tensor).update(vars(own))


_NUMPY_SEEDS = 1 << 32


def perform(
    function: Callable[..., object],
    call: Call,
    root: Path,
    functions: Functions | None = None,
    living: Living | None = None,
) -> Answer:
    """Calls an adapter as `call` says; an exception becomes part of the answer.

    The answer has the exception's frames in files below `root`. Steps may ask other `functions`.
    `living` holds the objects of the call before, which this call may continue.
    """
    goes_on = living is not None and call.is_plain and not call.record
    with contextlib.ExitStack() as leaving:
        if living is None or not goes_on:
            living = leaving.enter_context(Living(functions))
        return _performed(function, call, root, living)


def _performed(function: Callable[..., object], call: Call, root: Path, living: Living) -> Answer:
    counter = WorkCounter() if call.count_work else None
    lines = LineCounter() if call.count_lines else None
    numbers = not any(map(torch.is_tensor, parts(call.arguments)))
    recorder = Recorder(root, follow_numbers=numbers) if call.record else None
    tracer = Tracer(root) if call.trace else None
    try:
        arguments = arrived(dict(call.arguments), call.device)
        watched = {name: copied(own) for name, own in arguments.items() if call.watch_inputs}
        wanted = {name: _differentiable(arguments[name]) for name in call.wrt}
        with contextlib.ExitStack() as observed:
            if call.default_device:
                observed.enter_context(torch.device(call.device))
            if call.device == "meta":
                observed.enter_context(LikeGPU())
            for onlooker in (counter, recorder, tracer, lines):
                if onlooker is not None:
                    observed.enter_context(onlooker)
            result = living.result(function, arguments, call, lambda step: seed(call, step))
        differentiated = part_of(result, call.part)
        is_object = call.stays and not _is_plain(result)
        value = foreign(result) if is_object else portable(result, call.device, numbers)
        # If the answer is not encoded, later steps would change it.
        value = copied(value) if call.is_script else value
        if not call.is_script and (not isinstance(value, Foreign) or torch.is_tensor(result)):
            # No later script continues with plain data.
            living.forget()
        return Answer(
            value=value,
            gradients=_gradients(differentiated, wanted, call.cotangent),
            changed_inputs=differing(watched, arguments),
            work=_work(counter, lines),
            records=tuple(recorder.records) if recorder is not None else (),
            origin=tracer.origin(differentiated) if tracer else None,
        )
    except NoAdapter as lacking:
        return absent(str(lacking))
    except BaseException as exception:  # a submission may raise anything
        return Answer(raised=describe_exception(exception, root, living.called))


def _is_plain(value: object) -> bool:
    """Returns whether a value is data of Python, torch or numpy, and no object of another class."""
    kind = type(value)
    is_array = issubclass(kind, torch.Tensor | numpy.ndarray | numpy.generic)
    return is_array or kind.__module__ == "builtins"


def _work(counter: WorkCounter | None, lines: LineCounter | None) -> Work | None:
    if counter is None and lines is None:
        return None
    counted = lines.lines if lines is not None else 0
    if counter is None:
        return Work(lines=counted)
    return Work(counter.operations, counter.largest, counted, counter.elsewhere)


def seed(call: Call, step: int) -> None:
    """Seeds all generators of random numbers, for one step of a call."""
    seed_generators(call.seed + step, call.device)


def seed_generators(number: int, device: str = CPU) -> None:
    """Seeds all generators of random numbers."""
    # torch.manual_seed would also queue a call, with its traceback, for absent devices.
    torch.default_generator.manual_seed(number)
    if device.startswith("cuda"):
        torch.cuda.manual_seed(number)
    random.seed(number)
    numpy.random.seed(number % _NUMPY_SEEDS)


def absent(adapter: str) -> Answer:
    """Returns the answer to a call of an adapter that the submission does not have."""
    return Answer(raised=Raised("NameError", f"there is no function {adapter}", missing=True))


def _differentiable(value: object) -> torch.Tensor:
    if not isinstance(value, torch.Tensor):
        raise TypeError("a gradient is needed with respect to something that is not a tensor")
    return value.requires_grad_()


def _gradients(
    result: object, wanted: Mapping[str, torch.Tensor], cotangent: torch.Tensor | None
) -> dict[str, torch.Tensor]:
    """Returns the gradients; an input that the result does not depend on has none."""
    if not wanted or not isinstance(result, torch.Tensor) or not result.requires_grad:
        return {}
    if cotangent is None or cotangent.shape != result.shape or not _is_readable(result):
        return {}
    products = vector_jacobian_products(result, wanted, cotangent.to(result))
    return {name: product.cpu().contiguous() for name, product in products.items()}


def part_of(result: object, part: int | str | None) -> object:
    """Returns the element with this index or key; all of the result for None."""
    if part is None:
        return result
    parts = dict(enumerate(result)) if isinstance(result, list | tuple) else result
    return parts.get(part) if isinstance(parts, dict) else None


def _is_readable(result: torch.Tensor) -> bool:
    """Returns whether a tensor has real numbers that fit its storage, which may be resized.

    A tensor that cannot cross, as a sparse one, is refused for that, and not for its gradients.
    """
    is_dense = result.layout is torch.strided and result.device.type != "meta"
    if not is_dense or result.dtype not in NAMES:
        return False
    furthest = sum(
        (size - 1) * step for size, step in zip(result.shape, result.stride(), strict=True)
    )
    needed = (result.storage_offset() + furthest + 1) * result.element_size()
    return result.is_floating_point() and result.untyped_storage().nbytes() >= needed


def vector_jacobian_products(
    result: torch.Tensor, wanted: Mapping[str, torch.Tensor], cotangent: torch.Tensor
) -> dict[str, torch.Tensor]:
    """Returns the product for each tensor of `wanted` that the result depends on.

    A sum is differentiated: to check a cotangent, autograd would load sympy, which takes a second.
    """
    with torch.enable_grad():  # a call may have switched it off
        total = (result * cotangent).sum()
    products = torch.autograd.grad(total, list(wanted.values()), allow_unused=True)
    return {
        name: product for name, product in zip(wanted, products, strict=True) if product is not None
    }
