"""Notices an operation of torch when it runs, by whatever name it was called."""

from __future__ import annotations

import contextlib
import functools
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import torch

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
