"""Files, parameters, modules and optimizers of tests: equal on both sides, and checked."""

from __future__ import annotations

import os
import types
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from grader.core.assignment import BadAssignment
from grader.core.wire.calls import Call
from grader.core.wire.scripts import Doing, Step, module_of, outline_of
from grader.explain.answers import InFull
from grader.home.bench import DirectCalls
from grader.testing.cases import fresh_case
from grader.testing.contract import read_contract
from grader.testing.handles.handle import BrokenReference, Reference, Student
from grader.testing.handles.scripts import BadThing, TwoProcesses, in_two_processes
from grader.testing.outcome import StudentFault
from grader.worker import marshalling
from grader.worker.marshalling import ScriptFiles

pytestmark = pytest.mark.unit

CONTRACT = """
import os
from pathlib import Path
from typing import IO, Any, BinaryIO, Iterable, Iterator, Protocol
import torch

class Counter(Protocol):
    def count(self, lines: Iterable[str]) -> int: ...
    def add(self, parameter: torch.nn.Parameter) -> None: ...

def run_step(parameters: Iterable[torch.nn.Parameter], size: float) -> None: ...
def run_write(path: str | os.PathLike | IO[bytes], text: str) -> None: ...
def get_counter() -> Counter: ...
"""


def contract_of(source):
    module = types.ModuleType("adapters")
    exec(compile(source, "adapters.py", "exec", dont_inherit=True), vars(module))
    return read_contract(module)


def run_step(parameters, size):
    with torch.no_grad():
        for one in parameters:
            one -= size * one.grad


def run_write(path, text):
    if isinstance(path, str | os.PathLike):
        Path(path).write_text(text, "utf-8")
    else:
        path.write(text.encode())


class Counter:
    total = 0

    def count(self, lines):
        self.total += len(list(lines))
        return self.total

    def add(self, parameter):
        with torch.no_grad():
            parameter += self.total


RIGHT = {"run_step": run_step, "run_write": run_write, "get_counter": Counter}


def handles(name, **functions):
    """Returns the student's and the reference's handle; given functions replace the student's."""
    contract = contract_of(CONTRACT)
    calls = DirectCalls(SimpleNamespace(**(RIGHT | functions)), Path(__file__).parent)
    adapter = contract[name]
    student = Student(adapter, calls, 1, lambda *_: None, InFull(), others=contract)
    return student, Reference(adapter, RIGHT, fresh_case(1, "test"), contract)


@pytest.mark.parametrize("which", [0, 1])
def test_a_call_changes_a_parameter(which):
    """The test's own tensors stay unchanged, and the reference computes in float64."""
    handle = handles("run_step")[which]
    start, gradient = torch.ones(3), torch.full((3,), 2.0)
    weight = handle.parameter(start, gradient)
    handle([weight], 0.25)
    handle((weight,), 0.25)
    assert weight.value.tolist() == [0.0] * 3
    assert weight.value.dtype == (torch.float64 if which else torch.float32)
    assert start.tolist() == [1.0] * 3
    weight.grad = None
    assert weight.grad is None


@pytest.mark.parametrize("which", [0, 1])
def test_a_file_can_be_copied_into_a_new_process(which):
    """The copy has the file's content. The original is in the process before, out of reach."""
    write = handles("run_write")[which]
    file = write.file("a", "a.txt")
    copy = file.in_a_new_process()
    write(copy, "b")
    assert copy.text() == "b"
    with pytest.raises(BadThing, match=r"^made before in_a_new_process\(\), and used after it"):
        file.text()


def noted():
    """Returns a handle of the right program, its calls, and the list of those that are made."""
    asked = []
    contract = contract_of(CONTRACT)
    calls = DirectCalls(SimpleNamespace(**RIGHT), Path(__file__).parent)

    def ask(call):
        asked.append(call)
        return calls(call)

    write = Student(contract["run_write"], ask, 1, lambda *_: None, InFull(), others=contract)
    return write, calls, asked


@pytest.mark.parametrize("content", ["a", None])
def test_a_script_split_into_two_processes_has_the_same_results(content):
    """The first half returns the file's content, and the second half starts with it."""
    write, calls, asked = noted()
    file = write.file(name="a.txt")
    if content is not None:
        write(file, content)
    counter = write.other("get_counter")()
    copy = file.in_a_new_process()
    write.other("run_write")(copy.as_stream, "x\ny\n")
    assert counter.count(["one line"]) == 1
    assert copy.text() == "x\ny\n"
    parts = in_two_processes(asked[-1])
    first = calls(parts.first).value
    assert first == ("absent" if content is None else content.encode())
    assert calls(parts.second(first)).value == b"x\ny\n"


