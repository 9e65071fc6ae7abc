"""The explainer's words, step by step: for each kind of failure, with a submission in memory."""

from __future__ import annotations

from typing import Any

import pytest

from grader.core.causes import NOT_CALLED
from grader.core.verdict import GradeStatus, Status, Where
from grader.explain.repair.earlier_calls import SAID
from grader.testing.outcome import StudentFault
from tests.harness.explained_here import COUNT, DOUBLE, RIGHT, Course

pytestmark = pytest.mark.unit

PASSED, FAILED, ERROR = Status.PASSED, Status.FAILED, Status.ERROR
DOUBLES, TWICE, DEEP, COUNTS = (
    f"t::{name}" for name in ("doubles", "doubles_twice", "doubles_deep", "counts")
)


@pytest.fixture
def course(monkeypatch, tmp_path) -> Course:
    """A small course whose explainer works in this process, and tries no edits."""
    return Course(monkeypatch, tmp_path)


@pytest.fixture
def repairing(monkeypatch, tmp_path) -> Course:
    """The same course, with edits."""
    return Course(monkeypatch, tmp_path, edits=True)


def test_a_known_mistake_is_explained_with_its_line(repairing):
    """Words come first, then the mistake, then the line."""
    statuses = repairing.graded(RIGHT.replace("2 * x", "3 * x"))
    assert statuses == {DOUBLES: FAILED, TWICE: FAILED, DEEP: FAILED, COUNTS: PASSED}
    first, *_, last = repairing.explain(statuses)
    assert set(first.tests) == {DOUBLES, TWICE, DEEP}
    told = first.tests[DOUBLES]
    assert told.message.startswith(
        "every value is too large by the same factor\n6 of 6 values in the result are wrong"
    )
    assert (told.diagnosis, told.where) == (None, None)
    assert told.measurement is not None
    for name in (DOUBLES, TWICE, DEEP):
        told = last.tests[name]
        assert told.diagnosis.mistake == "tripled"
        assert told.where == Where("adapters.py", 2)
        assert "Changing adapters.py:2" in told.message
    assert last.missing is None
    assert last.wrong == ()
    assert [picture.test for picture in last.evidence.pictures] == [DOUBLES]
    (excerpt,) = last.evidence.excerpts
    assert (excerpt.file, excerpt.first) == ("adapters.py", 1)
    (repair,) = last.evidence.repairs
    assert (repair.exercises, repair.places) == ((DOUBLE,), (("adapters.py", 2),))
    assert repair.edits > 0


def test_an_unknown_mistake_keeps_its_answers_with_the_suspected_line(repairing):
    """Nobody knows its name, but its line is proved."""
    words = repairing.words(RIGHT.replace("2 * x", "2.5 * x"))
    assert all(told.diagnosis is None for told in words.tests.values())
    (wrong,) = words.wrong
    assert wrong.exercise == DOUBLE
    assert [one.test for one in wrong.answers] == [DOUBLES, TWICE, DEEP]
    assert [one.plain for one in wrong.answers] == [True, True, False]
    assert wrong.suspicion.endswith(": return 2.5 * x")
    message = words.tests[DOUBLES].message
    assert "A constant in adapters.py:2 looks wrong." in message
    assert message.endswith("    return 2.5 * x")


def test_an_edited_line_is_shown_only_if_the_course_shows_edits(monkeypatch, tmp_path):
    """The corrected line is a part of the solution; the test above sees a course without it."""
    course = Course(monkeypatch, tmp_path, edits=True, show_edits=True)
    shown = course.words(RIGHT.replace("2 * x", "2.5 * x")).tests[DOUBLES].message
    assert shown.endswith("    return 2.5 * x\nFor example:\n    return 2.0 * x")


def test_a_wrong_exercise_leaves_the_words_of_a_right_one_alone(course):
    """Only one of the two has a known mistake."""
    program = RIGHT.replace("2 * x", "3 * x").replace("x.numel()", "x.numel() + 1")
    words = course.words(program)
    assert words.tests[DOUBLES].diagnosis.mistake == "tripled"
    assert words.tests[COUNTS].diagnosis is None
    assert [one.exercise for one in words.wrong] == [COUNT]
    only = course.words(RIGHT.replace("x.numel()", "x.numel() + 1"))
    assert set(only.tests) == {COUNTS}


