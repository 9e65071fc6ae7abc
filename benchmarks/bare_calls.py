"""The bare calls of the suite in one warm process, the limit to which `throughput.py` compares.

The program prints the seconds of processor and wall time for one pass over all calls. The figures
are means, like the others from the same busy machine.
"""

from __future__ import annotations

import contextlib
import importlib
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from grader.core.assignment import find_assignment  # noqa: E402
from grader.core.wire.calls import Answer, Call  # noqa: E402
from grader.grading.judge.judge import Judge  # noqa: E402
from grader.home.bench import DirectCalls  # noqa: E402
from grader.testing.suite import Suite  # noqa: E402


class Collected:
    """A worker that answers like the references, and keeps the calls."""

    def __init__(self) -> None:
        self._answers = DirectCalls(importlib.import_module("solutions"), ROOT)
        self.calls: list[Call] = []

    def __call__(self, call: Call) -> Answer:
        """Returns the reference's answer."""
        self.calls.append(call)
        return self._answers(call)


def main() -> None:
    """Collects the calls with the references, then makes them to a submission."""
    submission, times = Path(sys.argv[1]).resolve(), int(sys.argv[2])
    torch.set_num_threads(1)
    collected = Collected()
    Suite(find_assignment(ROOT)).open(lambda suite: [*Judge(suite, 1).grade(collected)])
    for name in ("adapters", "assignment"):
        sys.modules.pop(name, None)
    sys.path.insert(0, str(submission))
    adapters = importlib.import_module("adapters")
    jobs = [(getattr(adapters, call.adapter), call) for call in collected.calls]
    passes = [timed(jobs) for _ in range(times)]
    print(*(statistics.mean(seconds) for seconds in zip(*passes, strict=True)))


def timed(jobs: list[tuple[Callable[..., Any], Call]]) -> tuple[float, float]:
    """Returns the seconds of one pass; a call that raises counts too."""
    cpu, wall = time.process_time(), time.perf_counter()
    for function, call in jobs:
        with contextlib.suppress(Exception):
            make(function, call)
    return time.process_time() - cpu, time.perf_counter() - wall


def make(function: Callable[..., Any], call: Call) -> None:
    """Makes a call, with its backward pass if the suite needs gradients."""
    arguments = dict(call.arguments)
    for name in call.wrt:
        value = arguments[name]
        assert isinstance(value, torch.Tensor)
        arguments[name] = value.detach().requires_grad_()
    if call.device != "cpu":
        arguments = {
            name: value.to(call.device) if isinstance(value, torch.Tensor) else value
            for name, value in arguments.items()
        }
    with torch.device(call.device) if call.default_device else contextlib.nullcontext():
        result = function(**arguments)
        if call.wrt and call.cotangent is not None:
            wanted = [arguments[name] for name in call.wrt]
            torch.autograd.grad(result, wanted, call.cotangent.to(result.dtype))


if __name__ == "__main__":
    main()
