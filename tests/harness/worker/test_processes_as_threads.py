"""Processes, locks and pools that are threads: what is copied, shared, refused and raised."""

from __future__ import annotations

import contextlib
import multiprocessing
import multiprocessing.connection
import multiprocessing.synchronize
import operator
import os
import pickle
import queue
import sys
import threading
from collections.abc import Iterator
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.process import BaseProcess
from typing import Any

import pytest
import torch

from grader.worker.multiprocessing import _loaded_here, processes, sharing
from grader.worker.multiprocessing.pools import Pool, ProcessPoolExecutor
from grader.worker.multiprocessing.processes import (
    PackedCall,
    Popen,
    Shared,
    being,
    copied,
    current_process,
    dumps,
    inherited,
    loads,
    pool_process,
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
    assert processes._on_their_way == {}


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
        multiprocessing.connection.wait([one.sentinel], SECONDS)
        one.close()
        one.close()
    assert items == []
    printed = capsys.readouterr().err
    assert printed.startswith("Process Own-1:\nTraceback")
    assert "ValueError: no []" in printed


@pytest.mark.parametrize(
    ("given", "code", "said"), [(None, 0, ""), (0, 0, ""), (3, 3, ""), ("gone", 1, "gone\n")]
)
def test_a_process_may_end_itself(capsys, given, code, said):
    one = started(sys.exit, given)
    assert one.wait(SECONDS) == code
    assert capsys.readouterr().err == said
    one.close()


def test_a_process_that_waits_is_ended_from_outside():
    """Its exit code tells the signal; a later end changes nothing."""
    for end, code in (("terminate", -15), ("kill", -9)):
        leave = queue.Queue[int]()
        one = started(leave.get)
        assert one.poll() is one.wait(0.01) is None
        getattr(one, end)()
        one.kill()
        assert one.wait(SECONDS) == code
        leave.put(1)
        one._thread.join(SECONDS)
        assert one.returncode == code
        one.close()


def test_the_end_of_a_finished_process_leaves_a_later_one_alone():
    """A later thread gets the identifier of a thread that is gone."""
    for _ in range(20):
        first = started(square, 3)
        first.wait(SECONDS)
        first._thread.join(SECONDS)
        leave, left = queue.Queue[int](), queue.Queue[int]()
        second = started(hand_on, leave, left)
        first.terminate()
        first.kill()
        leave.put(1)
        assert second.wait(SECONDS) == first.returncode == 0
        assert left.qsize() == 1
        first.close()
        second.close()


def hand_on(leave: queue.Queue[int], left: queue.Queue[int]) -> None:
    left.put(leave.get())


def test_processes_have_numbers_of_their_own_and_know_themselves():
    seen: queue.Queue[str] = queue.Queue()
    first, second = (started(tell_name, seen) for _ in range(2))
    assert [first.wait(SECONDS), second.wait(SECONDS)] == [0, 0]
    assert {seen.get(), seen.get()} == {"Own-1"}
    assert second.pid == first.pid + 1 > os.getpid()
    assert current_process() is processes._MAIN
    first.close()
    second.close()


def tell_name(seen: queue.Queue[str]) -> None:
    seen.put(current_process().name)


def test_code_in_a_pool_has_its_process():
    own = pool_process()
    assert (own.name, own.daemon, own.pid, own.ident) == (
        "ForkPoolWorker-1",
        True,
        os.getpid(),
        os.getpid(),
    )
    with contextlib.suppress(KeyError), being(own):
        assert current_process() is own
        raise KeyError
    assert current_process() is not own


# --- Pools ---------------------------------------------------------------------------------------


def process_name(_n: object) -> str:
    return current_process().name


def test_tasks_of_a_pool_run_where_they_are_submitted():
    given: list[int] = []
    with Pool(2) as pool:
        assert pool.map(process_name, [1]) == ["ForkPoolWorker-1"]
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
        assert pool.submit(process_name, 1).result(SECONDS) == "ForkPoolWorker-1"
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


def test_a_failed_initializer_breaks_an_executor_for_good():
    PREPARED.clear()
    with ProcessPoolExecutor(1, initializer=fail, initargs=(3,)) as pool:
        why = pool.submit(square, 1).exception(SECONDS)
        assert isinstance(why, BrokenProcessPool)
        assert "no 3" in str(why)
        with pytest.raises(BrokenProcessPool):
            pool.submit(square, 1)


def test_a_loader_with_workers_loads_here():
    data = torch.utils.data.TensorDataset(torch.arange(4))
    loader = torch.utils.data.DataLoader(data, batch_size=2, num_workers=2, timeout=9)
    assert [batch[0].tolist() for batch in _loaded_here(loader)] == [[0, 1], [2, 3]]
    assert (loader.num_workers, loader.timeout) == (2, 9)


# --- Locks and managers --------------------------------------------------------------------------


def elsewhere(function: Any, *args: Any, **kwargs: Any) -> Any:
    """Returns the result of a function that another thread calls."""
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(function(*args, **kwargs)))
    thread.start()
    thread.join(SECONDS)
    return found[0]


