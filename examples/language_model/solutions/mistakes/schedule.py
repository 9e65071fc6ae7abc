"""Mistakes in the learning rate's schedule."""

import math
from collections.abc import Callable

from .mistake import Mistake, Replacing

Schedule = Callable[[int, float, float, int, int], float]


def _made(
    warm_up: Callable[[int, float, float, int], float] = lambda it, high, _low, rise: (
        it / rise * high
    ),
    passed: Callable[[int, int, int], float] = lambda it, rise, end: (it - rise) / (end - rise),
    above: Callable[[float], float] = lambda passed: (1 + math.cos(math.pi * passed)) / 2,
    between: Callable[[float, float, float], float] = lambda above, high, low: (
        low + above * (high - low)
    ),
    ends: Callable[[int, int], float] = lambda _rise, end: end,
) -> Callable[..., float]:
    """Returns the schedule with some of its parts replaced."""

    def get_lr_cosine_schedule(
        it: int,
        max_learning_rate: float,
        min_learning_rate: float,
        warmup_iters: int,
        cosine_cycle_iters: int,
    ) -> float:
        if it < warmup_iters:
            return warm_up(it, max_learning_rate, min_learning_rate, warmup_iters)
        if it >= ends(warmup_iters, cosine_cycle_iters):
            return between(0.0, max_learning_rate, min_learning_rate)
        share = above(passed(it, warmup_iters, cosine_cycle_iters))
        return between(share, max_learning_rate, min_learning_rate)

    return get_lr_cosine_schedule


def _schedule(**replaced: Callable[..., float]) -> Replacing:
    return Replacing(_made, replaced)


def _mistake(id: str, explanation: str, hint: str, *variants: Callable[..., float]) -> Mistake:
    return Mistake(id, explanation, hint, {"run_get_lr_cosine_schedule": variants}, common=True)


MISTAKES = (
    _mistake(
        "schedule-warmup-ahead",
        "Your warm-up is one iteration ahead: iteration 0 has the rate of iteration 1.",
        "How large is the rate at iteration 0, and at which iteration is it largest?",
        _schedule(warm_up=lambda it, high, _low, rise: (it + 1) / rise * high),
    ),
    _mistake(
        "schedule-warmup-from-one",
        "Your warm-up counts its iterations from 1, so that the rate is not 0 at iteration 0.",
        "How much of the warm-up is over at iteration 0?",
        _schedule(warm_up=lambda it, high, _low, rise: (it + 1) / (rise + 1) * high),
    ),
    _mistake(
        "schedule-warmup-from-minimum",
        "Your warm-up rises from the smallest rate, but it should rise from 0.",
        "Which of the two rates does the formula of the warm-up mention?",
        _schedule(warm_up=lambda it, high, low, rise: low + it / rise * (high - low)),
    ),
    _mistake(
        "schedule-without-floor",
        "After the cycle your rate follows the cosine up again, but it should stay down.",
        "How many cases has the schedule, and which of them is the last?",
        _schedule(ends=lambda _rise, _end: math.inf),
    ),
    _mistake(
        "schedule-span",
        "Your cosine does not stretch over exactly the iterations that are left after the warm-up.",
        "At which iteration does the cosine begin, at which does it end, and how many are between?",
        _schedule(passed=lambda it, rise, end: (it - rise) / end),
        _schedule(passed=lambda it, _rise, end: it / end),
        _schedule(passed=lambda it, rise, end: it / (end - rise)),
        _schedule(
            passed=lambda it, rise, end: (it - rise) / end, ends=lambda rise, end: rise + end
        ),
        _schedule(passed=lambda it, rise, end: (it - rise) / (end - rise - 1)),
        _schedule(passed=lambda it, rise, end: (it - rise) / (end - rise + 1)),
        _schedule(passed=lambda it, rise, end: (it - rise + 1) / (end - rise)),
    ),
    _mistake(
        "schedule-not-halved",
        "Your cosine part runs from 2 to 0, so that the rate begins at nearly twice the largest.",
        "Which are the largest and the smallest value of 1 + cos, and which should they be?",
        _schedule(above=lambda passed: 1 + math.cos(math.pi * passed)),
    ),
    _mistake(
        "schedule-rates-exchanged",
        "Your largest and smallest rate are swapped in the cosine part.",
        "How large is the cosine at the beginning of the cycle, and which rate should be there?",
        _schedule(between=lambda above, high, low: high + above * (low - high)),
        _schedule(above=lambda passed: (1 - math.cos(math.pi * passed)) / 2),
    ),
    _mistake(
        "schedule-minimum-not-subtracted",
        "Your cosine is multiplied by the largest rate instead of the largest minus the smallest.",
        "How large is the rate at the top of the cosine, once the smallest is added?",
        _schedule(between=lambda above, high, low: low + above * high),
    ),
    _mistake(
        "schedule-whole-cosine",
        "Your cosine goes down and up again within the cycle, but only its first half is needed.",
        "How large is the angle at the end of the cycle, and what is its cosine?",
        _schedule(above=lambda passed: (1 + math.cos(2 * math.pi * passed)) / 2),
    ),
)
