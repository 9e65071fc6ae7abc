"""The objects that tests make for adapters: parameters, modules, optimizers, files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

import torch

from grader.core.wire.scripts import Doing, NotOfTorch, Step, outline_of
from grader.core.wire.values import Local, Value, mapped
from grader.testing.contract import Adapter
from grader.testing.handles.objects import (
    Handle,
    ParameterHandle,
    as_value,
    asked,
    joined,
    script_of,
)
from grader.testing.handles.scripts import BadThing, Owner, Script, Thing
from grader.testing.kinds import (
    MODULE,
    NUMBERS,
    OPTIMIZER,
    PARAMETERS,
    PATH,
    STREAM,
    TEXT,
    TEXT_PATH,
    Anything,
    DictType,
    Kind,
    PlainType,
    Signature,
)
from grader.worker.marshalling import (
    ABSENT,
    ANEW,
    IRREGULAR,
    MAX_FILE,
    TOO_LARGE,
)

_STATE = DictType(PlainType(str), Anything())
_WHY = {
    ABSENT: "there is no {} afterwards",
    IRREGULAR: "{} is something else afterwards: a link, a folder, or a pipe",
    TOO_LARGE: f"{{}} is larger than {MAX_FILE >> 20} MB afterwards",
}
_UNKNOWN = "it cannot be told what {} is afterwards"


class ModuleHandle(Handle):
    """A module of `torch.nn`: its parameters, its state and its output."""

    _what = MODULE

    def __call__(self, *inputs: torch.Tensor) -> torch.Tensor:
        """Returns the module's output for these inputs."""
        kinds: dict[str, Kind] = {f"input {number}": NUMBERS for number in range(len(inputs))}
        result: torch.Tensor = self._called("", self._name, Signature(kinds, NUMBERS), inputs, {})
        return result

    def state_dict(self) -> dict[str, torch.Tensor]:
        """Returns the module's parameters and buffers by name."""
        kinds = DictType(PlainType(str), NUMBERS)
        name = f"the state dict of {self._name}"
        state: dict[str, torch.Tensor] = self._called(
            "state_dict", name, Signature({}, kinds), (), {}
        )
        return state

    def parameter(self, name: str) -> ParameterHandle:
        """Returns one of the module's parameters."""
        step = Step(self._thing.place, Doing.CALL, "get_parameter", (name,))
        return ParameterHandle(self._thing.script.take(step), f"the parameter {name}")

    def parameters(self) -> ArgumentForm:
        """Returns all parameters as an argument for calls; each call gets a new iterator."""

        def step() -> Step:
            return Step(self._thing.place, Doing.CALL, "parameters")

        return ArgumentForm(self._thing, self._name, PARAMETERS, step)


class OptimizerHandle(Handle):
    """An optimizer of `torch.optim`."""

    _what = OPTIMIZER

    def step(self) -> None:
        """Makes one step with the parameters' gradients."""
        self._thing.script.take(Step(self._thing.place, Doing.CALL, "step"))

    def zero_grad(self) -> None:
        """Removes the gradient of every parameter."""
        self._thing.script.take(Step(self._thing.place, Doing.CALL, "zero_grad"))

    def state_dict(self) -> dict[str, Any]:
        """Returns the optimizer's state, as nested dicts and lists of numbers and tensors."""
        name = f"the state dict of {self._name}"
        state: dict[str, Any] = self._called("state_dict", name, Signature({}, _STATE), (), {})
        return state


class FileHandle(Handle):
    """A file, which may still have to be written; as an argument it is a `pathlib.Path`."""

    _what = PATH

    @property
    def as_str(self) -> ArgumentForm:
        """Returns the path as a str, as an argument."""
        return self._form("as_str", TEXT_PATH)

    @property
    def as_stream(self) -> ArgumentForm:
        """Returns the file, open for reading and writing bytes, as an argument."""
        return self._form("as_stream", STREAM)

    @property
    def as_text(self) -> ArgumentForm:
        """Returns the file, open for reading text in UTF-8, as an argument."""
        return self._form("as_text", TEXT)

    def _form(self, how: str, what: str) -> ArgumentForm:
        def step() -> Step:
            return Step(0, Doing.MAKE, how, (self._local(),))

        return ArgumentForm(self._thing, self._name, what, step)

    def _seen(self, how: str) -> Any:
        """Returns what the step `how` ("exists" or "content") reads from the path.

        Raises:
            StudentFault: if the path cannot be read; the text says why.
        """
        script = self._thing.script
        script.take(Step(0, Doing.MAKE, how, (self._local(),)))
        value = script.answer(Adapter(self._name, {}, Anything()), {})
        if isinstance(value, str) or value is None:
            raise script.owner.fault(_WHY.get(value or "", _UNKNOWN).format(self._name))
        return value

    def exists(self) -> bool:
        """Returns whether the file exists."""
        return self._seen("exists") is True

    def in_a_new_process(self) -> FileHandle:
        """Returns a file with the same content in a new process, where nothing else is left.

        In class, all later steps run in a process of their own, into which the submission is
        imported again. They must not use objects that were made before.
        """
        step = Step(0, Doing.MAKE, ANEW, (self._local(), self._name))
        return FileHandle(self._thing.script.take(step), self._name)

    def read(self) -> bytes:
        """Returns the file's content.

        Raises:
            StudentFault: if there is no such file, or it is too large.
        """
        content = self._seen("content")
        if not isinstance(content, bytes):
            raise self._thing.script.owner.fault(_UNKNOWN.format(self._name))
        return content

    def text(self) -> str:
        """Returns the file's content, decoded as UTF-8.

        Raises:
            StudentFault: if it cannot be read, or is not UTF-8.
        """
        try:
            return self.read().decode()
        except UnicodeDecodeError as error:
            said = f"{self._name} is not text in UTF-8: byte {error.start} does not belong there"
            raise self._thing.script.owner.fault(said) from None


