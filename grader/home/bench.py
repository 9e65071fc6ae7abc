"""The bench of a student's own machine: their functions directly, frozen expected values."""

from __future__ import annotations

import importlib
import io
from pathlib import Path
from types import ModuleType

import jaxtyping

from grader.home.fixtures import fixture_file, thaw
from grader.testing.bench import Bench
from grader.testing.cases import Case, fresh_case
from grader.testing.course import load_contract, load_references, make_importable
from grader.testing.outcome import fault_of
from grader.wire.calls import Answer, Call, decode_call, encode_call
from grader.wire.frames import decode
from grader.worker.performing import absent, perform
from grader.worker.raising import describe_exception

SEED = 0


def home_bench(root: Path) -> Bench:
    """The bench for tests that are run in `root` itself.

    Public tests have frozen cases; where the solutions are at hand, other tests use those.
    """
    # A wrong shape is explained by the handle, in the words of the assignment.
    jaxtyping.config.update("jaxtyping_disable", True)
    make_importable(root)
    references = load_references(root)
    cases = HomeCases(root, fresh=bool(references))
    try:
        contract, problem = load_contract(root), None
        adapters = importlib.import_module("adapters")
    except BaseException as exception:  # a student's code may raise anything at all
        adapters = ModuleType("adapters")
        contract, problem = {}, fault_of(describe_exception(exception, root), "adapters.py")
    return Bench(contract, DirectCalls(adapters, root), references, cases, SEED, problem)


class DirectCalls:
    """Calls a student's functions in this process, on what would have arrived in a worker."""

    def __init__(self, adapters: ModuleType, root: Path) -> None:
        self._adapters = adapters
        self._root = root

    def __call__(self, call: Call) -> Answer:
        """The answer to a call."""
        function = getattr(self._adapters, call.adapter, None)
        if function is None:
            return absent(call.adapter)
        sent = io.BytesIO(encode_call(call))
        arrived = decode_call(*decode(lambda size: bytearray(sent.read(size)), trusted=True))
        return perform(function, arrived, self._root)


class HomeCases:
    """Frozen cases where there are some, fresh ones where references can answer."""

    def __init__(self, root: Path, fresh: bool) -> None:
        self._root = root
        self._fresh = fresh
        self._cases: dict[str, Case] = {}
        self._thawed: set[str] = set()

    def __call__(self, test_id: str) -> Case:
        """The case of a test, by its id."""
        module, _, _ = test_id.partition("::")
        if module not in self._thawed:
            self._thawed.add(module)
            frozen = thaw(fixture_file(self._root / module))
            self._cases |= {f"{module}::{name}": test.case for name, test in frozen.items()}
        if test_id not in self._cases:
            self._cases[test_id] = fresh_case(SEED, test_id) if self._fresh else Case(None)
        return self._cases[test_id]
