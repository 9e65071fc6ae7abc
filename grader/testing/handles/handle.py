"""The two handles that a test calls: the student's function and the reference."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from grader.core.verdict import Status
from grader.core.wire.calls import MOST_LINES, Answer, Call, Raised, Work
from grader.core.wire.records import Line
from grader.core.wire.scripts import Doing, Step
from grader.core.wire.values import Elsewhere, Named, Value, mapped
from grader.testing.cases import Case, seed_of
from grader.testing.comparison import checked
from grader.testing.contract import Adapter, axis_names
from grader.testing.handles.makers import Maker
from grader.testing.handles.objects import as_value, joined, script_of, stays
from grader.testing.handles.scripts import EndOfItems, Script, call_of
from grader.testing.kinds import Anything, DictType, Kind, ObjectType
from grader.testing.outcome import (
    Returned,
    StudentFault,
    Trace,
    Wording,
    examining,
    never_swallowed,
    observed,
)
from grader.worker.marshalling import copied, portable
from grader.worker.observing.counting import WorkCounter
from grader.worker.performing import Living, part_of, vector_jacobian_products

Ask = Callable[[Call], Answer]
Observe = Callable[[Call, Any, bool], None]

# Marks the end of an iterator among expected values.
_END = Named("StopIteration", {})


class BrokenReference(Exception):
    """A reference is missing or raised: no submission can be graded on it."""


@dataclass(eq=False)
class Student(Maker):
    """The student's adapter of one exercise: a call travels as data, and so does its answer.

    Each answer is checked against the adapters' annotations before a test sees it.
    `others` are the adapters of the whole contract.
    """

    adapter: Adapter
    _ask: Ask
    _seed: int
    _observe: Observe
    _wording: Wording
    device: str = "cpu"
    others: Mapping[str, Adapter] = field(default_factory=dict)

    def seeded(self, number: int) -> Student:
        """Returns the same adapter with another random seed, derived from `number`."""
        return replace(self, _seed=seed_of(self._seed, str(number)))

    @never_swallowed()
    def answer(self, script: Script, adapter: Adapter, arguments: Mapping[str, Value]) -> Any:
        """Returns the answer to a script's last step, checked against the kind in `adapter`.

        Raises:
            StudentFault: if there is no answer, or one of another kind.
        """
        call = call_of(script.steps, self.adapter.name)
        is_own = call.adapter == self.adapter.name
        exercise = "" if is_own else self.adapter.name
        call = replace(
            call,
            seed=self._seed,
            device=self.device,
            exercise=exercise,
            stays=_gives_an_object(adapter),
        )
        answer = self._ask(call)
        if answer.raised is not None:
            if answer.raised.kind == "StopIteration" and call.asks_for_an_item:
                raise EndOfItems
            step, raised = call.last, answer.raised
            name = step.name if step and step.doing is Doing.ASK else call.adapter
            if step is not None and not raised.frames:
                # The test's own step failed: what it asks for is not misspelt.
                raised = replace(raised, suggestion="")
            raise self._wording.raised(raised, name or adapter.name, call)
        try:
            said = Call(adapter.name, arguments)
            trace = functools.partial(self._origin, call)
            with examining():
                result = checked(adapter, answer.value, said, self._wording, trace)
        except StudentFault:
            # A known mistake may explain the wrong shape.
            if is_own:
                self._observe(call, answer.value, True)
            raise
        if isinstance(result, Elsewhere):
            place = "the CPU" if self.device == "cpu" else f"the device {self.device}"
            raise StudentFault(
                Status.FAILED,
                f"{adapter.name} must return a tensor on {place}, where its inputs are, "
                "not on another device",
            )
        if stays(adapter.result):
            script.came.add(len(script.steps) - 1)
        is_own_layout = call.last is not None and call.last.on in script.came
        if is_own and not (is_own_layout and _is_open(adapter.result)):
            self._observe(call, result, False)
        self._remember(result, adapter.result, arguments, call)
        if not adapter.is_item:
            observed().answers[id(result)] = result
        return result

    def fault(self, text: str) -> Exception:
        """Returns the fault for an object that the submission left in a wrong state."""
        return StudentFault(Status.FAILED, text)

    @never_swallowed()
    def gradients(
        self,
        cotangent: torch.Tensor,
        wrt: tuple[str, ...],
        part: int | str | None = None,
        **inputs: Value,
    ) -> dict[str, torch.Tensor]:
        """Returns vector-Jacobian products of the result, or a part, with `cotangent`, by input."""
        answer = self.ask(inputs, wrt=wrt, cotangent=cotangent, part=part)
        for name in wrt:
            gradient = answer.gradients.get(name)
            if gradient is None:
                raise StudentFault(
                    Status.FAILED,
                    f"no gradient reaches {name}: the result must depend on it, and through torch "
                    "operations only (no .detach(), .item(), .data, numpy, torch.no_grad() or "
                    "earlier result)",
                )
            wanted = inputs[name]
            if isinstance(wanted, torch.Tensor) and gradient.shape != wanted.shape:
                raise StudentFault(Status.FAILED, f"the gradient of {name} has another shape")
            self._remember(gradient, self.adapter.tensors.get(name), inputs)
        return dict(answer.gradients)

    @never_swallowed()
    def count_work(self, **inputs: Value) -> Work:
        """Returns how many torch operations the call makes, and its largest tensor's elements.

        Raises:
            StudentFault: if the submission's process did not count them.
        """
        answer = self.ask(inputs, count_work=True)
        if answer.work is None:
            raise self.fault(f"the torch operations of {self.adapter.name} were not counted")
        return answer.work

    @never_swallowed()
    def count_lines(self, *args: Value, **kwargs: Value) -> int:
        """Returns how many lines of Python the call executes, including those of libraries.

        Earlier steps with the same objects are part of the call. Modules that the call imports
        also count: make a call that is not counted first.

        Raises:
            StudentFault: if the submission stopped the counting, or executes too many lines.
        """
        script = joined(script_of(args, kwargs) or Script(self), args, kwargs)
        bound = self.adapter.bind(mapped(args, as_value), mapped(dict(kwargs), as_value))
        answer = self.ask(bound, before=tuple(script.steps), count_lines=True)
        if answer.work is None or answer.work.lines >= MOST_LINES:
            raise self.fault(
                f"{self.adapter.name} executes {MOST_LINES:,} lines of Python or more, or stops "
                "the grader from counting them (sys.settrace, for example)"
            )
        return answer.work.lines

    @never_swallowed()
    def ask(self, arguments: Mapping[str, Value], **observe: Any) -> Answer:
        """Returns the answer to a call; `observe` sets further fields of `Call`.

        Raises:
            StudentFault: if the submission raised, or gave no answer that fits the contract.
        """
        answer = self.attempt(arguments, **observe)
        if answer.raised is not None:
            raise self.failure(answer.raised, arguments, **observe)
        self.result(answer, arguments, before=observe.get("before", ()))
        return answer

    def attempt(self, arguments: Mapping[str, Value], **observe: Any) -> Answer:
        """Returns the answer to a call, even if the submission raised.

        Raises:
            StudentFault: if the submission gave no answer.
        """
        return self._ask(self._call(arguments, **observe))

    def failure(
        self, raised: Raised, arguments: Mapping[str, Value], **observe: Any
    ) -> StudentFault:
        """Returns the fault for an exception that the submission raised in a call."""
        call = self._call(arguments, **observe)
        return self._wording.raised(raised, self.adapter.name, call)

    def result(self, answer: Answer, arguments: Mapping[str, Value], **observe: Any) -> Any:
        """Returns the value in an answer, checked against the contract's type and shape.

        `observe` sets the fields of `Call` with which a search for its line calls again.

        Raises:
            StudentFault: if the value does not fit.
        """
        call = Call(self.adapter.name, arguments)
        trace = functools.partial(self._origin, self._call(arguments, **observe))
        return checked(self.adapter, answer.value, call, self._wording, trace)

    def _origin(self, call: Call) -> Line | None:
        """Returns the line behind a result, found by tracing the same call again, if any."""
        if not self._wording.names_lines:
            return None
        try:
            return self._ask(replace(call, trace=True)).origin
        except StudentFault:
            return None

    def _call(self, arguments: Mapping[str, Value], **observe: Any) -> Call:
        asked = {"device": self.device, "stays": _gives_an_object(self.adapter), **observe}
        return Call(self.adapter.name, arguments, seed=self._seed, **asked)

    def _remember(
        self,
        tensor: Any,
        annotated: Kind | None,
        arguments: Mapping[str, Value],
        call: Call | None = None,
    ) -> None:
        """Remembers where a tensor comes from, for messages about it.

        Its line is found by `call`, if that is given. For tensors inside a collection, remembers
        only the dtype of the inputs.
        """
        if isinstance(tensor, list | tuple | dict):
            for part in tensor.values() if isinstance(tensor, dict) else tensor:
                self._remember(part, None, arguments)
        if not isinstance(tensor, torch.Tensor):
            return
        trace: Trace = functools.partial(self._origin, call) if call else lambda: None
        axes = axis_names(annotated, tensor.ndim)
        dtypes = [
            value.dtype
            for value in arguments.values()
            if isinstance(value, torch.Tensor) and value.is_floating_point()
        ]
        input_dtype = functools.reduce(torch.promote_types, dtypes or [torch.get_default_dtype()])
        observed().returned.append(Returned(tensor, axes, input_dtype, trace))


def _is_open(kind: Kind) -> bool:
    """Returns whether a kind leaves the layout open, as for the state of a student's object."""
    return isinstance(kind, DictType) and kind.value == Anything()


