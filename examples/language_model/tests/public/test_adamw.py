"""AdamW: the tests that you have at home."""

import torch
from tests.public.training import slopes, steps_match

from grader.testing import exercise


@exercise("get_adamw_cls")
def test_adamw_step_by_step(student, reference, draw):
    """A matrix and a vector, eight steps with another gradient each."""
    starts = [draw(4, 3), draw(3)]
    gradients = [[slopes(draw, 4, 3), slopes(draw, 3)] for _ in range(8)]
    steps_match(student, reference, starts, gradients)


@exercise("get_adamw_cls")
def test_adamw_first_step(student, reference, draw):
    """The first step is as long as the learning rate, however large the gradient is."""
    starts, gradients = [draw(5)], [[draw(5, scale=100.0)]]
    steps_match(student, reference, starts, gradients, weight_decay=0.0, lr=0.1)


@exercise("get_adamw_cls")
def test_adamw_decay_alone(student, reference, draw):
    """Where gradients are 0, weights shrink by the same part in each step."""
    starts, still = [draw(3, 2, scale=2.0)], torch.zeros(3, 2)
    steps_match(student, reference, starts, [[still]] * 5)


@exercise("get_adamw_cls", aspect="generality")
def test_adamw_with_other_betas(student, reference, draw):
    """Means of a shorter memory."""
    starts, gradients = [draw(6)], [[slopes(draw, 6)] for _ in range(6)]
    steps_match(student, reference, starts, gradients, betas=(0.5, 0.75), lr=0.01, weight_decay=0)
