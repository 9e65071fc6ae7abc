"""Pages that hold all they need and run nothing but what this package put there.

A page is one file: it opens from disk, and can be sent to somebody, without anything beside it. Its
style and its script are in it, and its content security policy names their hashes. So whatever
markup a submission smuggled past the escaping would still be neither style nor script to a browser.
"""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from grader.core.plain_text import plain
from grader.core.text import one_line, points

_POLICY = (
    "default-src 'none'; script-src '{script}'; style-src '{style}'; "
    "base-uri 'none'; form-action 'none'"
)
# Inside a script element only `<` can begin markup; in JSON it and the others may be escaped.
_ESCAPED = {ord(char): f"\\u{ord(char):04x}" for char in "<>&'\u2028\u2029"}


@dataclass(frozen=True, slots=True)
class Assets:
    """A page's one style and one script, and the policy that allows those and nothing else."""

    style: Markup
    script: Markup
    policy: str


@cache
def assets(styles: tuple[str, ...], scripts: tuple[str, ...]) -> Assets:
    """The assets that these files of the package make up, in their order."""
    style, script = "\n".join(map(_text, styles)), "\n".join(map(_text, scripts))
    policy = _POLICY.format(script=_hash(script), style=_hash(style))
    return Assets(Markup(style), Markup(script), policy)


def render(template: str, **content: object) -> str:
    """The page that a template makes of its content; every text in it is escaped."""
    return _environment().get_template(template).render(content)


def as_json(data: object) -> Markup:
    """JSON for a script element that holds data: nothing in it can end the element."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return Markup(text.translate(_ESCAPED))


@lru_cache(maxsize=1024)
def breakable(name: str) -> Markup:
    """A name of code, which may be broken after its underscores where there is little room."""
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
        "breakable": breakable,
    }
    return environment


def _text(file: str) -> str:
    """A file of the package, without indentation: it is in every page."""
    lines = files("grader.reports.pages").joinpath(file).read_text(encoding="utf-8").splitlines()
    return "\n".join(stripped for line in lines if (stripped := line.strip()))


def _hash(text: str) -> str:
    """The text as a source of a content security policy (CSP level 3, "hash-source")."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
