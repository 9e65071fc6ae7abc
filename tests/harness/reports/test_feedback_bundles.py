"""Feedback in bulk: platforms accept the file names, and each student gets only their own."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from grader.cli.command_line import cli
from grader.core.submission import Author
from grader.core.text import Refusal
from grader.core.verdict import Carried, GradeStatus
from grader.intake.discovery import discover
from grader.reports.feedback import write_feedback
from grader.results.decisions.file import append_decision
from grader.results.decisions.opening import open_settling
from grader.results.results import People
from grader.results.store import Store
from tests.harness.export_fixtures import a_grade, a_verdict, scored
from tests.harness.pages_fixtures import a_class
from tests.harness.storing import add

pytestmark = pytest.mark.unit

CANVAS = [
    "doejane_123_4567_attention.zip",
    "roejohn_LATE_124_4568_adapters.py",
    "poeann_125_4569_work.ipynb",
    "o_neil_126_4570_a_1_2_b.py",
    "müllerzoë_127_4571_solution.html",
]
MOODLE = ["Jane Doe_123_assignsubmission_file", "Zoë O'Neil_124_assignsubmission_file"]


def write_download(folder: Path, names: Sequence[str]) -> Path:
    """Writes a download whose files, or folders, have these names."""
    for name in names:
        is_folder = not Path(name).suffix
        path = folder / name / "adapters.py" if is_folder else folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"def run_x(): ...\n")
    return folder


def store_download(folder: Path, names: Sequence[str], out: Path) -> Path:
    """Writes results of a download as a batch leaves them, with people and all kinds of grades."""
    entries = discover([write_download(folder, names)]).entries
    with Store.open(out, "attention") as store:
        for place, (entry, grade) in enumerate(zip(entries, a_class(40, seed=3), strict=False)):
            add(store, replace(grade, submission=entry.name), "key", place)
        people = {
            e.name: [Author(a.name, a.id, f"{a.id}@x.edu") for a in e.authors] for e in entries
        }
        store.set_people(People(people))
        store.remember(downloads={entry.name: entry.downloaded_as for entry in entries})
        store.remember(paths=[str(folder)])
    return out


def run_feedback(*arguments: object) -> Result:
    return CliRunner().invoke(cli, ["feedback", *map(str, arguments)], catch_exceptions=False)


def members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def read_by_canvas(name: str) -> tuple[str, str]:
    """Returns the user and the attachment that Canvas reads from a file's name."""
    user, attachment = [part for part in name.split("_") if re.fullmatch(r"\d+", part)][:2]
    return user, attachment


def read_by_moodle(name: str) -> tuple[str, str, str]:
    """Returns the participant, the plugin and the file's name that Moodle reads from a path."""
    _, participant, kind, plugin, rest = name.split("_", 4)
    assert participant.isdecimal()
    return participant, f"{kind}_{plugin}", rest


def test_canvas_feedback_files_keep_the_downloaded_names(tmp_path: Path):
    """One flat zip has the same names, and each leads to the same user and attachment."""
    results = store_download(tmp_path / "download", CANVAS, tmp_path / "results")
    done = run_feedback(results, "--format", "canvas")
    assert done.exit_code == 0, done.output
    found = members(results / "feedback-canvas" / "canvas.zip")
    assert sorted(found) == sorted(CANVAS)
    assert {read_by_canvas(name) for name in found} == {
        ("123", "4567"), ("124", "4568"), ("125", "4569"), ("126", "4570"), ("127", "4571"),
    }  # fmt: skip


@pytest.mark.parametrize("form", ["canvas", "moodle", "gradescope"])
def test_no_platform_gets_feedback_under_the_name_of_somebody_else(tmp_path: Path, form: str):
    """A decision said whose a submission is; other forms reach its author."""
    names = {"canvas": CANVAS, "moodle": MOODLE, "gradescope": ["submission_1", "submission_2"]}
    results = store_download(tmp_path / "download", names[form], tmp_path / "results")
    with Store.open(results, "attention") as store:
        first = store.submissions()[0]
        authors = {**store.people.authors, first: [Author("Jane Doe", "123")]}
        store.set_people(People(authors, absentees=[Author("Lola Lopez", "99")]))
    place = results / f"feedback-{form}" / f"{form}.zip"
    assert run_feedback(results, "--format", form).exit_code == 0
    before = members(place)
    append_decision(results / "decisions.toml", "whose", {"submission": first, "person": "99"})
    done = run_feedback(results, "--format", form)
    assert done.exit_code == 1
    assert f"without feedback: {first}: the platform has it under another" in done.output
    (gone,) = before.keys() - members(place).keys()
    assert re.search("123|/1.json", gone)


