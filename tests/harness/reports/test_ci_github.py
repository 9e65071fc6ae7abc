"""GitHub's annotations and summary of a grade, read by a runner written from its documentation."""

from __future__ import annotations

import base64
import dataclasses
import json
import re
from pathlib import Path

import pytest

from grader.core.verdict import Aspect, Where
from grader.reports.export.github import Annotation, SourcePaths, annotated, step_summary
from tests.harness.ci_fixtures import DIAGNOSIS, hostile_grade, mixed_grade
from tests.harness.conftest import write_files
from tests.harness.export_fixtures import a_grade, a_verdict, not_graded, unreadable

pytestmark = pytest.mark.unit

PERCENT = {"%0D": "\r", "%0A": "\n", "%3A": ":", "%2C": ",", "%25": "%"}


@dataclasses.dataclass(frozen=True)
class RunnerCommand:
    """A command that the runner carried out."""

    name: str
    properties: dict[str, str]
    data: str


def unescaped(text: str) -> str:
    return re.sub("%0D|%0A|%3A|%2C|%25", lambda match: PERCENT[match[0]], text)


def runner_commands(output: str) -> list[RunnerCommand]:
    """Returns the commands in a step's output, in both syntaxes that runners accept."""
    obeyed, stopped_until = [], None
    for line in re.split("\r\n|\r|\n", output):
        new = re.match(r"\s*::([\w-]+)(?: (.*?))?::(.*)", line, re.DOTALL)
        old = re.search(r"##\[([\w-]+)(?: (.*?))?\](.*)", line)
        ended = re.match(rf"\s*::{stopped_until}::", line) if stopped_until else None
        if stopped_until:
            stopped_until = None if ended else stopped_until
        elif match := new or old:
            name, listed, data = match[1], match[2] or "", match[3]
            pairs = [pair.partition("=") for pair in listed.split(",") if pair]
            properties = {key: unescaped(value) for key, _, value in pairs}
            if name == "stop-commands":
                stopped_until = data
            else:
                obeyed.append(RunnerCommand(name, properties, unescaped(data)))
    assert stopped_until is None, "commands are still stopped"
    return obeyed


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A student's repository, checked out into `submission`."""
    code = "import torch\n\n\ndef run_rope(x):\n    return x\n\n\ndef run_mha(x):\n    return x\n"
    files = {"adapters.py": code, "model/attention.py": "x = 1\n", "a, b:%.py": "x = 1\n"}
    write_files(tmp_path / "submission", files)
    return tmp_path


def sources(repository: Path, submission: str = "submission") -> SourcePaths:
    return SourcePaths(repository / submission, repository)


def test_a_failure_is_annotated_at_the_students_line(repository: Path) -> None:
    """The path is the repository's own, so that GitHub shows the annotation in the code."""
    wrong = a_verdict("run_rope", 0.0, message="wrong", where=Where("model/attention.py", 1))
    (said,) = annotated(a_grade("alice", wrong), sources(repository))
    (obeyed,) = runner_commands(said.command)
    assert obeyed == RunnerCommand(
        "error",
        {
            "file": "submission/model/attention.py",
            "line": "1",
            "title": "run_rope: wrong (-4 points)",
        },
        "at model/attention.py:1\n1 test of run_rope",
    )


def test_a_failure_without_a_line_is_annotated_at_no_file(repository: Path) -> None:
    """Its title says what is wrong."""
    found = annotated(mixed_grade(), sources(repository))
    rope = next(said for said in found if "rope-half-split" in said.title)
    assert (rope.file, rope.line) == (None, None)
    assert rope.title == "run_rope: halves are paired [rope-half-split] (-2 points)"


def test_right_values_get_a_warning_and_missing_exercises_no_annotation(repository: Path) -> None:
    """Red marks wrong values; a function that is not written yet has no line."""
    found = annotated(mixed_grade(), sources(repository))
    assert [(said.kind, said.title) for said in found] == [
        ("error", "run_rope: halves are paired [rope-half-split] (-2 points)"),
        ("warning", "run_mha: 2 axes were wanted (-1.5 points)"),
    ]


def test_a_mistake_in_several_exercises_gets_one_annotation(repository: Path) -> None:
    """GitHub shows only ten annotations of a kind."""
    both = [a_verdict(name, 0.0, diagnosis=DIAGNOSIS) for name in ("run_rope", "run_mha")]
    (said,) = annotated(a_grade("alice", *both), sources(repository))
    assert said.title == "run_rope: halves are paired [rope-half-split] (-8 points in 2 exercises)"
    assert said.message.endswith("1 test of run_rope; also fails run_mha: 1 test")


