"""What the tests of the schedule share."""

from grader.testing import assert_matches


def rates_match(student, reference, draw, iterations, warmup_iters=6, cosine_cycle_iters=20):
    """The rates at some iterations, one by one, between two rates that are drawn."""
    smaller, larger = sorted(draw.uniform(2).tolist())
    settings = {
        "max_learning_rate": larger + 0.5,
        "min_learning_rate": smaller,
        "warmup_iters": warmup_iters,
        "cosine_cycle_iters": cosine_cycle_iters,
    }
    for it in iterations:
        own, right = student(it=it, **settings), reference(it=it, **settings)
        assert_matches(own, right, what=f"the rate at iteration {it}")
