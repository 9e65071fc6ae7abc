"""The clipping of gradients: what the grade looks at beyond the public tests."""

import pytest
import torch
from tests.public.clipped import clipping_matches

from grader.testing import assert_matches, exercise


@exercise("run_gradient_clipping")
def test_clipping_of_many_parameters(student, reference, draw):
    """Each gradient is small enough by itself, and all of them together are not."""
    limit = 1.5 + float(draw.uniform())
    gradients = [0.5 + draw.uniform(4, 2) for _ in range(6)]
    clipping_matches(student, reference, draw, gradients, limit)


@exercise("run_gradient_clipping")
def test_clipping_of_one_parameter(student, reference, draw):
    """A single matrix, many times too large; and where it is just small enough."""
    gradient = draw(6, 5, scale=50.0)
    clipping_matches(student, reference, draw, [gradient], 1.25)
    clipping_matches(student, reference, draw, [gradient], 1.1 * float(gradient.norm()))


@exercise("run_gradient_clipping", aspect="generality")
def test_clipping_where_some_have_no_gradient(student, reference, draw):
    """Parameters without a gradient are passed over."""
    clipping_matches(student, reference, draw, [None, draw(4, scale=3.0), None, draw(2)], 1.0)


@exercise("run_gradient_clipping", aspect="generality")
@pytest.mark.parametrize("max_l2_norm", [0.5, 2.0])
def test_clipping_of_what_parameters_gives(student, reference, draw, max_l2_norm):
    """Parameters come from a generator as well, as those of a module do."""
    gradients = {"weight": draw(2, 3, scale=5.0), "bias": draw(2)}
    results = []
    for handle in (student, reference):
        module = handle.module(torch.nn.Linear(3, 2))
        for name, gradient in gradients.items():
            module.parameter(name).grad = gradient
        handle(module.parameters(), max_l2_norm=max_l2_norm)
        results.append([module.parameter(name).grad for name in gradients])
    given = "parameters from a generator, which can be read only once"
    for name, own, right in zip(gradients, *results, strict=True):
        assert_matches(own, right, what=f"the gradient of the {name} ({given})")
