"""Parts of the report at home, each by itself: failures, counts, greetings and fresh imports."""

from __future__ import annotations

import contextlib
import io
import random
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from grader.core.causes import FailedTest
from grader.core.points import CourseWorth
from grader.core.verdict import Aspect, Diagnosis, Status
from grader.core.wire.calls import Call
from grader.explain.mistakes.prediction import Numbers, row_of
from grader.home.bench import DirectCalls
from grader.home.causes import CUT_SHORT, FrozenMistakes
from grader.home.failure import Failure
from grader.home.reimport import CannotCopy, Reimport
from grader.home.repair import quietly
from grader.home.summary import (
    ExerciseCounts,
    Folding,
    Summary,
    in_all,
    next_exercise,
    not_in_table,
    table,
)
from grader.testing.cases import Case, FrozenModule, FrozenTest
from grader.testing.outcome import Observation
from tests.harness.conftest import write_files

pytestmark = pytest.mark.unit

TRIPLED = Diagnosis("tripled", "Every number is tripled.", "How often is x added?")
SAID = FailedTest(
    "t.py::test_x",
    "run_x",
    Status.FAILED,
    "wrong\n2 of 3 values in the result are wrong",
    Aspect.GENERALITY,
    TRIPLED,
    (("a.py", 3), ("b.py", 4)),
    "Check a.",
    2.5,
)


def test_a_failure_is_a_paragraph_from_the_headline_to_the_line() -> None:
    """The known mistake comes before the evidence, and advice only without a mistake."""
    failure = Failure("Doubles.", SAID, ("t.py", 7), ["more\nof it"], "Change a.py:3.\n    x = 1")
    told = [
        "wrong",
        "Every number is tripled.",
        "Hint: How often is x added?",
        "2 of 3 values in the result are wrong",
        "more",
        "of it",
        "Change a.py:3.",
        "    x = 1",
    ]
    assert [*failure.lines()] == told
    crash = failure.reprcrash
    assert (crash.path, crash.lineno) == ("t.py", 7)
    assert crash.message == "run_x: every number is tripled (a.py:3 or b.py:4)"
    unnamed = Failure(
        "", FailedTest("t", "run_x", Status.FAILED, "wrong", advice="Check."), ("t", 1)
    )
    assert [*unnamed.lines()] == ["wrong", "Check."]
    for one, first in ((failure, "Doubles."), (unnamed, "wrong")):
        assert str(one).splitlines()[0] == first


def counts(*tests: tuple[str, bool, int]) -> ExerciseCounts:
    """Returns the counts of tests: outcome, whether it is about values, hundredths of a point."""
    made = ExerciseCounts()
    for test in tests:
        made.add(*test)
    return made


RIGHT, MISSING = (
    counts(("passed", True, 100)),
    counts(("missing", True, 150), ("missing", False, 0)),
)
HALF = counts(("passed", True, 100), ("failed", True, 100), ("passed", False, 50))
UNKNOWN = counts(("passed", True, 0), ("failed", True, 0))
ALL = {"run_right": RIGHT, "run_half": HALF, "run_missing": MISSING, "run_bare": UNKNOWN}


def test_an_exercise_is_told_with_its_tests_and_its_points() -> None:
    """The points of other tests count as far as the values are right: half of 0.5 here."""
    assert HALF.in_words() == "2 of 3 passed, 1.25 of 2.5 points"
    assert HALF.counts_less
    assert RIGHT.in_words() == "1 of 1 passed, 1 of 1 points"
    assert not RIGHT.counts_less
    assert MISSING.in_words() == "not implemented yet"
    assert UNKNOWN.in_words() == "1 of 2 passed"
    assert (RIGHT.is_right, HALF.is_right, MISSING.is_right) == (True, False, False)
    assert (RIGHT.is_missing, HALF.is_missing, MISSING.is_missing) == (False, False, True)


