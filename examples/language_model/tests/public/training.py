"""What the tests of the optimizer share."""

from tests.public.inputs import away_from_zero

from grader.testing import assert_matches

SETTINGS = {"lr": 1e-3, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.2}


def slopes(draw, *size):
    """A gradient of which no number is near 0: where one is, all hangs on eps.

    That has tests of its own.
    """
    return away_from_zero(draw(*size), 0.1)


def trained(handle, starts, gradients, first=1, **settings):
    """The numbers of each parameter after each step from the `first` on; `gradients` by step.

    The decay is small beside the rate, so that it is all one whether it comes before the rest of
    the step or behind it.
    """
    parameters = [handle.parameter(start) for start in starts]
    optimizer = handle()(parameters, **(SETTINGS | settings))
    for step, of_step in enumerate(gradients, 1):
        for parameter, gradient in zip(parameters, of_step, strict=True):
            parameter.grad = gradient
        optimizer.step()
        if step >= first:
            yield [parameter.value for parameter in parameters]


def steps_match(student, reference, starts, gradients, first=1, **settings):
    """After each step every parameter is right; the first that is not is told."""
    both = (trained(one, starts, gradients, first, **settings) for one in (student, reference))
    for step, (own, right) in enumerate(zip(*both, strict=True), first):
        for number, (got, wanted) in enumerate(zip(own, right, strict=True), 1):
            which = "the parameter" if len(starts) == 1 else f"parameter {number}"
            if gradients[0][number - 1] is None:
                ever = any(of_step[number - 1] is not None for of_step in gradients)
                which += " (without a gradient at first)" if ever else " (without a gradient)"
            assert_matches(got, wanted, what=f"{which} after step {step}")
