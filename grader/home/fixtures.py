"""Frozen fixture tensors: the inputs and expected outputs that public tests need at home."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import save_file

from grader.testing.cases import Case

FIXTURES = "fixtures"


@dataclass(frozen=True, slots=True)
class FrozenTest:
    """One test's frozen case, and the points that it carries."""

    case: Case
    points: float


def fixture_file(test_module: Path) -> Path:
    """The file with the fixture tensors of a module of tests."""
    return test_module.parent / FIXTURES / f"{test_module.stem}.safetensors"


def freeze(file: Path, tests: Mapping[str, FrozenTest]) -> None:
    """Writes the cases of a module's tests, by the tests' names within the module."""
    tensors: dict[str, torch.Tensor] = {}
    for name, test in tests.items():
        for number, drawn in enumerate(test.case.drawn):
            tensors[f"{name}/drawn/{number}"] = drawn.contiguous()
        for number, outputs in enumerate(test.case.expected):
            for output, tensor in outputs.items():
                tensors[f"{name}/expected/{number}/{output}"] = tensor.contiguous()
    file.parent.mkdir(parents=True, exist_ok=True)
    points = {name: test.points for name, test in tests.items()}
    save_file(tensors, file, metadata={"points": json.dumps(points)})


def thaw(file: Path) -> dict[str, FrozenTest]:
    """The cases that `freeze` wrote; none if there is no such file."""
    if not file.is_file():
        return {}
    with safe_open(file, framework="pt") as stored:
        points = json.loads(stored.metadata()["points"])
        frozen = {name: FrozenTest(Case(None), worth) for name, worth in points.items()}
        for key in sorted(stored.keys(), key=_order):
            name, kind, number, output = _parts(key)
            case = frozen[name].case
            if kind == "drawn":
                case.drawn.append(stored.get_tensor(key))
                continue
            while len(case.expected) <= number:
                case.expected.append({})
            case.expected[number] = {**case.expected[number], output: stored.get_tensor(key)}
    return frozen


def _parts(key: str) -> tuple[str, str, int, str]:
    for kind in ("drawn", "expected"):
        name, found, rest = key.rpartition(f"/{kind}/")
        if found:
            number, _, output = rest.partition("/")
            return name, kind, int(number), output
    raise ValueError(f"{key!r} is no key of a fixture")


def _order(key: str) -> tuple[str, str, int, str]:
    return _parts(key)
