"""A term's story, from a download to grades that a spreadsheet sums up.

The story runs twice with the same class: once undisturbed, and once with `kill -9` in the middle of
every step. Each killed step then runs again. Both runs must end alike.
"""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import signal
import subprocess
import tomllib
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from grader.results.decisions.file import read_decisions
from grader.results.decisions.opening import open_settling
from grader.results.decisions.settlement import Settlement
from grader.results.store import Store
from tests.harness.conftest import TINY, write_files
from tests.harness.warm import Warm

pytestmark = pytest.mark.process

Run = Callable[..., subprocess.CompletedProcess[str]]

COUNT = "def run_count(x):\n    return x.numel()\n"
RIGHT = f"def run_double(x):\n    return 2 * x\n{COUNT}"
TRIPLED = RIGHT.replace("2 * x", "3 * x")
# Three ways of writing one mistake that has no name.
UNNAMED = [RIGHT.replace("2 * x", own) for own in ("2.5 * x", "(x + x) * 1.25", "x / 2 + 2 * x")]
FIRST = {
    "appleann_101_501_adapters.py": RIGHT,
    "birdbo_LATE_102_502_adapters.py": RIGHT,
    "cliffcem_LATE_103_503_adapters.py": RIGHT,
    "deandora_104_504_adapters.py": TRIPLED,
    "deandora_104_504_adapters-1.py": RIGHT,
    "eastemil_105_505_adapters.py": "def run_double(x:\n",
    "fordfay_106_506_adapters.py": "raise SystemExit\n",
    "graygus_107_507_adapters.py": UNNAMED[0],
    "hallhanna_108_508_adapters.py": UNNAMED[1],
    "ivesida_109_509_adapters.py": UNNAMED[2],
    "jonesjo_110_510_adapters.py": TRIPLED,
    "keenkim_111_511_adapters.py": RIGHT,
}
SECOND = {
    "jonesjo_110_610_adapters-1.py": RIGHT,
    "lakeleo_112_612_adapters.py": TRIPLED,
}
CONFTEST = """
    pytest_plugins = ["grader.testing.plugin"]
    """
MENDED, WRONG = "assert_matches(student(x), reference(x))", "assert student(x) == 8"
LATE_RULE = """
[tool.grader.late]
due = 2026-10-03T23:59:00
zone = "Europe/Zurich"
percent = 10
"""
TIMES = "id,submitted_at\n102,2026-10-04T12:00:00+02:00\n103,2026-10-05T12:00:00+02:00\n"
BY = ("--by", "Ada")