def test_the_ten_most_helpful_annotations_of_each_kind_are_kept(repository: Path) -> None:
    """GitHub drops annotations beyond ten.

    Those with a line come first, then known mistakes, then the most expensive failures.
    """
    general = {"aspect": Aspect.GENERALITY}
    tests = [a_verdict(f"run_{n}", 0.0, n, message=f"e{n}") for n in range(1, 31)]
    tests += [a_verdict(f"run_{n}", 0.0, n, message=f"w{n}", **general) for n in range(40, 60)]
    tests += [a_verdict(f"run_{n}", 1.0, 1.0, message=f"n{n}") for n in range(70, 90)]
    tests.append(a_verdict("run_rope", 0.0, 0.5, diagnosis=DIAGNOSIS))
    tests.append(a_verdict("run_mha", 0.0, 0.1, message="here", where=Where("adapters.py", 1)))
    found = annotated(a_grade("alice", *tests), sources(repository))
    kinds = [said.kind for said in found]
    assert kinds == ["error"] * 10 + ["warning"] * 10 + ["notice"] * 10
    assert [said.title.split(" (")[0] for said in found[:4]] == [
        "run_mha: here",
        "run_rope: halves are paired [rope-half-split]",
        "run_30: e30",
        "run_29: e29",
    ]


@pytest.mark.parametrize(
    "file",
    [
        "../adapters.py",
        "/etc/passwd",
        "",
        "no\0file",
        "x" * 300,
        "model/../../secret.py",
        "gone.py",
    ],
)
def test_a_place_outside_the_repository_is_dropped(repository: Path, file: str) -> None:
    """The file name comes from a worker's traceback and is not trusted."""
    (repository / "secret.py").write_text("x = 1\n")
    (repository / "submission" / "linked.py").symlink_to("/etc/passwd")
    for name in (file, "linked.py"):
        assert sources(repository).place(Where(name, 1)) == (None, None)


def test_a_place_is_found_in_every_shape_of_submission(repository: Path) -> None:
    """The submission may be a single file, or a notebook with cells."""
    write_files(repository, {"one.py": "x = 1\n", "two.ipynb": "{}"})
    place = Where("adapters.py", 1)
    assert sources(repository, "one.py").place(place) == ("one.py", 1)
    cell = Where("two.ipynb/cell 3", 5)
    assert sources(repository, "two.ipynb").place(cell) == ("two.ipynb", None)


def test_awkward_names_of_files_survive_the_escapes(repository: Path) -> None:
    """Commas and colons end a property, and percent signs begin an escape."""
    wrong = a_verdict("run_rope", 0.0, message="100 % wrong", where=Where("a, b:%.py", 1))
    (said,) = annotated(a_grade("alice", wrong), sources(repository))
    (obeyed,) = runner_commands(said.command)
    assert obeyed.properties["file"] == "submission/a, b:%.py"
    assert obeyed.properties["title"] == "run_rope: 100 % wrong (-4 points)"


def test_an_annotation_is_one_command_whatever_it_holds(repository: Path) -> None:
    """A line break in an annotation would start a second command."""
    for said in annotated(hostile_grade(), sources(repository)):
        assert len(said.command) < 70_000
        (obeyed,) = runner_commands(said.command)
        assert obeyed.name == said.kind
        assert set(obeyed.properties) <= {"file", "line", "title"}


def test_unreadable_and_ungraded_submissions_get_one_annotation(repository: Path) -> None:
    """One annotation stands for the whole submission."""
    (said,) = annotated(unreadable("bob"), sources(repository))
    assert said == Annotation("error", "nothing could be graded", "the zip is empty")
    (said,) = annotated(not_graded("bob"), sources(repository))
    assert said.title == "not graded, by a fault of the machine, the tests or the grader"


def test_the_summary_has_a_paragraph_for_each_cause_and_a_table() -> None:
    """A sentence of the grader is a heading in GitHub's Markdown; a raised message is code."""
    text = step_summary(mixed_grade())
    assert text.startswith("## alice: 5 of 10 points\n")
    assert r"| run\_mha | 3 / 4.5 | 1 of 2 | values passed; generality failed |" in text
    assert re.findall(r"^### (.*)$", text, re.MULTILINE) == [
        r"run\_mha \(\-1\.5 points\)",
        r"run\_rope\: halves are paired \[rope\-half\-split\] \(\-2 points\)",
    ]
    assert "```text\nrun_mha: 2 axes were wanted\nat attention.py:12\n" in text
    assert "Hint: Which pairs turn together?" in text


