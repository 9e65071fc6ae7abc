"""The judge's verdicts on right, wrong, crashing and hanging submissions."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.core.assignment import Settings
from grader.core.points import total
from grader.grading.job.client import JobClient
from grader.grading.options import Task
from grader.intake.entry import Entry
from tests.harness.conftest import TINY, Graded, write_files

pytestmark = pytest.mark.process


def with_double(body: str) -> str:
    """Returns the right submission with another body of `run_double`."""
    count = "def run_count(x):\n    return x.numel()\n"
    return f"import torch\n\ndef run_double(x):\n    {body}\n\n{count}"


@pytest.fixture(scope="module")
def patient(tmp_path_factory) -> Iterator[JobClient]:
    """A judge with long time limits, so that a busy machine reaches other limits first."""
    slow = TINY["pyproject.toml"].replace("call_timeout = 2", "call_timeout = 120")
    folder = write_files(tmp_path_factory.mktemp("patient"), TINY | {"pyproject.toml": slow})
    (client,) = JobClient.several(
        Settings(str(folder), 1, (), "adapters.py", 480.0, 512, "suite"), 1, submissions=1
    )
    yield client
    client.close()


def test_a_right_submission_gets_every_point(grade):
    """Full marks are exactly the points of the exercises."""
    graded = grade()
    assert {str(v.status) for v in graded.grade.tests} == {"passed"}
    assert graded.grade.score == graded.grade.max_score == 5.0


def test_values_carry_at_least_sixty_percent_of_an_exercise(grade):
    """Correct values earn most of the points."""
    tests = [v for v in grade().grade.tests if v.exercise == "run_double"]
    values = sum(v.max_score for v in tests if v.aspect == "values")
    assert values >= 0.6 * sum(v.max_score for v in tests)


def test_an_answer_of_zeros_earns_no_points(grade):
    """An answer of zeros passes tests of discipline and efficiency, but these then earn nothing."""
    graded = grade(with_double("return 0 * x")).grade
    own = [v for v in graded.tests if v.exercise == "run_double"]
    passed = [v for v in own if v.status == "passed"]
    assert {str(v.aspect) for v in passed} == {"discipline", "efficiency"}
    assert sum(v.score for v in own) == 0
    assert {v.message for v in passed} == {
        "earns none of its points, because none of the points for this exercise's values are earned"
    }


def test_half_right_values_halve_the_points_of_other_aspects(grade):
    """Tests of other aspects count in proportion to the correct values."""
    graded = grade(with_double("return 2 * x * (x.ndim != 1 or len(x) != 4)")).grade
    own = [v for v in graded.tests if v.exercise == "run_double"]
    values = [v for v in own if v.aspect == "values"]
    others = [v for v in own if v.aspect != "values" and v.status == "passed"]
    assert own[:2] == values
    assert [str(v.status) for v in values] == ["passed", "failed"]
    assert total(v.score for v in others) == pytest.approx(
        total(v.max_score for v in others) / 2, abs=0.01
    )
    assert {v.message for v in others} == {
        "earns half of its points, because half of the points for this exercise's values are earned"
    }
    assert graded.score == total(v.score for v in graded.tests)


def test_a_wrong_answer_is_measured(grade):
    """The verdict holds the absolute error and its ratio to the tolerance."""
    verdict = grade(with_double("return 2 * x + 0.5"))["test_doubles"]
    assert verdict.status == "failed"
    assert verdict.measurement.max_abs_error == pytest.approx(0.5, abs=1e-5)
    assert verdict.measurement.error_over_tolerance > 1000
    assert "6 of 6 values in the result are wrong" in verdict.message


def test_a_passed_test_is_measured_too(grade):
    """An instructor can see how close right answers come to the tolerance."""
    verdict = grade(with_double("return 2 * x + 1e-6"))["test_doubles"]
    assert verdict.status == "passed"
    assert 0 < verdict.measurement.error_over_tolerance < 1


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("return None", "not None"),
        ("return (x, x)", "a tuple of 2"),
        ("return 'done'", "not the str 'done'"),
        ("return [1.0]", "a list of 1"),
        ("return x.to_sparse()", "torch.sparse"),
        ("return x.to(torch.complex64)", "complex64"),
        ("return x.long()", "not one of dtype int64"),
        ("return (2 * x).unsqueeze(0)", "which is [2, 3] with n=3, not [1, 2, 3]"),
        ("return x.new_zeros(1).expand(2 ** 20, 2 ** 20)", "too large to be an answer"),
        ("return 2 * x / 0", "6 are infinite, the first at index [0, 0]"),
    ],
)
def test_an_answer_of_the_wrong_kind_fails_and_says_why(grade, body, said):
    """Type, layout, dtype, shape and size are checked before any value is compared."""
    verdict = grade(with_double(body))["test_doubles"]
    assert verdict.status == "failed"
    assert said in verdict.message


def test_an_exception_is_an_error_at_its_line(grade):
    """The verdict names the innermost line of the submission, with its source."""
    verdict = grade(with_double("return x.reshape(7)"))["test_doubles"]
    assert verdict.status == "error"
    assert (verdict.where.file, verdict.where.line) == ("adapters.py", 4)
    assert "RuntimeError" in verdict.message
    assert "x.reshape(7)" in verdict.message


def test_the_line_of_an_exception_is_the_submission_s_own(grade):
    """Frames of torch or of the grader do not help a student."""
    verdict = grade(
        "from parts import double\ndef run_double(x): return double(x)\n",
        parts_py="import torch\ndef double(x):\n    return torch.nn.Linear(5, 5)(x)\n",
    )["test_doubles"]
    assert (verdict.where.file, verdict.where.line) == ("parts.py", 3)


def test_stubs_and_absent_adapters_are_missing(grade):
    """A stub or an absent adapter costs only its own exercise."""
    graded = grade("def run_double(x):\n    raise NotImplementedError('later')\n")
    assert graded.statuses("run_double") == {"missing"}
    assert graded.statuses("run_count") == {"missing"}


def test_an_absent_adapter_leaves_the_others_graded(grade):
    """A submission need not define every adapter."""
    graded = grade("def run_count(x):\n    return x.numel()\n")
    assert graded.statuses("run_double") == {"missing"}
    assert graded.statuses("run_count") == {"passed"}


@pytest.mark.parametrize(
    "body", ["raise SystemExit(0)", "raise KeyboardInterrupt", "raise BaseException('all of it')"]
)
def test_raising_a_base_exception_is_an_error_of_that_exercise_only(grade, body):
    """Ending the program is not a way to pass."""
    graded = grade(with_double(body))
    assert graded["test_doubles"].status == "error"
    assert graded.statuses("run_count") == {"passed"}


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("import os; os._exit(0)", "exit code 0"),
        ("import os; os.abort()", "SIGABRT"),
        ("import os; os.kill(os.getpid(), 9)", "SIGKILL"),
        ("import ctypes; ctypes.string_at(0)", "SIGSEGV"),
    ],
)
def test_a_worker_that_dies_is_a_crash_of_that_exercise_only(grade, body, said):
    """The next exercise gets a new worker."""
    graded = grade(with_double(body))
    assert graded.statuses("run_double") == {"crashed"}
    assert said in graded["test_doubles"].message
    assert graded.statuses("run_count") == {"passed"}


def test_an_endless_loop_times_out_and_leaves_time_for_the_rest(grade):
    """After two timeouts an exercise is not called again."""
    graded = grade(with_double("while True: pass"))
    assert graded.statuses("run_double") == {"timeout"}
    assert graded.statuses("run_count") == {"passed"}
    running = r"after (1|3) s still running adapters\.py:"  # 3 on a busy machine
    assert re.search(running, graded["test_doubles"].message)
    said = [test.message for test in graded.grade.tests if test.exercise == "run_double"]
    assert len([text for text in said if "was not called again" not in text]) == 2


def test_an_endless_import_times_out_every_test(grade):
    """The time limit of a submission includes its import."""
    graded = grade("while True: pass\n")
    assert {str(v.status) for v in graded.grade.tests} == {"timeout"}
    assert re.search(r"cannot be imported: after (3|15) s still running", graded.grade.message)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is no such folder")
def test_a_worker_can_look_up_its_own_process(grade):
    """psutil, and packages that use it, look up their own process at import."""
    look = "import os\nos.stat(f'/proc/{os.getpid()}')\n"
    assert grade(look + with_double("return 2 * x")).grade.score == 5.0


def test_memory_is_limited(grade):
    """A submission that allocates more than its limit gets an error."""
    verdict = grade(with_double("return torch.ones(1 << 28).sum() + 2 * x"))["test_doubles"]
    assert verdict.status in ("error", "crashed")
    assert "memory" in verdict.message.lower()


@pytest.mark.parametrize(
    "distraction",
    ["os.close(1); os.close(2)", "threading.Thread(target=flood, daemon=True).start()"],
)
def test_memory_is_watched_while_a_worker_floods_or_closes_its_output(
    patient, tmp_path, distraction
):
    """Read-only pages escape RLIMIT_DATA, so the judge measures memory even during output."""
    code = f"""
    import ctypes, mmap, os, threading

    def flood():
        while True:
            os.write(1, b"x" * 65536)

    def run_double(x):
        {distraction}
        kept, size = [], 1 << 26
        for _ in range(16):
            kept.append(mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))
            kept[-1][:] = bytes(size)
            address = ctypes.addressof(ctypes.c_char.from_buffer(kept[-1]))
            ctypes.CDLL(None).mprotect(ctypes.c_void_p(address), ctypes.c_size_t(size), 1)
        threading.Event().wait()

    def run_count(x):
        return x.numel()
    """
    folder = write_files(tmp_path / "submission", {"adapters.py": code})
    graded = Graded(patient.grade(Task(Entry("submission", folder), 0, "hash", "")))
    assert graded["test_doubles"].status == "crashed"
    assert "memory" in graded["test_doubles"].message
    assert graded.statuses("run_count") == {"passed"}


def test_memory_that_one_exercise_keeps_is_not_taken_from_the_next(grade):
    """One exercise keeps 300 MB between its calls; the next one can allocate as much."""
    graded = grade(
        """
        kept = []

        def run_double(x):
            if not kept:
                kept.append(bytearray(300 << 20))
            return 2 * x

        def run_count(x):
            return x.numel() + 0 * len(bytearray(300 << 20))
        """
    )
    assert graded.grade.score == graded.grade.max_score, graded.grade.tests


def test_processes_that_a_worker_started_die_with_it(grade, tmp_path):
    """This holds even for a process that made itself a daemon."""
    alive = tmp_path / "alive"
    body = (
        "import os, subprocess, sys; "
        "subprocess.Popen([sys.executable, '-c', "
        f"'import os, time; open({str(alive)!r}, \"w\").write(str(os.getpid())); time.sleep(600)'"
        "], start_new_session=True); "
        "import time; time.sleep(1); return 2 * x"
    )
    grade(with_double(body))
    if alive.exists():
        assert not Path(f"/proc/{alive.read_text()}").exists()


def test_overwriting_an_input_fails_discipline_but_not_values(grade):
    """The reference gets the judge's own inputs, so only the discipline test fails."""
    graded = grade(with_double("return x.mul_(2)"))
    failed = {v.id.partition("::")[2] for v in graded.grade.tests if v.status != "passed"}
    assert "test_leaves_its_input_alone" in failed
    assert "test_doubles" not in failed
    assert "changes its input x" in graded["test_leaves_its_input_alone"].message


