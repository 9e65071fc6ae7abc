"""The work of plain Python, counted in executed lines and not in seconds."""

from __future__ import annotations

import gc
import json
import sys
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import grader
from grader.core.verdict import Status, Verdict
from grader.core.wire.calls import MOST_LINES, Call
from grader.worker.observing import counting
from grader.worker.performing import perform
from tests.harness.conftest import TINY, write_files

pytestmark = pytest.mark.unit


@pytest.fixture(autouse=True)
def no_finalizers() -> Iterator[None]:
    """Keeps the garbage of other tests from being collected while lines are counted."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def lines_counted(folder: Path, program: str, number: int = 0) -> int:
    """Returns the count of a call of a program's `run`, with the engine's own lines around it."""
    file = folder / "program.py"
    file.write_text(textwrap.dedent(program))
    module: dict[str, object] = {"__name__": "program"}
    exec(compile(file.read_text(), str(file), "exec"), module)
    answer = perform(module["run"], Call("run", {"number": number}, count_lines=True), folder)
    assert answer.raised is None, answer.raised
    assert answer.work is not None
    return answer.work.lines


def lines_of(folder: Path, program: str, number: int = 0) -> int:
    """Returns how many lines a program's `run` executes for a number."""
    one = lines_counted(folder, "def run(number):\n    return 0\n")
    return lines_counted(folder, program, number) - one + 1


LOOP = """
    def run(number):
        total = 0
        for n in range(number):
            total += n
        return total
    """


def test_a_line_counts_as_often_as_it_is_executed(tmp_path):
    """Three lines surround the loop; each pass takes two lines, and the head runs once more."""
    assert lines_of(tmp_path, LOOP, 0) == 3
    assert lines_of(tmp_path, LOOP, 100) == 3 + 200


def test_work_inside_c_functions_counts_as_one_line(tmp_path):
    """A loop inside `sum` or `str.replace` is not counted, and the docs say so."""
    program = """
        def run(number):
            return "a".replace("a", "b" * number).count("b") + sum(range(number))
        """
    assert lines_of(tmp_path, program, 10) == lines_of(tmp_path, program, 10_000) == 1


@pytest.mark.parametrize(
    "loop",
    [
        "[n for n in range(number)]",
        "sum(n for n in range(number))",
        "max(range(number), key=lambda n: n)",
    ],
)
def test_loops_in_an_expression_count_as_loops(tmp_path, loop):
    """Comprehensions, generators and functions called for each item are loops."""
    program = f"def run(number):\n    return {loop}\n"
    few, many = lines_of(tmp_path, program, 10), lines_of(tmp_path, program, 1_010)
    assert 1_000 <= many - few <= 3_000


def test_lines_of_modules_that_a_call_imports_count(tmp_path):
    """A program could hide work in a module and import it again in each call."""
    program = f"""
        import importlib, sys
        def run(number):
            sys.path.insert(0, {str(tmp_path)!r})
            import table_of_squares
            importlib.reload(table_of_squares)
            del sys.path[0], sys.modules["table_of_squares"]
            return number
        """
    (tmp_path / "table_of_squares.py").write_text("for n in range(1000):\n    n * n\n")
    assert lines_of(tmp_path, program) > 4_000


@pytest.mark.parametrize("file", ["<string>", "/elsewhere.py", json.__file__, grader.__file__])
def test_code_counts_under_any_claimed_file_name(tmp_path, file):
    """Code made at run time counts too, even under the file name of a library."""
    program = f"""
        def run(number):
            code = compile("for n in range(" + str(number) + "):\\n    n * n", {file!r}, "exec")
            exec(code)
            return 0
        """
    assert lines_of(tmp_path, program, 1_010) - lines_of(tmp_path, program, 10) == 2_000


def test_lines_of_libraries_count(tmp_path):
    """The standard library's Python code takes as long as any other."""
    program = """
        import json.encoder
        def run(number):
            return len("".join(json.encoder.JSONEncoder(indent=1).iterencode([*range(number)])))
        """
    assert lines_of(tmp_path, program, 1_010) - lines_of(tmp_path, program, 10) > 3_000


def test_lines_run_in_threads_count(tmp_path):
    """The call itself starts these threads."""
    program = """
        import threading
        def work(number):
            for n in range(number):
                pass
        def run(number):
            thread = threading.Thread(target=work, args=(number,))
            thread.start()
            thread.join()
            return 0
        """
    assert lines_of(tmp_path, program, 100) > 200


def test_counting_ends_at_a_bound(tmp_path, monkeypatch):
    """The call's time limit ends an endless loop, and the count stays bounded."""
    monkeypatch.setattr(counting, "MOST_LINES", 100)
    assert lines_counted(tmp_path, LOOP, 10_000) == 100
    assert sys.gettrace() is None


STOPPED = {
    "for good": "sys.settrace(None)",
    "for a while": "trace = sys.gettrace(); sys.settrace(None); work(); sys.settrace(trace)",
    "by a function in C": "trace = sys.gettrace(); [*map(sys.settrace, [None, trace])]",
    "by the interpreter": "ctypes.pythonapi.PyEval_SetTrace(None, None)",
    "in threads": "threading.settrace(None)",
    "in a function": "sys._getframe().f_trace = None; work()",
    "in its lines": "sys._getframe().f_trace_lines = False; work()",
    "in another function": "blind(sys._getframe()); work()",
    "in a generator": "list(blind_numbers())",
    "in a coroutine": "asyncio.run(blind_coroutine())",
    "in a thread's function": "one = threading.Thread(target=own); one.start(); one.join()",
    "in a function for a while": "hide(sys._getframe(), None); work(); hide(sys._getframe(), 1)",
}


