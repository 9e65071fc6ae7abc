"""The adapters' contract as it was handed out, whatever became of the student's own adapters."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from grader.testing.contract.contract import Adapter, read_contract
from grader.testing.course import load_contract

CONTRACT = "tests/contract.py"
_MODULE = "contract_as_handed_out"


def contract_at_home(root: Path) -> dict[str, Adapter]:
    """The contract that was frozen; where none was, that of `adapters.py`."""
    file = root / CONTRACT
    spec = importlib.util.spec_from_file_location(_MODULE, file)
    if not file.is_file() or spec is None or spec.loader is None:
        return load_contract(root)
    module = importlib.util.module_from_spec(spec)
    # Annotations that are texts are looked up there.
    sys.modules[_MODULE] = module
    spec.loader.exec_module(module)
    return read_contract(module)
