"""The store keeps every grade that it accepted, whatever happens to its process."""

from __future__ import annotations

import contextlib
import json
import math
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from grader.core.verdict import (
    Aspect,
    Diagnosis,
    GradeStatus,
    Measurement,
    Status,
    Verdict,
    Visibility,
    Where,
)
from grader.results.database import ForeignStore, StoreError, StoreInUse, connect
from grader.results.store import Store
from tests.harness.export_fixtures import a_grade
from tests.harness.storing import add, plainly

pytestmark = pytest.mark.unit

ROOT = Path(__file__).resolve().parents[3]

RIGHT = Verdict(
    id="tests/public/test_rope.py::test_values",
    exercise="run_rope",
    aspect=Aspect.VALUES,
    status=Status.PASSED,
    score=3.0,
    max_score=3.0,
    visibility=Visibility.PUBLIC,
    duration_s=0.004,
    measurement=Measurement(1e-7, 2e-7, 1.3e-6, 1e-5, 0.01, 0, 12, (1, 3)),
)
WRONG = Verdict(
    id="tests/hidden/test_rope.py::test_matches_reference[lead0]",
    exercise="run_rope",
    aspect=Aspect.GENERALITY,
    status=Status.FAILED,
    score=0.0,
    max_score=2.0,
    visibility=Visibility.HIDDEN,
    duration_s=0.1,
    message="5 of 6 numbers are wrong\nand “one” is strange",
    measurement=Measurement(math.inf, math.inf, 1.3e-6, 1e-5, math.inf, 12, 12, ()),
    diagnosis=Diagnosis("rope-half-split", "It pairs halves.", "Which two make a pair?"),
    where=Where("attention.py", 42, "rotated"),
)