def test_a_detached_result_fails_the_gradient_test_only(grade):
    """A missing gradient is not a wrong value."""
    graded = grade(with_double("return (2 * x).detach()"))
    failed = {v.id.partition("::")[2] for v in graded.grade.tests if v.status != "passed"}
    assert failed == {"test_gradient"}
    assert "no gradient reaches x" in graded["test_gradient"].message


def test_a_different_answer_to_a_repeated_call_fails(grade):
    """State kept between calls changes the second answer."""
    state = "calls = []\n" + with_double("calls.append(1); return 2 * x + 1e-7 * len(calls)")
    assert (
        "something else when it is called again" in grade(state)["test_is_the_same_twice"].message
    )


def test_a_loop_over_the_numbers_fails_efficiency_only(grade):
    """The test counts operations at two input sizes, and measures no time."""
    body = "return torch.stack([2 * row for row in x.reshape(-1)]).reshape(x.shape)"
    graded = grade(with_double(body))
    failed = {v.id.partition("::")[2] for v in graded.grade.tests if v.status != "passed"}
    assert failed == {"test_work"}
    assert re.search(
        r"makes \d+ torch operations for a larger input, and \d+ for a small one",
        graded["test_work"].message,
    )


@pytest.mark.parametrize(
    ("made", "failing"),
    [
        ("torch.stack([2 * row for row in x.reshape(-1)]).reshape(x.shape)", {"test_work"}),
        ("2 * x", set()),
    ],
)
def test_a_loop_in_a_thread_fails_efficiency_only(grade, made, failing):
    """Operations are counted in every thread that a call starts."""
    body = (
        f"import threading; made = []; work = threading.Thread(target=lambda: made.append({made}))"
        "; work.start(); work.join(); return made[0]"
    )
    graded = grade(with_double(body))
    failed = {v.id.partition("::")[2] for v in graded.grade.tests if v.status != "passed"}
    assert failed == failing


