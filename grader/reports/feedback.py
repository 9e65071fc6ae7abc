"""A class's feedback in one of the forms that platforms take back, written whole or not at all.

Canvas takes a zip back with *Re-Upload Submissions*. It finds the owner of a file by the file's
name in the download. Among the parts between underscores, the first two whole numbers are the ids
of the user and of the attachment (`Assignment#infer_comment_context_from_filename` of canvas-lms).
The file becomes an attachment of a comment, under the attachment's original name.

Moodle takes a zip back with *Upload multiple feedback files in a zip*. A file is called
`<full name>_<participant>_assignsubmission_file_<its name>`, as in a download without folders.
Moodle reads only the participant's number (`mod/assign/feedback/file/importziplib.php`). The file
becomes a feedback file of that name.

Gradescope takes back only the feedback of an autograder. The autograder that is written here runs
no code of a submission: it holds finished results. A submission's results bear the number of its
folder in the export, which is the `id` in the autograder's metadata. A regrade of all submissions
publishes the feedback of the class. Students who handed in again since the export get none.
"""

from __future__ import annotations

import contextlib
import csv
import functools
import json
import re
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from grader.core.text import Refusal
from grader.reports.export.gradescope import Display, results
from grader.reports.export.sheet import harmless
from grader.reports.letter import (
    LeftOut,
    Letter,
    add_to_zip,
    browser,
    in_format_of,
    letters,
    print_pdf,
)
from grader.reports.pages.rendering import whole_folder
from grader.results.decisions.settling import Settling
from grader.results.results import Results

_CANVAS_HOW = (
    "In Canvas, open the assignment, choose *Re-Upload Submissions* on the right and give it "
    "canvas.zip, zipped as it is. Each student finds a comment with a file that has the name of "
    "their submission. A zip holds a page and a text, a notebook a cell of text, a Python file "
    "lines of comments."
)
_NUMBER = re.compile(r"[0-9]+")
_CANVAS = re.compile(r".+?(?:_LATE)?_(?P<user>\d+)_(?P<attachment>\d+)_(?P<file>.+)", re.DOTALL)
# If several files were handed in, one gets the feedback: kinds with most room for it come first.
_LIKED = (".zip", ".html", ".pdf", ".gz", ".tgz", ".tar", ".ipynb", ".txt", ".md", ".py")


def add_canvas_letter(archive: zipfile.ZipFile, letter: Letter) -> str:
    """Adds a submission's feedback; returns the reason if that is impossible, or else ""."""
    names = [name for name in letter.downloaded_as if _CANVAS.fullmatch(name)]
    if not names:
        return "no file that was downloaded from Canvas, or of an anonymous assignment"
    taken = [name for name in names if _is_understood(name)]
    if not taken:
        return "its name has numbers before the user's, so that Canvas takes it for another's"
    ranks = {suffix: rank for rank, suffix in enumerate(_LIKED)}
    taken.sort(key=lambda one: ranks.get(f".{one.lower().rpartition('.')[2]}", len(ranks)))
    for name in taken:
        held = in_format_of(letter, name)
        if held is not None:
            add_to_zip(archive, name, held)
            return ""
    suffix = taken[0].rpartition(".")[2]
    hint = ": --pdf prints it" if suffix.lower() == "pdf" else ""
    return f"handed in as .{suffix}, a kind of file that feedback is not written in{hint}"


def _is_understood(name: str) -> bool:
    """Returns whether Canvas reads the right user's and attachment's ids from a file's name."""
    found = _CANVAS.fullmatch(name)
    numbers = [part for part in name.split("_") if _NUMBER.fullmatch(part)]
    return found is not None and numbers[:2] == [found["user"], found["attachment"]]


