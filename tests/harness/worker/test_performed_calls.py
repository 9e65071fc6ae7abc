"""Calls and scripts as a worker performs them, and what it observes beside their results."""

from __future__ import annotations

import random
import re
import threading
import types
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
from torch._higher_order_ops.while_loop import while_loop_op

from grader.core.wire.calls import MOST_LINES, Answer, Call
from grader.core.wire.scripts import Doing, Step
from grader.core.wire.values import Local
from grader.worker import performing
from grader.worker.observing.counting import WorkCounter
from grader.worker.performing import Living, absent, perform, vector_jacobian_products

pytestmark = pytest.mark.unit

X = torch.tensor([1.0, 2.0])


def answer_to(
    function: Callable[..., Any], root: Path = Path("/nowhere"), **options: Any
) -> Answer:
    """Returns the answer to a call of a function with `x`."""
    arguments = options.pop("arguments", {"x": X.clone()})
    answer = perform(function, Call("run", arguments, **options), root)
    assert answer.raised is None, answer.raised
    return answer


# --- Calls ---------------------------------------------------------------------------------------


def test_every_generator_of_random_numbers_is_seeded():
    """The same seed gives the same numbers; no generator is left out."""

    def draw(**_: Any) -> list[float]:
        return [torch.rand(()).item(), random.random(), float(numpy.random.rand())]

    one, same, other = (answer_to(draw, seed=seed).value for seed in (5, 5, 6))
    assert one == same
    assert all(a != b for a, b in zip(one, other, strict=True))
    answer_to(draw, seed=(1 << 32) + 5)


def test_changed_inputs_are_told_if_a_test_asks():
    def change(x: torch.Tensor, y: list[int], **_: Any) -> None:
        x.add_(1)
        y.append(3)

    arguments = {"x": X.clone(), "y": [1], "z": X.clone()}
    assert answer_to(change, arguments=arguments, watch_inputs=True).changed_inputs == ("x", "y")
    assert answer_to(change, arguments=arguments).changed_inputs == ()


def test_gradients_are_those_of_the_result_with_a_cotangent():
    """An input on which the result does not depend has none."""
    arguments = {"x": X.clone(), "y": X.clone(), "z": X.clone()}
    asked: dict[str, Any] = {"arguments": arguments, "wrt": ("x", "y", "z"), "cotangent": X}

    def function(x: torch.Tensor, y: torch.Tensor, **_: Any) -> torch.Tensor:
        return x * y

    found = answer_to(function, **asked).gradients
    assert {name: own.tolist() for name, own in found.items()} == {"x": [1, 4], "y": [1, 4]}
    for other in (
        lambda **_: 3,
        lambda x, **_: x.detach(),
        lambda x, y, **_: (x * y).sum(),
        lambda x, y, **_: torch.complex(x, y),
    ):
        assert answer_to(other, **asked).gradients == {}
    assert answer_to(function, **(asked | {"cotangent": None})).gradients == {}
    x = X.clone().requires_grad_()
    result = 2 * x
    with torch.no_grad():
        wanted = {"x": x, "y": torch.ones(2, requires_grad=True)}
        products = vector_jacobian_products(result, wanted, X)
    assert {name: own.tolist() for name, own in products.items()} == {"x": [2, 4]}


@pytest.mark.parametrize(
    ("part", "gradient"),
    [(0, [1, 1]), (1, [3, 3]), ("loss", None), (2, None), (3, None), (None, None)],
)
def test_gradients_of_a_part_are_those_of_its_element(part, gradient):
    """Other parts have none."""
    asked: dict[str, Any] = {"wrt": ("x",), "cotangent": torch.ones(2), "part": part}
    found = answer_to(lambda x: (x, 3 * x, 4), **asked).gradients
    assert found.get("x", torch.empty(0)).tolist() == (gradient or [])
    found = answer_to(lambda x: {"loss": 2 * x, 0: x, 1: 3 * x}, **asked).gradients
    wanted = [2, 2] if part == "loss" else gradient or []
    assert found.get("x", torch.empty(0)).tolist() == wanted
    assert answer_to(lambda x: x if part is not None else None, **asked).gradients == {}


