"""Loading checkpoints: what the grade looks at beyond the public tests."""

from tests.public.checkpoints import checkpoints_match

from grader.testing import exercise


@exercise("run_load_checkpoint", aspect="generality")
def test_loaded_from_an_open_file(student, reference, draw):
    """The file may be open already."""
    checkpoints_match(student, reference, draw, "stream")


@exercise("run_load_checkpoint", aspect="generality")
def test_loaded_optimizer_has_the_rate_that_was_saved(student, reference, draw):
    """A schedule changes the rate: the optimizer goes on with its last one."""
    checkpoints_match(student, reference, draw, lr=0.5)