@pytest.fixture
def unforked(monkeypatch) -> None:
    """Builds the standard library's locks on the stand-in for its semaphore."""
    monkeypatch.setattr(multiprocessing.synchronize._multiprocessing, "SemLock", sharing.SemLock)


@pytest.mark.usefixtures("unforked")
def test_a_lock_is_taken_once_and_one_for_recursion_again():
    lock, recursive = multiprocessing.Lock(), multiprocessing.RLock()
    for one, again in ((lock, False), (recursive, True)):
        with one as is_held:
            assert is_held is True
            assert one.acquire(block=False) is again
            assert elsewhere(one.acquire, False) is False
            assert elsewhere(one.acquire, True, 0.01) is elsewhere(one.acquire, True, -3) is False
            if again:
                one.release()
        with pytest.raises((ValueError, AssertionError), match="release"):
            one.release()
        assert elsewhere(one.acquire, False) is True
    assert lock.acquire(block=False) is False
    lock.release()
    assert lock.acquire(timeout=1) is True


@pytest.mark.usefixtures("unforked")
def test_a_semaphore_counts_its_units():
    one = multiprocessing.Semaphore(2)
    assert (one.get_value(), one._semlock._is_zero()) == (2, False)
    with one:
        assert one.acquire(False) is True
        assert one._semlock._is_zero()
        assert one.acquire(False) is one.acquire(False, 5) is one.acquire(timeout=0.01) is False
        for _ in range(3):
            one.release()
    assert one.get_value() == 4
    bounded = multiprocessing.BoundedSemaphore()
    with pytest.raises(ValueError, match="too many times"):
        bounded.release()
    with bounded:
        assert bounded.get_value() == 0
    assert bounded.get_value() == 1


@pytest.mark.usefixtures("unforked")
def test_conditions_events_and_barriers_work_on_such_locks():
    lock = multiprocessing.Lock()
    with multiprocessing.Condition(lock):
        assert lock.acquire(block=False) is False
    condition = multiprocessing.Condition()
    with condition:
        told = threading.Thread(target=notified, args=(condition,))
        told.start()
        assert condition.wait(SECONDS)
    told.join(SECONDS)
    event = multiprocessing.Event()
    assert not event.is_set()
    assert event.wait(0.01) is False
    event.set()
    assert event.wait(SECONDS)
    called: list[int] = []
    barrier = sharing.Barrier(1, lambda: called.append(1), 5.0)
    assert (barrier.parties, barrier.wait(), called) == (1, 0, [1])
    with pytest.raises(threading.BrokenBarrierError):
        sharing.Barrier(2, None, 0.01).wait()


def notified(condition: Any) -> None:
    with condition:
        condition.notify_all()


def test_a_manager_copies_what_goes_in_and_out():
    manager = sharing.SyncManager(("", 0), b"key")
    manager.start()
    inner: list[int] = [1]
    with manager as same:
        assert same is manager
        table = manager.dict({"a": inner})
        table["b"] = inner
        items = manager.list([inner])
        items.append(inner)
        items.insert(0, inner)
        items.extend([inner])
        items += [inner]
        space = manager.Namespace(x=inner)
        space.y = inner
        waiting = manager.Queue()
        waiting.put(inner)
        inner.append(2)
        assert (table["a"], table["b"], dict(table)) == ([1], [1], {"a": [1], "b": [1]})
        assert (list(items)[:4], len(items)) == ([[1]] * 4, 5)
        assert (space.x, space.y, waiting.get()) == ([1], [1], [1])
        table["a"].append(5)
        items[0].append(5)
        assert (table["a"], items[0]) == ([1], [1])
        items[0] = inner
        items[1:] = iter([inner])
        inner.append(3)
        assert items[0] == items[1] == [1, 2]
        more = operator.add(items, [3])
        assert (more, type(more)) == ([[1, 2], [1, 2], 3], list)
        assert manager.list()[:] == []
        assert manager.Value("i", 3).value == 3
        assert list(manager.Array("d", [1.0])) == [1.0]
    manager.shutdown()


@pytest.mark.usefixtures("unforked")
def test_shared_objects_cross_without_a_copy():
    manager = sharing.SyncManager()
    locks = (manager.Lock(), manager.Semaphore(), manager.Condition(), manager.Event())
    for made in (manager.dict(), manager.list(), manager.Namespace(), *locks):
        assert copied(made) is made
