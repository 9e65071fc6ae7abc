"""Mistakes recognised by more than values: shapes, overflow, rounding, chance, unused inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from grader.core.assignment import Settings
from grader.core.verdict import Aspect, Grade
from grader.intake.entry import Entry
from tests.harness.conftest import write_files
from tests.harness.grading_jobs import GradingJob

pytestmark = pytest.mark.process

COURSE = {
    "pyproject.toml": """
        [tool.grader]
        name = "telling"
        call_timeout = 5
        [tool.grader.exercises]
        run_ratio = 1
        run_wave = 1
        run_drop = 1
        run_layer = 1
        [tool.pytest.ini_options]
        testpaths = ["tests/public"]
        addopts = "--import-mode=importlib"
        """,
    "adapters.py": """
        from jaxtyping import Float
        from torch import Tensor

        def run_ratio(x: Float[Tensor, "... n"]) -> Float[Tensor, "... n"]:
            raise NotImplementedError

        def run_wave(x: Float[Tensor, "... n"]) -> Float[Tensor, "... n"]:
            raise NotImplementedError

        def run_drop(x: Float[Tensor, "... n"], p: float) -> Float[Tensor, "... n"]:
            raise NotImplementedError

        def run_layer(
            weight: Float[Tensor, "n n"], x: Float[Tensor, "... n"]
        ) -> Float[Tensor, "... n"]:
            raise NotImplementedError
        """,
    "solutions/__init__.py": """
        import torch

        def run_ratio(x):
            return torch.softmax(x, -1)

        def run_wave(x):
            return x.sin()

        def run_drop(x, p):
            return torch.where(torch.rand_like(x) < p, 0, x / (1 - p))

        def run_layer(weight, x):
            return x @ weight.T
        """,
    "solutions/mistakes.py": """
        from dataclasses import dataclass

        import torch

        @dataclass(frozen=True)
        class Mistake:
            id: str
            variants: dict
            own_dtype: bool = False
            ignores: tuple = ()
            echoes: tuple = ()
            explanation: str = "This is wrong."
            hint: str = "What is right?"

        def naive(x):
            return x.exp() / x.exp().sum(-1, keepdim=True)

        def fast(x):
            return (1e5 * x).sin()

        def unscaled(x, p):
            return torch.where(torch.rand_like(x) < p, 0, x)

        def by_rows(x, p):
            return torch.where(torch.rand_like(x[..., :1]) < p, 0, x / (1 - p))

        def half_a_wave(x):
            return x.sin() / 2

        def half_a_layer(weight, x):
            return x @ weight.T / 2

        def drawn(weight, x):
            return x @ torch.randn_like(weight)

        MISTAKES = (
            Mistake("extra-axis", {"run_ratio": (lambda x: torch.softmax(x, -1)[None],)}),
            Mistake("naive", {"run_ratio": (naive,)}, own_dtype=True),
            Mistake("fast", {"run_wave": (fast,)}, own_dtype=True),
            Mistake(
                "halved",
                {"run_wave": (half_a_wave,), "run_layer": (half_a_layer,)},
                echoes=("run_layer",),
            ),
            Mistake("thin", {"run_layer": (half_a_layer,)}),
            Mistake("unscaled", {"run_drop": (unscaled,)}),
            Mistake("by-rows", {"run_drop": (by_rows,)}),
            Mistake("not-loaded", {"run_layer": (drawn,)}, ignores=("weight",)),
        )
        DROPPED_FROM = {"run_drop": "x"}

        def combined(one, other):
            return {}
        """,
    "tests/conftest.py": 'pytest_plugins = ["grader.testing.plugin"]\n',
    "tests/public/test_telling.py": """
        import pytest
        import torch
        from grader.testing import assert_matches, exercise

        @exercise("run_ratio")
        @pytest.mark.parametrize("shape", [(3,), (2, 3)], ids=str)
        def test_ratio(student, reference, draw, shape):
            '''Shares of a row.'''
            x = draw(*shape)
            assert_matches(student(x), reference(x))

        @exercise("run_ratio", aspect="numerics")
        @pytest.mark.parametrize("center", [200.0, -200.0])
        def test_ratio_of_large_numbers(student, reference, draw, center):
            '''Shares of a row of large numbers.'''
            x = center + draw(4, 5)
            assert_matches(student(x), reference(x))

        @exercise("run_wave")
        @pytest.mark.parametrize("size", [3, 4])
        def test_wave(student, reference, draw, size):
            '''The sine.'''
            x = draw(size)
            assert_matches(student(x), reference(x))

        @exercise("run_drop")
        @pytest.mark.parametrize("p", [0.5, 0.2])
        def test_drop(student, draw, p):
            '''Some are dropped, the others scaled.'''
            x = 1 + draw.uniform(32, 32)
            dropped = student(x, p=p)
            mixed = (dropped == 0).any(-1) & ~(dropped == 0).all(-1)
            assert mixed.all(), "whole rows are dropped"
            assert_matches(dropped, torch.where(dropped == 0, 0.0, x / (1 - p)))

        @exercise("run_layer")
        def test_layer(student, reference, draw):
            '''Other weights, another result.'''
            x, first, second = draw(2, 3), draw(3, 3), draw(3, 3)
            before, after = student(first, x), student(second, x)
            assert_matches(before, reference(first, x))
            assert_matches(after, reference(second, x))
        """,
}
SUBMISSION = """
    import torch

    def run_ratio(x):
        return {ratio}

    def run_wave(x):
        return {wave}

    def run_drop(x, p):
        return {drop}

    def run_layer(weight, x):
        return {layer}
    """
RIGHT = {
    "ratio": "x.softmax(-1)",
    "wave": "torch.sin(x)",
    "drop": "x * (torch.rand(x.shape) >= p) / (1 - p)",
    "layer": "torch.nn.functional.linear(x, weight)",
}


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An assignment whose mistakes are recognised by more than plain values."""
    return write_files(tmp_path_factory.mktemp("telling"), COURSE)