def test_the_table_leaves_out_what_is_right_or_missing() -> None:
    """Two lines below count these, unless every row is asked for."""
    assert table(ALL, all_rows=False) == [
        "run_half  2 of 3 passed, 1.25 of 2.5 points",
        "run_bare  1 of 2 passed",
    ]
    assert len(table(ALL, all_rows=True)) == 4
    assert table({}, all_rows=True) == []
    assert [*not_in_table(ALL)] == [
        "all tests passed: 1 other exercise",
        "not implemented yet: run_missing",
    ]
    assert [*not_in_table({"a": RIGHT})] == ["all tests passed: 1 exercise"]
    assert [*not_in_table({"a": HALF})] == []


@pytest.mark.parametrize(
    ("ran", "worth", "said"),
    [
        ({"a": RIGHT}, CourseWorth(100, 100), ["1 of 1 points."]),
        (
            {"a": RIGHT},
            CourseWorth(100, 250),
            ["1 of 1 points. The other 1.5 come from hidden tests."],
        ),
        (
            {"a": RIGHT},
            CourseWorth(300, 400),
            ["1 of 1 points in the tests that ran; all public tests are worth 3."],
        ),
        ({"a": UNKNOWN}, CourseWorth(300, 400), []),
        (
            {"a": HALF},
            CourseWorth(250, 250),
            [
                "The other tests of an exercise count only as far as its values are right.",
                "1.25 of 2.5 points.",
            ],
        ),
    ],
)
def test_points_are_summed_up(
    ran: dict[str, ExerciseCounts], worth: CourseWorth, said: list[str]
) -> None:
    """Points of hidden tests are told only if all public tests ran."""
    assert [*in_all(ran, worth)] == said


def missing(exercise: str, stub: str = "stub") -> SimpleNamespace:
    """Returns the report of a test whose exercise, in a file of its name, is not written."""
    place = f"run_{exercise} {exercise}.py:3"
    return SimpleNamespace(nodeid=f"{exercise}.py::test", user_properties=[(stub, place)])


NOTHING = "Nothing is written yet. Start with run_"


@pytest.mark.parametrize(
    ("stats", "first"),
    [
        ({"missing": [missing("b")]}, f"{NOTHING}b (b.py:3)."),
        ({"passed": ["c"], "missing": [missing("b")]}, "Next: run_b (b.py:3)."),
        ({"failed": [], "missing": [missing("b")]}, None),
        ({"error": ["c"], "missing": [missing("b")]}, None),
        ({"passed": ["c"]}, None),
        ({"missing": [missing("a", stub="other")]}, None),
        ({"missing": [missing("b"), missing("a")]}, f"{NOTHING}a (a.py:3)."),
        ({"missing": [missing("z")]}, f"{NOTHING}z (z.py:3)."),
    ],
)
def test_the_next_exercise_is_the_first_stub_in_the_order_of_the_course(
    stats: dict[str, list[Any]], first: str | None
) -> None:
    """Nothing comes next while something is wrong, even if its report is not shown."""
    written = [*next_exercise(stats, ["run_a", "run_b"])]
    assert bool(written) is (first is not None)
    if first:
        assert written[1] == first
        test = first.partition("run_")[2][0]
        assert written[2].endswith(f"then run `pytest {test}.py`.")


@pytest.fixture
def own_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of a student's modules that can be imported, and are forgotten afterwards."""
    names = ("adapters", "own_work", "own_parts")

    def forget() -> None:
        for name in [one for one in sys.modules if one.partition(".")[0] in names]:
            del sys.modules[name]

    forget()
    monkeypatch.syspath_prepend(str(tmp_path))
    write_files(
        tmp_path,
        {
            "adapters.py": """
                import own_work, json
                from own_work import run_x
                run_later = 3
                def helper(): ...
                """,
            "own_work.py": """
                import own_parts.deep
                SEEN = []
                def run_x(x):
                    import own_work
                    own_work.SEEN.append(x)
                    return len(SEEN)
                """,
            "own_parts/deep.py": "",
        },
    )
    yield tmp_path
    forget()


