"""The corpus of slips: right programs in many styles, each with small slips that break it.

A style in `benchmarks/slips.zip` is a right submission with `slips.toml`. This file gives the lines
that each slip changes, and the guilty line of the wrong program. `slips_archive.py` unpacks and
packs the styles.

    .venv/bin/python benchmarks/slips_corpus.py check [STYLE…]    prints the faults
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.slips_archive import labels, styles, submission  # noqa: E402
from grader import Grade, batch  # noqa: E402
from grader.core.verdict import GradeStatus, Status  # noqa: E402

DEFAULTS: dict[str, Any] = {"also": [], "raises": False}


class BadSlip(Exception):
    """A mismatch between `slips.toml` and the programs; the text says where and why."""


class Line(NamedTuple):
    """A line as the grader reports it; `notes.ipynb/cell 3` is a notebook's third code cell."""

    file: str
    number: int


@dataclass(frozen=True)
class Slip:
    """A slip: `wrong` replaces `right` in `file` of the style's submission.

    `line` is the guilty line of the wrong program, and `lines` starts with it and has all that
    count as guilty. A style is `aside` if no edit of the grader was made with a view to it.
    """

    id: str
    style: str
    kind: str
    file: str
    right: str
    wrong: str
    line: str
    lines: tuple[Line, ...]
    raises: bool
    aside: bool


def load(chosen: Sequence[str] = ()) -> list[Slip]:
    """Returns the slips of the chosen styles, by default of all.

    Raises:
        BadSlip: if texts do not stand in their programs exactly once.
    """
    slips, faults = [], []
    for style in chosen or styles():
        seen: Counter[str] = Counter()
        told = labels(style)
        aside = {"aside": told.get("aside", False)}
        for row in told["slip"]:
            seen[row["kind"]] += 1
            name = f"{style}/{row['kind']}-{seen[row['kind']]}"
            try:
                slips.append(slip_of(style, name, DEFAULTS | aside | row))
            except (BadSlip, KeyError) as error:
                faults.append(f"{name}: {error}")
    if faults:
        raise BadSlip("\n".join(faults))
    return slips


def build(slip: Slip, folder: Path) -> Path:
    """Writes the wrong program into a new folder below `folder`; returns the new folder."""
    program = submission(slip.style)
    sources = _slipped(_sources(program, slip.file), slip.right, slip.wrong)
    content = "".join(sources.values())
    if slip.file.endswith(".ipynb"):
        notebook = json.loads(program[slip.file])
        for cell, source in zip(_code_cells(notebook), sources.values(), strict=True):
            cell["source"] = source
        content = json.dumps(notebook)
    return _written(program | {slip.file: content}, folder / slip.id.replace("/", "--"))


def slip_of(style: str, name: str, row: Mapping[str, Any]) -> Slip:
    """Returns the slip in a row of a TOML file, for a style's right submission.

    Raises:
        BadSlip: if its texts do not stand in the program exactly once.
    """
    right, wrong, line = (row[key].removesuffix("\n") for key in ("right", "wrong", "line"))
    sources = _slipped(_sources(submission(style), row["file"]), right, wrong)
    lines = (_line(sources, line, row.get("number")), *(_line(sources, x) for x in row["also"]))
    place = style, row["kind"], row["file"]
    return Slip(name, *place, right, wrong, line, lines, row["raises"], row.get("aside", False))


def _written(program: Mapping[str, str], folder: Path) -> Path:
    """Writes a program into a new folder; returns the folder."""
    folder.mkdir(parents=True)
    for path, text in program.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, "utf-8")
    return folder


def _sources(program: Mapping[str, str], file: str) -> dict[str, str]:
    """Returns the text of a file or of each code cell, by the names that the grader gives."""
    content = program[file]
    if not file.endswith(".ipynb"):
        return {file: content}
    return {
        f"{file}/cell {number}": "".join(cell["source"])
        for number, cell in enumerate(_code_cells(json.loads(content)), 1)
    }


def _code_cells(notebook: Any) -> list[Any]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def _slipped(sources: Mapping[str, str], right: str, wrong: str) -> dict[str, str]:
    """Returns the sources with the lines `right`, which occur once, replaced by `wrong`."""
    framed, old, new = {n: f"\n{t}\n" for n, t in sources.items()}, f"\n{right}\n", f"\n{wrong}\n"
    count = sum(text.count(old) for text in framed.values())
    if count != 1:
        raise BadSlip(f"{right!r} stands {count} times in the right program")
    return {n: t.replace(old, new if wrong else "\n")[1:-1] for n, t in framed.items()}


def _line(sources: Mapping[str, str], text: str, number: int | None = None) -> Line:
    found = [
        Line(name, at)
        for name, source in sources.items()
        for at, other in enumerate(source.split("\n"), 1)
        if other == text.removesuffix("\n") and at == (number or at)
    ]
    if len(found) != 1:
        raise BadSlip(f"{text!r} stands {len(found)} times in the wrong program")
    return found[0]


def check(slips: Sequence[Slip]) -> list[str]:
    """Returns the faults of slips and of right programs, found by grading, one sentence each."""
    with tempfile.TemporaryDirectory() as scratch:
        programs, out = Path(scratch, "programs"), Path(scratch, "out")
        for style in {slip.style for slip in slips}:
            _written(submission(style), programs / style)
        wrong = {build(slip, programs).name: slip for slip in slips}
        results = batch(programs, out, assignment=ROOT, jobs=2, explain=False)
        faults = [(name := g.submission, _fault(g, wrong.get(name))) for g in results.grades()]
    return [f"{name.replace('--', '/')} {fault}" for name, fault in faults if fault]


def _fault(grade: Grade, slip: Slip | None) -> str | None:
    """Returns the reason why a grade does not fit this slip or a right program, or None."""
    if grade.status is not GradeStatus.GRADED:
        return f"is {grade.status}: {grade.message}"
    tests = [test for test in grade.tests if test.status is not Status.MISSING]
    failed = [test for test in tests if test.status is not Status.PASSED]
    ended = {test.status for test in failed}
    if slip is None:
        return f"is right, and fails {len(failed)} tests: {failed[0].id}" if failed else None
    if not failed:
        return "is wrong, and passes every test"
    if ended - {Status.FAILED, Status.ERROR}:
        return f"ends as {', '.join(sorted(ended))}"
    if slip.raises and Status.ERROR not in ended:
        return "does not raise"
    if not slip.raises and ended == {Status.ERROR}:
        return "raises wherever it fails, and is not said to"
    return None


def main() -> int:
    """Checks the corpus; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("verb", choices=["check"])
    parser.add_argument("styles", nargs="*", metavar="STYLE")
    slips = load(parser.parse_args().styles)
    print(f"{len({s.style for s in slips})} styles, {len({s.kind for s in slips})} kinds, ", end="")
    raising, aside = sum(slip.raises for slip in slips), sum(slip.aside for slip in slips)
    print(f"{len(slips)} slips, {raising} raise, {aside} are kept aside")
    faults = check(slips)
    print("\n".join(faults) or "all holds")
    return 1 if faults else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BadSlip as error:
        sys.exit(str(error))