@pytest.mark.parametrize(
    "body",
    [
        "return x + x + torch.zeros(x.shape, device='cpu')",
        "y = torch.zeros(x.shape, device='cpu'); y[...] = x; return x + y",
        "return x @ (2 * torch.eye(x.shape[-1], device='cpu'))",
    ],
)
def test_code_that_names_the_cpu_fails_on_another_device(grade, body):
    """A machine without a GPU can test this: torch's meta device stands in for one."""
    graded = grade(with_double(body))
    verdict = graded["test_another_device"]
    assert verdict.status == "failed"
    assert "a stand-in for a GPU" in verdict.message
    assert verdict.where.line == 4


def test_a_result_that_was_copied_to_the_cpu_fails_on_another_device(grade):
    verdict = grade(with_double("return 2 * x.detach().cpu()"))["test_another_device"]
    assert (verdict.status, "lie on the device" in verdict.message) == ("failed", True)


@pytest.mark.parametrize(
    "body",
    [
        "assert not x.isnan().any(); return 2 * x",
        "scale = 1 / x.abs().max().item(); return 2 * (x * scale) / scale",
        "assert torch.equal(x, x); return 2 * x + 0 * len(x.unique())",
        "return 2 * x + 0 * x[x > 0].sum()",
        "y = torch.zeros(x.shape, device='cpu'); y[...] = x; return 2 * y.to(x.device)",
        "return torch.from_numpy(2 * x.detach().cpu().numpy()).to(x.device)",
        "n = (x.flatten() > 0).int(); return 2 * x + 0 * n.repeat_interleave(n).sum()",
    ],
)
def test_code_that_looks_at_values_loses_nothing(grade, body):
    """The code works on a GPU, but the meta device has no values, so the test passes silently."""
    verdict = grade(with_double(body))["test_another_device"]
    assert (verdict.status, verdict.message) == ("passed", None)


