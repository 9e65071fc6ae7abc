"""The advice for each kind of exception of calls: arguments and modules."""

from __future__ import annotations

import pytest
import torch

from grader.core.wire.calls import Frame, Raised
from grader.explain.exceptions.explanation import explanation_of
from grader.worker.stubs import Phase, Stub

pytestmark = pytest.mark.unit


def raised(text: str, source: str = "", accepts: str = "") -> Raised:
    """Returns the exception `Kind: message` that a line raised, without a line if it is empty."""
    kind, _, message = text.partition(": ")
    frames = (Frame("a.py", 3, "f", source),) if source else ()
    return Raised(kind, message, frames, accepts=accepts)


def sentence(text: str, source: str = "", accepts: str = "") -> str | None:
    """Returns the sentence that explains an exception, or None."""
    explanation = explanation_of(raised(text, source, accepts))
    return None if explanation is None else explanation.sentence


ACCEPTS = {"accepts": "run(x, size=1) in a.py:7"}
OF_THE_TESTS = (
    "The tests call it by the names of the parameters in the assignment's adapters.py; yours is "
    "run(x, size=1) in a.py:7."
)
ARGUMENTS = [
    ("TypeError: run() got an unexpected keyword argument 'd'", {}, None),
    ("TypeError: run() got an unexpected keyword argument 'd'", ACCEPTS, OF_THE_TESTS),
    ("TypeError: run() missing 1 required keyword-only argument: what", ACCEPTS, OF_THE_TESTS),
    ("TypeError: run() takes 0 positional arguments but 1 was given", ACCEPTS, OF_THE_TESTS),
    (
        "RuntimeError: Tensor must have a last dimension with stride 1",
        {},
        "The numbers of the last axis do not lie side by side in memory, as after x[..., ::2]; "
        ".contiguous() before this call copies them.",
    ),
    (
        "TypeError: Got unsupported ScalarType BFloat16",
        {},
        "numpy has no bfloat16: stay with torch operations.",
    ),
]


@pytest.mark.parametrize(("text", "known", "said"), ARGUMENTS)
def test_wrong_arguments_of_the_tests_are_explained_by_the_parameters(text, known, said):
    """Only a call by the tests, whose names a student may have changed, is explained."""
    assert sentence(text, **known) == said


@pytest.mark.parametrize(
    "use", [lambda one: torch.softmax(one, -1), lambda one: torch.stack([one])]
)
def test_the_type_of_an_absent_name_says_that_it_is_not_installed(use):
    """A type called Stub would tell a student nothing."""
    with pytest.raises(TypeError) as caught:
        use(Stub("tools.make", Phase())(3))
    assert str(caught.value).endswith(" NotInstalled")
    assert sentence(f"TypeError: {caught.value}") is None


@pytest.mark.parametrize(
    "wrong", [lambda pair: torch.exp(pair), lambda pair: torch.cat([pair, pair])]
)
def test_the_pair_of_a_maximum_is_told_wherever_a_tensor_belongs(wrong):
    """torch's message names the type in full, which begins with torch."""
    with pytest.raises(TypeError) as caught:
        wrong(torch.ones(2, 2).max(-1))
    assert sentence(f"TypeError: {caught.value}").startswith("max gives several tensors at once")


@pytest.mark.parametrize(("shape", "asked"), [((), 1), ((), -2), ((4,), 1)])
def test_a_number_and_a_vector_are_not_told_apart_by_the_range_of_their_axes(shape, asked):
    """torch counts one axis for a tensor without any."""
    with pytest.raises(IndexError) as caught:
        torch.ones(shape).softmax(asked)
    said = f"A tensor of at most 1 axis has no axis {asked}"
    assert sentence(f"IndexError: {caught.value}").startswith(said)
