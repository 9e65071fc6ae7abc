"""The handout's README: the author's page, with what is the same for every assignment."""

from __future__ import annotations

from pathlib import Path

PAGE = Path("docs/students.md")
_PLAIN = """\
# {name}

Fill in the functions in `assignment/`, then run `pytest`: it tells you what is wrong, and where.

## While you work

    pytest -x          # stop at the first failure; what is not written is none
    pytest -v          # every test by name; failures with numbers and a picture
    pytest --locate    # takes the time that it needs to find the line to change

To have the tests run each time that you save a file, install
[watchfiles](https://watchfiles.helpmanual.io) beside pytest, with the same tool, and leave this
running in a terminal.

    watchfiles pytest assignment adapters.py
"""


def readme(name: str, page: str | None, installing: str, handing_in: str) -> str:
    """The README; `page` is what the author wrote for students, if anything.

    How to install comes before its first section, how to hand in after its last one.
    """
    opening, heading, sections = (page or _PLAIN.format(name=name)).partition("\n## ")
    parts = (opening, installing, f"## {sections}" if heading else "", handing_in)
    return "\n\n".join(part.strip("\n") for part in parts if part) + "\n"
