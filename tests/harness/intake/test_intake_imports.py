"""The search for the adapters, and imports as on the student's machine."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from grader.core.submission import Submission, Unreadable
from grader.intake.entry import Entry
from grader.intake.process import take_in

pytestmark = pytest.mark.unit

RUN = "def run_softmax(in_features, dim): return answer\n"


def taken(tmp_path: Path, files: dict[str, str], adapters: str = "adapters.py") -> Submission:
    for name, content in files.items():
        path = tmp_path / "alice" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    (tmp_path / "into").mkdir()
    return take_in(Entry("alice", tmp_path / "alice"), tmp_path / "into", adapters)


def imported(submission: Submission) -> Any:
    """Returns the result of `run_softmax` in a fresh interpreter with the submission's paths."""
    paths = [str(submission.root / path) for path in submission.import_paths]
    program = (
        f"import sys; sys.path[:0] = {paths!r}\n"
        "import importlib, json\n"
        f"module = importlib.import_module({submission.module!r})\n"
        "print(json.dumps(module.run_softmax(None, 0)))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program],
        cwd=submission.root,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


ANSWER = "answer = 7\n"
LAYOUTS = {
    "flat": {"adapters.py": f"from attention import answer\n{RUN}", "attention.py": ANSWER},
    "package beside": {
        "adapters.py": f"from assignment.attention import answer\n{RUN}",
        "assignment/__init__.py": "",
        "assignment/attention.py": ANSWER,
    },
    "flat with a stray __init__": {
        "__init__.py": "",
        "adapters.py": f"from attention import answer\n{RUN}",
        "attention.py": ANSWER,
    },
    "repository, tests.common": {
        "tests/__init__.py": "",
        "tests/common.py": ANSWER,
        "tests/adapters.py": f"from tests.common import answer\n{RUN}",
        "README.md": "",
    },
    "repository, relative": {
        "tests/common.py": ANSWER,
        "tests/adapters.py": "def run_softmax(in_features, dim):\n"
        "    from .common import answer\n    return answer\n",
        "README.md": "",
    },
    "repository, package beside tests": {
        "cs336_basics/__init__.py": ANSWER,
        "tests/adapters.py": f"from cs336_basics import answer\n{RUN}",
    },
    "repository, src layout": {
        "src/basics/__init__.py": ANSWER,
        "tests/__init__.py": "",
        "tests/adapters.py": f"from basics import answer\n{RUN}",
    },
    "only a tests folder": {
        "tests/common.py": ANSWER,
        "tests/adapters.py": f"from .common import answer\n{RUN}",
    },
    "only a tests folder, by name": {
        "tests/common.py": ANSWER,
        "tests/adapters.py": f"from tests.common import answer\n{RUN}",
    },
    "one folder down, as a script": {
        "my hw-1.2/adapters.py": f"from attention import answer\n{RUN}",
        "my hw-1.2/attention.py": ANSWER,
        "notes.md": "",
    },
    "one folder down, named like its module": {
        "attention/adapters.py": f"from attention import answer\n{RUN}",
        "attention/attention.py": ANSWER,
        "notes.md": "",
    },
    "one folder down, relative, no identifier": {
        "hw-1/adapters.py": f"from .attention import answer\n{RUN}",
        "hw-1/attention.py": ANSWER,
        "notes.md": "",
    },
    "one folder, relative, a dot in its name": {
        "hw.1/adapters.py": f"from .attention import answer\n{RUN}",
        "hw.1/attention.py": ANSWER,
    },
    "package whose __init__ is a stray": {
        "hw/__init__.py": "",
        "hw/adapters.py": f"from attention import answer\n{RUN}",
        "hw/attention.py": ANSWER,
        "notes.md": "",
    },
    "both styles at once": {
        "hw/adapters.py": f"import helper\nfrom .attention import answer\n{RUN}",
        "hw/attention.py": ANSWER,
        "hw/helper.py": "",
        "notes.md": "",
    },
    "the root is a package": {
        "__init__.py": "",
        "adapters.py": f"from .attention import answer\n{RUN}",
        "attention.py": ANSWER,
    },
    "the root is a package, by its name": {
        "adapters.py": f"from alice.attention import answer\n{RUN}",
        "attention.py": ANSWER,
    },
    "the folder above tests, relative": {
        "tests/adapters.py": f"from ..attention import answer\n{RUN}",
        "attention.py": ANSWER,
    },
    "a folder named like a library": {
        "json/adapters.py": f"from .attention import answer\n{RUN}",
        "json/attention.py": ANSWER,
    },
    "a generated __future__ and a try": {
        "adapters.py": "from __future__ import annotations\n"
        "try:\n    from attention import answer\n"
        f"except ImportError:\n    from .attention import answer\n{RUN}",
        "attention.py": ANSWER,
    },
}

# The module that is imported, the import paths, and the folders that are packages then.
PLANS = {
    "flat": ("adapters", (".",), ""),
    "package beside": ("adapters", (".",), "assignment"),
    "flat with a stray __init__": ("adapters", (".",), "."),
    "repository, tests.common": ("tests.adapters", (".",), "tests"),
    "repository, relative": ("tests.adapters", (".",), "tests"),
    "repository, package beside tests": ("adapters", ("tests", "."), "cs336_basics"),
    "repository, src layout": ("tests.adapters", (".", "src"), "src/basics tests"),
    "only a tests folder": ("submission.adapters", ("submission", "."), "submission"),
    "only a tests folder, by name": ("tests.adapters", ("tests", "."), "tests"),
    "one folder down, as a script": ("adapters", ("my hw-1.2", "."), ""),
    "one folder down, named like its module": ("adapters", ("attention", "."), ""),
    "one folder down, relative, no identifier": ("hw-1.adapters", (".",), "hw-1"),
    "one folder, relative, a dot in its name": (
        "submission.adapters",
        ("submission", "."),
        "submission",
    ),
    "package whose __init__ is a stray": ("adapters", ("hw", "."), "hw"),
    "both styles at once": ("hw.adapters", (".", "hw"), "hw"),
    "the root is a package": ("submission.adapters", ("submission", "."), "submission"),
    "the root is a package, by its name": ("alice.adapters", ("alice", "."), "alice"),
    "the folder above tests, relative": (
        "submission.tests.adapters",
        ("submission", "."),
        "submission submission/tests",
    ),
    "a folder named like a library": ("submission.adapters", ("submission", "."), "submission"),
    "a generated __future__ and a try": ("submission.adapters", ("submission", "."), "submission"),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_each_layout_has_its_module_paths_and_packages(tmp_path: Path, layout: str) -> None:
    """The adapters' own imports and the places of files decide."""
    submission = taken(tmp_path, LAYOUTS[layout])
    inits = submission.root.rglob("__init__.py")
    packages = " ".join(sorted(str(file.parent.relative_to(submission.root)) for file in inits))
    assert (submission.module, submission.import_paths, packages) == PLANS[layout]


@pytest.mark.process
@pytest.mark.parametrize("layout", LAYOUTS)
def test_adapters_are_imported_as_at_home(tmp_path: Path, layout: str) -> None:
    """Every import that works for the student also works here."""
    assert imported(taken(tmp_path, LAYOUTS[layout])) == 7


@pytest.mark.process
@pytest.mark.parametrize("adapters", ["tests/adapters.py", "adapters.py"])
@pytest.mark.parametrize("top", ["", "alice-main/"])
def test_adapters_are_found_at_the_path_that_the_option_names(
    tmp_path: Path, adapters: str, top: str
) -> None:
    """`--adapters` is relative to the root, which may be a nested folder."""
    files = {f"{top}tests/adapters.py": f"answer = 7\n{RUN}", f"{top}README.md": ""}
    submission = taken(tmp_path, files, adapters)
    assert submission.adapters == "tests/adapters.py"
    assert imported(submission) == 7


def test_the_file_with_the_most_adapters_is_taken_and_noted(tmp_path: Path) -> None:
    """A stub beside the real file must not count."""
    files = {"a/adapters.py": "", "b/adapters.py": f"answer = 7\n{RUN}"}
    submission = taken(tmp_path, files)
    assert submission.adapters == "b/adapters.py"
    assert "a/adapters.py, b/adapters.py" in submission.notes[0]


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"model.py": "", "train.py": ""}, r"no adapters\.py .* it holds model\.py, train\.py"),
        ({"a/adapters.py": RUN, "b/adapters.py": RUN}, "more than once.*say which"),
        ({"hw.zip": "", "plots.py": ""}, r"plots\.py; not opened: hw\.zip \(hand in the files"),
    ],
)
def test_missing_or_ambiguous_adapters_give_one_sentence(
    tmp_path: Path, files: dict[str, str], reason: str
) -> None:
    """The student learns what to hand in."""
    with pytest.raises(Unreadable, match=reason):
        taken(tmp_path, files)


@pytest.mark.parametrize(
    "content", [b"def run_softmax(:\n", b"# \xe9\n", b"x = '\0'", b"(" * 5000, b"match x:\n"]
)
def test_intake_leaves_syntax_errors_to_the_worker(tmp_path: Path, content: bytes) -> None:
    """A syntax error is a failed test with line and caret, not an unreadable submission."""
    (tmp_path / "alice").mkdir()
    (tmp_path / "alice/adapters.py").write_bytes(content)
    assert taken(tmp_path, {}).module == "adapters"


@pytest.mark.process
def test_a_single_file_becomes_the_adapters(tmp_path: Path) -> None:
    """Its name does not matter: `random.py` must not replace Python's module."""
    (tmp_path / "random.py").write_text(f"answer = 7\n{RUN}")
    (tmp_path / "into").mkdir()
    submission = take_in(Entry("random", tmp_path / "random.py"), tmp_path / "into", "a/b.py")
    assert submission.adapters == "adapters.py"
    assert imported(submission) == 7
