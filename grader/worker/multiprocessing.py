"""Replaces the parts of `multiprocessing` that fork, wherever a submission imports them from.

Processes become threads; each runs until it ends or waits. Threads share variables that processes
would have for themselves, so only one may run at a time. Python switches threads when one waits,
and otherwise only after the switch interval, which is set long. Arguments and results are copied.

Tasks of pools and executors run one after another, where they are submitted. Observers of a call
thus see the tasks as well. A task may wait for others if it gets a queue or an event: it runs in a
thread of its own.
"""

from __future__ import annotations

import concurrent.futures.process
import copy
import ctypes
import functools
import io
import itertools
import multiprocessing.context
import multiprocessing.managers
import multiprocessing.pool
import multiprocessing.popen_fork
import multiprocessing.popen_forkserver
import multiprocessing.popen_spawn_posix
import multiprocessing.queues
import multiprocessing.reduction
import multiprocessing.synchronize
import os
import pickle
import queue
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from multiprocessing import sharedctypes
from multiprocessing.connection import Connection
from multiprocessing.pool import CLOSE, RUN
from multiprocessing.process import BaseProcess
from types import ModuleType, SimpleNamespace
from typing import Any

import torch.multiprocessing
import torch.utils.data.dataloader


class Shared:
    """The base of objects that processes share: they cross without a copy."""


# A task that gets one of these may wait on it for another process.
_WAITABLE = (
    *(threading.Event, threading.Condition, threading.Semaphore, threading.Barrier),
    *(queue.Queue, multiprocessing.queues.SimpleQueue, Connection),
)
_SHARED = (
    *(Shared, *_WAITABLE, type(threading.Lock()), type(threading.RLock())),
    *(sharedctypes.SynchronizedBase, torch.Tensor),
    *(ctypes._SimpleCData, ctypes.Array, ctypes.Structure, ctypes.Union),
)
# Shared objects in transit, by number; each is taken out on arrival.
_on_their_way: dict[int, Any] = {}
_numbers = itertools.count()


class _Pickler(pickle.Pickler):
    may_wait = False

    def persistent_id(self, thing: Any) -> int | None:
        if not isinstance(thing, _SHARED):
            return None
        if isinstance(thing, Connection):  # each process closes its own end
            thing = Connection(os.dup(thing.fileno()), thing.readable, thing.writable)
        self.may_wait = self.may_wait or isinstance(thing, _WAITABLE)
        number = next(_numbers)
        _on_their_way[number] = thing
        return number


class _Unpickler(pickle.Unpickler):
    def persistent_load(self, number: Any) -> Any:
        return _on_their_way.pop(number)

    def find_class(self, module: str, name: str) -> Any:
        """Returns the object of a name, and never waits for a thread that imports its module."""
        if module not in sys.modules:
            return super().find_class(module, name)
        return functools.reduce(getattr, name.split("."), sys.modules[module])


class PackedCall:
    """A call in transit to another process; it may wait if it has an object to wait on."""

    def __init__(self, function: Callable[..., Any], args: Any, kwargs: Any) -> None:
        self.may_wait = False
        self._packed: bytes | Exception
        try:
            self._packed, self.may_wait = _dumped((function, args, kwargs))
        except Exception as error:
            self._packed = error

    def made(self) -> Any:
        """Makes the call on the copies; returns a copy of its result.

        Raises:
            Exception: that of the call, or that of `pickle` if an object cannot cross.
        """
        if isinstance(self._packed, Exception):
            raise self._packed
        function, args, kwargs = loads(self._packed)
        return copied(function(*args, **kwargs))


def dumps(thing: Any, _protocol: int | None = None) -> bytes:
    """Returns bytes of which `loads` makes a copy; shared objects are not part of them.

    Raises:
        Exception: that of `pickle` if the object cannot cross.
    """
    return _dumped(thing)[0]


def loads(packed: Any) -> Any:
    """Returns the copy; it can be made only once."""
    return _Unpickler(io.BytesIO(packed)).load()


def copied(thing: Any) -> Any:
    """Returns a copy, made as if the object crossed to another process.

    Raises:
        Exception: that of `pickle` if the object cannot cross.
    """
    return loads(dumps(thing))


def inherited(thing: Any) -> Any:
    """Returns a copy as a forked process has it, or the object itself if it cannot cross."""
    try:
        return copied(thing)
    except Exception:  # a submission's own `__reduce__` may raise anything
        return thing


def _dumped(thing: Any) -> tuple[bytes, bool]:
    file = io.BytesIO()
    pickler = _Pickler(file, pickle.HIGHEST_PROTOCOL)
    pickler.dump(thing)
    return file.getvalue(), pickler.may_wait


_KILLED, _TERMINATED = -9, -15
_SWITCH_SECONDS = 5.0
_LOOK_SECONDS = 1e-4


