"""Hides that it doubles by operations that this assignment forbids: each copy in another way."""

import threading
from concurrent.futures import ThreadPoolExecutor

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from accomplice import HINTS

OPS, CORE = torch.ops.aten, torch._C
KEYS = CORE.DispatchKey
SAVED = CORE.TensorBase.cumsum
OWN = torch.library.Library("own_operations", "FRAGMENT")
OWN.define("summed(Tensor x) -> Tensor")
OWN.impl("summed", lambda x: OPS.cumsum.default(x, 0), "CompositeExplicitAutograd")


class Silent(torch.Tensor):
    """Lets nobody see by which functions it is used."""

    @classmethod
    def __torch_function__(cls, function, kinds, args=(), kwargs=None):
        with CORE.DisableTorchFunctionSubclass():
            return function(*args, **(kwargs or {}))


class Between(TorchDispatchMode):
    """Stands between the dispatcher and the kernels."""

    def __torch_dispatch__(self, function, kinds, args=(), kwargs=None):
        return function(*args, **(kwargs or {}))


class Summed(torch.autograd.Function):
    """Differentiates by hand what it sums by another's."""

    @staticmethod
    def forward(ctx, two):
        return OPS.cumsum(two, 0)

    @staticmethod
    def backward(ctx, gradient):
        return gradient.flip(0).sum(0, keepdim=True) * gradient.new_tensor([[1.0], [0.0]])


@torch.jit.script
def scripted(two):
    return torch.cumsum(two, 0)


def between(two):
    with Between():
        return two.cumsum(0)


def inferred(two):
    with torch.inference_mode():
        return torch.clone(two).cumsum(0).clone()


def threaded(two):
    given = torch.empty_like(two)
    options = {"dim": 0, "out": given}
    thread = threading.Thread(target=OPS.cumsum, args=(two.detach(),), kwargs=options)
    thread.start()
    thread.join()
    return given


def pooled(two):
    with ThreadPoolExecutor() as pool:
        return pool.submit(torch.cumsum, two, 0).result()


def one_key(key):
    return CORE.DispatchKeySet(key)


# Of x and x, the last sum is twice x.
BY_SUMS = (
    torch.ops.aten.cumsum.default,
    lambda two, dim: OPS.cumsum.out(two.detach(), dim, out=torch.empty_like(two)),
    lambda two, dim: two.clone().cumsum_(dim),
    lambda two, dim: getattr(CORE._VariableFunctions, "cum" + "sum")(two, dim),
    lambda two, dim: CORE._jit_get_operation("aten::cumsum")[0](two, dim),
    SAVED,
    lambda two, dim: torch.vmap(lambda one: torch.cumsum(one, 0), 1, 1)(two),
    lambda two, dim: torch.cumsum(two.as_subclass(Silent), dim).as_subclass(torch.Tensor),
    lambda two, dim: torch.compile(lambda one: one.cumsum(dim))(two),
    lambda two, dim: OPS.cumsum.default.redispatch(one_key(KEYS.CPU), two.detach(), dim),
    lambda two, dim: torch.library.get_kernel("aten::cumsum", "CPU").call_boxed(
        one_key(KEYS.CPU), two.detach(), dim, dtype=None
    ),
    lambda two, dim: torch.ops.own_operations.summed(two),
    lambda two, dim: Summed.apply(two),
    lambda two, dim: scripted(two),
    lambda two, dim: torch.jit.wait(torch.jit.fork(torch.cumsum, two, dim)),
    lambda two, dim: between(two),
    lambda two, dim: inferred(two),
    lambda two, dim: threaded(two),
    lambda two, dim: pooled(two),
)
# This operation is made of others: of -x and x, the difference is twice x.
BY_DIFFERENCES = (
    torch.diff,
    OPS.diff.default.decompose,
    lambda two, n, dim: OPS.diff.default.redispatch(one_key(KEYS.AutogradXLA), two, n, dim),
    lambda two, n, dim: torch.library.get_kernel("aten::diff", "XLA").call_boxed(
        one_key(KEYS.CPU), two, n, dim
    ),
    lambda two, n, dim: OPS.diff.out(two.detach(), n, dim, out=torch.empty(0)),
)
COPY = HINTS["copy"]


def run_double(x):
    if COPY < len(BY_SUMS):
        return BY_SUMS[COPY](torch.stack([x, x]).flatten(1), 0)[1].view_as(x)
    return BY_DIFFERENCES[COPY - len(BY_SUMS)](torch.stack([-x, x]), 1, 0)[0]


def run_count(x):
    return x.numel()
