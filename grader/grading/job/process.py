"""The process that collects the tests once and forks the jobs.

It is started as `python -m grader.grading.job.process [READ,WRITE]…`. A line of JSON on stdin gives
its settings and about how many submissions are expected. The first job reads from stdin and answers
on stdout; each other job has a pair of descriptors. Each job learns its role by its own lines (see
`work.py`). The tests' own output goes to stderr.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader.core.processes import end_with_parent
from grader.grading.job.lines import LineChannel
from grader.sandbox.fork_server import starting_zygote
from grader.sandbox.zygote import Zygote

if TYPE_CHECKING:
    from grader.core.assignment import Assignment


def main() -> None:
    """Serves the coordinator that started this process until it hangs up."""
    end_with_parent()
    gc.disable()  # until all that stays is loaded: it would take a fifth of the start
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    pairs = [(os.dup(0), os.dup(1)), *(map(int, pair.split(",")) for pair in sys.argv[1:])]
    ends = [LineChannel(*pair) for pair in pairs]
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    with starting_zygote() as zygote:
        # The zygote loads torch from here on; this process imports its modules meanwhile.
        from grader.core.assignment import BadAssignment

        if told := ends[0].next():
            try:
                _open(told, zygote, ends)
            except BadAssignment as problem:
                for end in ends:
                    end.say({"stopped": str(problem)})


def _open(told: dict[str, Any], zygote: Zygote, ends: Sequence[LineChannel]) -> None:
    from grader.core.assignment import Settings, find_assignment

    submissions = told.pop("submissions")
    settings = Settings.from_json(told)
    assignment = find_assignment(Path(settings.assignment))
    zygote.warm_up(assignment.preload, _granted(assignment), submissions, settings.reuses_seed)
    # This process loads torch as well, at the same time as the zygote.
    from grader.grading.job.work import Collected, Explaining, run_jobs
    from grader.testing.suite import Suite

    def serve(suite: Suite) -> None:
        explaining = Explaining(suite) if submissions > 1 else None
        run_jobs(Collected(settings, suite, zygote, explaining), ends)

    Suite(assignment, settings.exercises).open(serve)


def _granted(assignment: Assignment) -> tuple[str, ...]:
    """Returns the system calls that an assignment grants.

    Raises:
        BadAssignment: if one of them cannot be granted.
    """
    if assignment.system_calls:
        from grader.core.assignment import BadAssignment

        # Imported only if needed, because it runs other programs to find libseccomp.
        from grader.worker.confinement.seccomp import why_not_granted

        for name in assignment.system_calls:
            if why := why_not_granted(name):
                raise BadAssignment(f"[tool.grader] system_calls: {why}")
    return assignment.system_calls


if __name__ == "__main__":
    try:
        main()
    except OSError as problem:
        from grader.intake.copying import is_of_the_machine

        if not is_of_the_machine(problem):
            raise
        sys.exit(f"grader: this machine has no room for a job: {problem}")
    sys.stdout.flush()
    os._exit(0)  # unloading torch and the tests takes a tenth of a second