_GRADESCOPE_HOW = (
    "In Gradescope, open *Configure Autograder* of the assignment, upload gradescope.zip and build "
    "it; then choose *Regrade All Submissions* where submissions are managed. It runs no code of "
    "a submission: each gets the results that were reached here. Submissions after the export "
    "fail there: grade them first."
)
_FOLDER = re.compile(r"submission_(?P<number>\d+)")
_SETUP = """\
#!/usr/bin/env bash
set -e
command -v python3 || (apt-get update && apt-get install -y --no-install-recommends python3)
"""
_RUN = """\
#!/usr/bin/env python3
# Gives a submission the results that were reached elsewhere, and opens no others.
import json
import os
import pathlib
import shutil
import sys

root = pathlib.Path(os.environ.get("AUTOGRADER_ROOT", "/autograder"))
number = int(json.loads((root / "submission_metadata.json").read_text())["id"])
results = root / "source" / "results" / f"{number}.json"
if not results.exists():
    sys.exit(f"submission {number} was not among those that were graded")
(root / "results").mkdir(exist_ok=True)
shutil.copyfile(results, root / "results" / "results.json")
"""
_SCRIPTS = (("setup.sh", _SETUP), ("run_autograder", _RUN))


def add_gradescope_letter(archive: zipfile.ZipFile, letter: Letter) -> str:
    """Adds a submission's feedback; returns the reason if that is impossible, or else ""."""
    found = next(filter(None, map(_FOLDER.fullmatch, letter.downloaded_as)), None)
    if found is None:
        return "no folder of an export from Gradescope"
    if letter.settled.excused:
        return "excused: Gradescope takes no feedback without points"
    shown = results(letter.grade, Display())
    if letter.told:
        shown["output"] = "\n".join([*letter.told, "", shown["output"]])
        shown["score"] = letter.settled.final or 0.0
    content = json.dumps(shown, ensure_ascii=False)
    add_to_zip(archive, f"results/{found['number']}.json", content.encode())
    return ""


_MAIL_HOW = (
    "mail.csv has a row for each person: give it to your mail program's mail merge, with the "
    "fields email, subject and body. People with one address share a row."
)
_NOT_KNOWN = "not known: a roster tells it (grader batch --roster)"
TO_SOME = f"sent to some of its people; another's address is {_NOT_KNOWN}"


_MOODLE_HOW = (
    "In the assignment's settings switch *Feedback files* on. Then open its submissions, choose "
    "*Upload multiple feedback files in a zip* and give it moodle.zip. Each student finds a "
    "feedback file. For an assignment that teams hand in, Moodle takes no feedback files: the "
    "numbers in its download are those of teams."
)
_MOODLE = re.compile(r"(?P<name>[^_]+)_(?P<number>\d{1,18})_assignsubmission_", re.DOTALL)


def add_moodle_letter(archive: zipfile.ZipFile, letter: Letter) -> str:
    """Adds a submission's feedback; returns the reason if that is impossible, or else ""."""
    found = next(filter(None, map(_MOODLE.match, letter.downloaded_as)), None)
    if found is None:
        return "not downloaded from Moodle, or renamed since"
    suffix = "pdf" if letter.pdf else "html"
    name = f"{found['name']}_{found['number']}_assignsubmission_file_feedback.{suffix}"
    add_to_zip(archive, name, letter.pdf or letter.page.encode())
    return ""


README = "README.txt"
_FIRST_LINE = "Feedback written by grader."
_FOLDERS = (
    "A folder for each submission, with the feedback as a page and as text. A page needs no other "
    "file, and can be attached to a mail."
)
_NOT_IN_NAMES = re.compile(r"[^\w.@ -]+")
_LONGEST = 200  # bytes
# Adds a submission's feedback to the output; returns the reason if that is impossible, or else "".
_Add = Callable[[Letter], str]


@dataclass(frozen=True, slots=True)
class WrittenFeedback:
    """The written feedback: its file or folder, the number of letters, and those left out."""

    place: Path
    written: int
    left_out: tuple[LeftOut, ...]


