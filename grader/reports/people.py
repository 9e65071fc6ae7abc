"""Authors as people say who they are."""

from __future__ import annotations

from collections.abc import Sequence

from grader.core.submission import Author
from grader.core.text import one_line

_SHOWN = 3


def author_in_words(author: Author) -> str:
    """The author's name, or else what is known."""
    return one_line(author.name or author.email or author.id)


def labelled(submission: str, authors: Sequence[Author]) -> str:
    """The submission's name, and behind it its authors where it does not name them itself."""
    own = submission.casefold()
    strangers = [author for author in authors if not _is_named(author, own)]
    if not strangers:
        return one_line(submission)
    names = ", ".join(author_in_words(author) for author in authors[:_SHOWN])
    more = f" and {len(authors) - _SHOWN} more" if len(authors) > _SHOWN else ""
    return f"{one_line(submission)} ({names}{more})"


def _is_named(author: Author, submission: str) -> bool:
    words = (author.name or author.email or author.id).casefold().replace(",", " ").split()
    return all(word in submission for word in words)
