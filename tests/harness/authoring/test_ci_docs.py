"""The commands in docs/ci.md and in the workflows run."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import click
import pytest
import yaml

from grader.authoring.handout.installing import WORKFLOW
from grader.cli.command_line import cli
from tests.harness.conftest import ROOT
from tests.harness.marks import rest_slow

pytestmark = pytest.mark.unit

PAGE = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^    \.venv/bin/(grader .*)$", PAGE, re.MULTILINE)
TRIAL = re.search(r"((?:^    .*\n)+)\n## GitHub Actions", PAGE, re.MULTILINE)[1]
WORKFLOWS = sorted((ROOT / "examples" / "ci").glob("*.yml"))


@pytest.fixture
def at_home(tmp_path: Path) -> Path:
    """A folder in which the page's commands find their files and may write."""
    for name in (".venv", "examples", "adapters.py", "assignment", "solutions", "tests"):
        (tmp_path / name).symlink_to(ROOT / name)
    for name in ("pyproject.toml", "constraints.txt"):
        (tmp_path / name).write_text((ROOT / name).read_text())
    return tmp_path


@pytest.mark.process
@pytest.mark.parametrize("command", rest_slow(COMMANDS, 3))
def test_each_command_of_the_page_runs(grader, at_home, command):
    """The exit code is the page's: 0 for a grade, 1 below the bar that the command sets."""
    words = shlex.split(command)[1:]
    few = ["--exercise", "run_softmax", "--exercise", "run_multihead_self_attention"]
    done = grader(*words, *few, cwd=at_home)
    assert done.returncode == int("--fail-under" in words), done.stderr
    if "--out" in words:
        assert (at_home / words[words.index("--out") + 1]).exists()


@pytest.mark.process
def test_the_ci_pages_trial_of_the_autograder_runs(grader, at_home, warm):
    """The page's lines run in the shell, with this environment's Python."""
    assert grader("gradescope-zip", "autograder.zip", cwd=at_home).returncode == 0
    (at_home / "python").write_text(warm.program())
    (at_home / "python").chmod(0o755)
    script = TRIAL.replace(".venv/bin/python", "python")
    assert script != TRIAL
    done = subprocess.run(
        ["bash", "-euc", script], cwd=at_home, capture_output=True, text=True, check=True
    )
    assert '"status": "graded"' in done.stdout
    assert "mask-inverted" in done.stdout


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda file: file.name)
def test_the_grading_command_of_each_workflow_parses(workflow):
    """The command itself parses the options."""
    (line,) = re.findall(r"run: grader (.*)$", workflow.read_text(), re.MULTILINE)
    words = shlex.split(line.replace("$RUNNER_TEMP/course", "."))
    verb, *arguments = ["." if word == "submission" else word for word in words]
    command = cli.get_command(click.Context(cli), verb)
    context = command.make_context(verb, arguments)
    assert context.params["form"] == "github"


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda file: file.name)
def test_a_workflow_leaves_no_credentials_beside_a_submission(workflow):
    text = workflow.read_text()
    assert text.count("uses: actions/checkout@") == text.count("persist-credentials: false") == 2


def test_the_classroom_reporter_reads_the_result_of_the_grading_step():
    """The reporter reads the variable `ID_RESULTS`, where ID is the step's id in capitals."""
    text = (ROOT / "examples" / "ci" / "classroom.yml").read_text()
    (step,) = re.findall(r"- id: (\w+)", text)
    assert f"{step.upper()}_RESULTS: ${{{{ steps.{step}.outputs.result }}}}" in text
    assert f"runners: {step}\n" in text


def test_classroom_reads_points_from_the_workflow_of_that_name_and_its_only_job():
    """The reporter's documentation asks for both names. A step that failed is reported too."""
    workflow = yaml.safe_load((ROOT / "examples" / "ci" / "classroom.yml").read_text())
    assert workflow["name"] == "Autograding Tests"
    assert [*workflow["jobs"]] == ["run-autograding-tests"]
    assert workflow["jobs"]["run-autograding-tests"]["steps"][-1]["if"] == "always()"


def test_the_graded_repository_fills_the_workspace_of_its_own_workflow():
    """GitHub shows annotations at files that are named from the workspace, as in the repository."""
    workflow = yaml.safe_load((ROOT / "examples" / "ci" / "classroom.yml").read_text())
    (job,) = workflow["jobs"].values()
    checkouts = [one["with"] for one in job["steps"] if "checkout@" in one.get("uses", "")]
    assert [("repository" in one, one.get("path")) for one in checkouts] == [
        (True, "course"),
        (False, None),
    ]


def test_a_run_on_demand_is_listed_by_the_repository_that_it_grades():
    """All submissions lie in a folder of the same name, so summaries do not tell them apart."""
    workflow = yaml.safe_load((ROOT / "examples" / "ci" / "grade-on-demand.yml").read_text())
    assert workflow["run-name"] == "grade ${{ inputs.repository }}"


def test_students_workflow_installs_the_handout_for_cpus_and_runs_pytest():
    """GitHub's machines have no GPU, and no step may change anything."""
    assert re.findall(r"- run: (.*)", WORKFLOW) == [
        "pip install uv",
        "uv pip install --system --torch-backend cpu -r requirements.txt",
        "pytest",
    ]
    assert "contents: read" in WORKFLOW
    assert "\t" not in WORKFLOW
