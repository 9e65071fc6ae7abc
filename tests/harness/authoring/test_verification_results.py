"""`verify` finds each kind of fault in an assignment, and names its place."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from grader.authoring.seen_mistakes import add_to_course
from grader.authoring.verification import Verification, verify
from grader.core.assignment import BadAssignment, find_assignment
from grader.core.explanation import WrongAnswer, WrongAnswers
from grader.core.verdict import Diagnosis
from grader.explain.mistakes.named_mistakes import NamedMistake
from tests.harness.conftest import TINY, write_files
from tests.harness.own_course import imported_alone

pytestmark = pytest.mark.unit

FORBIDDEN = '[tool.grader.forbidden]\n        "aten::softmx" = 50\n        '
MISTAKES = """
    from dataclasses import dataclass, field

    BUILDS_ON = {"run_count": ("run_double",)}

    @dataclass(frozen=True)
    class Mistake:
        id: str
        explanation: str
        hint: str
        variants: dict
        echoes: tuple = ()

    def refuses(x):
        raise ValueError("no")

    MISTAKES = (
        Mistake("tripled", "Every number is tripled.", "How often is x added?",
                {"run_double": (lambda x: 3 * x, lambda x: x + x + x)}),
        Mistake("right", "Nothing is wrong.", "Is it?", {"run_double": (lambda x: 2 * x,)}),
        Mistake("refused", "Nothing is doubled.", "Why not?", {"run_double": (refuses,)}),
        Mistake("rows", "Only rows are counted.", "What about columns?",
                {"run_count": (lambda x: x.shape[0],)}),
        Mistake("nothing", "Nothing is counted.", "What is there?", {"run_count": (lambda x: 0,)}),
        Mistake("negative", "Less is counted.", "What is there?",
                {"run_count": (lambda x: -1,)}, ("run_count",)),
    )
    HABITS = (
        Mistake("in-place", "The input changes.", "Whose tensor is it?",
                {"run_double": (lambda x: x.mul_(2),)}),
    )
"""
VARIANTS = """
    from types import SimpleNamespace

    VARIANTS = (
        SimpleNamespace(name="added", functions={"run_double": lambda x: x + x}),
        SimpleNamespace(name="flat", functions={"run_count": lambda x: x.shape[-1]}),
    )
"""
PUBLIC = """
    import torch
    from grader.testing import assert_inputs_unchanged, assert_matches, exercise

    @exercise("run_double")
    def test_doubles(student, reference, draw):
        '''Every number is doubled.'''
        x = draw(2, 3)
        assert_matches(student(x), reference(x))

    @exercise("run_double")
    def test_ones(student, reference):
        '''Ones become twos.'''
        x = torch.ones(3)
        assert_matches(student(x), reference(x))

    @exercise("run_double", aspect="discipline")
    def test_leaves_its_input_alone(student, draw):
        '''The caller's tensor stays as it was.'''
        assert_inputs_unchanged(student, draw(3))

    @exercise("run_count")
    def test_counts(student, reference, draw):
        '''The numbers are counted.'''
        x = draw(2, 3)
        assert_matches(student(x), reference(x))

    @exercise("run_count", aspect="generality")
    def test_none(student, reference, draw):
        '''No numbers are counted.'''
        x = draw(0)
        assert_matches(student(x), reference(x))
"""
HIDDEN = """
    from grader.testing import assert_matches, exercise

    @exercise("run_count")
    def test_one_more(student, reference, draw):
        '''One more than the numbers is counted.'''
        x = draw(4)
        assert_matches(student(x), reference(x) + 1)
