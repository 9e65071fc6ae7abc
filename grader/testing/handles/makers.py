"""Makes what tests want beside an adapter: parameters, modules, optimizers, files and folders."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from grader.core.wire.modules import NotOfTorch, outline_of
from grader.core.wire.scripts import Doing, Step
from grader.core.wire.values import Value, mapped
from grader.testing.contract.contract import Adapter
from grader.testing.handles.beside import (
    BadThing,
    FileHandle,
    FolderHandle,
    ModuleHandle,
    OptimizerHandle,
    checked_name,
)
from grader.testing.handles.objects import ParameterHandle, as_value, asked, joined, script_of
from grader.testing.handles.scripts import Script, Thing


class Maker:
    """Asks adapters, and makes what they are given and change, and what a test then reads.

    What is made lives where the adapter is called. `others` are the adapters of the contract.
    """

    def __init__(self, adapter: Adapter, others: Mapping[str, Adapter]) -> None:
        self.adapter = adapter
        self._others = others

    def answer(self, script: Script, adapter: Adapter, arguments: Mapping[str, Value]) -> Any:
        """The answer to the last step of a script; see `Owner`."""
        raise NotImplementedError

    def fault(self, text: str) -> Exception:
        """What is raised where something that was made is not as it must be."""
        raise NotImplementedError

    def asked(self, adapter: Adapter, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """What a call of an adapter gives; its arguments may hold handles."""
        return asked(script_of(args, kwargs) or Script(self), adapter, args, kwargs)

    def other(self, name: str) -> Callable[..., Any]:
        """Another adapter, which takes the same things."""
        if name not in self._others:
            raise BadThing(f"adapters.py has no function {name}")
        adapter = self._others[name]
        return lambda *args, **kwargs: self.asked(adapter, args, kwargs)

    def parameter(
        self,
        numbers: torch.Tensor,
        grad: torch.Tensor | None = None,
        requires_grad: bool = True,
    ) -> ParameterHandle:
        """A `torch.nn.Parameter` with these numbers and this gradient."""
        thing = self._made("parameter", numbers, grad, requires_grad)
        return ParameterHandle(thing, "the parameter")

    def module(self, module: torch.nn.Module) -> ModuleHandle:
        """The same module, of classes of `torch.nn` alone.

        Raises:
            BadThing: if it is made of others.
        """
        try:
            thing = self._made("module", outline_of(module))
        except NotOfTorch as problem:
            raise BadThing(f"no such module can be made beside a submission: {problem}") from None
        return ModuleHandle(thing, "the module")

    def optimizer(
        self,
        kind: str | type[torch.optim.Optimizer],
        parameters: ModuleHandle | Sequence[ParameterHandle],
        **options: Any,
    ) -> OptimizerHandle:
        """An optimizer of `torch.optim`, of a module's parameters or of these.

        Raises:
            BadThing: if there is none of that name.
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
        """A file, in a folder of its own; without content the path of one that is not there yet.

        Raises:
            BadThing: if that is no name of a file.
        """
        data = content.encode() if isinstance(content, str) else content
        thing = self._made("file", checked_name(name), data)
        return FileHandle(thing, name)

    def folder(
        self, entries: Mapping[str, str | bytes] | None = None, name: str = "folder"
    ) -> FolderHandle:
        """A folder with some files: their contents by name, or relative path.

        Raises:
            BadThing: if that is no name of a folder, or of a file in it.
        """
        data: dict[Any, Value] = {
            checked_name(own): content.encode() if isinstance(content, str) else content
            for own, content in (entries or {}).items()
        }
        return FolderHandle(self._made("folder", checked_name(name), data), name)

    def _made(self, name: str, *values: Value) -> Thing:
        return Script(self).take(Step(0, Doing.MAKE, name, values))
