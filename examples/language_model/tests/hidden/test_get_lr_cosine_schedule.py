"""The learning rate's schedule: what the grade looks at beyond the public tests."""

from tests.public.iterations import SMALL_RATES, rates_match

from grader.testing import exercise


@exercise("run_get_lr_cosine_schedule")
def test_schedule_of_any_length(student, reference, draw):
    """Every iteration of a schedule of which the lengths are drawn, and some beyond its end."""
    rise, fall = (int(draw.integers(4, 12)) for _ in range(2))
    iterations = range(rise + fall + 12)
    rates_match(student, reference, draw, iterations, rise, rise + fall)


@exercise("run_get_lr_cosine_schedule", aspect="generality")
def test_schedule_where_its_parts_meet(student, reference, draw):
    """The last iteration of each part, and the first of the next."""
    rise = int(draw.integers(20, 50))
    end = 3 * rise
    iterations = [rise - 1, rise, rise + 1, end - 1, end, end + 1]
    rates_match(student, reference, draw, iterations, rise, end)


@exercise("run_get_lr_cosine_schedule", aspect="generality")
def test_schedule_without_a_warm_up(student, reference, draw):
    """With no iterations of warm-up, iteration 0 has the largest rate."""
    end = int(draw.integers(8, 30))
    rates_match(student, reference, draw, [0, 1, end // 2, end, 2 * end], 0, end)


@exercise("run_get_lr_cosine_schedule", aspect="generality")
def test_schedule_of_long_training(student, reference, draw):
    """Twenty thousand iterations at rates of a thousandth: some of each part, where it is steep."""
    for first, last in ((100, 1_000), (8_600, 17_000), (21_000, 40_000)):
        iterations = draw.integers(first, last, 4).tolist()
        rates_match(student, reference, draw, iterations, 1_000, 20_000, SMALL_RATES)
