"""Handles: what a test calls in place of the student's function and of the reference."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from grader.counting import WorkCounter
from grader.testing.cases import Case
from grader.testing.contract import Adapter, TensorType, category_of
from grader.testing.outcome import StudentFault, fault_of
from grader.verdict import Status
from grader.wire.calls import Answer, Call, Work
from grader.wire.frames import Elsewhere, Foreign, Value

Ask = Callable[[Call], Answer]
Observe = Callable[[Call, Any], None]


class BrokenReference(Exception):
    """A reference is missing or raised: nobody can be graded on it."""


class Student:
    """The student's adapter of one exercise: a call travels as data, and so does its answer.

    Whatever comes back is checked against the annotations of the adapters before a test sees it.
    """

    def __init__(self, adapter: Adapter, ask: Ask, seed: int, observe: Observe) -> None:
        self.adapter = adapter
        self._ask = ask
        self._seed = seed
        self._observe = observe

    def __call__(self, *args: Value, **kwargs: Value) -> Any:
        """The adapter's result: a tensor, or a number where the annotations say so.

        Raises:
            StudentFault: if nothing came, or something of another type or shape.
        """
        arguments = self.adapter.bind(args, kwargs)
        result = self.result(self.ask(arguments), arguments)
        if isinstance(result, Elsewhere):
            raise StudentFault(
                Status.FAILED,
                f"{self.adapter.name} must return a tensor on the CPU, where its inputs are, "
                f"not on the device {result.device}",
            )
        self._observe(Call(self.adapter.name, arguments, seed=self._seed), result)
        return result

    def gradients(
        self, cotangent: torch.Tensor, wrt: tuple[str, ...], **inputs: Value
    ) -> dict[str, torch.Tensor]:
        """Vector-Jacobian products of the result with `cotangent`, by the name of the input."""
        answer = self.ask(inputs, wrt=wrt, cotangent=cotangent)
        self.result(answer, inputs)
        for name in wrt:
            gradient = answer.gradients.get(name)
            if gradient is None:
                raise StudentFault(
                    Status.FAILED,
                    f"no gradient reaches {name}: the result must depend on it through torch "
                    "operations only (no .detach(), .item(), .data, numpy or torch.no_grad())",
                )
            wanted = inputs[name]
            if isinstance(wanted, torch.Tensor) and gradient.shape != wanted.shape:
                raise StudentFault(Status.FAILED, f"the gradient of {name} has another shape")
        return dict(answer.gradients)

    def count_work(self, **inputs: Value) -> Work:
        """How many torch operations the call makes, and its largest tensor's elements."""
        answer = self.ask(inputs, count_work=True)
        self.result(answer, inputs)
        return answer.work or Work(0, 0)

    def ask(self, arguments: Mapping[str, Value], **observe: Any) -> Answer:
        """The answer to a call, with what `observe` (fields of `Call`) adds to it.

        Raises:
            StudentFault: if the submission raised, or gave no answer.
        """
        answer = self._ask(Call(self.adapter.name, arguments, seed=self._seed, **observe))
        if answer.raised is not None:
            raise fault_of(answer.raised, self.adapter.name)
        return answer

    def result(self, answer: Answer, arguments: Mapping[str, Value]) -> Any:
        """The value in an answer, once it is of the type and shape that the contract says."""
        value, wanted = answer.value, self.adapter.result
        if isinstance(wanted, TensorType):
            return self._tensor(value, wanted, arguments)
        if isinstance(value, torch.Tensor) and value.numel() == 1:
            value = value.item()
        if wanted is int and (type(value) is not int):
            raise StudentFault(
                Status.FAILED, f"{self.adapter.name} must return an int, not {described(value)}"
            )
        return value

    def _tensor(
        self, value: Value, wanted: TensorType, arguments: Mapping[str, Value]
    ) -> torch.Tensor | Elsewhere:
        if not isinstance(value, torch.Tensor | Elsewhere):
            raise StudentFault(
                Status.FAILED, f"{self.adapter.name} must return {wanted}, not {described(value)}"
            )
        if category_of(value) != wanted.category:
            raise StudentFault(
                Status.FAILED,
                f"{self.adapter.name} must return {wanted}, not one of dtype "
                f"{str(value.dtype).removeprefix('torch.')}",
            )
        shape = self.adapter.expected_shape(arguments)
        if shape is not None and tuple(value.shape) != shape:
            raise StudentFault(Status.FAILED, self._wrong_shape(value, wanted, arguments, shape))
        return value

    def _wrong_shape(
        self,
        value: torch.Tensor | Elsewhere,
        wanted: TensorType,
        arguments: Mapping[str, Value],
        shape: tuple[int, ...],
    ) -> str:
        sizes, _ = self.adapter.sizes(arguments)
        named = ", ".join(
            f"{axis}={sizes[axis]}"
            for axis in dict.fromkeys(" ".join(wanted.axes).replace("*", " ").split())
            if axis in sizes
        )
        return (
            f"{self.adapter.name} must return shape ({' '.join(wanted.axes)}), which is "
            f"{list(shape)}{' with ' + named if named else ''}, not {list(value.shape)}"
        )