def test_a_submission_that_counts_for_somebody_else_goes_back_to_no_platform(tmp_path: Path):
    """A platform knows one owner of a file. The command says who gets none."""
    results = store_download(tmp_path / "download", MOODLE, tmp_path / "results")
    with Store.open(results, "attention") as store:
        first, second = store.submissions()[:2]
        yours = store.people.authors[second][0]
    decisions = results / "decisions.toml"
    append_decision(decisions, "taken_instead", {"person": yours.id, "submission": first})
    with pytest.raises(Refusal, match="nobody's feedback can be written for moodle"):
        run_feedback(results, "--format", "moodle")


def test_canvas_feedback_files_match_their_suffixes(tmp_path: Path):
    """Canvas shows feedback in the submission's format: a zip must open, a notebook must load."""
    results = store_download(tmp_path / "download", CANVAS, tmp_path / "results")
    run_feedback(results, "--format", "canvas")
    found = members(results / "feedback-canvas" / "canvas.zip")
    inner = zipfile.ZipFile(io.BytesIO(found[CANVAS[0]]))
    assert inner.namelist() == ["feedback.html", "feedback.txt"]
    compile(found[CANVAS[1]], "feedback", "exec")
    assert b"points" in found[CANVAS[1]]
    notebook = json.loads(found[CANVAS[2]])
    assert notebook["cells"][0]["source"].startswith("```text\n")
    assert found[CANVAS[4]].startswith(b"<!doctype html>")


def test_feedback_files_of_unsupported_kinds_are_left_out_and_reported(tmp_path: Path):
    """A text that is named like a tar, a PDF or a Word document cannot be opened."""
    names = ["doejane_123_4567_work.tar.gz", "roejohn_124_4568_essay.pdf", "poe_125_4569_a.docx"]
    results = store_download(tmp_path / "download", names, tmp_path / "results")
    done = run_feedback(results, "--format", "canvas")
    found = members(results / "feedback-canvas" / "canvas.zip")
    with tarfile.open(fileobj=io.BytesIO(found[names[0]])) as inner:
        assert inner.getnames() == ["feedback.html", "feedback.txt"]
    assert done.exit_code == 1
    assert "poe_125: handed in as .docx, a kind of file that feedback is not" in done.output
    assert "roejohn_124: handed in as .pdf" in done.output
    assert "--pdf prints it" in " ".join(done.output.split())


def test_feedback_goes_into_a_file_of_a_supported_kind_if_one_was_handed_in(tmp_path: Path):
    """A PDF comes before a module, but without --pdf nothing can be written into it."""
    names = ["doejane_123_4567_essay.pdf", "doejane_123_4568_work.py"]
    results = store_download(tmp_path / "download", names, tmp_path / "results")
    done = run_feedback(results, "--format", "canvas")
    assert [*members(results / "feedback-canvas" / "canvas.zip")] == names[1:], done.output


def test_names_that_canvas_would_misread_are_left_out_and_reported(tmp_path: Path):
    """Typed text has no attachment. A name with a number in it would lead to another user."""
    names = ["doe_2_b_223_4567_adapters.py", "LATE_anon_aB3xY_4571_adapters.py", CANVAS[0]]
    results = store_download(tmp_path / "download", names, tmp_path / "results")
    done = run_feedback(results, "--format", "canvas")
    assert done.exit_code == 1
    assert [*members(results / "feedback-canvas" / "canvas.zip")] == [CANVAS[0]]
    assert "anon_aB3xY: no file that was downloaded from Canvas" in done.output
    assert "doe_2_b_223: its name has numbers before the user's" in done.output


def test_moodle_feedback_files_carry_the_participants_number(tmp_path: Path):
    """The number is the part after the name; the file's own name follows the plugin's."""
    results = store_download(tmp_path / "download", MOODLE, tmp_path / "results")
    assert run_feedback(results, "--format", "moodle").exit_code == 0
    found = members(results / "feedback-moodle" / "moodle.zip")
    assert sorted(map(read_by_moodle, found)) == [
        ("123", "assignsubmission_file", "feedback.html"),
        ("124", "assignsubmission_file", "feedback.html"),
    ]
    assert all(page.startswith(b"<!doctype html>") for page in found.values())