def test_the_step_summary_of_a_submission_without_verdicts_says_why() -> None:
    """The reason is code, and there is no table."""
    for grade, headline, why in (
        (unreadable("bea"), "## bea: 0 of 10 points", "the zip is empty"),
        (
            not_graded("cem"),
            "## cem: not graded, by a fault of the machine, the tests or the grader",
            "the judge was lost twice",
        ),
    ):
        assert step_summary(grade) == f"{headline}\n\n```text\n{why}\n```\n"
    told = step_summary(a_grade("dan", a_verdict("run_x"), message="left out: a.bin"))
    assert "```text\nleft out: a.bin\n```" in told
    assert told.endswith("| run\\_x | 4 / 4 | 1 of 1 | right |\n")


def outside_of_code(markdown: str) -> str:
    """Returns the part of a text outside blocks of code, by CommonMark's rule."""
    kept, fence = [], None
    for line in markdown.split("\n"):
        if fence is None and (opened := re.match("(`{3,})", line)):
            fence = opened[1]
        elif fence is not None:
            closed = re.fullmatch("(`{3,})\\s*", line)
            fence = None if closed and len(closed[1]) >= len(fence) else fence
        else:
            kept.append(line)
    assert fence is None
    return "\n".join(kept)


def test_the_step_summary_escapes_markdown_of_a_submission() -> None:
    """The submission's name, messages and code fences all stay plain text."""
    read = outside_of_code(step_summary(hostile_grade()))
    assert not re.search(r"(?<!\\)[<\[`]", read)
    assert "javascript" not in re.sub(r"\\.", "", read.split("\n", 1)[1])


@pytest.mark.process(takes="a second")
def test_a_summary_is_never_larger_than_github_shows() -> None:
    """GitHub would drop a larger summary whole."""
    tests = [
        a_verdict(f"run_{n}", 0.0, message=f"{m} " + "😀" * 5000)
        for n in range(80)
        for m in "abcde"
    ]
    text = step_summary(a_grade("alice", *tests))
    assert len(text.encode()) < 1024 << 10
    assert "too long to be shown" in text
    outside_of_code(text)


HOSTILE_ADAPTERS = r"""
import sys

NOISE = "::error::owned\n::add-mask::a\n##[error]owned\n::set-output name=result::100\n"
print(NOISE, flush=True)
print(NOISE, file=sys.stderr, flush=True)

def run_double(x):
    print(NOISE)
    raise ValueError("\n" + NOISE + "::stop-commands::never\n<script>")

def run_count(x):
    return x.numel()
"""


@pytest.mark.process
def test_only_the_grader_and_no_submission_commands_the_runner(grader, tiny, tmp_path, monkeypatch):
    """The real command runs on a submission that prints and raises workflow commands."""
    submission = write_files(tmp_path / "::error::name", {"adapters.py": HOSTILE_ADAPTERS})
    files = {name: tmp_path / name for name in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT")}
    for name, file in files.items():
        file.write_text("earlier=1\n")
        monkeypatch.setenv(name, str(file))
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    done = grader("run", submission, "--format", "github", "--fail-under", 50, cwd=tiny)
    assert done.returncode == 1, done.stderr
    obeyed = runner_commands(done.stdout + done.stderr)
    assert "error" in {command.name for command in obeyed} <= {"error", "warning"}
    for command in obeyed:
        assert command.properties["title"].startswith("run_double: ValueError: ")
        assert command.properties["file"] == "::error::name/adapters.py"
        assert command.properties["line"] == "10"
        assert "run_double" in command.data
    assert "run_double" in done.stdout, "the grade itself is printed, fenced"
    assert "1 of 5 points" in files["GITHUB_STEP_SUMMARY"].read_text()
    earlier, result = files["GITHUB_OUTPUT"].read_text().splitlines()
    assert earlier == "earlier=1"
    assert json.loads(base64.b64decode(result.removeprefix("result=")))["max_score"] == 5.0


@pytest.mark.process
def test_annotations_cannot_go_to_a_file(grader, tiny, tmp_path):
    """A runner reads annotations from the output only and would ignore a file."""
    done = grader("run", tmp_path, "--format", "github", "--out", tmp_path / "x", cwd=tiny)
    assert done.returncode == 2
    assert "leave out --out" in done.stderr
