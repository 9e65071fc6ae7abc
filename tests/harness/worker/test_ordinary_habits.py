"""Ordinary habits of real code: they cost no points in a worker, or one sentence says why."""

from __future__ import annotations

import contextlib
import textwrap
from collections.abc import Mapping
from pathlib import Path

import pytest

from grader import Grade, batch
from grader.core.verdict import Status
from grader.results.store import Store
from grader.worker.observing.lines import OwnLines, own_file
from tests.harness.conftest import write_files

pytestmark = pytest.mark.process

COUNT = "\ndef run_count(x):\n    return x.numel()\n"
# Right submissions: the adapters' file of each, and the files beside it.
RIGHT = {
    "reads_beside_itself": {
        "adapters.py": """
            from pathlib import Path
            FACTOR = float(open("data/factor.txt").read())
            def run_double(x):
                with open("data/factor.txt") as file:
                    assert Path("data").is_dir() and Path(__file__).with_name("data").is_dir()
                    return float(file.read()) * x
        """,
        "data/factor.txt": "2\n",
    },
    "writes_where_it_runs": {
        "adapters.py": """
            import logging, os
            from pathlib import Path
            import torch
            logging.basicConfig(filename="train.log")
            os.makedirs("runs/first", exist_ok=True)
            Path("lib/cache").mkdir()
            with open("logs/all.txt", "a") as log:
                log.write("imported")
            def run_double(x):
                torch.save(x, "runs/first/checkpoint.pt")
                os.rename("runs/first/checkpoint.pt", "lib/cache/latest.pt")
                assert open("logs/all.txt").read() == "begun, imported"
                torch.load("lib/cache/latest.pt", weights_only=True)
                return 2 * x
        """,
        "logs/all.txt": "begun, ",
        "lib/of_it.py": "",
    },
    "prints_in_utf_8": {
        "adapters.py": """
            import io, sys
            sys.stdout = io.TextIOWrapper(sys.stdout.buffer, encoding="utf-8")
            def run_double(x):
                print("→", x)
                return 2 * x
        """,
    },
    "asks_who_runs_it": {
        "adapters.py": """
            import getpass
            USER = getpass.getuser()
            def run_double(x):
                return 2 * x
        """,
    },
    "looks_where_it_runs_first": {
        "adapters.py": """
            import os, sys
            sys.path.insert(0, os.getcwd())
            sys.path.insert(0, "lib")
            import doubling, both.more
            FOLDER = os.path.dirname(os.path.abspath(__file__))
            def run_double(x):
                assert doubling.__file__ == os.path.join(FOLDER, "lib", "doubling.py")
                assert both.more.__file__ == os.path.join(FOLDER, "both", "more.py")
                return doubling.double(x)
        """,
        "lib/doubling.py": "def double(x):\n    return x + x\n",
        "both/more.py": "",
    },
    "compiles": {
        "adapters.py": """
            import torch
            @torch.compile
            def double(x):
                return 2 * x
            @torch.compile(mode="max-autotune", fullgraph=True)
            def same(x):
                return x
            class Twice(torch.nn.Module):
                def forward(self, x):
                    return same(double(x))
            MODEL = torch.compile(Twice(), dynamic=True)
            MODEL.compile()
            def run_double(x):
                return MODEL._orig_mod(x) / 2 + MODEL(x) / 2
        """,
    },
    "imports_lazily": {
        "adapters.py": """
            def run_double(x):
                import sys
                sys.path.append("lib")
                from doubling import double
                from .more import nothing
                return double(x) + nothing()
        """,
        "lib/doubling.py": "def double(x):\n    return x + x\n",
        "more.py": "def nothing():\n    return 0\n",
        "__init__.py": "",
    },
    "prints_and_shows_progress": {
        "adapters.py": """
            import sys
            from tqdm import tqdm
            def run_double(x):
                print("doubling", x.shape, end="\\r", flush=True)
                print("trouble", file=sys.stderr)
                for _ in tqdm(range(3), desc="steps", leave=False):
                    sys.stdout.write(".")
                return 2 * x
        """,
    },
    "default_device": {
        "adapters.py": """
            import torch
            DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
            if torch.backends.mps.is_available():
                DEVICE = "mps"
            def double(x, device="cuda", other=torch.device("cuda:0")):
                return 2 * x
            def run_double(x):
                return double(x.to(x.device))
        """,
    },
    "loads_loosely": {
        "adapters.py": """
            import torch
            class Double(torch.nn.Module):
                def __init__(self):
                    super().__init__()
                    self.factor = torch.nn.Parameter(torch.zeros(1))
            def run_double(x):
                model = Double()
                model.load_state_dict({"factor": torch.tensor([2.0]), "x": x}, strict=False)
                return model.factor * x
        """,
    },
    "own_version": {
        "adapters.py": """
            import helpers
            def run_double(x):
                return 2 * x
        """,
        "helpers/__init__.py": """
            import importlib.metadata
            __version__ = importlib.metadata.version("helpers")
            from importlib.metadata import version, PackageNotFoundError
            assert version(__name__) == __version__ == "0"
            try:
                version("absent-package")
                raise AssertionError
            except PackageNotFoundError:
                pass
        """,
    },
    "script_at_import": {
        "adapters.py": """
            import torch, argparse
            from train import run_double
        """,
        "train.py": """
            import argparse, torch
            parser = argparse.ArgumentParser()
            parser.add_argument("--steps", type=int, default=3)
            args = parser.parse_args()
            def run_double(x):
                return 2 * x
            model = torch.nn.Linear(2, 2)
            optimizer = torch.optim.SGD(model.parameters(), 0.1)
            for step in range(args.steps):
                loss = model(torch.ones(2)).sum()
                loss.backward(); optimizer.step()
            torch.save(model.state_dict(), "model.pt") if False else None
            if __name__ == "__main__":
                raise SystemExit("never")
        """,
    },
}
# Wrong submissions, with words that the message must contain.
TOLD = {
    "cuda_taken_for_granted": (
        'def run_double(x):\n    return (2 * x.to("cuda")).cpu()\n',
        ("cuda", "No GPU"),
    ),
    "cuda_at_import": (
        'import torch\nTABLE = torch.zeros(3, device="cuda")\n',
        ("cuda", "No GPU"),
    ),
    "training_at_import": (
        "import torch\nwhile True:\n    torch.ones(3).sum()\n",
        ("cannot be imported", "still running", "adapters.py:"),
    ),
}