def test_a_second_import_shares_no_state_with_the_first(own_modules: Path) -> None:
    """Packages are not imported again, and imports in a call find the copies."""
    import adapters  # type: ignore[import-not-found]

    first = {name: sys.modules[name] for name in ("adapters", "own_work", "own_parts.deep")}
    copy = Reimport(own_modules)
    assert {name: sys.modules[name] for name in first} == first
    assert [*copy.functions] == ["run_x"]
    assert {one.__name__ for one in copy.modules} == {*first, "own_parts"}
    files = {str(file.relative_to(own_modules)) for file in copy.files}
    assert files == {"adapters.py", "own_work.py", "own_parts/deep.py"}
    with copy.in_place():
        assert sys.modules["own_work"] is not first["own_work"]
        assert copy.functions["run_x"](1) == 1
        assert copy.functions["run_x"](2) == 2
    assert first["own_work"].SEEN == []
    assert adapters.run_x(3) == 1
    with copy.in_place():
        assert copy.functions["run_x"](4) == 3


MAKES_SETTINGS = """\
import torch

torch.set_default_dtype(torch.float64)
torch.set_default_device("meta")
torch.set_grad_enabled(False)


def run_x(dtype):
    torch.set_default_dtype(getattr(torch, dtype))
    return [str(torch.get_default_dtype()), str(torch.ones(1).device), torch.is_grad_enabled()]
"""


def test_torchs_settings_of_a_student_do_not_reach_the_tests(own_modules: Path) -> None:
    """In class the tests run in another process; an exception does not leave the settings."""
    (own_modules / "adapters.py").write_text(MAKES_SETTINGS)

    def of_the_tests() -> list[object]:
        return [torch.get_default_dtype(), torch.ones(1).device, torch.is_grad_enabled()]

    before = of_the_tests()
    copy = Reimport(own_modules)
    assert of_the_tests() == before
    direct = DirectCalls(SimpleNamespace(**copy.functions), own_modules, settings=copy.settings)
    with pytest.raises(ZeroDivisionError), copy.settings.in_force():
        raise ZeroDivisionError
    for dtype in ("float16", "float64"):
        answer = direct(Call("run_x", {"dtype": dtype}))
        assert answer.value == [f"torch.{dtype}", "meta", False]
        assert of_the_tests() == before
    with copy.settings.in_force():
        assert torch.get_default_dtype() is torch.float64


def test_code_that_cannot_be_imported_again_is_not_copied(own_modules: Path) -> None:
    """Its first modules stay where they were, and Ctrl-C ends the import."""
    import adapters

    for statement in ("raise SystemExit", "1 / 0"):
        (own_modules / "own_work.py").write_text(f"{statement}\n")
        with pytest.raises(CannotCopy):
            Reimport(own_modules)
        assert sys.modules["adapters"] is adapters
    (own_modules / "own_work.py").write_text("raise KeyboardInterrupt\n")
    with pytest.raises(KeyboardInterrupt):
        Reimport(own_modules)


def test_trials_leave_output_random_numbers_and_threads_as_they_were() -> None:
    """Not even a debugger starts in them."""
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    before = torch.get_rng_state(), random.getstate()
    with contextlib.redirect_stdout(io.StringIO()) as printed, warnings.catch_warnings():
        warnings.simplefilter("error")
        with quietly():
            print("said")
            print("said", file=sys.stderr)
            warnings.warn("said", stacklevel=1)
            breakpoint()
            assert torch.get_num_threads() == 1
            torch.rand(2)
            random.random()
    assert printed.getvalue() == ""
    assert torch.equal(before[0], torch.get_rng_state())
    assert before[1] == random.getstate()
    assert torch.get_num_threads() == 2
    torch.set_num_threads(threads)


