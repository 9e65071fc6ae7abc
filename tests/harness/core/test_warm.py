"""Forked processes load next to nothing: the templates of `warm.py` have loaded it for them."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from pathlib import Path

import pytest

from grader.core.assignment import Settings
from grader.grading.job.client import JobClient
from grader.grading.options import Task
from grader.intake.client import IntakeClient
from grader.intake.entry import Entry
from tests.harness.conftest import RIGHT, TINY, write_files
from tests.harness.warm import ForkedPopen, Warm

pytestmark = pytest.mark.process

# A fresh interpreter loads some 2,700 modules; beartype alone has 300, an intake process 100.
FEW = 40
# Writes down the modules of a process with their places in memory, which a fork keeps.
NOTES = """
import json, sys
with open({!r}, "w") as noted:
    json.dump({{name: id(module) for name, module in sys.modules.items()}}, noted)
"""


def template_modules(warm: Warm, name: str, note: Path) -> dict[str, int]:
    """Returns the places of the modules that a template gives to its forks."""
    flags = ["-s", "-P", "-B"] if name == "zygote" else []
    code = NOTES.format(str(note))
    assert ForkedPopen(warm.address(name), [sys.executable, *flags, "-c", code]).wait() == 0
    places: dict[str, int] = json.loads(note.read_text())
    return places


def own_modules(note: Path, inherited: dict[str, int], plugins: tuple[str, ...] = ()) -> list[str]:
    """Returns the modules that a process loaded itself, but for those of plugins."""
    seen = json.loads(note.read_text())
    own = {name for name, place in seen.items() if inherited.get(name) != place}
    return sorted(name for name in own if name.partition(".")[0] not in plugins)


def test_a_judge_and_its_workers_load_next_to_nothing(warm, tmp_path):
    """Both would load torch, the worker's zygote `torch._dynamo`, and the judge beartype."""
    notes = NOTES.format(str(tmp_path / "judge"))
    asks = f"""
from grader.testing import exercise

@exercise("run_count")
def test_counts(student, draw):
    '''The numbers are counted.'''
    exec({notes!r})
    assert student(draw(2)) == 2
"""
    files = {name: text for name, text in TINY.items() if not name.startswith("tests/")}
    files |= {
        "pyproject.toml": TINY["pyproject.toml"].replace("run_double = 4", ""),
        "tests/conftest.py": TINY["tests/conftest.py"],
        "tests/public/test_it.py": asks,
    }
    course = write_files(tmp_path / "course", files)
    inherited = template_modules(warm, "zygote", tmp_path / "zygote")
    counts = f"""
import sys
INHERITED = {inherited}
def run_count(x):
    own = [name for name, one in sys.modules.items() if INHERITED.get(name) != id(one)]
    assert len(own) < {FEW}, own
    return x.numel()
"""
    entry = Entry("alice", write_files(tmp_path / "alice", {"adapters.py": counts}))
    settings = Settings(str(course), 1, ("run_count",), "adapters.py", 60.0, 512, "suite")
    with contextlib.closing(JobClient(settings, submissions=2)) as client:
        (verdict,) = client.grade(Task(entry, 0, "hash", "")).tests
    assert verdict.status == "passed", verdict.message
    own = own_modules(tmp_path / "judge", template_modules(warm, "command", tmp_path / "command"))
    assert len(own) < FEW, own


def test_pytest_of_a_student_loads_its_plugins_alone(warm, home_pytest, tmp_path):
    """A student's engine is another one than the template's."""
    uses = "import beartype, einops, numpy, torch._dynamo"
    notes = f"{uses}\n{NOTES.format(str(tmp_path / 'home'))}\ndef test_it():\n    pass"
    done = home_pytest(write_files(tmp_path / "course", {"test_it.py": notes}))
    assert "1 passed" in done.stdout
    inherited = template_modules(warm, "command", tmp_path / "command")
    own = own_modules(tmp_path / "home", inherited, plugins=("grader", "jaxtyping"))
    assert len(own) < FEW, own


def test_an_intake_process_loads_next_to_nothing(tmp_path):
    log = tmp_path / "imports"

    class Noting(IntakeClient):
        """A client whose process notes each module that it begins to load."""

        boot = (
            f"import sys; log = open({os.fspath(log)!r}, 'w', 1); "
            "sys.addaudithook(lambda what, of: what == 'import' and print(of[0], file=log)); "
        ) + IntakeClient.boot

    alice = write_files(tmp_path / "alice", {"adapters.py": RIGHT})
    (tmp_path / "copy").mkdir()
    with Noting() as client:
        assert client.take_in(Entry("alice", alice), tmp_path / "copy", "adapters.py")
    own = log.read_text().split()
    assert len(own) < FEW, own
