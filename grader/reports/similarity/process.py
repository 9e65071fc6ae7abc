"""The process that reads submissions' code: where what strangers wrote is unpacked and parsed.

It is the intake's process with another thing to do. An order is an entry, an empty folder for its
copy, the digests of what the course handed out, and whether the texts are wanted as well.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from grader.core.submission import Unreadable
from grader.core.text import source_text
from grader.intake.copying import CopyFailed
from grader.intake.entry import Entry
from grader.intake.limits import DEFAULT_LIMITS, Bounds, is_clutter, printable
from grader.intake.process import copied, serve
from grader.intake.programs.notebook import read_notebook
from grader.reports.similarity.sources import (
    LONGEST_LINE,
    MOST_CHARACTERS,
    MOST_FILES,
    MOST_TOKENS,
    as_json,
)
from grader.reports.similarity.tokens import tokens, windows

# Tokens in a fingerprint. Fewer are in everybody's code; longer ones do not outlive a copy's being
# worked over: `benchmarks/alike.py` measures both.
LENGTH = 5


def main(descriptor: int, parent: int, bounds: Bounds) -> None:
    """Reads what it is asked to, until whoever asks hangs up."""
    serve(descriptor, parent, bounds, _outcome)


def _outcome(order: Mapping[str, Any]) -> dict[str, Any]:
    try:
        folder = copied(Entry.from_json(order["entry"]), Path(order["into"]))
        return {"sources": _read(folder, frozenset(order["given"]), bool(order["texts"]))}
    except Unreadable as problem:
        return {"unreadable": str(problem)}
    except CopyFailed as problem:
        is_bound = isinstance(problem.__cause__, MemoryError)
        return {"too large": True} if is_bound else {"failed": str(problem)}
    except MemoryError:
        return {"too large": True}


def _read(folder: Path, given: frozenset[str], texts: bool) -> Any:
    """Returns the code in a folder but the files that the course handed out, up to the bounds."""
    chosen: list[tuple[str, str, str]] = []
    left, partly = MOST_CHARACTERS, False
    for name, text in _sources(folder):
        digest = hashlib.sha256(text.strip().encode("utf-8", "surrogatepass")).hexdigest()
        if digest in given or not text.strip():
            continue
        if len(text) > left or len(chosen) == MOST_FILES or _has_a_long_line(text):
            partly = True
            continue
        left -= len(text)
        chosen.append((name, digest, text))
    files, room = [], MOST_TOKENS
    for (name, digest, text), found in zip(
        chosen, tokens([text for *_, text in chosen]), strict=True
    ):
        partly = partly or len(found) > room
        prints = [[_hash(w), first, last] for w, first, last in windows(found[:room], LENGTH)]
        room -= min(len(found), room)
        files.append((name, digest, text if texts else "", prints))
    return as_json(files, partly)


def _sources(folder: Path) -> Iterator[tuple[str, str]]:
    """Yields files and the cells of notebooks, in the order of their paths."""
    for path in sorted(folder.rglob("*")):
        place = path.relative_to(folder)
        if path.suffix not in (".py", ".ipynb") or not path.is_file() or is_clutter(place.parts):
            continue
        name, content = printable(str(place)), path.read_bytes()
        if path.suffix == ".py":
            yield name, source_text(content)
            continue
        try:
            cells = read_notebook(content, DEFAULT_LIMITS.source).sources
        except Unreadable:
            continue
        yield from ((f"{name}/cell {n}", cell) for n, cell in enumerate(cells, 1))


def _has_a_long_line(text: str) -> bool:
    return any(len(line) > LONGEST_LINE for line in text.split("\n"))


def _hash(window: str) -> int:
    """Returns a hash below 2^63 that is the same on every machine and in every run."""
    digest = hashlib.blake2b(window.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1