@pytest.mark.process
def test_gradescope_feedback_is_an_autograder_with_stored_results(tmp_path: Path):
    """Gradescope has no other feedback in bulk.

    When the autograder runs for all submissions, each gets its own results.
    """
    folder = write_download(tmp_path / "download", ["submission_11", "submission_12"])
    (folder / "submission_metadata.yml").write_text("submission_11: {}\nsubmission_12: {}\n")
    results = store_download(folder, ["submission_11", "submission_12"], tmp_path / "results")
    assert run_feedback(results, "--format", "gradescope").exit_code == 0
    root = tmp_path / "autograder"
    with zipfile.ZipFile(results / "feedback-gradescope" / "gradescope.zip") as archive:
        archive.extractall(root / "source")
        assert archive.getinfo("run_autograder").external_attr >> 16 & 0o111
    expected = Store.read(results).grade("submission_12")
    assert expected is not None
    run = [sys.executable, root / "source" / "run_autograder"]
    environment = os.environ | {"AUTOGRADER_ROOT": str(root)}
    metadata = {"id": 12, "assignment": {"id": 11}, "users": [{"id": 5}]}
    (root / "submission_metadata.json").write_text(json.dumps(metadata))
    subprocess.run(run, env=environment, check=True)
    found = json.loads((root / "results" / "results.json").read_text())
    assert found["extra_data"]["submission_hash"] == expected.submission_hash
    assert len(found["tests"]) == 15
    (root / "submission_metadata.json").write_text('{"id": 13}')
    again = subprocess.run(run, env=environment, check=False, capture_output=True)
    assert again.returncode != 0


def test_gradescope_feedback_has_carried_points_and_no_zero_for_the_excused(tmp_path: Path):
    """The same points as `grader run` prints. An excused person has neither points nor a zero."""
    folder = write_download(tmp_path / "download", ["submission_11", "submission_12"])
    (folder / "submission_metadata.yml").write_text("submission_11: {}\nsubmission_12: {}\n")
    results = store_download(folder, ["submission_11", "submission_12"], tmp_path / "results")
    with Store.open(results, "attention") as store:
        grade = scored("submission_11", 4, 3)
        carried = (Carried(grade.tests[1].exercise, "run_softmax", "half", 0.5),)
        store.add(replace(grade, carried=carried), "key", 0)
    (results / "decisions.toml").write_text('[[excused]]\nperson = "submission_12"\n')
    done = run_feedback(results, "--format", "gradescope")
    assert "submission_12: excused" in done.output
    found = members(results / "feedback-gradescope" / "gradescope.zip")
    assert "results/12.json" not in found
    assert json.loads(found["results/11.json"])["score"] == grade.score + 0.5


def test_gradescope_gets_no_feedback_of_a_group_with_different_points(tmp_path: Path):
    """A platform shows one file to the whole group; each other format has each person's."""
    names = ["submission_11", "submission_12"]
    folder = write_download(tmp_path / "download", names)
    (folder / "submission_metadata.yml").write_text("submission_11: {}\nsubmission_12: {}\n")
    results = store_download(folder, names, tmp_path / "results")
    with Store.open(results, "attention") as store:
        store.add(scored("submission_11", 4, 3), "key", 0)
        pair = [Author("Jan Jansen", "1"), Author("Kai Kim", "2")]
        store.set_people(People({"submission_11": pair}))
    table = '[[points]]\nperson = "2"\nby = 2\nreason = "talk"\n'
    (results / "decisions.toml").write_text(table)
    done = run_feedback(results, "--format", "gradescope")
    assert done.exit_code == 1
    assert "without feedback: submission_11: its people have different points" in done.output
    found = members(results / "feedback-gradescope" / "gradescope.zip")
    assert "results/11.json" not in found
    assert run_feedback(results, "--format", "folders").exit_code == 0


def test_the_mail_merge_table_has_a_row_for_each_person(tmp_path: Path):
    """The table has the address and the mail. The command names people without an address."""
    results = store_download(tmp_path / "download", CANVAS, tmp_path / "results")
    with Store.open(results, "attention") as store:
        pair = [Author("Jane Doe", "1", "jane@x.edu"), Author("=cmd()", "2", "roe@x.edu")]
        store.set_people(People({"doejane_123": pair, "roejohn_124": [Author("John Roe", "3")]}))
    done = run_feedback(results, "--format", "mail")
    assert done.exit_code == 1
    assert "roejohn_124: an address is not known" in done.output
    with (results / "feedback-mail" / "mail.csv").open(encoding="utf-8", newline="") as file:
        rows = [*csv.DictReader(file)]
    assert [(row["name"], row["email"]) for row in rows] == [
        ("Jane Doe", "jane@x.edu"), ("'=cmd()", "roe@x.edu"),
    ]  # fmt: skip
    assert rows[0]["body"].startswith(rows[0]["subject"])


