"""Attempts succeed where nothing confines them: else a refusal would prove nothing."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from grader.sandbox import probe
from grader.sandbox.attempts import taking
from grader.sandbox.probe import TRIALS, Attempt, ProbeResult, ProbeTrial
from tests.harness.forking import in_a_fork
from tests.harness.sandbox import variants
from tests.harness.sandbox.variants import BEFORE, VARIANTS

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform != "linux", reason="the attempts are made for Linux"),
]
MB = 1 << 20
ALL = (*TRIALS, *VARIANTS)
# A small amount of what each attempt takes: enough for several steps.
MOST = {
    **dict.fromkeys((one.adapter for one in ALL if one.most is not None), 40 * MB),
    "run_memory_of_page_tables": 40 * MB,
    "run_memory_in_sockets": 3 * MB,
    "run_files": 40,
    "run_threads": 20,
    "run_processor": 0,
}
# These stop or reprioritise the parent, answer a judge, never end, or print.
LEFT_OUT = {
    *("run_trace_parent", "run_memory_while_it_drips", "run_for_ever", "run_print_much"),
    *("run_priority_of_its_user", "run_disk_in_flight"),
}
# Many machines refuse these to everybody, or to ordinary users.
PERHAPS = {
    *("run_privileges", "run_turns_at_the_disk", "run_disk_never_named", "run_disk_allocated"),
    *("run_memory_in_sockets", "run_lease", "run_notify", "run_disk_below_deep_folders"),
}


@pytest.fixture(scope="module")
def modules(tmp_path_factory) -> dict[str, Any]:
    """The modules of all attempts, imported from one package as in a worker."""
    place = tmp_path_factory.mktemp("all")
    variants.gathered(place)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(place)
        names = {trial.module for trial in ALL}
        found = {name: importlib.import_module(f"attempts.{name}") for name in names}
    for name in [name for name in sys.modules if name.partition(".")[0] == "attempts"]:
        del sys.modules[name]
    return found


def attempted(folder: Path, module: Any, name: str) -> Any:
    """Returns the result of an attempt, or its exception as text, in a process of its own."""

    def attempt() -> Any:
        os.chdir(folder / "submission")
        os.environ["GRADER_PROBE"] = "seen"
        tempfile.tempdir = str(folder)
        return getattr(module, name)(**({"most": MOST[name]} if name in MOST else {}))

    return in_a_fork(attempt)


@pytest.fixture
def folder(monkeypatch, modules) -> Iterator[Path]:
    """A folder with the submission, a file beside it, and a file that workers share."""
    with tempfile.TemporaryDirectory() as made:
        place = Path(made)
        (place / "submission").mkdir()
        (place / "beside.txt").write_text("secret")
        (place / "shared").mkdir()
        (place / "shared" / "module.py").write_text("x = 1")
        os.utime(place / "shared" / "module.py", (0, 0))
        shared = place / "shared" / "module.py"
        monkeypatch.setattr(modules["reaching"], "SHARED", shared)
        monkeypatch.setattr(modules["taking"], "_SECONDS_HELD", 0)
        own = str(place / "submission" / "reaching.py")
        monkeypatch.setattr(modules["reaching"], "__file__", own)
        yield place


@pytest.mark.parametrize(
    "trial", [one for one in ALL if one.adapter not in LEFT_OUT], ids=lambda one: one.adapter
)
def test_an_unconfined_attempt_succeeds(folder, modules, trial: ProbeTrial):
    """It reaches what it looks for, or takes the amount that would be too much."""
    module = modules[trial.module]
    # Some attempts look for another process, or for the locks that one holds meanwhile.
    with _another_process(module, BEFORE.get(trial.adapter)):
        result = attempted(folder, module, trial.adapter)
    if trial.adapter in PERHAPS and result is not True:
        pytest.skip(f"this machine says {result}")
    assert result is True


@contextlib.contextmanager
def _another_process(module: Any, attempt: str | None) -> Iterator[None]:
    """Forks a process of another session; it first makes an attempt of its own, if one is given."""
    reading, writing = os.pipe()
    ended, ending = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(ending)
        os.setsid()
        if attempt:
            getattr(module, attempt)()
        os.write(writing, b"x")
        os.read(ended, 1)
        os._exit(0)
    os.read(reading, 1)
    try:
        yield
    finally:
        for descriptor in (ending, ended, reading, writing):
            os.close(descriptor)
        os.waitpid(child, 0)


def test_locks_are_seen_only_if_another_process_holds_them(folder, modules):
    assert attempted(folder, modules["reaching_otherwise"], "run_see_locks") is False


@pytest.mark.unit
@pytest.mark.parametrize(
    ("steps", "most", "is_held"), [([1, 2, 3], 2, True), ([1, 2], 2, False), ([], 0, False)]
)
def test_an_amount_is_held_only_if_it_is_more_than_the_bound(steps, most, is_held):
    """What was taken is given back in any case."""
    given_back = []

    def take() -> taking.Held:
        try:
            yield from steps
        finally:
            given_back.append(True)

    assert taking.holds(take(), most) is is_held
    assert given_back == [True] * bool(steps) or not steps


@pytest.mark.unit
def test_every_trial_has_its_adapter(modules):
    """Attempts to take something are told how much would be too much."""
    for trial in ALL:
        module = modules[trial.module]
        assert callable(getattr(module, trial.adapter))
        assert callable(getattr(module, BEFORE.get(trial.adapter, trial.adapter)))
        assert "taking" in trial.module or trial.most is None
    taken = {trial.adapter: trial.most for trial in ALL if trial.most is not None}
    assert taken["run_memory"] > 2 * probe.ALLOWED.memory
    assert taken["run_memory_of_page_tables"] > probe.ALLOWED.memory
    assert taken["run_disk"] > 2 * probe.ALLOWED.disk
    assert taken["run_files"] > probe.ALLOWED.files


@pytest.mark.unit
def test_the_doctor_tries_every_layer_that_a_machine_may_lack():
    """Other ways to try the same layers are the harness's."""
    doctors = {trial.layer for trial in TRIALS}
    assert {trial.layer for trial in VARIANTS} <= doctors
    layers = "filesystem processes network syscalls identity namespaces memory disk threads"
    assert set(layers.split()) <= doctors
    adapters = [trial.adapter for trial in ALL]
    assert len(adapters) == len(set(adapters))