"""
DOUBLES, ONES, ALONE, COUNTS, NONE = (
    f"tests/public/test_tiny.py::test_{name}"
    for name in ("doubles", "ones", "leaves_its_input_alone", "counts", "none")
)
ONE_MORE = "tests/hidden/test_tiny.py::test_one_more"


def flawed(folder: Path) -> Path:
    """Writes an assignment with a fault of every kind."""
    files = {
        "pyproject.toml": TINY["pyproject.toml"].replace(
            "[tool.pytest", f"{FORBIDDEN}[tool.pytest"
        ),
        "solutions/mistakes.py": MISTAKES,
        "solutions/variants.py": VARIANTS,
        "tests/public/test_tiny.py": PUBLIC,
        "tests/hidden/test_tiny.py": HIDDEN,
    }
    root = write_files(folder, TINY | files)
    answer = WrongAnswer(DOUBLES, 0, True, (1,), (0.5,), (1e-6, 1e-5), "x: float32[1]", 1)
    said = Diagnosis("halved", "You halve.", "What is twice one?")
    add_to_course(root / "solutions", [NamedMistake(said, WrongAnswers("run_double", (answer,)))])
    return root


@pytest.fixture(scope="module")
def verification(tmp_path_factory) -> Verification:
    """The verification of that assignment."""
    root = flawed(tmp_path_factory.mktemp("flawed"))
    with imported_alone():
        return verify(find_assignment(root))


def unjust(verification: Verification) -> list[str]:
    """Returns the tests that a reference fails, with the reasons."""
    start = "the reference fails "
    return [one.removeprefix(start) for one in verification.complaints if one.startswith(start)]


def test_a_reference_that_fails_a_test_is_reported_with_the_reason(verification):
    """The line holds the test, and the first line of its message."""
    (line,) = unjust(verification)
    assert line.startswith(f"{ONE_MORE}: ")
    assert len(line.splitlines()) == 1


OF_A_COUNT = """
    from grader.testing import assert_gradients_match, exercise

    @exercise("run_count")
    def test_counts(student, reference, draw):
        '''The count has a gradient.'''
        x = draw(3)
        assert_gradients_match(student, reference, x, wrt=("x",), x=x)
"""


def test_an_author_sees_how_far_a_reference_is_off_and_why_a_test_is_broken(tmp_path):
    solutions = TINY["solutions/__init__.py"].replace("2 * x", "2 * x + 1e4 - 1e4")
    files = {"solutions/__init__.py": solutions, "tests/hidden/test_tiny.py": OF_A_COUNT}
    root = write_files(tmp_path, TINY | files)
    with imported_alone():
        off, broken = unjust(verify(find_assignment(root)))
    assert re.search(r"wrong numbers: Every number is doubled. .* off by [\d.]+, \d+ times", off)
    assert "(rtol=1.3e-06, atol=1e-05). It ran in the test's dtypes; the expected" in off
    assert "::test_counts: run_count has no tensor to differentiate" in broken


OF_OPERATIONS = """
    from grader.testing import assert_matches, assert_work_does_not_grow, exercise

    @exercise("run_double", aspect="efficiency")
    def test_work(student, reference, draw):
        '''The work does not grow.'''
        small, large = {"x": draw(2)}, {"x": draw(20)}
        assert_work_does_not_grow(student, reference, small, large)

    @exercise("run_count")
    def test_of_the_shape(student, draw):
        '''The count is a pair.'''
        assert_matches(student(draw(3)), (3, 3))
"""


def unjust_to(folder, doubled, tests):
    """Returns what an author reads of tests that the reference `doubled` fails."""
    solutions = TINY["solutions/__init__.py"].replace("2 * x", doubled)
    files = {"solutions/__init__.py": solutions, "tests/hidden/test_tiny.py": tests}
    root = write_files(folder, TINY | files)
    with imported_alone():
        return unjust(verify(find_assignment(root)))


def test_an_author_reads_the_message_of_any_assertion_that_a_reference_fails(tmp_path):
    loop = 'getattr(__import__("torch"), "stack")([2 * a for a in x])'
    said = unjust_to(tmp_path, loop, OF_OPERATIONS)
    work, pair = (next(one for one in said if name in one) for name in ("_work", "_of_the_shape"))
    assert re.search(r"The work does not grow \(run_double makes \d+ torch operations for", work)
    assert "The count is a pair (the result is" in pair


OF_REFUSALS = """
    from grader.testing import exercise

    @exercise("run_double", aspect="generality")
    def test_of_nothing(student, draw):
        '''No numbers are doubled.'''
        student(draw(0))

    @exercise("run_double", aspect="generality")
    def test_of_one(student, draw):
        '''One number is doubled.'''
        student(draw(1))
