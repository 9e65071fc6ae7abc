"""A zip that Moodle takes back with *Upload multiple feedback files in a zip*.

A file is called `<full name>_<participant>_assignsubmission_file_<its name>`, as in a download
without folders; Moodle reads the participant's number and nothing else
(`mod/assign/feedback/file/importziplib.php`). It is then a feedback file of that name.
"""

from __future__ import annotations

import re
import zipfile

from grader.reports.feedback.letter import Letter
from grader.reports.feedback.wrapping import Content, add

FILE = "moodle.zip"
HOW = (
    "In the assignment's settings switch *Feedback files* on. Then open its submissions, choose "
    f"*Upload multiple feedback files in a zip* and give it {FILE}. Each student finds a feedback "
    "file. For an assignment that teams hand in, Moodle takes no feedback files: the numbers in "
    "its download are those of teams."
)
_DOWNLOADED = re.compile(r"(?P<name>[^_]+)_(?P<number>\d{1,18})_assignsubmission_", re.DOTALL)


def add_letter(archive: zipfile.ZipFile, letter: Letter, content: Content) -> str:
    """Adds a submission's feedback; why that cannot be, if so."""
    found = next(filter(None, map(_DOWNLOADED.match, letter.downloaded_as)), None)
    if found is None:
        return "not downloaded from Moodle, or by nobody whose number its name tells"
    suffix = "pdf" if content.pdf else "html"
    name = f"{found['name']}_{found['number']}_assignsubmission_file_feedback.{suffix}"
    add(archive, name, content.pdf or content.page.encode())
    return ""
