"""A class's feedback in one of the forms that platforms take back, written whole or not at all."""

from __future__ import annotations

import contextlib
import re
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from grader.core.text import Refusal
from grader.reports.feedback import canvas, gradescope, mail, moodle
from grader.reports.feedback.letter import LeftOut, Letter, letters
from grader.reports.feedback.wrapping import Content, Printer
from grader.reports.pages.rendering import whole_folder
from grader.results.decisions.settling import Settling
from grader.results.results import Results

README = "README.txt"
_FIRST_LINE = "Feedback written by grader."
_FOLDERS = (
    "A folder for each submission, with the feedback as a page and as text. A page needs no other "
    "file, and can be attached to a mail."
)
_OTHERS = re.compile(r"[^\w.@ -]+")
_LONGEST = 100
# Adds the feedback of a submission to what is being written; says why it cannot, if so.
_Add = Callable[[Letter, Content], str]


@dataclass(frozen=True, slots=True)
class WrittenFeedback:
    """The feedback that was written: the file or folder, how many got feedback, and who did not."""

    place: Path
    written: int
    left_out: tuple[LeftOut, ...]


class NothingToHandBack(Refusal):
    """Nobody would get anything; the text is one sentence that says why."""


def write_feedback(
    results: Results, settling: Settling, form: str, folder: Path, pdf: bool = False
) -> WrittenFeedback:
    """Writes the feedback of a class into `folder`, in place of what was written there before.

    Raises:
        NotWritten: if something else lies there, or the disk refuses.
        NothingToHandBack: if there is nobody whose feedback can go up in that form.
        NoBrowser: if it is wanted as PDF, and nothing prints it.
        StoreError: if results cannot be read.
    """
    printer = Printer() if pdf else None
    opened, how = FORMS[form]
    left_out: list[LeftOut] = []
    written = 0
    with whole_folder(folder, README, _FIRST_LINE.encode(), "feedback") as partial:
        (partial / README).write_text(f"{_FIRST_LINE}\n\n{how}\n", encoding="utf-8")
        with opened(partial) as add:
            for letter in letters(results, settling, form in _APART, form == "mail"):
                if isinstance(letter, LeftOut):
                    left_out.append(letter)
                    continue
                printed = printer.printed(letter.page) if printer else None
                why = add(letter, Content(letter.page, letter.text, printed))
                written += not why
                left_out += [LeftOut(letter.submission, why)] * bool(why)
        if not written:
            why = left_out[0].reason if left_out else "there is no submission"
            raise NothingToHandBack(f"nobody's feedback can be written for {form}: {why}")
    place = next((folder / name for name in _FILES if (folder / name).exists()), folder)
    return WrittenFeedback(place, written, tuple(left_out))


@contextlib.contextmanager
def _canvas(folder: Path) -> Iterator[_Add]:
    with zipfile.ZipFile(folder / canvas.FILE, "w") as archive:
        yield lambda letter, content: canvas.add_letter(archive, letter, content)


@contextlib.contextmanager
def _moodle(folder: Path) -> Iterator[_Add]:
    with zipfile.ZipFile(folder / moodle.FILE, "w") as archive:
        yield lambda letter, content: moodle.add_letter(archive, letter, content)


@contextlib.contextmanager
def _gradescope(folder: Path) -> Iterator[_Add]:
    with zipfile.ZipFile(folder / gradescope.FILE, "w") as archive:
        gradescope.add_scripts(archive)
        yield lambda letter, content: gradescope.add_letter(archive, letter, content)


@contextlib.contextmanager
def _mail(folder: Path) -> Iterator[_Add]:
    with (folder / mail.FILE).open("w", encoding="utf-8", newline="") as file:
        mails = mail.Mails(file)
        yield lambda letter, _content: mails.add_letter(letter)


@contextlib.contextmanager
def _folders(folder: Path) -> Iterator[_Add]:
    taken: set[str] = set()

    def add(letter: Letter, content: Content) -> str:
        name = _free(letter.submission, taken)  # of a group, perhaps the second one of that name
        (folder / name).mkdir()
        for file, data in content.files().items():
            (folder / name / file).write_bytes(data)
        return ""

    yield add


def _free(submission: str, taken: set[str]) -> str:
    """Returns a folder's name that every file system takes, after a submission's."""
    name = _OTHERS.sub("_", submission).strip(" .")[:_LONGEST] or "submission"
    free, number = name, 1
    while free.casefold() in taken or free == README:
        number += 1
        free = f"{name}-{number}"
    taken.add(free.casefold())
    return free


_Opened = Callable[[Path], contextlib.AbstractContextManager[_Add]]
FORMS: dict[str, tuple[_Opened, str]] = {
    "folders": (_folders, _FOLDERS),
    "canvas": (_canvas, canvas.HOW),
    "moodle": (_moodle, moodle.HOW),
    "gradescope": (_gradescope, gradescope.HOW),
    "mail": (_mail, mail.HOW),
}
# Of the others a file goes up for all who handed it in.
_APART = ("folders", "mail")
_FILES = (canvas.FILE, moodle.FILE, gradescope.FILE, mail.FILE)
