"""Follow-up errors: right code that builds on another exercise's mistake loses no points."""

import io
import json
import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from rich.console import Console

import grader
from grader.core.assignment import BadAssignment, Settings
from grader.core.points import OF_THE_VALUES, total
from grader.core.verdict import Carried, Grade, Status
from grader.grading.job.client import JobClient
from grader.grading.options import Task
from grader.intake.entry import Entry
from grader.reports.export.gradescope import Display, results
from grader.reports.letter import letters
from grader.reports.single import credited, print_grade
from grader.results.decisions.opening import open_settling
from grader.results.decisions.settlement import ChangeKind
from grader.results.store import Store
from tests.harness import mistaken_programs
from tests.harness.conftest import ROOT, TINY, write_files
from tests.harness.export_fixtures import a_grade, a_verdict
from tests.harness.marks import rest_slow
from tests.harness.mistaken_programs import modular, repeated

pytestmark = pytest.mark.process

WEIGHTS, ATTENTION = "run_attention_weights", "run_scaled_dot_product_attention"
SELF, CAUSAL = "run_self_attention", "run_causal_self_attention"
MULTIHEAD_SELF, MULTIHEAD = "run_multihead_self_attention", "run_multihead_attention"
WITH_ROPE, STACKED = "run_multihead_self_attention_with_rope", "run_multihead_attention_stacked"
# The commonest mistakes, each with its root exercise and others in which it may be repeated.
COMMON = {
    "no-scale": (mistaken_programs.NO_SCALE, (WEIGHTS, SELF, MULTIHEAD_SELF)),
    "scale-by-d_k": (mistaken_programs.SCALE_BY_D_K, (WEIGHTS, ATTENTION, CAUSAL)),
    "mask-inverted": (mistaken_programs.MASK_INVERTED, (WEIGHTS, ATTENTION, STACKED)),
    "softmax-over-queries": (
        mistaken_programs.SOFTMAX_OVER_QUERIES,
        (WEIGHTS, ATTENTION, MULTIHEAD),
    ),
    "causal-missing": (
        mistaken_programs.CAUSAL_MISSING,
        ("run_causal_mask", CAUSAL, MULTIHEAD_SELF),
    ),
    "causal-reversed": (mistaken_programs.CAUSAL_REVERSED, ("run_causal_mask", STACKED, WITH_ROPE)),
    "heads-split-without-transpose": (mistaken_programs.HEADS_SPLIT, (MULTIHEAD_SELF, MULTIHEAD)),
    "projection-transposed": (mistaken_programs.PROJECTION_TRANSPOSED, (MULTIHEAD_SELF, WITH_ROPE)),
    "rope-half-split": (mistaken_programs.ROPE_HALF_SPLIT, ("run_rope", WITH_ROPE)),
    "rope-frequency": (mistaken_programs.ROPE_FREQUENCY, ("run_rope", WITH_ROPE)),
}
GradeProgram = Callable[[str], Grade]


@pytest.fixture(scope="module")
def graded(tmp_path_factory) -> Iterator[GradeProgram]:
    """A function that grades a program against this project's assignment, once for each program."""
    (client,) = JobClient.several(
        Settings(str(ROOT), 7, (), "adapters.py", 480.0, 1024, "suite"), 1, submissions=1
    )
    known: dict[str, Grade] = {}

    def grade(program: str) -> Grade:
        if program not in known:
            folder = write_files(tmp_path_factory.mktemp("program"), {"adapters.py": program})
            known[program] = client.grade(Task(Entry("student", folder), 0, "hash", ""))
        return known[program]

    yield grade
    client.close()


def final_points(grade: Grade) -> float:
    """Returns the points, including those that come back."""
    return total([grade.score, *(one.points for one in grade.carried)])


def lost_points(grade: Grade) -> dict[str, float]:
    """Returns the points that stay lost, by exercise, without zeros."""
    exercises = {test.exercise for test in grade.tests}
    left = {
        name: total(test.max_score - test.score for test in grade.tests if test.exercise == name)
        - sum(one.points for one in grade.carried if one.exercise == name)
        for name in exercises
    }
    return {name: round(points, 2) for name, points in left.items() if points > 0.001}


def root_of(exercise: str, grade: Grade) -> str | None:
    """Returns the root exercise at which an exercise's mistake was deducted."""
    return next((one.root for one in grade.carried if one.exercise == exercise), None)


