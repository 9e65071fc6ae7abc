"""The distance of honest and dishonest implementations from the float64 references.

The program grades the right submissions of the example class with several seeds. It also grades one
of them with a softmax in half precision (float16 and bfloat16). It prints each aspect's worst error
as a multiple of the tolerance: honest ones must stay well below 1, and the others must not.

    .venv/bin/python benchmarks/tolerances.py [SEEDS]
"""

import json
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]
CLASS = ROOT / "examples" / "class"
RIGHT = ["alice-jones", "bikram-thapa.py", "chen-wei", "dana-okafor", "elif-yilmaz", "farid-haddad"]
SOFTMAX = "    e = torch.exp(x)\n"
HALVED = "    kind, x = x.dtype, x.to(torch.{kind})\n    e = torch.exp(x).to(kind)\n"


def main() -> None:
    """Prints the table."""
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        submissions = stage(folder)
        worst: dict[tuple[str, str], float] = defaultdict(float)
        for seed in range(seeds):
            for submission, aspect, ratio in errors(submissions, folder / f"results-{seed}", seed):
                kind = "right" if "half" not in submission else submission.split("-")[-1]
                worst[kind, aspect] = max(worst[kind, aspect], ratio)
    print(f"worst error / tolerance over {seeds} seeds")
    for (kind, aspect), ratio in sorted(worst.items()):
        print(f"  {kind:<10} {aspect:<12} {ratio:,.2f}")


def stage(folder: Path) -> Path:
    """Makes a class of right submissions, and two with a softmax in half precision."""
    submissions = folder / "submissions"
    submissions.mkdir()
    for name in RIGHT:
        source, target = CLASS / name, submissions / name
        shutil.copytree(source, target) if source.is_dir() else shutil.copy(source, target)
    for kind in ("float16", "bfloat16"):
        target = Path(shutil.copytree(CLASS / "alice-jones", submissions / f"half-{kind}"))
        module = target / "attention.py"
        text = module.read_text()
        assert SOFTMAX in text
        module.write_text(text.replace(SOFTMAX, HALVED.format(kind=kind)))
    return submissions


def errors(submissions: Path, out: Path, seed: int) -> list[tuple[str, str, float]]:
    """Returns the submission, the aspect and error over tolerance of every comparison."""
    subprocess.run(
        [sys.executable, "-m", "grader", "batch", submissions, "--out", out, "--seed", str(seed)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    rows = map(json.loads, (out / "results.jsonl").read_text().splitlines())
    return [
        (row["submission"], test["aspect"], test["error_over_tolerance"])
        for row in rows
        for test in row["tests"]
        if test["error_over_tolerance"] is not None
    ]


if __name__ == "__main__":
    main()
