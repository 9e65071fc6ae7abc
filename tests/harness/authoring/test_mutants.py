"""An edit of a right program is caught, equivalent or missed, as its answers show."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
import torch

from grader.authoring.mutants import (
    Candidate,
    Fate,
    MutantRunner,
    Reach,
    References,
    answers,
    reach_of,
    statement_lines,
)
from grader.authoring.mutation import Mutations, MutationTrial, difference, in_words, mutate
from grader.core.assignment import BadAssignment, find_assignment
from grader.core.wire.calls import Call
from grader.explain.rewriting.edit import Edit, Replacement
from grader.grading.judge.judge import Judge
from grader.testing.cases import SEED
from grader.testing.suite import Suite
from tests.harness.conftest import TINY, write_files
from tests.harness.own_course import imported_alone

pytestmark = pytest.mark.unit

# The tests call a function, and compare nothing: only exceptions are caught.
COURSE = {
    "pyproject.toml": """
        [tool.grader]
        name = "loose"
        [tool.grader.exercises]
        run_scaled = 1
        run_filled = 1
        run_lost = 1
        run_whole = 1
        run_listed = 1
        """,
    "adapters.py": """
        from collections.abc import Iterator
        from jaxtyping import Float, Int
        from torch import Tensor

        def run_scaled(x: Float[Tensor, "n"]) -> Float[Tensor, "n"]: ...
        def run_filled(x: Float[Tensor, "n"]) -> Float[Tensor, "m"]: ...
        def run_lost(x: Float[Tensor, "n"]) -> Float[Tensor, "n"]: ...
        def run_whole(x: Float[Tensor, "n"]) -> Int[Tensor, "n"]: ...
        def run_listed(n: int) -> Iterator[int]: ...
        def run_helped(n: int) -> int: ...
        """,
    "solutions/__init__.py": """
        import torch

        def run_scaled(x):
            return x * 0.3

        def run_filled(x):
            return torch.full((3,), 2.0)

        def run_lost(x):
            return x * float("nan")

        def run_whole(x):
            return torch.arange(len(x))

        def run_listed(n):
            yield n

        def run_helped(n):
            return n + 7
        """,
    "solutions/mistakes.py": "MISTAKES = ()\n",
    "tests/conftest.py": TINY["tests/conftest.py"],
    "tests/public/test_loose.py": """
        import torch
        from grader.testing import exercise

        @exercise("run_scaled")
        def test_scales(student, draw):
            '''Every number is scaled.'''
            x = draw(3)
            student(x)
            student(x)
            student(torch.tensor([1.0, float("inf"), float("nan")]))

        @exercise("run_filled")
        def test_fills(student, draw):
            '''The result is filled.'''
            student(draw(3))

        @exercise("run_lost")
        def test_loses(student, draw):
            '''Every number is lost.'''
            student(draw(3))

        @exercise("run_whole")
        def test_counts(student, draw):
            '''The places are counted.'''
            student(draw(3))

        @exercise("run_listed")
        def test_lists(student):
            '''The list has an end.'''
            list(student(3))

        @exercise("run_listed")
        def test_lists_as_many(student):
            '''Another function, which has no tests of its own, gives the number.'''
            assert list(student(3)) == [student.other("run_helped")(3) - 7]
        """,
}
SCALES = "tests/public/test_loose.py::test_scales"
_NAMES = ("scaled", "filled", "lost", "whole", "listed", "helped")
EXERCISES = [f"run_{it}" for it in _NAMES]
SCALED, FILLED, LOST, WHOLE, LISTED, HELPED = EXERCISES
MISSED, CAUGHT, SAME = Fate.MISSED, Fate.CAUGHT, Fate.EQUIVALENT

EDITS = [
    (SCALED, "x * 0.3", "x * (0.3)", SAME),
    (SCALED, "x * 0.3", "0.3 * x", SAME),
    (SCALED, "x * 0.3", "x * 0.1 * 3", SAME),
    (SCALED, "x * 0.3", "x * 0.3001", MISSED),
    (SCALED, "x * 0.3", "x * 0.4", MISSED),
    (SCALED, "x * 0.3", "x.double() * 0.3", MISSED),
    (SCALED, "x * 0.3", "x.nan_to_num(0, 1, 1) * 0.3", MISSED),
    (SCALED, "x * 0.3", "1 / 0", CAUGHT),
    (SCALED, "def run_scaled", "def run_other", CAUGHT),
    (SCALED, "import torch", "import torch; 1 / 0", CAUGHT),
    (SCALED, "import torch", "import torch; raise SystemExit", CAUGHT),
    (FILLED, "(3,)", "[3]", SAME),
    (FILLED, "(3,)", "(1,)", MISSED),
    (FILLED, "2.0", "2.0001", MISSED),
    (LOST, 'x * float("nan")', 'float("nan") * x', SAME),
    (LOST, 'x * float("nan")', "x * 0.0", MISSED),
    (WHOLE, "torch.arange(len(x))", "torch.arange(len(x)) * 1", SAME),
    (WHOLE, "torch.arange(len(x))", "torch.arange(len(x)) + 1", MISSED),
    (WHOLE, "torch.arange(len(x))", "torch.arange(len(x)).int()", MISSED),
    (LISTED, "yield n", "yield n; [][0]", CAUGHT),
    (LISTED, "yield n", "yield from [n]", SAME),
    (HELPED, "n + 7", "n + 8", CAUGHT),
    (HELPED, "n + 7", "7 + n", SAME),
]


@pytest.fixture(scope="module")
def course(tmp_path_factory) -> Path:
    """An assignment with tests that catch next to nothing."""
    return write_files(tmp_path_factory.mktemp("loose"), COURSE)


@pytest.fixture(scope="module")
def examined(course) -> tuple[Reach, Mapping[str, Fate], float]:
    """The lines and calls of the right programs, the edits' outcomes, and a limit in seconds."""

    def examine(suite: Suite) -> tuple[Reach, Mapping[str, Fate], float]:
        programs, judge = References(course), Judge(suite, SEED)
        reach, right = reach_of(suite, programs, judge, (SEED + 1,), suite.assignment.points)
        runner = MutantRunner(suite, judge, programs, right, reach)
        source = programs.source("solutions")
        candidates = {
            f"{role}: {new}": Candidate("solutions", an_edit(source, old, new), (role,))
            for role, old, new, _ in EDITS
        }
        found = {name: runner.examine(one) for name, one in candidates.items()}
        return reach, found, runner.may_take(next(iter(candidates.values())))

    with imported_alone():
        return Suite(find_assignment(course)).open(examine)


