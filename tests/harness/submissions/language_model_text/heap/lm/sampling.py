import random

import torch


def sample(dataset, batch_size, context_length, device):
    rows = []
    for _ in range(batch_size):
        start = random.randint(0, len(dataset) - context_length - 1)
        rows.append([int(token) for token in dataset[start : start + context_length + 1]])
    block = torch.tensor(rows, dtype=torch.long, device=device)
    return block[:, :-1], block[:, 1:]
