"""Lays out hostile and honest submissions, and the secrets that no submission may find."""

from __future__ import annotations

import base64
import json
import os
import random
import secrets
import shutil
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.core.processes import Allowance
from tests.harness.hostile import odd_files

HERE = Path(__file__).parent
ENGINE = HERE.parents[2]
MEMORY = 512 << 20
ALLOWED = Allowance(MEMORY)
# Samples that are handed in several times, with the number of copies. Each copy gets its index.
COPIES = {
    "forbidden_operation": 24,
    "frames_lying_exception": 2,
    "frames_lying_records": 4,
    "frames_lying_shapes": 5,
    "locks_between_workers": 2,
    "note_9_found": 3,
    "note_in_modules": 3,
}

# Looks like a judge's folder, but no process can have this id.
NO_JUDGES = "grader-99999999999999999999-x"
# The name with cost 0 makes the grader examine all sources and calls. The others cost all points
# of an exercise.
FORBIDDEN = """
[tool.grader.forbidden]
"torch.nn.functional.scaled_dot_product_attention" = 0
"aten::cumsum" = 100
"aten::diff" = 100
"""
RIGHT = {
    "right_by_multiplying": "def run_double(x):\n    return 2 * x\n",
    "right_by_adding": "def run_double(x):\n    return x + x\n",
    "right_by_torch": "import torch\n\ndef run_double(x):\n    return torch.add(x, x)\n",
    "right_by_einsum": "from einops import einsum\n\n"
    "def run_double(x):\n    return einsum(x, x.new_tensor(2), '... n, -> ... n')\n",
    "right_by_summing": "import torch\n\n"
    "def run_double(x):\n    return torch.stack([x, x]).sum(0)\n",
    "right_by_class": "import torch\n\nclass Double(torch.nn.Module):\n"
    "    def forward(self, x):\n        return x.mul(2)\n\nrun_double = Double()\n",
    "right_after_much_output": "import sys\n\nfor _ in range(300):\n"
    "    sys.stdout.write('loss 0.1\\n' * (1 << 17))\n\ndef run_double(x):\n    return x * 2\n",
    "right_with_patience": "import time\n\ndef work(seconds):\n"
    "    end = time.process_time() + seconds\n"
    "    while time.process_time() < end:\n        sum(range(1000))\n\n"
    "work(1.0)\n\ndef run_double(x):\n    work(0.1)\n    return x * 2\n",
}
WRONG = {
    "wrong_by_factor": "def run_double(x):\n    return 3 * x\n",
    "wrong_by_shape": "def run_double(x):\n    return (2 * x).unsqueeze(0)\n",
    "wrong_by_error": "def run_double(x):\n    return 2 * x.reshape(2, 3)\n",
}
COUNT = "\ndef run_count(x):\n    return x.numel()\n"


@dataclass(frozen=True, slots=True)
class Expectation:
    """The expected status and points of a sample, and the statuses that its tests may have."""

    kind: str
    status: frozenset[str]
    tests: frozenset[str]
    at_least: float
    at_most: float


@dataclass(frozen=True, slots=True)
class Stage:
    """The places of all files; `canaries` holds the secrets by hiding place."""

    root: Path
    marker: str
    canaries: dict[str, str]
    samples: dict[str, str]

    @property
    def assignment(self) -> Path:
        return self.root / "course"

    @property
    def submissions(self) -> Path:
        return self.root / "handed-in"

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def scratch(self) -> Path:
        return self.root / "scratch"

    @property
    def out(self) -> Path:
        return self.root / "results"

    @property
    def listener(self) -> Path:
        return self.root / "line"

    @property
    def solutions(self) -> Path:
        return self.assignment / "solutions" / "__init__.py"

    @property
    def hidden_test(self) -> Path:
        return self.assignment / "tests" / "hidden" / "test_tiny.py"

    @property
    def sibling(self) -> Path:
        (name,) = [name for name, sample in self.samples.items() if sample == "right_by_adding"]
        return self.submissions / name / "adapters.py"


def expectations() -> dict[str, Expectation]:
    """Returns the expectations in `expected.toml`, by sample name."""
    kinds = tomllib.loads((HERE / "expected.toml").read_text())
    return {
        name: Expectation(
            kind,
            frozenset(row.get("status", ["graded"])),
            frozenset(row["tests"]),
            row.get("at_least", 0.0),
            row.get("at_most", 0.0),
        )
        for kind, rows in kinds.items()
        for name, row in rows.items()
    }