def test_a_test_that_passes_at_home_failed_on_new_inputs(course):
    """A public test and a hidden one say it in other words."""
    (course.folder / "adapters.py").write_text(RIGHT)
    statuses = {DOUBLES: FAILED, TWICE: FAILED, DEEP: PASSED, COUNTS: PASSED}
    words = course.explain(statuses)[-1]
    assert set(words.tests) == {DOUBLES, TWICE}
    assert words.tests[DOUBLES].message.startswith("passes your tests but fails on")
    assert words.tests[TWICE].message.startswith("passes on some inputs but fails on")
    assert all(told.where is None for told in words.tests.values())


RAISES = RIGHT.replace("return 2 * x", "return 2 * x.flatten(5)")


def test_an_exception_is_explained_at_the_line_that_raised(course):
    """Its message is the one that a student sees at home."""
    statuses = course.graded(RAISES)
    assert statuses == {DOUBLES: ERROR, TWICE: ERROR, DEEP: ERROR, COUNTS: PASSED}
    words = course.explain(statuses)[-1]
    told = words.tests[DOUBLES]
    assert told.message.startswith("IndexError: Dimension out of range")
    assert "The test called run_double(x=float32[2, 3])." in told.message
    assert told.where == Where("adapters.py", 2)
    assert words.wrong == ()


@pytest.mark.parametrize(
    ("program", "graded", "other", "said"),
    [
        (RAISES, FAILED, ERROR, "gave a wrong answer"),
        (RIGHT.replace("2 * x", "3 * x"), ERROR, FAILED, "raised an exception"),
    ],
)
def test_words_of_another_outcome_than_the_graded_one_say_so(course, program, graded, other, said):
    """An index from the data may raise on some inputs only."""
    (course.folder / "adapters.py").write_text(program)
    words = course.explain({DOUBLES: graded, TWICE: other, DEEP: PASSED, COUNTS: PASSED})[-1]
    assert f"With the graded inputs, the submission {said}." in words.tests[DOUBLES].message
    assert "graded inputs" not in words.tests[TWICE].message


def test_an_exception_whose_line_is_certain_needs_no_search(course):
    """An undefined name is wrong wherever it stands."""
    words = course.words(RIGHT.replace("2 * x", "2 * math.prod(x.shape) * x"))
    assert "Is an import missing (import math)?" in words.tests[DOUBLES].message
    assert words.evidence.repairs == ()


def test_an_exercise_that_is_not_written_is_told_as_missing(repairing):
    """Its call counts as no call that came before others."""
    program = RIGHT.replace("return 2 * x", "raise NotImplementedError").replace(
        "x.numel()", "x.numel() + 1"
    )
    statuses = repairing.graded(program)
    assert statuses == {
        DOUBLES: Status.MISSING,
        TWICE: Status.MISSING,
        DEEP: Status.MISSING,
        COUNTS: FAILED,
    }
    words = repairing.explain(statuses)[-1]
    said = "run_double is not implemented yet (adapters.py:2: raise NotImplementedError)"
    assert words.tests[DOUBLES].message == said
    assert words.tests[COUNTS].where == Where("adapters.py", 5)


STATE = "calls = 0\n\ndef run_double(x):\n    global calls\n    calls += 1\n"
KEEPS = (
    f"{STATE}    return 2 * x if calls == 1 else 3 * x\n\ndef run_count(x):\n    return x.numel()\n"
)


def test_an_answer_that_depends_on_earlier_calls_is_told(course):
    """Nothing else is told of it: values and mistakes are those of the state."""
    statuses = course.graded(KEEPS)
    assert statuses[TWICE] is FAILED
    words = course.explain(statuses)[-1]
    told = words.tests[TWICE]
    assert SAID in told.message
    assert (told.where, told.diagnosis) == (None, None)
    assert words.evidence.walks == ()


def test_a_submission_that_passed_everything_is_not_asked(course):
    """There is nothing to explain."""
    (words,) = course.explain(course.graded(RIGHT))
    assert (words.tests, words.message, words.missing) == ({}, None, None)
    assert course.suite.ran == []


