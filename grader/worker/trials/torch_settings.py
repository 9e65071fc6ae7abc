"""The settings of torch that hold for the whole process, and that a call may leave otherwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch


class TorchSetting(NamedTuple):
    """One setting: how it is read, and how it is set to what was read."""

    read: Callable[[], Any]
    write: Callable[[Any], object]


def _set_deterministic(mode: int) -> None:
    torch.set_deterministic_debug_mode(mode)


def _set_autocast(held: tuple[bool, torch.dtype]) -> None:
    torch.set_autocast_enabled("cpu", held[0])
    torch.set_autocast_dtype("cpu", held[1])


SETTINGS = (
    TorchSetting(torch.is_grad_enabled, torch.set_grad_enabled),
    TorchSetting(torch.get_default_dtype, torch.set_default_dtype),
    TorchSetting(torch.get_default_device, torch.set_default_device),
    TorchSetting(
        lambda: (torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")), _set_autocast
    ),
    TorchSetting(torch.get_deterministic_debug_mode, _set_deterministic),
    TorchSetting(torch.is_anomaly_enabled, torch.autograd.set_detect_anomaly),
    TorchSetting(torch.get_float32_matmul_precision, torch.set_float32_matmul_precision),
    TorchSetting(torch.get_num_threads, torch.set_num_threads),
)
