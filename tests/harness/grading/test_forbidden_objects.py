"""Forbidden classes also count as used if a submission returns them or inherits from them."""

import pytest

from grader.core.assignment import Settings
from grader.intake.entry import Entry
from tests.harness.conftest import write_files
from tests.harness.grading_jobs import GradingJob

pytestmark = pytest.mark.process

ASSIGNMENT = {
    "pyproject.toml": """
        [tool.grader]
        name = "steps"
        [tool.grader.exercises]
        get_sgd_class = 10
        get_sgd = 10
        [tool.grader.forbidden]
        "torch.optim.SGD" = 100
    """,
    "adapters.py": """
        from typing import Protocol
        import torch

        class Optimizer(Protocol):
            def __init__(self, parameters: list[torch.nn.Parameter], lr: float) -> None: ...
            def step(self) -> None: ...

        def get_sgd_class() -> type[Optimizer]: ...
        def get_sgd(parameters: list[torch.nn.Parameter], lr: float) -> Optimizer: ...
    """,
    "assignment/__init__.py": "",
    "solutions/__init__.py": """
        import torch

        class SGD:
            def __init__(self, parameters, lr):
                self.parameters, self.lr = parameters, lr

            @torch.no_grad()
            def step(self):
                for one in self.parameters:
                    one -= self.lr * one.grad

        def get_sgd_class():
            return SGD

        def get_sgd(parameters, lr):
            return SGD(parameters, lr)
    """,
    "tests/conftest.py": 'pytest_plugins = ["grader.testing.plugin"]\n',
    "tests/public/test_steps.py": """
        from grader.testing import assert_matches, exercise

        def stepped(handle, draws, makes):
            one = handle.parameter(draws[0])
            optimizer = makes(handle, [one])
            one.grad = draws[1]
            optimizer.step()
            return one.value

        @exercise("get_sgd_class")
        def test_class(student, reference, draw):
            '''One step.'''
            draws = [draw(3), draw(3)]
            def makes(handle, parameters):
                return handle()(parameters, lr=0.1)
            assert_matches(stepped(student, draws, makes), stepped(reference, draws, makes))

        @exercise("get_sgd")
        def test_object(student, reference, draw):
            '''One step.'''
            draws = [draw(3), draw(3)]
            def makes(handle, parameters):
                return handle(parameters, lr=0.1)
            assert_matches(stepped(student, draws, makes), stepped(reference, draws, makes))
    """,
}
ADAPTERS = """
import torch
from own import {name}

def get_sgd_class():
    return {name}

def get_sgd(parameters, lr):
    return {name}(parameters, lr)
"""
OWN = """
import torch

class Own(torch.optim.Optimizer):
    def __init__(self, parameters, lr):
        super().__init__(parameters, {"lr": lr})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for one in group["params"]:
                one -= group["lr"] * one.grad

class Empty(torch.optim.SGD):
    pass

class Below(Empty):
    pass

Alias = torch.optim.SGD
"""


@pytest.fixture(scope="module")
def assignment(tmp_path_factory):
    """An assignment that asks for SGD written by hand, as a class and as an object."""
    return write_files(tmp_path_factory.mktemp("steps"), ASSIGNMENT)


@pytest.fixture(scope="module")
def graded(assignment, tmp_path_factory):
    """A function that grades a submission returning the class of that name."""
    job = GradingJob(Settings(str(assignment), 1, (), "adapters.py", 20.0, 1024, "suite"))

    def grade(name):
        folder = tmp_path_factory.mktemp(name)
        write_files(folder, {"adapters.py": ADAPTERS.format(name=name), "own.py": OWN})
        return job.grade(Entry(name, folder), name)

    yield grade
    job.close()


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("Alias", "adapters.py:5"),
        ("Empty", "own.py:14"),
        ("Below", "own.py:14"),
    ],
)
def test_returning_a_forbidden_class_counts_as_using_it(graded, name, place):
    """The test makes the objects of a returned class, not the submission."""
    grade = graded(name)
    assert grade.score == 0.0
    assert "torch.optim.SGD" in grade.message
    of_class, of_object = grade.tests
    assert of_class.status == of_object.status == "passed"
    assert of_class.message.startswith(f"The submission uses torch.optim.SGD ({place})")
    assert of_object.message.startswith("The submission uses torch.optim.SGD (")


def test_inheriting_from_a_base_of_a_forbidden_class_is_allowed(graded):
    """Every optimizer that a student writes may inherit from `torch.optim.Optimizer`."""
    grade = graded("Own")
    assert grade.score == grade.max_score == 20.0
    assert "uses" not in "".join(verdict.message or "" for verdict in grade.tests)


@pytest.mark.parametrize("name", ["Alias", "Empty"])
def test_a_forbidden_class_is_reported_at_home(grader, assignment, home_pytest, tmp_path, name):
    """Students learn of the rule before it costs them points."""
    handout = tmp_path / "handout"
    assert grader("handout", handout, "--assignment", assignment).returncode == 0
    write_files(handout, {"adapters.py": ADAPTERS.format(name=name), "own.py": OWN})
    assert "uses torch.optim.SGD (" in home_pytest(handout).stdout