def write_feedback(
    results: Results, settling: Settling, form: str, folder: Path, pdf: bool = False
) -> WrittenFeedback:
    """Writes the feedback of a class into `folder`, in place of earlier feedback there.

    Raises:
        NotWritten: if the folder holds anything but feedback, or the disk refuses.
        Refusal: if no submission's feedback can be written in that form, or no
            browser prints it as `pdf`.
        StoreError: if results cannot be read.
    """
    printer = browser() if pdf else None
    left_out: list[LeftOut] = []
    written = 0
    with whole_folder(folder, README, _FIRST_LINE.encode(), "feedback") as partial:
        (partial / README).write_text(f"{_FIRST_LINE}\n\n{FORMS[form]}\n", encoding="utf-8")
        with _opened(form, partial) as add:
            for letter in letters(results, settling, form in _APART, form == "mail"):
                if isinstance(letter, LeftOut):
                    left_out.append(letter)
                    continue
                as_pdf = print_pdf(printer, letter.page) if printer else None
                why = add(replace(letter, pdf=as_pdf))
                written += why in ("", TO_SOME)
                left_out += [LeftOut(letter.grade.submission, why)] * bool(why)
        if not written:
            why = left_out[0].reason if left_out else "there is no submission"
            raise Refusal(f"nobody's feedback can be written for {form}: {why}")
    return WrittenFeedback(_place(form, folder), written, tuple(left_out))


def _place(form: str, folder: Path) -> Path:
    """Returns the file of a form, or the folder itself."""
    return (
        folder if form == "folders" else folder / ("mail.csv" if form == "mail" else f"{form}.zip")
    )


@contextlib.contextmanager
def _opened(form: str, folder: Path) -> Iterator[_Add]:
    """Provides the function that adds a letter to the output of a form."""
    place = _place(form, folder)
    if form == "folders":
        yield functools.partial(_add_folder, folder, set[str]())
    elif form == "mail":
        with place.open("w", encoding="utf-8", newline="") as file:
            rows = csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n")
            rows.writerow(("name", "email", "subject", "body"))
            yield functools.partial(_add_mail, rows)
    else:
        with zipfile.ZipFile(place, "w") as archive:
            for name, text in _SCRIPTS if form == "gradescope" else ():
                add_to_zip(archive, name, text.encode(), 0o755)
            yield functools.partial(_ADDED[form], archive)


def _add_mail(rows: Any, letter: Letter) -> str:
    subject = letter.text.partition("\n")[0]
    named: dict[str, list[str]] = {}
    for person in letter.settled.people:
        named.setdefault(person.email, []).append(person.name)
    unknown = named.pop("", None)
    for email, names in named.items():
        row = (", ".join(filter(None, names)), email, subject, letter.text)
        rows.writerow(map(harmless, row))
    if unknown is None:
        return ""
    return TO_SOME if named else f"an address is {_NOT_KNOWN}"


def _add_folder(folder: Path, taken: set[str], letter: Letter) -> str:
    name = _free(letter.grade.submission, taken)  # a group may have several letters
    (folder / name).mkdir()
    for file, data in letter.files().items():
        (folder / name / file).write_bytes(data)
    return ""


def _free(submission: str, taken: set[str]) -> str:
    """Returns a free folder name, made from a submission's, that any file system accepts."""
    cut = _NOT_IN_NAMES.sub("_", submission).encode()[:_LONGEST].decode(errors="ignore")
    name = cut.strip(" .") or "submission"
    free, number = name, 1
    while free.casefold() in {*taken, README.casefold()}:
        number += 1
        free = f"{name}-{number}"
    taken.add(free.casefold())
    return free


_ADDED = {
    "canvas": add_canvas_letter,
    "moodle": add_moodle_letter,
    "gradescope": add_gradescope_letter,
}
# The forms of feedback, and how it is handed back.
FORMS = {
    "folders": _FOLDERS,
    "canvas": _CANVAS_HOW,
    "moodle": _MOODLE_HOW,
    "gradescope": _GRADESCOPE_HOW,
    "mail": _MAIL_HOW,
}
# The forms with a letter for each person; other forms hold one for each submission.
_APART = ("folders", "mail")
