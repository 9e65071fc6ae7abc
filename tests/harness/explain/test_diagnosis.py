"""Known mistakes: one is named if it explains every answer, and otherwise none is named."""

import shutil
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from grader.cli.api import grade as grade_once
from grader.core.verdict import Diagnosis
from tests.harness.marks import rest_slow

pytestmark = pytest.mark.process

COUNT = "def run_count(x):\n    return x.numel()\n"


def doubling(expression: str, count: str = COUNT) -> str:
    """Returns a submission whose `run_double` returns an expression in x."""
    return f"def run_double(x):\n    return {expression}\n\n{count}"


def test_an_answer_that_matches_a_known_mistake_gets_its_name(grade):
    """The diagnosis explains the error and gives a hint."""
    diagnosis = grade(doubling("3 * x"))["test_doubles"].diagnosis
    assert diagnosis.mistake == "tripled"
    assert diagnosis.explanation == "Every number is tripled."
    assert diagnosis.hint == "How often is x added?"


def test_a_mistake_may_have_several_numeric_variants(grade):
    """All variants share the mistake's name."""
    assert grade(doubling("4 * x"))["test_doubles"].diagnosis.mistake == "tripled"


def test_two_mistakes_that_agree_on_some_cases_are_told_apart_by_others(grade):
    """`moved` differs from `shifted` only on inputs with three axes."""
    assert grade(doubling("x + 2"))["test_doubles"].diagnosis.mistake == "shifted"
    moved = grade(doubling("x + 2 + (x.ndim == 3)"))
    assert moved["test_doubles"].diagnosis.mistake == "moved"


def test_two_mistakes_made_together_are_both_named(grade):
    """The diagnosis explains both mistakes."""
    diagnosis = grade(doubling("7 * x"))["test_doubles"].diagnosis
    assert diagnosis.mistake == "tripled + rows-counted"
    assert diagnosis.explanation == (
        "Two mistakes: every number is tripled. Only the rows are counted."
    )


@pytest.mark.parametrize(
    "expression",
    rest_slow(["2.5 * x", "3 * x + 0.01", "3 * x if x.ndim == 2 else 6 * x", "x * x"], 2),
)
def test_an_unknown_mistake_gets_no_diagnosis(grade, expression):
    """No explanation is better than a misleading one."""
    verdicts = grade(doubling(expression)).grade.tests
    assert any(verdict.status == "failed" for verdict in verdicts)
    assert [verdict.diagnosis for verdict in verdicts if verdict.diagnosis] == []


def test_a_single_wrong_case_gets_no_diagnosis(grade):
    """A mistake is named only if several cases show it."""
    verdicts = grade(doubling("3 * x if x.ndim == 1 else 2 * x")).grade.tests
    assert [verdict.diagnosis for verdict in verdicts if verdict.diagnosis] == []


def test_a_passed_test_has_no_diagnosis(grade):
    """A test that fails for another reason has none either."""
    graded = grade(doubling("(3 * x).detach()"))
    assert graded["test_doubles"].diagnosis.mistake == "tripled"
    assert graded["test_gradient"].diagnosis is None
    assert graded["test_is_the_same_twice"].status == "passed"
    assert graded["test_is_the_same_twice"].diagnosis is None


def test_a_test_of_efficiency_has_no_diagnosis(grade):
    """It fails for the work that it counts, and would fail if the answer were right."""
    program = doubling("torch.stack([3 * one for one in x.flatten()]).reshape(x.shape)")
    graded = grade(f"import torch\n{program}")
    assert graded["test_doubles"].diagnosis.mistake == "tripled"
    assert graded["test_work"].status == "failed"
    assert graded["test_work"].diagnosis is None


def test_an_exercise_names_the_mistake_of_the_part_that_it_uses(grade):
    """The exercise that uses the part names the part's mistake as the first to fix."""
    count = "def run_count(x):\n    return x.shape[0]\n"
    graded = grade(doubling("5 * x", count))
    assert graded["test_doubles"].diagnosis.explanation == "Only the rows are counted."


