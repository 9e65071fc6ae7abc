"""The doctor's attempts, and all other ways to try the same layers, as this machine's user.

Run as a module, it prints how all of them ended, as JSON: tests run it as other users.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from grader.core.folders import new_scratch, removed_afterwards
from grader.core.submission import Unreadable
from grader.core.wire.calls import Call
from grader.intake.client import IntakeClient
from grader.intake.entry import Entry
from grader.sandbox.fork_server import ForkServer, ForkServers, warm_zygote
from grader.sandbox.limits import Patience
from grader.sandbox.probe import (
    ALLOWED,
    ATTEMPTS,
    TOO_MUCH_DISK,
    TOO_MUCH_MEMORY,
    Attempt,
    ProbeResult,
    ProbeTrial,
    attempted,
    confined_worker,
    examine_confinement,
)

# Without control groups, memory that the kernel holds for a process comes on top of its own.
TOO_MUCH_OF_THE_KERNEL = ALLOWED.memory + (64 << 20)
OTHERS = Path(__file__).with_name("attempts")
REACHING, TAKING = "reaching_otherwise", "taking_otherwise"
# Another worker that stays alive makes the second attempt before the first one is made.
BEFORE = {"run_see_locks": "run_hold_locks"}


_ADAPTERS = "def run_nothing(): ...\n"
_CELLS, _KEYS = 100_000, 16_000
_INTAKE_SECONDS = 3.0
_COPIES = 100
_SECRET = "what only the grader may read"
_OWN = "what everybody here can read."


def reach(layer: str, needs: str = "", **attempts: str) -> list[ProbeTrial]:
    """Returns an attempt to reach something for each adapter, without `run_`."""
    return [
        ProbeTrial(layer, what, f"run_{name}", REACHING, needs=needs)
        for name, what in attempts.items()
    ]


def take(layer: str, most: int, **attempts: str) -> list[ProbeTrial]:
    """Returns an attempt to take too much for each adapter, without `run_`."""
    return [ProbeTrial(layer, what, f"run_{name}", TAKING, most) for name, what in attempts.items()]


VARIANTS = (
    *reach(
        "syscalls",
        change_mode="change a file's mode",
        outlive_its_parent="live on when its parent dies",
        priority_of_its_user="lower all of its user's processes",
        priority_of_its_parent="change its parent's priority",
        turns_at_the_disk="change its user's turns at disks",
        limits_of_its_parent="read its parent's limits",
        notify="watch a shared folder (dnotify)",
        lease="lease a file that workers share",
        see_locks="see what another worker locks",
        trace_parent="trace its parent",
    ),
    *reach("namespaces", "files", place_of_a_file_elsewhere="ask if a file is there elsewhere"),
    *take(
        "memory",
        TOO_MUCH_MEMORY,
        memory_forgotten="hold shared memory out of sight",
        memory_read_only="hold memory that is read-only",
        memory_at_once="take it in a single call",
        memory_by_a_page="hold shared memory by one page",
        memory_mapped_twice="hold shared memory mapped twice",
        memory_while_it_drips="take it while an answer drips",
    ),
    # Each way to take memory meets another bound where there is no control group: that on data, the
    # filter, the watch, that on addresses.
    *take(
        "memory",
        TOO_MUCH_OF_THE_KERNEL,
        memory_in_sockets="have pipes and sockets take it",
        memory_of_page_tables="have page tables take it",
    ),
    ProbeTrial("scratch", "write where it runs", "run_write_where_it_runs", REACHING, wanted=True),
    ProbeTrial("time", "never answer", "run_for_ever", TAKING, patience=Patience(1.0, 5.0)),
    *take("disk", 2 * ALLOWED.files, files="make twice the files that it may"),
    *take(
        "disk",
        TOO_MUCH_DISK,
        disk_unlinked="hold files without a name",
        disk_never_named="hold files that never had one",
        disk_mapped="hold files by mappings alone",
        disk_in_flight="hold files that are being sent",
        disk_below_deep_folders="write deeper than paths reach",
        disk_in_a_closed_folder="write where nobody may list",
        disk_allocated="allocate beyond the end of a file",
    ),
)


def gathered(into: Path) -> Path:
    """Returns a new package of the doctor's attempts and all others, for a worker or a test."""
    package = into / "attempts"
    for folder in (ATTEMPTS, OTHERS):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(folder, package, ignore=ignored, dirs_exist_ok=True)
    return package


