"""Small building blocks that I need in the other files: softmax, dropout, causal mask."""

import torch
import torch.nn as nn


class Softmax(nn.Module):
    """Softmax along one dimension. Like nn.Softmax, but written by hand."""

    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, input_tensor):
        # subtract the maximum first, otherwise exp() overflows for large numbers
        maximum_values, _ = torch.max(input_tensor, dim=self.dim, keepdim=True)
        shifted_input = input_tensor - maximum_values
        exponentials = torch.exp(shifted_input)
        # keepdim=True so that the division broadcasts for every dim
        sum_of_exponentials = torch.sum(exponentials, dim=self.dim, keepdim=True)
        probabilities = exponentials / sum_of_exponentials
        assert probabilities.shape == input_tensor.shape
        return probabilities


class AttentionDropout(nn.Module):
    """Inverted dropout for attention weights, uses self.training like nn.Dropout."""

    def __init__(self, drop_probability=0.1):
        super().__init__()
        assert 0.0 <= drop_probability < 1.0, "p must be in [0, 1)"
        self.drop_probability = drop_probability

    def forward(self, attention_weights):
        # in eval mode dropout does nothing
        if not self.training:
            return attention_weights
        keep_probability = 1.0 - self.drop_probability
        # one random number for every weight
        random_numbers = torch.rand_like(attention_weights)
        keep_mask = random_numbers < keep_probability
        dropped_weights = attention_weights * keep_mask
        # scale up, so that the expected value stays the same
        return dropped_weights / keep_probability


class CausalMask(nn.Module):
    """Boolean lower triangular mask, True = this query is allowed to look at this key."""

    def __init__(self, context_length):
        super().__init__()
        lower_triangle = torch.tril(torch.ones(context_length, context_length))
        self.register_buffer("allowed", lower_triangle.bool(), persistent=False)

    def forward(self, num_tokens):
        # cut the mask to the number of tokens that we really have
        return self.allowed[:num_tokens, :num_tokens]


class AttentionParameterCounter(nn.Module):
    """The four linear layers of multi-head attention, only to count their parameters.

    The layers are on the "meta" device, so no memory is used.
    """

    def __init__(self, d_in, d_out, qkv_bias=False, out_bias=True):
        super().__init__()
        self.query_projection = nn.Linear(d_in, d_out, bias=qkv_bias, device="meta")
        self.key_projection = nn.Linear(d_in, d_out, bias=qkv_bias, device="meta")
        self.value_projection = nn.Linear(d_in, d_out, bias=qkv_bias, device="meta")
        self.output_projection = nn.Linear(d_out, d_out, bias=out_bias, device="meta")

    def count(self):
        number_of_parameters = 0
        for parameter in self.parameters():
            number_of_parameters += parameter.numel()
        return number_of_parameters