def test_gradients_after_a_call_that_switched_them_off_are_still_found():
    def function(x: torch.Tensor) -> torch.Tensor:
        result = 3 * x
        torch.set_grad_enabled(False)
        return result

    try:
        found = answer_to(function, wrt=("x",), cotangent=X).gradients
    finally:
        torch.set_grad_enabled(True)
    assert found["x"].tolist() == [3, 6]


def test_a_result_whose_storage_was_resized_has_no_gradient():
    """Its numbers would lie outside of the memory."""

    def cut(x: torch.Tensor) -> torch.Tensor:
        result = 3 * x
        result.untyped_storage().resize_(4)
        return result

    call = Call("run", {"x": X.clone()}, wrt=("x",), cotangent=X)
    result = cut(X.clone().requires_grad_())
    assert performing._gradients(result, {"x": X}, call.cotangent) == {}
    whole = 3 * torch.ones(4, 2).requires_grad_()
    assert performing._is_readable(whole)
    assert performing._is_readable(whole[1:, 1])
    assert not performing._is_readable(torch.ones(2, dtype=torch.int64))


@pytest.mark.parametrize(
    "change",
    [
        torch.Tensor.to_sparse,
        lambda x: x.to(torch.float8_e4m3fn),
        lambda x: x.to("meta"),
    ],
)
def test_a_result_that_cannot_cross_is_not_said_to_raise_where_gradients_are_asked(change):
    cotangent = torch.ones(change(X).shape)
    answer_to(lambda x: change(2 * x), wrt=("x",), cotangent=cotangent)


def test_a_gradient_needs_a_tensor():
    answer = perform(lambda x: x, Call("run", {"x": 3}, wrt=("x",), cotangent=X), Path("/nowhere"))
    assert answer.raised is not None
    assert answer.raised.kind == "TypeError"


def _in_a_buffer(x: torch.Tensor) -> torch.Tensor:
    buffer = torch.zeros(2, 2, device="cpu")
    buffer[1:] = x
    return buffer


def _with_weights_of(x: torch.Tensor) -> torch.Tensor:
    layer = torch.nn.Linear(2, 2, device="cpu")
    weight = layer.weight
    weight.decays = True
    layer.weight.data = torch.outer(x, x)
    assert layer.weight is weight
    assert weight.requires_grad
    assert weight.decays
    return weight


def _gradient_of_set_data(x: torch.Tensor) -> torch.Tensor:
    weight = torch.zeros(2, device="cpu", requires_grad=True)
    weight.data = x
    (weight * x).sum().backward()
    return weight.grad


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda x: torch.einsum("ij,j->i", _in_a_buffer(x), x), "same device"),
        (lambda x: x @ torch.ones(2, 2, device="cpu"), "same device"),
        (lambda x: x.cpu() * x, "expected device"),
        (lambda x: x.to("cpu").add(1), None),
        (lambda x: _in_a_buffer(x).sum(0).to(x.device), None),
        (lambda x: torch.ones(2, 2)[5 + 0 * len(_in_a_buffer(x))], "copy out of meta"),
        (lambda x: 1 / int(_in_a_buffer(x).sum()), "copy out of meta"),
        (lambda x: 1 / len(x.cpu().nonzero()), "copy out of meta"),
        (lambda x: _in_a_buffer(x).numpy() / x.cpu().tolist()[0], "copy out of meta"),
        (lambda x: x.tolist(), "copy out of meta"),
        (lambda x: x[0].item(), "item.. cannot be called"),
        (lambda x: x * torch.tensor(2.0, device="cpu") @ x, None),
        (lambda x: x.masked_fill(x > 0, torch.tensor(-torch.inf, device="cpu")), None),
        (lambda x: x.clone().masked_fill_(x > 0, value=torch.ones((), device="cpu")), None),
        (lambda x: torch.ones(2, device="cpu").masked_fill(x > 0, x.sum()), "same device"),
        (lambda x: _with_weights_of(x) @ x, None),
        (lambda x: _gradient_of_set_data(x) @ x, None),
        (lambda x: _with_weights_of(x).cpu() @ x, "same device"),
    ],
)
def test_a_copy_to_the_cpu_is_made_until_its_values_are_read(function, said):
    """A GPU makes the copy, and then refuses it beside its own tensors."""
    call = Call("run", {"x": X.clone()}, device="meta")
    raised = perform(function, call, Path("/nowhere")).raised
    assert raised is None if said is None else re.search(said, raised.message)


