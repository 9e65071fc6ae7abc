"""The dtypes that are asked for beside float32, and tolerances where digits are lost."""

import torch

from grader.testing import Tolerance

DTYPES = [torch.float64, torch.bfloat16]
# Weights lie between 0 and 1: bfloat16 (eight bits) leaves more than two digits of them.
WEIGHTS = {torch.float64: None, torch.bfloat16: Tolerance(rtol=4e-2, atol=4e-3)}


def up_to(position):
    """The tolerance at positions up to this one, for tables of angles that are kept in float32.

    An angle is the product of a position and a rounded power, so its error grows with the position:
    two units of 6e-8 each, on features of up to five.
    """
    return Tolerance(rtol=1.3e-6, atol=1e-5 + position * 6e-7)
