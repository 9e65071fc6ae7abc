"""The Python verbs: `grader.grade` and `grader.batch`."""

import inspect
import json
import shutil
import subprocess
import sys
from operator import attrgetter
from pathlib import Path

import click
import pytest

import grader as package
from grader.cli.command_line import cli
from grader.core.submission import Author
from grader.sandbox.probe import ProbeResult
from tests.harness.export_fixtures import a_batch, scored

pytestmark = pytest.mark.unit

ROOT = Path(__file__).parents[3]
RIGHT = "def run_double(x):\n    return 2 * x\n\ndef run_count(x):\n    return x.numel()\n"


@pytest.fixture
def a_class(tmp_path) -> Path:
    """A folder with a right and a wrong submission."""
    folder = tmp_path / "class"
    folder.mkdir()
    (folder / "alice.py").write_text(RIGHT)
    (folder / "bob.py").write_text(RIGHT.replace("2 * x", "3 * x"))
    return folder


@pytest.mark.process
def test_grade_returns_the_grade_of_one_submission(tiny, a_class):
    """The grade is that of `grader run`, with every verdict."""
    grade = package.grade(a_class / "bob.py", assignment=tiny, seed=1)
    assert isinstance(grade, package.Grade)
    assert grade.status is package.GradeStatus.GRADED
    assert 0 < grade.score < grade.max_score == 5.0
    failed = [test for test in grade.tests if test.status is package.Status.FAILED]
    assert {test.exercise for test in failed} == {"run_double"}
    assert failed[0].diagnosis.mistake == "tripled"


def outcome(grade: package.Grade) -> tuple[object, ...]:
    """Returns the parts of a grade that the judge sets."""
    tests = [(test.id, test.status, test.score, test.duration_s) for test in grade.tests]
    return grade.submission, grade.status, grade.score, grade.duration_s, tests


@pytest.mark.process
def test_batch_returns_results_and_passes_each_grade_to_the_callback(tiny, a_class, tmp_path):
    """Paths may be strings, and a second batch over the same folder grades nothing twice.

    A grade reaches the caller before its explanations.
    """
    told, out = [], str(tmp_path / "out")
    results = package.batch(str(a_class), out, assignment=tiny, jobs=1, on_grade=told.append)
    assert isinstance(results, package.Results)
    assert [grade.submission for grade in results.grades()] == ["alice", "bob"]
    kept = [grade.as_json() for grade in results.grades()]
    in_order = sorted(told, key=attrgetter("submission"))
    assert [outcome(grade) for grade in in_order] == [outcome(grade) for grade in results.grades()]
    again = package.batch([a_class], out, assignment=tiny, on_grade=told.append)
    assert len(told) == 2
    assert [grade.as_json() for grade in again.grades()] == kept


@pytest.mark.process
def test_an_exception_of_the_callback_stops_the_batch_and_keeps_the_grade(tiny, a_class, tmp_path):
    """An exception of the callback reaches the caller, and no grade is lost."""

    def fail(_grade: package.Grade) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        package.batch(a_class, tmp_path / "out", assignment=tiny, jobs=1, on_grade=fail)
    rows = map(json.loads, (tmp_path / "out" / "results.jsonl").read_text().splitlines())
    assert sorted(row["status"] for row in rows) == ["graded", "not_graded"]


@pytest.mark.parametrize(
    ("problem", "arguments"),
    [
        (package.NothingToGrade, {"submission": "nowhere"}),
        (package.BadAssignment, {"assignment": "/"}),
        (package.BadAssignment, {"exercises": ["run_nothing"]}),
    ],
)
def test_a_wrong_argument_raises_an_exception_with_one_sentence(tiny, a_class, problem, arguments):
    """The sentences are those of the commands."""
    with pytest.raises(problem) as raised:
        package.grade(**({"submission": a_class / "alice.py", "assignment": tiny} | arguments))
    assert len(str(raised.value).splitlines()) == 1


