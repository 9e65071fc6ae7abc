"""The judge and its variants, with functions that answer in this process."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from grader.core.points import total
from grader.core.verdict import Status, Verdict
from grader.core.wire.calls import Answer, Call
from grader.grading.judge import judge as judges
from grader.grading.judge import variants as known
from grader.grading.judge.carry_forward import CarriedPoints
from grader.grading.judge.judge import Judge
from grader.grading.judge.variants import Way
from grader.testing.handles.handle import BrokenReference
from grader.testing.outcome import StudentFault
from grader.testing.outcome_cache import AnsweredCall
from grader.testing.suite import Suite
from tests.harness.conftest import TINY, write_files
from tests.harness.opened_suites import Answers, opened

pytestmark = pytest.mark.unit

COURSE = {name: TINY[name] for name in ("pyproject.toml", "adapters.py", "tests/conftest.py")} | {
    "solutions/__init__.py": """
        def run_double(x):
            return 2 * x

        def run_count(x):
            return x.numel()
        """,
    "solutions/mistakes.py": """
        from dataclasses import dataclass

        @dataclass(frozen=True)
        class Mistake:
            id: str
            variants: dict

        def raises(x):
            raise ValueError

        MISTAKES = (
            Mistake("tripled", {
                "run_double": (lambda x: 3 * x, lambda x: 4 * x),
                "run_count": (lambda x: 3 * x.numel() // 2, lambda x: 2 * x.numel()),
            }),
            Mistake("raises", {"run_double": (raises,), "run_count": (raises,)}),
        )
        BUILDS_ON = {"run_count": ("run_double",)}
        """,
    "tests/public/test_it.py": """
        from grader.testing import assert_gradients_match, assert_matches, exercise

        @exercise("run_double")
        def test_twice(student, reference, draw):
            '''Both calls are right.'''
            for size in (2, 3):
                x = draw(size)
                assert_matches(student(x), reference(x))

        @exercise("run_double")
        def test_is_linear(student, draw):
            '''A sum is doubled as its parts are, and by two.'''
            x = draw(4).abs() + 1
            assert student(x).sum() > 1 / (student(x).sum() / x.sum() == 2)

        @exercise("run_double", aspect="gradients")
        def test_gradient(student, reference, draw):
            '''A gradient reaches x.'''
            x, cotangent = draw(3), draw(3)
            assert_gradients_match(student, reference, cotangent, wrt=("x",), x=x)

        @exercise("run_count")
        def test_counts(student, reference, draw):
            '''The numbers are counted.'''
            x = draw(2, 3)
            assert_matches(student(x), reference(x))

        @exercise("run_count")
        def test_counts_more(student, reference, draw):
            '''Many numbers are counted.'''
            x = draw(8)
            assert_matches(student(x), reference(x))
        """,
}
BROKEN = """
    from grader.testing import exercise

    @exercise("run_count")
    def test_is_broken(student, draw):
        '''No function passes it.'''
        student(draw(2))
        raise LookupError("the author's own slip")
    """
RIGHT = {"run_double": lambda x: 2 * x, "run_count": lambda x: x.numel()}
TRIPLED = {"run_double": lambda x: 3 * x, "run_count": lambda x: 3 * x.numel() // 2}
TWICE, LINEAR, GRADIENT, COUNTS, MORE = (
    f"tests/public/test_it.py::test_{name}"
    for name in ("twice", "is_linear", "gradient", "counts", "counts_more")
)


@pytest.fixture(scope="module")
def course(tmp_path_factory) -> Path:
    """A course of two exercises, of which one builds on the other."""
    return write_files(tmp_path_factory.mktemp("course"), COURSE)


def in_short(verdicts: Sequence[Verdict]) -> dict[str, Status]:
    return {verdict.id: verdict.status for verdict in verdicts}


PASSED, FAILED = Status.PASSED, Status.FAILED


def test_each_test_is_judged_by_the_answers_alone(course):
    """The same suite judges one submission after another; remarks never change the status."""

    def look(suite: Suite) -> None:
        judge = Judge(suite, 7)
        seconds: list[float] = []
        right = [*judge.grade(Answers(RIGHT), charge=seconds.append)]
        assert in_short(right) == dict.fromkeys((TWICE, LINEAR, GRADIENT, COUNTS, MORE), PASSED)
        assert total(one.score for one in right) == suite.max_score == 5.0
        assert len(seconds) == 5, "the judge's work is charged once for each test"
        assert all(one.duration_s > 0 for one in right)
        wrong = Answers(TRIPLED)
        failed = [*judge.grade(wrong, charge=seconds.append)]
        assert in_short(failed) == dict.fromkeys(in_short(right), FAILED)
        assert len(seconds) == 15, "a failed test makes its other calls, which are charged too"
        calls = len(wrong.calls)
        assert in_short([*judge.grade(wrong, charge=seconds.append)]) == in_short(failed)
        assert len(wrong.calls) == 2 * calls
        assert len(seconds) == 15, "remembered verdicts and calls cost nothing"
        (count, more) = judge.grade(Answers(RIGHT), {"run_count"})
        assert (count.id, more.id) == (COUNTS, MORE)

    opened(course, look)


@pytest.mark.parametrize(("stops", "calls"), [(False, [2, 3]), (True, [2])])
def test_a_failed_test_makes_its_other_calls_unless_told_otherwise(course, stops, calls):
    """A submission must not learn from the next call that its last answer was wrong."""

    def look(suite: Suite) -> list[int]:
        wrong = Answers(TRIPLED)
        next(iter(Judge(suite, 7, stops_at_failures=stops).grade(wrong)))
        return [call.arguments["x"].numel() for call in wrong.calls]

    assert opened(course, look, ["run_double"]) == calls


def test_an_answer_that_breaks_a_test_fails_it(tmp_path):
    """A test that breaks with right answers too is the author's slip, and not graded."""

    def look(suite: Suite) -> None:
        judge = Judge(suite, 7)
        for _ in range(2):
            verdicts = {one.id.rpartition("_")[2]: one for one in judge.grade(Answers(TRIPLED))}
            broken, linear = verdicts["broken"], verdicts["linear"]
            assert (linear.status, linear.message) == (
                FAILED,
                "does not hold: A sum is doubled as its parts are, and by two.",
            )
            assert broken.status is Status.NOT_GRADED
            message = broken.message or ""
            assert message.startswith("the fault of the test or the grader")
            assert message.endswith(" (tests/hidden/test_x.py:8)")
        with pytest.raises(BrokenReference, match="while none was being graded"):
            judge._ask(Call("run_double", {}))

    opened(write_files(tmp_path, COURSE | {"tests/hidden/test_x.py": BROKEN}), look)


class Heavy(Answers):
    """Answers whose first ones find no memory, of torch or of Python."""

    def __init__(self, *makes: Callable[[], object]) -> None:
        super().__init__(RIGHT)
        self.makes = [*makes]

    def __call__(self, call: Call) -> Answer:
        if self.makes:
            self.makes.pop(0)()
        return super().__call__(call)


def of_torch() -> object:
    return torch.empty(1 << 52)


def of_python() -> object:
    raise MemoryError


def of_a_reference() -> object:
    raise BrokenReference("the reference raised MemoryError()") from MemoryError()


@pytest.mark.parametrize("makes", [of_torch, of_python, of_a_reference])
@pytest.mark.parametrize("machine", [True, False])
def test_a_lack_of_memory_is_the_submissions_only_if_the_machine_has_some(
    course, monkeypatch, makes, machine
):
    """Remembered answers of others are forgotten first, and nothing is remembered of a lack."""
    monkeypatch.setattr(judges, "machine_has", lambda _: machine)

    def look(suite: Suite) -> None:
        judge = Judge(suite, 7)
        once, twice = Heavy(makes), Heavy(makes, makes)
        assert {one.status for one in judge.grade(once, {"run_count"})} == {PASSED}
        if machine:
            assert [one.status for one in judge.grade(twice, {"run_count"})] == [FAILED, PASSED]
        else:
            with pytest.raises(MemoryError):
                [*judge.grade(twice, {"run_count"})]
        assert {one.status for one in judge.grade(Answers(RIGHT), {"run_count"})} == {PASSED}

    opened(course, look)


def test_points_come_back_although_answers_were_dropped(course):
    """Answers that were too large to keep are asked for again."""

    def look(suite: Suite) -> None:
        judge, wrong = Judge(suite, 7), Answers(TRIPLED)
        verdicts = [*judge.grade(wrong)]
        # One test of the root's values does not hold even for the mistake itself.
        tripled, both = Way("tripled", "run_count", 0), frozenset({COUNTS, MORE})
        expected = {"run_count": CarriedPoints(tripled, both, "run_double")}
        assert judge.carried(verdicts, wrong) == expected
        calls = len(wrong.calls)
        judge._failed.clear()
        assert judge.carried(verdicts, wrong) == expected
        assert len(wrong.calls) > calls
        other = Answers(TRIPLED | {"run_count": lambda x: 2 * x.numel()})
        assert judge.carried([*judge.grade(other)], other) == {}

    opened(course, look)


def test_answers_of_failed_tests_are_bounded_together(course, monkeypatch):
    """The first answers are kept, as many as there is room for."""

    def look(suite: Suite) -> None:
        judge, wrong = Judge(suite, 7), Answers(TRIPLED)
        [*judge.grade(wrong)]
        first, *others = judge._failed
        assert others
        monkeypatch.setattr(judges, "_size", lambda tests: 4 * len([*tests]))
        monkeypatch.setattr(judges, "_MOST_KEPT", 4)
        [*judge.grade(wrong)]
        assert [*judge._failed] == [first]

    opened(course, look)


# --- Variants -----------------------------------------------------------------------------------

IN_DOUBLE, IN_COUNT = Way("tripled", "run_double", 0), Way("tripled", "run_count", 0)
RAISES = Way("raises", "run_double", 0)


def never(_: Call) -> Answer:
    raise AssertionError("the submission is not asked again")


def answers_to(suite: Suite, test: str, functions: Any) -> tuple[AnsweredCall, ...]:
    """Returns the calls of a test, with the answers of these functions."""
    judge = Judge(suite, 7)
    [*judge.grade(Answers(RIGHT | functions))]
    return tuple(judge._failed.get(test, ()))


def test_a_mistake_accounts_for_exactly_its_own_answers(course):
    """A test that checks a property is broken by the mistake too: there answers are compared."""

    def look(suite: Suite) -> None:
        variants = Judge(suite, 7)._variants
        for test in (TWICE, LINEAR, GRADIENT):
            for factor, expected in [(3, [True, False]), (4, [False, True]), (5, [False, False])]:
                own = {"run_double": lambda x, f=factor: f * x}
                asked, ask = answers_to(suite, test, own), Answers(own)
                assert asked
                ways = [IN_DOUBLE, IN_DOUBLE._replace(number=1)]
                found = [variants.accounts_for(test, way, asked, ask) for way in ways]
                assert found == expected, (test, factor)
                assert not variants.accounts_for(test, RAISES, asked, ask)

    opened(course, look)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda one: one, True),
        (lambda one: dataclasses.replace(one, answer=StudentFault(FAILED, "x")), False),
        (lambda one: with_value(one, 3 * one.call.arguments["x"].double()), False),
        (lambda one: with_value(one, 3 * one.call.arguments["x"][:1]), False),
        (lambda one: with_value(one, 3 * one.call.arguments["x"] + 1), False),
        (lambda one: asked_with(one, watch_inputs=True), False),
    ],
    ids=["the same", "a fault", "another dtype", "another shape", "other numbers", "no result"],
)
def test_an_answer_is_the_mistakes_if_dtype_shape_and_numbers_are(course, change, expected):
    def look(suite: Suite) -> bool:
        asked = answers_to(suite, LINEAR, TRIPLED)
        return Judge(suite, 7)._variants.accounts_for(LINEAR, IN_DOUBLE, [*map(change, asked)], ask)

    def ask(_: Call) -> Answer:
        raise StudentFault(FAILED, "not again")

    assert opened(course, look) is expected


