"""Processes, locks and pools that are threads: what is copied, shared, refused and raised."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import queue
import sys
import threading
from collections.abc import Iterator
from multiprocessing.process import BaseProcess
from typing import Any

import pytest
import torch

from grader.worker.multiprocessing import (
    _SYNCHRONIZED,
    PackedCall,
    Pool,
    Popen,
    ProcessPoolExecutor,
    Queue,
    Shared,
    SyncManager,
    _loaded_here,
    _on_their_way,
    copied,
    dumps,
    inherited,
    loads,
)

pytestmark = pytest.mark.unit

SECONDS = 60.0


@pytest.fixture(autouse=True)
def interval() -> Iterator[None]:
    """Restores the interval at which Python switches threads."""
    before = sys.getswitchinterval()
    yield
    sys.setswitchinterval(before)


def square(n: int) -> int:
    return n * n


def fail(n: object) -> None:
    raise ValueError(f"no {n}")


def spoil(items: list[int]) -> list[int]:
    items.append(1)
    return items


PREPARED: list[object] = []


def prepare(*values: object) -> None:
    PREPARED[:] = values


def prepared(n: int) -> object:
    return PREPARED[0], n


class Unpicklable:
    def __reduce__(self) -> Any:
        raise KeyError("it stays")


# --- Copies --------------------------------------------------------------------------------------


def test_plain_objects_are_copied_and_shared_ones_are_not():
    tensor, event, own = torch.ones(2), threading.Event(), Shared()
    value: Any = [[1], tensor, event, own]
    twin = copied(value)
    assert twin[0] == [1]
    assert twin[0] is not value[0]
    assert all(one is other for one, other in zip(twin[1:], value[1:], strict=True))
    assert _on_their_way == {}


def test_an_end_of_a_pipe_crosses_as_another_descriptor():
    """Each process closes its own."""
    ours, theirs = multiprocessing.Pipe()
    twin = copied(theirs)
    assert twin.fileno() != theirs.fileno()
    theirs.close()
    twin.send(3)
    assert ours.recv() == 3
    assert (twin.readable, twin.writable) == (True, True)
    for one in (ours, twin):
        one.close()


def test_an_object_that_cannot_cross_is_inherited_as_it_is():
    """A forked process has it too."""
    own = Unpicklable()
    assert inherited(own) is own
    with pytest.raises(KeyError):
        copied(own)
    assert inherited([1]) == [1]
    assert loads(dumps((1, "a"))) == (1, "a")


def test_a_packed_call_may_wait_if_it_has_something_to_wait_on():
    assert not PackedCall(square, (1,), {}).may_wait
    assert not PackedCall(square, (torch.ones(1), Shared()), {}).may_wait
    assert PackedCall(square, ([threading.Event()],), {}).may_wait
    assert PackedCall(square, (), {"n": queue.Queue()}).may_wait
    assert PackedCall(square, (queue.Queue(), 1), {}).may_wait
    assert PackedCall(square, (3,), {}).made() == 9
    with pytest.raises(KeyError):
        PackedCall(square, (Unpicklable(),), {}).made()
    with pytest.raises((pickle.PicklingError, AttributeError)):
        PackedCall(lambda: 3, (), {}).made()


# --- Processes -----------------------------------------------------------------------------------


class Process(BaseProcess):
    """A process that is not started by `multiprocessing` itself."""


def started(target: Any, *args: Any, **kwargs: Any) -> Popen:
    return Popen(Process(target=target, args=args, kwargs=kwargs, name="Own-1"))


def test_a_process_runs_on_copies_and_ends_with_a_code(capsys):
    items: list[int] = []
    for target, code in ((spoil, 0), (fail, 1)):
        one = started(target, items)
        assert one.wait(SECONDS) == one.poll() == one.wait(0) == code
        one.close()
    assert items == []
    printed = capsys.readouterr().err
    assert printed.startswith("Process Own-1:\nTraceback")
    assert "ValueError: no []" in printed


@pytest.mark.parametrize(("given", "code"), [(None, 0), (0, 0), (3, 3), ("gone", 1)])
def test_a_process_may_end_itself(given, code):
    assert started(sys.exit, given).wait(SECONDS) == code


def test_a_process_that_waits_is_ended_from_outside():
    """Its exit code tells the signal; a later end changes nothing."""
    for end, code in (("terminate", -15), ("kill", -9)):
        leave = queue.Queue[int]()
        one = started(leave.get)
        assert one.poll() is one.wait(0.01) is None
        getattr(one, end)()
        one.kill()
        leave.put(1)
        assert one.wait(SECONDS) == one.returncode == code


def test_processes_have_numbers_of_their_own():
    first, second = (started(square, n) for n in (1, 2))
    assert [first.wait(SECONDS), second.wait(SECONDS)] == [0, 0]
    assert second.pid == first.pid + 1 > os.getpid()


# --- Pools ---------------------------------------------------------------------------------------


def test_tasks_of_a_pool_run_where_they_are_submitted():
    given: list[int] = []
    with Pool(2) as pool:
        assert pool.map(spoil, [given, given]) == [[1], [1]]
        assert pool.starmap(pow, [(2, 3), (3, 2)]) == [8, 9]
        assert list(pool.imap(square, [1, 2])) == [1, 4]
        assert list(pool.imap_unordered(square, iter([3]), chunksize=2)) == [9]
        assert pool.apply(square, (), {"n": 3}) == 9
        with pytest.raises(ValueError, match="Chunksize"):
            pool.imap(square, [1], chunksize=0)
        assert list(pool.imap(square, [1], chunksize=1)) == [1]
    assert given == []


def test_a_pool_reports_results_and_exceptions_as_the_real_one():
    told: list[object] = []
    pool = Pool(1)
    one = pool.apply_async(square, (3,), callback=told.append, error_callback=told.append)
    bad = pool.map_async(fail, [1, 2], callback=told.append, error_callback=told.append)
    assert (one.ready(), one.successful(), one.get()) == (True, True, 9)
    assert not bad.successful()
    assert told[0] == 9
    assert str(told[1]) == "no 1"
    results = pool.imap(fail, [5])
    with pytest.raises(ValueError, match="no 5"):
        next(results)
    with pytest.raises(ValueError, match="still running"):
        pool.join()
    pool.close()
    pool.join()
    with pytest.raises(ValueError, match="not running"):
        pool.map(square, [1])
    assert told[0] == 9


def test_a_pool_needs_a_process_and_counts_processors_otherwise():
    for wrong in (0, -1):
        with pytest.raises(ValueError, match="at least 1"):
            Pool(wrong)
    for pool, count in ((Pool(3), 3), (Pool(), os.cpu_count())):
        with pool:
            assert repr(pool).endswith(f"state=RUN pool_size={count}>")
    with pytest.raises(TypeError, match="not callable"):
        Pool(1, 3)


def test_a_pool_is_prepared_with_copies():
    given: list[int] = []
    with Pool(1, prepare, (given, 2)) as pool:
        assert pool.map(prepared, [3]) == [([], 3)]
        assert PREPARED[0] is not given
        assert pool.apply(threading.get_ident) == threading.get_ident()
    with Pool(1, prepare, iter([threading.Event()])) as pool:
        assert pool.apply(threading.get_ident) != threading.get_ident(), "it may wait"


def wait_for(event: threading.Event, n: int = 1) -> int:
    assert event.wait(SECONDS)
    return n


def test_tasks_that_may_wait_run_in_threads():
    """The one that waits does not keep the others from running."""
    event = threading.Event()
    pool = Pool(2)
    waiting = pool.apply_async(wait_for, (event, 7))
    several = pool.map_async(wait_for, [event])
    lazily = pool.imap(wait_for, [event])
    assert not waiting.ready()
    event.set()
    assert waiting.get(SECONDS) == 7
    assert several.get(SECONDS) == [1]
    assert next(lazily) == 1
    pool.close()
    pool.join()


def test_an_executor_runs_its_tasks_where_they_are_submitted():
    given: list[int] = []
    with ProcessPoolExecutor(2, initializer=prepare, initargs=(5,)) as pool:
        assert pool.submit(prepared, 1).result(SECONDS) == (5, 1)
        assert pool.submit(spoil, given).result(SECONDS) == [1]
        assert str(pool.submit(fail, 1).exception(SECONDS)) == "no 1"
        assert list(pool.map(square, [1, 2], chunksize=5)) == [1, 4]
        assert list(pool.map(square, [3], chunksize=1)) == [9]
    assert given == []
    with pytest.raises(RuntimeError, match="after shutdown"):
        pool.submit(square, 1)


def test_an_executors_task_may_wait_in_a_thread():
    event = threading.Event()
    with ProcessPoolExecutor(2) as pool:
        future = pool.submit(wait_for, event)
        assert not future.done()
        event.set()
        assert future.result(SECONDS) == 1
    with ProcessPoolExecutor(2, initializer=prepare, initargs=(event,)) as pool:
        assert pool.submit(threading.get_ident).result(SECONDS) != threading.get_ident()


def test_a_loader_with_workers_loads_here():
    data = torch.utils.data.TensorDataset(torch.arange(4))
    loader = torch.utils.data.DataLoader(data, batch_size=2, num_workers=2, timeout=9)
    assert [batch[0].tolist() for batch in _loaded_here(loader)] == [[0, 1], [2, 3]]
    assert (loader.num_workers, loader.timeout) == (2, 9)


# --- Queues, locks and managers ------------------------------------------------------------------


def test_a_queue_copies_its_items():
    given = [1]
    items = Queue(ctx=None)
    items.put(given)
    given.append(2)
    assert (items.get(), items.empty()) == ([1], True)
    items.close()
    items.join_thread()


def test_locks_take_a_context_and_are_those_of_threads():
    for kind in map(_SYNCHRONIZED.get, ("Lock", "RLock", "Condition", "Event")):
        assert copied(own := kind(ctx=None)) is own
    assert _SYNCHRONIZED["Barrier"](1, None, 5.0, ctx=None).wait() == 0
    with _SYNCHRONIZED["Semaphore"](2, ctx=None) as is_taken:
        assert is_taken
    with pytest.raises(ValueError, match="too many times"):
        _SYNCHRONIZED["BoundedSemaphore"](ctx=None).release()


def test_objects_of_a_manager_cross_without_a_copy():
    manager = SyncManager(("", 0), b"key")
    manager.start()
    with manager as same:
        assert same is manager
        shared = (manager.dict({"a": 1}), manager.list([1]), manager.Namespace(x=1))
        for made in (*shared, manager.Queue(), manager.Lock(), manager.Event()):
            assert copied(made) is made
        assert (shared[0] | {}, shared[1] + [2], shared[2].x) == ({"a": 1}, [1, 2], 1)
        assert manager.Value("i", 3).value == 3
        assert list(manager.Array("d", [1.0])) == [1.0]
    manager.shutdown()