def test_frozen_mistakes_are_found_by_test_and_call() -> None:
    """A row that was not frozen predicts nothing."""
    x = torch.ones(2)
    answers = {0: torch.stack([row_of(Numbers(n * x)) for n in (2, 3, 4)])}
    module = FrozenModule(
        {"test_x": FrozenTest(Case(None), 1.0, answers, {0: {"sum": [x]}})},
        {"run_x": ["", "tripled", "tripled", "late"]},
        {"tripled": TRIPLED},
        ignored_by={"late": ["mask"]},
        echoed_in={"tripled": ["run_x"]},
        fixed_steps={"run_x": ["table"]},
    )
    known = FrozenMistakes({"t.py": module}.__getitem__)

    def seen(
        value: float, test: str = "test_x", number: int = 0, adapter: str = "run_x"
    ) -> Observation:
        call = Call(adapter, {"x": x})
        return Observation(f"t.py::{test}", number, Aspect.VALUES, call, value * x)

    assert known.names(seen(3.0)) == ["tripled"]
    agreeing = [
        one.agrees(seen(4.0), 1.0) for one in known.predictions("tripled", seen(4.0)) if one
    ]
    assert agreeing == [False, True]
    right = known.right(seen(2.0))
    assert right is not None
    assert right.agrees(seen(2.0), 1.0)
    assert not right.agrees(seen(3.0), 1.0)
    for other in (seen(2.0, "test_y"), seen(2.0, number=1), seen(2.0, adapter="run_y")):
        assert known.names(other) == []
        assert known.right(other) is None
    assert known.ignored(seen(2.0)) == {"late": ["mask"]}
    assert known.echoes("tripled", seen(2.0))
    assert not known.echoes("late", seen(2.0))
    assert not known.echoes("tripled", seen(2.0, adapter="run_y"))
    assert known.diagnosis("tripled", seen(2.0)) is TRIPLED
    assert known.steps(seen(2.0)) == {"sum": [x]}
    assert known.steps(seen(2.0, number=1)) is None
    assert known.steps(seen(2.0, "test_y")) is None
    assert known.fixed_steps(seen(2.0)) == ["table"]
    assert known.fixed_steps(seen(2.0, adapter="run_y")) == ()


def summed_up(root: Path, *failed: FailedTest) -> str:
    """Returns what the end of a run prints about failures whose search stopped early."""
    folding = Folding(verbose=False)
    for said in failed:
        folding.failures[said.id] = Failure("", said, ("t.py", 1), search=CUT_SHORT)
        folding.printed[said.id] = []
    written: list[str] = []
    terminal = SimpleNamespace(
        write_line=lambda line, **_: written.append(line),
        section=lambda _: None,
        config=SimpleNamespace(rootpath=root),
        stats={},
    )
    names = [said.exercise for said in failed]
    Summary(folding, names, {}, {}, lambda: CourseWorth(9, 9)).pytest_terminal_summary(terminal)
    return "\n".join(written)


def test_a_search_that_stopped_early_is_told_once_at_the_first_cause_without_a_line(
    tmp_path,
):
    """The student learns there that more is to be found."""
    failed = [
        FailedTest(f"t.py::{name}", name, Status.FAILED, f"{name} is off", places=place)
        for name, place in {"run_a": (("a.py", 3),), "run_b": (), "run_c": ()}.items()
    ]
    text = summed_up(tmp_path, *failed)
    assert text.count("`pytest --locate` finishes it") == 1
    assert text.index("run_b is off") < text.index("stopped early") < text.index("run_c is off")


def test_a_test_is_named_whole_if_its_parameter_holds_colons(tmp_path):
    """The name is what pytest takes after `-k` or the file."""
    said = FailedTest("t.py::test_it[a::b]", "run_a", Status.FAILED, "wrong\n  more")
    lines = [line.strip() for line in summed_up(tmp_path, said).splitlines()]
    assert "test_it[a::b]:" in lines