def test_a_right_program_earns_full_marks_in_both_forms(graded):
    """Both forms earn full marks, so that later tests see the mistake's effect alone."""
    assert graded(modular({})).score == graded(repeated({}, ())).score == 100
    assert graded(modular({})).carried == ()


@pytest.mark.parametrize("mistake", rest_slow(COMMON, 8))
def test_one_wrong_helper_costs_points_only_in_its_root_exercise(graded, mistake):
    """The ten exercises that build on it are right code: one line to fix, one exercise lost."""
    wrong, (root, *_) = COMMON[mistake]
    grade = graded(modular(wrong))
    lost = lost_points(grade)
    assert lost.pop(root) > 0
    # The simplest attention builds on no other exercise.
    assert lost.keys() <= {"run_simple_self_attention"}
    assert {(one.root, one.mistake) for one in grade.carried} == {(root, mistake)}


@pytest.mark.parametrize("mistake", rest_slow(COMMON, 9))
def test_a_program_with_helpers_loses_no_more_than_one_with_copied_code(graded, mistake):
    wrong, places = COMMON[mistake]
    worth = {test.exercise: 0.0 for test in graded(modular({})).tests}
    for test in graded(modular({})).tests:
        worth[test.exercise] += test.max_score
    one, other = graded(modular(wrong)), graded(repeated(wrong, places))
    assert abs(final_points(one) - final_points(other)) <= sum(worth[name] for name in places)
    everywhere = graded(repeated(wrong, mistaken_programs.EXERCISES))
    assert final_points(everywhere) == final_points(one)


def test_the_score_of_a_grade_stays_the_sum_of_its_tests(graded):
    """The grade holds the sum of its tests and, separately, the points that come back."""
    grade = graded(modular(mistaken_programs.NO_SCALE))
    assert (grade.score, final_points(grade)) == (33, 94)
    assert grade.score == total(test.score for test in grade.tests)
    sentence = next(one.sentence(True) for one in grade.carried if one.exercise == WITH_ROPE)
    assert sentence == (
        "Its only error is that of run_attention_weights (no-scale), where it was already deducted."
    )


def test_platforms_that_know_one_score_get_the_final_one(graded):
    """The parts add up to the final score, and the output gives the reason."""
    grade = graded(modular(mistaken_programs.NO_SCALE))
    told = results(credited(grade), Display())
    assert told["score"] == final_points(grade)
    assert sum(entry["score"] for entry in told["tests"]) == final_points(grade)
    assert "run_self_attention: full marks (+5 points). Its only error is that" in told["output"]
    assert credited(graded(modular({}))) == graded(modular({}))


@pytest.mark.unit
def test_a_settlement_begins_with_the_carried_points(tmp_path):
    """Each change of points names the rule behind it."""
    with Store.open(tmp_path, "attention") as store:
        carried = (Carried("run_rope", "a", "b", 2.0),)
        grade = a_grade("tom", a_verdict("run_rope", 0.0, 3.0), carried=carried)
        store.add(grade, "key", 0)
    (own,) = open_settling(Store.read(tmp_path)).settle(grade)
    assert (own.machine, own.hundredths, own.of_kind(ChangeKind.CARRIED)) == (0, 200, 200)
    assert own.changes[0].source == "[tool.grader] carry_over"


@pytest.mark.unit
@pytest.mark.parametrize(
    ("back", "lost"), [(4, ["(-3 points)"]), (2, ["(-3 points)", "(-2 points)"])]
)
def test_letter_and_terminal_show_the_same_final_points(tmp_path, back, lost):
    """Exercises and deductions add up, and restored tests have no note about reduced points."""
    less = f"earns none of its points, because none {OF_THE_VALUES}"
    tests = (
        a_verdict("run_softmax", 1.0, 4.0, message="wrong"),
        a_verdict("run_rope", 0.0, 3.0, message="wrong too"),
        a_verdict("run_rope", 0.0, 1.0, id="other", status=Status.PASSED, message=less),
    )
    with Store.open(tmp_path, "attention") as store:
        grade = a_grade("tom", *tests, carried=(Carried("run_rope", "a", "b", float(back)),))
        store.add(grade, "key", 0)
    results = Store.read(tmp_path)
    (letter,) = letters(results, open_settling(results), apart=True)
    console = Console(file=io.StringIO(), width=120)
    print_grade(grade, console)
    for told in (letter.text, console.file.getvalue()):
        assert f"{1 + back} of 8" in told
        assert re.search(rf"run_rope:? +{back} (of|/) 4", told), told
        assert re.findall(r"\(-[\d.]+ points\)", told) == lost
        assert "earns none" not in told


