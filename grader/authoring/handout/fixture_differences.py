"""The differences of two folders of fixture tensors, such as fresh and committed ones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from grader.explain.mistakes.diagnosis import LENIENCY
from grader.testing import structure
from grader.testing.cases import SLIPS, content_of, is_frozen, thaw
from grader.testing.comparison import FLOAT32, Tolerance, all_within

# Processors add in different orders: the last digits of computed values differ.
_COMPUTED = {torch.float64: Tolerance(1e-9, 1e-9), torch.float32: Tolerance(2.4e-7, 1e-7)}
_EXACT = Tolerance(0, 0)


def differences(fresh: Path, committed: Path) -> list[str]:
    """Returns the differences of two folders of fixture tensors: files, metadata and tensors.

    Only files that `grader freeze` writes count.
    """
    files = [file for folder in (fresh, committed) for file in folder.iterdir()]
    names = {file.name for file in files if file.name == SLIPS or is_frozen(file)}
    return [one for name in sorted(names) for one in _in_file(fresh / name, committed / name)]


def _in_file(fresh: Path, committed: Path) -> list[str]:
    if not (fresh.is_file() and committed.is_file()):
        return [f"{fresh.name}: the file is {'left over' if committed.is_file() else 'missing'}"]
    if fresh.suffix == ".json":
        return [] if fresh.read_text() == committed.read_text() else [f"{fresh.name}: text"]
    if not is_frozen(committed):
        return [f"{fresh.name}: the file is damaged"]
    modules = thaw(fresh), thaw(committed)
    new, old = (replace(module, tests={}) for module in modules)
    wrong = ["metadata"] * (new != old)
    contents: list[Any] = [
        {name: {"points": test.points, **content_of(test)} for name, test in module.tests.items()}
        for module in modules
    ]
    wrong += [
        f"{part.place} {part.words}".strip()
        for part in structure.differences(*contents)
        if part.tensors is None or not _same(part.place, *part.tensors)
    ]
    return [f"{fresh.name}: {what}" for what in wrong]


def _same(place: str, new: torch.Tensor, old: torch.Tensor) -> bool:
    """Returns whether two tensors at one place agree: drawn ones exactly, computed ones nearly.

    An answer's row also holds how far rounding moves the answer, which differs between processors.
    Two rows agree if each recognises an answer that rounding moves as far as the other row says.
    """
    if new.dtype != old.dtype:
        return False
    if "['drawn']" in place:
        return torch.equal(new, old)
    if "['answers']" in place:
        leeways = zip(new[:, -2].tolist(), old[:, -2].tolist(), strict=True)
        if not all(_recognised(*pair) and _recognised(*pair[::-1]) for pair in leeways):
            return False
        new, old = (torch.cat((rows[:, :-2], rows[:, -1:]), -1) for rows in (new, old))
    return all_within(new, old, _COMPUTED.get(new.dtype, _EXACT))


def _recognised(moved: float, leeway: float) -> bool:
    """Returns whether a row with this leeway recognises an answer that rounding moved so far."""
    return moved <= LENIENCY * (FLOAT32.atol + leeway)
