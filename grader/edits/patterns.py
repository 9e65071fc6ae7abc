"""Patterns of einsum and einops: letters exchanged, grouped otherwise, dropped, added."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator

from grader.edits.draft import CHANGE, SLIP, WRAP, Draft
from grader.edits.edit import Replacement
from grader.edits.setting import Setting, argument_of, callee

_CALLS = {"einsum", "rearrange", "reduce", "repeat", "pack", "unpack", "parse_shape"}
_MOST = 40
_EINSUM = re.compile(r"\.\.\.|[A-Za-z]|->|,")
_EINOPS = re.compile(r"\.\.\.|[A-Za-z_]\w*|\d+|->|,|[()]")


def patterns(setting: Setting, node: ast.Constant) -> Iterator[Draft]:
    """Other patterns in the place of one."""
    if not isinstance(node.value, str) or "->" not in node.value:
        return
    given = argument_of(setting, node)
    if given is None or callee(given[0]) not in _CALLS:
        return
    program = setting.program
    source = program.text(node)
    start = source.find(node.value)
    if start < 0:
        return
    start += program.span(node).start
    subject = f"the pattern of `{callee(given[0])}`"
    spaced = " " in node.value.replace("->", "").replace(",", "").strip()
    tokens = list((_EINOPS if spaced else _EINSUM).finditer(node.value))
    seen = {node.value}
    found = itertools.chain(
        _exchanged(node.value, tokens),
        _replaced(node.value, tokens),
        _lengthened(node.value, tokens),
    )
    for cost, text in itertools.islice(found, _MOST):
        if text not in seen:
            seen.add(text)
            piece = Replacement(start, start + len(node.value), text)
            alike = (node.value, text)
            yield Draft("pattern", cost, subject, node, (piece,), start, ("pattern", alike))


def _parts(tokens: list[re.Match[str]]) -> list[list[re.Match[str]]]:
    """The names of each operand and of the output."""
    found: list[list[re.Match[str]]] = [[]]
    for token in tokens:
        if token[0] in ("->", ","):
            found.append([])
        elif token[0] not in "()":
            found[-1].append(token)
    return found


def _exchanged(value: str, tokens: list[re.Match[str]]) -> Iterator[tuple[float, str]]:
    """Two names of one part exchanged; of the output first."""
    for part in reversed(_parts(tokens)):
        for one, other in itertools.combinations(part, 2):
            if one[0] == other[0]:
                continue
            text = (
                value[: one.start()]
                + other[0]
                + value[one.end() : other.start()]
                + one[0]
                + value[other.end() :]
            )
            near = part.index(other) == part.index(one) + 1
            yield SLIP if near else CHANGE, text


def _replaced(value: str, tokens: list[re.Match[str]]) -> Iterator[tuple[float, str]]:
    """A name replaced by another of the pattern, or dropped."""
    names = list(dict.fromkeys(t[0] for part in _parts(tokens) for t in part))
    for part in reversed(_parts(tokens)):
        for token in part:
            own = {one[0] for one in part}
            for name in names:
                if name not in own and name != "..." and token[0] != "...":
                    yield CHANGE, value[: token.start()] + name + value[token.end() :]
            if len(part) > 1:
                after = value[token.end() :]
                yield WRAP, value[: token.start()] + after.removeprefix(" ")


def _lengthened(value: str, tokens: list[re.Match[str]]) -> Iterator[tuple[float, str]]:
    """A name added to the output."""
    *inputs, output = _parts(tokens)
    own = {token[0] for token in output}
    if not output:
        return
    space = " " if " " in value[output[0].start() :] else ""
    for name in dict.fromkeys(token[0] for part in inputs for token in part):
        if name not in own:
            for token in output:
                yield WRAP, value[: token.start()] + name + space + value[token.start() :]
            yield WRAP, f"{value}{space}{name}"
