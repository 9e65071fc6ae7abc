"""A step of GitHub Actions gets its commands and files, and Gradescope its results so far."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from grader.cli import ci_output
from grader.cli.ci_output import LiveResults, tell_github
from grader.reports.export.gradescope import Display, not_graded
from grader.reports.export.scores import ExportRefused
from tests.harness.ci_fixtures import mixed_grade
from tests.harness.conftest import write_files
from tests.harness.export_fixtures import a_verdict

pytestmark = pytest.mark.unit

WORTH = {"run_rope": 4.0, "run_mha": 6.0}


@pytest.fixture
def submission(tmp_path, monkeypatch) -> Path:
    """A submission in a repository, which is the folder of the step."""
    for name in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT", "GITHUB_WORKSPACE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return write_files(tmp_path / "mine", {"adapters.py": "", "attention.py": "x = 1\n" * 20})


def test_a_step_prints_the_grade_between_stopped_commands_and_then_annotations(submission, capsys):
    """The token that starts commands again cannot be guessed, so a submission cannot use it."""
    tell_github(mixed_grade(), submission)
    printed = capsys.readouterr().out.splitlines()
    begin, token = printed[0].rsplit("::", 1)
    assert (begin, len(token)) == ("::stop-commands", 32)
    end = printed.index(f"::{token}::")
    assert "alice" in "\n".join(printed[1:end])
    commands = printed[end + 1 :]
    assert any(one.startswith("::warning file=mine/attention.py,line=12,") for one in commands)
    assert all(one.startswith(("::error ", "::warning ", "::notice ")) for one in commands)


def test_the_workspace_is_the_repository_if_the_runner_names_it(submission, capsys, monkeypatch):
    """Files are named from there."""
    monkeypatch.setenv("GITHUB_WORKSPACE", str(submission))
    tell_github(mixed_grade(), submission)
    assert "file=attention.py,line=12," in capsys.readouterr().out


def test_the_summary_and_the_result_are_added_to_the_files_of_the_step(
    submission, tmp_path, capsys, monkeypatch
):
    """Other steps' content stays. Outside of GitHub, neither file is written."""
    tell_github(mixed_grade(), submission)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine"]
    summary, output = tmp_path / "summary", tmp_path / "output"
    summary.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    monkeypatch.setenv("GITHUB_OUTPUT", str(output))
    tell_github(mixed_grade(), submission)
    assert summary.read_text().startswith("before\n## alice: 5 of 10 points\n")
    (line,) = output.read_text().splitlines()
    key, _, value = line.partition("=")
    assert key == "result"
    assert json.loads(base64.b64decode(value))["max_score"] == 10.0
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "nowhere" / "summary"))
    with pytest.raises(ExportRefused, match=r"GITHUB_STEP_SUMMARY names, cannot be written \(No"):
        tell_github(mixed_grade(), submission)
    capsys.readouterr()


def test_results_are_written_as_verdicts_arrive(tmp_path, monkeypatch):
    """The file begins without points, and a later verdict of a test replaces the earlier one."""
    monkeypatch.setattr(ci_output, "_SECONDS_BETWEEN", 0.0)
    file = tmp_path / "results.json"
    right, wrong = a_verdict("run_rope", 4.0), a_verdict("run_mha", 0.0, 6.0)

    def now() -> dict:
        return json.loads(file.read_text())

    with LiveResults(file, Display(20.0)) as live:
        assert (now()["score"], now()["tests"]) == (0.0, [])
        live.expect(10.0)
        live.add(wrong)
        live.add(wrong)
        live.add(right)
        assert now()["score"] == 8.0
        assert "after 2 tests" in now()["output"]
        live.add(a_verdict("run_mha", 6.0, 6.0))
        assert now()["score"] == 20.0
        live.finish({"score": 1.0})
    assert now() == {"score": 1.0}


def test_an_exception_leaves_results_that_say_so(tmp_path):
    """The exception's message stays out of the file, for it may name hidden tests."""
    file = tmp_path / "results.json"

    def grade_until_it_fails() -> None:
        with LiveResults(file, Display()) as live:
            live.expect(10.0)
            live.add(a_verdict("run_rope", 4.0))
            raise ZeroDivisionError("secret")

    with pytest.raises(ZeroDivisionError):
        grade_until_it_fails()
    found = json.loads(file.read_text())
    assert found == not_graded("the grader stopped (ZeroDivisionError)")


def test_a_folder_that_cannot_be_written_is_reported_at_once(tmp_path):
    """A full disk during grading is not: only the beginning and the end raise."""
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(ExportRefused, match="cannot be written"),
        LiveResults(tmp_path / "file" / "results.json", Display()),
    ):
        pytest.fail("it was entered")