def write_zip(path: Path, files: Mapping[str, str]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


def run_term(folder: Path, step: Run) -> Path:
    """Runs the whole story below a folder; `step` runs each command."""
    course, out = folder / "course", folder / "out"
    write_files(course, TINY | {"tests/conftest.py": CONFTEST})
    tests = course / "tests/hidden/test_tiny.py"
    fixed = tests.read_text()
    head, row, tail = fixed.partition("def test_counts_a_row")
    tests.write_text(head + row + tail.replace(MENDED, WRONG, 1))
    roster = folder / "gradebook.csv"
    people = [re.split(r"_(?:LATE_)?", name)[:2] for name in {**FIRST, **SECOND}]
    rows = dict.fromkeys(f'"{name.title()}",{number}' for name, number in people)
    roster.write_text("\n".join(["Student,ID", *rows, '"Absent, Al",199', ""]))
    first, second = (
        write_zip(folder / f"{name}.zip", files)
        for name, files in (("first", FIRST), ("second", SECOND))
    )
    options = ("--roster", roster, "--out", out, "--seed", 7, "--jobs", 1)

    step("batch", first, *options, cwd=course)
    tests.write_text(fixed)
    step("batch", first, *options, "--no-explain", cwd=course)
    step("explain", out, "--jobs", 1, cwd=course)
    listed = step("mistakes", out, cwd=course).stdout
    group = re.search(r"^(\w+)\W+3 submissions answer alike", listed, re.MULTILINE)
    assert group, listed
    saying = ("--sentence", "Half is too much.", "--hint", "How much is twice?")
    step("mistakes", out, "name", group[1], "half-too-much", *saying, cwd=course)
    with (course / "pyproject.toml").open("a") as project:
        project.write(LATE_RULE)
    (out / "times.csv").write_text(TIMES)
    step("decide", out, "times", out / "times.csv", *BY, cwd=course)
    step(
        "decide", out, "extension", "cliffcem_103", "--days", 2, "--reason", "ill", *BY, cwd=course
    )
    why = ("--reason", "the docstring was wrong")
    step("decide", out, "points", "graygus_107", "run_double", "+1.25", *why, *BY, cwd=course)
    step("batch", first, second, *options, cwd=course)
    step("feedback", out, "--format", "canvas", cwd=course)
    step("export", out, "--format", "csv", "--out", folder / "grades.csv", cwd=course)
    step("mistakes", out, "add", "half-too-much", cwd=course)
    return folder


def checked(done: subprocess.CompletedProcess[str]) -> subprocess.CompletedProcess[str]:
    assert "Traceback" not in done.stderr + done.stdout, done.stderr
    assert done.returncode in (0, 1), done.stderr
    return done


@pytest.fixture(scope="module")
def undisturbed(grader: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an undisturbed story."""
    return run_term(
        tmp_path_factory.mktemp("told"), lambda *words, cwd: checked(grader(*words, cwd=cwd))
    )


# The command kills itself just before the n-th call of a function. It is then in the middle of its
# work, however busy the machine is.
KILLER = """
import functools, importlib, os, signal, sys
place, times, *words = sys.argv[1:]
module, _, path = place.partition(":")
*owners, name = path.split(".")
owner = functools.reduce(getattr, owners, importlib.import_module(module))
does, calls = getattr(owner, name), []

@functools.wraps(does)
def doing(*arguments, **options):
    calls.append(None)
    if len(calls) == int(times):
        os.killpg(0, signal.SIGKILL)
    return does(*arguments, **options)

setattr(owner, name, doing)
sys.argv[1:] = words
from grader.cli import main
main()
"""
GRADED, SAID = "grader.grading.batch:Batch._stored", "grader.results.store:Store.add_words"
IN_PLACE, FOLDER_IN_PLACE = "pathlib:Path.replace", "pathlib:Path.rename"
# The places where each command is killed, in turn, before it may end.
KILLS = {
    "batch": [(GRADED, 2), (SAID, 2), (FOLDER_IN_PLACE, 1)],
    "regrade": [(GRADED, 4)],
    "second batch": [(GRADED, 2), ("grader.grading.batch:apply_names", 1)],
    "explain": [(SAID, 2)],
    "mistakes": [],
    "mistakes name": [(IN_PLACE, 1), ("grader.results.store:Store.set_names", 1)],
    "mistakes add": [(IN_PLACE, 1), (IN_PLACE, 2)],
    "decide": [(IN_PLACE, 1)],
    "feedback": [("grader.reports.feedback:in_format_of", 3), (FOLDER_IN_PLACE, 1)],
    "export": [(IN_PLACE, 1)],
}


@pytest.fixture(scope="module")
def disturbed(grader: Run, warm: Warm, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a story in which every step is killed in the middle and runs again."""
    place = tmp_path_factory.mktemp("disturbed")

    def step(*words: object, cwd: Path) -> subprocess.CompletedProcess[str]:
        for where, times in KILLS[step_name(words)]:
            run_killed(warm, where, times, words, cwd)
            if words[0] == "batch" and where == GRADED:
                assert_in_the_middle(place, times - 1, words)
        return checked(grader(*words, cwd=cwd))

    return run_term(place, step)


def step_name(words: tuple[object, ...]) -> str:
    """Returns the name of a command's step in the story."""
    if words[0] == "mistakes" and words[1] in ("name", "add"):
        return f"mistakes {words[1]}"
    if words[0] != "batch":
        return str(words[0])
    downloads = sum(str(word).endswith(".zip") for word in words)
    return "regrade" if "--no-explain" in words else "second batch" if downloads > 1 else "batch"


def run_killed(warm: Warm, where: str, times: int, words: tuple[object, ...], cwd: Path) -> None:
    """Runs a command that is killed before the n-th call of a function."""
    command = ["-c", KILLER, where, times, *words]
    done = warm.run(command, cwd, os.environ, start_new_session=True)
    assert done.returncode == -signal.SIGKILL, f"{words}, {where}: {done.stdout}{done.stderr}"


def assert_in_the_middle(place: Path, stored: int, words: tuple[object, ...]) -> None:
    """Asserts that this command has stored exactly this number of grades, and not all of them."""
    seen = Store.read(place / "out")
    suites = {grade.submission: grade.suite_hash for grade in seen.grades() if grade.is_complete}
    if step_name(words) == "batch":
        assert len(suites) == stored
    elif step_name(words) == "regrade":
        assert sorted(Counter(suites.values()).values()) == [stored, 11 - stored]
    else:
        assert len(suites) == 11, "one of those that were handed in now is not graded"


def written(folder: Path, name: str) -> str:
    file = folder / "out" / name
    return file.read_text() if file.exists() else ""


def rows(folder: Path) -> list[dict[str, str]]:
    """Returns the people in the exported table, without the line of possible points."""
    with (folder / "grades.csv").open(newline="") as file:
        return [row for row in csv.DictReader(file) if row["submission"] != "Points Possible"]


def graded(folder: Path) -> dict[str, Any]:
    """Returns the lines of results by submission, without their durations."""
    lines = (folder / "out" / "results.jsonl").read_text()
    found = [json.loads(re.sub(r'"duration_s": ?[\d.e-]+', '"_": 0', one)) for one in
             lines.splitlines()]  # fmt: skip
    return {row["submission"]: row for row in found}


def settlements(folder: Path) -> Iterator[Settlement]:
    results = Store.read(folder / "out")
    settling = open_settling(results, start=folder / "course")
    for grade in results.grades():
        yield from settling.settle(grade)


def timeless(text: str) -> dict[str, Any]:
    """Returns the tables of a file, without their times of writing."""
    tables = tomllib.loads(text)
    for table in (table for tables_of_kind in tables.values() for table in tables_of_kind):
        table.pop("when", None)
    return tables


def number(cell: str) -> Decimal:
    return Decimal(cell or "0")


def feedback(folder: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(folder / "out" / "feedback-canvas" / "canvas.zip") as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def solutions(folder: Path) -> dict[str, str]:
    """Returns the files of the course's mistakes, including the stub made from the group."""
    place = folder / "course" / "solutions"
    return {file.name: file.read_text() for file in place.rglob("*") if file.suffix != ".pyc"
            and file.is_file()}  # fmt: skip


def test_each_person_of_both_downloads_has_one_grade(undisturbed: Path) -> None:
    """The later submission counts. Unreadable submissions are distinct from wrong ones."""
    found = graded(undisturbed)
    assert len(found) == 12
    assert (found["deandora_104"]["score"], found["jonesjo_110"]["score"]) == (5.0, 5.0)
    assert found["lakeleo_112"]["score"] < 5
    unreadable = {name for name, row in found.items() if row["status"] == "unreadable"}
    assert unreadable == {"eastemil_105", "fordfay_106"}


def test_members_of_a_named_group_get_its_mistake(undisturbed: Path) -> None:
    """The name survives the second download."""
    assert {
        name
        for name, row in graded(undisturbed).items()
        for test in row["tests"]
        if test["diagnosis"] and test["diagnosis"]["mistake"] == "half-too-much"
    } == {"graygus_107", "hallhanna_108", "ivesida_109"}


def test_exported_changes_add_up_to_the_total(undisturbed: Path) -> None:
    """The machine's points and the columns of changes sum to the total, to the last digit."""
    table = rows(undisturbed)
    assert len(table) == 13
    for row in table:
        columns = ("machine", "decided", "lateness")
        assert sum(number(row[name]) for name in columns) == number(row["total"]), row
    by_name = {row["submission"]: row for row in table}
    assert by_name["birdbo_102"]["lateness"] == "-0.5"
    assert by_name["cliffcem_103"]["lateness"] == "0"
    assert by_name["graygus_107"]["decided"] == "1.25"


def test_each_change_of_points_names_a_rule_or_a_decision(undisturbed: Path) -> None:
    """Every change of points has a source, and every decision has an effect."""
    lines = {one.source for one in read_decisions(undisturbed / "out" / "decisions.toml")}
    assert len(lines) == 3
    named = set()
    for own in settlements(undisturbed):
        named |= own.sources | {own.timed_by} - {""}
        for change in own.changes:
            assert set(change.source.split(", ")) <= lines | {"[tool.grader.late]"}, change
    assert named == lines
    by_name = {row["submission"]: row["changes"] for row in rows(undisturbed)}
    assert re.search(r"\(\[tool.grader.late\], decisions.toml:\d+\)", by_name["birdbo_102"])
    assert by_name["cliffcem_103"].startswith("there was more time, until 2026-10-05 23:59 CEST")


def test_canvas_feedback_has_the_names_of_the_submissions_that_count(undisturbed: Path) -> None:
    """The user and the attachment are those of the submission that counts."""
    names = {tuple(re.findall(r"_(\d+)", name)[:2]) for name in feedback(undisturbed)}
    assert {("110", "610"), ("112", "612"), ("104", "504")} <= names
    assert ("110", "510") not in names
    assert len(names) == 12


def test_moodle_feedback_has_the_participants_numbers(
    grader: Run, undisturbed: Path, tmp_path: Path
):
    """The participant's number follows the name, as in Moodle's own download."""
    download = write_zip(
        tmp_path / "work.zip",
        {f"{who}_assignsubmission_file/adapters.py": RIGHT for who in ("Jo Roe_7", "Al Poe_8")},
    )
    out = tmp_path / "out"
    checked(grader("batch", download, "--out", out, cwd=undisturbed / "course"))
    checked(grader("feedback", out, "--format", "moodle", cwd=undisturbed / "course"))
    with zipfile.ZipFile(out / "feedback-moodle" / "moodle.zip") as archive:
        assert {name.split("_")[1] for name in archive.namelist()} == {"7", "8"}


@pytest.mark.slow
def test_a_term_whose_every_step_was_killed_ends_with_the_same_results(
    undisturbed: Path, disturbed: Path
) -> None:
    """Nothing is lost, nothing is done twice, and nothing is left half written."""
    assert graded(disturbed) == graded(undisturbed)
    assert rows(disturbed) == rows(undisturbed)
    for name in ("decisions.toml", "mistakes.toml"):
        assert timeless(written(disturbed, name)) == timeless(written(undisturbed, name))
    assert feedback(disturbed) == feedback(undisturbed)
    assert solutions(disturbed) == solutions(undisturbed)
    assert not [path for path in disturbed.rglob(".*partial*")]


@pytest.mark.skipif(shutil.which("git") is None, reason="git merges")
def test_git_merges_decisions_of_two_instructors(
    grader: Run, undisturbed: Path, tmp_path: Path
) -> None:
    """The merged file has every decision of both sides, and all of them apply."""
    place = Path(shutil.copytree(undisturbed, tmp_path / "told"))
    base = Path(shutil.copy(place / "out" / "decisions.toml", tmp_path / "base.toml"))
    sides = []
    for who, person in (("Ada", "appleann_101"), ("Bo", "keenkim_111")):
        shutil.copy(base, place / "out" / "decisions.toml")
        decided = ("points", person, "-1", "--reason", "asked", "--by", who)
        checked(grader("decide", place / "out", *decided, cwd=place / "course"))
        sides.append(Path(shutil.copy(place / "out" / "decisions.toml", tmp_path / f"{who}.toml")))
    subprocess.run(["git", "merge-file", "--union", sides[0], base, sides[1]], check=True)
    shutil.copy(sides[0], place / "out" / "decisions.toml")
    final = {own.submission: own.final for own in settlements(place)}
    assert (final["appleann_101"], final["keenkim_111"]) == (4.0, 4.0)
    assert final["graygus_107"] == 1.25 + graded(place)["graygus_107"]["score"]