def examine_everything() -> ProbeResult:
    """Makes the doctor's attempts and all others, on workers and on the intake."""
    doctors = examine_confinement()
    with (
        new_scratch() as scratch,
        removed_afterwards(Path(tempfile.mkdtemp())) as folder,
        warm_zygote() as zygote,
        ForkServers(zygote, scratch) as servers,
    ):
        package = gathered(folder)
        others = [of_variant(servers.current(), scratch, one, package) for one in VARIANTS]
        others += [
            Attempt("intake", what, succeeded, False, "")
            for what, succeeded in tried_while_taken_in(scratch)
        ]
    return ProbeResult(doctors.isolation, (*doctors.attempts, *others))


def of_variant(server: ForkServer, scratch: Path, trial: ProbeTrial, package: Path) -> Attempt:
    """Returns an attempt, made after the one of another worker if it needs that."""
    with contextlib.ExitStack() as workers:
        if (before := BEFORE.get(trial.adapter)) is not None:
            other = workers.enter_context(
                confined_worker(server, scratch, ALLOWED, trial.module, package)
            )
            other.ask(Call(before, {}), Patience(30.0, 90.0))
        return attempted(server, scratch, trial, package)[1]


def tried_while_taken_in(scratch: Path) -> Iterator[tuple[str, bool]]:
    """Yields each attempt on the intake in words, and whether it succeeded."""
    with IntakeClient() as client, removed_afterwards(Path(tempfile.mkdtemp(dir=scratch))) as here:
        yield "have a file read by swapping links", is_led_astray(client, here)
        yield "have a notebook cost seconds", costs_much(client, here, notebook_of_many_cells(here))
        yield "have settings cost seconds", costs_much(client, here, settings_of_dotted_keys(here))


def is_led_astray(client: IntakeClient, here: Path) -> bool:
    """Returns whether a copy holds a secret after its folder was swapped for a link meanwhile."""
    handed_in, secret = here / "handed-in", here / "secret"
    for folder, text in ((handed_in / "sub", _OWN), (secret, _SECRET)):
        folder.mkdir(parents=True)
        (folder / "file.txt").write_text(text)
    (handed_in / "adapters.py").write_text(_ADAPTERS)
    (here / "link").symlink_to(secret)
    ended = threading.Event()
    swapping = threading.Thread(target=swap, args=(handed_in / "sub", here / "link", ended))
    swapping.start()
    try:
        return any(holds_secret(client, here, handed_in) for _ in range(_COPIES))
    finally:
        ended.set()
        swapping.join()


def swap(one: Path, other: Path, ended: threading.Event) -> None:
    """Has two places change their names until the end."""
    aside = one.with_name("aside")
    while not ended.is_set():
        for source, target in ((one, aside), (other, one), (aside, other)):
            source.rename(target)
        time.sleep(0)


def holds_secret(client: IntakeClient, here: Path, handed_in: Path) -> bool:
    """Returns whether one copy of a submission holds the secret."""
    with removed_afterwards(Path(tempfile.mkdtemp(dir=here))) as into:
        with contextlib.suppress(Unreadable):
            client.take_in(Entry("probe", handed_in), into, "adapters.py")
        return any(file.read_text() == _SECRET for file in into.rglob("file.txt"))


def costs_much(client: IntakeClient, here: Path, handed_in: Path) -> bool:
    """Returns whether taking a submission in, or refusing it, takes too much processor time."""
    before = client.processor_seconds()
    own = removed_afterwards(Path(tempfile.mkdtemp(dir=here)))
    with own as into, contextlib.suppress(Unreadable):
        client.take_in(Entry("probe", handed_in), into, "adapters.py")
    used = client.processor_seconds() - before
    return used < 0 or used > _INTAKE_SECONDS  # below 0: the intake process was replaced


def notebook_of_many_cells(here: Path) -> Path:
    """Writes a notebook that takes long to parse."""
    file = here / "many-cells.ipynb"
    file.write_text(json.dumps({"nbformat": 4, "cells": [{"cell_type": "code"}] * _CELLS}))
    return file


def settings_of_dotted_keys(here: Path) -> Path:
    """Writes a submission whose settings take long to parse."""
    folder = here / "dotted-keys"
    folder.mkdir()
    (folder / "adapters.py").write_text(_ADAPTERS)
    (folder / "pyproject.toml").write_text("a." * _KEYS + "a = 1\n")
    return folder


def main() -> None:
    """Prints the isolation, and each attempt with whether it ended as it must."""
    found = examine_everything()
    attempts = [asdict(one) | {"ok": one.ok} for one in found.attempts]
    json.dump({"isolation": dict(found.isolation), "attempts": attempts}, sys.stdout)


if __name__ == "__main__":
    main()
