"""The dtypes that functions without weights of their own are asked for beside float32."""

import torch

from grader.testing import Tolerance

DTYPES = [torch.float64, torch.bfloat16]
# Weights lie between 0 and 1: bfloat16 (eight bits) leaves more than two digits of them.
WEIGHTS = {torch.float64: None, torch.bfloat16: Tolerance(rtol=4e-2, atol=4e-3)}