def test_autocast_for_the_device_of_an_input_is_no_failure_on_the_meta_device():
    """A GPU has autocast. Code that keeps float32 in it often asks for the input's device."""

    def function(x: torch.Tensor) -> torch.Tensor:
        with torch.autocast(device_type=x.device.type, enabled=False):
            y = 2 * x
        with torch.autocast(x.device.type, dtype=torch.bfloat16):
            return y @ y

    call = Call("run", {"x": X.clone()}, device="meta")
    own = torch.autocast.__init__
    assert perform(function, call, Path("/nowhere")).raised is None
    assert torch.autocast.__init__ is own
    with pytest.raises(RuntimeError):
        torch.autocast("meta")


def test_work_and_lines_are_counted_only_as_asked():
    def function(x: torch.Tensor) -> torch.Tensor:
        y = torch.stack([x, x])
        return y.T.sum()

    work = answer_to(function, count_work=True).work
    assert (work.largest, work.lines) == (4, 0)
    assert work.operations >= 3
    lines = answer_to(function, count_lines=True).work
    assert (lines.operations, lines.largest) == (0, 0)
    assert 2 <= lines.lines < MOST_LINES
    both = answer_to(function, count_lines=True, count_work=True).work
    assert both.operations == work.operations
    assert both.lines > 0
    assert answer_to(function).work is None


@pytest.mark.parametrize(
    "function",
    [
        lambda x: torch.from_numpy(x.numpy() * 2),
        lambda x: torch.from_numpy(numpy.asarray(x) * 2),
        lambda x: torch.tensor([2 * one for one in x.tolist()]),
        lambda x: x.clone().apply_(lambda one: 2 * one),
    ],
)
def test_work_that_is_not_counted_is_noted(function):
    """Torch's dispatcher sees no numpy, no lists, and no function that gets each number."""
    methods = torch.Tensor.numpy, torch.Tensor.__array__
    answer = answer_to(function, count_work=True)
    assert answer.raised is None
    assert answer.work.elsewhere
    assert methods == (torch.Tensor.numpy, torch.Tensor.__array__)
    assert not {"numpy", "tolist", "apply_"} & vars(torch.Tensor).keys()
    assert not answer_to(lambda x: 2 * x.sum().item() * x, count_work=True).work.elsewhere


def test_a_printed_tensor_is_no_work_outside_of_torch(capsys):
    """Torch lists the numbers that it prints, and more of them are more lines of its own."""
    assert not answer_to(lambda x: print(x), count_work=True).work.elsewhere
    assert "1." in capsys.readouterr().out


def tripled(x: torch.Tensor) -> torch.Tensor:
    begin = torch.tensor(3), torch.zeros_like(x)
    return while_loop_op(
        lambda left, *_: left > 0, lambda left, tripled, x: (left - 1, tripled + x), begin, (x,)
    )[1]


def test_operators_that_take_functions_are_counted_with_what_these_do():
    work = answer_to(tripled, count_work=True).work
    assert work.operations > 3 * 3
    (answer,) = {
        tuple(answer_to(tripled, record=record).value.tolist()) for record in (False, True)
    }
    assert answer == (3.0, 6.0)


