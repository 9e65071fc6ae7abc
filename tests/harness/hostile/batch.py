"""One real `grader batch` over the corpus of hostile submissions, and its outcome."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from grader.core.assignment import WALL_FACTOR
from tests.harness.hostile import traces
from tests.harness.hostile.listener import Listener
from tests.harness.hostile.ranks import Rank
from tests.harness.hostile.staging import (
    ENGINE,
    MEMORY,
    NO_JUDGES,
    RIGHT,
    WRONG,
    Stage,
    disguises,
    expectations,
    hand_in,
    lay_out,
)

JOBS, TIMEOUT, SEED = 4, 4, 7


@dataclass(frozen=True)
class Outcome:
    """The outcome of the batch; `processor` is the CPU time of its processes in seconds."""

    stage: Stage
    code: int
    seconds: float
    processor: float
    output: str
    rows: dict[str, dict[str, Any]]
    undisturbed: dict[str, dict[str, Any]]
    heard: list[str]
    left: list[str]
    touched: list[str]
    canaries: list[str] = field(default_factory=list)

    def skip_without(self, *layers: str) -> None:
        """Skips a test if one of the isolation layers that it relies on is missing."""
        for layer in layers:
            if self.isolation.get(layer, "none") == "none":
                pytest.skip(f"this machine grants no isolation of {layer}")

    @property
    def isolation(self) -> dict[str, str]:
        """Returns the state of each isolation layer."""
        held: dict[str, str] = next(iter(self.rows.values()))["isolation"]
        return held

    def reported_finds(self, kinds: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Yields samples of these kinds that report a find, by submission name, and the message."""
        for name, row in self.rows_of(kinds):
            for test in row["tests"]:
                message = test["message"] or ""
                if "raised BufferError" in message or (
                    "it got " in message and "it got nothing (" not in message
                ):
                    yield name, message

    def rows_of(self, kinds: Sequence[str]) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yields the rows of the samples of these kinds, by submission name."""
        known = expectations()
        for name, sample in self.stage.samples.items():
            if sample in known and known[sample].kind in kinds and name in self.rows:
                yield name, self.rows[name]


def graded(root: Path, tiny: Path, rank: Rank) -> Outcome:
    """Grades the samples that `rank` selects, below `root`, with the tiny assignment."""
    stage = lay_out(root, tiny, rank.wanted)
    with (
        Listener(stage.listener, f"{stage.marker}-line") as listener,
        traces.adopting_orphans() as orphans,
    ):
        ports = {kind: listener.port(kind) for kind in ("tcp", "udp")}
        own = {"unix": str(stage.listener), "abstract": f"{stage.marker}-line"}
        hand_in(stage, ports | own)
        undisturbed = _without_hostile_ones(stage, rank)
        _give(root, rank)
        watched = (stage.assignment, stage.submissions, stage.home)
        before = {folder: traces.contents(folder) for folder in watched}
        started, computed = time.monotonic(), _processor_seconds()
        code, output = _run(stage, stage.submissions, stage.out, rank)
        seconds, processor = time.monotonic() - started, _processor_seconds() - computed
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
        processor,
        output,
        _rows(stage.out),
        undisturbed,
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


def _without_hostile_ones(stage: Stage, rank: Rank) -> dict[str, dict[str, Any]]:
    """Returns the rows of the honest submissions, graded without the hostile ones."""
    honest = stage.root / "honest"
    for name, sample in stage.samples.items():
        if sample in RIGHT or sample in WRONG:
            shutil.copytree(stage.submissions / name, honest / sample)
    _give(stage.root, rank)
    code, output = _run(stage, honest, stage.root / "undisturbed", rank)
    assert code == 0, output
    return _rows(stage.root / "undisturbed")


def _run(stage: Stage, folder: Path, out: Path, rank: Rank) -> tuple[int, str]:
    """Runs `grader batch`; returns its exit code and its output."""
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
            code = process.wait(timeout=WALL_FACTOR * len(stage.samples) * TIMEOUT)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            code = process.wait()
        printed.seek(0)
        return code, printed.read().decode(errors="replace")


def _processor_seconds() -> float:
    """Returns the CPU seconds of this process's ended descendants."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


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


def _give(root: Path, rank: Rank) -> None:
    """Gives all files to the user who grades."""
    if rank.owner is not None:
        for path in [root, *root.rglob("*")]:
            os.lchown(path, rank.owner, rank.owner)
