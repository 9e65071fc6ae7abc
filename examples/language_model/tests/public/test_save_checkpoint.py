"""Saving checkpoints: the tests that you have at home."""

import pytest
from tests.public.checkpoints import checkpoints_match

from grader.testing import exercise


@exercise("run_save_checkpoint")
@pytest.mark.parametrize("form", ["path", "str"])
def test_saved_training_goes_on(student, reference, draw, form):
    """What your own `run_load_checkpoint` reads: the weights, the optimizer, the iteration."""
    checkpoints_match(student, reference, draw, save_to=form)