def test_work_in_threads_of_the_call_is_counted():
    def function(x: torch.Tensor) -> torch.Tensor:
        made: list[torch.Tensor] = []
        threads = [threading.Thread(target=lambda: made.append(x + x)) for _ in range(3)]
        for thread in threads:
            thread.start()
            thread.join()
        return made[0] + made[1] + executor.submit(torch.add, x, x).result()

    executor = ThreadPoolExecutor(1)
    executor.submit(int).result()
    begin = threading.Thread._bootstrap_inner
    work = answer_to(function, count_work=True).work
    assert (work.operations, work.elsewhere) == (6, False)
    assert threading.Thread._bootstrap_inner is begin


@pytest.mark.parametrize(
    ("use", "operations", "largest"),
    [
        (lambda x: x + 1, 1, 2),
        (lambda x: x.view(2, 1), 1, 0),
        (lambda x: x.expand(100, 2), 1, 0),
        (lambda x: x.repeat(3, 2).sum(), None, 12),
        (lambda x: torch.sort(x), 1, 2),
        (lambda x: torch.add(x, x, alpha=2), 1, 2),
        (lambda _: None, 0, 0),
    ],
)
def test_operations_and_the_largest_tensor_are_counted(use, operations, largest):
    """A view takes no memory; each tensor of a tuple is looked at."""
    with WorkCounter() as counter:
        use(X)
    assert operations is None or counter.operations == operations
    assert counter.largest == largest


def test_tensors_are_made_on_the_device_only_if_it_is_the_default():
    def function(x: torch.Tensor) -> tuple[str, str]:
        return str(torch.ones(1).device), str(x.device)

    assert answer_to(function, device="meta").value == ("cpu", "meta")
    assert answer_to(function, device="meta", default_device=True).value == ("meta", "meta")


def test_a_traced_result_has_the_line_that_gave_it_its_type():
    assert answer_to(lambda x: x, trace=True).origin is None
    assert answer_to(lambda x: x).origin is None


def test_the_answer_for_an_absent_adapter_says_so():
    raised = absent("run_more").raised
    assert (raised.kind, raised.missing) == ("NameError", True)
    step = Step(0, Doing.ASK, "run_more", (), {})
    answer = perform(lambda x: x, Call("", {}, before=(step,)), Path("/nowhere"), {})
    assert answer == absent("run_more")


# --- Scripts -------------------------------------------------------------------------------------


class Counter:
    """An object with an attribute, a method, items and a call."""

    made = 0

    def __init__(self, start: int) -> None:
        type(self).made += 1
        self.number = start

    def __call__(self, more: int) -> int:
        self.number += more
        return self.number

    def __iter__(self) -> Any:
        return iter([10, 20, 30, 40])


def step(
    doing: Doing, name: str = "", *given: Any, on: int = 0, times: int = 1, **named: Any
) -> Step:
    return Step(on, doing, name, given, named, times)


def script(*then: Step, start: int = 1, seed: int = 0) -> Call:
    return Call("run", {"start": start}, seed=seed, then=then)


def value_of(call: Call, living: Living) -> Any:
    answer = perform(Counter, call, Path("/nowhere"), {"run": Counter}, living)
    return answer.raised.kind if answer.raised is not None else answer.value


def test_each_kind_of_step_does_its_thing():
    run = Living({"run": Counter})
    assert value_of(script(step(Doing.READ, "number")), run) == 1
    assert value_of(script(step(Doing.CALL, "", 4)), run) == 5
    assert value_of(script(step(Doing.WRITE, "number", 7), step(Doing.READ, "number")), run) == 7
    items = step(Doing.ITERATE)
    assert value_of(script(items, step(Doing.NEXT, on=1)), run) == 10
    assert value_of(script(items, step(Doing.NEXT, on=1, times=3)), run) == 30
    again = step(Doing.ASK, "run", start=Local(1))
    first = step(Doing.READ, "number")
    assert value_of(script(first, again, step(Doing.READ, "number", on=2), start=9), run) == 9
    assert value_of(script(step(Doing.READ, "absent")), run) == "AttributeError"


