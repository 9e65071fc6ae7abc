"""The line for a result with a wrong dtype, in a module that computes in float32."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
import torch

from grader.worker.observing.tracing import Tracer

pytestmark = pytest.mark.unit

PROGRAM = """
import torch

def never_back(x):
    wide = x.float()
    return wide * 2

def gain_of_its_own(x):
    gain = torch.ones(3)
    wide = x.float()
    normed = wide / wide.norm()
    x = x.to(torch.float16)
    return normed * gain

def another_one_back(x):
    gain = torch.ones(3)
    wide = x.float()
    normed = wide * gain
    x = x.to(torch.float16)
    return normed

def back_too_early(x):
    gain = torch.ones(3)
    normed = (x.float() / 2).to(x.dtype)
    return normed * gain

def only_a_gain(x):
    gain = torch.ones(3)
    return x * gain

def by_angles(x):
    steps = torch.arange(3, dtype=torch.float32)
    angles = 0.1 ** steps
    turned = x * angles.cos()
    return turned + turned

def filled(x):
    steps = torch.arange(3, dtype=torch.float32)
    out = torch.zeros(3)
    out[:] = x * steps.to(x.dtype)
    return out
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """A submission, as a module."""
    file: Path = tmp_path_factory.mktemp("program") / "program.py"
    file.write_text(PROGRAM, "utf-8")
    spec = importlib.util.spec_from_file_location("program", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("function", "line"),
    [
        ("never_back", "wide = x.float()"),
        ("gain_of_its_own", "return normed * gain"),
        ("another_one_back", "normed = wide * gain"),
        ("back_too_early", "return normed * gain"),
        ("only_a_gain", "return x * gain"),
        ("by_angles", "turned = x * angles.cos()"),
        ("filled", "out = torch.zeros(3)"),
    ],
)
def test_a_wrong_dtype_is_traced_to_the_converting_line(program, function, line):
    """Norms and angles use float32 on purpose, so the conversion back is missing."""
    with Tracer(Path(program.__file__).parent) as tracer:
        result = getattr(program, function)(torch.ones(3, dtype=torch.float16))
    assert result.dtype is torch.float32
    assert tracer.origin(result).source == line
