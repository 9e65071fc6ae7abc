"""A comparison of fixture tensors that were frozen on two machines."""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors import safe_open

from grader.explain.mistakes.diagnosis import LENIENCY
from grader.testing.comparison import FLOAT32, Tolerance, all_within

# Processors add up in different orders: float64 then differs far beyond float32's digits.
_COMPUTED = {torch.float64: Tolerance(1e-9, 1e-9), torch.float32: Tolerance(2.4e-7, 1e-7)}
_EXACT = Tolerance(0, 0)


def differences(fresh: Path, committed: Path) -> list[str]:
    """Returns the differences of two folders of fixture tensors: files, metadata and tensors."""
    names = {file.name for folder in (fresh, committed) for file in folder.iterdir()}
    return [one for name in sorted(names) for one in _in_file(fresh / name, committed / name)]


def _in_file(fresh: Path, committed: Path) -> list[str]:
    if not (fresh.is_file() and committed.is_file()):
        return [f"{fresh.name} is in one of them"]
    if fresh.suffix == ".json":
        return [] if fresh.read_text() == committed.read_text() else [f"{fresh.name}: text"]
    with safe_open(fresh, "pt") as new, safe_open(committed, "pt") as old:
        keys = set(new.keys()) | set(old.keys())
        both = set(new.keys()) & set(old.keys())
        wrong = [] if new.metadata() == old.metadata() else ["metadata"]
        wrong += [
            key
            for key in sorted(keys)
            if key not in both or not same(key, new.get_tensor(key), old.get_tensor(key))
        ]
    return [f"{fresh.name}: {what}" for what in wrong]


def same(key: str, new: torch.Tensor, old: torch.Tensor) -> bool:
    """Returns whether two tensors under one key agree: draws exactly, computed ones nearly.

    An answer's row also says how far rounding moves the answer. That distance differs between
    processors. Two rows agree if each recognises an answer that is off by the other's distance.
    """
    if new.shape != old.shape or new.dtype != old.dtype:
        return False
    if "/drawn/" in key:
        return torch.equal(new, old)
    if "/answer/" in key:
        leeways = zip(new[:, -2].tolist(), old[:, -2].tolist(), strict=True)
        if not all(_recognised(*pair) and _recognised(*pair[::-1]) for pair in leeways):
            return False
        new, old = (torch.cat((rows[:, :-2], rows[:, -1:]), -1) for rows in (new, old))
    return all_within(new, old, _COMPUTED.get(new.dtype, _EXACT))


def _recognised(strayed: float, leeway: float) -> bool:
    """Returns whether a row with this leeway recognises an answer that rounding moved so far."""
    return strayed <= LENIENCY * (FLOAT32.atol + leeway)
