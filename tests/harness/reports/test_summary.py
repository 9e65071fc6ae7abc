"""The text that a batch and a run print about failures, safe from hostile text."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console

from grader.core.verdict import (
    Aspect,
    Diagnosis,
    Grade,
    GradeStatus,
    Status,
    Verdict,
    Where,
)
from grader.reports.single import print_grade
from grader.reports.standing import complaint, complaints
from grader.reports.summary import print_summary
from grader.results.decisions.file import append_decision
from grader.results.decisions.opening import open_settling
from grader.results.decisions.settling import Settling
from grader.results.results import Results
from grader.results.store import Store
from tests.harness import export_fixtures
from tests.harness.storing import add

pytestmark = pytest.mark.unit

VALUES, GENERALITY, NUMERICS = Aspect.VALUES, Aspect.GENERALITY, Aspect.NUMERICS
PASSED, FAILED, ERROR, MISSING = Status.PASSED, Status.FAILED, Status.ERROR, Status.MISSING
Stored = Callable[..., Results]
HOSTILE = (
    "\x1b[31m[bold red]boo[/] \x1b]8;;http://evil\x07link\x1b[2J :smile: \x9b1m\u202eabc\r\nx\x00"
)


def a_verdict(
    exercise: str,
    status: Status = PASSED,
    aspect: Aspect = VALUES,
    name: str = "test_it",
    **changes: Any,
) -> Verdict:
    test, score = f"tests/hidden/test_parts.py::{name}", 2.0 if status is PASSED else 0.0
    known = {"id": test, "status": status, "aspect": aspect}
    return export_fixtures.a_verdict(exercise, score, 2.0, **known | changes)


def a_grade(*tests: Verdict, name: str = "alice", **changes: Any) -> Grade:
    return export_fixtures.a_grade(name, *tests, **changes)


@pytest.fixture
def stored(tmp_path: Path) -> Stored:
    """A function that stores a class of these grades, as a batch does."""

    def store(*grades: Grade) -> Results:
        folder = tmp_path / str(len([*tmp_path.iterdir()]))
        with Store.open(folder, "tiny") as opened:
            for position, grade in enumerate(grades):
                add(opened, grade, "key", position)
        return Store.read(folder)

    return store


def printed(what: Any, *subjects: Any, width: int = 100, **options: Any) -> str:
    """Returns the text that is printed to a file, which is not a terminal."""
    file = io.StringIO()
    what(*subjects, Console(file=file, width=width), **options)
    return file.getvalue()


def summarised(results: Results, settling: Settling | None = None, **options: Any) -> str:
    """Returns the summary of a class, without decisions unless they are given."""
    settling = settling or open_settling(results, are_read=False)
    return printed(print_summary, results, settling, **options)


def test_causes_of_wrong_values_come_first_in_a_complaint() -> None:
    """The instructor reads one line for each student; missing exercises are only counted."""
    place = {"message": "ValueError: 3 axes (a.py:7)", "where": Where("a.py", 7)}
    words = complaints(
        a_grade(
            *(
                verdict
                for name in ("rope", "mha")
                for verdict in (
                    a_verdict(f"run_{name}"),
                    a_verdict(f"run_{name}", ERROR, GENERALITY, **place),
                )
            ),
            a_verdict("run_softmax", FAILED, message="6 of 6 are wrong; the worst by 1"),
            *(a_verdict(f"run_{number}", MISSING) for number in range(5)),
        )
    )
    assert words == (
        "run_softmax: 6 of 6 are wrong; 5 exercises are not written yet; "
        "run_rope, run_mha: ValueError: 3 axes (a.py:7) (values passed)"
    )


def test_values_count_as_passed_only_if_no_other_cause_fails_them() -> None:
    """A failure beside wrong values is not described as a remaining detail."""
    place = {"message": "ValueError: 3 axes (a.py:7)"}
    words = complaints(
        a_grade(
            a_verdict("run_rope", FAILED, message="6 of 6 are wrong"),
            a_verdict("run_rope", ERROR, GENERALITY, **place),
        )
    )
    assert words == "run_rope: 6 of 6 are wrong; run_rope: ValueError: 3 axes (a.py:7)"


def test_causes_after_the_third_are_only_counted() -> None:
    """A line that fills the screen would be too long to read."""
    tests = [a_verdict(f"run_{n}", FAILED, message=f"{'abcde'[n]} is wrong") for n in range(5)]
    assert complaints(a_grade(*tests)) == (
        "run_0: a is wrong; run_1: b is wrong; run_2: c is wrong; and 2 more causes"
    )


def test_the_same_exception_at_several_lines_is_one_complaint() -> None:
    """The error appears once with its exercises, and without its place."""
    raised = "ModuleNotFoundError: No module named 'einx'"
    tests = [
        a_verdict(
            f"run_{line}",
            ERROR,
            message=f"{raised} (model.py:{line}: import einx)",
            where=Where("model.py", line),
        )
        for line in range(4)
    ]
    assert complaints(a_grade(*tests)) == f"run_0, run_1 and 2 more: {raised}"
    assert complaints(a_grade(*tests[:1])) == f"run_0: {raised} (model.py:0)"


def test_a_known_mistake_is_printed_as_a_sentence_with_its_id() -> None:
    """A student cannot read anything from an id alone."""
    diagnosis = Diagnosis("rope-half-split", "It pairs halves.", "Which two make a pair?")
    tests = (a_verdict("run_rope", FAILED), a_verdict("run_rope", FAILED, diagnosis=diagnosis))
    assert complaints(a_grade(*tests, a_verdict("run_softmax"))) == (
        "run_rope: it pairs halves [rope-half-split]"
    )


@pytest.mark.parametrize("status", [GradeStatus.UNREADABLE, GradeStatus.NOT_GRADED])
def test_an_unreadable_or_ungraded_submission_shows_only_its_reason(status: GradeStatus) -> None:
    """Fifteen missing exercises would hide the one syntax error."""
    why = "syntax error in attention.py:12"
    tests = [a_verdict(f"run_{number}", MISSING, message=why) for number in range(15)]
    assert complaints(a_grade(*tests, status=status, message=why)) == why
    assert complaints(a_grade(status=status)) == status.value.replace("_", " ")


def test_a_right_submission_has_no_complaint() -> None:
    """A perfect row must be recognisable."""
    assert complaints(a_grade(a_verdict("run_rope"))) == "everything right"
    noted = a_verdict("run_rope", message="uses torch.rot90")
    assert complaints(a_grade(noted)) == "every test passed, see the note"


def test_the_summary_of_a_fully_graded_class_has_no_alarm(stored: Stored) -> None:
    """An instructor looks at mean and median first."""
    grades = [
        a_grade(a_verdict("run_rope"), a_verdict("run_softmax"), name="alice"),
        a_grade(
            a_verdict("run_rope", FAILED, message="wrong"), a_verdict("run_softmax"), name="bob"
        ),
        a_grade(name="carol", status=GradeStatus.UNREADABLE, max_score=4.0, message="no adapters"),
    ]
    output = summarised(stored(*grades), width=200)
    assert (
        "3 submissions: 2 graded, 1 unreadable, 0 not graded; mean 3, median 3 of 4 points "
        "of those graded"
    ) in output
    assert "NOT GRADED" not in output
    lines = [" ".join(line.split()) for line in output.splitlines()]
    assert [line for line in lines if line.startswith(("alice", "bob", "carol"))] == [
        "alice 4 / 4 everything right",
        "bob 2 / 4 run_rope: wrong",
        "carol unreadable no adapters",
    ]


def test_ungraded_submissions_raise_an_alarm_and_count_in_no_mean(stored: Stored) -> None:
    """A fault of the grader costs no points, and must not be overlooked."""
    fault = a_verdict("run_rope", Status.NOT_GRADED, message="wrong")
    grades = [
        a_grade(a_verdict("run_rope"), name="alice"),
        a_grade(name="bob", status=GradeStatus.NOT_GRADED, message="the judge was lost"),
        a_grade(fault, a_verdict("run_rope"), name="dan"),
    ]
    table, _, alarm = summarised(stored(*grades)).partition("2 NOT GRADED")
    assert "1 graded, 0 unreadable, 2 not graded; mean 2, median 2 of 2 points" in table
    assert "bob: the judge was lost" in alarm
    assert "dan: run_rope: not graded: wrong" in alarm
    assert "run the same command again" in alarm


def test_the_summary_shows_final_points_after_decisions(stored: Stored) -> None:
    """The table and its mean include carried and decided points, and the table says so."""
    results = stored(
        a_grade(a_verdict("run_rope", FAILED, message="wrong"), name="alice"),
        a_grade(a_verdict("run_rope"), name="bob"),
        a_grade(a_verdict("run_rope"), name="carol"),
    )
    file = results.folder / "decisions.toml"
    append_decision(file, "points", {"person": "alice", "by": 1, "reason": "agreed"})
    append_decision(file, "excused", {"person": "carol"})
    output = summarised(results, open_settling(results))
    lines = [" ".join(line.split()) for line in output.splitlines()]
    assert "alice 1 / 2 run_rope: wrong" in lines
    assert [line for line in lines if line.startswith("carol excused")]
    assert "mean 1.5, median 1.5 of 2 points" in output
    assert "2 scores are not the sum of the tests alone" in output
    assert "not the sum of the tests" not in summarised(results)


def test_the_summary_counts_of_the_points_that_are_left(stored: Stored) -> None:
    """An exercise that is taken out lowers the possible points, as in the exports."""
    wrong = a_verdict("run_rope", FAILED, name="test_rope", message="wrong")
    results = stored(a_grade(wrong, a_verdict("run_softmax"), name="alice"))
    given = {"exercise": "run_rope", "reason": "too hard"}
    append_decision(results.folder / "decisions.toml", "taken_out", given)
    output = summarised(results, open_settling(results))
    assert "mean 2, median 2 of 2 points" in output


def test_the_summary_of_an_empty_class_has_no_mean(stored: Stored) -> None:
    """The empty class has no mean."""
    assert summarised(stored()).strip() == ("0 submissions: 0 graded, 0 unreadable, 0 not graded")


def test_the_summary_lists_a_limited_number_of_rows(stored: Stored) -> None:
    """The counts include everyone; the rows are in the results."""
    grades = (a_grade(a_verdict("run_rope"), name=f"s{number}") for number in range(50))
    output = summarised(stored(*grades), rows=10)
    assert "s9 " in output
    assert "s10 " not in output
    assert "and 40 more, counted below" in output
    assert "50 submissions: 50 graded" in output


def hostile_grade(status: GradeStatus = GradeStatus.GRADED) -> Grade:
    diagnosis = Diagnosis(HOSTILE, HOSTILE, HOSTILE)
    where = Where(HOSTILE, 3, HOSTILE)
    return a_grade(
        a_verdict("run_rope", FAILED, message=HOSTILE, diagnosis=diagnosis, where=where),
        a_verdict("run_mha", ERROR, message=HOSTILE, name=HOSTILE),
        a_verdict(HOSTILE, PASSED, message=HOSTILE),
        name=HOSTILE,
        message=HOSTILE,
        status=status,
    )


@pytest.mark.parametrize("status", list(GradeStatus))
@pytest.mark.parametrize("terminal", [True, False])
def test_control_sequences_of_a_submission_are_removed_from_the_terminal(
    status: GradeStatus, terminal: bool, stored: Stored
) -> None:
    """Markup, colours, links, cleared screens, reversed text and emoji codes stay plain text."""
    file = io.StringIO()
    console = Console(
        file=file, width=120, force_terminal=terminal, color_system=None, no_color=True
    )
    print_grade(hostile_grade(status), console)
    results = stored(hostile_grade(status))
    print_summary(results, open_settling(results), console)
    output = file.getvalue()
    assert "[bold red]boo[/] link :smile: 1mabc" in output
    for forbidden in ("\x1b[31m", "\x1b]", "evil", "\x1b[2J", "\x9b", "\u202e", "\r", "\x00"):
        assert forbidden not in output


@pytest.mark.parametrize("width", [50, 72, 80, 200])
def test_long_lines_are_folded_to_the_terminal_width(width: int, stored: Stored) -> None:
    """Long names, ids and messages are folded. The short form has one line per person."""
    name = "名" * 60
    message = "word " * 30 + "x" * 300
    grade = a_grade(
        a_verdict(
            "run_multihead_self_attention_with_rope", FAILED, message=message, name="t" * 150
        ),
        a_verdict("run_parameter_count"),
        *(a_verdict("run_parameter_count", FAILED, aspect) for aspect in [*Aspect][1:]),
        name=name,
        status=GradeStatus.GRADED,
    )
    single = printed(print_grade, grade, width=width)
    results = stored(grade, hostile_grade(GradeStatus.NOT_GRADED))
    summary = summarised(results, width=width, details=True)
    short = summarised(results, width=width)
    for line in (single + summary + short).splitlines():
        assert cell_len(line) <= width
    assert single.count("x") >= 300
    *others, last = [*Aspect][1:]
    told = " ".join(single.split())
    assert all(f"{aspect}, " in told for aspect in others[:-1])
    assert f"{others[-1]} and {last} failed" in told
    assert summary.count("名") == 60
    assert short.partition("\n\n")[0].count("\n") == 1


def test_points_are_printed_in_full_however_narrow_the_terminal_is(stored: Stored) -> None:
    """Names and causes are shortened instead."""
    verdict = a_verdict("run_parameter_count")
    name = "a-long-name-of-somebody"
    results = stored(a_grade(verdict, name=name, status=GradeStatus.GRADED))
    row, *_ = summarised(results, width=20).splitlines()
    points = f"{verdict.max_score:g}"
    assert f"{points} / {points}" in row


def test_colours_are_printed_only_to_terminals_without_no_color(
    monkeypatch: pytest.MonkeyPatch, stored: Stored
) -> None:
    """A log file holds plain text, and NO_COLOR is honoured."""
    grades = [
        a_grade(a_verdict("run_rope")),
        a_grade(name="bob", status=GradeStatus.NOT_GRADED, message="lost"),
    ]
    results = stored(*grades)
    settling = open_settling(results)
    assert "\x1b" not in summarised(results)
    file = io.StringIO()
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    print_summary(results, settling, Console(file=file, width=80, force_terminal=True))
    assert "\x1b[32m" in file.getvalue()
    monkeypatch.setenv("NO_COLOR", "1")
    file = io.StringIO()
    print_summary(results, settling, Console(file=file, width=80, force_terminal=True))
    assert "\x1b[3" not in file.getvalue()


def test_a_grade_is_printed_by_cause_and_then_by_exercise() -> None:
    """A shared cause is shown once, and a missing exercise takes one line in the table."""
    why = "3 of 6 values in the result are wrong"
    diagnosis = Diagnosis("rope-half-split", "It pairs halves.", "Which two make a pair?")
    output = printed(
        print_grade,
        a_grade(
            a_verdict("run_softmax"),
            *(a_verdict("run_rope", FAILED, message=why, name=f"test_{n}") for n in range(5)),
            a_verdict(
                "run_rope",
                FAILED,
                GENERALITY,
                name="test_named",
                message="wrong",
                diagnosis=diagnosis,
                where=Where("attention.py", 42, "rotated"),
            ),
            a_verdict(
                "run_mha", MISSING, message="run_mha is not implemented yet", name="test_mha"
            ),
            a_verdict("run_device", message="on a GPU this may fail"),
        ),
    )
    assert output.startswith("alice: 4 of 18 points\n")
    assert ["run_rope", "0", "/", "12", "0", "of", "6", "wrong", "results"] in map(
        str.split, output.splitlines()
    )
    assert output.index("run_rope: it pairs halves [rope-half-split]") < output.index("run_softmax")
    assert "(-2 points)\n  Hint: Which two make a pair?" in output
    assert "at attention.py:42" in output
    assert output.count(why) == 1
    assert "test_0" in output
    assert "test_4" not in output
    assert "5 tests of run_rope" in output
    assert "test_mha" not in output
    assert "run_device: on a GPU this may fail" in output


def test_an_error_that_stopped_every_test_is_printed_once() -> None:
    """A failed import would otherwise appear once for each exercise."""
    why = "ModuleNotFoundError: No module named 'einx' (adapters.py:1: import einx)"
    tests = [a_verdict(f"run_{number}", ERROR, message=why) for number in range(4)]
    assert printed(print_grade, a_grade(*tests, message=why)).count("einx'") == 1
    unreadable = a_grade(*tests, message=why, status=GradeStatus.UNREADABLE)
    assert printed(print_grade, unreadable) == f"alice: 0 of 8 points, unreadable\n{why}\n"


def test_an_ungraded_submission_is_blamed_on_the_machine_or_grader() -> None:
    """0 points would wrongly alarm the student."""
    lost = a_grade(status=GradeStatus.NOT_GRADED, message="the judge was lost")
    assert printed(print_grade, lost) == (
        "alice: NOT GRADED, by a fault of the machine, the tests or the grader\n"
        "the judge was lost\n"
    )


def test_a_place_in_the_message_is_not_repeated():
    """Exercises that still ran appear with that line."""
    said = "after 10 s still running a.py:3\n    while True:"
    hung = a_verdict("run_rope", Status.TIMEOUT, message=said, where=Where("a.py", 3))
    assert complaints(a_grade(hung)) == "run_rope: after 10 s still running a.py:3"


def test_a_short_complaint_is_cut_after_a_word_and_counts_the_rest() -> None:
    """The line is cut after a word, and the rest is counted."""
    tests = [a_verdict(f"run_{n}", FAILED, message=f"{'abcde'[n]} is all wrong") for n in range(5)]
    assert complaint(a_grade(*tests), 60) == "run_0: a is all wrong (+4 more)"
    assert complaint(a_grade(*tests), 26) == "run_0: a is all… (+4 more)"
    even = a_grade(a_verdict("run_tenth1", FAILED, message="it is wrong from index 1 on"))
    assert complaint(even, 20) == "run_tenth1: it is…"
    assert complaint(even, 19) == "it is wrong from…"
    long = a_verdict("run_multihead_attention", FAILED, message="wrong from index 1 of seq on")
    assert complaint(a_grade(long), 35) == "wrong from index 1 of seq on"
    assert complaint(a_grade(a_verdict("run_rope")), 60) == "everything right"
    assert complaint(a_grade(status=GradeStatus.UNREADABLE, message="no file"), 60) == "no file"


def test_the_summary_of_seventeen_submissions_fits_on_one_screen(stored: Stored) -> None:
    """An instructor sees every person without scrolling, however much went wrong."""
    wrong = [a_verdict(f"run_{n}", FAILED, message="it is wrong " * 20) for n in range(9)]
    grades = [a_grade(*wrong, name=f"student-{number}") for number in range(17)]
    assert len(summarised(stored(*grades), width=80).splitlines()) <= 17 + 4
