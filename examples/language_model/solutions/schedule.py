"""The model answer on the learning rate's schedule."""

import math


def get_lr_cosine_schedule(
    it: int,
    max_learning_rate: float,
    min_learning_rate: float,
    warmup_iters: int,
    cosine_cycle_iters: int,
) -> float:
    """Rises in a straight line, falls along half a cosine, and stays on the floor."""
    if it < warmup_iters:
        return it / warmup_iters * max_learning_rate
    if it >= cosine_cycle_iters:
        return min_learning_rate
    passed = (it - warmup_iters) / (cosine_cycle_iters - warmup_iters)
    above = (1 + math.cos(math.pi * passed)) / 2
    return min_learning_rate + above * (max_learning_rate - min_learning_rate)
