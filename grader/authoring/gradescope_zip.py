"""The zip that Gradescope takes as an autograder (its documentation, "Autograder specs").

At its root are two scripts, the requirements for pip, and the results for a grader that does not
start. `engine/` holds the engine, and `course/` the assignment with its hidden tests and solutions.
Equal content gives equal bytes.
"""

from __future__ import annotations

import importlib.metadata
import io
import json
import re
import shlex
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import grader
from grader.authoring.templates import filled
from grader.core.assignment import Assignment, BadAssignment
from grader.grading.fingerprints import source_files, suite_files
from grader.grading.options import Options
from grader.reports.export.gradescope import Display, not_graded
from grader.reports.letter import add_to_zip
from grader.reports.package_needs import required_distributions

# The grader's own processes take up to 600 of a container's 768 MB; half a processor is slow.
MEMORY_MB = 128
TIMEOUT = 240.0
EXPLAIN_TIMEOUT = 40.0
_EXTRA_SECONDS = 300
_SCRIPTS = ("setup.sh", "run_autograder")
_CONSTRAINTS = "constraints.txt"
_TORCH = re.compile(r"torch(?![\w.-])")
_PINNED_TORCH = re.compile(
    r"^\s*torch\s*==\s*([\w.!]+)(?![\w.!*]|\s*,)", re.MULTILINE | re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Autograder:
    """The instructor's choices: how to grade, how to show results, and where pip finds torch.

    `torch_index` is the address of a package index; None if pip in the image knows one.
    """

    options: Options
    display: Display
    torch_index: str | None = None
    require_isolation: bool = False
    explain: bool = True

    @property
    def seconds(self) -> int:
        """Returns the longest time of `run_autograder`; Gradescope's limit must be longer."""
        explaining = self.options.explain_seconds if self.explain else 0
        return int(self.options.timeout + explaining) + _EXTRA_SECONDS


def autograder_zip(assignment: Assignment, autograder: Autograder) -> bytes:
    """Returns the zip's content.

    Raises:
        BadAssignment: if an exercise is not one of the assignment's, or the engine's requirements
            are not known.
    """
    autograder.options.settings(assignment)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in sorted(_files(assignment, autograder)):
            add_to_zip(archive, name, content, 0o755 if name in _SCRIPTS else 0o644)
    return packed.getvalue()


def _files(assignment: Assignment, autograder: Autograder) -> Iterator[tuple[str, bytes]]:
    here = Path(__file__).with_name("autograder")
    chosen = {"seconds": str(autograder.seconds), "options": _command_line(autograder)}
    for name in _SCRIPTS:
        yield name, filled(here / name, **chosen).encode()
    yield "not_started.json", json.dumps(not_graded("the grader did not start")).encode()
    file = assignment.root / _CONSTRAINTS
    constraints = file.read_text(encoding="utf-8") if file.is_file() else ""
    yield _CONSTRAINTS, constraints.encode()
    own = required_distributions(assignment, with_preload=True)
    yield "requirements.txt", _requirements(constraints, autograder.torch_index, own).encode()
    engine = Path(grader.__file__).parent
    for file in source_files(engine):
        yield f"engine/grader/{file.relative_to(engine).as_posix()}", file.read_bytes()
    for file in suite_files(assignment.root):
        yield f"course/{file.relative_to(assignment.root).as_posix()}", file.read_bytes()


def _command_line(autograder: Autograder) -> str:
    options, display = autograder.options, autograder.display
    words = ["--timeout", f"{options.timeout:g}", "--memory", str(options.memory_mb)]
    words += ["--explain-timeout", f"{options.explain_seconds:g}"]
    words += ["--adapters", options.adapters, "--hidden-tests", str(display.hidden_tests)]
    if options.seed is not None:
        words += ["--seed", str(options.seed)]
    for exercise in options.exercises:
        words += ["--exercise", exercise]
    if display.leaderboard:
        words.append("--leaderboard")
    if not autograder.explain:
        words.append("--no-explain")
    if autograder.require_isolation:
        words.append("--require-isolation")
    return shlex.join(words)


def _requirements(constraints: str, torch_index: str | None, own: Sequence[str]) -> str:
    """Returns the requirements that pip installs: the engine's, `own`, and torch without CUDA.

    `own` are the distributions that the assignment lists.

    The local version `+cpu` exists only in PyTorch's own indexes. If pip does not find it, the
    image fails to build. That is intended: torch with CUDA needs more memory than the container
    has.
    """
    try:
        (distribution, *_) = importlib.metadata.packages_distributions()["grader"]
        needed = importlib.metadata.requires(distribution) or []
    except (importlib.metadata.PackageNotFoundError, LookupError) as problem:
        raise BadAssignment(
            "what the grader needs is not known, because it runs from a folder: install it with pip"
        ) from problem
    pinned = _PINNED_TORCH.search(constraints)
    version = pinned[1] if pinned else importlib.metadata.version("torch").partition("+")[0]
    lines = [f"--extra-index-url {torch_index}"] if torch_index else []
    listed = {one for one in needed if "extra ==" not in one}
    engine = {canonicalize_name(Requirement(one).name) for one in listed}
    listed |= {one for one in own if one not in engine}
    lines += sorted(one for one in listed if not _TORCH.match(one))
    return "\n".join([*lines, f"torch=={version}+cpu", ""])