def test_grade_and_batch_have_the_defaults_of_the_commands():
    """The documentation says that they are the same."""
    called = {"explain_seconds": "explain_timeout"}
    for verb, name in ((package.grade, "run"), (package.batch, "batch")):
        command = cli.get_command(click.Context(cli), name)
        here = {one: it.default for one, it in inspect.signature(verb).parameters.items()}
        for option in ("adapters", "timeout", "memory_mb", "device", "explain_seconds"):
            (there,) = [one.default for one in command.params if one.name == option]
            assert here[called.get(option, option)] == there, (name, option)
        assert (here["seed"], here["exercises"], here["explain"]) == (None, (), True)


def test_settle_yields_the_points_after_decisions(tmp_path):
    """A submission that another one was taken instead of has none."""
    ann = Author("Ann Ash")
    grades = [scored("first", 4, 2), scored("second", 0, 6), scored("bob", 4, 6)]
    a_batch(tmp_path, *grades, authors={"first": [ann], "second": [ann]})
    (tmp_path / "decisions.toml").write_text(
        '[[taken_instead]]\nperson = "Ann Ash"\nsubmission = "first"\n'
        '[[points]]\nperson = "bob"\nby = -1\nreason = "so"\n'
    )
    settled = [(one.final, [who.name for who in one.people]) for one in package.settle(tmp_path)]
    assert settled == [(6.0, ["Ann Ash"]), (9.0, ["bob"])]


@pytest.mark.process
def test_batch_with_a_roster_keeps_authors_and_absentees(tiny, a_class, tmp_path):
    """Without a callback, the grades are only kept."""
    roster = tmp_path / "roster.csv"
    roster.write_text("name,id\nAnn Ash,alice\nCy Coe,cy\n")
    out = tmp_path / "out"
    results = package.batch(
        [a_class], out, assignment=tiny, roster=str(roster), jobs=1, seed=3, explain=False
    )
    assert [one.name for one in results.people.absentees] == ["Cy Coe"]
    assert [one.name for one in results.people.authors["alice"]] == ["Ann Ash"]
    right, wrong = results.grades()
    assert (right.seed, right.unexplained is None, wrong.unexplained is None) == (3, True, False)


def test_a_machine_without_required_isolation_is_refused_first(tmp_path, monkeypatch):
    """There is not even an assignment here."""
    lost = ProbeResult({"network": "none"}, ())
    monkeypatch.setattr("grader.sandbox.probe.examine_confinement", lambda **_: lost)
    with pytest.raises(package.NotIsolated, match=r"does not hold here \(network\)"):
        package.grade(tmp_path, assignment=tmp_path, require_isolation=True)
    with pytest.raises(package.BadAssignment):
        package.grade(tmp_path, assignment=tmp_path)


def test_the_package_has_only_the_public_names():
    """An unknown name raises AttributeError, as in every module."""
    assert {"batch", "grade"} <= set(dir(package))
    assert all(hasattr(package, name) for name in package.__all__)
    with pytest.raises(AttributeError, match="nothing_of_this_name"):
        package.nothing_of_this_name  # noqa: B018


@pytest.mark.slow
def test_type_checkers_know_the_types_of_grade_and_batch(tmp_path):
    """A user's program is checked. The cache of `make types` is used again."""
    if shutil.which("mypy", path=Path(sys.executable).parent) is None:
        pytest.skip("mypy is not installed")
    program = tmp_path / "program.py"
    program.write_text(
        "import grader\n"
        "reveal_type(grader.grade('alice').score)\n"
        "reveal_type(grader.batch(['class'], 'out', jobs=2))\n"
        "grader.grade(1)\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", program],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert 'Revealed type is "float"' in done.stdout.replace("builtins.", "")
    assert "grader.results.results.Results" in done.stdout
    assert 'has incompatible type "int"' in done.stdout