def one_at_a_time() -> None:
    """Lets each thread run until it waits."""
    sys.setswitchinterval(_SWITCH_SECONDS)


class Popen:
    """The thread behind a process that was started, with the interface of `popen_fork.Popen`."""

    method = "fork"
    sentinel = None
    _numbers = itertools.count(1)

    def __init__(self, process: BaseProcess) -> None:
        one_at_a_time()
        # The process has copies of its arguments, and shares everything else.
        self._process = copy.copy(process)
        given: Any = vars(self._process)
        for name in ("_args", "_kwargs"):
            given[name] = type(given[name])(inherited(given[name]))
        self.returncode: int | None = None
        self.pid = os.getpid() + next(self._numbers)
        self._ended = threading.Event()
        threading.Thread(target=self._begin, daemon=True).start()

    def poll(self, flag: int = 0) -> int | None:
        """Returns the exit code if the process has ended."""
        time.sleep(_LOOK_SECONDS)  # a loop that polls lets other threads run
        return self.returncode

    def wait(self, timeout: float | None = None) -> int | None:
        """Returns the exit code if the process ends in time."""
        self._ended.wait(timeout)
        return self.returncode

    def terminate(self) -> None:
        """Counts the process as ended; its thread waits on, or runs to its end unheeded."""
        self._end(_TERMINATED)

    def kill(self) -> None:
        """Does what `terminate` does."""
        self._end(_KILLED)

    def close(self) -> None:
        """Does nothing: there is nothing to close."""

    def _begin(self) -> None:
        code = 0
        try:
            self._process.run()
        except SystemExit as leaving:
            code = leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
        except BaseException:
            code = 1
            print(f"Process {self._process.name}:", file=sys.stderr)
            traceback.print_exc()
        self._end(code)

    def _end(self, code: int) -> None:
        if self.returncode is None:
            self.returncode = code
        vars(self._process)["_args"] = ()  # with its ends of pipes
        self._ended.set()


def _outcome(call: PackedCall) -> tuple[bool, Any]:
    """Returns whether a call succeeded, and its result or exception."""
    try:
        return True, call.made()
    except Exception as error:
        return False, error


def _prepared(initializer: Callable[..., Any] | None, initargs: Iterable[Any]) -> bool:
    """Runs the initializer of a pool; returns whether its tasks may wait on the arguments."""
    if initializer is None:
        return False
    own = tuple(initargs)
    initializer(*inherited(own))
    return PackedCall(initializer, own, {}).may_wait


def _worker_count(processes: int | None) -> int:
    return (os.cpu_count() or 1) if processes is None else processes


class Pool(multiprocessing.pool.Pool):
    """A replacement for `multiprocessing.pool.Pool`, whose methods all put tasks into a queue."""

    def __init__(
        self,
        processes: int | None = None,
        initializer: Callable[..., Any] | None = None,
        initargs: Iterable[Any] = (),
        maxtasksperchild: int | None = None,
        context: object = None,
    ) -> None:
        self._state = CLOSE
        self._processes = _worker_count(processes)
        if self._processes < 1:
            raise ValueError("Number of processes must be at least 1")
        self._waits = _prepared(initializer, initargs)
        self._state = RUN
        self._pool = range(self._processes)  # whose length the standard library shows
        self._cache: dict[int, Any] = {}  # of results to come, by their number
        self._taskqueue = SimpleNamespace(put=self._perform)
        self._threads = ThreadPoolExecutor(self._processes)

    def close(self) -> None:
        """Stops taking tasks."""
        self._state = CLOSE

    terminate = close

    def join(self) -> None:
        """Waits until all tasks are done.

        Raises:
            ValueError: if the pool still takes tasks.
        """
        if self._state == RUN:
            raise ValueError("Pool is still running")
        self._threads.shutdown()

    def _perform(self, work: tuple[Iterable[Any], Callable[[int], None] | None]) -> None:
        """Runs tasks as they are put, and tells an iterator of results how many there are."""
        tasks, set_length = work
        place = -1
        for number, place, function, args, kwargs in tasks:
            call = PackedCall(function, args, kwargs)
            if self._waits or call.may_wait:
                one_at_a_time()
                self._threads.submit(self._end, number, place, call)
            else:
                self._end(number, place, call)
        if set_length is not None:
            set_length(place + 1)

    def _end(self, number: int, place: int, call: PackedCall) -> None:
        self._cache[number]._set(place, _outcome(call))


class ThreadPool(multiprocessing.pool.ThreadPool):
    """The standard library's thread pool; its own `__init__` would find the replaced `Pool`."""

    __init__ = multiprocessing.pool.Pool.__init__