class Reference:
    """The hidden right solution of one exercise, computed in float64.

    Where there is no solution (at home), the answers are those that were frozen with the case.
    """

    def __init__(self, adapter: Adapter, function: Callable[..., Any] | None, case: Case) -> None:
        self.adapter = adapter
        self._function = function
        self._case = case

    def __call__(self, *args: Value, **kwargs: Value) -> Any:
        """What a right solution returns, in float64."""
        answer = self._case.expect(lambda: {"": self._compute(self.adapter.bind(args, kwargs))})
        value = answer[""]
        return value.item() if self.adapter.result is int else value

    def gradients(
        self, cotangent: torch.Tensor, wrt: tuple[str, ...], **inputs: Value
    ) -> dict[str, torch.Tensor]:
        """Vector-Jacobian products of the reference with `cotangent`, in float64."""
        return self._case.expect(lambda: self._products(cotangent, wrt, inputs))

    def count_work(self, **inputs: Value) -> Work:
        """How many torch operations the reference makes, and its largest tensor's elements."""
        counted = self._case.expect(lambda: {"": self._count(inputs)})[""]
        return Work(*(int(number) for number in counted))

    def _compute(self, arguments: Mapping[str, Value]) -> torch.Tensor:
        if self._function is None:
            raise BrokenReference(f"solutions/ has no {self.adapter.name}")
        try:
            result = self._function(**{name: in_float64(v) for name, v in arguments.items()})
        except Exception as error:
            raise BrokenReference(
                f"the reference of {self.adapter.name} raised {error!r}"
            ) from error
        return result if isinstance(result, torch.Tensor) else torch.tensor(result)

    def _products(
        self, cotangent: torch.Tensor, wrt: tuple[str, ...], inputs: Mapping[str, Value]
    ) -> dict[str, torch.Tensor]:
        arguments = {name: in_float64(value) for name, value in inputs.items()}
        wanted = {name: arguments[name].detach().requires_grad_() for name in wrt}
        result = self._compute(arguments | wanted)
        products = torch.autograd.grad(result, list(wanted.values()), cotangent.to(result.dtype))
        return dict(zip(wanted, products, strict=True))

    def _count(self, inputs: Mapping[str, Value]) -> torch.Tensor:
        with WorkCounter() as counter:
            self._compute(inputs)
        return torch.tensor([counter.operations, counter.largest])


def described(value: Value) -> str:
    """A value that is not what was wanted, in a few words."""
    if value is None:
        return "None"
    if isinstance(value, Foreign):
        return value.description
    if isinstance(value, torch.Tensor | Elsewhere):
        return f"a tensor of shape {list(value.shape)}"
    return f"the {type(value).__name__} {str(value)[:40]}"


def in_float64(value: Value) -> Any:
    """A value as references get it: floating-point tensors in float64."""
    if isinstance(value, torch.Tensor) and value.is_floating_point():
        return value.to(torch.float64)
    return value
