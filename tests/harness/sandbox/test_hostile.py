"""A class full of hostile submissions, graded by one real `grader batch`."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch

from grader.settings import WALL_FACTOR
from grader.wire.calls import decode_answer
from grader.wire.frames import receive
from tests.harness.hostile import odd_files, traces
from tests.harness.hostile.listener import Listener
from tests.harness.hostile.ranks import Rank, rank
from tests.harness.hostile.staging import (
    ALLOWED,
    ENGINE,
    HERE,
    MEMORY,
    NO_JUDGES,
    RIGHT,
    WRONG,
    Stage,
    disguises,
    expectations,
    hand_in,
    lay_out,
    sample_files,
)
from tests.harness.marks import rest_slow

JOBS, TIMEOUT, SEED = 2, 5, 7
RANKS = ("root", "an ordinary user", "root of a container without rights")
OWN_RANK = RANKS[0] if os.geteuid() == 0 else RANKS[1]
# What only those workers cannot learn that see no other files and processes than their own.
OF_A_TREE_OF_ITS_OWN = {
    "paths_of_hidden_files": "files",
    "processes_by_their_numbers": "process ids",
}

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform != "linux", reason="the corpus is made for Linux"),
]


@dataclass(frozen=True)
class Outcome:
    """What came of the batch."""

    stage: Stage
    code: int
    seconds: float
    output: str
    rows: dict[str, dict[str, Any]]
    quiet: dict[str, dict[str, Any]]
    heard: list[str]
    left: list[str]
    touched: list[str]
    canaries: list[str] = field(default_factory=list)

    def demand(self, *layers: str) -> None:
        """Skips a test of what only these layers of isolation promise, where one is missing."""
        for layer in layers:
            if self.isolation.get(layer, "none") == "none":
                pytest.skip(f"this machine grants no isolation of {layer}")

    @property
    def isolation(self) -> dict[str, str]:
        """What each layer came to."""
        held: dict[str, str] = next(iter(self.rows.values()))["isolation"]
        return held

    def told(self, kinds: Sequence[str]) -> Iterator[tuple[str, str]]:
        """What samples of some kinds say that they got, by the names they were handed in under."""
        for name, row in self.of(kinds):
            for test in row["tests"]:
                message = test["message"] or ""
                if "it got " in message and "it got nothing (" not in message:
                    yield name, message

    def of(self, kinds: Sequence[str]) -> Iterator[tuple[str, dict[str, Any]]]:
        """The samples of some kinds and their rows, by the names they were handed in under."""
        known = expectations()
        for name, sample in self.stage.samples.items():
            if sample in known and known[sample].kind in kinds and name in self.rows:
                yield name, self.rows[name]


@pytest.fixture(scope="module", params=rest_slow(RANKS, [OWN_RANK]))
def outcome(request: pytest.FixtureRequest, tiny: Path) -> Iterator[Outcome]:
    """The whole corpus, graded as this user; as root, its most telling parts as others too.

    There these others alone have words found for it, which takes most of the time.
    """
    root = Path(tempfile.mkdtemp(prefix="corpus-"))
    root.chmod(0o755)
    try:
        yield _graded(root, tiny, rank(request.param, root))
    finally:
        shutil.rmtree(root, ignore_errors=True)


def test_the_command_ends_well(outcome):
    """No submission stops the batch, and none is left without a grade."""
    assert outcome.code == 0, outcome.output[-3000:]
    assert set(outcome.rows) == set(outcome.stage.samples)
    assert {row["status"] for row in outcome.rows.values()} <= {"graded", "unreadable"}
    assert "Traceback" not in outcome.output


def test_every_sample_gets_what_it_must(outcome):
    """Points for nothing are the one thing that no trick may bring."""
    outcome.demand("filesystem", "syscalls")
    problems = []
    for name, row in outcome.of(["forgeries", "nuisances", "spies", "odd"]):
        wanted = expectations()[outcome.stage.samples[name]]
        statuses = {test["status"] for test in row["tests"]}
        said = {test["message"] for test in row["tests"]}
        if row["status"] not in wanted.status:
            problems.append(f"{name} is {row['status']}: {row['message']}")
        if not wanted.at_least - 1e-6 <= row["score"] <= wanted.at_most + 1e-6:
            problems.append(f"{name} has {row['score']} points: {said}")
        if not statuses <= wanted.tests | {"timeout"}:
            problems.append(f"{name} has tests that {statuses - wanted.tests}: {said}"[:1000])
    assert not problems, "\n".join(problems)


def test_the_honest_are_graded_as_if_they_were_alone(outcome):
    """Right ones have every point, wrong ones the points and the messages of a quiet day."""
    for name, sample in outcome.stage.samples.items():
        if sample in RIGHT:
            assert name in outcome.rows
            assert outcome.rows[name]["score"] == outcome.rows[name]["max_score"] == 5.0
        if sample in RIGHT or sample in WRONG:
            assert _verdicts(outcome.rows[name]) == _verdicts(outcome.quiet[sample])
    assert {_score(outcome, sample) for sample in WRONG} != {5.0}


def test_no_spy_gets_anything(outcome):
    """Every spy says in its messages what it got; each tries places whose secrets it is told."""
    outcome.demand("filesystem", "syscalls")
    held = outcome.isolation.get("namespaces", "")
    told = {
        name: message
        for name, message in outcome.told(["spies"])
        if OF_A_TREE_OF_ITS_OWN.get(outcome.stage.samples[name], "") in held
    }
    assert not told, "\n".join(f"{name}: {message[:400]}" for name, message in told.items())


def test_no_nuisance_holds_more_than_it_may(outcome):
    """A hoarder's answers are right only if it held too much and was not stopped; or it says so."""
    outcome.demand("filesystem", "syscalls")
    unstopped = dict(outcome.told(["nuisances"]))
    for name, row in outcome.of(["nuisances"]):
        if row["score"] > expectations()[outcome.stage.samples[name]].at_most + 1e-6:
            unstopped[name] = f"it has {row['score']} points"
    assert not unstopped, "\n".join(f"{it}: {said[:400]}" for it, said in unstopped.items())


