"""Gradescope's export: a group is graded once, and all its members are known."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from grader.core.submission import Author
from grader.intake.discovery import discover
from grader.intake.gradescope import BadYaml, read_outline
from grader.intake.process import take_in

pytestmark = pytest.mark.unit

METADATA = """\
---
submission_101:
  :submitters:
  - :name: Jane Doe
    :sid: '123456789'
    :email: jane@school.example
  - :name: "John \\"=Roe\\", Jr."
    :sid: 42
    :email: john@school.example
  :created_at: 2026-04-26 17:34:00.861687000 Z
  :score: 2.0
  :results:
    score: 2.0
    tests:
    - {name: a, output: ":submitters:"}
    output: |
      Traceback: whatever a student printed
  :history:
  - :id: 100
    :created_at: 2026-04-25 10:00:00.000000000 Z
    :score: 0.0
submission_102:
  :submitters:
  - :name: No Email
    :sid:
  - :email: only@school.example
  :created_at: 2026-04-26 17:34:00.861687000 Z
submission_103:
  :submitters: []
  :created_at: 2026-04-27 08:00:00 Z
"""


def an_export(folder: Path, metadata: str | bytes, *submissions: str) -> Path:
    for name in submissions:
        (folder / name).mkdir(parents=True)
        (folder / name / "adapters.py").write_text(f"def run_softmax(x): return {name!r}\n")
        (folder / name / "__MACOSX").mkdir()
    content = metadata if isinstance(metadata, bytes) else metadata.encode()
    (folder / "submission_metadata.yml").write_bytes(content)
    (folder / ".DS_Store").write_bytes(b"x")
    (folder / "__MACOSX").mkdir()
    return folder


def in_a_zip(folder: Path) -> Path:
    path = folder.with_suffix(".zip")
    with zipfile.ZipFile(path, "w") as archive:
        for file in folder.rglob("*"):
            archive.write(file, f"{folder.name}/{file.relative_to(folder)}")
    return path


@pytest.mark.parametrize("form", ["folder", "zip"])
def test_an_export_is_graded_once_for_each_group(tmp_path: Path, form: str) -> None:
    """A submission may have no submitters, or submitters without name, address or student id."""
    names = ("submission_101", "submission_102", "submission_103")
    folder = an_export(tmp_path / "e/assignment_7_export", METADATA, *names)
    path = {"folder": folder, "zip": in_a_zip(folder)}[form]
    found = discover([path])
    assert found.kinds == ("Gradescope export of 4 people, 3 submissions",)
    assert (found.skipped, found.notes) == ((), ())
    assert {entry.name: entry.authors for entry in found.entries} == {
        "submission_101": (
            Author("Jane Doe", "123456789", "jane@school.example"),
            Author('John "=Roe", Jr.', "42", "john@school.example"),
        ),
        "submission_102": (Author("No Email"), Author(email="only@school.example")),
        "submission_103": (),
    }
    (tmp_path / "into").mkdir()
    submission = take_in(found.entries[1], tmp_path / "into")
    assert "submission_102" in (submission.root / submission.adapters).read_text()


def test_mismatches_of_folders_and_metadata_are_noted(tmp_path: Path) -> None:
    """Folders without metadata are graded; a missing folder earns no zero."""
    folder = an_export(tmp_path / "e", METADATA, "submission_101", "submission_999")
    (folder / "notes.txt").write_text("x")
    (folder / "rubric").mkdir()
    found = discover([folder])
    assert [entry.name for entry in found.entries] == ["submission_101", "submission_999"]
    assert found.notes == (
        "submission_metadata.yml names submissions without a folder: submission_102, "
        "submission_103.",
        "submission_metadata.yml does not say whose these are: submission_999.",
    )
    assert {skipped.path.name for skipped in found.skipped} == {"notes.txt", "rubric"}


TWICE = """\
submission_1:
  :submitters:
  - {":name": Jane Doe, ":email": Jane@school.example}
  - {":name": John Roe, ":email": john@school.example}
  :created_at: 2026-04-27 10:00:00 +0200
submission_2:
  :submitters:
  - {":name": Jane Doe, ":email": jane@school.example}
  :created_at: 2026-04-27 08:30:00 UTC
submission_3:
  :submitters: [{":name": Ann Poe, ":sid": 9}]
  :created_at: 2026-04-27 09:00:00 Z
submission_4:
  :submitters: [{":name": Ann Poe, ":sid": 9}]
  :created_at: 2026-04-26 09:00:00 Z
submission_5:
  :submitters: [{":name": Same Name}]
submission_6:
  :submitters: [{":name": Same Name}]
