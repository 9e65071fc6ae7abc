"""What the tests of the schedule share."""

from grader.testing import Tolerance, assert_matches

# Rates as courses use them. A rate that is rounded to five decimals has one digit left.
SMALL_RATES = 1e-3


def rates_match(
    student, reference, draw, iterations, warmup_iters=6, cosine_cycle_iters=20, scale=1.0
):
    """The rates at some iterations, one by one, between two rates that are drawn."""
    smaller, larger = sorted(draw.uniform(2).tolist())
    settings = {
        "max_learning_rate": scale * (larger + 0.5),
        "min_learning_rate": scale * smaller,
        "warmup_iters": warmup_iters,
        "cosine_cycle_iters": cosine_cycle_iters,
    }
    tolerance = Tolerance(rtol=1.3e-6, atol=1e-5 * scale)
    for it in iterations:
        own, right = student(it=it, **settings), reference(it=it, **settings)
        assert_matches(own, right, tolerance, what=f"the rate at iteration {it}")