@pytest.mark.parametrize("stops", STOPPED.values(), ids=STOPPED)
def test_a_program_that_stops_the_counting_gets_the_maximum_count(tmp_path, stops):
    """Uncounted work must not look like little work."""
    program = f"""
        import asyncio, ctypes, sys, threading
        def work():
            for n in range(100):
                pass
        def blind(frame):
            frame.f_trace = None
        def unwatched(frame):
            setattr(frame, "f_" + "trace", None)
        def hide(frame, shown):
            frame.f_trace_lines = bool(shown)
        def blind_numbers():
            unwatched(sys._getframe())
            yield from (n for n in range(100))
        async def blind_coroutine():
            unwatched(sys._getframe())
            await asyncio.sleep(0)
        def own():
            unwatched(sys._getframe())
            work()
        def run(number):
            {stops}
            return 0
        """
    assert lines_counted(tmp_path, program) == MOST_LINES
    assert (sys.gettrace(), threading.gettrace()) == (None, None)


ORDINARY = {
    "an exception": """
        def deep(n):
            return deep(n - 1) if n else 1 // 0
        def run(number):
            try:
                return deep(5)
            except ZeroDivisionError:
                return 0
        """,
    "recursion without an end": """
        def deep(n):
            return deep(n + 1)
        def run(number):
            try:
                return deep(0)
            except RecursionError:
                return 0
        """,
    "generators that are left": """
        def numbers():
            try:
                yield from range(10)
            finally:
                list(n for n in range(3))
        def run(number):
            left = numbers()
            next(left)
            kept.append(left)
            next(gone := numbers())
            del gone
            return 0
        kept = []
        """,
    "a thread that goes on": """
        import threading
        def run(number):
            threading.Thread(target=threading.Event().wait, daemon=True, args=(0.2,)).start()
            return 0
        """,
    "coroutines": """
        import asyncio
        async def one():
            await asyncio.sleep(0)
            return 1
        async def both():
            return sum(await asyncio.gather(one(), one()))
        def run(number):
            return asyncio.run(both())
        """,
    "a pool of threads": """
        from concurrent.futures import ThreadPoolExecutor
        def run(number):
            with ThreadPoolExecutor(2) as pool:
                return sum(pool.map(abs, range(10)))
        """,
}


@pytest.mark.parametrize("program", ORDINARY.values(), ids=ORDINARY)
def test_ordinary_programs_do_not_stop_the_counting(tmp_path, program):
    """These programs raise, pause, leave generators unfinished, or go on in other threads."""
    assert 3 <= lines_of(tmp_path, program) < 100_000


def test_lines_are_counted_only_if_a_test_asks(tmp_path):
    """Tracing makes a call ten times slower."""
    seen = []
    work = perform(lambda: seen.append(sys.gettrace()), Call("run", {}), tmp_path).work
    assert (work, seen) == (None, [sys.gettrace()])


GROWING = """
    from grader.testing import exercise

    @exercise("run_double", aspect="efficiency")
    def test_lines(student, reference, draw):
        '''As many lines for a longer input.'''
        few, many = (student.count_lines(draw(size)) for size in (4, 64))
        assert many <= few, f"{few} lines become {many}"
    """


PROGRAMS = {
    "whole": "def run_double(x):\n    return 2 * x\n",
    "loop": "def run_double(x):\n    return torch.stack([2 * n for n in x])\n",
    "blind": "def run_double(x):\n    sys.settrace(None)\n    return 2 * x\n",
}


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory) -> dict[str, Verdict]:
    """The verdict of the test that compares two sizes, by program."""
    folder = tmp_path_factory.mktemp("lines")
    files = {**TINY, "tests/public/test_lines.py": GROWING}
    root = write_files(folder / "tiny", files)
    rest = "def run_count(x):\n    return x.numel()\n"
    for name, program in PROGRAMS.items():
        adapters = f"import sys\nimport torch\n{program}{rest}"
        write_files(folder / "class" / name, {"adapters.py": adapters})
    results = grader.batch(
        folder / "class", out=folder / "out", assignment=root, explain=False, seed=3
    )
    return {
        grade.submission: test
        for grade in results.grades()
        for test in grade.tests
        if test.id.endswith("::test_lines")
    }


@pytest.mark.process
def test_a_test_can_compare_line_counts_of_two_input_sizes(verdicts):
    """The test catches a loop in plain Python, but not one operation on the whole tensor."""
    assert verdicts["whole"].status is Status.PASSED
    assert verdicts["loop"].status is Status.FAILED


@pytest.mark.process
def test_a_program_that_stops_the_counting_fails_with_that_reason(verdicts):
    """Both counts would be the maximum, and equal counts would pass."""
    assert verdicts["blind"].status is Status.FAILED
    assert "stops the grader from counting them" in str(verdicts["blind"].message)