def an_edit(source: str, old: str, new: str) -> Edit:
    """Returns the edit that replaces a text, which stands once in the source."""
    assert source.count(old) == 1
    start = source.index(old)
    line = source[:start].count("\n") + 1
    return Edit("it", line, (line,), 1.0, (Replacement(start, start + len(old), new),), "it", None)


@pytest.mark.parametrize(
    ("role", "old", "new", "outcome"), EDITS, ids=[f"{role}: {new}" for role, _, new, _ in EDITS]
)
def test_an_edit_is_judged_by_its_answers(examined, role, old, new, outcome):
    """Equal bytecode or answers have no effect; rounding is told from a small change."""
    del old
    assert examined[1][f"{role}: {new}"] == outcome


def test_each_function_gets_its_own_copies_of_nested_inputs():
    """An edit that writes into a list's tensor must not change the calls of the next edit."""

    def doubled(rows: list[torch.Tensor]) -> torch.Tensor:
        return rows[0].mul_(2)

    call = Call("run_doubled", {"rows": [torch.ones(2)]})
    for _ in range(2):
        (answer,) = answers(doubled, [call], Path(), {})
        assert isinstance(answer.value, torch.Tensor)
        assert answer.value.tolist() == [2.0, 2.0]


def test_the_lines_and_calls_of_right_programs_are_recorded(examined, course):
    """A call that was made before is kept once; another draw adds its own calls."""
    reach, _, seconds = examined
    lines = References(course).source("solutions").splitlines()
    scaled = lines.index("    return x * 0.3") + 1
    assert reach.lines["solutions"][scaled] == {SCALED}
    assert reach.of("solutions", {scaled, scaled + 3}) == {SCALED, FILLED}
    assert reach.of("solutions", {1}) == reach.of("elsewhere", {scaled}) == set()
    assert (len(reach.own["run_scaled"]), len(reach.further["run_scaled"])) == (2, 2)
    assert len(reach.calls(SCALED)) == 4
    assert seconds >= 5.0


