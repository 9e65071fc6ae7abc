"""Rewrite rules for einsum and einops patterns."""

from __future__ import annotations

import ast
import itertools
import re
import string
from collections.abc import Iterator

from grader.explain.rewriting.edit import CHANGE, SLIP, Draft, Replacement
from grader.explain.rewriting.program.setting import Setting, argument_of
from grader.explain.rewriting.program.source import callee

# The cost, and the new pattern.
_Change = tuple[float, str]
_CALLS = {"einsum", "rearrange", "reduce", "repeat", "pack", "unpack", "parse_shape"}
_MOST_PATTERNS = 60
_EINSUM = re.compile(r"\.\.\.|\{[^{}]*\}|[A-Za-z]|->|,")
_EINOPS = re.compile(r"\.\.\.|\{[^{}]*\}|[A-Za-z_]\w*|\d+|->|,|[()]")
_FORMATTED = re.compile(r"[fF](\"|')([^\"'\\\n]*)\1")


def patterns(setting: Setting, node: ast.Constant | ast.JoinedStr) -> Iterator[Draft]:
    """Yields other einsum or einops patterns in the place of one."""
    value = _value(setting, node)
    if "->" not in value:
        return
    given = argument_of(setting, node)
    is_kept = isinstance(setting.parent(node), (ast.Assign, ast.AnnAssign, ast.Dict, ast.Tuple))
    if not is_kept and (given is None or callee(given[0]) not in _CALLS):
        return
    source = setting.text(node)
    start = source.find(value)
    if start < 0:
        return
    start += setting.span(node).start
    subject = f"the pattern of `{callee(given[0])}`" if given is not None else "a pattern"
    spaced = any(" " in part.strip() for part in re.split("->|,", value))
    tokens = list((_EINOPS if spaced else _EINSUM).finditer(value))
    seen = {value}
    families = (_batched, _diagonal, _exchanged, _replaced)
    found = itertools.chain.from_iterable(family(value, tokens) for family in families)
    for cost, text in itertools.islice(found, _MOST_PATTERNS):
        if text not in seen:
            seen.add(text)
            piece = Replacement(start, start + len(value), text)
            yield Draft("pattern", cost, subject, node, (piece,), start)


def _value(setting: Setting, node: ast.Constant | ast.JoinedStr) -> str:
    """Returns a string's value, or an f-string's inside as written."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    written = _FORMATTED.fullmatch(setting.text(node))
    return "" if written is None else written[2]


def _parts(tokens: list[re.Match[str]]) -> list[list[re.Match[str]]]:
    found: list[list[re.Match[str]]] = [[]]
    for token in tokens:
        if token[0] in ("->", ","):
            found.append([])
        elif token[0] not in "()":
            found[-1].append(token)
    return found


def _batched(value: str, tokens: list[re.Match[str]]) -> Iterator[_Change]:
    """Yields `...` before the names of a part that has none, if another part has it."""
    if "..." in value:
        for part in _parts(tokens):
            if part and all(token[0] != "..." for token in part):
                start = part[0].start()
                yield SLIP, f"{value[:start]}...{value[start:]}"


def _diagonal(value: str, tokens: list[re.Match[str]]) -> Iterator[_Change]:
    """Yields a name of its own for one of two equal names in a part, and for it in the output."""
    *inputs, output = _parts(tokens)
    used = {token[0] for part in (*inputs, output) for token in part}
    free = next((letter for letter in string.ascii_lowercase if letter not in used), "a")
    for part in inputs:
        names = [token[0] for token in part]
        for token in part:
            for out in output if names.count(token[0]) > 1 else ():
                if out[0] == token[0]:
                    changed = value[: out.start()] + free + value[out.end() :]
                    yield SLIP, changed[: token.start()] + free + changed[token.end() :]


def _exchanged(value: str, tokens: list[re.Match[str]]) -> Iterator[_Change]:
    """Yields two swapped names in one part, output first."""
    for part in reversed(_parts(tokens)):
        for one, other in itertools.combinations(part, 2):
            if one[0] != other[0]:
                near = part.index(other) == part.index(one) + 1
                text = _swapped(value, one.span(), other.span())
                yield SLIP if near else CHANGE, text


def _swapped(value: str, one: tuple[int, int], other: tuple[int, int]) -> str:
    between = value[one[1] : other[0]]
    return value[: one[0]] + value[slice(*other)] + between + value[slice(*one)] + value[other[1] :]


def _replaced(value: str, tokens: list[re.Match[str]]) -> Iterator[_Change]:
    """Yields a name replaced by another of the pattern."""
    names = list(dict.fromkeys(t[0] for part in _parts(tokens) for t in part))
    for part in reversed(_parts(tokens)):
        for token in part:
            own = {one[0] for one in part}
            for name in names:
                if name not in own and name != "..." and token[0] != "...":
                    text = value[: token.start()] + name + value[token.end() :]
                    yield CHANGE, text
