"""Handles of what tests make beside a submission: modules, optimizers, files and folders."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any

import torch

from grader.core.wire.scripts import Doing, Step
from grader.core.wire.values import Local
from grader.testing.contract.contract import Adapter
from grader.testing.contract.kinds import TEXT_PATH, Anything, DictType, Kind, PlainType
from grader.testing.contract.object_kinds import (
    MODULE,
    OPTIMIZER,
    PARAMETERS,
    PATH,
    STREAM,
    TEXT,
    Signature,
)
from grader.testing.handles.objects import NUMBERS, Handle, ParameterHandle
from grader.testing.handles.scripts import Thing
from grader.worker.making import ABSENT, ANEW, IRREGULAR, MAX_ENTRIES, MAX_FILE, TOO_LARGE, TOO_MANY

_STATE = DictType(PlainType(str), Anything())
_WHY = {
    ABSENT: "there is no {} afterwards",
    IRREGULAR: "{} is something else afterwards: a link, a folder, or a pipe",
    TOO_LARGE: f"{{}} is larger than {MAX_FILE >> 20} MB afterwards",
    TOO_MANY: f"{{}} holds more than {MAX_ENTRIES} files afterwards",
}
_UNKNOWN = "it cannot be told what {} is afterwards"


class BadThing(Exception):
    """A test asks for something beside the submission that cannot be made there."""


class ModuleHandle(Handle):
    """A module of torch's own: its parameters, its state, what it computes."""

    _what = MODULE

    def __call__(self, *inputs: torch.Tensor) -> torch.Tensor:
        """What it computes."""
        kinds: dict[str, Kind] = {f"input {number}": NUMBERS for number in range(len(inputs))}
        result: torch.Tensor = self._called("", self._name, Signature(kinds, NUMBERS), inputs, {})
        return result

    def state_dict(self) -> dict[str, torch.Tensor]:
        """Its parameters and buffers by name."""
        kinds = DictType(PlainType(str), NUMBERS)
        name = f"the state dict of {self._name}"
        state: dict[str, torch.Tensor] = self._called(
            "state_dict", name, Signature({}, kinds), (), {}
        )
        return state

    def parameter(self, name: str) -> ParameterHandle:
        """One of its parameters."""
        step = Step(self._thing.place, Doing.CALL, "get_parameter", (name,))
        return ParameterHandle(self._thing.script.take(step), f"the parameter {name}")

    def parameters(self) -> ParametersOf:
        """All its parameters, to be passed on: a new iterator for each call."""
        return ParametersOf(self._thing, self._name)


class ParametersOf(Handle):
    """The parameters of a module, as an argument."""

    def _local(self) -> Local:
        step = Step(self._thing.place, Doing.CALL, "parameters")
        return Local(self._thing.script.take(step).place, PARAMETERS)


class OptimizerHandle(Handle):
    """An optimizer of torch's own."""

    _what = OPTIMIZER

    def step(self) -> None:
        """One step, with the gradients that parameters have."""
        self._thing.script.take(Step(self._thing.place, Doing.CALL, "step"))

    def zero_grad(self) -> None:
        """No parameter has a gradient any more."""
        self._thing.script.take(Step(self._thing.place, Doing.CALL, "zero_grad"))

    def state_dict(self) -> dict[str, Any]:
        """Its state, as nested dicts and lists of numbers and tensors."""
        name = f"the state dict of {self._name}"
        state: dict[str, Any] = self._called("state_dict", name, Signature({}, _STATE), (), {})
        return state


class _Path(Handle):
    """A path; as an argument a `pathlib.Path`."""

    _what = PATH

    @property
    def as_str(self) -> PathForm:
        """It as a str, as an argument."""
        return PathForm(self._thing, self._name, "as_str", TEXT_PATH)

    def exists(self) -> bool:
        """Whether something is there."""
        return self._seen("exists") is True

    def _seen(self, how: str) -> Any:
        """What is found there.

        Raises:
            StudentFault: if that cannot be told; the text says why.
        """
        script = self._thing.script
        script.take(Step(0, Doing.MAKE, how, (self._local(),)))
        value = script.answer(Adapter(self._name, {}, Anything()), {})
        if isinstance(value, str) or value is None:
            raise script.owner.fault(_WHY.get(value or "", _UNKNOWN).format(self._name))
        return value


class FileHandle(_Path):
    """A file, which is there already or is to be written."""

    @property
    def as_stream(self) -> PathForm:
        """It open for reading and writing bytes, from its beginning, as an argument."""
        return PathForm(self._thing, self._name, "as_stream", STREAM)

    @property
    def as_text(self) -> PathForm:
        """It open for reading text in UTF-8, as an argument."""
        return PathForm(self._thing, self._name, "as_text", TEXT)

    def in_a_new_process(self) -> FileHandle:
        """A file with the same content where nothing else of what was done before is left.

        In class, who takes it and what is made from then on are in a process of their own, into
        which the submission is imported anew. Nothing that was made before may be used with them.
        """
        step = Step(0, Doing.MAKE, ANEW, (self._local(), self._name))
        return FileHandle(self._thing.script.take(step), self._name)

    def read(self) -> bytes:
        """Its content.

        Raises:
            StudentFault: if there is none, or it is too large.
        """
        content = self._seen("content")
        if not isinstance(content, bytes):
            raise self._thing.script.owner.fault(_UNKNOWN.format(self._name))
        return content

    def text(self) -> str:
        """Its content, which is text in UTF-8.

        Raises:
            StudentFault: if it is none.
        """
        try:
            return self.read().decode()
        except UnicodeDecodeError as error:
            said = f"{self._name} is no text in UTF-8: byte {error.start} does not belong there"
            raise self._thing.script.owner.fault(said) from None


class FolderHandle(_Path):
    """A folder."""

    def entries(self) -> list[str]:
        """The files in it and in its folders, by their relative paths, in order.

        Raises:
            StudentFault: if it is no folder any more, or holds too many.
        """
        found = self._seen("entries")
        if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
            raise self._thing.script.owner.fault(_UNKNOWN.format(self._name))
        return found

    def file(self, name: str) -> FileHandle:
        """A file in it, there or not."""
        step = Step(0, Doing.MAKE, "within", (self._local(), checked_name(name)))
        return FileHandle(self._thing.script.take(step), name)


class PathForm(Handle):
    """A path as something else, as an argument; made anew for each call."""

    def __init__(self, thing: Thing, name: str, how: str, what: str) -> None:
        super().__init__(thing, name)
        self._how = how
        self._what = what

    def _local(self) -> Local:
        path = Local(self._thing.place, PATH)
        made = self._thing.script.take(Step(0, Doing.MAKE, self._how, (path,)))
        return Local(made.place, self._what)


def checked_name(name: str) -> str:
    """A name, or relative path.

    Raises:
        BadThing: if it leads elsewhere.
    """
    parts = PurePosixPath(name).parts
    if not parts or name.startswith("/") or ".." in parts or "\0" in name:
        raise BadThing(f"{name!r} is no name of a file")
    return name
