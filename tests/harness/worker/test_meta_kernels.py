"""Torch's native kernels of the meta device, beside those in Python that it prefers."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.process

# Prints what each operation makes on the meta device, once before and once after the change.
SCRIPT = """
import torch
from torch.nn import functional as F
from grader.worker.uncompiled import use_native_meta_kernels

x, few = torch.ones(2, 3, 4, device="meta"), torch.arange(3, device="meta")
hides = torch.ones(3, 3, dtype=torch.bool, device="meta").tril()
OPERATIONS = [
    lambda: x + 1, lambda: few / 2, lambda: few + x.mT, lambda: x @ x.mT, lambda: x.mean(-1),
    lambda: x.softmax(-1), lambda: x.exp().sum(-1, keepdim=True), lambda: x.amax(1),
    lambda: (x @ x.mT).masked_fill(~hides, float("-inf")), lambda: torch.where(hides, few, 0.5),
    lambda: torch.cat((x, x), -1), lambda: torch.stack((few, few)).flatten(),
    lambda: x.cos().repeat_interleave(2, -1), lambda: x.half() * 2, lambda: x[few], lambda: few**2,
    lambda: F.layer_norm(x, (4,)), lambda: F.embedding(few, x[0]), lambda: F.dropout(x, 0.5),
    lambda: F.cross_entropy(x[0], few), lambda: torch.einsum("b q d, b k d -> b q k", x, x),
    lambda: x.cumsum(1), lambda: x.sort(-1).values, lambda: x + torch.ones(4),
    lambda: x[x > 0], lambda: bool(x.any()), lambda: F.silu(x), lambda: few.float().outer(few),
]

def shown(operation):
    try:
        made = operation()
    except Exception as error:
        return type(error)
    return made.dtype, made.shape, made.device

before = [shown(operation) for operation in OPERATIONS]
use_native_meta_kernels()
for number, operation in enumerate(OPERATIONS):
    if before[number] != shown(operation):
        print(number, before[number], shown(operation))
kernels = torch._C._dispatch_dump("aten::mul.Tensor")
print("_meta_registrations" in kernels)
"""


def test_native_kernels_make_the_same_shapes_dtypes_and_refusals():
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True, timeout=100
    )
    assert ran.stdout.split("\n") == ["False", ""]
