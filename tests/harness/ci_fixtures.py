"""Grades as hostile as a submission can make them, for the tests of platforms' formats."""

from __future__ import annotations

from grader.core.verdict import Aspect, Diagnosis, Grade, Status, Visibility, Where
from tests.harness.export_fixtures import a_grade, a_verdict

COMMANDS = (
    "::error::owned\n::add-mask::a\n  ::set-output name=result::100\n::stop-commands::x\n"
    "##[error]owned\r\n::notice title=Autograding report::{}\x85::warning::owned\u2028::debug::x"
)
MARKUP = (
    '<script>alert(1)</script> <img src=x onerror=alert(1)> [a](javascript:x) ```\n# h\n"&amp;|'
)
CONTROLS = "\x00\x07\x1b[31mred\x1b]0;title\x07\x7f\u202egnp.\u200b\ud83d"
ENDLESS = "x" * 1_000_000
HOSTILE = (COMMANDS, MARKUP, CONTROLS, ENDLESS, "`" * 5000, "%0A::error::x", "")

DIAGNOSIS = Diagnosis("rope-half-split", "Halves are paired.", "Which pairs turn together?")


def hostile_grade() -> Grade:
    """Returns a grade in which every text that a submission can influence is from `HOSTILE`."""
    tests = [
        a_verdict(
            f"run_{number}",
            0.0,
            id=f"tests/hidden/test_x.py::test_secret[{text[:50]}]",
            status=status,
            message=text,
            where=Where(text[:300], number - 1, text[:100]),
        )
        for number, text in enumerate(HOSTILE)
        for status in (Status.FAILED, Status.ERROR)
    ]
    noted = a_verdict("run_noted", 4.0, message=COMMANDS + MARKUP)
    return a_grade(COMMANDS + MARKUP + CONTROLS, *tests, noted, message=COMMANDS + MARKUP)


def mixed_grade() -> Grade:
    """Returns a grade with four exercises.

    One is right, one is right only in its values, one has a known mistake, and one is missing.
    """
    general = {"aspect": Aspect.GENERALITY, "id": "tests/hidden/test_run_mha.py::test_deeper"}
    where = Where("attention.py", 12)
    tests = (
        a_verdict("run_softmax", 2.0, 2.0, visibility=Visibility.PUBLIC),
        a_verdict("run_mha", 3.0, 3.0, visibility=Visibility.PUBLIC),
        a_verdict("run_mha", 0.0, 1.5, message="2 axes were wanted", where=where, **general),
        a_verdict("run_rope", 0.0, 2.0, message="4 of 6 numbers are wrong", diagnosis=DIAGNOSIS),
        a_verdict(
            "run_mask",
            0.0,
            1.5,
            status=Status.MISSING,
            message="run_mask is not implemented yet",
        ),
    )
    return a_grade("alice", *tests)
