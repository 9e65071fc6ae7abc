"""Compares fixture tensors that were frozen on two machines, each by what it is."""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors import safe_open

from grader.explain.mistakes.diagnosis import LENIENCY
from grader.testing.comparison import FLOAT32, Tolerance, all_within

# Processors add up in another order: float64 then differs far behind what float32 holds.
_COMPUTED = {torch.float64: Tolerance(1e-9, 1e-9), torch.float32: Tolerance(2.4e-7, 1e-7)}
_EXACT = Tolerance(0, 0)


def differences(fresh: Path, committed: Path) -> list[str]:
    """What two folders of fixture tensors do not have in common: files, metadata, tensors."""
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
    """Whether two tensors under one key are the same: draws to the bit, what is computed nearly.

    Beside the numbers of an answer stands how far rounding moves them. That is each processor's
    own, and the same as long as either row recognises an answer which is off by the other's.
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
    """Whether an answer that rounding moved as far is still known by a row with some leeway."""
    return strayed <= LENIENCY * (FLOAT32.atol + leeway)