def _gives_an_object(adapter: Adapter) -> bool:
    return isinstance(adapter.result, ObjectType)


@dataclass(eq=False)
class Reference(Maker):
    """The hidden right solution of one exercise, computed in float64.

    Where there is no solution (at home), its answers are those frozen with the case.
    `functions` are all references, `others` the adapters of the whole contract.
    """

    adapter: Adapter
    _functions: Mapping[str, Callable[..., Any]]
    _case: Case
    others: Mapping[str, Adapter] = field(default_factory=dict)

    def answer(self, script: Script, adapter: Adapter, _arguments: Mapping[str, Value]) -> Any:
        """Returns the next expected value, computed if unknown; objects that stay have none.

        Raises:
            EndOfItems: at the end of an iterator.
        """
        if stays(adapter.result):
            return None
        value = self._case.expect(lambda: {"": self._carried_out(script)})[""]
        if isinstance(value, Named) and value.name == _END.name:
            raise EndOfItems
        return adapter.result.converted(value)

    def fault(self, text: str) -> Exception:
        """Returns the exception for a broken reference, which is not the submission's fault."""
        return BrokenReference(f"the reference of {self.adapter.name}: {text}")

    def _carried_out(self, script: Script) -> Value:
        """Returns the value of a script's last step, run on the references in float64."""
        script.kept = script.kept or Living(self._functions)
        exactly = call_in_float64(call_of(script.steps, self.adapter.name))
        function = self._functions.get(exactly.adapter)
        if function is None and exactly.adapter:
            raise BrokenReference(f"solutions/ has no {exactly.adapter}")
        try:
            value = script.kept.result(function, exactly.arguments, exactly)
            # Later steps may change objects that live on: keep a copy.
            result: Value = copied(portable(value)) if exactly.is_script else value
        except StopIteration:
            return _END
        except Exception as error:
            raise BrokenReference(f"the reference of {exactly.adapter} raised {error!r}") from error
        if not exactly.is_script:
            script.kept.forget()
        return result

    def gradients(
        self,
        cotangent: torch.Tensor,
        wrt: tuple[str, ...],
        part: int | str | None = None,
        **inputs: Value,
    ) -> dict[str, torch.Tensor]:
        """Returns vector-Jacobian products of the reference with `cotangent`, in float64."""
        products: Any = self._case.expect(lambda: self._products(cotangent, wrt, part, inputs))
        return dict(products)

    def count_work(self, **inputs: Value) -> Work:
        """Returns the reference's number of torch operations and its largest tensor's elements."""
        counted: Any = self._case.expect(lambda: {"": self._count(inputs)})[""]
        operations, largest = (int(number) for number in counted)
        return Work(operations, largest)

    def _compute(self, arguments: Mapping[str, Value]) -> Value:
        script = Script(self)
        script.take(Step(0, Doing.ASK, self.adapter.name, (), arguments))
        return self._carried_out(script)

    def _products(
        self,
        cotangent: torch.Tensor,
        wrt: tuple[str, ...],
        part: int | str | None,
        inputs: Mapping[str, Value],
    ) -> dict[str, torch.Tensor]:
        arguments = in_float64({**inputs})
        wanted = {name: arguments[name].detach().requires_grad_() for name in wrt}
        result = part_of(self._compute(arguments | wanted), part)
        if not isinstance(result, torch.Tensor):
            raise BrokenReference(
                f"{self.adapter.name} has no tensor to differentiate: of a tuple, list or dict, "
                "name a part, as in assert_gradients_match(..., part=0)"
            )
        products = vector_jacobian_products(result, wanted, cotangent.to(result.dtype))
        if lacking := sorted(wanted.keys() - products.keys()):
            raise BrokenReference(f"{self.adapter.name} does not depend on {', '.join(lacking)}")
        return products

    def _count(self, inputs: Mapping[str, Value]) -> torch.Tensor:
        with WorkCounter() as counter:
            self._compute(inputs)
        return torch.tensor([counter.operations, counter.largest])


def in_float64(value: Value) -> Any:
    """Returns a value as references get it: floating-point tensors in float64."""
    return mapped(value, _in_float64)


def call_in_float64(call: Call) -> Call:
    """Returns a call as a reference gets it."""
    before, then = (tuple(map(step_in_float64, steps)) for steps in (call.before, call.then))
    return replace(call, arguments=in_float64({**call.arguments}), before=before, then=then)


def step_in_float64(step: Step) -> Step:
    """Returns a step of a script as a reference gets it."""
    positional, keywords = in_float64((step.positional, {**step.keywords}))
    return replace(step, positional=positional, keywords=keywords)


def _in_float64(value: Any) -> Any:
    if isinstance(value, torch.Tensor) and value.is_floating_point():
        return value.to(torch.float64)
    return value
