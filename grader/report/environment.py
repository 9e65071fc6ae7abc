"""What a class wants of the course's environment: packages that lack, imports to load ahead."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from grader.imports import ClassImports
from grader.plain_text import plain

_LISTED = 5
_WORTH_SECONDS = 1.0


def lacking_in_words(imports: ClassImports) -> Iterator[str]:
    """A sentence for each package that is not installed: "…lacks einx: 12 submissions"."""
    for name, many in imports.lacking.items():
        yield f"the course's environment lacks {plain(name)}: {_submissions(many)}"


def preload_in_words(imports: ClassImports, preload: Iterable[str]) -> Iterator[str]:
    """A sentence for each import that costs a class a second or more, the slowest first.

    Those that are loaded ahead already (`preload`), or with what is, need no advice.
    """
    loaded = tuple(f"{name}." for name in preload)
    worth = [
        (name, many, seconds)
        for name, (many, seconds) in imports.imported.items()
        if seconds >= _WORTH_SECONDS and not any(it.startswith(f"{name}.") for it in loaded)
    ]
    for name, many, seconds in worth[:_LISTED]:
        yield (
            f"import {plain(name)}: {_submissions(many)}, {seconds:.0f} s: "
            "add it to preload in [tool.grader]"
        )


def not_preloaded_in_words(failed: Mapping[str, str]) -> Iterator[str]:
    """A sentence for each module that could not be loaded ahead, though the assignment says so."""
    for name, why in failed.items():
        yield f"preload: {name} could not be imported, and is left out: {plain(why)}"


def _submissions(many: int) -> str:
    return f"{many} submission{'s' if many != 1 else ''}"