@contextlib.contextmanager
def another_process(code: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Runs Python code in another process, which then ends."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def lines_of(file: Path) -> list[dict[str, Any]]:
    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is no JSON")

    text = file.read_text(encoding="utf-8")
    return [json.loads(line, parse_constant=refuse) for line in text.splitlines()]


def test_a_stored_grade_is_read_back_unchanged(tmp_path: Path) -> None:
    """Reports read only the store, which therefore loses nothing of a grade."""
    grade = a_grade("alice", RIGHT, WRONG, message="left out: data.bin")
    with Store.open(tmp_path, "attention") as store:
        add(store, grade, "key", 0)
        assert list(store.grades()) == [grade]
    assert list(Store.read(tmp_path).grades()) == [grade]


def test_an_infinite_error_is_null_in_json() -> None:
    """JSON has no infinity, and `results.jsonl` is strict JSON."""
    row = json.loads(json.dumps(WRONG.as_json(), allow_nan=False))
    assert row["max_abs_error"] is None
    assert row["rtol"] == pytest.approx(1.3e-6)


def test_a_regrade_replaces_every_verdict_of_the_earlier_grade(tmp_path: Path) -> None:
    """Verdicts of removed tests must not stay in the sum."""
    with Store.open(tmp_path, "attention") as store:
        add(store, a_grade("alice", RIGHT, WRONG), "old", 0)
        add(store, a_grade("bob", RIGHT), "b", 1)
        again = a_grade("alice", RIGHT._replace(max_score=5.0, score=5.0))
        add(store, again, "new", 0)
        assert [*store.grades()] == [again, a_grade("bob", RIGHT)]
        assert store.finished() == {"alice": "new", "bob": "b"}


def test_an_ungraded_submission_is_not_finished(tmp_path: Path) -> None:
    """The next run must grade such a submission."""
    fault = RIGHT._replace(status=Status.NOT_GRADED, score=0.0)
    with Store.open(tmp_path, "attention") as store:
        add(store, a_grade("lost", status=GradeStatus.NOT_GRADED, message="gone"), "k", 0)
        add(store, a_grade("half", RIGHT, fault), "k", 1)
        add(store, a_grade("unreadable", status=GradeStatus.UNREADABLE), "k", 2)
        assert store.finished() == {"unreadable": "k"}


def test_keep_only_removes_and_reorders_submissions(tmp_path: Path) -> None:
    """A new first submission moves the others; a withdrawn one goes with its verdicts."""
    with Store.open(tmp_path, "attention") as store:
        for position, name in enumerate(["bob", "carol", "dan"]):
            add(store, a_grade(name, RIGHT), name, position)
        store.keep_only(["alice", "dan", "bob"])
        add(store, a_grade("alice", RIGHT), "alice", 0)
        assert [grade.submission for grade in store.grades()] == ["alice", "dan", "bob"]
        assert "carol" not in store.finished()


def test_a_fresh_start_forgets_grades_and_options(tmp_path: Path) -> None:
    """`--fresh` makes an old folder as good as a new one."""
    with Store.open(tmp_path, "attention") as store:
        assert store.options() is None
        store.remember(options={"seed": 7})
        add(store, a_grade("alice", RIGHT), "k", 0)
        assert store.options() == {"seed": 7}
        store.clear()
        assert (store.options(), store.finished(), [*store.grades()]) == (None, {}, [])
        add(store, a_grade("alice", RIGHT), "k", 0)
        assert [*store.grades()] == [a_grade("alice", RIGHT)]


def test_results_jsonl_has_exactly_the_promised_fields(tmp_path: Path) -> None:
    """Other programs read these names."""
    with Store.open(tmp_path, "attention") as store:
        add(store, a_grade("bob", RIGHT), "k", 1)
        add(store, a_grade("alice", WRONG), "k", 0)
        store.write_jsonl(tmp_path / "results.jsonl")
    alice, bob = lines_of(tmp_path / "results.jsonl")
    assert (alice["submission"], bob["submission"]) == ("alice", "bob")
    assert " ".join(alice) == (
        "schema submission status score max_score seed submission_hash suite_hash duration_s "
        "message isolation unexplained carried tests"
    )
    assert " ".join(alice["tests"][0]) == (
        "id exercise aspect status score max_score visibility duration_s message max_abs_error "
        "max_rel_error rtol atol error_over_tolerance diagnosis where"
    )
    assert alice["tests"][0]["error_over_tolerance"] is None
    assert alice["tests"][0]["where"] == {"file": "attention.py", "line": 42, "step": "rotated"}
    assert bob["tests"][0]["diagnosis"] is None
    assert bob["isolation"] == {"filesystem": "landlock"}


def test_text_that_cannot_be_encoded_does_not_stop_the_batch(tmp_path: Path) -> None:
    """Names and messages are untrusted: half a surrogate pair, NUL, every kind of line break."""
    hostile = "\ud83d \udc80 \x00 \x85 \u2028 \u2029 \r\n \x1b[31m ' \" \\ é"
    verdict = WRONG._replace(message=hostile, where=Where(hostile, 1, hostile))
    with Store.open(tmp_path, "attention") as store:
        add(store, a_grade(hostile, verdict, message=hostile), "k", 0)
        add(store, a_grade(hostile, verdict, message=hostile), "k2", 0)
        store.keep_only([hostile])
        assert [*store.finished().values()] == ["k2"]
        store.write_jsonl(tmp_path / "results.jsonl")
    (line,) = lines_of(tmp_path / "results.jsonl")
    escaped = hostile.replace("\ud83d", r"\ud83d").replace("\udc80", r"\udc80")
    assert line["submission"] == line["message"] == line["tests"][0]["message"] == escaped


def test_a_line_of_results_jsonl_is_the_json_of_its_grade(tmp_path: Path) -> None:
    """A program reads there what another one reads from the store."""
    grades = [a_grade("alice", RIGHT, WRONG), a_grade("dana", score=0.0)]
    with Store.open(tmp_path, "attention") as store:
        for position, grade in enumerate(grades):
            add(store, grade, "k", position)
        store.write_jsonl(tmp_path / "results.jsonl")
    written = (tmp_path / "results.jsonl").read_text("utf-8").splitlines()
    assert written == [json.dumps(grade.as_json(), ensure_ascii=False) for grade in grades]


def test_a_failed_write_of_results_jsonl_keeps_the_earlier_file(tmp_path: Path) -> None:
    """A reader always meets a complete file, old or new."""
    file = tmp_path / "results.jsonl"
    with Store.open(tmp_path, "attention") as store:
        add(store, a_grade("alice", RIGHT), "k", 0)
        store.write_jsonl(file)
        before = file.read_bytes()
        add(store, a_grade("bob", RIGHT._replace(duration_s=math.inf)), "k", 1)
        with pytest.raises(ValueError, match="JSON"):
            store.write_jsonl(file)
        assert file.read_bytes() == before
        with pytest.raises(StoreError, match="cannot be written"):
            store.write_jsonl(tmp_path / "nowhere" / "results.jsonl")


KILLED_WHILE_WRITING = """
import sys
from pathlib import Path
from tests.harness.results.test_store import RIGHT, WRONG, a_grade
from tests.harness.storing import plainly
from grader.results.store import Store

with Store.open(Path(sys.argv[1]), "attention") as store:
    for number in range(1_000_000):
        place = number % 100
        grade = plainly(a_grade(f"s{place}", *(RIGHT, WRONG) * 100))
        store.add(grade, f"key {number}", place)
        print(number, flush=True)
"""


@pytest.mark.process
@pytest.mark.parametrize("grades", [1, 40, 150])
def test_a_kill_loses_no_stored_grade_and_leaves_none_incomplete(
    tmp_path: Path, grades: int
) -> None:
    """After SIGKILL in the middle of a write the folder can be read, and resumed, at once."""
    with another_process(KILLED_WHILE_WRITING, str(tmp_path)) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if int(line) >= grades:
                break
        process.send_signal(signal.SIGKILL)
        taken = max([int(line), *map(int, process.stdout.read().split())])
    expected = min(taken + 1, 100)
    assert len([*Store.read(tmp_path).grades()]) >= expected
    with Store.open(tmp_path, "attention") as store:
        assert f"key {taken}" in store.finished().values()
        found = [*store.grades()]
        assert len(found) >= expected
        whole = plainly(a_grade("one", *(RIGHT, WRONG) * 100)).tests
        assert all(grade.tests == whole for grade in found)
        add(store, a_grade("after", RIGHT), "k", 1000)
    with contextlib.closing(sqlite3.connect(tmp_path / "results.sqlite")) as database:
        assert [*database.execute("PRAGMA integrity_check")] == [("ok",)]


HOLDS_THE_STORE = """
import sys, time
from pathlib import Path
from grader.results.store import Store

with Store.open(Path(sys.argv[1]), "attention"):
    print("open", flush=True)
    time.sleep(600)
"""


@pytest.mark.process
def test_a_second_batch_is_refused_while_the_first_holds_the_folder(
    tmp_path: Path,
) -> None:
    """Two writers would grade everything twice. The lock ends with its process, even by a kill."""
    with another_process(HOLDS_THE_STORE, str(tmp_path)) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        with pytest.raises(StoreInUse, match="another batch is writing to"):
            Store.open(tmp_path, "attention")
        assert [*Store.read(tmp_path).grades()] == []
        process.kill()
        process.wait()
        with Store.open(tmp_path, "attention") as store:
            assert store.finished() == {}
    with Store.open(tmp_path, "attention"), pytest.raises(StoreInUse):
        Store.open(tmp_path, "attention")


def test_threads_may_add_at_the_same_time(tmp_path: Path) -> None:
    """The coordinator adds from several threads, while reports may read."""
    with Store.open(tmp_path, "attention") as store:

        def add_many(thread: int) -> None:
            for number in range(40):
                own = RIGHT._replace(id=f"test {number}")
                add(store, a_grade(f"{thread} {number}", own, WRONG), "k", thread)

        threads = [threading.Thread(target=add_many, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            assert all(len(grade.tests) == 2 for grade in store.grades())
        for thread in threads:
            thread.join()
        assert len(store.finished()) == 320
        for grade in store.grades():
            assert grade.tests[0].id == f"test {grade.submission.split()[1]}"


def test_a_grade_that_cannot_be_written_leaves_the_earlier_one(tmp_path: Path) -> None:
    """One transaction holds a grade: no new verdict appears, and no old one is lost."""
    another = WRONG._replace(id="never seen before")
    with Store.open(tmp_path, "attention") as store:
        add(store, a_grade("alice", RIGHT), "k", 0)
        with pytest.raises(StoreError, match="cannot be written"):
            add(store, a_grade("alice", WRONG, another), object(), 0)
        assert [*store.grades()] == [a_grade("alice", RIGHT)]
        add(store, a_grade("bob", another), "k", 1)
        assert [*store.grades()][1] == a_grade("bob", another)


def test_results_of_another_assignment_are_refused(tmp_path: Path) -> None:
    """A mistyped `--out` must not mix two assignments' grades, or delete the other's."""
    with Store.open(tmp_path, "layers") as store:
        add(store, a_grade("alice", RIGHT), "k", 0)
    with pytest.raises(
        ForeignStore, match="belongs to the assignment 'layers', not to 'attention'"
    ):
        Store.open(tmp_path, "attention")
    with Store.open(tmp_path, "layers") as store:
        assert store.finished() == {"alice": "k"}
    assert Store.read(tmp_path).assignment == "layers"


def test_results_of_another_schema_are_refused(tmp_path: Path) -> None:
    """The same columns may have another meaning in a newer grader's file."""
    Store.open(tmp_path, "attention").__exit__()
    with contextlib.closing(sqlite3.connect(tmp_path / "results.sqlite")) as database:
        database.execute("UPDATE batch SET value = '99' WHERE key = 'schema'")
        database.commit()
    for opened in (Store.read, lambda folder: Store.open(folder, "attention")):
        with pytest.raises(ForeignStore, match=r"has schema 99, where .* has \d+") as refused:
            opened(tmp_path)
        # `--out` of an export is the file that it writes.
        assert "--out" not in str(refused.value)


@pytest.mark.process
def test_a_folder_of_an_earlier_grader_is_refused_in_one_sentence(grader, tiny, tmp_path) -> None:
    """Its tables have too few columns. The refusal has no traceback and changes nothing."""
    Store.open(tmp_path, "tiny").__exit__()
    file = tmp_path / "results.sqlite"
    with contextlib.closing(sqlite3.connect(file)) as database:
        database.execute("UPDATE batch SET value = '4' WHERE key = 'schema'")
        database.commit()
    before = file.read_bytes()
    for command in (("report", tmp_path), ("batch", tiny / "assignment", "--out", tmp_path)):
        done = grader(*command, cwd=tiny)
        assert done.returncode == 2
        (said,) = done.stderr.strip().splitlines()
        assert "has schema 4, where this version of the grader has" in said
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    "content", [b"not a database\n" * 100, b"SQLite format 3\x00" + b"?" * 200]
)
def test_a_file_that_is_not_a_database_is_refused_unchanged(tmp_path: Path, content: bytes) -> None:
    """The file may be someone's work."""
    file = tmp_path / "results.sqlite"
    file.write_bytes(content)
    for opened in (Store.read, lambda folder: Store.open(folder, "attention")):
        with pytest.raises(ForeignStore, match="is not a store of results"):
            opened(tmp_path)
    assert file.read_bytes() == content


def test_a_foreign_database_is_refused_unchanged(tmp_path: Path) -> None:
    """Opening must not even change the database's journal mode."""
    file = tmp_path / "results.sqlite"
    with contextlib.closing(sqlite3.connect(file)) as database:
        database.execute("CREATE TABLE songs (title)")
        database.commit()
    before = file.read_bytes()
    with pytest.raises(ForeignStore, match="is not a store of results"):
        Store.open(tmp_path, "attention")
    assert file.read_bytes() == before


def test_an_empty_store_left_by_a_kill_can_be_opened_again(tmp_path: Path) -> None:
    """SQLite makes the file before it writes the tables."""
    (tmp_path / "results.sqlite").touch()
    with pytest.raises(StoreError, match="stopped before it began"):
        Store.read(tmp_path)
    with Store.open(tmp_path, "attention") as store:
        assert store.finished() == {}


def test_an_unwritable_results_folder_is_reported_in_one_sentence(tmp_path: Path) -> None:
    """A wrong `--out` is the instructor's slip and needs no traceback."""
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(StoreError, match=r"results cannot be written to .*--out"):
            Store.open(folder, "attention")
    (tmp_path / "taken" / "results.sqlite").mkdir(parents=True)
    with pytest.raises(StoreError, match=r"results\.sqlite cannot be opened"):
        Store.open(tmp_path / "taken", "attention")
    with Store.open(tmp_path / "deep" / "er", "attention"):
        pass


def test_reading_a_folder_without_results_creates_no_store(tmp_path: Path) -> None:
    """`grader report` may meet the wrong folder; reading must not create a store there."""
    with pytest.raises(StoreError, match=r"holds no results\.sqlite"):
        Store.read(tmp_path)
    assert not [*tmp_path.iterdir()]


def test_a_closed_store_is_one_file_beside_its_lock(tmp_path: Path) -> None:
    """An instructor copies `results.sqlite` and has everything."""
    with Store.open(tmp_path / "a", "attention") as store:
        add(store, a_grade("alice", RIGHT), "k", 0)
        assert [*store.grades()]
    assert {file.name for file in (tmp_path / "a").iterdir()} == {"results.sqlite", "results.lock"}
    (tmp_path / "b").mkdir()
    (tmp_path / "a" / "results.sqlite").rename(tmp_path / "b" / "results.sqlite")
    assert [*Store.read(tmp_path / "b").grades()] == [a_grade("alice", RIGHT)]


def test_writing_results_jsonl_needs_bounded_memory(tmp_path: Path) -> None:
    """Ten thousand submissions do not fit in memory at once."""
    tests = tuple(WRONG._replace(id=f"test {number}") for number in range(100))
    with Store.open(tmp_path, "attention") as store:
        for number in range(60):
            add(store, a_grade(f"s{number}", *tests), "k", number)
        tracemalloc.start()
        try:
            store.write_jsonl(tmp_path / "results.jsonl")
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert (tmp_path / "results.jsonl").stat().st_size > 3_000_000
    assert peak < 1_500_000


@pytest.mark.process
def test_a_reader_rolls_back_the_change_of_a_killed_writer(tmp_path):
    """A user who may not write cannot open a file whose last change must be undone."""
    file = tmp_path / "half.sqlite"
    script = textwrap.dedent("""
        import os, signal, sqlite3, sys
        database = sqlite3.connect(sys.argv[1], isolation_level=None)
        database.execute("PRAGMA cache_size = 1")
        database.execute("CREATE TABLE t (x)")
        database.execute("INSERT INTO t VALUES ('kept')")
        database.execute("BEGIN IMMEDIATE")
        database.executemany("INSERT INTO t VALUES (?)", [("y" * 900,)] * 4000)
        os.kill(os.getpid(), signal.SIGKILL)
    """)
    subprocess.run([sys.executable, "-c", script, file], check=False)
    assert file.with_name("half.sqlite-journal").exists()
    with contextlib.closing(connect(file)) as database:
        assert database.execute("SELECT x FROM t").fetchall() == [("kept",)]