ATTENTION = """
    import math
    import torch

    def rotated(x, theta, positions):
        pairs = torch.arange(0, x.shape[-1], 2)
        angles = positions[..., None] * theta ** (-pairs / x.shape[-1])
        cos, sin = angles.cos(), angles.sin()
        even, odd = x[..., 0::2], x[..., 1::2]
        return torch.stack((even * cos - odd * sin, even * sin + odd * cos), -1).flatten(-2)

    def attended(q, k, v, hidden):
        scores = (q @ k.mT / math.sqrt(q.shape[-1])).masked_fill(hidden, -torch.inf)
        return scores.softmax(-1) @ v

    def run_self_attention(W_query, W_key, W_value, in_features):
        q, k, v = (in_features @ weight for weight in (W_query, W_key, W_value))
        return attended(q, k, v, torch.tensor(False))

    def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
        return rotated(in_query_or_key, theta, token_positions)

    def run_multihead_self_attention_with_rope(
        d_model, num_heads, max_seq_len, theta, q_proj_weight, k_proj_weight, v_proj_weight,
        o_proj_weight, in_features, token_positions=None,
    ):
        weights = (q_proj_weight, k_proj_weight, v_proj_weight)
        every = (in_features @ weight.T for weight in weights)
        q, k, v = (one.unflatten(-1, (num_heads, -1)).transpose(-3, -2) for one in every)
        seq = in_features.shape[-2]
        if token_positions is None:
            token_positions = torch.arange(seq)
        shared = token_positions[..., None, :]
        q, k = rotated(q, theta, shared), rotated(k, theta, shared)
        merged = attended(q, k, v, torch.ones(seq, seq, dtype=torch.bool).triu(1))
        return merged.transpose(-3, -2).flatten(-2) @ o_proj_weight.T
"""
ROOT = Path(__file__).parents[3]
WITH_ROPE = "run_multihead_self_attention_with_rope"


@pytest.fixture
def diagnosed(tmp_path) -> Callable[[Mapping[str, str]], dict[str, Diagnosis]]:
    """A function that returns the diagnosis of each exercise for attention with replaced text."""

    def told(exchanged: Mapping[str, str], *exercises: str) -> dict[str, Diagnosis]:
        text = textwrap.dedent(ATTENTION)
        for right, wrong in exchanged.items():
            assert text.count(right) == 1
            text = text.replace(right, wrong)
        (tmp_path / "adapters.py").write_text(text)
        tests = grade_once(tmp_path, assignment=ROOT, exercises=exercises, seed=5).tests
        return {test.exercise: test.diagnosis for test in tests if test.diagnosis is not None}

    return told


@pytest.mark.slow
def test_attention_with_rope_that_ignores_positions_has_the_rope_mistake(diagnosed):
    """Attention that never passes positions on looks the same, but one cause gets one name."""
    ignored = {"positions[..., None] *": "torch.arange(x.shape[-2])[..., None] *"}
    found = diagnosed(ignored, "run_rope", WITH_ROPE)
    assert {name: one.mistake for name, one in found.items()} == {
        "run_rope": "rope-positions-ignored",
        WITH_ROPE: "rope-positions-ignored",
    }
    assert found[WITH_ROPE].explanation == "The same mistake as in run_rope."


@pytest.mark.slow
def test_positions_ignored_by_attention_alone_are_its_own_mistake(diagnosed):
    """Here the rotation is right."""
    ignored = {"shared = token_positions[..., None, :]": "shared = torch.arange(seq)"}
    found = diagnosed(ignored, "run_rope", WITH_ROPE)
    assert {name: one.mistake for name, one in found.items()} == {
        WITH_ROPE: "mha-positions-ignored"
    }


