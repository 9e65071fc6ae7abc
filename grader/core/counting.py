"""Counts the work of a call: torch operations and the largest tensor, never a clock."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode


class WorkCounter(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts torch operations and remembers the size of the largest tensor that one made."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.operations = 0
        self.largest = 0

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Tells torch not to hide this mode from its compiler: hiding costs more than counting."""
        return False

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:  # the signature is torch's
        result = func(*args, **kwargs) if kwargs else func(*args)
        self.operations += 1
        if not func.is_view:
            for tensor in result if isinstance(result, (tuple, list)) else (result,):
                if isinstance(tensor, torch.Tensor):
                    self.largest = max(self.largest, tensor.numel())
        return result
