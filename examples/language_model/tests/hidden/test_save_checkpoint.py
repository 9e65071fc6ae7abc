"""Saving checkpoints: what the grade looks at beyond the public tests."""

from tests.public.checkpoints import checkpoints_match, model_with_buffers, small_model, trained

from grader.testing import assert_matches, exercise


@exercise("run_save_checkpoint", aspect="generality")
def test_saved_into_an_open_file(student, reference, draw):
    """The file may be open already."""
    checkpoints_match(student, reference, draw, save_to="stream")


@exercise("run_save_checkpoint", aspect="generality")
def test_saved_optimizer_keeps_its_rate(student, reference, draw):
    """A schedule changes the rate: the optimizer goes on with its last one."""
    checkpoints_match(student, reference, draw, lr=0.5)


@exercise("run_save_checkpoint", aspect="generality")
def test_buffers_are_saved_too(student, reference, draw):
    """A model's state is more than its parameters: a batch norm keeps a running mean."""
    checkpoints_match(student, reference, draw, model=model_with_buffers)


@exercise("run_save_checkpoint", aspect="discipline")
def test_saving_leaves_the_training_alone(student, draw):
    """The model has the same weights as before, and the file is there."""
    layers = small_model(draw)
    model, optimizer = trained(student, layers, [])
    file = student.file(name="checkpoint.pt")
    student(model, optimizer, int(draw.integers(1, 100)), file)
    assert file.exists(), "run_save_checkpoint has written no file at the path that it was given"
    own = model.state_dict()
    for name, weights in layers.state_dict().items():
        assert_matches(own[name], weights, what=f"after it was saved, {name}")