def test_no_points_come_back_if_the_root_exercise_is_right(graded):
    """The mistake was then made in the failing exercise itself."""
    grade = graded(repeated(mistaken_programs.NO_SCALE, (MULTIHEAD_SELF,)))
    assert (grade.carried, lost_points(grade)) == ((), {MULTIHEAD_SELF: 12})


def test_the_next_root_loses_the_points_if_the_first_is_right(graded):
    """A student may write attention without calling the weights exercise."""
    grade = graded(modular(mistaken_programs.NO_SCALE, others=[WEIGHTS]))
    assert lost_points(grade) == {ATTENTION: 10}
    assert root_of(WITH_ROPE, grade) == ATTENTION


def test_the_next_root_loses_the_points_if_the_first_is_missing(graded):
    """A missing exercise stays missing, and cannot be a root."""
    program = modular(mistaken_programs.NO_SCALE).replace(
        "def run_attention_weights(", "def unasked("
    )
    grade = graded(program)
    assert lost_points(grade) == {WEIGHTS: 6, ATTENTION: 10}
    assert root_of(MULTIHEAD, grade) == ATTENTION


def test_an_additional_mistake_is_also_deducted(graded):
    """The answers then differ from those of right code that builds on the root."""
    program = modular(mistaken_programs.NO_SCALE).replace(
        "mask = Shared.causal(in_features.shape[-2], in_features.device)",
        "mask = None",
    )
    grade = graded(program)
    assert root_of(STACKED, grade) is None
    assert lost_points(grade) == {WEIGHTS: 6, STACKED: 6}


def test_points_for_other_faults_of_the_exercise_do_not_come_back(graded):
    """Points for an overwritten input or a loop would also be lost with a right root."""
    right = "return Shared.attend(Q, K, V, mask)"
    program = modular(mistaken_programs.NO_SCALE).replace(
        right, f"V.add_(0), Q.mul_(1.5)\n    {right}"
    )
    once = "Q = Q.clone()\n    "
    grade = graded(program)
    assert root_of(ATTENTION, grade) is None, "twice the same call has two answers"
    slow = "for _ in range(Q.shape[-2] * K.shape[-2]): Q = Q + 0\n    "
    grade = graded(modular(mistaken_programs.NO_SCALE).replace(right, f"{once}{slow}{right}"))
    own = [test for test in grade.tests if test.exercise == ATTENTION]
    looped = [test for test in own if test.aspect == "efficiency" and test.status != "passed"]
    assert looped
    assert root_of(ATTENTION, grade) == WEIGHTS
    assert lost_points(grade)[ATTENTION] == total(test.max_score for test in looped)


@pytest.mark.parametrize("number", rest_slow(["nan", "inf", "0"], 2))
def test_no_points_come_back_for_nan_or_zeros(graded, number):
    """Right code that builds on a wrong root returns neither NaN nor zeros."""
    right = "return Shared.attend(Q, K, V, mask)"
    program = modular(mistaken_programs.NO_SCALE).replace(right, f"{right} * 0 + float('{number}')")
    grade = graded(program)
    assert root_of(ATTENTION, grade) is None
    assert lost_points(grade)[ATTENTION] > 5


def test_fixing_the_root_earns_more_than_the_points_that_come_back(graded):
    wrong = (WEIGHTS, MULTIHEAD_SELF, MULTIHEAD, WITH_ROPE)
    assert final_points(graded(repeated(mistaken_programs.NO_SCALE, wrong))) < 100
    assert math.isclose(final_points(graded(repeated(mistaken_programs.NO_SCALE, wrong[:1]))), 94)


