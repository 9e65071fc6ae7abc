"""Finds forbidden names that nothing has: a misspelt one is never noticed."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
from collections.abc import Iterable, Iterator

import torch

from grader.core.assignment import nearest
from grader.worker.observing.watching import NAMESPACE


def unknown_names(forbidden: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yields each name that torch or an installed package lacks, and a near one, or ""."""
    operations = {name.partition(".")[0] for name in torch._C._dispatch_get_all_op_names()}
    for name in forbidden:
        if name.startswith(NAMESPACE):
            if name not in operations:
                yield name, nearest(name, operations)
        elif importlib.util.find_spec(name.partition(".")[0]) is not None:
            yield from _unknown(name)


def _unknown(name: str) -> Iterator[tuple[str, str]]:
    """Yields a dotted name if its package has no such thing, and a near one, or ""."""
    first, *rest = name.split(".")
    found, so_far = importlib.import_module(first), first
    for attribute in rest:
        with contextlib.suppress(ImportError):
            importlib.import_module(f"{so_far}.{attribute}")
        if not hasattr(found, attribute):
            yield name, nearest(name, [f"{so_far}.{one}" for one in dir(found)])
            return
        found, so_far = getattr(found, attribute), f"{so_far}.{attribute}"
