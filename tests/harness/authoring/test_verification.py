"""The bundled assignment's tests: they catch mistakes and edits, and pass right code."""

import os
import re
import signal
import time
from pathlib import Path

import pytest

from grader.authoring.forked_tasks import DIED, ENDED, in_children
from tests.harness.conftest import TINY, write_files
from tests.harness.marks import rest_slow
from tests.harness.waiting import PATIENCE

pytestmark = pytest.mark.process

FEED_FORWARD = Path(__file__).parents[3] / "examples" / "feed_forward"


@pytest.mark.slow
def test_the_bundled_tests_catch_every_known_mistake_and_pass_right_code(grader, capsys):
    """Each mistake is also named right. The printed table helps authors who change tests."""
    done = grader("verify")
    with capsys.disabled():
        print(f"\n{done.stdout.splitlines()[-1]}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    wrong, caught, named, misnamed, habits, caught_of_them = numbers(done.stdout.splitlines()[-1])
    assert caught == wrong > 300
    assert caught_of_them == habits > 0
    assert named > 300
    assert misnamed == 0


@pytest.mark.parametrize(
    "exercise", rest_slow(["run_silu", "run_rms_norm", "run_layer_norm", "run_swiglu"], 4)
)
def test_the_second_assignments_tests_catch_every_small_edit(grader, capsys, exercise):
    """Known mistakes are only those that people thought of; edits cover all nearby programs."""
    only = ("--exercise", exercise)
    done = grader("verify", "--edits", "--jobs", "2", *only, "--assignment", FEED_FORWARD)
    with capsys.disabled():
        print(f"\n{done.stdout.splitlines()[-1]}")
    assert done.returncode == 0, done.stdout + done.stderr
    edits, caught, equivalent, argued, missed = numbers(done.stdout.splitlines()[-1])
    assert edits == caught + equivalent + argued > 30
    assert equivalent < edits / 20
    assert missed == 0


WEAK = """
    import torch
    from grader.testing import Tolerance, assert_matches, exercise

    @exercise("run_double")
    def test_doubles(student, reference, draw):
        '''Every number is doubled, more or less.'''
        x = 1 + draw.uniform(2, 3)
        assert_matches(student(x), reference(x), Tolerance(rtol=0.6, atol=0.0))

    @exercise("run_count")
    def test_counts(student, reference, draw):
        '''The numbers are counted.'''
        x = draw(2, 3)
        assert_matches(student(x), reference(x))
    """


@pytest.fixture
def weakly_tested(tmp_path):
    """An assignment with a tolerance that is much too large."""
    files = {name: text for name, text in TINY.items() if "hidden" not in name}
    return write_files(tmp_path / "weak", {**files, "tests/public/test_tiny.py": WEAK})


def test_an_edit_that_no_test_catches_is_shown_as_a_diff(grader, weakly_tested):
    """An author who writes a test needs the one line and its place."""
    done = grader("verify", "--edits", "--jobs", "2", "--assignment", weakly_tested)
    assert done.returncode == 1
    assert "solutions/__init__.py:3\n- return 2 * x\n+ return 3 * x\n" in done.stdout
    assert "+ return 4 * x" not in done.stdout
    assert "+ return x.shape" not in done.stdout


def test_edits_toml_can_excuse_an_edit_with_a_reason(grader, weakly_tested):
    """Some differences do not matter: the file lists each with a reason."""
    grown = (
        'file = "solutions/__init__.py"\nbefore = "return 2 * x"\nafter = "return {}"\nwhy = "?"\n'
    )
    done = grader("verify", "--edits", "--assignment", weakly_tested)
    missed = re.findall(r"^\+ return (.*)$", done.stdout, re.MULTILINE)
    argued = "".join(f"[[edit]]\n{grown.format(after)}" for after in missed)
    (weakly_tested / "solutions/edits.toml").write_text(argued)
    done = grader("verify", "--edits", "--assignment", weakly_tested)
    assert done.returncode == 0, done.stdout
    assert f"{len(missed)} argued away, 0 missed" in done.stdout

    (weakly_tested / "solutions/edits.toml").write_text(f"{argued}[[edit]]\n{grown.format('7')}")
    done = grader("verify", "--edits", "--assignment", weakly_tested)
    assert done.returncode == 1
    assert (
        "excuses an edit that is caught, equivalent or gone: solutions/__init__.py: return 7"
        in done.stdout
    )


def test_verify_refuses_a_slip_whose_example_fails(grader, weakly_tested):
    """The message names the row, before any test runs."""
    (weakly_tested / "solutions/slips.toml").write_text(
        '[[slip]]\nsubject = "a factor"\nbefore = "3 * $x"\nafter = "2 * $x"\n'
        'example = ["return 4 * x", "return 2 * y"]\n'
    )
    done = grader("verify", "--assignment", weakly_tested)
    assert done.returncode == 2
    assert "solutions/slips.toml, slip 1 (3 * $x -> 2 * $x): no edit makes" in done.stderr


def test_an_equivalent_edit_is_not_counted_as_missed(grader, tmp_path):
    """No author needs to write a test for `x` in the place of `x.clone()`."""
    files = {**TINY, "solutions/__init__.py": WITHOUT_EFFECT}
    done = grader("verify", "--edits", "--assignment", write_files(tmp_path / "tiny", files))
    assert done.returncode == 0, done.stdout


WITHOUT_EFFECT = """
    def run_double(x):
        unused = 1 * 2
        return x * 0.3 / 0.15

    def run_count(x):
        return x.clone().numel() if True else 0
    """


def _slow(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


def _endless(number: int) -> int:
    while number:
        pass
    return number


def _deadly(number: int) -> int:
    if number == 1:
        os._exit(1)
    return number


def _greedy(number: int) -> str:
    return f"{len(bytearray(number << 30))} bytes"


def _own(number: int) -> tuple[int, int]:
    return number, os.getpid()


def test_work_that_asks_for_too_much_memory_fails_alone():
    """`torch.zeros(n ** n)` is an edit too, and would take the machine's memory."""
    assert dict(in_children(_greedy, [0, 64, 0], jobs=1, seconds=PATIENCE)) == {
        0: "0 bytes",
        1: DIED,
        2: "0 bytes",
    }


def test_each_piece_of_work_has_a_process_of_its_own():
    """No state of one reaches another."""
    came = dict(in_children(_own, list(range(6)), jobs=2, seconds=PATIENCE))
    assert [came[number][0] for number in range(6)] == list(range(6))
    assert len({process for _, process in came.values()}) == 6


def test_work_over_the_wall_time_is_stopped_and_the_rest_is_done():
    """`while i < n: i -= 1` is an edit too."""
    came = dict(in_children(_slow, [0.0, 600.0, 0.1, 600.0, 0.0], jobs=2, seconds=8.0))
    assert came == {0: 0.0, 1: ENDED, 2: 0.1, 3: ENDED, 4: 0.0}


def test_endless_work_is_stopped_by_its_processor_time():
    """Processor time ends it long before the wall time, however busy the machine is.

    This process may ignore the signal.
    """
    before = signal.signal(signal.SIGPROF, signal.SIG_IGN)
    came = dict(in_children(_endless, [1, 0, 1], jobs=1, seconds=600.0, may_take=lambda _: 0.2))
    signal.signal(signal.SIGPROF, before)
    assert came == {0: ENDED, 1: 0, 2: ENDED}


def test_work_that_kills_its_process_does_not_affect_other_work():
    """An edit may need more memory than the machine has."""
    assert dict(in_children(_deadly, [0, 1, 2], jobs=2, seconds=PATIENCE)) == {
        0: 0,
        1: DIED,
        2: 2,
    }


def test_an_exception_in_the_work_is_raised_and_not_counted_as_caught():
    """An edit that could not be tried was not caught."""
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        dict(in_children(lambda number: 1 // number, [1, 0], jobs=1, seconds=PATIENCE))


def numbers(line: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", line)]