@pytest.mark.slow
def test_transposed_output_and_input_projections_are_different_mistakes(diagnosed):
    """A student who fixes one of the two mistakes still has the other."""
    found = diagnosed(
        {"@ weight for": "@ weight.T for", "@ o_proj_weight.T": "@ o_proj_weight"},
        *("run_self_attention", WITH_ROPE),
    )
    assert {name: one.mistake for name, one in found.items()} == {
        "run_self_attention": "projection-transposed",
        WITH_ROPE: "output-projection-transposed",
    }
    assert not found[WITH_ROPE].explanation.startswith("The same mistake")


UNDERFLOWS = """
def run_softmax(in_features, dim):
    shifted = in_features - in_features.amax(dim, keepdim=True).clamp(min=0)
    return shifted.exp() / shifted.exp().sum(dim, keepdim=True)
"""


KEEPS_THE_LARGEST = """
import torch

largest = torch.tensor(0.0)

def run_softmax(in_features, dim):
    global largest
    largest = torch.maximum(largest, in_features.max())
    shifted = in_features - largest
    return shifted.exp() / shifted.exp().sum(dim, keepdim=True)
"""


@pytest.mark.parametrize("program", [UNDERFLOWS, KEEPS_THE_LARGEST], ids=["at once", "kept"])
def test_a_softmax_that_stands_large_numbers_does_not_overflow(tmp_path, program):
    """Numbers far below 0 alone give NaN; the known mistake also gives it for those far above."""
    (tmp_path / "adapters.py").write_text(program)
    tests = grade_once(tmp_path, assignment=ROOT, exercises=("run_softmax",), seed=5).tests
    assert [one.id for one in tests if "NaN" in (one.message or "")]
    assert [one.diagnosis for one in tests if one.diagnosis is not None] == []


TWO_PARTS = """
import math
import torch

def run_causal_mask(seq_len):
    return torch.ones(seq_len, seq_len, dtype=torch.bool).triu()

def run_attention_weights(Q, K, mask=None):
    scores = Q @ K.mT / math.sqrt(Q.shape[-1])
    return (scores if mask is None else scores.masked_fill(mask, -torch.inf)).softmax(-1)

def run_causal_self_attention(W_query, W_key, W_value, in_features):
    q, k, v = (in_features @ weight for weight in (W_query, W_key, W_value))
    return run_attention_weights(q, k, run_causal_mask(in_features.shape[-2])) @ v
"""


def test_mistakes_of_two_parts_are_both_named_where_both_parts_are_used(tmp_path):
    """The two mistakes together hide each token from itself, which neither does alone."""
    (tmp_path / "adapters.py").write_text(TWO_PARTS)
    exercises = ("run_causal_mask", "run_attention_weights", "run_causal_self_attention")
    tests = grade_once(tmp_path, assignment=ROOT, exercises=exercises, seed=5).tests
    found = {one.exercise: one.diagnosis.mistake for one in tests if one.diagnosis is not None}
    assert found == {
        "run_causal_mask": "causal-reversed",
        "run_attention_weights": "mask-inverted",
        "run_causal_self_attention": "mask-inverted + causal-reversed",
    }


def test_an_ambiguous_answer_gets_the_mistake_proved_in_another_exercise(grade):
    """Two mistakes explain a count of zero; a double of zero decides between them."""
    nothing = "def run_count(x):\n    return 0\n"
    assert grade(doubling("2 * x", nothing))["test_counts"].diagnosis is None
    graded = grade(doubling("0 * x", nothing))
    assert graded["test_doubles"].diagnosis.mistake == "zeroed"
    assert graded["test_counts"].diagnosis.mistake == "zeroed"
    assert graded["test_counts"].diagnosis.explanation == "The same mistake as in run_double."


def test_pytest_at_home_names_the_mistake_and_prints_its_hint(grader, home_pytest, tiny, tmp_path):
    """The handout contains the mistakes' frozen answers, but no code of a mistake."""
    course = shutil.copytree(tiny, tmp_path / "course")
    public = course / "tests" / "public" / "test_tiny.py"
    public.write_text(
        public.read_text()
        + "\n\n@exercise('run_double')\ndef test_doubles_a_row(student, reference, draw):\n"
        "    '''Also of a row.'''\n    x = draw(7)\n    assert_matches(student(x), reference(x))\n"
    )
    handout = tmp_path / "handout"
    done = grader("handout", handout, cwd=course)
    assert done.returncode == 0, done.stderr
    (handout / "adapters.py").write_text(
        (handout / "adapters.py").read_text().replace("assignment.double(x)", "3 * x")
    )
    printed = home_pytest(handout, "-v", "--locate").stdout
    assert "Every number is tripled.\nHint: How often is x added?" in printed
    assert "3 * x" not in (handout / "tests/public/fixtures/test_tiny.safetensors").read_text(
        errors="replace"
    )


