"""How students hand in, on the platform that their instructor names."""

from __future__ import annotations

from enum import StrEnum


class Platform(StrEnum):
    """Where submissions are handed in."""

    CANVAS = "canvas"
    GITHUB = "github"
    GRADESCOPE = "gradescope"
    MOODLE = "moodle"


_WHAT = """\
## Handing in

`adapters.py` and the folder `assignment/`, and your other files if these import any. Tests and
installed packages stay at home.
"""
_ZIP = "Mark both in your file manager, and make one zip of them (*Compress*, or *Send to*, *Zip*)"
_HOW = {
    None: f"{_ZIP},\nand hand in that zip as your course says.\n",
    Platform.CANVAS: f"""\
{_ZIP}.
On Canvas open the assignment, press *Start Assignment*, choose the zip under *File Upload*, and
press *Submit Assignment*. You may do so again: the latest counts.
""",
    Platform.MOODLE: f"""\
{_ZIP}.
In Moodle open the assignment, press *Add submission* (*Edit submission*, once you have one), drop
the zip into the box, and press *Save changes*. Where there is a button *Submit assignment* press
that too, when you are done: nothing can be changed after it.
""",
    Platform.GRADESCOPE: f"""\
{_ZIP}.
On Gradescope open the assignment, drop the zip into *Submit Programming Assignment*, and press
*Upload*. Results appear there after some minutes. You may upload again: the latest counts, unless
you activate an earlier one under *Submission History*.
""",
    Platform.GITHUB: """\
    git add adapters.py assignment
    git commit -m "Attention weights"
    git push

Add other files of yours to the first line. What is on the main branch when the time is over counts;
push as often as you like. The tests that you have here run after each push: see the tab *Actions*
of your repository.
""",
}


def section(platform: Platform | None) -> str:
    """The part of the README on handing in."""
    return f"{_WHAT}\n{_HOW[platform]}"