@pytest.fixture(scope="module")
def judge(course: Path) -> Iterator[GradingJob]:
    """A grading job of that assignment."""
    client = GradingJob(Settings(str(course), 1, (), "adapters.py", 30.0, 1024, "suite"))
    yield client
    client.close()


@pytest.fixture
def graded(judge: GradingJob, tmp_path: Path) -> Callable[..., Grade]:
    """A function that returns the grade of a submission with some lines replaced."""

    def grade(**lines: str) -> Grade:
        text = SUBMISSION.format(**RIGHT | lines)
        folder = write_files(tmp_path / "submission", {"adapters.py": text})
        graded: Grade = judge.grade(Entry("submission", folder), "hash")
        wrong = {v.exercise.removeprefix("run_") for v in graded.tests if v.status != "passed"}
        assert wrong == set(lines)
        return graded

    return grade


@pytest.fixture
def named(graded: Callable[..., Grade]) -> Callable[..., set[str]]:
    """A function that returns the mistakes named in a submission with some lines replaced."""
    return lambda **lines: {v.diagnosis.mistake for v in graded(**lines).tests if v.diagnosis}


def test_a_mistake_is_recognised_by_the_shape_of_its_answer(named):
    """The shape check ends the test before any comparison, but the diagnosis sees the answer."""
    assert named(ratio="torch.softmax(x, -1).unsqueeze(0)") == {"extra-axis"}
    assert named(ratio="torch.softmax(x, -1).unsqueeze(-1)") == set()


def test_a_mistake_is_recognised_by_where_it_overflows(named):
    """The submission's precision decides: in float64 these values would not overflow."""
    assert named(ratio="torch.exp(x) / torch.exp(x).sum(-1, keepdim=True)") == {"naive"}
    assert named(ratio="torch.softmax(x, -1).where(x.abs() < 200, torch.nan)") == set()


def test_a_mistake_that_magnifies_rounding_is_recognised(named):
    """In float32, angles of a hundred thousand are exact to two digits."""
    assert named(wave="torch.sin(x * 1000 * 100)") == {"fast"}
    assert named(wave="torch.sin(x * 1001 * 100)") == set()


def test_a_dropout_mistake_is_recognised_for_any_random_mask(named):
    """The factor of the kept values, the share of the dropped ones and their pattern decide."""
    assert named(drop="x * (torch.rand(x.shape) >= p)") == {"unscaled"}
    assert named(drop="x * (torch.rand(len(x), 1) >= p) / (1 - p)") == {"by-rows"}
    assert named(drop="x * (torch.rand(x.shape) >= p) * 1.5") == set()


def test_a_mistake_is_recognised_by_the_weights_that_it_ignores(named):
    """If other weights give the same wrong answer, the program does not use the weights."""
    assert named(layer="torch.nn.Linear(3, 3, bias=False)(x)") == {"not-loaded"}
    assert named(layer="x @ weight") == set()
    # These programs do not use x or any weights.
    assert named(layer="torch.zeros_like(x)") == set()
    assert named(layer="x") == set()
    # Every later call gets the weights of the first.
    assert named(layer="x @ run_layer.__dict__.setdefault('kept', weight)") == set()


def test_an_ambiguous_mistake_gets_the_name_found_in_an_earlier_exercise(named):
    """Half a layer alone is called "thin"; after half a wave it is called "halved" too."""
    assert named(layer="x @ weight.T / 2") == {"thin"}
    assert named(wave="x.sin() / 2", layer="x @ weight.T / 2") == {"halved"}


def test_a_line_is_proven_beside_a_fault_of_precision(graded):
    """The edit leaves the answers for large numbers as they were, and they stay wrong."""
    ratio = "x / x.sum() if x.abs().max() > 99 else 2 * torch.softmax(x, -1)"
    tests = [test for test in graded(ratio=ratio).tests if test.exercise == "run_ratio"]
    large = [test for test in tests if test.aspect is Aspect.NUMERICS]
    assert all(test.status == "failed" for test in tests)
    assert [test.where for test in large] == [None, None]
    assert all(test.where and test.where.line == 5 for test in tests if test not in large)