def test_wrong_programs_are_no_right_programs(course):
    """Mistakes and habits are not edited; every module can be read and placed."""
    programs = References(course)
    assert [*programs.files] == ["solutions"]
    assert programs.place("solutions.mistakes") == "solutions/mistakes.py"


def test_loading_programs_leaves_the_imported_modules_in_place(course):
    """A program with an edit replaces the package only while it is loaded."""
    with imported_alone():
        sys.path.insert(0, str(course))
        import solutions

        loaded = References(course).load({})
        assert sys.modules["solutions"] is solutions
        assert loaded["run_scaled"] is not solutions.run_scaled
        assert {*loaded} == {*EXERCISES}


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"solutions/__init__.py": COURSE["solutions/__init__.py"].replace("x * 0.3", "1 / 0")},
         f"the references fail {SCALES}: see `grader verify`"),
        ({"solutions/edits.toml": "[[edit]]\n"}, "solutions/edits.toml cannot be read: 'after'"),
        ({"solutions/edits.toml": "edit\n"}, "solutions/edits.toml cannot be read: "),
        ({"solutions/edits.toml": "edit = 3\n"}, "solutions/edits.toml cannot be read: "),
    ],
    ids=["reference", "missing key", "not TOML", "not a table"],
)  # fmt: skip
def test_a_course_whose_right_programs_fail_is_refused(tmp_path, files, said):
    """Edits of a program that is not right would say nothing about the tests."""
    root = write_files(tmp_path / "course", COURSE | files)
    with imported_alone(), pytest.raises(BadAssignment) as refused:
        mutate(find_assignment(root), 1, lambda *_: None)
    assert said in str(refused.value)


def test_arguments_in_another_encoding_are_refused(tmp_path):
    """The refusal says where the file is not UTF-8."""
    root = write_files(tmp_path / "course", COURSE)
    (root / "solutions/edits.toml").write_bytes('why = "für"'.encode("latin-1"))
    with pytest.raises(BadAssignment, match=r"edits\.toml cannot be read: .*position 8"):
        mutate(find_assignment(root), 1, lambda *_: None)


def test_a_line_of_a_statement_knows_the_lines_of_the_whole():
    """A compound statement ends before its body, and each inner statement is its own."""
    source = "x = (1 +\n     2)\nfor i in (\n    x\n):\n    y = i\nif x: z = 1\n"
    assert statement_lines(source) == {
        1: range(1, 3), 2: range(1, 3), 3: range(3, 6), 4: range(3, 6), 5: range(3, 6),
        6: range(6, 7), 7: range(7, 8),
    }  # fmt: skip


def a_trial(fate: Fate) -> MutationTrial:
    """Returns the trial of an edit that changes two lines."""
    return MutationTrial("solutions/a.py", 4, ("a", "b"), ("c", "d"), fate)


def test_missed_edits_and_stale_arguments_are_printed_before_the_counts():
    trials = [a_trial(Fate.MISSED), a_trial(Fate.CAUGHT), a_trial(Fate.ARGUED)]
    trials += [a_trial(Fate.EQUIVALENT)] * 3
    found = Mutations((*trials,), ("solutions/a.py: e",))
    assert [*in_words(found)] == [
        *("solutions/a.py:4", "- a", "+ c", "- b", "+ d", ""),
        "solutions/edits.toml excuses an edit that is caught, equivalent or gone: "
        "solutions/a.py: e",
        "6 edits: 1 caught, 3 equivalent, 1 argued away, 1 missed",
    ]
    assert [*difference(trials[0])] == ["solutions/a.py:4", "- a", "+ c", "- b", "+ d"]
    assert trials[0].changes == [("solutions/a.py", "a", "c"), ("solutions/a.py", "b", "d")]


@pytest.mark.parametrize(
    ("fates", "stale", "holds"),
    [
        ([Fate.CAUGHT, Fate.EQUIVALENT, Fate.ARGUED], (), True),
        ([Fate.CAUGHT, Fate.MISSED], (), False),
        ([Fate.CAUGHT], ("solutions/a.py: e",), False),
    ],
)
def test_a_missed_edit_or_a_stale_argument_fails_the_mutation_test(fates, stale, holds):
    """An argument for an edit counts as much as a test."""
    assert Mutations(tuple(map(a_trial, fates)), stale).holds is holds
