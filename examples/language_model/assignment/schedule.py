"""Part 6, the schedule: how large a step is, iteration by iteration.

Paper: Loshchilov and Hutter 2017, "SGDR: Stochastic Gradient Descent with Warm Restarts".
"""


def get_lr_cosine_schedule(
    it: int,
    max_learning_rate: float,
    min_learning_rate: float,
    warmup_iters: int,
    cosine_cycle_iters: int,
) -> float:
    """Warm up in a straight line, come down by half a cosine, and stay down.

        it < warmup_iters:        it / warmup_iters * max
        it <= cosine_cycle_iters: min + (1 + cos(pi * p)) / 2 * (max - min)
        it > cosine_cycle_iters:  min

    where p goes from 0 at `warmup_iters` to 1 at `cosine_cycle_iters`.

    >>> [get_lr_cosine_schedule(it, 1.0, 0.5, 2, 6) for it in (0, 1, 2, 4, 6, 9)]
    [0.0, 0.5, 1.0, 0.75, 0.5, 0.5]

    Ask yourself:
    * How many iterations lie between the end of the warm-up and the end of the cycle?
    * What is the rate in iteration 0 if there is no warm-up?
    """
    raise NotImplementedError("get_lr_cosine_schedule is not written yet")
