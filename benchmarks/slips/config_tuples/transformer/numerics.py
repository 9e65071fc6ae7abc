import torch
from torch import Tensor


def shares(x: Tensor, axis: int) -> Tensor:
    highest, _ = torch.max(x, axis, keepdim=True)
    raised = (x - highest).exp()
    total = torch.sum(raised, axis, keepdim=True)
    return torch.div(raised, total)


def visible(length: int, device=None) -> Tensor:
    rows = torch.arange(length, device=device).view(length, 1)
    columns = torch.arange(length, device=device).view(1, length)
    return rows.ge(columns)
