"""Classes and functions of other files: another one of a kin that takes the same."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.edits.draft import CHANGE, SLIP, Draft
from grader.edits.edit import Replacement
from grader.edits.reading.kinship import words
from grader.edits.reading.seen import LIBRARIES
from grader.edits.reading.setting import Setting, callee
from grader.edits.reading.signatures import Signature

_MOST = 5


def called(setting: Setting, node: ast.Call) -> Iterator[Draft]:
    """Another class, or another function that is declared elsewhere, where one is called."""
    name = callee(node)
    match node.func:
        case ast.Name():
            is_near = True
        case ast.Attribute(value=ast.Name(id=holder)):
            is_near = False
            if holder in LIBRARIES or holder in ("self", "cls"):
                return
        case _:
            return
    known = setting.signatures.declared
    if name not in known or any(isinstance(one, ast.Starred) for one in node.args):
        return
    visible = setting.seen.visible(node)
    own = setting.program.function(setting.program.scope(node))
    found = [
        (not _is_kin(name, other), other)
        for other, signature in known.items()
        if other not in (name, own)
        and other[:1].isupper() == name[:1].isupper()
        and other.startswith("run_") == name.startswith("run_")
        and (not is_near or other in visible)
        and _fits(signature, node)
    ]
    end = setting.program.span(node.func).end
    for is_far, other in sorted(found)[:_MOST]:
        piece = Replacement(end - len(name), end, other)
        cost = CHANGE if is_far else SLIP
        subject = f"what is called where it says `{name}`"
        alike = ("function", name, other)
        yield Draft("function", cost, subject, node, (piece,), end - len(name), alike)


def _is_kin(one: str, other: str) -> bool:
    """Whether two names share a word."""
    return bool(set(words(one)) & set(words(other)))


def _fits(signature: Signature, node: ast.Call) -> bool:
    """Whether what is given could be taken."""
    given = {one.arg for one in node.keywords}
    names = [one.name for one in (*signature.positional, *signature.by_keyword)]
    needed = [
        one.name
        for one in (*signature.positional[len(node.args) :], *signature.by_keyword)
        if one.default is None
    ]
    return (
        len(node.args) <= len(signature.positional)
        and given <= {*names, None}
        and set(needed) <= given
    )
