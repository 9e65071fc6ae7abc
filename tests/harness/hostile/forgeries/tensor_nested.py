"""A tensor of tensors of different lengths."""

import torch


def run_double(x):
    return torch.nested.nested_tensor([x.flatten(), x.flatten()[:1]])


def run_count(x):
    return torch.nested.nested_tensor([x.flatten()], layout=torch.jagged)
