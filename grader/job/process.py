"""A job's process: it collects the tests once, and is a judge or an explainer, one at a time.

It is started as `python -m grader.job.process`, and told its settings by a line of JSON, then what
it is to be: `work.py`. Whatever the tests print goes to stderr.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
from pathlib import Path

from grader.assignment import Assignment, BadAssignment, find_assignment
from grader.intake import IntakeClient
from grader.parentage import end_with_parent
from grader.removal import remove
from grader.sandbox.forkservers import ForkServers
from grader.sandbox.scratch import new_scratch
from grader.settings import Settings


def main() -> None:
    """Serves the coordinator that started this process until it hangs up."""
    end_with_parent()
    gc.disable()  # until all is there that stays: it would take a fifth of the start
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    settings = Settings.from_json(json.loads(sys.stdin.readline()))
    scratch = new_scratch()
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(scratch / "inductor")
    here = os.getpid()
    try:
        assignment = find_assignment(Path(settings.assignment))
        granted = _granted(assignment)
        servers = ForkServers(scratch, assignment.preload, settings.device, granted)
        with servers, IntakeClient() as intake:
            # The fork server loads torch from here on: so does this process, beside it.
            from grader.job.work import Job

            Job(settings, servers, intake, scratch, replies).open(assignment)
    except BadAssignment as problem:
        print(json.dumps({"stopped": str(problem)}), file=replies, flush=True)
    finally:
        if os.getpid() == here:
            remove(scratch)


def _granted(assignment: Assignment) -> tuple[str, ...]:
    """The system calls that an assignment grants.

    Raises:
        BadAssignment: if one of them cannot be.
    """
    if assignment.system_calls:
        # It looks for libseccomp with the help of other programs: only where it is needed.
        from grader.worker.confinement.seccomp.grants import why_not_granted

        for name in assignment.system_calls:
            if why := why_not_granted(name):
                raise BadAssignment(f"[tool.grader] system_calls: {why}")
    return assignment.system_calls


if __name__ == "__main__":
    main()