def test_an_exception_that_imitates_a_meta_device_error_is_an_error(grade):
    """Code that also raises on the CPU did not fail because the meta device has no values."""
    body = "raise RuntimeError('Tensor.item() cannot be called on meta tensors')"
    assert grade(with_double(body))["test_another_device"].status == "error"


@pytest.mark.parametrize(
    "body",
    [
        "return x + x + torch.zeros(x.shape)",
        # On a GPU this returns a tensor on the CPU.
        "return torch.ones(x.shape) if x.is_meta else 2 * x",
    ],
)
def test_code_that_forgets_the_device_gets_a_note_and_loses_nothing(grade, body):
    """Adapters commonly build modules on the default device."""
    verdict = grade(with_double(body))["test_another_device"]
    assert verdict.status == "passed"
    assert "pass the device of an input" in verdict.message


@pytest.mark.parametrize(
    "body",
    [
        "open(__file__ + '.log', 'w').write('called'); return 2 * x",
        "import subprocess; subprocess.run(['date']); return 2 * x",
        "import socket; socket.socket(); return 2 * x",
    ],
)
def test_an_action_that_only_a_worker_refuses_is_explained(grade, body):
    """Otherwise the student would read only "permission denied"."""
    graded = grade(with_double(body))
    if graded.grade.isolation["syscalls"] == "none":
        pytest.skip("this machine refuses nothing")
    assert graded["test_doubles"].status == "error"
    assert "starts no other program and no connection" in graded["test_doubles"].message


def test_annotations_of_the_submission_are_not_enforced(grade):
    """A wrong annotation in a student's adapters must not fail right code."""
    annotated = """
    from beartype import beartype
    from jaxtyping import Int, jaxtyped
    from torch import Tensor

    @jaxtyped(typechecker=beartype)
    def run_double(x: Int[Tensor, "1"]) -> Int[Tensor, "1"]:
        return 2 * x

    def run_count(x):
        return x.numel()
    """
    assert grade(annotated).grade.score == 5.0


def test_output_and_patches_of_the_submission_change_nothing_outside_it(grade):
    """Printing, closing descriptors and patching torch affect only the submission's own process."""
    code = """
    import builtins, os, sys, torch
    print("passed" * 1000)
    sys.stdout.close()
    torch.equal = torch.allclose = lambda *a, **k: True
    torch.Tensor.__eq__ = lambda *a: True
    builtins.AssertionError = type("Never", (Exception,), {})
    def run_double(x):
        return x
    def run_count(x):
        return 0
    """
    graded = grade(code)
    assert graded.grade.score < graded.grade.max_score / 2
    assert graded["test_doubles"].status == "failed"
    assert graded["test_counts"].status == "failed"


def test_a_patch_of_torch_does_not_reach_the_next_submission(grade):
    """Each submission runs in its own process."""
    grade("import torch\ntorch.Tensor.__add__ = lambda a, b: a * 0\n" + with_double("return x + x"))
    assert grade().grade.score == 5.0


def test_an_answer_of_lower_precision_gets_no_wider_tolerance(grade):
    """Values that are right to three digits are wrong, whatever their dtype."""
    for dtype, status in (("bfloat16", "failed"), ("float16", "failed"), ("float64", "passed")):
        graded = grade(f"import torch\ndef run_double(x):\n    return (2 * x).to(torch.{dtype})\n")
        assert graded["test_doubles"].status == status
