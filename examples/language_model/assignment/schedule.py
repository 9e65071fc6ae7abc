"""Part 6, the schedule: how large a step is, iteration by iteration."""


def get_lr_cosine_schedule(
    it: int,
    max_learning_rate: float,
    min_learning_rate: float,
    warmup_iters: int,
    cosine_cycle_iters: int,
) -> float:
    """Warm up in a straight line, come down by half a cosine, and stay down."""
    raise NotImplementedError("get_lr_cosine_schedule is not written yet")
