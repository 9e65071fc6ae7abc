"""The options of each command: their defaults, their bounds, and the sentence for a wrong one."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from grader.cli.command_line import cli
from grader.cli.options import say
from tests.harness.export_fixtures import a_batch, scored
from tests.harness.own_command import grader_here

pytestmark = pytest.mark.unit

BATCH = ("batch", "class", "--out", "out")
GRADING = {
    **{"seed": None, "exercises": (), "adapters": "adapters.py", "timeout": 120.0},
    **{"memory_mb": 2048, "device": "cpu", "explain_seconds": 20.0},
    **{"no_explain": False, "require_isolation": False},
    "assignment_folder": Path(),
}


def parsed(*words: str) -> dict[str, object]:
    """Returns the parameters of a command line, without running the command."""
    name, *rest = words
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    return dict(command.make_context(name, rest).params)


@pytest.mark.parametrize(
    ("words", "defaults"),
    [
        (
            BATCH,
            GRADING
            | {"jobs": None, "scheduler": None, "roster": None, "fresh": False, "details": False},
        ),
        (
            ("run", "it"),
            GRADING
            | {"form": "text", "output": None, "fail_under": None, "metadata": None}
            | {"hidden_tests": "visible", "leaderboard": False},
        ),
        (("alike", "out"), {"out": None, "anonymous": False, "others": ()}),
        (("explain", "out"), {"jobs": None}),
        (("feedback", "out"), {"form": "folders", "out": None, "pdf": False}),
        (("export", "out", "--format", "csv"), {"output": Path("-"), "template": None}),
        (("report", "out"), {"out": None, "against": None, "anonymous": False, "details": False}),
        (("doctor",), {"submissions": (), "adapters": "adapters.py"}),
        (("verify",), {"edits": False, "seeds": None, "jobs": None, "by_test": False}),
        (("handout", "new"), {"platform": None, "torch_index": None}),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_an_option_that_is_not_given_has_its_documented_default(words, defaults):
    """The help and the documentation name these values."""
    found = parsed(*words)
    assert {name: found[name] for name in defaults} == defaults


@pytest.mark.parametrize(
    ("words", "name", "values"),
    [
        (BATCH, "--jobs", (1, 0)),
        (BATCH, "--seed", (1, 0)),
        (BATCH, "--seed", (1 << 53, (1 << 53) + 1)),
        (BATCH, "--timeout", (0.5, 0.0)),
        (BATCH, "--memory", (64, 63)),
        (BATCH, "--explain-timeout", (0.5, 0.0)),
        (("run", "it"), "--fail-under", (0.0, -0.5)),
        (("run", "it"), "--fail-under", (100.0, 100.5)),
        (("explain", "out"), "--jobs", (1, 0)),
        (("verify",), "--seeds", (2, 1)),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else value,
)
def test_a_number_out_of_its_bounds_is_refused(words, name, values):
    """The bound itself is allowed."""
    allowed, refused = values
    found = parsed(*words, name, str(allowed))
    assert allowed in found.values()
    with pytest.raises(click.BadParameter, match="is not in the range"):
        parsed(*words, name, str(refused))


def command_of(name: str) -> click.Command:
    """Returns a command."""
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    return command


def test_github_commands_are_printed_and_never_written_to_a_file(tmp_path):
    """The refusal precedes all else: there is no submission here."""
    done = grader_here("run", tmp_path, "--format", "github", "--out", tmp_path / "x")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--format github prints commands for the runner: leave out --out" in done.stderr


def test_sentences_for_people_go_to_standard_error(capsys):
    """Standard output is for results."""
    say("a sentence")
    assert tuple(capsys.readouterr()) == ("", "a sentence\n")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--version",), 0, ""),
        ((), 0, ""),
        (("bathc",), 2, "grader: no such command 'bathc': did you mean batch?\n"),
        (("xyz",), 2, "grader: no such command 'xyz'; see grader --help\n"),
        (("--xyz",), 2, "grader: no such option '--xyz'; see grader --help\n"),
        (("batch",), 2, "grader batch: missing argument 'PATHS...'; see grader batch --help\n"),
        (
            ("batch", "x", "--ouput", "y"),
            2,
            "grader batch: no such option '--ouput': did you mean '--out' or '--timeout'?\n",
        ),
        (("export", "/nowhere", "--format", "csv"), 2, "grader: /nowhere does not exist: name"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_wrong_argument_is_one_sentence_with_its_remedy(words, code, said):
    """The sentence begins with the command. A suggestion takes the place of the help."""
    done = grader_here(*words)
    assert done.returncode == code
    assert done.stderr.startswith(said)
    assert len(done.stderr.splitlines()) == bool(said)
    assert bool(done.stdout) is not bool(said)


TOO_LONG = "x" * 300


@pytest.mark.parametrize(
    "words",
    [
        *(("batch", TOO_LONG, "--out", "out"), ("doctor", TOO_LONG)),
        *(("report", TOO_LONG), ("decide", TOO_LONG), ("mistakes", TOO_LONG), ("alike", TOO_LONG)),
        ("export", TOO_LONG, "--format", "csv"),
        ("export", ".", "--format", "csv", "--out", TOO_LONG),
        ("export", ".", "--format", "canvas", "--template", TOO_LONG),
        *(("report", ".", "--against", TOO_LONG), ("alike", ".", "--with", TOO_LONG)),
    ],
    ids=lambda words: " ".join(words).replace(TOO_LONG, "…"),
)
def test_a_path_that_the_system_refuses_to_look_up_is_one_sentence(tiny, tmp_path, words):
    """A folder that its user may not search ends in the same way."""
    a_batch(tmp_path, scored("ann", 4, 2))
    if words[0] in ("batch", "alike"):
        words = (*words, "--assignment", tiny)
    done = grader_here(*words, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "File name too long" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_download_whose_links_lead_in_a_circle_is_one_sentence(tmp_path):
    """Such a zip has no path of its own."""
    (tmp_path / "class.zip").symlink_to("class.zip")
    done = grader_here("doctor", "class.zip", cwd=tmp_path)
    assert done.stderr == "grader: class.zip cannot be read: Too many levels of symbolic links\n"


def test_the_bare_command_prints_all_groups_of_commands():
    """Each command has its summary beside it, in one column."""
    printed = grader_here().stdout
    assert printed == CliRunner().invoke(cli, ["--help"], prog_name="grader").output
    rows = [line for line in printed.splitlines() if line.startswith("  batch ")]
    assert rows == ["  batch           Grade a class."]


def test_a_character_that_the_terminal_cannot_show_is_printed_as_an_escape(tmp_path):
    """A student's name must not stop a command."""
    done = grader_here("export", tmp_path / "王", "--format", "csv", encoding="latin-1")
    assert done.returncode == 2
    assert "\\u738b does not exist" in done.stderr


@pytest.mark.parametrize(
    ("reached", "told"),
    [({"filesystem": "landlock 7"}, False), ({"syscalls": "none", "filesystem": "none"}, True)],
    ids=["all", "none"],
)
def test_a_single_submission_is_said_to_run_without_layers(monkeypatch, tmp_path, reached, told):
    """As for a batch. Where every layer is there, nothing is said."""
    grade = dataclasses.replace(scored("alice", 4.0, 6.0), isolation=reached)
    monkeypatch.setattr("grader.grading.coordinator.graded_alone", lambda *_: grade)
    root = Path(__file__).parents[3]
    done = grader_here("run", tmp_path, "--assignment", root)
    assert done.returncode == 0
    missing = "isolation: not here: filesystem, syscalls (grader doctor)\n"
    assert done.stderr.endswith(missing) is told
    assert ("isolation" in done.stderr) is told