@pytest.mark.parametrize(
    ("bobs", "called", "said"),
    [
        ("pair@x.edu", "Jane Doe, Bob Roe", ""),
        ("", "Jane Doe", "pair: sent to some of its people; another's address is not known"),
    ],
)
def test_a_group_with_one_address_gets_one_mail(tmp_path: Path, bobs: str, called: str, said: str):
    """The mail is written, whether the address is all members' or one member's."""
    pair = [Author("Jane Doe", "1", "pair@x.edu"), Author("Bob Roe", "2", bobs)]
    with Store.open(tmp_path / "results", "attention") as store:
        add(store, a_grade("pair", a_verdict("run_rope")), "key", 0)
        store.set_people(People({"pair": pair}))
    done = run_feedback(tmp_path / "results", "--format", "mail")
    assert (done.exit_code, said in done.output) == (int(bool(said)), True)
    table = tmp_path / "results" / "feedback-mail" / "mail.csv"
    with table.open(encoding="utf-8", newline="") as file:
        assert [(row["name"], row["email"]) for row in csv.DictReader(file)] == [
            (called, "pair@x.edu")
        ]


@pytest.mark.parametrize("form", ["folders", "canvas", "moodle", "mail"])
def test_feedback_reveals_no_other_person_and_no_hidden_test(tmp_path: Path, form: str):
    """Feedback holds no other name, id or address, and no hidden test's name or expected value."""
    names = MOODLE if form == "moodle" else CANVAS
    results = store_download(tmp_path / "download", names, tmp_path / "results")
    run_feedback(results, "--format", form)
    folder = results / f"feedback-{form}"
    stored = Store.read(results)
    hidden = {t.id for g in stored.grades() for t in g.tests if "/hidden/" in t.id}
    assert hidden
    for owner, text in texts_of(folder, form, stored):
        for name, (author, *_) in stored.people.authors.items():
            if name != owner:
                assert not {word for word in (name, author.name, author.email) if word in text}
        assert not {test for test in hidden if test.partition("::")[2] in text}


def texts_of(folder: Path, form: str, stored) -> list[tuple[str, str]]:
    """Returns all texts of the feedback, by submission."""
    found: list[tuple[str, str]] = []
    if form == "folders":
        places = [path for path in folder.iterdir() if path.is_dir()]
        assert len(places) == len(stored.submissions())
        return [
            (place.name, file.read_text("utf-8")) for place in places for file in place.iterdir()
        ]
    if form == "mail":
        with (folder / "mail.csv").open(encoding="utf-8", newline="") as file:
            rows = [*csv.DictReader(file)]
        owners = {people[0].email: name for name, people in stored.people.authors.items()}
        return [(owners[row["email"]], row["body"] + row["subject"]) for row in rows]
    for name, content in members(folder / f"{form}.zip").items():
        downloads = stored.downloads().items()
        number = name.split("_assign")[0] if form == "moodle" else name
        owner = next(own for own, names in downloads if any(n.startswith(number) for n in names))
        inner = zipfile.is_zipfile(io.BytesIO(content))
        parts = zipfile.ZipFile(io.BytesIO(content)) if inner else None
        texts = [parts.read(n) for n in parts.namelist()] if parts else [content]
        found += [(owner, text.decode()) for text in texts]
    return found


def test_feedback_has_the_final_points_and_the_reason_of_each_decision(tmp_path: Path):
    """Mails, Canvas's files and Gradescope's results give the reason of each decision."""
    results = store_download(tmp_path / "download", CANVAS, tmp_path / "results")
    (results / "decisions.toml").write_text(
        '[[points]]\nperson = "doejane_123"\nby = 2\nreason = "the docstring was wrong"\n'
    )
    run_feedback(results, "--format", "mail")
    with (results / "feedback-mail" / "mail.csv").open(encoding="utf-8", newline="") as file:
        (mail,) = [row for row in csv.DictReader(file) if row["email"] == "123@x.edu"]
    machine = Store.read(results).grade("doejane_123")
    assert machine is not None
    (settled,) = open_settling(Store.read(results)).settle(machine)
    assert settled.hundredths == settled.machine + 200
    assert mail["subject"].startswith(f"attention: {settled.final:g} of")
    assert "+2 points: the docstring was wrong" in mail["body"]
    run_feedback(results, "--format", "canvas")
    zipped = members(results / "feedback-canvas" / "canvas.zip")[CANVAS[0]]
    text = zipfile.ZipFile(io.BytesIO(zipped)).read("feedback.txt").decode()
    assert text == mail["body"]


