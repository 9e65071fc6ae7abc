"""Loading checkpoints: the tests that you have at home."""

import pytest
from tests.public.checkpoints import checkpoints_match

from grader.testing import exercise


@exercise("run_load_checkpoint")
@pytest.mark.parametrize("form", ["path", "str"])
def test_loaded_training_goes_on(student, reference, draw, form):
    """What your own `run_save_checkpoint` wrote: the weights, the optimizer, the iteration."""
    checkpoints_match(student, reference, draw, load_from=form)