def test_the_judges_remark_on_a_test_follows_its_words(course):
    """A remark belongs to one test."""
    statuses = course.graded(RIGHT.replace("2 * x", "3 * x"))
    words = course.explain(statuses, remarks={DOUBLES: "It costs half."})[-1]
    assert words.tests[DOUBLES].message.endswith("\nIt costs half.")
    assert "It costs half." not in words.tests[TWICE].message


def test_tests_that_help_to_explain_run_after_those_that_failed(course):
    """Passed tests of a wrong exercise, then the plain ones of others; no others of a right one."""
    program = RIGHT.replace("2 * x", "(3 if x.ndim == 1 else 2) * x")
    statuses = course.graded(program)
    assert [name for name, one in statuses.items() if one is FAILED] == [TWICE]
    course.explain(statuses)
    assert course.suite.ran[:4] == [TWICE, DOUBLES, DEEP, COUNTS]
    course.suite.ran.clear()
    course.explain({DOUBLES: PASSED, DEEP: PASSED, COUNTS: FAILED})
    assert course.suite.ran[:2] == [COUNTS, DOUBLES]
    assert DEEP not in course.suite.ran


HANGS = RIGHT.replace("return 2 * x", "while x.ndim:\n        raise SystemExit")
TOOK = "run_double(...) took longer than 8 seconds and was stopped"
LOST = {name: Status.TIMEOUT for name in (DOUBLES, TWICE, DEEP)} | {COUNTS: PASSED}


def hanging_at(course: Course, line: int) -> None:
    def adapt(session: Any) -> None:
        file = course.folder / "adapters.py"
        session.stack_dump = (
            f'  File "/usr/lib/torch.py", line 3 in matmul\n  File "{file}", line 99 in run\n'
            f'  File "{file}", line {line} in run_double\n'
        )

    course.adapt = adapt


def test_a_test_that_hangs_is_told_with_the_line_of_its_stack_dump(course):
    """All tests that hang in one function get its line; only the first one runs again."""
    (course.folder / "adapters.py").write_text(HANGS)
    hanging_at(course, 3)
    lost = {DOUBLES: TOOK, TWICE: f"run_double{NOT_CALLED}{TOOK}", "t::gone": TOOK}
    words = course.explain(LOST, lost)[-1]
    assert course.suite.ran == [DOUBLES]
    assert set(words.tests) == {DOUBLES, TWICE}
    told = words.tests[DOUBLES]
    assert told.where == Where("adapters.py", 3)
    said, source, *_ = told.message.splitlines()
    assert said == "after 8 s still running adapters.py:3"
    assert source == "    raise SystemExit"
    assert words.tests[TWICE].message.splitlines()[0] == f"run_double{NOT_CALLED}{said}"


def test_a_hang_without_a_line_keeps_the_judges_words(course):
    """A stack dump may name no line of the submission."""
    (course.folder / "adapters.py").write_text(HANGS)
    words = course.explain(LOST, {DOUBLES: TOOK})[-1]
    assert (words.tests[DOUBLES].message, words.tests[DOUBLES].where) == (TOOK, None)


def test_a_lost_test_that_now_ends_gets_no_words(course):
    """Its line cannot be found."""
    (course.folder / "adapters.py").write_text(RIGHT)
    hanging_at(course, 2)
    assert course.explain(LOST, {DOUBLES: TOOK})[-1].tests == {}


def test_a_submission_that_cannot_be_imported_has_one_message(course):
    """Each test repeats it; a submission that was imported once is not called broken."""
    (course.folder / "adapters.py").write_text("x = 1\n")
    fault = StudentFault(ERROR, "NameError: no", Where("adapters.py", 1))
    course.adapt = lambda session: setattr(session, "problem", fault)
    statuses = {DOUBLES: ERROR, COUNTS: ERROR}
    (words,) = course.explain(statuses, status=GradeStatus.UNREADABLE)
    assert words.message == "NameError: no"
    assert {one.message for one in words.tests.values()} == {"NameError: no"}
    assert set(words.tests) == set(statuses)
    (excerpt,) = words.evidence.excerpts
    assert excerpt.lines == ("x = 1",)
    (words,) = course.explain(statuses)
    assert words.missing == "it was imported once, and not again: NameError: no"
    assert words.tests == {}