"""


def test_an_author_reads_which_answer_of_a_reference_is_refused_and_where_it_raises(tmp_path):
    """A verdict names only the kind of the fault, as the graded draw is secret; verify has none."""
    right = "2 * x if len(x) > 1 else [1][len(x) - 1:] if len(x) else 1 / 0"
    raised, refused = unjust_to(tmp_path, right, OF_REFUSALS)
    assert raised.endswith("ZeroDivisionError: division by zero (solutions/__init__.py:3)")
    assert "run_double" in refused
    assert "must" in refused
    assert "not a list" in refused


BARE = """
    from grader.testing import exercise

    @exercise("run_double")
    def test_bare(student, draw):
        '''Twice is not zero.'''
        if student(draw(3)).any():
            raise AssertionError  # as a bare `assert` does
"""


def test_an_author_reads_a_sentence_where_an_assertion_has_no_message(tmp_path):
    root = write_files(tmp_path, TINY | {"tests/hidden/test_tiny.py": BARE})
    with imported_alone():
        (said,) = (one for one in unjust(verify(find_assignment(root))) if "test_bare" in one)
    assert said.endswith("does not hold: Twice is not zero.")


OF_SIX = """
    import pytest
    import torch
    from grader.testing import assert_matches, exercise

    @exercise("run_double")
    @pytest.mark.parametrize("size", range(1, 9))
    def test_of_six(student, reference, draw, size):
        '''Six inputs of each size.'''
        x = torch.full((size,), float(draw.integers(0, 6)))
        assert_matches(student(x), reference(x))
