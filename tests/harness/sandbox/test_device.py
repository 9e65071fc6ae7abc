"""Grading on a device other than the CPU, and the refusal of an absent device."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
import torch

from grader.grading.options import Options, chosen_otherwise
from tests.harness.conftest import ROOT

pytestmark = pytest.mark.process

needs_no_gpu = pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")

# Every build of torch has the lazy device, which stands in for a GPU here.
SCRIPT = """
import importlib, json, sys
from pathlib import Path
import torch, torch._lazy.ts_backend
from grader.core.assignment import find_assignment
from grader.home.bench import DirectCalls
from grader.grading.judge.judge import Judge
from grader.testing.suite import Suite
from grader.core.wire.calls import Call
from grader.worker.performing import perform

root, exercises = Path(sys.argv[1]), sys.argv[2:]
torch._lazy.ts_backend.init()
torch.set_num_threads(1)

class References:
    def __init__(self):
        self.answer = DirectCalls(importlib.import_module("solutions"), root)
        self.devices = set()

    def ask(self, call):
        self.devices.add(call.device)
        return self.answer(call)

examinee, verdicts = References(), []
serve = lambda suite: verdicts.extend(Judge(suite, 1, "lazy").grade(examinee.ask))
Suite(find_assignment(root), exercises).open(serve)
x = torch.ones(2, 3)
left = perform(lambda x: x.cpu(), Call("run", {"x": x}, device="lazy"), root).value
none = perform(lambda n: torch.ones(n), Call("run", {"n": 2}, device="lazy"), root).value
call = Call("run", {"x": x}, device="lazy", record=True, wrt=("x",), cotangent=x)
seen = perform(lambda x: x * 2, call, root)
print(json.dumps({
    "devices": sorted(examinee.devices),
    "not passed": [f"{v.id} {v.status} {v.message}" for v in verdicts if v.status != "passed"],
    "tests": len(verdicts),
    "left": str(left),
    "none": none.tolist(),
    "gradient": seen.gradients["x"].tolist(),
    "records": [record.value.tolist() for record in seen.records],
}))
"""


@pytest.fixture(scope="module")
def lazy_device_results() -> dict[str, Any]:
    """The results of a few exercises, and of single calls, on torch's lazy device."""
    exercises = [
        "run_softmax",
        "run_causal_mask",
        "run_attention_weights",
        "run_attention_dropout",
        "run_scaled_dot_product_attention",
        "run_multihead_self_attention",
        "run_parameter_count",
    ]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(ROOT), *exercises],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_inputs_are_put_on_the_device_and_a_right_solution_passes(lazy_device_results):
    """Tests and tolerances are the same, and expected values stay on the CPU."""
    assert lazy_device_results["devices"] == ["lazy", "meta"]
    assert lazy_device_results["tests"] > 100
    assert lazy_device_results["not passed"] == []


def test_gradients_and_steps_come_back_from_the_device(lazy_device_results):
    """The explanation of a wrong answer needs both."""
    assert lazy_device_results["gradient"] == [[2.0] * 3] * 2
    assert [[2.0] * 3] * 2 in lazy_device_results["records"]


def test_a_result_moved_to_the_cpu_counts_as_on_another_device(lazy_device_results):
    """Only a call without tensor arguments may return a tensor on the CPU."""
    assert "device='cpu'" in lazy_device_results["left"]
    assert lazy_device_results["none"] == [1.0, 1.0]


@needs_no_gpu
@pytest.mark.parametrize("command", ["run", "batch"])
def test_an_absent_device_is_refused_before_any_submission_is_graded(
    grader, tiny, tmp_path, command
):
    """No student may fail because the machine has no GPU."""
    submission = tmp_path / "class" / "alice"
    submission.mkdir(parents=True)
    (submission / "adapters.py").write_text("def run_double(x):\n    return x + x\n")
    out = [] if command == "run" else ["--out", tmp_path / "out"]
    path = submission if command == "run" else submission.parent
    told = grader(command, path, *out, "--device", "cuda", "--assignment", tiny)
    assert told.returncode == 2
    assert "--device cuda: a worker on this machine cannot use it" in told.stderr
    assert "grade with --device cpu" in told.stderr
    assert "Traceback" not in told.stderr


@pytest.mark.unit
def test_existing_grades_of_another_device_are_noticed():
    """Rounding differs between devices."""
    assert chosen_otherwise(Options(device="cuda"), Options()) == ["device: cpu, now cuda"]


def test_gradescope_zip_refuses_a_gpu(grader, tmp_path):
    """Gradescope's containers have no GPU, so the option is refused instead of ignored."""
    told = grader("gradescope-zip", tmp_path / "autograder.zip", "--device", "cuda")
    assert told.returncode == 2
    assert "Gradescope's containers have no GPU" in told.stderr
    assert not list(tmp_path.iterdir())
