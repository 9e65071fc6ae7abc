"""Messages about an object or a class that cannot do what a test asks of it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import types
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from grader.explain.answers import InFull
from grader.home.bench import DirectCalls
from grader.testing.assertions import (
    assert_gradients_match,
    assert_inputs_unchanged,
    assert_runs_on_another_device,
    assert_work_does_not_grow,
)
from grader.testing.contract import read_contract
from grader.testing.handles.handle import Student
from grader.testing.outcome import StudentFault

pytestmark = pytest.mark.unit

KINDS = Path(__file__).parents[1] / "kinds_of_values"

CONTRACT = """
from typing import Protocol
import torch
from jaxtyping import Float
from torch import Tensor

class Tokenizer(Protocol):
    size: int
    def encode(self, text: str) -> list[int]: ...
    def decode(self, ids: list[int]) -> str: ...

class Dataset(Protocol):
    def parameter(self) -> int: ...
    def __len__(self) -> int: ...
    def __getitem__(self, index: int) -> str: ...

class Optimizer(Protocol):
    def __init__(self, parameters: list[torch.nn.Parameter]) -> None: ...
    def step(self) -> None: ...

class LSTMCell(Protocol):
    def __init__(self, size: int) -> None: ...
    def reset(self) -> None: ...
    def __call__(self, x: Float[Tensor, "batch size"]) -> Float[Tensor, "batch hidden"]: ...

def run_layer(layer: torch.nn.Module, x: Tensor) -> Tensor: ...
def get_tokenizer() -> Tokenizer: ...
def get_dataset() -> Dataset: ...
def get_cell_class() -> type[LSTMCell]: ...
def get_optimizer_class() -> type[Optimizer]: ...
"""


class Encoder:
    size = 3

    def encode(self, text):
        return [*map(len, text)]


class Complete(Encoder):
    def decode(self, ids):
        return self.encode(ids)


class Items:
    def __getitem__(self, index):
        return ["a", "b", 3][index]


class Steps:
    def __init__(self, parameters):
        self.parameters = parameters

    def step(self):
        pass


class StepsOfTwo(Steps):
    def step(self, closure):
        pass


def handle_of(name, given):
    """Returns the handle of an adapter that returns this value."""
    module = types.ModuleType("adapters")
    exec(compile(CONTRACT, "adapters.py", "exec", dont_inherit=True), vars(module))
    contract = read_contract(module)
    calls = DirectCalls(SimpleNamespace(**{name: lambda: given}), Path(__file__).parent)
    return Student(contract[name], calls, 1, lambda *_: None, InFull(), others=contract)


def message_lines(name, given, do):
    """Returns the lines of the message when a test does this with a handle."""
    with pytest.raises(StudentFault) as raised:
        do(handle_of(name, given))
    return raised.value.message.splitlines()


def test_a_class_in_place_of_an_object_is_refused():
    """The adapter forgot the parentheses, so the message blames the adapter and not the method."""
    said = message_lines("get_tokenizer", Encoder, lambda handle: handle().encode("ab"))
    must = "get_tokenizer must return a Tokenizer (encode(), decode(), size)"
    assert said[0].startswith(f"{must}, not a class (Encoder)")


def test_a_missing_method_is_not_taken_for_another_declared_method():
    """`encode` is declared, so it is not offered as a misspelt `decode`."""
    said = message_lines("get_tokenizer", Encoder(), lambda handle: handle().decode([1]))
    assert said[0] == "AttributeError: 'Encoder' object has no attribute 'decode'"
    assert not any("encode" in line for line in said[1:])


def test_a_declared_item_can_be_asked_for():
    """Its type is checked; there is no loop over the items, and no `in`."""
    dataset = handle_of("get_dataset", Items())()
    assert dataset[1] == "b"
    said = message_lines("get_dataset", Items(), lambda handle: handle()[2])[0]
    assert said.startswith("get_dataset.__getitem__ must return a str, not the int 3")
    for asked in (iter, lambda handle: "a" in handle):
        with pytest.raises(TypeError):
            asked(dataset)
    with pytest.raises(TypeError, match="declares no __getitem__ of a Tokenizer"):
        handle_of("get_tokenizer", Complete())()[0]


def test_an_exception_inside_a_method_is_reported_at_its_line():
    """If a method calls another one wrongly, the first is at fault."""
    said = message_lines("get_tokenizer", Complete(), lambda handle: handle().decode([1]))
    assert said[0].startswith("TypeError: object of type 'int' has no len() (test_object_messages")


def test_a_message_shows_the_signature_of_the_method_that_was_called():
    """The message shows the method's signature, not that of the adapter."""
    said = message_lines("get_optimizer_class", StepsOfTwo, lambda handle: handle()([]).step())
    assert "yours is StepsOfTwo.step(closure) in test_object_messages.py" in said[1]


