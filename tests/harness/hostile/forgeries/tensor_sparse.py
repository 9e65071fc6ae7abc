"""A sparse tensor, and one of compressed rows with indices that point nowhere."""

import torch


def run_double(x):
    flat = x.reshape(1, -1)
    return flat.to_sparse() if x.ndim == 2 else flat.to_sparse_csr()


def run_count(x):
    indices = torch.full((1, 6), 10**9)
    return torch.sparse_coo_tensor(indices, torch.ones(6), (2**40,), check_invariants=False)