@pytest.mark.parametrize("made_before", [True, False])
def test_objects_of_their_own_may_stand_before_a_file_in_a_new_process(made_before):
    """Their steps run in the new process, wherever the call has the file among its arguments."""
    write, calls, asked = noted()
    file = write.file("x\n", "a.txt")
    counter = write.other("get_counter")() if made_before else None
    copy = file.in_a_new_process()
    counter = counter or write.other("get_counter")()
    assert counter.count(copy.as_text) == 1
    parts = in_two_processes(asked[-1])
    assert calls(parts.second(calls(parts.first).value)).value == 1


def test_split_scripts_with_equal_tensors_are_equal():
    """Tensors are compared by value, because `==` of two tensors gives no truth value."""

    def halves(number):
        step = Step(0, Doing.ASK, "run_write", (), {"x": torch.full((2,), number)})
        return TwoProcesses(Call("run_write", {}), [step, step], 1)

    assert halves(1.0).follows(halves(1.0))
    assert not halves(1.0).follows(halves(2.0))


def test_a_script_without_a_new_process_is_not_split():
    write, _, asked = noted()
    write(write.file(name="a.txt"), "a")
    assert in_two_processes(asked[-1]) is None


@pytest.mark.parametrize("which", [0, 1])
def test_a_module_and_an_optimizer_share_parameters(which):
    """As in torch, an optimizer's step changes the module's parameters."""
    handle = handles("run_step")[which]
    module = handle.module(torch.nn.Sequential(torch.nn.Linear(2, 2, bias=False), torch.nn.ReLU()))
    optimizer = handle.optimizer(torch.optim.SGD, module, lr=1.0)
    weight = module.parameter("0.weight")
    weight.grad = weight.value
    optimizer.step()
    assert module(torch.ones(1, 2)).tolist() == [[0.0, 0.0]]
    weight.grad = torch.ones(2, 2)
    handle(module.parameters(), 1.0)
    assert module.state_dict()["0.weight"].tolist() == [[-1.0, -1.0]] * 2
    assert optimizer.state_dict()["param_groups"][0]["lr"] == 1.0


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("form", ["path", "as_str", "as_stream"])
def test_a_call_writes_a_file(which, form):
    """The call may receive the path or a stream; the written content is there afterwards."""
    handle = handles("run_write")[which]
    file = handle.file(name="a.txt")
    assert not file.exists()
    handle(file if form == "path" else getattr(file, form), "Bär")
    assert file.text() == "Bär"
    assert file.read() == "Bär".encode()


@pytest.mark.parametrize("which", [0, 1])
def test_objects_made_separately_can_be_used_together(which):
    """An object, a file and a parameter that were made separately can be used together."""
    handle = handles("get_counter")[which]
    counter, file = handle(), handle.file("a\nb\nc\n")
    assert counter.count(file.as_text) == 3
    assert counter.count(["d"]) == 4
    weight = handle.parameter(torch.zeros(2))
    counter.add(weight)
    handle.other("run_write")(file, "one line")
    assert counter.count(file.as_text) == 5
    assert weight.value.tolist() == [4.0, 4.0]


def test_an_argument_that_does_not_match_the_contract_is_refused():
    """The test's author reads the name of the wrong parameter."""
    step, write = handles("run_step")[0], handles("run_write")[0]
    with pytest.raises(TypeError, match=r"parameters\[0\] must be a parameter, not a path"):
        step([step.file("x")], 1.0)
    with pytest.raises(TypeError, match="path must be a str or a path or a binary file, not a par"):
        write(write.parameter(torch.ones(1)), "x")
    with pytest.raises(TypeError, match="not a text file"):
        write(write.file("x").as_text, "x")


class Own(torch.nn.Module):
    """A module class that is not part of torch.nn."""


def hooked():
    module = torch.nn.Linear(2, 2)
    module.register_forward_hook(print)
    return module


def normed():
    return torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 2))


@pytest.mark.parametrize(
    ("module", "says"),
    [
        (Own(), "Own is of the class Own, which is not torch.nn's own"),
        (torch.nn.Sequential(Own()), "Sequential.0 is of the class Own"),
        (hooked(), "Linear holds _forward_hooks, which is not plain data"),
        (normed(), "ParametrizedLinear"),
        (torch.nn.TransformerEncoderLayer(4, 2), "holds activation, which is not plain data"),
        (torch.nn.LSTM(2, 3), "LSTM holds _flat_weight_refs"),
    ],
)
def test_a_module_that_a_worker_cannot_rebuild_is_refused_by_name(module, says):
    """A worker could not make the module: it has only torch's classes and unpickles nothing."""
    with pytest.raises(BadThing, match=says):
        handles("run_step")[0].module(module)


