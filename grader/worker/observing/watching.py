"""Notices when a submission calls, or hands back, what its assignment forbids.

A rule of the course and no matter of security: a submission can undo what is done here. What is
not loaded before the submission is imported is not watched; the judge finds it in the source.
Operations of torch are watched where they run: no other name hides one.
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
from typing import Any, NamedTuple

import torch

from grader.core.wire.calls import MAX_USES, Use

NAMESPACE = "aten::"
_NUMBERS = (bool, int, float, complex)


class _Kernel(NamedTuple):
    """A kernel of an operation: the key at which it is `registered`, the one at which torch hands
    it out, and the one at which its watch takes its `place`.
    """

    registered: str
    handed_out: str
    place: str


_KERNELS = (
    *(_Kernel(key, key, key) for key in ("CPU", "CUDA", "QuantizedCPU", "NestedTensorCPU")),
    # Tensors of other layouts pass these, but for those of inference mode.
    *(_Kernel("Autograd", key, key) for key in ("AutogradCPU", "AutogradCUDA")),
    # torch.vmap takes an operation apart before the kernel of a device runs.
    _Kernel("FuncTorchVmapMode", "FuncTorchVmapMode", "FuncTorchVmapMode"),
    _Kernel("FuncTorchBatched", "FuncTorchBatched", "FuncTorchBatched"),
    _Kernel("FuncTorchBatchedDecomposition", "FuncTorchBatched", "FuncTorchBatched"),
    # Made of other operations, for every device without a kernel of its own, and for none.
    *(
        _Kernel(key, "Undefined", key)
        for key in (
            "CompositeImplicitAutograd",
            "CompositeExplicitAutograd",
            "CompositeExplicitAutogradNonFunctional",
        )
    ),
)


def watch_operation(name: str, seen: Callable[[], None]) -> object:
    """Calls `seen` whenever torch's dispatcher runs an operation, such as `aten::softmax`.

    All of its overloads count, and its in-place variant: they compute the same. The watch lasts as
    long as what is returned. See "Extending torch: torch.library" in torch's documentation.
    """
    library: Any = torch.library.Library("aten", "IMPL")  # type: ignore[no-untyped-call]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a kernel is replaced
        for overload in _overloads(name.removeprefix(NAMESPACE)):
            for kernel in _KERNELS:
                # TorchScript has overloads of its own, and not every torch hands kernels out.
                with contextlib.suppress(RuntimeError, AttributeError):
                    _watch(library, overload, kernel, seen)
    return library


def _overloads(name: str) -> Iterator[Any]:
    """Yields the overloads of an operation: `mm.default`, `mm.out`."""
    for packet in (getattr(torch.ops.aten, one, None) for one in (name, f"{name}_")):
        if packet is not None:
            yield from (getattr(packet, overload) for overload in packet.overloads())


def _watch(library: Any, overload: Any, kernel: _Kernel, seen: Callable[[], None]) -> None:
    if torch._C._dispatch_has_kernel_for_dispatch_key(overload.name(), kernel.registered):
        own = torch.library.get_kernel(overload, kernel.handed_out).call_boxed
        kinds = [str(argument.type) for argument in overload._schema.arguments]

        def watched(keys: torch._C.DispatchKeySet, *args: Any, **kwargs: Any) -> Any:
            seen()
            return own(keys, *_as_kernels_take(args, kinds), **kwargs)

        library.impl(overload, watched, kernel.place, with_keyset=True)


def _as_kernels_take(args: Sequence[Any], kinds: Sequence[str]) -> Iterator[Any]:
    """Yields the arguments: a number in a tensor's place, as in `x + 1`, as the tensor it was.

    It has the dtype to which the other operands promote it.
    """
    for one, kind in zip(args, kinds, strict=False):
        if kind == "Tensor" and isinstance(one, _NUMBERS):
            others = (other for other in args if isinstance(other, torch.Tensor))
            promoted = (torch.result_type(other, one) for other in others)
            yield torch.tensor(one, dtype=functools.reduce(torch.promote_types, promoted))
        else:
            yield one


class CallWatch:
    """Remembers which of the watched functions, classes and operations were called, and where.

    The line is the innermost one of the submission's own files, those below `root`. What runs
    where none of these lines is at work, in a thread for one, is told at the adapter that is being
    called. What a forbidden call does inside itself is no further use.
    """

    def __init__(self, names: Iterable[str], root: Path) -> None:
        self._root = _folder(root)
        # At home both may lie below the student's own folder.
        self._packages = _folder(Path(sys.prefix))
        self._watches = _folder(Path(__file__).parent)
        self._uses: dict[Use, None] = {}
        self._classes: dict[type, str] = {}
        self._operations: list[object] = []
        self._asked: Callable[..., Any] | None = None
        for name in names:
            if name.startswith(NAMESPACE):
                self._operations.append(watch_operation(name, self._noting(name)))
                continue
            # Some types, those written in C for one, cannot be changed.
            with contextlib.suppress(AttributeError, TypeError):
                self._watch(name)

    def take(self) -> tuple[Use, ...]:
        """Returns the uses since they were last taken."""
        uses, self._uses = self._uses, {}
        return tuple(uses)

    def call(self, adapter: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
        """Returns what an adapter hands back, and looks at it."""
        before, self._asked = self._asked, adapter
        try:
            given = adapter(**arguments)
        finally:
            self._asked = before
        self._look_at(given, adapter)
        return given

    def _look_at(self, given: object, adapter: Callable[..., Any]) -> None:
        """Notes a class that an adapter hands back, or one of such an object, if it is forbidden.

        Or inherits from a forbidden one; who made the object is not asked.
        """
        kind = given if isinstance(given, type) else type(given)
        for number, base in enumerate(kind.__mro__):
            if base in self._classes:
                name = self._classes[base]
                if any(use.name == name for use in self._uses):
                    return  # it was just made
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
        """Watches where an object is made, and where one is called that was made earlier."""
        if isinstance(kind.__init__, FunctionType):
            kind.__init__ = self._watched(kind.__init__, name)
        if "__call__" in vars(kind):
            kind.__call__ = self._watched(kind.__call__, name)
        elif any("__call__" in vars(base) for base in kind.__mro__):
            # Looked up at each call: torch.fx, for one, replaces that of nn.Module for a while.
            def inherited(self: object, *args: Any, **kwargs: Any) -> Any:
                return super(kind, self).__call__(*args, **kwargs)  # type: ignore[misc]

            kind.__call__ = self._watched(functools.wraps(kind.__call__)(inherited), name)

    def _watched(self, function: Callable[..., Any], name: str) -> Callable[..., Any]:
        @functools.wraps(function)
        def watched(*args: Any, **kwargs: Any) -> Any:
            self._remember(name, sys._getframe())
            return function(*args, **kwargs)

        return watched

    def _noting(self, name: str) -> Callable[[], None]:
        # Two frames up is the watch of the operation, which counts as the engine's.
        return lambda: self._remember(name, sys._getframe(1))

    def _remember(self, name: str, here: FrameType) -> None:
        frame = here.f_back
        while frame is not None and frame.f_code is not CallWatch.call.__code__:
            file = frame.f_code.co_filename
            if file.startswith(self._watches):
                return  # called by what watches another call
            if self._is_own(file):
                self._note(Use(name, _posix(file[len(self._root) :]), frame.f_lineno or 0))
                return
            frame = frame.f_back
        if self._asked is not None and (place := self._place(inspect.unwrap(self._asked))):
            self._note(Use(name, *place))

    def _note(self, use: Use) -> None:
        if len(self._uses) < MAX_USES:
            self._uses[use] = None

    def _is_own(self, file: str) -> bool:
        return file.startswith(self._root) and not file.startswith(self._packages)

    def _place(self, thing: Any) -> tuple[str, int] | None:
        """Returns the file and line in which a class or function of the submission begins."""
        try:
            if isinstance(thing, FunctionType):
                file, line = thing.__code__.co_filename, thing.__code__.co_firstlineno
            else:
                file = inspect.getfile(thing)
                line = inspect.getsourcelines(thing)[1] if self._is_own(file) else 0
        except (OSError, TypeError, SyntaxError):
            return None
        return (_posix(file[len(self._root) :]), line) if self._is_own(file) else None


def _loaded(name: str) -> object:
    """Returns the module or class of that dotted name, if it is loaded; else None."""
    if not name or name in sys.modules:
        return sys.modules.get(name)
    owner, _, attribute = name.rpartition(".")
    return getattr(_loaded(owner), attribute, None)


def _keep_scriptable(watched: Any, function: Any) -> None:
    """Tells TorchScript, which knows operators by identity, of what stands for one."""
    builtins: Any = torch.jit._builtins
    operator = builtins._find_builtin(function)
    if operator is not None:
        builtins._register_builtin(watched, operator)
    elif isinstance(function, FunctionType):
        watched.__script_if_tracing_wrapper = True
        watched.__original_fn = function


def _folder(path: Path) -> str:
    return f"{path}{os.sep}"


def _posix(file: str) -> str:
    return file.replace(os.sep, "/")