"""


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-04-26 17:34:00.861687000 Z", "2026-04-26T17:34:00.861687+00:00"),
        ("2026-04-26 17:34:00 UTC", "2026-04-26T17:34:00+00:00"),
        ("2026-04-26 17:34:00", "2026-04-26T17:34:00+00:00"),
        ("2026-04-26 17:34:00 +0200", "2026-04-26T17:34:00+02:00"),
        ("2026-04-26 17:34:00 -07:00", "2026-04-26T17:34:00-07:00"),
        ("yesterday", None),
        ("0001-01-01 00:00:00 +2359", None),
        ("", None),
    ],
)
def test_the_time_of_a_submission_is_read(tmp_path: Path, text: str, moment: str | None) -> None:
    """Without a zone it is in UTC. A text is none that no late rule could use as a time."""
    metadata = f"submission_1:\n  :submitters: []\n  :created_at: {text}\n"
    (entry,) = discover([an_export(tmp_path / "e", metadata, "submission_1")]).entries
    assert (entry.handed_in and entry.handed_in.isoformat()) == moment
    assert entry.order == (entry.handed_in.timestamp() if entry.handed_in else 0)


def test_the_latest_of_two_submissions_by_one_person_counts(tmp_path: Path) -> None:
    """The group's submission stays for its other members; equal names are different people."""
    folder = an_export(tmp_path / "e", TWICE, *(f"submission_{n}" for n in range(1, 7)))
    found = discover([folder])
    authors = {entry.name: [author.name for author in entry.authors] for entry in found.entries}
    assert authors == {
        "submission_1": ["John Roe"],
        "submission_2": ["Jane Doe"],
        "submission_3": ["Ann Poe"],
        "submission_5": ["Same Name"],
        "submission_6": ["Same Name"],
    }
    (skipped,) = found.skipped
    assert (skipped.path.name, skipped.reason) == (
        "submission_4", "handed in again: submission_3 counts"
    )  # fmt: skip
    assert found.notes == (
        "Jane Doe handed in submission_1 with others and submission_2 later: submission_2 counts "
        "for Jane Doe.",
    )
    assert "1 resubmitted: latest taken" in found.kinds[0]


@pytest.mark.process(takes="a second")
@pytest.mark.parametrize(
    ("metadata", "reason"),
    [
        (b"submission_1: [", "expected the node content"),
        (b"\xff\xfe\x00", "'utf-8' codec"),
        (b"- a\n- b\n", "no mapping"),
        (b"", "no mapping"),
        (b"submission_1:\n  :submitters: " + b"[" * 100_000, "recursion"),
        ("submission_1:\n  :submitters:\n" + "  - a\n" * 200_000, "too many people"),
    ],
)
def test_metadata_that_cannot_be_read_costs_names_and_no_grades(
    tmp_path: Path, metadata: str | bytes, reason: str
) -> None:
    """The submissions are still found, a note gives the reason, and nothing hangs."""
    found = discover([an_export(tmp_path / "e", metadata, "submission_1", "submission_2")])
    assert [(entry.name, entry.authors) for entry in found.entries] == [
        ("submission_1", ()),
        ("submission_2", ()),
    ]
    (note,) = found.notes
    assert note.startswith("submission_metadata.yml cannot be read")
    assert reason in note


def test_metadata_among_folders_of_other_names_says_nothing(tmp_path: Path) -> None:
    """Where students name their own folders, one of them may have handed in that file."""
    for name in ("alice", "bob"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "adapters.py").touch()
    said = "alice:\n  :submitters:\n  - :name: Bob\n    :sid: '2'\n"
    (tmp_path / "submission_metadata.yml").write_text(said)
    found = discover([tmp_path])
    assert [(one.name, one.authors) for one in found.entries] == [("alice", ()), ("bob", ())]


def test_metadata_creates_no_objects(tmp_path: Path) -> None:
    """Tags run no code, and aliases expand neither to objects nor to a bomb."""
    metadata = f"""\
submission_1:
  :submitters:
  - :name: !!python/object/apply:os.system ["touch {tmp_path}/run"]
    :email: !!python/name:os.system a@school.example
    :sid: !ruby/object:Secret 7
  :created_at: !!python/object/apply:time.sleep [1000]
a: &a [x, x, x, x, x, x, x, x, x]
b: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a]
c: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b]
d: &d {{<<: [*c, *c, *c, *c, *c, *c, *c]}}
submission_2:
  :submitters:
  - *d
  - {{<<: [*d, *d, *d], ":email": &jane jane@school.example}}
  - {{":name": *jane}}
  - [*c, *c]
  - plain text
"""
    first, second = discover(
        [an_export(tmp_path / "e", metadata, "submission_1", "submission_2")]
    ).entries
    assert first.authors == (Author(id="7", email="a@school.example"),)
    assert second.authors == (
        Author(email="jane@school.example"), Author("jane@school.example"),
    )  # fmt: skip
    assert not (tmp_path / "run").exists()


def test_hostile_names_in_metadata_are_texts(tmp_path: Path) -> None:
    """Students choose their names: these act as no path, markup or line break."""
    metadata = """\
../../etc:
  :submitters: [{":name": x}]
submission_1:
  :submitters:
  - {":name": "../\\e[31m[bold]\\n=cmd()", ":email": "a\\u202eb", ":sid": "\\0"}
  - {":name": %s}
""" % ("x" * 5000)
    (entry,) = discover([an_export(tmp_path / "e", metadata, "submission_1")]).entries
    strange, long = entry.authors
    assert strange == Author("../\\x1b[31m[bold]\\n=cmd()", "\\x00", "a\\u202eb")
    assert len(long.name) < 200


def test_unneeded_parts_of_an_entry_are_left_out() -> None:
    """Results may hold anything, blank lines and lines that look like keys among them."""
    content = b"""\
s:
  :results:
    output: |
      a

      :submitters:
    tests: [*unknown
  :submitters:
  - :name: Jane

  :created_at: 1
"""
    assert read_outline(content) == {"s": {":submitters": [{":name": "Jane"}], ":created_at": "1"}}
    with pytest.raises(BadYaml, match="expected"):
        read_outline(b"s: {:x: 1\n")
