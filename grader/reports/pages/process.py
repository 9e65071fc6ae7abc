"""A process that writes pages: one stretch of the class after another, as it is asked for them.

It is asked by its standard input and answers by its standard output, in pickles. Both of its ends
are this package's own; what a submission made up is in them as text, which no unpickling runs.
"""

from __future__ import annotations

import contextlib
import gc
import pickle
import sys

from grader.reports.pages.pool import PageWriting, Stretch, write_stretch
from grader.results.database import StoreError


def main() -> None:
    """Writes what it is asked for, until nobody asks any more."""
    # Few cycles are made: they are looked for after each stretch, not hundreds of times in one.
    gc.disable()
    asked, answers = sys.stdin.buffer, sys.stdout.buffer
    with contextlib.suppress(EOFError, BrokenPipeError):
        writing: PageWriting = pickle.load(asked)
        while True:
            pickle.dump(_answer(writing, pickle.load(asked)), answers)
            answers.flush()
            gc.collect()


def _answer(writing: PageWriting, names: tuple[str, ...]) -> Stretch | OSError | StoreError:
    """Returns the data of a stretch, or the error that kept its pages from being written."""
    try:
        return write_stretch(writing, names)
    except (OSError, StoreError) as refusal:
        return refusal


if __name__ == "__main__":
    main()
