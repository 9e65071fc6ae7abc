"""What a class's submissions need of the environment that they are graded in, before they are."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from grader.core.imports import ClassNeeds, Needs
from grader.core.processors import processors
from grader.core.scratch import new_scratch
from grader.core.submission import Unreadable
from grader.intake.client import IntakeClient
from grader.intake.copying.private_copy import CopyFailed
from grader.intake.entry import Entry


def survey(entries: Sequence[Entry], adapters: str) -> ClassNeeds:
    """How many of the entries import and declare which package.

    What cannot be read needs nothing: grading says why.
    """
    imported: Counter[str] = Counter()
    declared: Counter[str] = Counter()
    many = min(processors(), len(entries))
    with ThreadPoolExecutor(max(many, 1)) as threads:
        shares = (entries[start::many] for start in range(many))
        for found in threads.map(lambda share: list(_needs(share, adapters)), shares):
            for needs in found:
                imported.update(needs.imported)
                declared.update(needs.declared)
    return ClassNeeds(imported, declared)


def _needs(entries: Sequence[Entry], adapters: str) -> Iterator[Needs]:
    """The needs of those that can be read, told by a process of their own."""
    with IntakeClient() as client:
        for entry in entries:
            with new_scratch() as folder:
                copies = folder / "taken-in"
                copies.mkdir()
                with contextlib.suppress(Unreadable, CopyFailed):
                    yield client.survey(entry, copies, adapters)
