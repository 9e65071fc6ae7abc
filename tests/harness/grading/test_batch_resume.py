"""A batch that is run again: it grades nothing twice, and notices every change."""

import os
import shutil
from pathlib import Path

import pytest

from grader.results.store import Store

pytestmark = pytest.mark.process

RIGHT = "def run_double(x):\n    return 2 * x\n\ndef run_count(x):\n    return x.numel()\n"


@pytest.fixture(scope="module")
def graded(grader, tiny, tmp_path_factory) -> Path:
    """A folder with three people's submissions in `class` and their results in `out`."""
    folder = tmp_path_factory.mktemp("graded")
    (folder / "class").mkdir()
    for name, factor in (("alice", 2), ("bob", 3), ("carol", 2)):
        (folder / "class" / f"{name}.py").write_text(RIGHT.replace("2", str(factor)))
    done = grader("batch", folder / "class", "--out", folder / "out", "--seed", 7, cwd=tiny)
    assert done.returncode == 0, done.stderr
    (folder / "said").write_text(done.stdout)
    return folder


@pytest.fixture
def place(graded, grader, tiny, tmp_path) -> Path:
    """A copy of `graded`, run once more, because copied files count as changed."""
    copy = Path(shutil.copytree(graded, tmp_path / "copy"))
    assert run_again(grader, tiny, copy).returncode == 0
    return copy


def run_again(grader, tiny: Path, place: Path):
    """Runs the same batch again."""
    return grader("batch", place / "class", "--out", place / "out", cwd=tiny)


def inode_and_time(place: Path) -> tuple[int, int]:
    """Returns the inode and modification time of `results.jsonl`."""
    status = (place / "out" / "results.jsonl").stat()
    return status.st_ino, status.st_mtime_ns


def test_a_batch_with_nothing_to_grade_rewrites_no_grade(grader, tiny, place):
    """Rerunning a finished class is fast, and backups see no changed file of grades."""
    before = inode_and_time(place)
    done = run_again(grader, tiny, place)
    assert done.returncode == 0
    assert "3 graded before and unchanged; 0 to grade" in done.stderr
    assert inode_and_time(place) == before


def test_a_batch_with_nothing_to_grade_prints_the_same_table(grader, tiny, graded, place):
    """The command prints the table from the stored grades."""
    table, end, _ = (graded / "said").read_text().partition("next:")
    assert end
    assert run_again(grader, tiny, place).stdout.partition("next:")[0] == table
    assert "3 submissions: 3 graded" in table


def test_a_change_that_keeps_size_and_time_is_noticed(grader, tiny, place):
    """Authors can set a file's modification time, so only its content counts."""
    file = place / "class" / "carol.py"
    status = file.stat()
    file.write_text(RIGHT.replace("2", "3"))
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert (file.stat().st_size, file.stat().st_mtime_ns) == (status.st_size, status.st_mtime_ns)
    before = inode_and_time(place)
    done = run_again(grader, tiny, place)
    assert "2 graded before and unchanged; 1 to grade" in done.stderr
    (carol,) = (g for g in Store.read(place / "out").grades() if g.submission == "carol")
    assert carol.score < carol.max_score
    assert inode_and_time(place) != before


def test_a_withdrawn_submission_disappears_from_results_and_report(grader, tiny, place):
    """No submission is graded again, but `results.jsonl` and the report are rewritten."""
    (place / "class" / "bob.py").unlink()
    assert "bob" in run_again(grader, tiny, place).stderr
    assert '"bob"' not in (place / "out" / "results.jsonl").read_text()
    assert len([*(place / "out" / "report" / "submissions").iterdir()]) == 2


@pytest.mark.parametrize("damage", ["removed", "edited", "emptied"])
def test_a_damaged_results_file_is_written_again(grader, tiny, place, damage):
    """`results.jsonl` is complete after the command, even if it was damaged before."""
    lines = place / "out" / "results.jsonl"
    written = lines.read_text()
    match damage:
        case "removed":
            lines.unlink()
        case "edited":
            lines.write_text(written.replace('"alice"', '"chloe"'))
        case "emptied":
            lines.write_text("")
    assert run_again(grader, tiny, place).returncode == 0
    assert lines.read_text() == written
