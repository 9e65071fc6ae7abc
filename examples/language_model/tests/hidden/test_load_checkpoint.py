"""Loading checkpoints: what the grade looks at beyond the public tests."""

from tests.public.checkpoints import checkpoints_match, model_with_buffers

from grader.testing import exercise


@exercise("run_load_checkpoint", aspect="generality")
def test_loaded_from_an_open_file(student, reference, draw):
    """The file may be open already."""
    checkpoints_match(student, reference, draw, load_from="stream")


@exercise("run_load_checkpoint", aspect="generality")
def test_loaded_into_an_optimizer_that_made_no_step(student, reference, draw):
    """A program that starts again has a new model and a new optimizer, whose state is empty."""
    checkpoints_match(student, reference, draw, made=0)


@exercise("run_load_checkpoint", aspect="generality")
def test_loaded_optimizer_has_the_rate_that_was_saved(student, reference, draw):
    """A schedule changes the rate: the optimizer goes on with its last one."""
    checkpoints_match(student, reference, draw, lr=0.5)


@exercise("run_load_checkpoint", aspect="generality")
def test_buffers_are_loaded_too(student, reference, draw):
    """A model's state is more than its parameters: a batch norm keeps a running mean."""
    checkpoints_match(student, reference, draw, model=model_with_buffers)
