"""Tries each layer of a worker's confinement for real: attempts that must be refused or stopped."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from grader.core.removal import removed_afterwards
from grader.core.replies import opened
from grader.core.scratch import PASSABLE, new_scratch
from grader.core.submission import Submission
from grader.core.wire.calls import Call
from grader.sandbox.allowance import Patience
from grader.sandbox.forkserver import ForkServer
from grader.sandbox.forkservers import ForkServers, warm_zygote
from grader.sandbox.probing.intake import tried_while_taken_in
from grader.sandbox.probing.trials import ALLOWED, TRIALS, ProbeTrial
from grader.sandbox.worker import Worker, WorkerLost

_CANARY = "GRADER_PROBE"
_LOADING = Patience(30.0, 60.0)
_ATTEMPTS = Path(__file__).with_name("attempts")


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt of a confined process: its layer, what it tried, and whether that ended well.

    Some are `wanted` and must succeed (a thread, a file in the scratch folder); all others must be
    refused, or the process be `stopped`. What is not `promised` on this machine may end as it will.
    """

    layer: str
    what: str
    succeeded: bool
    wanted: bool
    detail: str
    stopped: bool = False
    promised: bool = True

    @property
    def ok(self) -> bool:
        """Whether it went as it must."""
        return not self.promised or self.succeeded == self.wanted


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """What each layer came to, as a worker says, and how the attempts went."""

    isolation: Mapping[str, str]
    attempts: tuple[Attempt, ...]

    @property
    def holds(self) -> bool:
        """Whether every layer is there and every attempt went as it must."""
        return "none" not in self.isolation.values() and all(one.ok for one in self.attempts)


def examine_confinement() -> ProbeResult:
    """Confines workers on this machine as a batch does, and has them try to get out.

    Raises:
        ForkServerLost: if no worker can be had.
    """
    with (
        new_scratch() as scratch,
        _canary(),
        warm_zygote() as zygote,
        ForkServers(zygote, scratch) as servers,
    ):
        isolation: Mapping[str, str] = {}
        attempts = []
        for trial in TRIALS:
            isolation, attempt = _attempted(servers.current(), scratch, trial)
            attempts.append(attempt)
        attempts += [
            Attempt("intake", what, succeeded, False, "")
            for what, succeeded in tried_while_taken_in(scratch)
        ]
    return ProbeResult(isolation, tuple(attempts))


def _attempted(
    server: ForkServer, scratch: Path, trial: ProbeTrial
) -> tuple[Mapping[str, str], Attempt]:
    with contextlib.ExitStack() as workers:
        if trial.after:
            other = workers.enter_context(_worker(server, scratch, trial))
            opened(other.ask(Call(trial.after, {}), trial.patience))
        worker = workers.enter_context(_worker(server, scratch, trial))
        arguments = {} if trial.most is None else {"most": trial.most}
        stopped = False
        try:
            answer = opened(worker.ask(Call(trial.adapter, arguments), trial.patience))
            detail = f"{answer.raised.kind}: {answer.raised.message}" if answer.raised else ""
            succeeded = answer.raised is None and answer.value is True
        except WorkerLost as lost:
            detail, succeeded, stopped = lost.message, False, True
        isolation = worker.isolation
    promised = trial.needs in isolation.get("namespaces", "")
    return isolation, Attempt(
        trial.layer, trial.what, succeeded, trial.wanted, detail, stopped, promised
    )


@contextlib.contextmanager
def _worker(server: ForkServer, scratch: Path, trial: ProbeTrial) -> Iterator[Worker]:
    """A worker that has imported the module which makes the attempt, like any submission.

    Its folder is gone afterwards.
    """
    with removed_afterwards(Path(tempfile.mkdtemp(dir=scratch))) as folder:
        folder.chmod(PASSABLE)
        (folder / "beside.txt").write_text("secret")
        root = folder / "submission"
        shutil.copytree(_ATTEMPTS, root / "attempts", ignore=shutil.ignore_patterns("__pycache__"))
        place, module = f"attempts/{trial.module}.py", f"attempts.{trial.module}"
        worker = Worker.in_new_folder(server, folder, ALLOWED)
        try:
            worker.load(Submission("probe", root, place, module), _LOADING)
            yield worker
        finally:
            worker.end()


@contextlib.contextmanager
def _canary() -> Iterator[None]:
    """Something in the environment that no worker may see."""
    os.environ[_CANARY] = "what a worker must not see"
    try:
        yield
    finally:
        os.environ.pop(_CANARY, None)
