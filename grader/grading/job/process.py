"""The process that jobs are forked from: it collects the tests once, for as many as are wanted.

It is started as `python -m grader.grading.job.process [READ,WRITE]…`, and told its settings, and
about how many submissions are expected, by a line of JSON. The first job listens to what this
process was told by, and answers there; each other one has a pair of descriptors. What a job is to
be it is told itself: `work.py`. Whatever the tests print goes to stderr.
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
    gc.disable()  # until all is there that stays: it would take a fifth of the start
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    pairs = [(os.dup(0), os.dup(1)), *(map(int, pair.split(",")) for pair in sys.argv[1:])]
    ends = [LineChannel(*pair) for pair in pairs]
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    with starting_zygote() as zygote:
        # It loads torch from here on: nothing is read before that can be read now.
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
    # This loads torch as well, beside the zygote.
    from grader.grading.job.work import Jobs

    Jobs(settings, zygote, ends, submissions).open(assignment)


def _granted(assignment: Assignment) -> tuple[str, ...]:
    """Returns the system calls that an assignment grants.

    Raises:
        BadAssignment: if one of them cannot be.
    """
    if assignment.system_calls:
        from grader.core.assignment import BadAssignment

        # It looks for libseccomp with the help of other programs: only where it is needed.
        from grader.worker.confinement.seccomp import why_not_granted

        for name in assignment.system_calls:
            if why := why_not_granted(name):
                raise BadAssignment(f"[tool.grader] system_calls: {why}")
    return assignment.system_calls


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)  # to take torch and the tests apart would take a tenth of a second
