"""Values in words, bounded however large or deep a value is."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterable

import numpy
import torch

from grader.core.wire.values import Elsewhere, Foreign, Local, Named, Value, number_key

# Characters of one text, and of a whole value: collections may be nested.
_LONGEST_WORDS, _LONGEST_VALUE = 60, 500
_SHOWN = 4
# A submission can return a set of any size.
_MOST_SORTED = 1000


def on_one_line(name: str, longest: int) -> str:
    """Returns the beginning of a name that a submission chose, with single spaces in one line."""
    return " ".join(name[:longest].split())


def tensor_in_words(dtype: torch.dtype | str, shape: tuple[int, ...]) -> str:
    """Returns the dtype and shape of a tensor: `float32[2, 5, 8]`."""
    return f"{str(dtype).removeprefix('torch.')}{list(shape)}"


def in_words(value: Value) -> str:
    """Returns a value in a few words: a tensor's dtype and shape, a collection's first items."""
    words = _in_words(value)
    return words if len(words) <= _LONGEST_VALUE else f"{words[: _LONGEST_VALUE - 1]}…"


def _in_words(value: Value) -> str:
    if isinstance(value, Foreign):
        return value.description
    if isinstance(value, Local):
        return value.kind or "…"
    if isinstance(value, torch.Tensor | Elsewhere):
        return tensor_in_words(value.dtype, tuple(value.shape))
    if isinstance(value, numpy.ndarray):
        return f"numpy {tensor_in_words(str(value.dtype), value.shape)}"
    if isinstance(value, Named):
        return f"{value.name}({_some(f'{k}={_in_words(v)}' for k, v in value.fields.items())})"
    if isinstance(value, dict):
        return f"{{{_some(f'{_in_words(k)}: {_in_words(v)}' for k, v in value.items())}}}"
    if isinstance(value, list):
        return f"[{_some(map(_in_words, value))}]"
    if isinstance(value, tuple):
        return f"({_some(map(_in_words, value))}{',' * (len(value) == 1)})"
    if isinstance(value, set | frozenset):
        # The order of a set of texts differs from process to process.
        # Each element is put into words once: twice would take 2^depth steps for nested sets.
        some = itertools.islice(value, _MOST_SORTED)
        first = heapq.nsmallest(_SHOWN + 1, ((*number_key(one), _in_words(one)) for one in some))
        return f"{{{_some(words for *_, words in first)}}}" if value else "set()"
    if isinstance(value, str | bytes):
        # Cut before repr(), which takes many times the size of a text of megabytes.
        value = value[: _LONGEST_WORDS + 1]
    words = repr(value)
    return words if len(words) <= _LONGEST_WORDS else f"{words[:_LONGEST_WORDS]}…"


def _some(words: Iterable[str]) -> str:
    """Returns the first few of the words, and an ellipsis if there are more."""
    first = list(itertools.islice(words, _SHOWN + 1))
    return ", ".join([*first[:_SHOWN], "…"] if len(first) > _SHOWN else first)