"""


def test_a_small_range_of_inputs_does_not_count_as_remembered_answers(tmp_path):
    """One draw in six is that of another seed by chance."""
    root = write_files(tmp_path, TINY | {"tests/hidden/test_tiny.py": OF_SIX})
    with imported_alone():
        complaints = verify(find_assignment(root)).complaints
    assert [one for one in complaints if "remembered" in one and "of_six" in one] == []


def test_each_fault_of_the_tests_is_reported_once(verification):
    """A name, a place or a pair says what to look at; faultless tests are not listed."""
    assert [*map(without_reasons, verification.complaints)] == [
        f"the reference fails {ONE_MORE}",
        f"the right variant 'flat' fails {COUNTS}",
        f"the right variant 'flat' fails {ONE_MORE}",
        "right in run_double passes every test",
        f"nothing wrong fails {NONE}",
        f"answers remembered from another draw pass {ONES}",
        "BUILDS_ON says that run_count builds on run_double, and no mistake is known in both",
        "halved does not answer in run_double as solutions/seen/halved.toml says that a class did",
        "[tool.grader.forbidden] lists aten::softmx, which does not exist",
    ]
    assert verification.misnamed == []


def without_reasons(complaint: str) -> str:
    """Returns the beginning of a complaint, up to the first colon of the sentence."""
    return complaint.split(": ")[0]


def test_answers_to_calls_that_no_test_makes_any_more_are_stale(tmp_path):
    """The mistake is listed, and the class answered a second call that was taken out since."""
    root = with_variants(tmp_path, '{"run_double": (lambda x: x,)}')
    answer = WrongAnswer(DOUBLES, 1, True, (1,), (0.5,), (1e-6, 1e-5), "x: float32[1]", 1)
    said = Diagnosis("lost", "E.", "H?")
    add_to_course(root / "solutions", [NamedMistake(said, WrongAnswers("run_double", (answer,)))])
    with imported_alone():
        complaints = verify(find_assignment(root)).complaints
    said = "lost.toml holds answers to calls of run_double that its tests no longer make: delete"
    assert [one for one in complaints if said in one]


def test_each_wrong_function_is_tried_with_its_way_and_kind(verification):
    """An exercise that a mistake echoes is left out: another mistake is named there."""
    found = {
        (one.mistake, one.exercise, one.way, one.is_habit): one.caught_by
        for one in verification.trials
    }
    assert found == {
        ("tripled", "run_double", 1, False): (DOUBLES, ONES),
        ("tripled", "run_double", 2, False): (DOUBLES, ONES),
        ("right", "run_double", 1, False): (),
        ("refused", "run_double", 1, False): (DOUBLES, ONES, ALONE),
        ("in-place", "run_double", 1, True): (ALONE,),
        ("rows", "run_count", 1, False): (COUNTS, ONE_MORE),
        ("nothing", "run_count", 1, False): (COUNTS, ONE_MORE),
    }


@pytest.mark.parametrize(
    ("mistake", "named", "why"),
    [
        ("tripled", "tripled", ""),
        ("nothing", "nothing", ""),
        ("refused", None, "it raises where it is wrong, and a mistake is named by its answers"),
        (
            "rows",
            None,
            "it shows in one case of values or generality (two are needed: another parameter or "
            "another test)",
        ),
        (
            "right",
            None,
            "it shows in no case of values or generality (cases of chance do not count)",
        ),
    ],
)
def test_a_mistake_without_its_name_gets_the_reason(verification, mistake, named, why):
    """The author sees which test is missing."""
    trial = next(one for one in verification.trials if one.mistake == mistake)
    assert (trial.named, trial.unnamed) == (named, why)


def test_each_test_has_the_mistakes_that_it_catches(verification):
    """A mistake with several ways is listed once."""
    assert verification.catches == {
        DOUBLES: ["tripled", "refused"],
        ONES: ["tripled", "refused"],
        ALONE: ["refused", "in-place"],
        COUNTS: ["rows", "nothing"],
        ONE_MORE: ["rows", "nothing"],
    }


def with_variants(folder: Path, variants: str) -> Path:
    """Writes the tiny assignment with one mistake, whose variants are given as source."""
    source = (
        "import torch\nfrom types import SimpleNamespace\n"
        f"lost = {{'id': 'lost', 'explanation': 'E.', 'hint': 'H?', 'variants': {variants}}}\n"
        "MISTAKES = (SimpleNamespace(**lost),)\n"
    )
    return write_files(folder, TINY | {"solutions/mistakes.py": source})


@pytest.mark.parametrize(
    ("variants", "said"),
    [
        ('{"run_doubel": (lambda x: x,)}', "lost lists run_doubel, which is not an adapter: did"),
        ('{"run_double": (lambda y: y,)}', "lost cannot be called with the parameters of run_dou"),
    ],
)
def test_a_mistake_that_no_test_can_call_is_refused(tmp_path, variants, said):
    """Each would be caught by the exception that it raises, whatever its author meant."""
    root = with_variants(tmp_path, variants)
    with imported_alone(), pytest.raises(BadAssignment, match=said):
        verify(find_assignment(root))


def test_a_mistake_in_an_adapter_without_a_reference_is_refused(tmp_path):
    """The adapter is no exercise, or not yet."""
    root = with_variants(tmp_path, '{"run_later": (lambda x: x,)}')
    with (root / "adapters.py").open("a") as adapters:
        adapters.write("\ndef run_later(x: Tensor) -> Tensor:\n    return x\n")
    with imported_alone(), pytest.raises(BadAssignment, match="run_later, which has no reference"):
        verify(find_assignment(root))


def test_a_builtin_function_may_be_a_mistake(tmp_path):
    """Python does not know its parameters."""
    root = with_variants(tmp_path, '{"run_double": (torch.exp,)}')
    with imported_alone():
        assert [one.mistake for one in verify(find_assignment(root)).trials] == ["lost"]
