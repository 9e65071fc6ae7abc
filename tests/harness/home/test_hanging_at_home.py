"""Time limits at home: a call ends as in class, and the message names the line."""

from __future__ import annotations

import bdb
import functools
import re
import shutil
import signal
import textwrap
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.core.verdict import Status
from grader.home import time_limit as limits
from grader.home.time_limit import Limit
from grader.testing.outcome import StudentFault
from grader.worker.trials import alarm
from tests.harness.conftest import write_files
from tests.harness.marks import rest_slow

pytestmark = pytest.mark.process

LINE = "assignment/__init__.py:"
# At home a call ends when the interpreter next handles signals.
STILL_RUNNING = r"after ([\d.]+) s still running"
LOOP = """
    n = 0
    while True:
        n += 1
"""
ASLEEP = """
    time.sleep(1000)
"""
ENDLESS = (LOOP, ASLEEP)
OF_ENDLESS = ("loop", "asleep")
DEEP = """
    return double(x)
"""


@pytest.fixture(scope="module")
def handout(grader, tiny, tmp_path_factory) -> Path:
    """The handout of the tiny assignment."""
    folder = tmp_path_factory.mktemp("handout") / "tiny"
    done = grader("handout", folder, cwd=tiny)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def at_home(handout, home_pytest, tmp_path) -> Callable[..., str]:
    """A function that returns pytest's output for a copy with this body of `double`."""
    mine = Path(shutil.copytree(handout, tmp_path / "mine"))

    def run(body: str, *options: str, above: str = "") -> str:
        count = "def count(x):\n    return x.numel()\n"
        text = f"import time\n{above}\n\ndef double(x):{body}\n\n{count}"
        (mine / "assignment" / "__init__.py").write_text(text)
        done = home_pytest(mine, "--call-timeout", "1", *options)
        return done.stdout + done.stderr

    run.folder = mine
    return run


@pytest.mark.parametrize("body", ENDLESS, ids=OF_ENDLESS)
def test_an_endless_call_is_stopped_and_other_tests_run(at_home, body):
    """The message names the line."""
    printed = at_home(body)
    assert "= 1 failure of 1 kind =" in printed
    assert re.search(rf"\nrun_double: {STILL_RUNNING} {LINE}", printed)
    assert "1 failed, 1 passed" in printed
    assert "Traceback" not in printed


def test_endless_recursion_is_reported_as_an_exception(at_home):
    """Python itself ends such a recursion."""
    assert f"RecursionError: maximum recursion depth exceeded ({LINE}5)" in at_home(DEEP)


@pytest.mark.slow
def test_a_function_that_hung_gets_less_time_in_later_tests(at_home):
    """Later tests of that function wait less; a loop of several lines is named at one of them."""
    (at_home.folder / "tests/public/test_more.py").write_text(
        textwrap.dedent("""
        import pytest, torch
        from grader.testing import exercise

        @exercise('run_double')
        @pytest.mark.parametrize("size", [1, 2, 3])
        def test_again(student, size):
            '''Once more.'''
            student(torch.ones(size))
        """)
    )
    printed = at_home(LOOP)
    assert re.search(rf"= 4 failures of 1 kind =+\nrun_double: {STILL_RUNNING}", printed)
    first, *others = re.findall(STILL_RUNNING, at_home(LOOP, "-v", "--call-timeout", "4"))
    assert min(map(float, others)) < float(first)


def test_an_endless_import_is_stopped(at_home):
    """The message appears once, as for any code that cannot be imported."""
    printed = at_home("\n    return 2 * x", above="while True:\n    pass")
    assert len(re.findall(f"your code cannot be imported: {STILL_RUNNING} {LINE}", printed)) == 1


def test_a_slow_import_may_take_longer_than_a_call(at_home):
    """On a slow machine many imports take longer than a call may take."""
    slowly = "import time\ntime.sleep(0.3)\n"
    many = [f"slow_{number}" for number in range(8)]
    write_files(at_home.folder, {f"{name}.py": slowly for name in many})
    printed = at_home("\n    return 2 * x", above="".join(f"import {name}\n" for name in many))
    assert "2 passed" in printed


def test_ctrl_c_ends_the_run_at_once(at_home):
    """The remaining tests do not run."""
    interrupting = "\n    import signal\n    signal.raise_signal(signal.SIGINT)\n    return 2 * x"
    printed = at_home(interrupting)
    assert "KeyboardInterrupt" in printed
    assert "passed" not in printed


PRESSED = """
import os, signal, threading

def press():
    os.kill(os.getpid(), signal.SIGINT)

threading.Timer(2, press).start()
"""


@pytest.mark.parametrize("body", rest_slow(ENDLESS, [LOOP]), ids=OF_ENDLESS)
def test_ctrl_c_stops_an_endless_call(at_home, body):
    """The call ends long before the limit."""
    pressing = textwrap.indent(PRESSED, "    ")
    printed = at_home(f"{pressing}{body}", "--call-timeout", "100")
    assert "KeyboardInterrupt" in printed
    assert "still running" not in printed
    assert "passed" not in printed