def test_unknown_optimizers_adapters_and_file_names_are_refused_by_name():
    """Unknown optimizers and adapters are refused, and file names that lead out of the folder."""
    student = handles("run_step")[0]
    for make, says in [
        (lambda: student.optimizer("Adamw", []), "torch.optim has no optimizer Adamw"),
        (lambda: student.optimizer("Optimizer", []), "no optimizer Optimizer"),
        (lambda: student.other("run_more"), "adapters.py has no function run_more"),
        (lambda: student.file("", "../x"), "is not a name of a file"),
        (lambda: student.file("", "/etc/passwd"), "is not a name of a file"),
    ]:
        with pytest.raises(BadThing, match=says):
            make()


MODULES = [
    torch.nn.Linear(3, 2),
    torch.nn.Sequential(torch.nn.Embedding(5, 4), torch.nn.LayerNorm(4), torch.nn.GELU("tanh")),
    torch.nn.BatchNorm1d(3).eval(),
    torch.nn.Conv2d(1, 2, 3, padding=1),
    torch.nn.ModuleDict({"a": torch.nn.Dropout(0.3), "b": torch.nn.ModuleList([torch.nn.Tanh()])}),
]


@pytest.mark.parametrize("module", MODULES, ids=lambda one: type(one).__name__)
def test_a_module_is_rebuilt_from_its_outline(module):
    """The copy has the same structure, state and training mode."""
    made = module_of(outline_of(module))
    assert repr(made) == repr(module)
    assert [one.training for one in made.modules()] == [one.training for one in module.modules()]
    assert list(made.state_dict()) == list(module.state_dict())
    for name, tensor in module.state_dict().items():
        assert torch.equal(made.state_dict()[name], tensor)


def replaced_by_a_pipe(path):
    path.unlink()
    os.mkfifo(path)


def replaced_by_a_link(path):
    path.unlink()
    path.symlink_to("/etc/passwd")


def replaced_by_a_folder(path):
    path.unlink()
    path.mkdir()


def grown(path):
    os.truncate(path, marshalling.MAX_FILE + 1)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (Path.unlink, "there is no a.txt afterwards"),
        (replaced_by_a_pipe, "a.txt is something else afterwards"),
        (replaced_by_a_link, "a.txt is something else afterwards"),
        (replaced_by_a_folder, "a.txt is something else afterwards"),
        (grown, "a.txt is larger than 32 MB afterwards"),
    ],
)
def test_a_file_that_a_call_removed_replaced_or_overfilled_is_reported(change, says):
    """The submission is at fault; the grader waits for no pipe and follows no link."""
    student, _ = handles("run_write", run_write=lambda path, **_: change(Path(path)))
    contract, function = contract_of(CONTRACT), {"run_write": lambda path, **_: change(path)}
    reference = Reference(contract["run_write"], function, fresh_case(1, "test"), contract)
    for handle, problem in [(student, StudentFault), (reference, BrokenReference)]:
        file = handle.file("text", "a.txt")
        handle(file, "x")
        with pytest.raises(problem, match=says):
            file.read()


def test_files_are_removed_together_with_their_script(tmp_path, monkeypatch):
    """This holds at home and in the judge."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    shop = ScriptFiles()
    path = shop.make("file", ["a.txt", b"x"], {})
    stream = shop.make("as_stream", [path], {})
    assert path.is_file()
    shop.close()
    assert stream.closed
    assert list(tmp_path.iterdir()) == []
    handle = handles("run_write")[1]
    file = handle.file(name="a.txt")
    handle(file, "x")
    assert file.read() == b"x"
    del handle, file
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("declared", "says"),
    [
        ("def run_x() -> torch.nn.Module: ...", "run_x, its result: a module can be given"),
        ("def run_x() -> dict[str, Path]: ...", "a path can be given, and not come back"),
        ("def run_x() -> dict[Path, str]: ...", "a path can be given, and not come back"),
        ("def run_x() -> int | BinaryIO: ...", "a binary file can be given"),
        ("def run_x(a: torch.utils.data.Dataset): ...", "run_x, a: Dataset cannot cross"),
        ("def get_x(a: list[Path]) -> type[torch.optim.Optimizer]: ...", "get_x, its result"),
        (
            "class A(Protocol):\n    model: torch.nn.Module\ndef get_x() -> A: ...",
            "model: a module can be given",
        ),
    ],
)
def test_an_annotation_that_cannot_cross_is_refused_when_the_contract_is_read(declared, says):
    """The message names the adapter and the parameter, and says what to write instead."""
    with pytest.raises(BadAssignment, match=says) as refused:
        contract_of(f"{CONTRACT}\n{declared}")
    assert "typing.Protocol" in str(refused.value)


def test_variadic_parameters_are_not_parameters_of_an_adapter():
    """`**kwargs` in well-known signatures are no parameters that a test must give."""
    adapter = contract_of(CONTRACT + "\ndef run_x(a: int, *more, **kwargs: Any): ...")["run_x"]
    assert adapter.parameters == ("a",)