def with_value(asked: AnsweredCall, value: Any) -> AnsweredCall:
    return dataclasses.replace(asked, answer=Answer(value, digest=b"x"))


def asked_with(asked: AnsweredCall, **fields: Any) -> AnsweredCall:
    return dataclasses.replace(asked, call=dataclasses.replace(asked.call, **fields))


def test_equal_answers_of_a_class_are_compared_once(course, monkeypatch):
    """Only the latest results are remembered, and answers without a digest never."""

    def look(suite: Suite) -> None:
        variants = Judge(suite, 7)._variants
        asked = answers_to(suite, COUNTS, TRIPLED)
        wrong = answers_to(suite, COUNTS, {"run_count": lambda **_: 1})
        runs: list[str] = []
        run = suite.run
        monkeypatch.setattr(suite, "run", lambda test, bench: runs.append(test) or run(test, bench))

        def counted(own: Sequence[AnsweredCall]) -> tuple[bool, int]:
            before = len(runs)
            found = variants.accounts_for(COUNTS, IN_COUNT, own, never)
            return found, len(runs) - before

        assert [counted(asked), counted(asked)] == [(True, 1), (True, 0)]
        found, first = counted(wrong)
        assert (found, first > 0, counted(wrong)) == (False, True, (False, 0))
        bare = [dataclasses.replace(one, answer=Answer(9)) for one in asked]
        assert [counted(bare), counted(bare)] == [(True, 1), (True, 1)]
        monkeypatch.setattr(known, "_MOST_REMEMBERED", 3)
        assert counted(asked) == (True, 0), "this one is now the latest"
        more = answers_to(suite, COUNTS, {"run_count": lambda **_: 2})
        counted(more)
        assert counted(asked) == (True, 0)
        assert counted(wrong)[1] > 0, "the oldest was dropped"

    opened(course, look)


def test_the_ending_of_a_test_with_a_mistake_is_known(course):
    """It passes, fails, or raises."""

    def look(suite: Suite) -> list[Status]:
        variants = Judge(suite, 7)._variants
        same = Way("tripled", "run_count", 1)
        return [
            variants.status(TWICE, IN_DOUBLE),
            variants.status(TWICE, RAISES),
            variants.status(COUNTS, same),
            variants.status(MORE, IN_COUNT._replace(exercise="run_double")),
        ]

    assert opened(course, look)[:3] == [FAILED, Status.ERROR, FAILED]


def test_the_search_for_carried_points_ends_if_answers_take_long_to_examine(course, monkeypatch):
    """It would read them again for each way of making each mistake."""

    def look(suite: Suite) -> None:
        judge, wrong = Judge(suite, 7), Answers(TRIPLED)
        verdicts = [*judge.grade(wrong)]
        monkeypatch.setattr("grader.grading.judge.judge._SECONDS_TO_CARRY", 0.0)
        assert judge.carried(verdicts, wrong) == {}
        monkeypatch.undo()
        assert {*judge.carried(verdicts, wrong)} == {"run_count"}, "each submission has its own"

    opened(course, look)
