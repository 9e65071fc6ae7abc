"""The work of a batch: what is graded, kept, explained and stored, with jobs that a test plays."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import shutil
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from grader.core.explanation import PENDING
from grader.core.submission import Author, Imports
from grader.core.verdict import Grade, GradeStatus
from grader.grading import fingerprints
from grader.grading.batch import GradesWouldBeLost, open_batch, open_explanations
from grader.grading.options import Explained, Options
from grader.intake.discovery import discover
from grader.intake.entry import Discovery, Entry
from grader.results.database import StoreError
from grader.results.store import Store
from tests.harness.batch_course import SEVEN, Course
from tests.harness.conftest import TINY, write_files
from tests.harness.own_command import grader_here

pytestmark = pytest.mark.unit


@pytest.fixture
def course(tmp_path, monkeypatch) -> Course:
    """A course of three submissions: alice is right, bob and carol are wrong in other tests."""
    # Hashes of the whole engine would take most of the time.
    engine = SimpleNamespace(__file__=str(tmp_path / "engine" / "__init__.py"))
    monkeypatch.setattr(fingerprints, "grader", engine)
    write_files(tmp_path / "course", TINY)
    own = Course(tmp_path)
    own.hand_in(alice="right", bob="test_doubles", carol="test_counts")
    return own


def test_a_batch_grades_a_class_and_explains_those_that_are_wrong(course):
    """Grades come first; each is stored before it is told."""
    batch, results = course.batch()
    assert course.graded == ["alice", "bob", "carol"]
    assert course.explained == ["bob", "carol"]
    assert [type(one) for one in results] == [Grade] * 3 + [Explained] * 2
    assert [one.unexplained for one in results[:3]] == [None, PENDING, PENDING]
    assert (batch.kept, batch.to_explain, batch.is_regrade) == (0, 2, False)
    assert (batch.forgotten, course.wordless) == ([], [])
    assert [task.position for task in course.jobs.tasks] == [0, 1, 2]
    settings = course.jobs.settings
    assert settings is not None
    assert (settings.seed, settings.reuses_seed, course.jobs.ended) == (7, True, 1)
    lines = course.lines()
    assert lines["bob"]["message"] == "a message"
    assert lines["bob"]["tests"][0]["message"] == "why bob is wrong"
    assert (lines["alice"]["message"], course.grades()["alice"].unexplained) == (None, None)
    results = Store.read(course.out)
    assert results.paths() == [str(course.submissions)]
    assert results.downloads() == {name: (name,) for name in lines}


def test_a_second_batch_grades_only_what_is_new_or_changed(course):
    """A batch with nothing to do starts no job."""
    course.batch()
    batch, results = course.batch(Options())
    assert (batch.kept, batch.waiting, results, course.jobs.ended) == (3, [], [], 1)
    course.hand_in(bob="right", dan="test_doubles")
    batch, _ = course.batch(Options())
    assert (course.graded, batch.kept, batch.is_regrade) == (["bob", "dan"], 2, False)
    assert [task.position for task in course.jobs.tasks] == [1, 3]
    assert course.explained == ["dan"]
    assert course.jobs.settings is not None
    assert course.jobs.settings.seed == 7, "the first batch's"


def test_a_batch_over_changed_submissions_alone_is_a_regrade(course):
    """`--fresh` forgets the grades, so that it is none."""
    course.batch()
    course.hand_in(alice="a", bob="b", carol="c")
    batch, _ = course.batch()
    assert (batch.kept, batch.is_regrade) == (0, True)
    batch, _ = course.batch(Options(seed=8, exercises=("run_double",)), fresh=True)
    assert (batch.kept, batch.is_regrade) == (0, False)
    stored = Store.read(course.out).options()
    assert stored is not None
    assert (stored["seed"], stored["exercises"]) == (8, ["run_double"])


def test_words_may_be_added_by_a_later_batch(course):
    """Without words, the grades say that they are still to come."""
    _, results = course.batch(explain=False)
    assert (len(results), course.explained, course.wordless) == (3, [], ["bob", "carol"])
    batch, results = course.batch()
    assert (batch.waiting, batch.to_explain, len(results)) == ([], 2, 2)
    assert course.explained == ["bob", "carol"]


def test_a_submission_that_was_not_graded_is_graded_again(course):
    """It gets no words before."""
    lost = dataclasses.replace
    course.jobs.change = lambda one: lost(one, status=GradeStatus.NOT_GRADED, tests=())
    course.batch()
    assert (course.wordless, course.explained) == ([], [])
    course.jobs.change = lambda one: one
    batch, _ = course.batch()
    assert (course.graded, batch.kept) == (["alice", "bob", "carol"], 0)
    assert not batch.is_regrade, "there was no grade to replace"


def test_a_stopped_batch_leaves_the_submissions_that_it_did_not_reach_as_not_graded(course):
    """Reports and exports then tell of them; the next batch grades them, in the same order."""
    found = discover([course.submissions], "adapters.py")
    told = [found, [course.submissions], course.out, course.assignment]
    with open_batch(*told, SEVEN) as batch, contextlib.closing(batch.results(course.jobs)) as ours:
        assert next(ours).submission == "alice"
    assert [(row.submission, row.status) for row in Store.read(course.out).grades()] == [
        ("alice", GradeStatus.GRADED),
        ("bob", GradeStatus.NOT_GRADED),
        ("carol", GradeStatus.NOT_GRADED),
    ]
    assert course.lines()["carol"]["message"] == "found, not graded yet: run the batch again"
    for command in (["export", course.out, "--format", "csv"], ["feedback", course.out]):
        assert grader_here(*command, cwd=course.folder).returncode == 1
    reported = grader_here("report", course.out, cwd=course.folder).stdout
    assert "3 submissions: 1 graded, 0 unreadable, 2 not graded" in reported
    assert "bob: found, not graded yet: run the batch again" in reported
    course.batch()
    assert course.graded == ["bob", "carol"]
    assert {grade.status for grade in course.grades().values()} == {GradeStatus.GRADED}


def test_submissions_that_wait_are_no_grades_that_another_batch_would_lose(course):
    """A first batch that was stopped at once may be run again with other options and people."""
    found = discover([course.submissions], "adapters.py")
    with open_batch(found, [course.submissions], course.out, course.assignment, SEVEN):
        pass
    shutil.rmtree(course.submissions / "alice")
    shutil.rmtree(course.submissions / "bob")
    course.batch(Options(seed=8))
    assert [(one.submission, one.seed) for one in course.grades().values()] == [("carol", 8)]


def test_explainers_stay_with_submissions_of_equal_verdicts(course):
    """The mistakes are then likely the same."""
    course.hand_in(ben="test_doubles", cleo="test_counts")
    course.batch()
    assert course.explained == ["ben", "bob", "carol", "cleo"]
    first, second, third, fourth = (one.verdicts for one in course.jobs.questions)
    assert first == second != third == fourth


# --- A class that changes -----------------------------------------------------------------------


def when_graded(course: Course, name: str, do: Callable[[], object]) -> None:
    """Does something when a submission has been graded."""

    def change(grade: Grade) -> Grade:
        if grade.submission == name:
            do()
        return grade

    course.jobs.change = change


@pytest.mark.parametrize("goes", [False, True])
def test_a_submission_that_changes_while_it_is_graded_is_not_graded(course, goes):
    """A share may be unmounted, or half a folder synchronized. The next batch grades it."""
    away = course.folder / "away"
    bob = course.submissions / "bob"
    when_graded(
        course,
        "bob",
        lambda: bob.rename(away) if goes else course.hand_in(bob="test_doubles, again"),
    )
    course.batch()
    assert {name: one.status for name, one in course.grades().items()} == {
        "alice": GradeStatus.GRADED,
        "bob": GradeStatus.NOT_GRADED,
        "carol": GradeStatus.GRADED,
    }
    assert "changed or taken away while the class was graded" in course.lines()["bob"]["message"]
    if goes:
        away.rename(bob)
    course.jobs.change = lambda one: one
    course.batch()
    assert (course.graded, course.explained) == (["bob"], ["bob"])


def test_words_for_a_program_that_changed_since_it_was_graded_are_dropped(course):
    """They would tell lines of one program beside the points of another."""
    when_graded(course, "carol", lambda: course.hand_in(bob="test_doubles, again"))
    _, results = course.batch()
    assert [one.words.missing is None for one in results[3:]] == [False, True]
    assert course.lines()["bob"]["tests"][0]["message"] == "wrong"
    assert "changed or taken away" in course.grades()["bob"].unexplained
    assert course.lines()["carol"]["message"] == "a message"


# --- Grades that would be lost ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (Options(seed=8, timeout=5), r"other options \(seed: 7, now 8; timeout: 120, now 5\)"),
        (Options(exercises=("run_count",)), "exercises: all, now run_count"),
    ],
)
def test_grades_with_other_options_are_not_replaced(course, options, said):
    course.batch()
    with pytest.raises(GradesWouldBeLost, match=said):
        course.batch(options)
    assert course.batch(Options())[0].kept == 3


def test_most_of_a_class_is_not_forgotten_without_being_asked(course):
    """Half of it may be: people withdraw."""
    course.hand_in(dan="right")
    course.batch()
    before = course.lines()
    for name in ("alice", "bob"):
        shutil.rmtree(course.submissions / name)
    batch, _ = course.batch()
    assert (batch.forgotten, [*course.lines()]) == (["alice", "bob"], ["carol", "dan"])
    course.hand_in(eve="right")
    shutil.rmtree(course.submissions / "carol")
    shutil.rmtree(course.submissions / "dan")
    with pytest.raises(GradesWouldBeLost, match=r"\(carol, dan\): give their download as well"):
        course.batch()
    assert course.lines()["carol"] == before["carol"]


def test_a_file_of_results_that_was_removed_is_written_again(course):
    """It is written however the batch ends."""
    course.batch()
    (course.out / "results.jsonl").unlink()
    found, paths = discover([course.submissions], "adapters.py"), [course.submissions]
    own = open_batch(found, paths, course.out, course.assignment, Options())
    with pytest.raises(KeyboardInterrupt), own:
        raise KeyboardInterrupt
    assert [*course.lines()] == ["alice", "bob", "carol"]


# --- Words that stand ---------------------------------------------------------------------------


def test_words_stay_where_the_same_tests_went_wrong(course):
    """All tests run again after an exercise became worth more."""
    course.batch()
    course.change("pyproject.toml", "run_double = 4", "run_double = 5")
    batch, results = course.batch()
    assert course.graded == ["alice", "bob", "carol"]
    assert (batch.kept, batch.is_regrade) == (0, True)
    assert (course.explained, len(results)) == ([], 3)
    assert course.lines()["bob"]["tests"][0]["message"] == "why bob is wrong"


@pytest.mark.parametrize(
    ("part", "old", "new"),
    [
        ("adapters.py", "... n", "... m"),
        ("solutions/__init__.py", "2 * x", "x + x"),
        ("tests/public/test_tiny.py", "The numbers are counted", "They are counted"),
    ],
)
def test_words_are_new_after_a_change_that_they_depend_on(course, part, old, new):
    course.batch()
    course.change(part, old, new)
    course.batch()
    assert course.explained == ["bob", "carol"]


def test_words_are_new_for_a_changed_submission(course):
    course.batch()
    course.hand_in(bob="test_doubles, in another way")
    course.batch()
    assert course.explained == ["bob"]


# --- Packages -----------------------------------------------------------------------------------


def lacking(*packages: str) -> Callable[[Grade], Grade]:
    """Returns a change that makes a grade lack these packages."""
    return lambda grade: dataclasses.replace(grade, imports=Imports(lacking=packages))


def test_a_submission_is_graded_again_when_a_package_is_there_that_it_missed(course):
    """A package that is still missing changes nothing."""
    course.jobs.change = lacking("no_such_package")
    course.batch()
    assert course.batch()[0].kept == 3
    course.hand_in(bob="right")
    course.jobs.change = lacking("no_such_package", "torch")
    course.batch()
    batch, _ = course.batch()
    assert (course.graded, batch.kept) == (["bob"], 2)


# --- People -------------------------------------------------------------------------------------

AT = datetime.datetime(2026, 3, 4, 5, 6, tzinfo=datetime.UTC)
ANN, BOB, CHO = (Author(name, str(number)) for number, name in enumerate(("Ann", "Bob", "Cho")))


def handed_in(course: Course, **authors: Author) -> list[Entry]:
    """Returns entries, each by this author; the first is late."""
    return [
        Entry(
            name, course.submissions / name, authors=(author,), late=not place,
            handed_in=AT + datetime.timedelta(days=place),
        )
        for place, (name, author) in enumerate(authors.items())
    ]  # fmt: skip


def test_what_a_platform_says_of_people_is_kept_with_the_grades(course):
    """Those who handed in nothing, and doubts about others, are kept as well."""
    entries = handed_in(course, alice=ANN, bob=BOB)
    course.batch(discovery=Discovery((*entries,), absentees=(CHO,), unsure=(("bob", "who?"),)))
    people = Store.read(course.out).people
    assert people.authors == {"alice": (ANN,), "bob": (BOB,)}
    assert (people.late, people.absentees) == (frozenset({"alice"}), (CHO,))
    assert people.times == {"alice": AT, "bob": AT + datetime.timedelta(days=1)}
    assert people.unsure == {"bob": "who?"}


# --- Words alone --------------------------------------------------------------------------------


def words_for(course: Course) -> tuple[int, list[str], list[Any]]:
    """Adds missing words; returns how many waited, which submissions changed, and the results."""
    course.jobs.questions = []
    with open_explanations(course.out, course.assignment) as missing:
        return missing.waiting, missing.changed, [*missing.words(course.jobs)]


def test_missing_words_are_added_to_a_folder_of_results(course):
    """A submission that changed since is not explained; it says why."""
    course.batch(explain=False)
    course.hand_in(bob="test_doubles, in another way")
    assert words_for(course)[:2] == (1, ["bob"])
    assert course.explained == ["carol"]
    assert course.lines()["carol"]["message"] == "a message"
    changed = "it was changed or taken away since it was graded: grade it again"
    assert course.grades()["bob"].unexplained == changed
    ended = course.jobs.ended
    shutil.rmtree(course.submissions / "carol")
    assert words_for(course)[:2] == (0, ["bob"])
    assert course.jobs.ended == ended, "no job starts for nothing"


@pytest.mark.parametrize(("seconds", "given"), [(None, 20.0), (60.0, 60.0)])
def test_missing_words_may_get_more_time_than_the_batch_gave(course, seconds, given):
    course.batch(explain=False)
    with open_explanations(course.out, course.assignment, seconds) as missing:
        assert [*missing.words(course.jobs)]
    assert course.jobs.settings.explain_seconds == given


def test_no_words_are_added_to_grades_of_other_tests(course):
    """The changed test may pass now, which would be told of the earlier failure."""
    course.batch(explain=False)
    course.change("tests/public/test_tiny.py", "The numbers are counted", "They are counted")
    assert words_for(course) == (0, ["bob", "carol"], [])
    said = "the tests changed since it was graded: grade it again"
    assert course.grades()["bob"].unexplained == said


def test_a_folder_with_all_words_needs_no_submission(course):
    """The class may be gone by then."""
    course.batch()
    shutil.rmtree(course.submissions)
    assert words_for(course) == (0, [], [])


def test_a_folder_without_a_batch_has_nothing_to_explain(course):
    with Store.open(course.out, "tiny") as store:
        store.remember(paths=[])
    with pytest.raises(StoreError, match="no batch was run over these results"):
        words_for(course)
    with (
        pytest.raises(StoreError, match="does not exist"),
        open_explanations(course.folder / "no", course.assignment),
    ):
        pass