class ArgumentForm(Handle):
    """An object in another form, as an argument; each call gets a new one, from a new `step`."""

    def __init__(self, thing: Thing, name: str, what: str, step: Callable[[], Step]) -> None:
        super().__init__(thing, name)
        self._what = what
        self._step = step

    def _local(self) -> Local:
        return Local(self._thing.script.take(self._step()).place, self._what)


def checked_name(name: str) -> str:
    """Returns a file's name or relative path, if it stays below its folder.

    Raises:
        BadThing: if it is empty or leads elsewhere.
    """
    parts = PurePosixPath(name).parts
    if not parts or name.startswith("/") or ".." in parts or "\0" in name:
        raise BadThing(f"{name!r} is not a name of a file")
    return name


class Maker(Owner):
    """Calls adapters, and makes objects that they take and change and that a test then reads.

    These objects live where the adapter is called. `others` are the adapters of the contract.
    """

    adapter: Adapter
    others: Mapping[str, Adapter]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Returns the adapter's value, or a handle of an object; the arguments may hold handles.

        Raises:
            StudentFault: if a submission gives no answer, or one of another type or shape.
        """
        return self._asked(self.adapter, args, kwargs)

    def _asked(self, adapter: Adapter, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        return asked(script_of(args, kwargs) or Script(self), adapter, args, kwargs)

    def other(self, name: str) -> Callable[..., Any]:
        """Returns another adapter, which takes the same objects."""
        if name not in self.others:
            raise BadThing(f"adapters.py has no function {name}")
        adapter = self.others[name]
        return lambda *args, **kwargs: self._asked(adapter, args, kwargs)

    def parameter(
        self,
        numbers: torch.Tensor,
        grad: torch.Tensor | None = None,
        requires_grad: bool = True,
    ) -> ParameterHandle:
        """Returns a `torch.nn.Parameter` with these numbers and this gradient."""
        thing = self._made("parameter", numbers, grad, requires_grad)
        return ParameterHandle(thing, "the parameter")

    def module(self, module: torch.nn.Module) -> ModuleHandle:
        """Returns a handle of the same module, which may hold classes of `torch.nn` only.

        Raises:
            BadThing: if the module holds other classes.
        """
        try:
            thing = self._made("module", outline_of(module))
        except NotOfTorch as problem:
            raise BadThing(f"such a module cannot be made beside a submission: {problem}") from None
        return ModuleHandle(thing, "the module")

    def optimizer(
        self,
        kind: str | type[torch.optim.Optimizer],
        parameters: ModuleHandle | Sequence[ParameterHandle],
        **options: Any,
    ) -> OptimizerHandle:
        """Returns an optimizer of `torch.optim` for a module's parameters, or for these.

        Raises:
            BadThing: if `torch.optim` has no optimizer of that name.
        """
        name = kind if isinstance(kind, str) else kind.__name__
        found = getattr(torch.optim, name, None)
        base = torch.optim.Optimizer
        if not (isinstance(found, type) and issubclass(found, base) and found is not base):
            raise BadThing(f"torch.optim has no optimizer {name}")
        script = joined(script_of(parameters) or Script(self), parameters)
        given = (name, mapped(parameters, as_value), options)
        thing = script.take(Step(0, Doing.MAKE, "optimizer", given))
        return OptimizerHandle(thing, "the optimizer")

    def file(self, content: str | bytes | None = None, name: str = "file.txt") -> FileHandle:
        """Returns a file in a folder of its own; without `content`, it does not exist yet.

        Raises:
            BadThing: if `name` is not a file name or relative path.
        """
        data = content.encode() if isinstance(content, str) else content
        thing = self._made("file", checked_name(name), data)
        return FileHandle(thing, name)

    def _made(self, name: str, *values: Value) -> Thing:
        return Script(self).take(Step(0, Doing.MAKE, name, values))