@pytest.fixture(scope="module")
def graded(tmp_path_factory, tiny: Path) -> Mapping[str, Grade]:
    """The grades of all these submissions."""
    folder = tmp_path_factory.mktemp("habits")
    for name, files in RIGHT.items():
        texts = {file: textwrap.dedent(text) for file, text in files.items()}
        texts["adapters.py"] += COUNT
        write_files(folder / "class" / name, texts)
    for name, (program, _) in TOLD.items():
        write_files(folder / "class" / name, {"adapters.py": program + COUNT})
    batch(folder / "class", out=folder / "out", assignment=tiny, jobs=1, timeout=4)
    return {grade.submission: grade for grade in Store.read(folder / "out").grades()}


@pytest.mark.parametrize("name", RIGHT)
def test_ordinary_habits_cost_no_points(graded, name):
    """A submission has its own working directory and may print, load and import freely."""
    grade = graded[name]
    assert grade.score == grade.max_score, (grade.message, [test.message for test in grade.tests])


@pytest.mark.parametrize("name", TOLD)
def test_the_message_says_why_a_habit_fails(graded, name):
    """A student understands the sentence without knowing how a worker is built."""
    grade = graded[name]
    said = grade.message or next(
        test.message for test in grade.tests if test.status is not Status.PASSED
    )
    assert all(word in said for word in TOLD[name][1]), said


@pytest.mark.unit
def test_a_file_has_the_same_name_by_any_path(tmp_path):
    """Adapters in `tests/` often put `tests/..` first on the import path."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "model.py").touch()
    (tmp_path / "elsewhere").symlink_to(tmp_path / "tests")
    by_way_of_tests = str(tmp_path / "tests" / ".." / "model.py")
    assert own_file(by_way_of_tests, tmp_path) == "model.py"
    assert OwnLines(tmp_path).place(by_way_of_tests) == "model.py"
    assert own_file(str(tmp_path / "elsewhere" / "a.py"), tmp_path) == "tests/a.py"
    assert own_file("/usr/lib/python3/os.py", tmp_path) is None
    with contextlib.chdir(tmp_path):
        assert own_file("<string>", tmp_path) is None