class Cell:
    def __init__(self, size):
        self.size = size

    def __call__(self, x):
        return x, x


def test_a_wrong_answer_of_a_call_is_not_ascribed_to_the_adapter():
    """The adapter rightly returns a class, so advice to it would mislead."""
    said = message_lines("get_cell_class", Cell, lambda handle: handle()(3)(torch.ones(2, 3)))
    assert said[0].startswith("get_cell_class.__call__ must return a floating-point tensor")
    assert said[-1] == "The test called get_cell_class.__call__(x=float32[2, 3])."


def test_the_declared_call_of_an_object_is_listed_with_its_methods():
    """A test may call the object, as it may call each listed method."""
    said = message_lines("get_cell_class", Cell(3), lambda handle: handle()(3))
    assert "must return an LSTMCell (reset(), __call__()), not a tuple" in said[0]


@pytest.mark.parametrize(
    "asserted",
    [assert_inputs_unchanged, partial(assert_gradients_match, cotangent=torch.ones(1), wrt=("x",))],
    ids=["inputs", "gradients"],
)
def test_an_assertion_on_functions_refuses_an_object_with_the_reason(asserted):
    """Only adapters that are functions have gradients and inputs to look at."""
    cell = handle_of("get_cell_class", Cell)()(3)
    asks = [cell, cell] if isinstance(asserted, partial) else [cell]
    with pytest.raises(TypeError, match=r"the fixture `student` of a run_ adapter, .* no object"):
        asserted(*asks, x=torch.ones(2, 3))


@pytest.mark.parametrize(
    "asserted",
    [
        assert_inputs_unchanged,
        assert_runs_on_another_device,
        lambda student, **given: assert_gradients_match(student, student, None, ("x",), **given),
        lambda student, **given: assert_work_does_not_grow(student, student, {}, given),
    ],
    ids=["inputs", "device", "gradients", "work"],
)
def test_an_assertion_refuses_what_a_test_made_beside_a_submission(asserted):
    """Its call runs alone, and would know neither the module nor what it did before."""
    student, layer = handle_of("run_layer", None), torch.nn.Linear(3, 3)
    given = {"layer": student.module(layer), "x": torch.ones(2, 3)}
    with pytest.raises(TypeError, match=r"takes no module .* made beside"):
        asserted(student, **given)


def test_a_module_that_no_handle_made_is_refused():
    """`draw.module` gives a module of torch, which is not yet on a side."""
    with pytest.raises(TypeError, match=r"a module, not Linear"):
        handle_of("run_layer", None)(torch.nn.Linear(3, 3), torch.ones(2, 3))


def right_program():
    """Returns the references as a student's own functions."""
    right = (KINDS / "solutions" / "__init__.py").read_text("utf-8")
    return re.sub("def (run|get)_", "def ", right).replace("from adapters import Split", "")


OF_COPIES = """
class Optimizer:
    def __init__(self, parameters, rate, momentum):
        self.parameters = [one * 1 for one in parameters]

    def step(self):
        for one in self.parameters:
            one = one - 0.1 * one.grad
"""
WITHOUT_MOMENTUM = """
class Optimizer(torch.optim.Optimizer):
    def __init__(self, parameters, rate, momentum):
        super().__init__(parameters, {"rate": rate})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for one in group["params"]:
                one -= group["rate"] * one.grad
"""
WRONG_COUNTS = "def counts(text):\n    return {}\n"


@pytest.fixture(scope="module")
def handout(grader, tmp_path_factory):
    """The handout of the assignment with all kinds of values."""
    folder = tmp_path_factory.mktemp("objects") / "handout"
    done = grader("handout", folder, cwd=KINDS)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.slow
@pytest.mark.process
def test_a_known_mistake_in_an_object_is_named_at_home(handout):
    """The first optimizer makes torch import for a second, after another exercise has failed."""
    program = f"{right_program()}\n{WRONG_COUNTS}\n{WITHOUT_MOMENTUM}"
    (handout / "assignment" / "__init__.py").write_text(program, "utf-8")
    # A new process, because torch has already imported everything in this one.
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "--locate",
    ]
    told = subprocess.run(command, cwd=handout, capture_output=True, text=True, check=False).stdout
    assert "your optimizer has no momentum" in told


@pytest.mark.process
def test_a_missing_gradient_is_reported_without_the_warning_of_torch(handout, home_pytest):
    """torch warns once, in nine lines, when a program reads the gradient of a non-leaf tensor."""
    program = f"{right_program()}\n{OF_COPIES}"
    (handout / "assignment" / "__init__.py").write_text(program, "utf-8")
    shutil.rmtree(handout / "assignment" / "__pycache__", ignore_errors=True)
    told = home_pytest(handout, "-k", "test_optimizer").stdout
    assert "NoneType" in told
    assert "Warning" not in told
