"""An autograder for Gradescope that shows what was graded here, and runs nothing.

Gradescope takes no feedback back but an autograder's. This one holds the results of each submission
under the number that its folder has in the export, which is the `id` in the metadata that an
autograder is given; running it for all puts the feedback of a class up. Who handed in again since
gets none.
"""

from __future__ import annotations

import json
import re
import zipfile

from grader.reports.export.gradescope import Display, results
from grader.reports.feedback.letter import Letter
from grader.reports.feedback.wrapping import Content, add

FILE = "gradescope.zip"
HOW = (
    f"In Gradescope, open *Configure Autograder* of the assignment, upload {FILE} and build it; "
    "then choose *Regrade All Submissions* where submissions are managed. It runs no code of a "
    "submission: each gets the results that were reached here. Submissions after the export "
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


def add_scripts(archive: zipfile.ZipFile) -> None:
    """Adds what an autograder has beside results."""
    add(archive, "setup.sh", _SETUP.encode(), 0o755)
    add(archive, "run_autograder", _RUN.encode(), 0o755)


def add_letter(archive: zipfile.ZipFile, letter: Letter, _content: Content) -> str:
    """Adds a submission's feedback; why that cannot be, if so."""
    found = next(filter(None, map(_FOLDER.fullmatch, letter.downloaded_as)), None)
    if found is None:
        return "no folder of an export from Gradescope"
    shown = results(letter.grade, Display())
    if letter.told:
        shown["output"] = "\n".join([*letter.told, "", shown["output"]])
        shown["score"] = letter.settled.final or 0.0
    content = json.dumps(shown, ensure_ascii=False)
    add(archive, f"results/{found['number']}.json", content.encode())
    return ""
