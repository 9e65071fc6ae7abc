"""The commands for authors pass their options on, and print where their files lie."""

from __future__ import annotations

import shutil
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests.harness.own_command import grader_here
from tests.harness.own_course import imported_alone

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("words", "name"), [((), "my course"), (("--name", "Norms"), "Norms")], ids=["folder", "name"]
)
def test_new_prints_the_name_and_the_next_commands(tmp_path, words, name):
    """The commands can be typed as they stand."""
    done = grader_here("new", "my course", *words, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        f"my course: the assignment {name}, with one exercise. Next:",
        "",
        "    cd 'my course'",
        "    pytest",
    ]
    project = tomllib.loads((tmp_path / "my course" / "pyproject.toml").read_text())
    assert project["tool"]["grader"]["name"] == name


@pytest.mark.process(takes="a second")
def test_freeze_prints_each_file_from_the_assignments_folder(tiny, tmp_path):
    """The size is in KiB."""
    course = Path(shutil.copytree(tiny, tmp_path / "course"))
    with imported_alone():
        done = grader_here("freeze", "--assignment", course)
    (file,) = (course / "tests" / "public" / "fixtures").iterdir()
    size = f"{file.stat().st_size / 1024:.0f} KiB"
    assert done.stdout == f"{file.relative_to(course)}  {size}\n"
    assert done.returncode == 0


def test_gradescope_zip_prints_its_size_and_its_longest_time(tiny, tmp_path):
    """Without an index for torch, a sentence on stderr says that pip must know one."""
    file = tmp_path / "a.zip"
    done = grader_here("gradescope-zip", file, "--assignment", tiny)
    size = f"{file.stat().st_size / 1024:.0f} KiB"
    # 240 s for the submission, 40 s for its explanation, and five minutes.
    assert done.stdout == (
        f"{file}: the autograder of tiny, {size}, which takes at most 10 minutes for a submission\n"
    )
    assert done.returncode == 0
    assert done.stderr.startswith("its setup.sh finds torch for CPUs only if pip in the image")
    options = options_in(file)
    assert "--timeout 240 --memory 128 --explain-timeout 40 --adapters adapters.py" in options
    assert "--hidden-tests visible" in options
    assert not {"--seed", "--leaderboard", "--no-explain", "--require-isolation"} & {
        *options.split()
    }


def test_gradescope_zip_passes_all_its_options_on(tiny, tmp_path):
    """The autograder grades with them, whatever machine made it."""
    file = tmp_path / "a.zip"
    words = (
        "--timeout 60 --memory 64 --no-explain --require-isolation --leaderboard --seed 3 "
        "--hidden-tests hidden --exercise run_count --torch-index https://somewhere"
    )
    done = grader_here("gradescope-zip", file, "--assignment", tiny, *words.split())
    assert (done.returncode, done.stderr) == (0, "")
    assert "at most 6 minutes" in done.stdout
    assert (
        "--timeout 60 --memory 64 --explain-timeout 40 --adapters adapters.py --hidden-tests "
        "hidden --seed 3 --exercise run_count --leaderboard --no-explain --require-isolation"
    ) in options_in(file)
    with zipfile.ZipFile(file) as archive:
        requirements = archive.read("requirements.txt").decode()
    assert requirements.startswith("--extra-index-url https://somewhere\n")


def options_in(file: Path) -> str:
    """Returns the options with which the autograder in a zip calls the grader."""
    with zipfile.ZipFile(file) as archive:
        script = archive.read("run_autograder").decode()
    return script.partition('"${options[@]}" ')[2].splitlines()[0]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("gradescope-zip", "a.zip", "--device", "cuda"), "Gradescope's containers have no GPU"),
        (("gradescope-zip", "a.zip", "--exercise", "run_duoble"), "did you mean run_double?"),
        (("gradescope-zip", "nowhere/for/a.zip/", "--seed", "0"), "0 is not in the range"),
        (("handout", "new", "--platform", "blackboard"), "'blackboard' is not one of"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_options_that_make_no_autograder_are_refused(tiny, tmp_path, words, said):
    """The exit code is 2, and nothing is written."""
    done = grader_here(*words, "--assignment", tiny, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert [*tmp_path.iterdir()] == []


@pytest.mark.process
def test_handout_prints_where_it_lies_and_says_how_to_hand_in(tiny, tmp_path):
    """The README is for the chosen platform, and installs torch from the given index."""
    words = ("--platform", "canvas", "--torch-index", "https://somewhere", "--assignment", tiny)
    with imported_alone():
        done = grader_here("handout", tmp_path / "new", *words)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        f"{tmp_path / 'new'}: the handout of tiny; its README.md says how to begin\n"
    )
    readme = (tmp_path / "new" / "README.md").read_text()
    assert "On Canvas open the assignment" in readme
    assert "--extra-index-url https://somewhere" in readme