def sample_files() -> dict[str, Path]:
    """Returns the files of the samples, by name."""
    folders = ("forgeries", "nuisances", "spies")
    return {path.stem: path for folder in folders for path in sorted((HERE / folder).glob("*.py"))}


def lay_out(root: Path, assignment: Path, wanted: Callable[[str], bool]) -> Stage:
    """Stages the samples that `wanted` accepts, among honest ones, and hides the canaries."""
    samples = [name for name in [*sample_files(), *odd_files.KINDS] if wanted(name)]
    stage = Stage(root, f"hostile-{secrets.token_hex(6)}", _canaries(), _numbered(_spread(samples)))
    shutil.copytree(assignment, stage.assignment, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in (stage.submissions, stage.home / ".ssh", stage.scratch):
        folder.mkdir(parents=True)
    (stage.scratch / NO_JUDGES).mkdir()
    _append(stage.assignment / "pyproject.toml", FORBIDDEN)
    _append(stage.solutions, f"SECRET = {stage.canaries['solutions']!r}\n")
    _append(stage.hidden_test, f"SECRET = {stage.canaries['hidden tests']!r}\n")
    (stage.home / ".ssh" / "id_canary").write_text(stage.canaries["home"])
    return stage


def hand_in(stage: Stage, told: dict[str, Any]) -> None:
    """Writes the submissions, and hints for the samples: the places of the secrets, and `told`.

    `told` holds the listener's addresses, or other limits of what is too much.
    """
    hints = {
        "marker": stage.marker,
        "runner": os.getpid(),
        "engine": str(ENGINE),
        "assignment": str(stage.assignment),
        "solutions": str(stage.solutions),
        "hidden_test": str(stage.hidden_test),
        "submissions": str(stage.submissions),
        "sibling": str(stage.sibling),
        "home": str(stage.home),
        "tmp": str(stage.scratch),
        "out": str(stage.out),
        "memory": MEMORY,
        "disk": ALLOWED.disk,
        "files": ALLOWED.files,
        **told,
    }
    files, copies = sample_files(), Counter[str]()
    for name, sample in stage.samples.items():
        place = stage.submissions / name
        if sample in odd_files.KINDS:
            odd_files.make(place, sample, stage.solutions, stage.marker)
            continue
        place.mkdir()
        adapters = place / "adapters.py"
        if sample in files:
            shutil.copyfile(files[sample], adapters)
            shutil.copyfile(HERE / "accomplice.py", place / "accomplice.py")
            own: dict[str, Any] = {"copy": copies[sample]}
            if sample == "note_1_left":
                own["note"] = stage.canaries["note"]
            copies[sample] += 1
            (place / "hints.json").write_text(json.dumps(hints | own))
        else:
            adapters.write_text((RIGHT | WRONG)[sample] + COUNT)
    _append(stage.sibling, f"\nSECRET = {stage.canaries['sibling']!r}\n")


def disguises(canary: str) -> Iterable[bytes]:
    """Yields a canary as text, reversed, in hex, in base64, and as a number."""
    text = canary.encode()
    yield from (text, text[::-1], text.hex().encode(), base64.b64encode(text)[:20])
    yield str(int(canary[7:21], 16)).encode()


def _canaries() -> dict[str, str]:
    places = ("environment", "solutions", "hidden tests", "home", "sibling", "note")
    return {place: f"canary-{secrets.token_hex(8)}" for place in places}


def _spread(samples: Sequence[str]) -> list[str]:
    """Returns the samples in an arbitrary fixed order, with honest ones among them.

    Notes are left first and found last. Samples that communicate are neighbours, so that they are
    graded at the same time.
    """
    copies = [name for name in samples for _ in range(COPIES.get(name, 1))]
    order = random.Random(7).sample(copies, len(copies))
    honest = [*RIGHT, *WRONG]
    for position, name in enumerate(honest):
        order.insert(round((position + 0.5) * len(order) / len(honest)), name)
    first, last = ("note_1_left", "locks_between_workers"), ("note_9_found",)
    return sorted(order, key=lambda name: (name in last) - (name in first))


def _numbered(samples: Sequence[str]) -> dict[str, str]:
    return {f"{number:03}-{sample}": sample for number, sample in enumerate(samples, 1)}


def _append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)
