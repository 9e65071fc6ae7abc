"""What the tests of clipping share."""

from grader.testing import assert_matches


def clipped(handle, weights, gradients, max_l2_norm):
    """The gradients and the weights after clipping; a gradient may be None."""
    pairs = zip(weights, gradients, strict=True)
    parameters = [handle.parameter(weight, grad=gradient) for weight, gradient in pairs]
    handle(parameters, max_l2_norm=max_l2_norm)
    return [(one.grad, one.value) for one in parameters]


def clipping_matches(student, reference, draw, gradients, max_l2_norm):
    """Every gradient is as the reference has it, and the weights are what they were."""
    weights = [draw(3) if one is None else draw(*one.shape) for one in gradients]
    own, right = (clipped(one, weights, gradients, max_l2_norm) for one in (student, reference))
    for number, (got, wanted) in enumerate(zip(own, right, strict=True), 1):
        assert_matches(got[0], wanted[0], what=f"the gradient of parameter {number}")
        assert_matches(got[1], wanted[1], what=f"parameter {number} itself")
