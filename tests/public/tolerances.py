"""Tolerances of tests in which more digits are lost than the dtype loses."""

from grader.testing import Tolerance

# Figures that are printed with four decimals.
ROUNDED = Tolerance(rtol=0.0, atol=2e-4)
# Near 10000 float32 counts in steps of 0.001; a softmax by way of a logarithm keeps that error.
LARGE_SCORES = Tolerance(rtol=2e-3, atol=4e-3)