TWO = TINY | {
    "adapters.py": """
        from beartype import beartype
        from jaxtyping import Float, jaxtyped
        from torch import Tensor

        import assignment

        @jaxtyped(typechecker=beartype)
        def run_double(x: Float[Tensor, "... n"]) -> Float[Tensor, "... n"]:
            return assignment.double(x)

        @jaxtyped(typechecker=beartype)
        def run_count(x: Float[Tensor, "... n"]) -> Float[Tensor, "... n"]:
            return assignment.count(x)
        """,
    "solutions/__init__.py": """
        def run_double(x):
            return 2 * x

        def run_count(x):
            return run_double(x) + 1
        """,
    "solutions/mistakes.py": """
        from dataclasses import dataclass

        @dataclass(frozen=True)
        class Mistake:
            id: str
            explanation: str
            hint: str
            variants: dict

        MISTAKES = (
            Mistake("tripled", "Every number is tripled.", "How often is x added?",
                    {"run_double": (lambda x: 3 * x,), "run_count": (lambda x: 3 * x + 1,)}),
        )
        BUILDS_ON = {"run_count": ("run_double",)}
        """,
    "tests/public/test_tiny.py": """
        import pytest
        from grader.testing import assert_matches, exercise

        @exercise("run_double")
        @pytest.mark.parametrize("size", [2, 3])
        def test_doubles(student, reference, draw, size):
            '''Every number is doubled.'''
            x = draw(2, size)
            assert_matches(student(x), reference(x))

        @exercise("run_count")
        @pytest.mark.parametrize("size", [2, 3])
        def test_counts(student, reference, draw, size):
            '''The next number is told.'''
            x = draw(2, size)
            assert_matches(student(x), reference(x))
        """,
    "tests/hidden/test_tiny.py": "",
}
TRIPLED = {"adapters.py": "def run_double(x): return 3 * x\ndef run_count(x): return 3 * x + 1\n"}


@pytest.mark.parametrize(
    ("share", "points"), rest_slow([("", [1.0]), (30, [0.3]), (0, [])], 2, rows=True)
)
def test_carry_over_sets_the_share_of_points_that_comes_back(tmp_path, share, points):
    """All points come back unless `carry_over` sets a percentage; results.jsonl holds them."""
    said = f"carry_over = {share}" if share != "" else ""
    table = TWO["pyproject.toml"].replace("call_timeout = 2", f"call_timeout = 2\n{said}")
    course = write_files(tmp_path / "course", TWO | {"pyproject.toml": table})
    write_files(tmp_path / "class" / "tom", TRIPLED)
    grader.batch(tmp_path / "class", tmp_path / "out", assignment=course, jobs=1)
    (row,) = map(json.loads, (tmp_path / "out" / "results.jsonl").read_text().splitlines())
    assert row["score"] == 0
    assert row["carried"] == [
        {"exercise": "run_count", "root": "run_double", "mistake": "tripled", "points": one}
        for one in points
    ]
    (grade,) = Store.read(tmp_path / "out").grades()
    assert [one.points for one in grade.carried] == points


@pytest.mark.parametrize(
    ("builds_on", "said"),
    [
        (
            '{"run_count": ("run_doubel",)}',
            "BUILDS_ON names 'run_doubel', which is not an exercise",
        ),
        (
            '{"run_count": ("run_double",), "run_double": ("run_count",)}',
            "BUILDS_ON goes in a circle",
        ),
    ],
)
def test_a_wrong_builds_on_table_stops_the_command(tmp_path, builds_on, said):
    """A wrong `BUILDS_ON` table stops the command before any submission is graded."""
    mistakes = TWO["solutions/mistakes.py"].replace('{"run_count": ("run_double",)}', builds_on)
    course = write_files(tmp_path / "course", TWO | {"solutions/mistakes.py": mistakes})
    tom = write_files(tmp_path / "tom", TRIPLED)
    with pytest.raises(BadAssignment, match=said):
        grader.grade(Path(tom), assignment=course)


def test_carried_points_are_computed_again_after_a_test_changes(tmp_path):
    """After a change of the root's tests, the points that come back are computed again."""
    hidden = TWO["tests/public/test_tiny.py"]
    course = write_files(tmp_path / "course", TWO)
    write_files(tmp_path / "class" / "tom", TRIPLED)
    out = tmp_path / "out"
    grader.batch(tmp_path / "class", out, assignment=course, jobs=1)
    for sizes, points in (("[2, 3, 4]", [1.0]), ("[2]", []), ("[2, 3]", [1.0])):
        changed = hidden.replace("[2, 3]", sizes, 1)
        write_files(course, {"tests/public/test_tiny.py": changed})
        grader.batch(tmp_path / "class", out, assignment=course, jobs=1)
        (grade,) = Store.read(out).grades()
        assert [one.points for one in grade.carried] == points, sizes
