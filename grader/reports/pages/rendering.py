"""Self-contained pages, and folders of pages that are written as a whole.

A page is one file: it opens from disk, and can be sent to a person, without other files. Its style
and its script are in it, and its content security policy names their hashes. If a submission's
markup got past the escaping, a browser would still not accept it as style or script.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import re
import unicodedata
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from importlib.resources import files
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup, escape

from grader.core.folders import new_scratch
from grader.core.text import Refusal, one_line, plain, points
from grader.core.verdict import Grade

_NOT_IN_SLUG = re.compile(r"[^a-z0-9]+")
_LONGEST = 40


def page_name(grade: Grade) -> str:
    """Returns a unique name for a submission's page, which any file system accepts.

    The name depends on the submission's content and the batch's seed. A person who sees the name of
    one page, on a server for instance, cannot guess the name of another.
    """
    letters = unicodedata.normalize("NFKD", grade.submission[: 4 * _LONGEST]).lower()
    slug = _NOT_IN_SLUG.sub("-", letters.encode("ascii", "ignore").decode()).strip("-")[:_LONGEST]
    told = (grade.submission, grade.submission_hash, str(grade.seed))
    digest = hashlib.sha256("\0".join(told).encode("utf-8", "backslashreplace")).hexdigest()
    return f"{slug.strip('-') or 'submission'}-{digest[:12]}.html"


INDEX = "index.html"
# The mark of an earlier output stands within so many bytes.
HEAD = 4096
_OURS = b'<meta name="generator" content="grader">'


class NotWritten(Refusal):
    """The error that pages cannot be written; its text is one sentence: why, and what to do."""


@contextlib.contextmanager
def whole_folder(
    folder: Path, marked: str = INDEX, mark: bytes = _OURS, what: str = "report"
) -> Iterator[Path]:
    """Provides an empty folder, which replaces `folder` and its content at the end.

    A folder with content may be replaced only if `mark` is near the beginning of its file `marked`.

    Raises:
        NotWritten: if `folder` has other content, or the disk refuses.
    """
    try:
        folder = folder.resolve()  # a link to a folder stays, and "." has a name
        _refuse_foreign(folder, folder / marked, mark, what)
        if not folder.parent.exists():
            folder.parent.mkdir(parents=True)
        with new_scratch(folder.parent) as scratch:
            partial = scratch / folder.name
            partial.mkdir()
            yield partial
            if folder.exists():
                folder.rename(scratch / "earlier")  # removed with the scratch folder
            partial.rename(folder)
    except OSError as error:
        why = error.strerror or error
        raise NotWritten(f"the {what} cannot be written to {folder}: {why}") from error


def _refuse_foreign(folder: Path, marked: Path, mark: bytes, what: str) -> None:
    """Raises NotWritten if a folder has content without the mark of an earlier output."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    if folder.is_dir() and marked.is_file():
        with marked.open("rb") as file:
            if mark in file.read(HEAD):
                return
    raise NotWritten(
        f"{folder} holds other files than a {what}'s, which would be lost: "
        "name another folder with --out, or move that away"
    )


def write_page(file: Path, content: str) -> None:
    """Writes a page into a file."""
    file.write_text(content, encoding="utf-8", newline="\n")


_POLICY = (
    "default-src 'none'; script-src '{script}'; style-src '{style}'; "
    "base-uri 'none'; form-action 'none'"
)


@cache
def assets(styles: tuple[str, ...], scripts: tuple[str, ...]) -> Mapping[str, str]:
    """Returns a page's style and script, and the policy that allows those and nothing else.

    They are made from these files of the package, in their order.
    """
    style, script = "\n".join(map(_text, styles)), "\n".join(map(_text, scripts))
    policy = _POLICY.format(script=_hash(script), style=_hash(style))
    return {"style": Markup(style), "script": Markup(script), "policy": policy}


def render(template: str, **content: object) -> str:
    """Returns a template's page, filled with its content; every text in it is escaped."""
    return _environment().get_template(template).render(content)


def as_json(data: object) -> Markup:
    """Returns JSON for a script element that holds data: nothing in it can end the element."""
    return htmlsafe_json_dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def percent(share: float) -> int:
    """Returns a share in whole percent, from 0 to 100."""
    return round(100 * min(max(share, 0.0), 1.0))


@lru_cache(maxsize=1024)
def breakable(name: str) -> Markup:
    """Returns an identifier that a narrow column may break after underscores."""
    return escape(name).replace("_", Markup("_<wbr>"))


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("grader.reports.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "points": points,
        "one_line": one_line,
        "plain": plain,
        "percent": percent,
        "breakable": breakable,
    }
    return environment


def _text(file: str) -> str:
    """Returns a file of the package without indentation, since every page contains it."""
    lines = files("grader.reports.pages").joinpath(file).read_text(encoding="utf-8").splitlines()
    return "\n".join(stripped for line in lines if (stripped := line.strip()))


def _hash(text: str) -> str:
    """Returns a text's hash for a content security policy (CSP level 3, "hash-source")."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
