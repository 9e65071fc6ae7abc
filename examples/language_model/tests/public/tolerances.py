"""Tolerances of tests in which more digits are lost than the dtype loses."""

from grader.testing import Tolerance

# Figures that are printed with four decimals.
ROUNDED = Tolerance(rtol=0.0, atol=2e-4)
# Near 10000 float32 counts in steps of 0.001; a softmax by way of a logarithm keeps that error.
LARGE_SCORES = Tolerance(rtol=2e-3, atol=4e-3)
# Errors of single steps add up over the dozens of steps of a model.
OF_A_MODEL = Tolerance(rtol=1e-4, atol=1e-4)


def up_to(position):
    """The tolerance at positions up to this one, for tables of angles that are kept in float32.

    An angle is the product of a position and a rounded power, so its error grows with the position:
    two units of 6e-8 each, on features of up to five.
    """
    return Tolerance(rtol=1.3e-6, atol=1e-5 + position * 6e-7)