@pytest.mark.unit
@pytest.mark.parametrize(
    ("succeeded", "wanted", "promised", "is_ok"),
    [
        (True, True, True, True),
        (False, True, True, False),
        (True, False, True, False),
        (False, False, True, True),
        (True, False, False, True),
    ],
)
def test_an_attempt_must_end_as_promised(succeeded, wanted, promised, is_ok):
    attempt = Attempt("disk", "write", succeeded, wanted, "", promised=promised)
    assert attempt.ok is is_ok
    assert ProbeResult({"disk": "watched"}, (attempt,)).holds is is_ok
    assert not ProbeResult({"disk": "none"}, (attempt,)).holds


@pytest.mark.unit
def test_a_place_is_swapped_until_the_end(tmp_path):
    """The intake meets the folder, the link, or neither."""
    import threading

    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    ended, seen = threading.Event(), set()
    swapping = threading.Thread(
        target=variants.swap, args=(tmp_path / "one", tmp_path / "other", ended)
    )
    swapping.start()
    while len(seen) < 2:
        with contextlib.suppress(OSError):
            seen |= {one.name for one in (tmp_path / "one").iterdir()}
    ended.set()
    swapping.join()
    assert seen == {"one", "other"}
    assert not (tmp_path / "aside").exists()


@pytest.mark.unit
def test_submissions_that_cost_much_are_as_costly_as_they_claim(tmp_path):
    notebook = variants.notebook_of_many_cells(tmp_path)
    assert notebook.read_text().count("cell_type") == 100_000
    settings = (variants.settings_of_dotted_keys(tmp_path) / "pyproject.toml").read_text()
    assert settings.count("a.") == 16_000


@pytest.mark.unit
def test_the_canary_is_in_the_environment_only_meanwhile(modules):
    with probe._canary():
        assert modules["reaching"].run_environment()
    assert not modules["reaching"].run_environment()
