"""The code that is compared: its bounds, its fingerprints, and the pairs that share rare code."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from grader.intake.client import BOOT, IntakeClient
from grader.intake.entry import Entry
from grader.intake.limits import MIB, Bounds

MOST_FILES = 400
MOST_CHARACTERS = MIB
MOST_TOKENS = 60_000
# Half a megabyte of code takes some seconds; nearly all submissions take hundredths of one.
READING_BOUNDS = Bounds(processor_seconds=30)


Numbers = npt.NDArray[np.int64]
_LONGEST_NAME = 400


@dataclass(frozen=True, slots=True, eq=False)
class ComparedFile:
    """One file: its name, a digest and the text, its fingerprints with first and last lines."""

    name: str
    digest: str
    prints: Numbers
    first: Numbers
    last: Numbers
    text: str


@dataclass(frozen=True, slots=True, eq=False)
class ComparedSources:
    """The files of a submission."""

    files: tuple[ComparedFile, ...] = ()

    @property
    def prints(self) -> Numbers:
        """Returns the fingerprints of all files, each once, in order."""
        every = [file.prints for file in self.files]
        return np.unique(np.concatenate(every)) if every else np.empty(0, np.int64)

    @classmethod
    def from_json(cls, files: object) -> ComparedSources:
        """Returns the sources that the process sent.

        Raises:
            LookupError, TypeError, ValueError, OverflowError: if the row has another form.
        """
        if not isinstance(files, list) or len(files) > MOST_FILES:
            raise ValueError("too many files")
        return cls(tuple(map(_file, files)))


def _file(row: Sequence[Any]) -> ComparedFile:
    name, digest, text, prints = row
    if len(prints) > MOST_TOKENS or len(text) > MOST_CHARACTERS:
        raise ValueError("too much of a file")
    found, first, last = np.array(prints, dtype=np.int64).reshape(-1, 3).T
    return ComparedFile(str(name)[:_LONGEST_NAME], str(digest), found, first, last, str(text))


class SourcesClient(IntakeClient):
    """A context manager with a process of its own that reads the code of submissions."""

    boot: ClassVar[str] = BOOT.format("grader.reports.similarity.process")
    longest_answer: ClassVar[int] = 16 * MIB

    def __init__(self) -> None:
        super().__init__(READING_BOUNDS)

    def read(self, entry: Entry, into: Path, given: Collection[str] = ()) -> ComparedSources:
        """Returns the code of a submission, after a copy of it into the empty folder `into`.

        Files whose digests are in `given` are left out.

        Raises:
            Unreadable: if the submission has no readable code, or exceeds the reading bounds.
            CopyFailed: if the copy cannot be written, or the process cannot start.
        """
        order = {"given": sorted(given)}
        return self._asked(entry, into, order, "files", ComparedSources.from_json)


# No fingerprint spans more lines of a person's code.
_MOST_LINES = 200


def lines_of(sources: ComparedSources, shared: Collection[int]) -> frozenset[tuple[int, int]]:
    """Returns the lines of the fingerprints in `shared`, each with the place of its file."""
    found = set[tuple[int, int]]()
    for place, file in enumerate(sources.files):
        rows = zip(file.prints.tolist(), file.first.tolist(), file.last.tolist(), strict=True)
        for number, first, last in rows:
            if number in shared:
                end = min(last, first + _MOST_LINES)
                found.update((place, line) for line in range(first, end + 1))
    return frozenset(found)


# This share of the class's median weight is added to a similarity's denominator. Without it, a stub
# of ten lines would be wholly similar to many others.
_EVEN = 0.3
_COLUMNS = 4096
# Code is rare if a tenth of the submissions has it at most, or three.
_FEW, _TENTH = 3, 10
_Weights = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two submissions, by their places, and their similarity from 0 to 1.

    `share_of_one` is the share of the first one's fingerprints that the second one also has, where
    rarer fingerprints weigh more. `share_of_other` is the same share of the second one's.
    """

    one: int
    other: int
    similarity: float
    share_of_one: float
    share_of_other: float


@dataclass(frozen=True, slots=True)
class Ranking:
    """The most similar pairs, and the similarity of each of the class's submissions to its nearest.

    `rare` are the fingerprints that two submissions have, and few others.
    """

    pairs: tuple[Pair, ...]
    nearest: tuple[float, ...]
    rare: frozenset[int]


def ranked(prints: Sequence[Numbers], own: int, given: Numbers, most: int) -> Ranking:
    """Returns the `most` most similar pairs with at least one submission of the class.

    `prints` are the fingerprints of each submission. The first `own` of them are the class's, and
    the others are compared only with these. Fingerprints in `given` are left out. A fingerprint's
    weight is the logarithm of its rarity, almost 0 if nearly all submissions have it.
    """
    without = [np.setdiff1d(found, given, assume_unique=True) for found in prints]
    every = np.concatenate([*without, np.empty(0, np.int64)])
    known, counts = np.unique(every, return_counts=True)
    weights, is_shared = np.log((len(prints) + 1) / counts), counts > 1
    places = [np.searchsorted(known, found) for found in without]
    whole = np.array([weights[place].sum() for place in places])
    number = np.cumsum(is_shared) - 1
    shared = [number[place[is_shared[place]]] for place in places]
    common = _in_common(shared, weights[is_shared], own)
    smaller = np.minimum(whole[:own, None], whole[None, :])
    floor = _EVEN * float(np.median(whole[:own])) if own else 0.0
    with np.errstate(invalid="ignore", divide="ignore"):
        similarity = np.nan_to_num(common / (smaller + floor))
    np.fill_diagonal(similarity, 0.0)
    pairs = [
        Pair(one, other, value, common[one, other] / whole[one], common[one, other] / whole[other])
        for one, other, value in _highest(similarity, own, most)
    ]
    rare = known[(counts > 1) & (counts <= max(_FEW, len(prints) // _TENTH))]
    nearest = similarity.max(axis=1) if similarity.size else np.zeros(own)
    return Ranking(tuple(pairs), tuple(nearest.tolist()), frozenset(rare.tolist()))


def _in_common(shared: Sequence[Numbers], weights: _Weights, own: int) -> _Weights:
    """Returns the weight of common fingerprints, for each of the class's and each submission.

    `shared` are the places of each submission's fingerprints in `weights`.
    """
    common = np.zeros((own, len(shared)))
    for first in range(0, len(weights), _COLUMNS):
        roots = np.sqrt(weights[first : first + _COLUMNS]).astype(np.float32)
        block = np.zeros((len(shared), len(roots)), np.float32)
        for row, places in zip(block, shared, strict=True):
            begin, end = np.searchsorted(places, (first, first + len(roots)))
            here = places[begin:end] - first
            row[here] = roots[here]
        common += block[:own] @ block.T
    return common


def _highest(similarity: _Weights, own: int, most: int) -> list[tuple[int, int, float]]:
    once = similarity.copy()
    once[:, :own] = np.triu(once[:, :own])
    flat = once.ravel()
    chosen = np.argsort(-flat, kind="stable")[:most]
    return [(*divmod(int(at), once.shape[1]), float(flat[at])) for at in chosen if flat[at] > 0]