def test_a_feedback_text_begins_with_the_failures(tmp_path: Path):
    """Exercises without a remark come last, in one line."""
    wrong = a_verdict("run_rope", 0.0, message="all numbers are NaN")
    grade = a_grade("jane", a_verdict("run_softmax"), wrong, a_verdict("run_mask"))
    with Store.open(tmp_path / "results", "attention") as store:
        add(store, grade, "key", 0)
    run_feedback(tmp_path / "results")
    text = (tmp_path / "results/feedback-folders/jane/feedback.txt").read_text("utf-8")
    score, why, *_, right = text.strip().split("\n\n")
    assert score == "attention: 8 of 12 points"
    assert why.startswith("run_rope: 0 of 4\n  run_rope: all numbers are NaN")
    assert right == "Right: run_softmax (4 of 4), run_mask (4 of 4)"


def test_no_zip_is_written_for_a_platform_without_submissions(tmp_path: Path):
    """The command says so in one sentence and writes no empty zip, which could go up unnoticed."""
    results = store_download(tmp_path / "download", CANVAS, tmp_path / "results")
    refused = CliRunner().invoke(cli, ["feedback", str(results), "--format", "moodle"])
    assert "nobody's feedback can be written for moodle: not downloaded" in str(refused.exception)
    assert not (results / "feedback-moodle").exists()


def test_an_ungraded_submission_gets_no_feedback(tmp_path: Path):
    """A fault of the grader is not feedback; the command reports it instead."""
    with Store.open(tmp_path / "results", "attention") as store:
        add(store, a_grade("ann", a_verdict("run_x")), "key", 0)
        add(store, a_grade("bob", status=GradeStatus.NOT_GRADED), "key", 1)
    done = run_feedback(tmp_path / "results")
    assert done.exit_code == 1
    assert "bob: not graded yet" in done.output
    assert not (tmp_path / "results" / "feedback-folders" / "bob").exists()


def test_feedback_does_not_replace_a_foreign_folder(tmp_path: Path):
    """Feedback replaces nothing but earlier feedback."""
    results = store_download(tmp_path / "download", CANVAS, tmp_path / "results")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("keep")
    done = CliRunner().invoke(cli, ["feedback", str(results), "--out", str(tmp_path / "mine")])
    assert "holds other files than a feedback's" in str(done.exception)
    assert run_feedback(results).exit_code == 0
    assert run_feedback(results).exit_code == 0


@pytest.mark.process
@pytest.mark.skipif(shutil.which("chromium") is None, reason="there is no browser to print with")
def test_feedback_pages_are_printed_as_pdf_if_a_browser_is_installed(tmp_path: Path):
    """Students can keep a PDF, beside the page and the text."""
    results = store_download(tmp_path / "download", MOODLE[:1], tmp_path / "results")
    assert run_feedback(results, "--format", "moodle", "--pdf").exit_code == 0
    ((name, content),) = members(results / "feedback-moodle" / "moodle.zip").items()
    assert name.endswith("feedback.pdf")
    assert content.startswith(b"%PDF")


def test_members_with_different_points_have_a_letter_each_only_outside_platforms(tmp_path: Path):
    """A platform takes one file back for a submission; a folder holds one for each person."""
    people = Author("Jane Doe"), Author("John Roe")
    with Store.open(tmp_path, "attention") as store:
        store.add(a_grade("group:1", a_verdict("run_x", 2.0), a_verdict("run_y")), "key", 0)
        store.add(a_grade("Group/1", a_verdict("run_x")), "key", 1)
        store.set_people(People({"group:1": people}))
        store.remember(downloads={"group:1": ["Team_123_assignsubmission_file"]})
    (tmp_path / "decisions.toml").write_text(
        '[[points]]\nperson = "John Roe"\nby = 2\nreason = "he was right"\n'
    )
    results = Store.read(tmp_path)
    with pytest.raises(Refusal, match="its people have different points"):
        write_feedback(results, open_settling(results), "moodle", tmp_path / "feedback")
    written = write_feedback(results, open_settling(results), "folders", tmp_path / "feedback")
    texts = {"group_1/feedback.txt": "6 of 8", "group_1-2/feedback.txt": "8 of 8"}
    assert (written.written, written.left_out) == (3, ())
    found = {
        str(file.relative_to(written.place)): file.read_text().partition("\n")[0]
        for file in written.place.glob("*/feedback.txt")
    }
    assert found == {name: f"attention: {points} points" for name, points in texts.items()} | {
        "Group_1-3/feedback.txt": "attention: 4 of 4 points"
    }