def test_no_secret_is_in_any_result(outcome):
    """Not in the environment's, the siblings', the solutions', the judge's own."""
    outcome.demand("filesystem", "syscalls")
    assert not outcome.canaries


def test_a_listener_hears_nothing(outcome):
    """No submission reaches a network, not even its own machine's."""
    outcome.demand("network")
    assert not outcome.heard


def test_nothing_is_left_behind(outcome):
    """No process, no file, no folder, nothing that only the kernel knows of."""
    outcome.demand("filesystem", "syscalls")
    assert not outcome.left, "\n".join(outcome.left)


def test_what_was_there_before_is_as_it_was(outcome):
    """The assignment, what was handed in and the home of the grader are nobody's to change."""
    outcome.demand("filesystem")
    assert not outcome.touched


def test_messages_are_short_and_fit_to_print(outcome):
    """Two hundred megabytes of text are no feedback, and no terminal is told what to do."""
    for name, row in outcome.rows.items():
        texts = [row["message"] or "", *(test["message"] or "" for test in row["tests"])]
        assert max(map(len, texts)) < 6000, name
        assert not [text for text in texts if "\x1b" in text or "\x00" in text], name
        json.dumps(row, ensure_ascii=False).encode()


def test_the_batch_is_on_time(outcome, capsys):
    """The time limits of all, shared out among the jobs, and a tenth; each one's on the wall."""
    allowed = len(outcome.rows) * TIMEOUT / JOBS * 1.1
    statuses = Counter(test["status"] for row in outcome.rows.values() for test in row["tests"])
    slowest = sorted(outcome.rows.values(), key=lambda row: -row["duration_s"])[:8]
    with capsys.disabled():
        print(f"\n  {len(outcome.rows)} submissions, of which hostile: ", end="")
        print(len(list(outcome.of(["forgeries", "nuisances", "spies", "odd"]))))
        print(f"  {outcome.seconds:.1f} s of {allowed:.1f} s, {dict(statuses)}")
        print(f"  isolation: {next(iter(outcome.rows.values()))['isolation']}")
        for row in slowest:
            print(f"  {row['duration_s']:8.2f} s  {row['submission']}")
    assert outcome.seconds <= allowed
    assert max(row["duration_s"] for row in outcome.rows.values()) <= WALL_FACTOR * TIMEOUT


@pytest.mark.unit
def test_the_corpus_is_whole():
    """What each sample must get is written down, and there are as many as were promised."""
    samples = {**dict.fromkeys(sample_files()), **dict.fromkeys(odd_files.KINDS)}
    assert set(expectations()) == set(samples)
    assert len(samples) >= 75


@pytest.mark.unit
def test_forged_answers_are_as_good_as_genuine_ones(tmp_path):
    """A forgery that is refused for its form alone would prove little."""
    allowed = {"memory": MEMORY, "disk": ALLOWED.disk, "files": ALLOWED.files}
    (tmp_path / "hints.json").write_text(json.dumps(allowed))
    shutil.copyfile(HERE / "accomplice.py", tmp_path / "accomplice.py")
    spec = importlib.util.spec_from_file_location("accomplice", tmp_path / "accomplice.py")
    accomplice = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(accomplice)
    entry, payload = accomplice.zeros(2, 3)
    stream = io.BytesIO(accomplice.answer({"value": entry}, payload))
    answer = decode_answer(receive(lambda size: bytearray(stream.read(size))))
    assert torch.equal(answer.value, torch.zeros(2, 3))


