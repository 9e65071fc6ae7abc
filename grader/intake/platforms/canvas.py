"""Canvas's download of an assignment's submissions: flat files, named for who handed them in.

A file is called `<name>[_LATE]_<user id>_<attachment id>_<its name>`; of anonymous assignments
`[LATE_]anon_<anonymous id>_<attachment id>_<its name>`. What was typed into Canvas ends in
`_text.html`, a web address in `_link.html`, and neither has an attachment id. Source:
`lib/content_zipper.rb` of canvas-lms.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from grader.core.submission import Author
from grader.intake.archives.archive import FOREIGN, READABLE
from grader.intake.copying.limits import CODE
from grader.intake.copying.names import printable
from grader.intake.entry import Discovery, Entry, Piece, Skipped
from grader.intake.platforms.download import Download, DownloadItem

_FILE = r"_(?:(?P<attachment>[0-9]{1,18})_(?P<file>.+)|(?P<typed>text|link)\.html)"
_NAMED = re.compile(r"(?P<name>.+?)(?P<late>_LATE)?_(?P<user>[0-9]+)" + _FILE, re.DOTALL)
_ANONYMOUS = re.compile(r"(?P<late>LATE_)?(?P<name>anon)_(?P<user>[0-9A-Za-z]+)" + _FILE, re.DOTALL)
_TYPED = {"text": "text entry.html", "link": "web address.html"}
# Of a file that was handed in again under its old name, Canvas calls the new one `name-1.py`.
_AGAIN = re.compile(r"(?P<stem>.+?)-(?P<again>\d{1,3})(?P<suffix>(?:\.[A-Za-z][A-Za-z0-9]*)+)")
_ARCHIVES = (*READABLE, *FOREIGN)
_CODE = (*CODE, *_ARCHIVES)


@dataclass(frozen=True, slots=True)
class _Attachment:
    """A file of a download; `name` is what it was called before Canvas numbered it."""

    item: DownloadItem
    person: str
    is_anonymous: bool
    user: str
    late: bool
    number: int
    again: int
    name: str


def canvas_download(download: Download) -> Discovery | None:
    """Returns the submissions of a Canvas download, or None if this is no such download.

    All that one person handed in is one submission, called by the name and the number that Canvas
    knows the person by: `doejane_123`.
    """
    attachments = [one for item in download.items if (one := _attachment(item)) is not None]
    known = {one.item for one in attachments}
    if not download.consists_of(known):
        return None
    by_user: dict[tuple[bool, str], list[_Attachment]] = {}
    for one in attachments:
        by_user.setdefault((one.is_anonymous, one.user), []).append(one)
    entries: list[Entry] = []
    skipped = [
        Skipped(download.path / item.name, "not named as Canvas names submissions")
        for item in download.items
        if item not in known
    ]
    for own in by_user.values():
        latest = _latest(own)
        entry = _entry(download, latest)
        entries.append(entry)
        reason = f"handed in again: the latest of {entry.name} counts"
        places = [download.path / one.item.name for one in own if one not in latest]
        skipped += [Skipped(place, reason, entry.name) for place in places]
    return Discovery(tuple(entries), tuple(skipped), kinds=("Canvas download",))


def _attachment(item: DownloadItem) -> _Attachment | None:
    anonymous = _ANONYMOUS.fullmatch(item.name)
    found = anonymous or _NAMED.fullmatch(item.name)
    if found is None:
        return None
    name, again = found["file"] or _TYPED[found["typed"]], 0
    if name.lower().endswith(_CODE) and (numbered := _AGAIN.fullmatch(name)):
        name, again = numbered["stem"] + numbered["suffix"], int(numbered["again"])
    return _Attachment(
        item=item,
        person=found["name"],
        is_anonymous=anonymous is not None,
        user=found["user"],
        late=found["late"] is not None,
        number=int(found["attachment"] or 0),
        again=again,
        name=name,
    )


def _latest(own: Sequence[_Attachment]) -> list[_Attachment]:
    """Returns a person's last files: the late ones if there are any, the last of each name.

    Of several archives only the last one: two are two submissions.
    """
    if any(one.late for one in own):
        own = [one for one in own if one.late]
    own = [one for one in own if one.number] or own  # what was typed, only if there is no file
    latest: dict[str, _Attachment] = {}
    for one in sorted(own, key=lambda one: (one.again, one.number)):
        latest[one.name] = one
    archives = [one for one in latest.values() if one.name.lower().endswith(_ARCHIVES)]
    last = max(archives, key=lambda one: one.number, default=None)
    return [one for one in latest.values() if one not in archives or one is last]


def _entry(download: Download, latest: Sequence[_Attachment]) -> Entry:
    one = latest[0]
    name = printable(f"{one.person}_{one.user}")
    # The number of an anonymous person must not be taken for a user's.
    author = Author(id=name) if one.is_anonymous else Author(printable(one.person), one.user)
    return Entry(
        name,
        download.path,
        tuple(Piece(download.place(each.item), each.name) for each in latest),
        (author,),
        one.late,
        max(each.number for each in latest),
    )