def test_an_endless_import_is_told_with_its_line(course):
    """The judge's words come first, then what the import printed."""
    (course.folder / "adapters.py").write_text("x = 0\nwhile x:\n    pass\n")
    fault = StudentFault(Status.TIMEOUT, "late\nPrinted just before:\n    | 1")
    course.adapt = lambda session: setattr(session, "problem", fault)
    statuses, took = (
        {DOUBLES: Status.TIMEOUT},
        "the import took longer than 9 seconds and was stopped",
    )
    late = {"status": GradeStatus.UNREADABLE, "message": took, "lost": {DOUBLES: took}}
    (words,) = course.explain(statuses, **late)
    assert words.message == f"{took}\nPrinted just before:\n    | 1"
    assert course.limits.import_seconds == 5.0

    def adapt(session: Any) -> None:
        session.problem = fault
        session.stack_dump = f'  File "{course.folder}/adapters.py", line 2 in <module>\n'

    course.adapt = adapt
    (words,) = course.explain(statuses, **late)
    said = "it cannot be imported: after 9 s still running adapters.py:2"
    assert words.message.startswith(f"{said}\n    while x:\n")
    assert words.message.endswith("\nPrinted just before:\n    | 1")


def test_the_limits_of_a_session_follow_from_the_explainers_time(course):
    """A call may take a quarter of it; the import may take what the judge allowed."""
    course.explain(course.graded(RIGHT.replace("2", "3")))
    limits = course.limits
    assert (limits.submission_seconds, limits.call_seconds, limits.call_wall) == (40.0, 5.0, 15.0)
    assert (limits.import_seconds, limits.memory) == (40.0, 512 << 20)
    assert limits.dumps_stack


@pytest.mark.parametrize(
    ("problem", "missing"),
    [
        (MemoryError(), "its explanation needs more memory than an explainer has"),
        (ValueError("secret"), "the explainer failed on it (ValueError)"),
    ],
)
def test_an_explainer_that_fails_says_so(course, problem, missing):
    """The words from before stay, and no text of an exception is repeated."""
    statuses = course.graded(RIGHT.replace("2 * x", "3 * x"))

    def adapt(session: Any) -> None:
        def bench() -> None:
            raise problem

        session.bench = bench

    course.adapt = adapt
    words = course.explain(statuses)[-1]
    assert words.missing == missing
    assert set(words.tests) == {DOUBLES, TWICE, DEEP}
    course.adapt = lambda _: None
    assert course.explain(statuses)[-1].missing is None


def test_an_unreadable_submission_has_no_words(course):
    """Its judge has said why, unless it could read the submission."""
    course.refused = "there is no adapters.py"
    assert course.explain({DOUBLES: FAILED}, status=GradeStatus.UNREADABLE) == []
    (words,) = course.explain({DOUBLES: FAILED})
    assert words.missing == "it could be read once, and not again: there is no adapters.py"


def test_an_explainer_without_time_says_that_it_is_late(course):
    """What was found before is kept."""
    statuses = course.graded(RIGHT.replace("2 * x", "3 * x"))

    def adapt(session: Any) -> None:
        session.open = lambda: setattr(session, "spent", 1e9)

    course.adapt = adapt
    *_, last = course.explain(statuses)
    assert last.missing == "the time for its explanation ended before it was complete"
    assert last.tests == {}
    course.adapt = lambda _: None
    assert course.explain(statuses)[-1].missing is None


def test_the_explainer_names_the_mistakes_of_a_program_by_exercise(course):
    """The authors' tools ask for names and for the number of wrong answers alone."""
    statuses = course.graded(RIGHT.replace("2 * x", "3 * x"))
    explainer = course.service._explainer
    with course.prepared(None, None) as session:
        names, cases = explainer.names(session.ask, statuses)
        wrong = explainer.wrong_answers(session.ask, DOUBLE)
        right = explainer.wrong_answers(session.ask, COUNT)
    assert (names, cases) == ({DOUBLE: "tripled"}, {DOUBLE: 3})
    assert [one.test for one in wrong.answers] == [DOUBLES, TWICE, DEEP]
    assert right is None
