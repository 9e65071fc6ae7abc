"""Notices when a submission calls or returns a name that its assignment forbids.

This is a rule of the course, not a matter of security: a submission can undo the watch. A name that
is not loaded before the submission's import is not watched, and its use goes unnoticed. Torch's
operations are watched where they run, so that no other name hides one.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType, FunctionType
from typing import Any

import torch

from grader.core.wire.calls import MAX_USES, Use
from grader.worker.observing.lines import OwnLines

NAMESPACE = "aten::"
_NUMBERS = (bool, int, float, complex)
_EXACT = {float: torch.float64, complex: torch.complex128}


# The kernels of an operation, by three dispatch keys. A kernel is registered at the first, torch
# hands it out at the second, and its watch takes its place at the third.
_KERNELS = (
    *((key, key, key) for key in ("CPU", "CUDA", "QuantizedCPU", "NestedTensorCPU")),
    # Tensors of other layouts pass these keys, except in inference mode.
    *(("Autograd", key, key) for key in ("AutogradCPU", "AutogradCUDA")),
    # torch.vmap takes an operation apart before the kernel of a device runs.
    ("FuncTorchVmapMode", "FuncTorchVmapMode", "FuncTorchVmapMode"),
    ("FuncTorchBatched", "FuncTorchBatched", "FuncTorchBatched"),
    ("FuncTorchBatchedDecomposition", "FuncTorchBatched", "FuncTorchBatched"),
    # Composite kernels, made of other operations, for every device without its own kernel.
    *(
        (f"Composite{kind}", "Undefined", f"Composite{kind}")
        for kind in ("ImplicitAutograd", "ExplicitAutograd", "ExplicitAutogradNonFunctional")
    ),
)


def watch_operation(name: str, seen: Callable[[], None]) -> object:
    """Calls `seen` whenever torch's dispatcher runs an operation, for example `aten::softmax`.

    All of its overloads count, and its in-place variant: they compute the same. The watch lasts as
    long as the returned object. See "Extending torch: torch.library" in torch's documentation.
    """
    library: Any = torch.library.Library("aten", "IMPL")  # type: ignore[no-untyped-call]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the replaced kernel
        for overload in _overloads(name.removeprefix(NAMESPACE)):
            for keys in _KERNELS:
                # TorchScript has overloads of its own, and not every torch hands kernels out.
                with contextlib.suppress(RuntimeError, AttributeError):
                    _watch(library, overload, keys, seen)
    return library


def _overloads(name: str) -> Iterator[Any]:
    """Yields the overloads of an operation: `mm.default`, `mm.out`."""
    for packet in (getattr(torch.ops.aten, one, None) for one in (name, f"{name}_")):
        if packet is not None:
            yield from (getattr(packet, overload) for overload in packet.overloads())


def _watch(
    library: Any, overload: Any, keys: tuple[str, str, str], seen: Callable[[], None]
) -> None:
    registered, handed_out, place = keys
    if torch._C._dispatch_has_kernel_for_dispatch_key(overload.name(), registered):
        own = torch.library.get_kernel(overload, handed_out).call_boxed

        def watched(keys: torch._C.DispatchKeySet, *args: Any, **kwargs: Any) -> Any:
            seen()
            return own(keys, *_as_kernels_take(args, overload._schema.arguments), **kwargs)

        library.impl(overload, watched, place, with_keyset=True)


def _as_kernels_take(args: Sequence[Any], parameters: Sequence[Any]) -> Iterator[Any]:
    """Yields the arguments; a number in a tensor's place, as in `x + 1`, becomes a tensor again.

    The tensor is exact. If that would promote the other operands further than the number does, it
    has the dtype to which they promote the number.
    """
    for one, parameter in zip(args, parameters, strict=False):
        if isinstance(one, _NUMBERS) and str(parameter.type) == "Tensor":
            others: list[Any] = [it for it in args if isinstance(it, torch.Tensor)] or [one]
            exact = torch.tensor(one, dtype=_EXACT.get(type(one)))
            dtype = _promoted(others, one)
            yield exact if _promoted(others, exact) is dtype else exact.to(dtype)
        else:
            yield one


def _promoted(others: Sequence[Any], one: Any) -> torch.dtype:
    return functools.reduce(
        torch.promote_types, (torch.result_type(other, one) for other in others)
    )


class CallWatch:
    """A record of the watched functions, classes and operations that were called, and where.

    The line is the innermost one of the submission's own files, those below `root`. A use without
    such a line, for example in a thread, is reported at the adapter that is being called. Calls
    inside a forbidden call are no further uses.
    """

    def __init__(self, names: Iterable[str], root: Path) -> None:
        self._own = OwnLines(root)
        self._watches = f"{Path(__file__).parent}{os.sep}"
        self._uses: dict[Use, None] = {}
        self._classes: dict[type, str] = {}
        self._operations: list[object] = []
        self._asked: Callable[..., Any] | None = None
        for name in names:
            if name.startswith(NAMESPACE):
                self._operations.append(watch_operation(name, self._noting(name)))
                continue
            # Some types cannot be changed, for example those written in C.
            with contextlib.suppress(AttributeError, TypeError):
                self._watch(name)

    def take(self) -> tuple[Use, ...]:
        """Returns the uses since they were last taken."""
        uses, self._uses = self._uses, {}
        return tuple(uses)

    def call(self, adapter: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
        """Calls an adapter; returns its result, after a look for forbidden classes."""
        before, self._asked = self._asked, adapter
        try:
            given = adapter(**arguments)
        finally:
            self._asked = before
        self._look_at(given, adapter)
        return given

    def _look_at(self, given: object, adapter: Callable[..., Any]) -> None:
        """Notes a class that an adapter returns, or that of a returned object, if it is forbidden.

        A class that inherits from a forbidden one counts too, wherever the object was made.
        """
        kind = given if isinstance(given, type) else type(given)
        for number, base in enumerate(kind.__mro__):
            if base in self._classes:
                name = self._classes[base]
                if any(use.name == name for use in self._uses):
                    return  # its making was just noted
                # The submission's own class that is nearest to it, else the adapter.
                own = (self._place(one) for one in reversed(kind.__mro__[:number]))
                place = next(filter(None, own), None) or self._place(inspect.unwrap(adapter))
                if place is not None:
                    self._note(Use(name, *place))
                return

    def _watch(self, name: str) -> None:
        owner_name, _, attribute = name.rpartition(".")
        owner = _loaded(owner_name)
        found = getattr(owner, attribute, None)
        if isinstance(found, type):
            self._classes[found] = name
            self._watch_class(found, name)
        elif callable(found):
            watched = self._watched(found, name)
            _keep_scriptable(watched, found)
            setattr(owner, attribute, watched)

    def _watch_class(self, kind: Any, name: str) -> None:
        """Watches the making of a class's objects, and calls of objects that were made earlier."""
        if isinstance(kind.__init__, FunctionType):
            kind.__init__ = self._watched(kind.__init__, name)
        if any("__call__" in vars(base) for base in kind.__mro__):
            kind.__call__ = self._watched(kind.__call__, name)

    def _watched(self, function: Callable[..., Any], name: str) -> Callable[..., Any]:
        @functools.wraps(function)
        def watched(*args: Any, **kwargs: Any) -> Any:
            self._remember(name, sys._getframe())
            return function(*args, **kwargs)

        return watched

    def _noting(self, name: str) -> Callable[[], None]:
        # The search for a line begins above the operation's own watch.
        return lambda: self._remember(name, sys._getframe(1))

    def _remember(self, name: str, here: FrameType) -> None:
        frame = here.f_back
        while frame is not None and frame.f_code is not CallWatch.call.__code__:
            file = frame.f_code.co_filename
            if file.startswith(self._watches):
                return  # called inside another watched call
            if self._own.holds(file):
                self._note(Use(name, self._own.place(file), frame.f_lineno or 0))
                return
            frame = frame.f_back
        if self._asked is not None and (place := self._place(inspect.unwrap(self._asked))):
            self._note(Use(name, *place))

    def _note(self, use: Use) -> None:
        if len(self._uses) < MAX_USES:
            self._uses[use] = None

    def _place(self, thing: Any) -> tuple[str, int] | None:
        """Returns the file and line in which a class or function of the submission begins."""
        try:
            if isinstance(thing, FunctionType):
                file, line = thing.__code__.co_filename, thing.__code__.co_firstlineno
            else:
                file = inspect.getfile(thing)
                line = inspect.getsourcelines(thing)[1] if self._own.holds(file) else 0
        except (OSError, TypeError, SyntaxError):
            return None
        return (self._own.place(file), line) if self._own.holds(file) else None


def _loaded(name: str) -> object:
    """Returns the module or class of that dotted name, if it is loaded; else None."""
    if not name or name in sys.modules:
        return sys.modules.get(name)
    owner, _, attribute = name.rpartition(".")
    return getattr(_loaded(owner), attribute, None)


def _keep_scriptable(watched: Any, function: Any) -> None:
    """Registers a watched operator with TorchScript, which knows operators by identity."""
    builtins: Any = torch.jit._builtins
    operator = builtins._find_builtin(function)
    if operator is not None:
        builtins._register_builtin(watched, operator)
    elif isinstance(function, FunctionType):
        watched.__script_if_tracing_wrapper = True
        watched.__original_fn = function
