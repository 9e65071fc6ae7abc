"""My own tests, on top of the ones that we were given."""

import torch

from .adapters import run_attention_weights, run_causal_mask


def test_rows_sum_to_one():
    w = run_attention_weights(torch.randn(4, 8), torch.randn(6, 8))
    torch.testing.assert_close(w.sum(-1), torch.ones(4))


def test_first_token_sees_itself_only():
    w = run_attention_weights(torch.randn(5, 8), torch.randn(5, 8), run_causal_mask(5))
    assert w[0].tolist() == [1, 0, 0, 0, 0]
