"""Says what became of edits: each that was missed as a difference of lines, then the numbers."""

from __future__ import annotations

from collections.abc import Iterator

from grader.authoring.mutation.examining import Fate
from grader.authoring.mutation.mutation import ARGUED, Mutations, MutationTrial


def in_words(mutations: Mutations) -> Iterator[str]:
    """The lines that a terminal shows."""
    for trial in mutations.missed:
        yield from difference(trial)
        yield ""
    for edit in mutations.stale:
        yield f"{ARGUED} argues about an edit that no test misses: {edit}"
    for reason, count in mutations.reasons.most_common():
        yield f"{count:6} equivalent: {reason}"
    fates = mutations.fates
    yield (
        f"{len(mutations.trials)} edits: {fates[Fate.CAUGHT]} caught, "
        f"{fates[Fate.EQUIVALENT]} equivalent, {fates[Fate.ARGUED]} argued away, "
        f"{fates[Fate.MISSED]} missed"
    )


def difference(trial: MutationTrial) -> Iterator[str]:
    """What an edit changes, as a difference."""
    yield f"{trial.file}:{trial.line}"
    for before, after in zip(trial.before, trial.after, strict=True):
        yield f"- {before}"
        yield f"+ {after}"
