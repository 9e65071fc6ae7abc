"""All edits of two files, counted by kind: a rule that makes other edits than before shows.

Other tests claim what a rule undoes; this one sees the edits that nobody asked for. If a change of
them is meant, write the table again:

    .venv/bin/python -m tests.harness.explain.test_edits_counted
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from pathlib import Path

import pytest

from grader.explain.rewriting.edit import Edit
from tests.harness.undoing import edits_of

pytestmark = pytest.mark.unit

FOLDER = Path(__file__).parents[1] / "corpus" / "edits"
TABLE = FOLDER / "counted.txt"


PROGRAM, ADAPTERS = (
    (FOLDER / f"{name}.txt").read_text("utf-8") for name in ("program", "adapters")
)
FILES = {"program": PROGRAM, "adapters": ADAPTERS}


def edits_by_kind() -> dict[tuple[str, str], list[Edit]]:
    """Returns the edits in their order, by file and kind; adapters have the program in sight."""
    found: dict[tuple[str, str], list[Edit]] = defaultdict(list)
    for edit in edits_of(PROGRAM):
        found["program", edit.kind].append(edit)
    for edit in edits_of(ADAPTERS, elsewhere=[PROGRAM]):
        found["adapters", edit.kind].append(edit)
    return found


def row(file: str, kind: str, edits: list[Edit]) -> str:
    """Returns the file and the kind, the number of edits, and a digest of all that they say."""
    digest = hashlib.sha256(repr(edits).encode()).hexdigest()[:8]
    return f"{file} {kind} {len(edits)} {digest}"


def shown(file: str, edit: Edit) -> str:
    """Returns an edit in one line, for readers of a failure."""
    lines = edit.applied(FILES[file]).split("\n")
    text = " / ".join(lines[line - 1].strip() for line in edit.lines)
    return f"{edit.kind} {edit.cost:g}, {file}:{edit.line}, {edit.subject}: {text}"


@pytest.mark.process(takes="a second")
def test_no_rule_makes_other_edits_than_those_that_were_counted():
    """The message lists the edits of the kinds that changed."""
    known = set(TABLE.read_text("utf-8").splitlines())
    found = edits_by_kind()
    rows = {place: row(*place, edits) for place, edits in found.items()}
    changed = [
        shown(file, edit)
        for (file, kind), edits in found.items()
        if rows[file, kind] not in known
        for edit in edits
    ]
    assert not changed, "\n".join(changed)
    assert known == set(rows.values())


if __name__ == "__main__":
    made = edits_by_kind()
    TABLE.write_text("".join(f"{row(*place, made[place])}\n" for place in sorted(made)), "utf-8")
