"""Answers without any computation get 0 points in every exercise."""

import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.harness.marks import rest_slow

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[3]
TRIVIAL = Path(__file__).parents[1] / "corpus" / "trivial"
# The value that `answer` returns: of the expected `shape`, and the dtype of the first input.
ANSWERS = {
    "zeros": "torch.zeros(shape, dtype=dtype)",
    "ones": "torch.ones(shape, dtype=dtype)",
    "half": "torch.full(shape, 0.5, dtype=dtype)",
    "minus-infinity": "torch.full(shape, -torch.inf, dtype=dtype)",
    "not-a-number": "torch.full(shape, torch.nan, dtype=dtype)",
    # The parameter count for 768 features, which a public test shows.
    "published": "torch.full(shape, 2_360_064.0, dtype=dtype)",
    "one-of-so-many": "torch.full(shape, 1 / max(*shape[-1:], 1), dtype=dtype)",
    "first-input": "fitted(inputs[0], shape)",
    "last-input": "fitted(inputs[-1], shape)",
    "uniform": "torch.rand(shape, dtype=dtype)",
    "normal": "torch.randn(shape, dtype=dtype)",
    "coins": "torch.randint(2, shape).to(dtype)",
    "doubled-coins": "2 * torch.randint(2, shape).to(dtype)",
}
PROGRAM = """\
import torch


def fitted(x, shape):
    \"\"\"The tensor itself if it has the shape, else its numbers over and over.\"\"\"
    if x.shape == shape:
        return x
    wanted = torch.Size(shape).numel()
    return x.reshape(-1).repeat(wanted // x.numel() + 1)[:wanted].reshape(shape)


def answer(shape, *inputs):
    shape, dtype = torch.Size(shape), inputs[0].dtype
    return {}
"""


def stage(adapters: str, folder: Path, names: Iterable[str]) -> Path:
    """Writes a submission for each kind of answer, with the adapters of an assignment."""
    for name in names:
        (folder / name).mkdir(parents=True)
        (folder / name / "answer.py").write_text(PROGRAM.format(ANSWERS[name]))
        text = (TRIVIAL / f"{adapters}.py").read_text()
        (folder / name / "adapters.py").write_text(text)
    return folder


@pytest.mark.parametrize("names", rest_slow([[*ANSWERS][::8], [*ANSWERS]], 2), ids=len)
@pytest.mark.parametrize(
    ("adapters", "assignment"),
    [("attention", ROOT), ("feed_forward", ROOT / "examples" / "feed_forward")],
)
def test_answers_without_computation_earn_no_points(grader, tmp_path, adapters, assignment, names):
    """Constants, returned inputs and random numbers earn nothing in any exercise."""
    out, class_folder = tmp_path / "results", stage(adapters, tmp_path / "class", names)
    command = ("batch", class_folder, "--out", out, "--assignment", assignment)
    done = grader(*command, "--no-explain")
    assert done.returncode == 0, done.stderr
    earned = {
        (row["submission"], test["id"]): test["score"]
        for row in map(json.loads, (out / "results.jsonl").read_text().splitlines())
        for test in row["tests"]
        if test["score"]
    }
    assert earned == {}
