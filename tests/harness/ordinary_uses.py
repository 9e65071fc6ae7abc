"""A submission that uses Python, torch and the packages of classes as ordinary code does.

As a program it prints the results of the functions whose names begin with its argument. Each result
is a text that is the same on every run. A package that is not installed is missing both inside a
worker and outside.
"""

import asyncio
import concurrent.futures
import contextlib
import cProfile
import ctypes
import datetime
import errno
import faulthandler
import fcntl
import gc
import hashlib
import importlib
import io
import json
import locale
import logging
import mmap
import multiprocessing
import os
import pickle
import platform
import queue
import random
import resource
import secrets
import select
import selectors
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import tracemalloc
import uuid
import warnings
import zipfile
import zoneinfo
from pathlib import Path

import numpy as np
import torch


def folder():
    return Path(tempfile.mkdtemp())


def told(outcome):
    """Returns the text of an outcome as a tensor, which an answer can hold."""
    return torch.tensor(list(str(outcome).encode()), dtype=torch.uint8)


def run_threads():
    counted, lock = [], threading.Lock()

    def count(number):
        with lock:
            counted.append(number)

    threads = [threading.Thread(target=count, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        squares = list(pool.map(lambda number: number**2, range(10)))
    timer = threading.Timer(0.01, counted.append, [99])
    timer.start()
    timer.join()
    threading.stack_size(1 << 20)
    small = threading.Thread(target=count, args=(7,))
    small.start()
    small.join()
    threading.stack_size(0)
    return told((sorted(counted), squares))


def run_torch_threads():
    torch.set_num_threads(4)
    a = torch.arange(512 * 512, dtype=torch.float64).reshape(512, 512) / 512
    total = (a @ a).sum() + torch.relu(torch.arange(4_000_000.0)).mean()
    torch.set_num_threads(1)
    return told(bool(total > 0))


def run_autograd():
    x = torch.ones(3, 3, requires_grad=True)
    model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU(), torch.nn.LayerNorm(3))
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(3):
        optimizer.zero_grad()
        model(x).square().sum().backward()
        optimizer.step()
    layer = torch.nn.TransformerEncoderLayer(8, 2, batch_first=True)
    layer(torch.ones(1, 4, 8)).sum().backward()
    bfloat = torch.ones(64, 64, dtype=torch.bfloat16) @ torch.ones(64, 64, dtype=torch.bfloat16)
    image = torch.nn.Conv2d(1, 2, 3)(torch.ones(1, 1, 8, 8))
    return told((tuple(x.grad.shape), float(bfloat[0, 0]), tuple(image.shape)))


def run_data_loader():
    data = torch.utils.data.TensorDataset(torch.arange(10.0))
    return told([batch[0].tolist() for batch in torch.utils.data.DataLoader(data, batch_size=4)])


def get_compiled():
    """Compiles a function, for which no compiler may be started."""
    try:
        return told(torch.compile(lambda x: torch.sin(x) + 1)(torch.zeros(3)).tolist())
    except Exception as error:
        return told(type(error).__name__)


def get_compiled_eagerly():
    compiled = torch.compile(lambda x: torch.sin(x) + 1, backend="aot_eager")
    scripted = torch.jit.trace(lambda x: x * 2, torch.ones(2))
    return told((compiled(torch.zeros(3)).tolist(), scripted(torch.ones(2)).tolist()))


def run_saving_of_tensors():
    file = folder() / "weights.pt"
    torch.save({"w": torch.arange(5)}, file)
    mapped = torch.load(file, mmap=True, weights_only=True)["w"].tolist()
    buffer = io.BytesIO()
    torch.save(torch.ones(2), buffer)
    buffer.seek(0)
    shared = torch.from_file(str(folder() / "storage"), shared=True, size=4)
    return told((mapped, torch.load(buffer).tolist(), shared.shape))


def run_profilers():
    profile = cProfile.Profile()
    profile.runcall(sum, range(10))
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as seen:
        torch.ones(3).sum()
    tracemalloc.start()
    current, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return told((bool(seen.key_averages()), current >= 0))


def run_numpy():
    place = folder()
    grid = np.memmap(place / "grid", dtype=np.float32, mode="w+", shape=(64, 64))
    grid[:] = 3
    grid.flush()
    again = np.memmap(place / "grid", dtype=np.float32, mode="r", shape=(64, 64))
    np.save(place / "a.npy", np.arange(3))
    np.savez_compressed(place / "b.npz", a=np.arange(3))
    read = np.load(place / "a.npy", mmap_mode="r"), np.load(place / "b.npz")["a"]
    eigen = np.linalg.eigvalsh(np.eye(200))
    return told((float(again.sum()), [part.tolist() for part in read], float(eigen.sum())))


def run_memory_maps():
    file = folder() / "mapped"
    file.write_bytes(bytes(1 << 16))
    with file.open("r+b") as opened, mmap.mmap(opened.fileno(), 0) as mapped:
        mapped[:5] = b"hello"
        mapped.flush()
        mapped.resize(1 << 17)
        mapped.madvise(mmap.MADV_SEQUENTIAL)
    private = mmap.mmap(-1, 1 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    private[:3] = b"abc"
    private.madvise(mmap.MADV_DONTNEED)
    return told((file.read_bytes()[:5], file.stat().st_size, private[:3]))


def run_files():
    place = folder()
    one, two = place / "one.txt", place / "two.txt"
    one.write_text("one\n" * 1000)
    shutil.copyfile(one, two)
    two.rename(place / "three.txt")
    (place / "link").symlink_to("one.txt")
    os.link(one, place / "hard")
    (place / "deep" / "er").mkdir(parents=True)
    names = sorted(path.name for path in place.rglob("*"))
    with one.open("rb+") as file:
        file.truncate(400)
        file.seek(-4, os.SEEK_END)
        file.write(b"end\n")
        file.flush()
        os.fsync(file.fileno())
        os.posix_fallocate(file.fileno(), 0, 5000)
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_WILLNEED)
        os.preadv(file.fileno(), [bytearray(4)], 0)
        os.pwritev(file.fileno(), [b"x"], 0)
        copied = os.open(place / "copied", os.O_CREAT | os.O_RDWR)
        os.copy_file_range(file.fileno(), copied, 100, 0)
        os.sendfile(copied, file.fileno(), 0, 100)
        os.close(copied)
    size = one.stat().st_size, os.stat("link", dir_fd=os.open(place, os.O_RDONLY)).st_size
    target, isolated = (place / "link").readlink(), os.access(one, os.R_OK)
    os.statvfs(place), os.listxattr(one), os.umask(0o22)
    with tempfile.TemporaryDirectory() as other, contextlib.chdir(other):
        here = Path.cwd() == Path(other).resolve()
    with tempfile.SpooledTemporaryFile(10) as spooled, tempfile.TemporaryFile() as unnamed:
        spooled.write(b"more than ten bytes")
        unnamed.write(b"x")
    shutil.rmtree(place / "deep")
    return told((names, size, target.name, isolated, here))


def run_change_of_mode():
    file = folder() / "a"
    file.touch()
    try:
        file.chmod(0o700)
    except PermissionError as error:
        return told(errno.errorcode[error.errno])
    return told("changed")


def run_archives():
    place = folder()
    with zipfile.ZipFile(place / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.txt", "content")
    shutil.make_archive(str(place / "b"), "gztar", place, "a.zip")
    with zipfile.ZipFile(place / "a.zip") as archive:
        archive.extractall(place / "out")
    (place / "c.pickle").write_bytes(pickle.dumps({"a": [1, 2]}))
    kept = pickle.loads((place / "c.pickle").read_bytes())
    return told(((place / "out" / "a.txt").read_text(), (place / "b.tar.gz").exists(), kept))


def run_databases():
    place = folder()
    for journal in ("delete", "wal", "truncate"):
        for _ in range(2):
            connection = sqlite3.connect(place / f"{journal}.sqlite")
            connection.execute(f"pragma journal_mode={journal}")
            connection.execute("create table if not exists t (x)")
            connection.execute("insert into t values (1)")
            other = sqlite3.connect(place / f"{journal}.sqlite")
            counted = other.execute("select count(*) from t").fetchone()
            connection.commit()
            connection.close()
            other.close()
    return told((counted, sorted(path.name for path in place.iterdir())))


def run_locks_of_files():
    place = folder()
    with (place / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.lockf(file, fcntl.LOCK_EX)
        fcntl.lockf(file, fcntl.LOCK_UN)
    if have("filelock"):
        import filelock

        with filelock.FileLock(place / "filelock", timeout=60):
            pass
    return told("granted")


def run_asyncio():
    async def add(a, b):
        await asyncio.sleep(0.001)
        return a + b + await asyncio.to_thread(sum, [1, 2])

    async def both():
        return await asyncio.gather(add(1, 2), add(3, 4))

    return told(asyncio.run(both()))


def run_waiting():
    read, write = os.pipe()
    os.write(write, b"x")
    ready = bool(select.select([read], [], [], 0)[0])
    epoll, poll = select.epoll(), select.poll()
    epoll.register(read, select.EPOLLIN)
    poll.register(read, select.POLLIN)
    ready = ready, len(epoll.poll(0)), len(poll.poll(0))
    left, right = socket.socketpair()
    left.sendall(b"hello")
    left.shutdown(socket.SHUT_WR)
    with selectors.DefaultSelector() as selector:
        selector.register(right, selectors.EVENT_READ)
        chosen = len(selector.select(0))
    os.set_blocking(read, False)
    event = os.eventfd(1)
    return told((ready, chosen, right.recv(9), right.type, os.eventfd_read(event)))


def run_signals():
    rung = []
    before = signal.signal(signal.SIGALRM, lambda *_: rung.append("alarm"))
    signal.setitimer(signal.ITIMER_REAL, 0.005)
    time.sleep(0.02)
    signal.alarm(1)
    signal.alarm(0)
    signal.signal(signal.SIGUSR1, lambda *_: rung.append("user"))
    signal.raise_signal(signal.SIGUSR1)
    os.kill(os.getpid(), signal.SIGUSR1)
    signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
    signal.sigpending()
    signal.sigtimedwait([signal.SIGUSR2], 0)
    signal.signal(signal.SIGALRM, before)
    return told(rung)


def run_clocks():
    zone = zoneinfo.ZoneInfo("Europe/Berlin")
    summer = datetime.datetime(2024, 7, 1, tzinfo=zone).utcoffset()
    clocks = time.time(), time.monotonic(), time.perf_counter(), time.process_time()
    time.sleep(0.001)
    time.thread_time(), time.localtime(), time.get_clock_info("monotonic")
    time.clock_gettime(time.CLOCK_BOOTTIME)
    return told((str(summer), all(clock > 0 for clock in clocks)))


def run_randomness():
    random.seed()
    drawn = (
        secrets.token_bytes(4),
        os.urandom(4),
        uuid.uuid4().bytes,
        random.SystemRandom().random(),
    )
    torch.seed()
    known = hashlib.sha256(b"a").hexdigest()[:8], hashlib.file_digest(io.BytesIO(b""), "md5")
    return told((len(drawn), known[0]))


def run_about_the_machine():
    told = os.cpu_count(), os.sched_getaffinity(0), os.uname(), os.getpid(), os.getppid()
    more = os.getuid(), os.getgroups(), os.getpgid(0), os.getsid(0), os.times(), Path.cwd()
    platform.platform(), os.getpriority(os.PRIO_PROCESS, 0)
    resource.getrusage(resource.RUSAGE_SELF), resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.isatty(1), os.sysconf("SC_PAGE_SIZE"), os.ctermid()
    os.sched_yield(), os.sched_get_priority_max(os.SCHED_OTHER), locale.getlocale()
    os.nice(0), os.get_inheritable(1), os.dup(1), os.get_blocking(1)
    with contextlib.suppress(OSError):
        os.getloadavg()
    return told((len(told), len(more), shutil.disk_usage(folder()).total > 0))


def run_logs():
    file = folder() / "log"
    logging.basicConfig(filename=file, level=logging.INFO, force=True)
    logging.getLogger("a").info("said %d", 3)
    logging.shutdown()
    with warnings.catch_warnings(record=True) as caught:
        warnings.warn("careful", stacklevel=1)
    faulthandler.enable()
    faulthandler.dump_traceback(file.open("w"))
    faulthandler.dump_traceback_later(5)
    faulthandler.cancel_dump_traceback_later()
    faulthandler.disable()
    return told((len(caught), file.stat().st_size > 0))


def run_queues():
    line = queue.Queue()
    threading.Thread(target=lambda: line.put(3)).start()
    local = multiprocessing.get_context("fork")
    try:
        local.Lock()
        made = "made"
    except OSError:
        made = "refused"
    return told((line.get(timeout=60), made))


def run_pipes_of_multiprocessing():
    one, two = multiprocessing.Pipe()
    one.send({"a": 1})
    return told(two.recv())


def run_garbage():
    gc.collect()
    kept = bytearray(64 << 20)
    kept[::4096] = b"x" * len(kept[::4096])
    kept.extend(bytes(1 << 20))
    del kept
    return told((gc.isenabled(), ctypes.CDLL(None).malloc_trim(0) in (0, 1)))


def run_other_programs():
    """Returns the refusals to start another program, as Python reports them."""
    said = []
    for start in (lambda: subprocess.run(["true"]), fork, lambda: os.system("true")):
        try:
            came = start()
            said.append("refused" if isinstance(came, int) and came else "started")
        except OSError as error:
            said.append(type(error).__name__)
    return told(said)


def fork():
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


def run_sockets():
    try:
        socket.socket()
    except OSError as error:
        return told(type(error).__name__)
    return told("opened")


def run_words():
    import regex

    return told(regex.findall(r"\p{L}+", "déjà vu"))


def run_einops():
    import einops
    from jaxtyping import Float

    return told((tuple(einops.rearrange(torch.ones(2, 3), "a b -> b a").shape), Float.__name__))


def run_scipy():
    import scipy.linalg
    import scipy.optimize
    import scipy.sparse.linalg
    import scipy.special
    import scipy.stats

    least = scipy.optimize.minimize(lambda x: (x[0] - 1) ** 2, [0.0])
    scipy.linalg.eigh(np.eye(50))
    scipy.fft.fft(np.ones(1 << 16), workers=2)
    return told((round(float(least.x[0]), 3), float(scipy.special.softmax([0.0, 0.0])[0])))


def run_pandas():
    import pandas as pd

    frame = pd.DataFrame({"a": [1, 2, 2], "b": pd.date_range("2024-01-01", periods=3, tz="UTC")})
    file = folder() / "a.csv"
    frame.to_csv(file)
    if have("pyarrow"):
        frame.to_parquet(file.with_suffix(".parquet"))
        pd.read_parquet(file.with_suffix(".parquet"))
    return told((pd.read_csv(file).shape, frame.groupby("a").count()["b"].tolist()))


def run_matplotlib():
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots()
    axes.plot([1, 2], [3, 4])
    axes.set_title("$x^2$")
    file = folder() / "a.png"
    figure.savefig(file)
    figure.savefig(file.with_suffix(".pdf"))
    return told(file.stat().st_size > 1000)


def run_sklearn():
    from sklearn.cluster import KMeans
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression

    x, y = np.random.default_rng(0).normal(size=(80, 4)), np.arange(80) % 2
    forest = RandomForestClassifier(10, n_jobs=2).fit(x, y).predict(x).shape
    KMeans(3, n_init=2).fit(x)
    return told((forest, LogisticRegression().fit(x, y).coef_.shape))


def have(package):
    return importlib.util.find_spec(package) is not None


def outcome(name):
    """Returns the result of a function, or its exception with the type."""
    try:
        return bytes(globals()[name]().tolist()).decode()
    except Exception as error:
        return f"{type(error).__name__}: {error}"


if __name__ == "__main__":
    wanted = [name for name in globals() if name.startswith(sys.argv[1])]
    print(json.dumps({name: outcome(name) for name in wanted}))
