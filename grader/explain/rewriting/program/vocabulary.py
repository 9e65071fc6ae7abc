"""The words of a course: names that are easily confused, and names that suggest a value's nature.

The engine knows the words of Python and torch. An assignment adds its own in
`solutions/slips.toml`.
"""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import Enum, auto

Group = tuple[str, ...]


class Nature(Enum):
    """The nature of a value, as guessed without running code."""

    TENSOR = auto()
    WEIGHT = auto()
    MASK = auto()
    SIZE = auto()
    NUMBER = auto()
    FLAG = auto()
    SHAPE = auto()
    FUNCTION = auto()
    OTHER = auto()

    @property
    def is_tensor(self) -> bool:
        """Returns whether the value is a tensor of some kind."""
        return self in (Nature.TENSOR, Nature.WEIGHT, Nature.MASK)

    @property
    def is_number(self) -> bool:
        """Returns whether the value is an int or a float."""
        return self in (Nature.SIZE, Nature.NUMBER)

    def corrected(self, seen: Nature) -> Nature:
        """Returns the nature of a value that was guessed to be of this one and `seen` as another.

        A guess from a name may be the finer one: a weight is a tensor, a scale may be a whole
        number.
        """
        match seen:
            case Nature.TENSOR:
                is_finer = self.is_tensor
            case Nature.SIZE:
                is_finer = self is Nature.NUMBER
            case Nature.OTHER:
                is_finer = self in (Nature.SHAPE, Nature.FUNCTION)
            case _:
                is_finer = False
        return self if is_finer else seen


# Words that are easily confused.
_EXCHANGED = (
    ("lower", "upper"),
    ("row", "col", "column"),
    ("rows", "cols", "columns"),
    ("i", "j"),
    ("a", "b"),
    ("x", "y"),
    ("in", "out"),
    ("input", "output"),
    ("inputs", "outputs"),
    ("r", "i"),
    ("sum", "max", "mean"),
    ("min", "max"),
    ("start", "end", "stop"),
)
# Words of this kind that are usually written in this order.
_IN_ORDER = ((("first", "second"),), (("real", "imag"),), (("left", "right"),))
# The first pattern that fits gives a name's nature.
_KINDS = {
    Nature.FLAG: r"^(is|has|use|return)_|^training$|_bias$|^bias$",
    Nature.NUMBER: r"(^|_)(prob|probability|rate|ratio|fraction)$|_(base|eps|temperature)$"
    r"|^(base|eps|epsilon|scale|p|p_drop|rate|dropout|temperature)$"
    r"|^(lr|weight_decay|step_size|beta_?[12])$",
    Nature.MASK: r"mask|keep",
    Nature.WEIGHT: r"^[Ww](_|$)|weight(?!s$)|^[Ww]\d$",
    Nature.SIZE: r"^(d|n|num|max|batch|dim|axis|size|len|half|hidden|inner|in|out|dims)"
    r"(_(in|out|dim|size|length|features|[^\W_]*len))*$"
    r"|_(size|len|length|dim|width)$|^(depth|width|length|count)$",
    Nature.OTHER: r"^(device|dtype|self|cls|name|layers?)$",
}
# In words this short, like `xr` and `yr`, each letter often stands for a word.
_SHORT = 2
# Longer names are not matched: a pattern with repeats may need exponential time.
_LONGEST = 40
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


@functools.lru_cache(maxsize=4096)
def words(name: str) -> tuple[str, ...]:
    """Returns the words of a name in lower case: x, 1 and proj for `x1_proj`."""
    return tuple(word.lower() for word in _WORD.findall(name.removeprefix("self.")))


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """The engine's words and those of an assignment.

    `exchanged` holds groups of words that are easily confused. `in_order` holds families of groups
    that are usually written in this order; groups of one family mean the same. `kinds` holds
    patterns of names, by the nature of the value.
    """

    exchanged: Sequence[Group] = ()
    in_order: Sequence[Sequence[Group]] = ()
    kinds: Mapping[Nature, str] = field(default_factory=dict)

    @functools.cached_property
    def _groups(self) -> Sequence[Group]:
        families = (*_IN_ORDER, *self.in_order)
        return (*(group for own in families for group in own), *_EXCHANGED, *self.exchanged)

    @functools.cached_property
    def _places(self) -> Mapping[str, tuple[int, int]]:
        """Returns, for each word with a usual order, its family and its place in the order."""
        return {
            word: (number, place)
            for number, family in enumerate((*_IN_ORDER, *self.in_order))
            for group in family
            for place, word in enumerate(group)
        }

    @functools.cached_property
    def _kinds(self) -> Sequence[tuple[Nature, re.Pattern[str]]]:
        return [
            (nature, re.compile(f"{own}|{self.kinds[nature]}" if nature in self.kinds else own))
            for nature, own in _KINDS.items()
        ]

    @functools.cached_property
    def kinship(self) -> Callable[[str, str], int]:
        """Gives 2 for names that differ in one word of a group, 1 for a shared word, else 0."""
        return functools.cache(self._kinship)

    def _kinship(self, one: str, other: str) -> int:
        ours, theirs = words(one), words(other)
        if len(ours) == len(theirs):
            different = [pair for pair in zip(ours, theirs, strict=True) if pair[0] != pair[1]]
            if len(different) <= 1 and all(self._are_kin(*pair) for pair in different):
                return 2
        return 1 if set(ours) & set(theirs) else 0

    def _are_kin(self, one: str, other: str) -> bool:
        if one.isdigit() and other.isdigit():
            return True
        if len(one) == len(other) == _SHORT:
            letters = [pair for pair in zip(one, other, strict=True) if pair[0] != pair[1]]
            return len(letters) == 1 and self._are_kin(*letters[0])
        return any(one in group and other in group for group in self._groups)

    def disorder(self, names: Sequence[str]) -> int:
        """Returns how often a name follows one of its family that it usually precedes."""
        count, last = 0, dict[int, int]()
        for name in names:
            found = [self._places[word] for word in words(name) if word in self._places]
            if len(found) == 1:
                family, place = found[0]
                count += place < last.get(family, place)
                last[family] = place
        return count

    def nature_of(self, name: str) -> Nature | None:
        """Returns the nature that a name alone suggests, or None."""
        return next((nature for nature, pattern in self._kinds if _fits(pattern, name)), None)

    def suits(self, name: str, nature: Nature) -> bool:
        """Returns whether a name fits a nature, even if it first suggests another."""
        return any(own is nature and _fits(pattern, name) for own, pattern in self._kinds)


def _fits(pattern: re.Pattern[str], name: str) -> bool:
    """Returns whether a pattern fits a name; long names, which may be hostile, never fit."""
    return len(name) <= _LONGEST and pattern.search(name) is not None


PLAIN = Vocabulary()
_IN_USE: ContextVar[Vocabulary] = ContextVar("vocabulary", default=PLAIN)


@contextlib.contextmanager
def speaking(vocabulary: Vocabulary) -> Iterator[None]:
    """Uses a vocabulary within a `with` block."""
    token = _IN_USE.set(vocabulary)
    try:
        yield
    finally:
        _IN_USE.reset(token)


def in_use() -> Vocabulary:
    """Returns the vocabulary in use."""
    return _IN_USE.get()


def kinship(one: str, other: str) -> int:
    """Returns the kinship of two names in the vocabulary in use: 2, 1 or 0."""
    return _IN_USE.get().kinship(one, other)


def nature_of_name(name: str) -> Nature | None:
    """Returns the nature that a name suggests in the vocabulary in use, or None."""
    return _IN_USE.get().nature_of(name)
