"""A batch whose judges repeat recorded grades, which shows the cost of the coordinator alone.

Everything but the judging is real. Submissions are found and hashed, and grades cross the pipe as
from a judge. They are stored one by one, and end in the table, `results.jsonl` and the report.

    python benchmarks/replay.py record GRADES PATH [EXERCISE…]    grades a class and records it
    python benchmarks/replay.py batch GRADES PATH… --out DIR [OPTION…]    as `grader batch`
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from grader.core.verdict import Grade
    from grader.grading.job.work import LineChannel

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))


def main() -> None:
    """Runs the function that the first argument names."""
    does = {"record": record, "batch": batch, "judge": judge}
    does[sys.argv[1]](Path(sys.argv[2]).resolve(), sys.argv[3:])


def record(grades: Path, arguments: list[str]) -> None:
    """Writes the grades of a class as judges send them, one a line."""
    import grader

    with tempfile.TemporaryDirectory() as out, grades.open("w") as lines:

        def keep(grade: grader.Grade) -> None:
            lines.write(json.dumps(grade.as_json(whole=True)) + "\n")

        path, *exercises = arguments
        chosen = {"exercises": exercises, "explain": False}
        grader.batch(path, out, assignment=ROOT, seed=1, on_grade=keep, **chosen)


def batch(grades: Path, arguments: list[str]) -> None:
    """Runs `grader batch` with the replaying judge in place of a real one."""
    from grader.cli import main as command_line
    from grader.grading.job.client import JobClient

    JobClient.command = (sys.executable, __file__, "judge", str(grades))
    sys.argv[1:] = ["batch", "--no-explain", *arguments]
    command_line()


def judge(grades: Path, pairs: list[str]) -> None:
    """Serves as the process from which jobs are forked; each job repeats the recorded grades."""
    from grader.core.verdict import Grade
    from grader.grading.job.work import LineChannel

    ends = [LineChannel(*map(int, pair.split(","))) for pair in ("0,1", *pairs)]
    suite_hash = (ends[0].next() or {})["suite_hash"]
    lines = grades.read_text().splitlines()
    recorded = [Grade.from_json(json.loads(line)) for line in lines]
    for end in ends:
        if os.fork() == 0:
            os.setsid()
            for other in ends:
                if other is not end:
                    other.close()
            serve(end, recorded, suite_hash)
            os._exit(0)
    for end in ends:
        end.close()
    for _ in ends:
        os.wait()


def serve(end: LineChannel, recorded: Sequence[Grade], suite_hash: str) -> None:
    """Answers a coordinator with recorded grades, each under the name of the current submission."""

    grades = itertools.cycle(recorded)
    end.say({"collected": {"max_score": 0.0, "pid": os.getpid()}})
    seed = (end.next() or {})["seed"]
    end.say({"ready": {"pid": os.getpid()}})
    for job in end:
        own = {"submission": job["entry"]["name"], "submission_hash": job["submission_hash"]}
        grade = dataclasses.replace(next(grades), **own, seed=seed, suite_hash=suite_hash)
        end.say({"grade": grade.as_json(whole=True)})


if __name__ == "__main__":
    main()
