"""A batch into a folder with results: no grade is lost unless `--fresh` asks for it."""

import shutil
from pathlib import Path

import pytest

from grader.core.verdict import Grade
from grader.results.store import Store

pytestmark = pytest.mark.process

RIGHT = "def run_double(x):\n    return 2 * x\n\ndef run_count(x):\n    return x.numel()\n"


@pytest.fixture(scope="module")
def a_class(tmp_path_factory) -> Path:
    """A folder with three people's submissions."""
    folder = tmp_path_factory.mktemp("class")
    for name in ("alice", "bob", "carol"):
        (folder / f"{name}.py").write_text(RIGHT)
    return folder


@pytest.fixture(scope="module")
def graded(grader, tiny, a_class, tmp_path_factory) -> Path:
    """The results of `a_class`, graded with seed 7."""
    out = tmp_path_factory.mktemp("graded") / "results"
    done = grader("batch", a_class, "--out", out, "--seed", 7, cwd=tiny)
    assert done.returncode == 0, done.stderr
    return out


@pytest.fixture
def results(graded, tmp_path) -> Path:
    """A copy of the results in `graded`."""
    return Path(shutil.copytree(graded, tmp_path / "results"))


def lines_and_grades(folder: Path) -> tuple[str, list[Grade]]:
    return (folder / "results.jsonl").read_text(), [*Store.read(folder).grades()]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--exercise", "run_count"], "exercises: all, now run_count"),
        (["--adapters", "tests/adapters.py"], "adapters: adapters.py, now tests/adapters.py"),
        (["--timeout", "60"], "timeout: 120, now 60"),
        (["--memory", "512"], "memory: 2048, now 512"),
        (["--seed", "8"], "seed: 7, now 8"),
    ],
)
def test_other_options_do_not_replace_grades(grader, tiny, a_class, results, arguments, said):
    """A partial grading must not replace a whole one. One sentence names the difference."""
    before = lines_and_grades(results)
    done = grader("batch", a_class, "--out", results, *arguments, cwd=tiny)
    assert done.returncode == 2
    assert said in done.stderr
    assert "--fresh" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert lines_and_grades(results) == before


def test_equal_options_that_are_given_explicitly_keep_the_grades(grader, tiny, a_class, results):
    """Naming a default, or the stored seed, does not change the options."""
    same = ["--seed", 7, "--timeout", 120, "--memory", 2048, "--adapters", "adapters.py"]
    done = grader("batch", a_class, "--out", results, *same, cwd=tiny)
    assert done.returncode == 0
    assert "3 graded before and unchanged; 0 to grade" in done.stderr


def test_fresh_replaces_grades_under_different_options(grader, tiny, a_class, results):
    """After `--fresh`, a later batch must repeat the new options."""
    other = ["--exercise", "run_count", "--seed", 8]
    done = grader("batch", a_class, "--out", results, *other, "--fresh", cwd=tiny)
    assert done.returncode == 0, done.stderr
    grades = [*Store.read(results).grades()]
    assert [(grade.max_score, grade.seed) for grade in grades] == [(1.0, 8)] * 3
    done = grader("batch", a_class, "--out", results, cwd=tiny)
    assert "exercises: run_count, now all" in done.stderr


def test_a_batch_of_another_class_does_not_replace_this_class(
    grader, tiny, a_class, results, tmp_path
):
    """A single missing submission is dropped; if most are missing, the path is probably wrong."""
    others = tmp_path / "others"
    others.mkdir()
    shutil.copy(a_class / "alice.py", others)
    before = lines_and_grades(results)
    done = grader("batch", others, "--out", results, cwd=tiny)
    assert done.returncode == 2
    assert "not handed in now (bob, carol)" in done.stderr
    assert lines_and_grades(results) == before
    assert grader("batch", others, "--out", results, "--fresh", cwd=tiny).returncode == 0
    assert [grade.submission for grade in Store.read(results).grades()] == ["alice"]


def test_a_file_of_somebody_else_is_not_overwritten(grader, tiny, a_class, tmp_path):
    """Other programs also write files called results.jsonl."""
    out = tmp_path / "out"
    out.mkdir()
    (out / "results.jsonl").write_text("precious\n")
    done = grader("batch", a_class, "--out", out, cwd=tiny)
    assert done.returncode == 2
    assert "was not written by a batch" in done.stderr
    assert [(file.name, file.read_text()) for file in out.iterdir()] == [
        ("results.jsonl", "precious\n")
    ]


@pytest.mark.parametrize(
    ("out", "said"),
    [
        ("class", "class is or lies in what was handed in: name another folder for the results"),
        ("class/ann", "class/ann lies among the submissions and is not a batch's, but holds adap"),
        ("class/ann/results", "class/ann/results is or lies in what was handed in: name another"),
        ("link", "link lies among the submissions and is not a batch's"),
    ],
)
def test_results_replace_no_submission_and_become_none(grader, tiny, tmp_path, out, said):
    """A folder of results is left out of the class, and a report in a class would be graded."""
    for name in ("ann", "bob"):
        (tmp_path / "class" / name).mkdir(parents=True)
        (tmp_path / "class" / name / "adapters.py").write_text(RIGHT)
    (tmp_path / "link").symlink_to("class/ann")
    before = sorted(tmp_path.rglob("*"))
    given = ("--assignment", tiny, "--no-explain")
    done = grader("batch", "class", "--out", out, *given, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"grader: {said}")
    assert done.stderr.count("\n") == 1
    assert sorted(tmp_path.rglob("*")) == before