def _graded(root: Path, tiny: Path, rank: Rank) -> Outcome:
    stage = lay_out(root, tiny, rank.wanted)
    with (
        Listener(stage.listener, f"{stage.marker}-line") as listener,
        traces.adopting_orphans() as orphans,
    ):
        ports = {kind: listener.port(kind) for kind in ("tcp", "udp")}
        own = {"unix": str(stage.listener), "abstract": f"{stage.marker}-line"}
        hand_in(stage, ports | own)
        quiet = _quiet_day(stage, rank)
        _give(root, rank)
        watched = (stage.assignment, stage.submissions, stage.home)
        before = {folder: traces.contents(folder) for folder in watched}
        started = time.monotonic()
        code, output = _run(stage, stage.submissions, stage.out, rank)
        seconds = time.monotonic() - started
        after = {folder: traces.contents(folder) for folder in watched}
        left = [
            *traces.processes_of(root),
            *traces.files_named(stage.marker, ENGINE, *watched, stage.out),
            *(
                f"{path} in the scratch folder"
                for path in stage.scratch.iterdir()
                if path.name != NO_JUDGES
            ),
        ]
    left += [*orphans, *traces.kernel_objects(stage.marker)]
    return Outcome(
        stage,
        code,
        seconds,
        output,
        _rows(stage.out),
        quiet,
        listener.heard,
        left,
        [
            f"{folder.name}/{name}"
            for folder in watched
            for name in before[folder].keys() | after[folder].keys()
            if before[folder].get(name) != after[folder].get(name)
        ],
        list(_canaries_in(stage, output)),
    )


def _quiet_day(stage: Stage, rank: Rank) -> dict[str, dict[str, Any]]:
    """The rows of the honest submissions, graded by themselves."""
    honest = stage.root / "honest"
    for name, sample in stage.samples.items():
        if sample in RIGHT or sample in WRONG:
            shutil.copytree(stage.submissions / name, honest / sample)
    _give(stage.root, rank)
    code, output = _run(stage, honest, stage.root / "quiet", rank)
    assert code == 0, output
    return _rows(stage.root / "quiet")


def _run(stage: Stage, folder: Path, out: Path, rank: Rank) -> tuple[int, str]:
    """Runs `grader batch`; its exit code, and all that it printed."""
    command = [
        *(*rank.prefix, sys.executable, "-m", "grader", "batch", str(folder), "--out", str(out)),
        *("--assignment", str(stage.assignment), "--jobs", str(JOBS), "--timeout", str(TIMEOUT)),
        *("--memory", str(MEMORY >> 20), "--seed", str(SEED)),
        *(["--no-explain"] if rank.without_words else []),
    ]
    secret = {"GRADER_TOKEN": stage.canaries["environment"]}
    own = {"HOME": str(stage.home), "TMPDIR": str(stage.scratch), "PYTHONDONTWRITEBYTECODE": "1"}
    with tempfile.TemporaryFile() as printed:
        process = subprocess.Popen(
            command,
            cwd=stage.assignment,
            env=os.environ | secret | own,
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            code = process.wait(timeout=len(stage.samples) * TIMEOUT)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            code = process.wait()
        printed.seek(0)
        return code, printed.read().decode(errors="replace")


def _rows(out: Path) -> dict[str, dict[str, Any]]:
    lines = (out / "results.jsonl").read_text(encoding="utf-8").splitlines()
    return {row["submission"]: row for row in map(json.loads, lines)}


def _canaries_in(stage: Stage, output: str) -> Iterator[str]:
    texts = {path.name: path.read_bytes() for path in stage.out.iterdir() if path.is_file()}
    known = {place: list(disguises(canary)) for place, canary in stage.canaries.items()}
    with contextlib.suppress(OSError):
        known["/etc/passwd"] = [Path("/etc/passwd").read_bytes().splitlines()[0]]
    for name, text in {**texts, "what it printed": output.encode()}.items():
        for place, forms in known.items():
            if any(form in text for form in forms):
                yield f"the secret of {place} is in {name}"


def _verdicts(row: dict[str, Any]) -> list[dict[str, Any]]:
    return [{key: test[key] for key in test if key != "duration_s"} for test in row["tests"]]


def _score(outcome: Outcome, sample: str) -> float:
    (name,) = [name for name, staged in outcome.stage.samples.items() if staged == sample]
    score: float = outcome.rows[name]["score"]
    return score


def _give(root: Path, rank: Rank) -> None:
    """Makes everything the user's who will grade."""
    if rank.owner is not None:
        for path in [root, *root.rglob("*")]:
            os.lchown(path, rank.owner, rank.owner)
