"""Loading checkpoints: what the grade looks at beyond the public tests."""

from tests.public.checkpoints import checkpoints_match

from grader.testing import exercise


@exercise("run_load_checkpoint", aspect="generality")
def test_loaded_from_an_open_file(student, reference, draw):
    """The file may be open already."""
    checkpoints_match(student, reference, draw, "stream")