def test_verify_reports_tests_that_catch_no_mistake(grader, tiny):
    """The author sees how useful the tests are before a class is graded."""
    done = grader("verify", cwd=tiny)
    assert done.returncode == 1
    assert "nothing wrong fails tests/hidden/test_tiny.py::test_work" in done.stdout
    assert "passes every test" not in done.stdout
    assert "is called" not in done.stdout
    assert "9 wrong functions: 9 caught, 6 named, 0 misnamed" in done.stdout


def test_verify_lists_the_mistakes_that_each_test_catches(grader, tiny):
    """The author sees how useful each test is."""
    printed = grader("verify", "--tests", cwd=tiny).stdout
    assert "tests/public/test_tiny.py::test_counts\n    zeroed, nothing-counted, rows" in printed
    assert "tests/public/test_tiny.py::test_doubles\n    tripled, shifted, moved, zeroed" in printed


def test_verify_tells_why_a_right_variant_fails_a_test(grader, tiny, tmp_path):
    """A right program can be written in many ways, and every variant must pass."""
    narrow = shutil.copytree(tiny, tmp_path / "narrow")
    (narrow / "solutions" / "variants.py").write_text(
        "from types import SimpleNamespace\n\n"
        "def count(x):\n    return sum(1 for _ in x.flatten())\n\n"
        "def double(x):\n    return x.detach() + x.detach()\n\n"
        "VARIANTS = (\n"
        "    SimpleNamespace(name='one by one', functions={'run_count': count}),\n"
        "    SimpleNamespace(name='cut off', functions={'run_double': double}),\n"
        "    SimpleNamespace(name='coarse', functions={'run_double': lambda x: 2 * x + 1e-4}),\n"
        ")\n"
    )
    done = grader("verify", cwd=narrow)
    assert done.returncode == 1
    wanted = "the right variant 'cut off' fails tests/hidden/test_tiny.py::test_gradient: "
    assert wanted in done.stdout
    assert (
        "the right variant 'coarse' fails tests/public/test_tiny.py::test_doubles: " in done.stdout
    )
    assert "times the tolerance (rtol=1.3e-06, atol=1e-05)" in done.stdout
    assert "one by one" not in done.stdout


def test_verify_reports_a_test_that_remembered_answers_pass(grader, tiny, tmp_path):
    """A program that returns the remembered answers of one draw must fail on another draw."""
    known = shutil.copytree(tiny, tmp_path / "known")
    public = known / "tests" / "public" / "test_tiny.py"
    worked = "x, (drawn, right) = torch.ones(2, 3), (draw(2, 3), reference(draw(3)))"
    public.write_text(public.read_text().replace("x = draw(2, 3)", worked, 1))
    done = grader("verify", cwd=known)
    assert done.returncode == 1
    (complaint,) = [line for line in done.stdout.splitlines() if "remembered" in line]
    assert "another draw pass tests/public/test_tiny.py::test_doubles:" in complaint


def test_verify_finds_a_reference_that_fails_its_own_tests(grader, tiny, tmp_path):
    """With such a reference no grade would be right."""
    broken = shutil.copytree(tiny, tmp_path / "broken")
    public = broken / "tests" / "public" / "test_tiny.py"
    public.write_text(public.read_text().replace("reference(x))", "3 * x)", 1))
    done = grader("verify", cwd=broken)
    assert done.returncode == 1
    assert "the reference fails tests/public/test_tiny.py::test_doubles" in done.stdout
