"""A batch that is run again: it rewrites nothing that is up to date, and notices every change."""

import os
import shutil
from pathlib import Path

import pytest

from grader.reports.pages.report import current_report, write_report
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


def inodes_and_times(place: Path) -> dict[str, tuple[int, int]]:
    """Returns the inode and modification time of `results.jsonl` and of each page."""
    out = place / "out"
    files = [out / "results.jsonl", *(path for path in (out / "report").rglob("*.html"))]
    status = {str(file.relative_to(out)): file.stat() for file in files}
    return {name: (one.st_ino, one.st_mtime_ns) for name, one in status.items()}


def test_a_batch_with_nothing_to_grade_rewrites_no_file(grader, tiny, place):
    """Rerunning a finished class is fast, and backups see no changed file."""
    before = inodes_and_times(place)
    assert len(before) == 5
    done = run_again(grader, tiny, place)
    assert done.returncode == 0
    assert "3 graded before and unchanged; 0 to grade" in done.stderr
    assert inodes_and_times(place) == before


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
    before = inodes_and_times(place)
    done = run_again(grader, tiny, place)
    assert "2 graded before and unchanged; 1 to grade" in done.stderr
    (carol,) = (g for g in Store.read(place / "out").grades() if g.submission == "carol")
    assert carol.score < carol.max_score
    assert inodes_and_times(place)["results.jsonl"] != before["results.jsonl"]
    assert current_report(Store.read(place / "out"), place / "out" / "report")


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


@pytest.mark.parametrize("damage", ["removed", "a page lost", "of another batch"])
def test_a_report_that_does_not_match_the_results_is_written_again(grader, tiny, place, damage):
    """After each batch the report shows the current class."""
    report = place / "out" / "report"
    match damage:
        case "removed":
            shutil.rmtree(report)
        case "a page lost":
            next((report / "submissions").iterdir()).unlink()
        case "of another batch":
            with Store.open(place / "other", "tiny") as store:
                store.remember(options={})
            write_report(Store.read(place / "other"), report)
    results = Store.read(place / "out")
    assert not current_report(results, report)
    assert run_again(grader, tiny, place).returncode == 0
    assert current_report(results, report)
    assert len([*(report / "submissions").iterdir()]) == 3


def test_a_comparison_report_does_not_count_as_current(place):
    """A comparison report has an extra page, and the other batch may have changed."""
    results, report = Store.read(place / "out"), place / "out" / "report"
    assert current_report(results, report)
    write_report(results, report, results)
    assert not current_report(results, report)


@pytest.mark.unit
def test_two_stores_with_equal_content_have_different_states(tmp_path):
    for name in ("one", "other"):
        with Store.open(tmp_path / name, "tiny") as store:
            store.remember(options={"seed": 1})
    one, other = (Store.read(tmp_path / name).state for name in ("one", "other"))
    assert one
    assert other
    assert one != other
    with Store.open(tmp_path / "one", "tiny") as store:
        store.remember(options={"seed": 1})
        assert store.state == one
    assert Store.read(tmp_path / "one").state == one
