"""Properties of all commands: help with examples, a sentence for an error, colours, Tab."""

import json
import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from grader.cli.command_line import COMMANDS, GROUPS, cli

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[3]
RIGHT = "def run_double(x):\n    return 2 * x\n\ndef run_count(x):\n    return x.numel()\n"


def all_commands() -> list[tuple[str, ...]]:
    """Yields each command as it is typed, with the subcommands of `decide` and `mistakes`."""
    found: list[tuple[str, ...]] = [(name,) for name in COMMANDS]
    for name in COMMANDS:
        command = cli.get_command(click.Context(cli), name)
        if isinstance(command, click.Group):
            found += [(name, "results/", below) for below in command.commands]
    return found


@pytest.mark.unit
@pytest.mark.parametrize("words", all_commands(), ids=" ".join)
def test_help_shows_an_example_before_the_explanation(words):
    """A sentence and an example come first: few users read explanations or options before."""
    printed = CliRunner().invoke(cli, [*words, "--help"], prog_name="grader").output
    _usage, _sentence, examples = printed.split("\n\n")[:3]
    assert examples.strip().startswith("Example")
    assert " ".join(("grader", *words)) in examples


@pytest.mark.unit
def test_help_lists_commands_in_groups():
    """The groups follow the order in which an instructor needs them."""
    printed = CliRunner().invoke(cli, ["--help"]).output
    titles = [line for line in printed.splitlines() if line[:1].isalpha() and line.endswith(":")]
    assert titles[1:] == [f"{title}:" for title in GROUPS]


@pytest.mark.unit
@pytest.mark.parametrize("name", [name for group in GROUPS.values() for name in group])
def test_the_list_of_commands_truncates_no_summary(name):
    """A summary that ends in dots has no use."""
    (line,) = [
        line
        for line in CliRunner().invoke(cli, ["--help"]).output.splitlines()
        if line.split()[:1] == [name]
    ]
    assert not line.endswith("...")


def test_the_bare_command_prints_the_list_of_commands(grader):
    """The exit code is 0."""
    done = grader()
    assert done.returncode == 0
    assert "Grade a class:" in done.stdout


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_output_on_a_full_disk_gets_one_sentence():
    """No traceback: the remedy is outside of the grader."""
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "grader", "--help"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr == "grader: the output cannot be written: No space left on device\n"


def test_the_version_option_prints_the_version(grader):
    """The option is `--version`, as in other programs."""
    assert grader("--version").stdout.startswith("grader, version ")


def test_commands_that_need_no_torch_do_not_load_it():
    """Help, completion and handing out work take a tenth of a second, not two."""
    script = "import sys, grader.cli.command_line, grader.cli.api; print('torch' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"