def sleeping(folder: Path, seconds: float = 600) -> Callable[[], str]:
    """Returns a student's function that sleeps for this many seconds."""
    (folder / "sleepy.py").write_text(
        f"import time\n\ndef doze():\n    for _ in range({100 * seconds:.0f}):\n"
        "        time.sleep(0.01)\n    return 'awake'\n"
    )
    names: dict[str, Callable[[], str]] = {}
    source = (folder / "sleepy.py").read_text()
    exec(compile(source, str(folder / "sleepy.py"), "exec"), names)
    return names["doze"]


@pytest.mark.unit
def test_a_call_over_the_limit_times_out(tmp_path):
    """The previous signal handler is restored afterwards."""
    handler = signal.getsignal(signal.SIGALRM)
    with pytest.raises(StudentFault) as ended:
        Limit(0.1, tmp_path).call(sleeping(tmp_path))
    assert ended.value.status is Status.TIMEOUT
    assert "sleepy.py:" in ended.value.headline
    assert signal.getsignal(signal.SIGALRM) is handler


@pytest.mark.unit
def test_a_call_that_is_ended_at_no_line_is_told_at_its_callers(tmp_path):
    """Some instructions, as those of a loop over a generator, belong to no line."""
    file = tmp_path / "bare.py"
    source = "def wait():\n    while True:\n        pass\n\ndef doze():\n    wait()\n"
    names: dict[str, Callable[[], None]] = {}
    exec(compile(source, str(file), "exec"), names)
    names["wait"].__code__ = names["wait"].__code__.replace(co_linetable=b"")
    with pytest.raises(StudentFault, match=r"still running bare\.py:6"):
        Limit(0.1, tmp_path).call(names["doze"])


@pytest.mark.unit
def test_a_call_that_hung_before_is_told_so(tmp_path):
    """Signals and a timer that was running are as they were."""
    limit = Limit(0.1, tmp_path)
    handlers = [signal.getsignal(number) for number in (signal.SIGALRM, signal.SIGINT)]
    signal.setitimer(signal.ITIMER_REAL, 1000, 500)
    doze = sleeping(tmp_path)
    try:
        with pytest.raises(StudentFault, match=r"still running sleepy\.py:\d+\n"):
            limit.call(doze)
        with pytest.raises(StudentFault, match=r"still running sleepy\.py:\d+, as before\n"):
            limit.call(doze)
    finally:
        left, again = signal.setitimer(signal.ITIMER_REAL, 0)
    assert again == 500
    assert 0 < left < 1000
    assert [signal.getsignal(number) for number in (signal.SIGALRM, signal.SIGINT)] == handlers


@pytest.mark.unit
def test_a_call_in_another_thread_has_no_limit(tmp_path):
    """Only the main thread gets signals; nor is a limit meant for code of others."""
    found: list[str] = []
    call = functools.partial(Limit(0.05, tmp_path).call, sleeping(tmp_path, 0.2))
    thread = threading.Thread(target=lambda: found.append(call()))
    thread.start()
    thread.join()
    assert found == ["awake"]
    (tmp_path / "elsewhere").mkdir()
    assert Limit(0.05, tmp_path / "elsewhere").call(sleeping(tmp_path, 0.2)) == "awake"


@pytest.mark.unit
def test_a_call_without_a_limit_is_never_stopped(tmp_path):
    """`--call-timeout 0` and `--pdb` switch the limit off."""
    assert Limit(0, tmp_path).call(sleeping(tmp_path, 0.5)) == "awake"


@pytest.mark.unit
def test_the_time_limit_is_off_under_a_debugger(tmp_path):
    """The limit looks for a debugger during the call, because pdb may start in the middle."""
    limit = Limit(0.1, tmp_path, heeds_debuggers=True)
    doze = sleeping(tmp_path, 0.5)
    assert bdb.Bdb(skip=["*"]).runcall(lambda: limit.call(doze)) == "awake"
    with pytest.raises(StudentFault):
        limit.call(sleeping(tmp_path))


@pytest.mark.unit
def test_where_there_are_no_timers_a_thread_ends_a_call(tmp_path, monkeypatch):
    """Windows has no timers."""
    monkeypatch.setattr(alarm, "_HAS_TIMERS", False)
    monkeypatch.setattr(alarm, "_SIGNAL", signal.SIGTERM)
    handler = signal.getsignal(signal.SIGTERM)
    with pytest.raises(StudentFault, match=r"still running sleepy\.py:"):
        Limit(0.1, tmp_path).call(sleeping(tmp_path))
    assert signal.getsignal(signal.SIGTERM) is handler


@pytest.mark.unit
def test_the_wait_for_a_processor_counts_for_no_limit(tmp_path, monkeypatch):
    """On a busy machine a call may take longer, and so may the search for a wrong line."""
    monkeypatch.setattr(limits.time, "monotonic", lambda: 100.0)
    waited = tmp_path / "schedstat"
    monkeypatch.setattr(limits, "_WAITED", waited)
    assert limits.own_time() == 100.0
    waited.write_text("7000000000 5000000000 3\n")
    assert limits.own_time() == 95.0
