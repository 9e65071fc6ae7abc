"""Pools, executors and processes in a worker that may not fork."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from pathlib import Path

import pytest

from grader import Grade, batch
from tests.harness.conftest import write_files

pytestmark = pytest.mark.process

# Code before each of the programs.
BEFORE = """
import os, queue, time
import multiprocessing as mp
import concurrent.futures as cf
from functools import partial
import torch
from multiprocessing import Pool, Process, cpu_count, current_process

def square(n): return n * n
def add(a, b): return a + b
def fail(n): raise ValueError(f"no {n}")
def spoil(items): items.append(1); return items
STATE = {}
def prepare(value): STATE["value"] = value
def prepared(n): return STATE["value"] + n
def raised(do):
    try: do()
    except Exception as error: return type(error).__name__, str(error)
"""
TRIED = {
    "pool_of_32": """
        with Pool(32) as pool:
            assert pool.map(square, range(100), chunksize=7) == [n * n for n in range(100)]
            assert list(pool.imap(square, iter([1, 2, 3]))) == [1, 4, 9]
            assert sorted(pool.imap_unordered(square, [1, 2, 3], chunksize=2)) == [1, 4, 9]
            assert pool.starmap(add, [(1, 2), (3, 4)]) == [3, 7]
            assert pool.apply(add, (1,), {"b": 2}) == 3
            assert pool.map(partial(add, 1), [1]) == [2]
    """,
    "processors_to_spare": """
        assert os.cpu_count() - 2 == cpu_count() - 2 == mp.get_context("spawn").cpu_count() - 2 == 6
        with Pool(os.cpu_count() // 4) as pool:
            assert pool.map(square, [1, 2]) == [1, 4]
    """,
    "pool_later": """
        told = []
        pool = Pool(processes=4, initializer=prepare, initargs=(5,))
        one = pool.apply_async(prepared, (1,), callback=told.append)
        many = pool.map_async(prepared, [1, 2], callback=told.append)
        bad = pool.apply_async(fail, (3,), error_callback=lambda error: told.append(str(error)))
        pool.close()
        pool.join()
        assert one.ready() and one.successful() and one.get(timeout=60) == 6
        assert many.get() == [6, 7]
        assert not bad.successful()
        assert told == [6, [6, 7], "no 3"], told
        assert raised(bad.get) == ("ValueError", "no 3")
        assert raised(lambda: pool.map(square, [1])) == ("ValueError", "Pool not running")
    """,
    "pool_raises": """
        with Pool() as pool:
            assert raised(lambda: pool.map(fail, [1, 2])) == ("ValueError", "no 1")
            items = pool.imap(fail, [1])
            assert raised(lambda: next(items)) == ("ValueError", "no 1")
            assert "pickle" in raised(lambda: pool.map(lambda n: n, [1]))[1]
        assert raised(lambda: Pool(0))[0] == "ValueError"
    """,
    "copies": """
        given = []
        with Pool(2) as pool:
            assert pool.map(spoil, [given, given]) == [[1], [1]]
        assert given == []
        process = Process(target=spoil, args=(given,))
        process.start(); process.join()
        assert given == []
    """,
    "executor": """
        with cf.ProcessPoolExecutor(max_workers=8, mp_context=mp.get_context("spawn")) as pool:
            futures = {pool.submit(square, n): n for n in range(10)}
            assert {futures[f]: f.result() for f in cf.as_completed(futures)}[3] == 9
            assert list(pool.map(add, [1, 2], [3, 4], chunksize=10, timeout=60)) == [4, 6]
            bad = pool.submit(fail, 1)
            done, left = cf.wait([bad])
            assert not left and str(bad.exception()) == "no 1"
        assert raised(lambda: pool.submit(square, 1))[0] == "RuntimeError"
        with cf.ProcessPoolExecutor(initializer=prepare, initargs=(1,)) as pool:
            assert pool.submit(prepared, 1).result(timeout=60) == 2
        from concurrent.futures.process import BrokenProcessPool, ProcessPoolExecutor
        assert ProcessPoolExecutor is cf.ProcessPoolExecutor
    """,
    "results_before_join": """
        def work(tasks, results):
            while (n := tasks.get()) is not None:
                results.put((n, square(n)))
        tasks, results = mp.Queue(), mp.Queue()
        workers = [Process(target=work, args=(tasks, results), daemon=True) for _ in range(32)]
        for worker in workers: worker.start()
        for n in range(100): tasks.put(n)
        assert dict(results.get() for _ in range(100)) == {n: n * n for n in range(100)}
        for worker in workers: tasks.put(None)
        for worker in workers: worker.join()
        assert [w.exitcode for w in workers] == [0] * 32 and not any(w.is_alive() for w in workers)
    """,
    "results_after_join": """
        def work(part, results): results.put(sum(part))
        results = mp.Manager().Queue()
        workers = [mp.Process(target=work, args=(range(n), results)) for n in range(4)]
        [worker.start() for worker in workers]
        [worker.join() for worker in workers]
        assert sorted(results.get() for _ in workers) == [0, 0, 1, 3]
        assert results.empty()
    """,
    "globals_one_after_another": """
        COUNTS = {}
        def count(text, results):
            global COUNTS
            COUNTS = {}
            for letter in text:
                COUNTS[letter] = COUNTS.get(letter, 0) + 1
            results.put(COUNTS)
        results = mp.SimpleQueue()
        workers = [Process(target=count, args=("ab" * 20000, results)) for _ in range(4)]
        for worker in workers: worker.start()
        assert [results.get() for _ in workers] == [{"a": 20000, "b": 20000}] * 4
    """,
    "listener": """
        def listen(messages, heard):
            while (message := messages.get()) != "end":
                heard.append(message)
        def say(n, messages): messages.put(n)
        manager = mp.Manager()
        messages, heard = manager.Queue(), manager.list()
        with Pool(2) as pool:
            listener = pool.apply_async(listen, (messages, heard))
            for job in [pool.apply_async(say, (n, messages)) for n in range(5)]: job.get()
            messages.put("end")
            pool.close(); pool.join()
        assert list(heard) == [0, 1, 2, 3, 4]
    """,
    "shared": """
        def work(number, numbers, lock, found, space):
            with lock:
                number.value += 1
            numbers[0] += 0.5
            found["a"] = [1]
            space.x = 3
        with mp.Manager() as manager:
            number, numbers, lock = mp.Value("i", 0), mp.Array("d", [1.0, 2.0]), mp.Lock()
            found, space = manager.dict(), manager.Namespace()
            work_args = (number, numbers, lock, found, space)
            workers = [Process(target=work, args=work_args) for _ in range(3)]
            for w in workers: w.start()
            for w in workers: w.join()
            assert number.value == 3 and list(numbers) == [2.5, 2.0]
            assert dict(found) == {"a": [1]} and space.x == 3
            assert manager.list([1, 2]) + [3] == [1, 2, 3]
    """,
    "synchronised": """
        def wait(event, barrier, order, semaphore):
            event.wait()
            with semaphore:
                order.put(barrier.wait(timeout=60))
        event, barrier, order = mp.Event(), mp.Barrier(3), mp.JoinableQueue()
        args = (event, barrier, order, mp.Semaphore(3))
        workers = [Process(target=wait, args=args) for _ in range(3)]
        for w in workers: w.start()
        event.set()
        assert sorted(order.get() for _ in workers) == [0, 1, 2]
        for w in workers: order.task_done()
        order.join()
    """,
    "pipe": """
        def answer(end):
            end.send(end.recv() + 1)
            end.close()
        ours, theirs = mp.Pipe()
        process = Process(target=answer, args=(theirs,), name="answerer")
        process.start()
        theirs.close()
        ours.send(1)
        assert ours.poll(60) and ours.recv() == 2
        process.join()
        assert raised(ours.recv)[0] == "EOFError"
    """,
    "processes_fail": """
        import sys
        class Own(mp.Process):
            def run(self): raise ValueError("no")
        process = Own(); process.start(); process.join()
        assert process.exitcode == 1
        process = Process(target=sys.exit, args=(3,)); process.start(); process.join(timeout=60)
        assert process.exitcode == 3
        process = Process(target=mp.Queue().get)
        process.start(); process.terminate(); process.join()
        assert process.exitcode == -15 and not process.is_alive()
    """,
    "contexts": """
        mp.freeze_support()
        mp.set_start_method("spawn", force=True)
        assert mp.get_start_method() == "spawn" and cpu_count() >= 1
        for method in ("fork", "spawn", "forkserver"):
            with mp.get_context(method).Pool(2) as pool:
                assert pool.map(square, [2]) == [4]
            process = mp.get_context(method).Process(target=square, args=(1,))
            process.start(); process.join()
            assert process.exitcode == 0
        assert current_process().name == "MainProcess"
    """,
    "of_torch": """
        import torch.multiprocessing as tmp
        def fill(tensor): tensor.fill_(3)
        tensor = torch.zeros(2).share_memory_()
        model = torch.nn.Linear(2, 2).share_memory()
        process = tmp.Process(target=fill, args=(tensor,)); process.start(); process.join()
        assert tensor.tolist() == [3, 3]
        with tmp.Pool(2) as pool:
            assert pool.map(square, [torch.ones(1)])[0].item() == 1
        queue = tmp.get_context("spawn").Queue()
        queue.put(torch.ones(2)); assert queue.get().sum() == 2
        data = torch.utils.data.TensorDataset(torch.arange(6))
        options = dict(num_workers=4, persistent_workers=True)
        loader = torch.utils.data.DataLoader(data, batch_size=2, **options)
        assert [batch.tolist() for (batch,) in loader] == [[0, 1], [2, 3], [4, 5]]
    """,
    "threads": """
        from multiprocessing.pool import ThreadPool
        from multiprocessing.dummy import Pool as DummyPool
        with ThreadPool(32) as pool, DummyPool(2) as other:
            assert pool.map(lambda n: n + 1, range(50)) == list(range(1, 51))
            assert list(other.imap_unordered(square, [2])) == [4]
        with cf.ThreadPoolExecutor(32) as pool:
            assert list(pool.map(square, [2])) == [4]
    """,
    "polled": """
        def work(n, results):
            time.sleep(0.01)
            results.put(n)
        results = mp.Queue(maxsize=8)
        workers = [Process(target=work, args=(n, results)) for n in range(3)]
        for worker in workers: worker.start()
        while any(worker.is_alive() for worker in workers): pass
        found = []
        while len(found) < 3:
            if not results.empty(): found.append(results.get_nowait())
        assert sorted(found) == [0, 1, 2] and not results.full() and results.qsize() == 0
        assert raised(lambda: results.get(block=False))[0] == "Empty"
        assert raised(lambda: results.get(timeout=0.01))[0] == "Empty"
        lock = mp.Lock()
        assert lock.acquire(timeout=1) and not lock.acquire(False)
        assert raised(mp.BoundedSemaphore(1).release)[0] == "ValueError"
    """,
    "counted": """
        def begin(counter, lock, queue):
            global COUNTER, LOCK, QUEUE
            COUNTER, LOCK, QUEUE = counter, lock, queue
        def count(text):
            with LOCK: COUNTER.value += len(text)
            QUEUE.put(text)
            return len(text)
        counter, lock, queue = mp.Value("i", 0), mp.Lock(), mp.Queue()
        with Pool(4, initializer=begin, initargs=(counter, lock, queue)) as pool:
            results = pool.imap_unordered(count, ["a", "bb", "ccc"])
            assert sorted(results) == [1, 2, 3]
        assert counter.value == 6 and len([queue.get() for _ in range(3)]) == 3
    """,
    "large": """
        def double(end):
            for data in iter(end.recv, None): end.send(data * 2)
        ours, theirs = mp.Pipe()
        process = Process(target=double, args=(theirs,)); process.start()
        for size in (10, 10**6):
            ours.send(b"x" * size)
            assert len(ours.recv()) == 2 * size
        ours.send(None); process.join()
        items = mp.Queue(); items.put(list(range(10**5)))
        assert len(items.get(timeout=60)) == 10**5
        ours.send_bytes(b"abc", 1, 2)
    """,
}
ADAPTERS = """
def run_double(x):
    import scenario
    return 2 * x

def run_count(x):
    return x.numel()
"""


@pytest.fixture(scope="module")
def grades(tmp_path_factory, tiny: Path) -> Mapping[str, Grade]:
    """The grades of programs that use pools in a module that an adapter imports."""
    folder = tmp_path_factory.mktemp("unforked")
    for name, body in TRIED.items():
        scenario = f"{BEFORE}\n{textwrap.dedent(body)}"
        write_files(folder / "class" / name, {"adapters.py": ADAPTERS, "scenario.py": scenario})
    found: dict[str, Grade] = {}
    batch(
        folder / "class",
        out=folder / "out",
        assignment=tiny,
        jobs=1,
        explain=False,
        on_grade=lambda grade: found.update({grade.submission: grade}),
    )
    return found


@pytest.mark.parametrize("name", TRIED)
def test_multiprocessing_programs_work_without_forking(grades, name):
    """The interface, the results, the exceptions and their order are those of the real pools."""
    grade = grades[name]
    assert grade.score == grade.max_score, (grade.message, [test.message for test in grade.tests])
