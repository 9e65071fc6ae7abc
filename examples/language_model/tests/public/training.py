"""What the tests of the optimizer share."""

from grader.testing import assert_matches

SETTINGS = {"lr": 1e-3, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.2}


def trained(handle, starts, gradients, **settings):
    """The numbers of each parameter after each step; `gradients` are those of each step.

    The decay is small beside the rate, so that it is all one whether it comes before the rest of
    the step or behind it.
    """
    parameters = [handle.parameter(start) for start in starts]
    optimizer = handle()(parameters, **(SETTINGS | settings))
    for of_step in gradients:
        for parameter, gradient in zip(parameters, of_step, strict=True):
            parameter.grad = gradient
        optimizer.step()
        yield [parameter.value for parameter in parameters]


def steps_match(student, reference, starts, gradients, tolerance=None, **settings):
    """After each step every parameter is right; the first that is not is told."""
    both = (trained(handle, starts, gradients, **settings) for handle in (student, reference))
    for step, (own, right) in enumerate(zip(*both, strict=True), 1):
        for number, (got, wanted) in enumerate(zip(own, right, strict=True), 1):
            which = "the parameter" if len(starts) == 1 else f"parameter {number}"
            assert_matches(got, wanted, tolerance, f"{which} after step {step}")
