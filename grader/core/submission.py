"""A submission of one student or group, and the installed packages that it imports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from grader.core.text import PlainData

# Columns of tables about people, in small letters and without punctuation. The first of the ids
# that a table has identifies its people: user names come last.
ID_COLUMNS = (
    *("id", "userid", "canvasid", "canvasuserid", "identifier", "rosteridentifier", "sid"),
    *("studentid", "studentno", "studentnumber", "sisuserid", "sisid", "idnumber"),
    *("matriculationnumber", "matrikelnummer", "netid", "sisloginid", "loginid", "login"),
    *("username", "user", "account"),
    *("githubusername", "githublogin", "githubuser", "githubaccount", "githubhandle", "github"),
)
EMAIL_COLUMNS = ("email", "emailaddress", "emailadresse", "mail", "studentemail", "schoolemail")
NAME_COLUMNS = ("name", "fullname", "student", "studentname", "displayname", "sortablename")


@dataclass(frozen=True, slots=True)
class Imports(PlainData):
    """The imports of one submission from the course's environment.

    `lacking` are packages that are not installed. `not_preloaded` is why modules could not be
    loaded ahead; it is known while a batch runs.
    """

    lacking: tuple[str, ...] = ()
    not_preloaded: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Submission(PlainData):
    """A private copy of a submission, and how to import its adapters from it.

    `root` is the copy's top folder: the working directory of the worker. `import_paths` are the
    folders (relative to `root`, in order) that go on `sys.path`. `module` is the dotted name by
    which the adapters are imported from them, and `adapters` is their file, relative to `root`.
    `notes` are sentences for the instructor about files that were left out or chosen. If it
    `has_shell`, `get_ipython()` is defined.
    """

    name: str
    root: Path
    adapters: str
    module: str
    import_paths: tuple[str, ...] = (".",)
    notes: tuple[str, ...] = ()
    has_shell: bool = False


class Unreadable(Exception):
    """A submission in which nothing can be graded; the text is one sentence that says why."""


@dataclass(frozen=True, slots=True)
class Author:
    """One person who handed a submission in, as far as a platform's download or a roster says.

    `id` is the platform's own identifier: Canvas's user id, the number of Moodle's participant,
    Gradescope's student id, the user's name on GitHub.
    """

    name: str = ""
    id: str = ""
    email: str = ""

    @property
    def called(self) -> str:
        """Returns the person's name, or the address or id where no name is known."""
        return self.name or self.email or self.id
