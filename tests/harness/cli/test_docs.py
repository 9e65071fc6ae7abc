"""The documentation is right: its commands print what it shows, and its paths and links exist.

The test runs the blocks of type `console`. Their lines after a `$` are commands, which run in one
shell for the whole page, in a fresh copy of the assignment. The lines below a command must be in
its output, in that order. A command with such lines may fail; one without them may not.
"""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from grader.core.assignment import find_assignment
from tests.harness.marks import rest_slow
from tests.harness.warm import Warm

pytestmark = pytest.mark.unit

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
PLACE = re.compile(r"`(grader/[\w/.]*\w/?)`")
DECIDED = re.compile(r"grader decide .*?\b(run_\w+)")
COURSE = ("examples", "adapters.py", "assignment", "solutions", "tests/conftest.py", "tests/public")
COURSE += ("tests/hidden", "pyproject.toml", "constraints.txt")


@dataclass(frozen=True, slots=True)
class Command:
    """A command of a page, and the lines of output that the page shows."""

    line: str
    shown: tuple[str, ...]


def commands_of(page: Path) -> list[Command]:
    """Returns the commands in a page's `console` blocks."""
    found: list[Command] = []
    for block in BLOCK.findall(page.read_text(encoding="utf-8")):
        assert block.startswith("$ "), f"{page.name}: a console block begins with a command"
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            line, *shown = part.splitlines()
            found.append(Command(line, tuple(one for one in map(single_spaced, shown) if one)))
    return found


def single_spaced(line: str) -> str:
    """Returns a line with single blanks, so that column widths do not matter."""
    return " ".join(line.split())


RUN_PAGES = [page for page in PAGES if commands_of(page)]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A folder with the assignment and the examples, without files that tools made."""
    folder = tmp_path / "copy"
    for name in COURSE:
        source, target = ROOT / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", ".*"))
        else:
            shutil.copy(source, target)
    return folder


def printed_by(
    commands: list[Command], folder: Path, programs: Path, warm: Warm
) -> list[tuple[int, list[str]]]:
    """Returns the exit code and the lines of each command, run by one shell."""
    programs.mkdir()
    (programs / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    for name in ("grader", "pytest"):
        (programs / name).write_text(warm.program("-m", name))
    for program in programs.iterdir():
        program.chmod(0o755)
    lines = [f'{one.line}\ncode=$?; echo; echo "@@ $code"' for one in commands]
    script = "\n".join(["exec 2>&1", *lines])
    path = os.pathsep.join([str(programs), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env=os.environ
        | {"PATH": path, "PYTHONPATH": str(ROOT), "COLUMNS": "100", "LC_ALL": "C.UTF-8"},
        capture_output=True,
        encoding="utf-8",
        timeout=600,
        check=False,
    )
    parts = re.split(r"^@@ (\d+)$", done.stdout, flags=re.MULTILINE)
    assert len(parts) == 2 * len(commands) + 1, done.stdout
    texts, codes = parts[:-1:2], parts[1::2]
    return [
        (int(code), [single_spaced(line) for line in text.splitlines()])
        for text, code in zip(texts, codes, strict=True)
    ]


@pytest.mark.process
@pytest.mark.parametrize(
    "page",
    # The commands of the other pages take half a minute.
    rest_slow(RUN_PAGES, [page for page in RUN_PAGES if page.name not in ("authors.md", "gpu.md")]),
    ids=lambda page: page.name,
)
def test_commands_of_a_page_print_the_output_that_it_shows(page, copy, tmp_path, warm):
    """Even the numbers on the page are those of the present version."""
    commands = commands_of(page)
    printed = printed_by(commands, copy, tmp_path / "programs", warm)
    for command, (code, lines) in zip(commands, printed, strict=True):
        assert code == 0 or command.shown, f"{command.line}: {lines}"
        left = iter(lines)
        for shown in command.shown:
            assert any(shown in line for line in left), f"{command.line}: {shown!r} not in {lines}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_of_a_page_leads_somewhere(page):
    """Links between pages are relative, so that they work in any clone."""
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_engine_path_that_a_page_names_exists(page):
    """A page must not name a path that was renamed."""
    for place in PLACE.findall(page.read_text(encoding="utf-8")):
        assert (ROOT / place).exists(), place


def test_decide_commands_of_the_pages_name_real_exercises():
    """A reader can type the command as it stands."""
    known = find_assignment(ROOT).points
    decided = [name for page in PAGES for name in DECIDED.findall(page.read_text("utf-8"))]
    assert decided
    assert [name for name in decided if name not in known] == []
