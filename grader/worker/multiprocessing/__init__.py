"""Replaces the parts of `multiprocessing` that fork, wherever a submission imports them from.

Processes become threads (`processes.py`), which share queues and managers (`sharing.py`). Tasks of
pools run where they are submitted (`pools.py`).
"""

from __future__ import annotations

import concurrent.futures.process
import copy
import multiprocessing.context
import multiprocessing.managers
import multiprocessing.pool
import multiprocessing.popen_fork
import multiprocessing.popen_forkserver
import multiprocessing.popen_spawn_posix
import multiprocessing.queues
import multiprocessing.reduction
import multiprocessing.sharedctypes
import multiprocessing.synchronize
import os
import threading
from typing import Any

import torch.multiprocessing
import torch.utils.data.dataloader

from grader.worker.multiprocessing import pools, processes, sharing


def do_without_forking() -> None:
    """Replaces everything in the standard library and torch that forks, for this process.

    Names of `multiprocessing` and its contexts look up their classes in the modules changed here.
    """
    # joblib reads this variable once, at its import, and then stays in its own process.
    os.environ["JOBLIB_MULTIPROCESSING"] = "0"
    # A program that leaves two processors free, or shares a text out, needs more than two.
    for name in ("cpu_count", "process_cpu_count"):
        setattr(os, name, lambda: PROCESSORS)
    for module, source, names in _REPLACED:
        for own in names.split():
            replacement = getattr(source, own)
            setattr(module, own, replacement)
            replacement.__module__ = module.__name__  # where `pickle` finds it
    threading.stack_size(_STACK)
    pickler: Any = multiprocessing.reduction.ForkingPickler
    pickler.dumps, pickler.loads = staticmethod(processes.dumps), staticmethod(processes.loads)
    # All threads see the memory of a `Value`, of an `Array` and of a tensor.
    vars(multiprocessing.sharedctypes)["_new_value"] = lambda kind: kind()
    vars(concurrent.futures)["ProcessPoolExecutor"] = pools.ProcessPoolExecutor
    vars(torch.multiprocessing)["Pool"] = multiprocessing.Pool
    torch.Tensor.share_memory_ = lambda tensor: tensor  # type: ignore[method-assign]
    loader: Any = torch.utils.data.DataLoader
    loader.__iter__ = _loaded_here


_REPLACED = (
    (multiprocessing.popen_fork, processes, "Popen"),
    (multiprocessing.popen_spawn_posix, processes, "Popen"),
    (multiprocessing.popen_forkserver, processes, "Popen"),
    (multiprocessing.pool, pools, "Pool ThreadPool"),
    (multiprocessing.synchronize, sharing, "Lock RLock Condition Semaphore BoundedSemaphore"),
    (multiprocessing.synchronize, sharing, "Event Barrier"),
    (multiprocessing.queues, sharing, "Queue JoinableQueue"),
    (multiprocessing.managers, sharing, "SyncManager"),
    (concurrent.futures.process, pools, "ProcessPoolExecutor"),
)
# Submissions count as many processors on every machine, so that no grade depends on it.
PROCESSORS = 8
# A pool of 64 threads fits into half of the memory that a worker may have.
_STACK = 4 << 20


def _loaded_here(loader: Any) -> Any:
    """Returns a new iterator of a `DataLoader`, as if the loader had no workers."""
    alone = copy.copy(loader)
    alone.num_workers, alone.timeout = 0, 0
    return torch.utils.data.dataloader._SingleProcessDataLoaderIter(alone)