class ProcessPoolExecutor(ThreadPoolExecutor):
    """A replacement for `concurrent.futures.ProcessPoolExecutor`."""

    def __init__(
        self,
        max_workers: int | None = None,
        mp_context: object = None,
        initializer: Callable[..., Any] | None = None,
        initargs: Iterable[Any] = (),
        *,
        max_tasks_per_child: int | None = None,
    ) -> None:
        super().__init__(_worker_count(max_workers))
        self._waits = _prepared(initializer, initargs)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Returns the future of a call."""
        if self._shutdown:
            raise RuntimeError("cannot schedule new futures after shutdown")
        call = PackedCall(fn, args, kwargs)
        if self._waits or call.may_wait:
            one_at_a_time()
            return super().submit(call.made)
        done: Future[Any] = Future()
        is_made, result = _outcome(call)
        (done.set_result if is_made else done.set_exception)(result)
        return done


class Queue(queue.Queue[Any]):
    """A replacement for the queues of `multiprocessing`, but `SimpleQueue`; it copies its items."""

    def __init__(self, maxsize: int = 0, *, ctx: object = None) -> None:
        super().__init__(maxsize)

    def _put(self, item: Any) -> None:
        super()._put(copied(item))

    def close(self) -> None:
        """Does nothing: there is nothing to close."""

    join_thread = cancel_join_thread = close


def _without_context(make: Callable[..., Any]) -> Callable[..., Any]:
    def made(*args: Any, ctx: object = None, **kwargs: Any) -> Any:  # noqa: ARG001
        return make(*args, **kwargs)

    return made


_NAMES = ("Lock", "RLock", "Condition", "Event", "Semaphore", "BoundedSemaphore", "Barrier")
_SYNCHRONIZED = {name: _without_context(vars(threading)[name]) for name in _NAMES}


class SharedDict(dict[Any, Any], Shared):
    """A replacement for `Manager().dict()`."""


class SharedList(list[Any], Shared):
    """A replacement for `Manager().list()`."""


class Namespace(SimpleNamespace, Shared):
    """A replacement for `Manager().Namespace()`."""


class SyncManager:
    """A replacement for `multiprocessing.managers.SyncManager`."""

    dict, list, Namespace = SharedDict, SharedList, Namespace
    Queue = JoinableQueue = Queue
    Lock, RLock, Condition = threading.Lock, threading.RLock, threading.Condition
    Semaphore, BoundedSemaphore = threading.Semaphore, threading.BoundedSemaphore
    Event, Barrier, Pool = threading.Event, threading.Barrier, Pool
    Value, Array = staticmethod(sharedctypes.Value), staticmethod(sharedctypes.Array)

    def __init__(self, *_: object, **__: object) -> None:
        """Ignores a manager's address and authentication, because it has no process."""

    def start(self, *_: object, **__: object) -> None:
        """Does nothing: there is nothing to start."""

    connect = shutdown = join = start

    def __enter__(self) -> SyncManager:
        return self

    def __exit__(self, *_: object) -> None:
        """Does nothing: there is nothing to end."""


def do_without_forking() -> None:
    """Replaces everything in the standard library and torch that forks, for this process.

    Names of `multiprocessing` and its contexts look up their classes in the modules changed here.
    """
    # joblib reads this variable once, at its import, and then stays in its own process.
    os.environ["JOBLIB_MULTIPROCESSING"] = "0"
    # A program that leaves two processors free, or shares a text out, needs more than two.
    for name in ("cpu_count", "process_cpu_count"):
        setattr(os, name, lambda: PROCESSORS)
    for module, replacements in _REPLACED:
        for name, replacement in replacements.items():
            setattr(module, name, replacement)
            replacement.__module__ = module.__name__  # where `pickle` finds it
    threading.stack_size(_STACK)
    pickler: Any = multiprocessing.reduction.ForkingPickler
    pickler.dumps, pickler.loads = staticmethod(dumps), staticmethod(loads)
    # All threads see the memory of a `Value`, of an `Array` and of a tensor.
    vars(sharedctypes)["_new_value"] = lambda kind: kind()
    vars(concurrent.futures)["ProcessPoolExecutor"] = ProcessPoolExecutor
    vars(torch.multiprocessing)["Pool"] = multiprocessing.Pool
    torch.Tensor.share_memory_ = lambda tensor: tensor  # type: ignore[method-assign]
    loader: Any = torch.utils.data.DataLoader
    loader.__iter__ = _loaded_here


_REPLACED: Sequence[tuple[ModuleType, Mapping[str, Any]]] = (
    (multiprocessing.popen_fork, {"Popen": Popen}),
    (multiprocessing.popen_spawn_posix, {"Popen": Popen}),
    (multiprocessing.popen_forkserver, {"Popen": Popen}),
    (multiprocessing.pool, {"Pool": Pool, "ThreadPool": ThreadPool}),
    (multiprocessing.synchronize, _SYNCHRONIZED),
    (multiprocessing.queues, {"Queue": Queue, "JoinableQueue": Queue}),
    (multiprocessing.managers, {"SyncManager": SyncManager}),
    (concurrent.futures.process, {"ProcessPoolExecutor": ProcessPoolExecutor}),
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
