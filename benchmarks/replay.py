"""A batch whose judges give out grades that were given before: what the coordinator alone costs.

Everything but the judging is real: submissions are found and hashed, grades cross the pipe as a
judge writes them, are stored one by one, and end in the table, `results.jsonl` and the report.

    python benchmarks/replay.py record GRADES PATH [EXERCISE…]    grades a class, and keeps that
    python benchmarks/replay.py batch GRADES PATH… --out DIR [OPTION…]    as `grader batch`
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))


def main() -> None:
    """Does what the first argument says."""
    does = {"record": record, "batch": batch, "judge": judge}
    does[sys.argv[1]](Path(sys.argv[2]).resolve(), sys.argv[3:])


def record(grades: Path, arguments: list[str]) -> None:
    """Writes the grades of a class, as judges send them, a line for each."""
    import grader

    with tempfile.TemporaryDirectory() as out, grades.open("w") as lines:

        def keep(grade: grader.Grade) -> None:
            lines.write(json.dumps(grade.as_json(whole=True)) + "\n")

        path, *exercises = arguments
        chosen = {"exercises": exercises, "explain": False}
        grader.batch(path, out, assignment=ROOT, seed=1, on_grade=keep, **chosen)


def batch(grades: Path, arguments: list[str]) -> None:
    """Runs `grader batch` with the replaying judge in place of a real one."""
    from grader.cli.main import main as command_line
    from grader.dispatch.job_client import JobClient

    JobClient.command = (sys.executable, __file__, "judge", str(grades))
    sys.argv[1:] = ["batch", "--no-explain", *arguments]
    command_line()


def judge(grades: Path, _: list[str]) -> None:
    """Answers a coordinator: the recorded grades in turn, each as that of whom is asked for."""
    from grader.job.shorthand import ShorthandWriter
    from grader.verdict import Grade

    settings, shorthand = json.loads(sys.stdin.readline()), ShorthandWriter()
    lines = grades.read_text().splitlines()
    recorded = itertools.cycle([Grade.from_json(json.loads(line)) for line in lines])
    print(json.dumps({"collected": {"max_score": 0.0}}), flush=True)
    seed = json.loads(sys.stdin.readline())["seed"]
    print(json.dumps({"ready": {"pid": os.getpid()}}), flush=True)
    for line in sys.stdin:
        job = json.loads(line)
        own = {"submission": job["entry"]["name"], "submission_hash": job["submission_hash"]}
        shared = {"seed": seed, "suite_hash": settings["suite_hash"]}
        grade = dataclasses.replace(next(recorded), **own, **shared)
        print(json.dumps({"grade": shorthand.written(grade)}), flush=True)


if __name__ == "__main__":
    main()