def test_a_script_that_continues_another_repeats_no_step():
    """Any difference in an earlier step begins it again."""
    living = Living({"run": Counter})
    call, more = step(Doing.CALL, "", 4), step(Doing.CALL, "", 5)
    Counter.made = 0
    assert value_of(script(call), living) == 5
    assert value_of(script(call, more), living) == 10
    assert Counter.made == 1
    for other, made in (
        (script(more, call), 2),
        (script(call, start=2), 3),
        (script(call, start=2, seed=1), 4),
        (script(call, more, start=2, seed=1), 4),
        (script(call, start=2, seed=1), 5),
        (script(step(Doing.READ, "number"), start=2, seed=1), 6),
        (script(start=2, seed=1), 7),
    ):
        value_of(other, living)
        assert Counter.made == made, other.then


def test_a_script_continues_a_plain_call_that_made_an_object():
    """A plain call that returns numbers leaves nothing to continue."""
    living = Living({"run": Counter})
    Counter.made = 0
    perform(Counter, Call("run", {"start": 1}), Path("/nowhere"), {}, living)
    assert value_of(script(step(Doing.READ, "number")), living) == 1
    assert Counter.made == 1


def test_items_go_on_where_the_script_stopped():
    living = Living({"run": Counter})
    items = step(Doing.ITERATE)
    Counter.made = 0
    for times, item in ((1, 10), (2, 20), (4, 40)):
        assert value_of(script(items, step(Doing.NEXT, on=1, times=times)), living) == item
    assert Counter.made == 1
    assert value_of(script(items, step(Doing.NEXT, on=1, times=2)), living) == 20
    assert Counter.made == 2
    more = script(items, step(Doing.NEXT, on=1, times=3), step(Doing.READ, "number"))
    assert value_of(more, living) == 1
    assert Counter.made == 2


def test_a_failed_script_is_begun_again():
    living = Living({"run": Counter})
    Counter.made = 0
    assert value_of(script(step(Doing.READ, "absent")), living) == "AttributeError"
    assert value_of(script(step(Doing.READ, "number")), living) == 1
    assert Counter.made == 2


def test_an_observed_call_does_not_continue_a_script():
    living = Living({"run": Counter})
    Counter.made = 0
    value_of(script(step(Doing.READ, "number")), living)
    observed = Call("run", {"start": 1}, then=(step(Doing.READ, "number"),), count_lines=True)
    value_of(observed, living)
    assert Counter.made == 2
    value_of(script(step(Doing.READ, "number"), step(Doing.CALL, "", 1)), living)
    assert Counter.made == 2


def test_an_answer_of_a_script_does_not_change_later():
    """The object goes on in the worker."""
    living = Living({"run": lambda: X.clone()})
    call = Call("run", {}, then=(step(Doing.CALL, "add_", 1),))
    first = perform(lambda: X.clone(), call, Path("/nowhere"), {}, living).value
    more = Call("run", {}, then=(*call.then, step(Doing.CALL, "add_", 1)))
    second = perform(lambda: X.clone(), more, Path("/nowhere"), {}, living).value
    assert (first.tolist(), second.tolist()) == ([2, 3], [3, 4])


def test_each_step_has_its_own_seed_whether_or_not_earlier_ones_ran():
    def make() -> types.SimpleNamespace:
        return types.SimpleNamespace(draw=lambda: torch.rand(()).item())

    one, both = step(Doing.CALL, "draw"), Living({})
    calls = [Call("run", {}, seed=3, then=(one,) * count) for count in (1, 2)]
    first, second = (perform(make, call, Path("/nowhere"), {}, both).value for call in calls)
    assert first != second
    assert perform(make, calls[1], Path("/nowhere"), {}, Living({})).value == second


def test_each_item_has_its_own_seed_whether_or_not_earlier_ones_were_taken():
    def draws() -> Iterator[float]:
        while True:
            yield torch.rand(()).item()

    one = Living({})
    items = [step(Doing.NEXT, times=times) for times in (1, 2, 4)]
    calls = [Call("run", {}, seed=3, then=(item,)) for item in items]
    first, second, last = (perform(draws, it, Path("/nowhere"), {}, one).value for it in calls)
    assert len({first, second, last}) == 3
    assert perform(draws, calls[-1], Path("/nowhere"), {}, Living({})).value == last