# --- Mistakes -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("batch nowhere --out out", "nowhere does not exist: check the path"),
        ("run clas/alice.py", "clas/alice.py does not exist: check the path"),
        (
            "report nowhere",
            "nowhere does not exist: name the folder that `grader batch --out` wrote",
        ),
        ("run notes.txt", "neither a folder nor an archive, a notebook or a Python file"),
        ("batch empty --out out", "is empty; it should hold a folder or file for each submission"),
        ("batch", "missing argument 'PATHS...'; see grader batch --help"),
        ("batch class", "missing option '--out'; see grader batch --help"),
        ("batch class --out notes.txt", "'notes.txt' is a file"),
        (
            "batch class --out notes.txt/out",
            "a folder of yours on a local disk with grader batch --out",
        ),
        (
            "batch class --out /proc/nobody/out",
            "a folder of yours on a local disk with grader batch --out",
        ),
        ("batch class --out out --jobs 0", "0 is not in the range x>=1"),
        ("batch class --out out --timeout -1", "-1.0 is not in the range 0<x<="),
        ("batch class --out out --memory 1", "1 is not in the range x>=64"),
        ("batch class --out out --exercise run_duoble", "did you mean run_double?"),
        ("batch class --out out --exercise everything", "there is run_double, run_count"),
        ("batch class --out out --fersh", "did you mean '--fresh'?"),
        (
            "batch class --ouput out",
            "no such option '--ouput': did you mean '--out' or '--timeout'?",
        ),
        ("bathc class --out out", "no such command 'bathc': did you mean batch?"),
        ("grades class", "no such command 'grades'; see grader --help"),
        ("run class/alice.py --format xml", "'xml' is not one of"),
        ("run class/alice.py --assignment nowhere", "'nowhere' does not exist"),
        ("run class/alice.py --assignment /", "is in / or above it: run the command inside"),
        ("handout .", "is not empty: name a new folder"),
        ("handout notes.txt", "'notes.txt' is a file"),
        ("handout /proc/nobody/handout", "cannot be made: /proc/nobody"),
        ("new .", "is not empty: name a new folder"),
        ("new /proc/nobody/assignment", "name a folder of yours"),
    ],
)
def test_a_wrong_command_line_gets_one_sentence_with_a_remedy(
    grader, tiny, tmp_path, arguments, said
):
    """The exit code is 2; no traceback is shown, and nothing is written."""
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "alice.py").write_text(RIGHT)
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.txt").write_text("precious")
    here = sorted(tmp_path.rglob("*"))
    words = arguments.split()
    if words[0] in ("batch", "run", "handout") and "--assignment" not in words:
        words += ["--assignment", str(tiny)]
    done = grader(*words, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert said.lower() in done.stderr.lower()
    assert done.stderr.startswith("grader")
    assert len(done.stderr.splitlines()) == 1
    assert sorted(tmp_path.rglob("*")) == here


BROKEN = [
    ("pyproject.toml", "[tool.grader\n", "is not TOML"),
    ("pyproject.toml", "tool = 3\n", "no pyproject.toml with a [tool.grader] table"),
    ("pyproject.toml", "[tool]\ngrader = 3\n", "[tool.grader] must be a table, not 3"),
    ("pyproject.toml", "[tool.grader]\nexercise = 1\n", "knows no 'exercise': did you mean"),
    ("adapters.py", "import no_such_module\n", "adapters.py cannot be used: ModuleNotFoundError"),
    ("adapters.py", "def run_double(x): ...\n", "adapters.py has no run_count"),
    ("solutions/__init__.py", "def run_double(x:\n", "(solutions/__init__.py:1)"),
    ("solutions/__init__.py", "", "solutions/__init__.py has no run_double"),
    ("solutions/mistakes.py", "MISTAKES = (1,)\n", "solutions/mistakes cannot be used"),
    (
        "tests/hidden/test_tiny.py",
        "1 / 0\n",
        "test_tiny.py cannot be collected: ZeroDivisionError: division by zero (test_tiny.py:1)",
    ),
    ("tests/hidden/test_tiny.py", "def test_it(): ...\n", "::test_it has no @exercise(...)"),
]


@pytest.mark.parametrize(("file", "text", "said"), BROKEN)
def test_a_broken_assignment_gets_one_sentence(grader, tiny, tmp_path, file, text, said):
    """The author must fix it: no grade is made, and no traceback shown."""
    assignment = Path(shutil.copytree(tiny, tmp_path / "assignment"))
    (assignment / file).write_text(text)
    done = grader("verify", "--assignment", assignment, cwd=assignment)
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_batch_with_a_broken_assignment_grades_no_submission(grader, tiny, tmp_path):
    """The batch stops before it begins."""
    assignment = Path(shutil.copytree(tiny, tmp_path / "assignment"))
    (assignment / "solutions" / "__init__.py").write_text("import no_such_module\n")
    (tmp_path / "alice.py").write_text(RIGHT)
    done = grader("batch", tmp_path / "alice.py", "--out", tmp_path / "out", cwd=assignment)
    assert done.returncode == 2
    assert "solutions/ cannot be used: ModuleNotFoundError" in done.stderr
    (row,) = map(json.loads, (tmp_path / "out" / "results.jsonl").read_text().splitlines())
    assert (row["status"], row["score"]) == ("not_graded", 0)


@pytest.mark.slow
def test_pytest_reports_references_that_do_not_import(tiny, tmp_path):
    """The author runs `pytest` in the assignment's folder."""
    assignment = Path(shutil.copytree(tiny, tmp_path / "assignment"))
    (assignment / "solutions" / "__init__.py").write_text("import no_such_module\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"],
        cwd=assignment,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "ERROR: solutions/ cannot be used" in done.stderr
    assert "Traceback" not in done.stdout + done.stderr


# --- Colours ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def graded(grader, tiny, tmp_path_factory) -> list[str]:
    """A command that prints a table at once, with a score in green."""
    folder = tmp_path_factory.mktemp("colours")
    (folder / "class").mkdir()
    (folder / "class" / "alice.py").write_text(RIGHT)
    command = ["batch", str(folder / "class"), "--out", str(folder / "out")]
    assert grader(*command, cwd=tiny).returncode == 0
    return command


def on_a_terminal(command: list[str], cwd: Path, **environment: str) -> str:
    """Returns the output of a command on a terminal."""
    ours, theirs = pty.openpty()
    env = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    with subprocess.Popen(
        [sys.executable, "-m", "grader", *command],
        cwd=cwd,
        env=env | {"PYTHONPATH": str(ROOT), "TERM": "xterm"} | environment,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    ):
        os.close(theirs)
        printed = b""
        try:
            while data := os.read(ours, 1 << 16):
                printed += data
        except OSError:  # Linux reports so that the other end is closed.
            pass
    os.close(ours)
    return printed.decode()


def test_colours_are_printed_only_on_a_terminal(grader, tiny, graded):
    """A file or a pipe gets plain text."""
    green = "\x1b[32m"
    assert green in on_a_terminal(graded, tiny)
    assert "\x1b" not in grader(*graded, cwd=tiny).stdout


def test_no_color_switches_colours_off(tiny, graded):
    """Any value of NO_COLOR that is not empty counts, as https://no-color.org asks."""
    printed = on_a_terminal(graded, tiny, NO_COLOR="1")
    assert "everything right" in printed
    assert "\x1b[3" not in printed


# --- The Tab key --------------------------------------------------------------------------------


def completions_of(grader_words: str, cwd: Path) -> list[str]:
    """Returns the completions of the last word that bash gets."""
    env = {"COMP_WORDS": grader_words, "COMP_CWORD": str(len(grader_words.split()) - 1)}
    done = subprocess.run(
        [sys.executable, "-m", "grader"],
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": str(ROOT), "_GRADER_COMPLETE": "bash_complete"} | env,
        capture_output=True,
        text=True,
        check=False,
    )
    return [line.partition(",")[2] for line in done.stdout.splitlines()]


@pytest.mark.parametrize(
    ("words", "become"),
    [
        ("grader ba", ["batch"]),
        ("grader run --fail", ["--fail-under"]),
    ],
)
def test_tab_completes_commands_and_options(tiny, words, become):
    """The shell asks the command itself."""
    assert completions_of(words, tiny) == become


def test_bash_completes_with_the_printed_script():
    """Bash calls the function of the script when Tab is pressed."""
    bash, installed = shutil.which("bash"), Path(sys.executable).with_name("grader")
    if bash is None or not installed.exists():
        pytest.skip("bash and an installed grader are needed")
    script = (
        f'PATH="{installed.parent}:$PATH"; eval "$(_GRADER_COMPLETE=bash_source grader)"; '
        "COMP_WORDS=(grader ver); COMP_CWORD=1; _grader_completion grader; echo ${COMPREPLY[@]}"
    )
    done = subprocess.run([bash, "-c", script], capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == ("verify", "")
