"""Explains weights that a module cannot load."""

from __future__ import annotations

import re

from grader.core.wire.calls import Raised
from grader.explain.exceptions.kinds import ExceptionKind, Explanation, kind, names_in_words

_KEY = re.compile(r'"([^"\n]{1,200})"')
_SHAPES = re.compile(
    r"size mismatch for (\S+): copying a param with shape torch\.Size\((\[.*?\])\) from checkpoint,"
    r" the shape in current model is torch\.Size\((\[.*?\])\)"
)
_MOST = 6


def _state_dict(match: re.Match[str], raised: Raised) -> Explanation:
    module, text = match[1], raised.message
    missing, unexpected = _keys(text, "Missing"), _keys(text, "Unexpected")
    sentences = []
    if missing and unexpected:
        sentences += [
            f"The parameters of {module} are called {names_in_words(missing, _MOST)}; what is "
            f"loaded calls them {names_in_words(unexpected, _MOST)}.",
            _renaming(missing, unexpected),
        ]
    elif missing:
        sentences.append(
            f"{module} also wants {names_in_words(missing, _MOST)}, and gets no value."
        )
    elif unexpected:
        sentences.append(f"{module} has no {names_in_words(unexpected, _MOST)}.")
    shapes = _SHAPES.findall(text)
    for key, given, wanted in shapes[:_MOST]:
        sentences.append(f"{key} is {given} in what is loaded, and {wanted} in {module}.")
    if len(shapes) > _MOST:
        sentences.append(f"{len(shapes) - _MOST} more have other shapes.")
    return Explanation(
        " ".join(sentences), f"load_state_dict cannot load these weights into {module}"
    )


def _keys(text: str, which: str) -> list[str]:
    found = re.search(rf"{which} key\(s\) in state_dict: ([^\n]*)", text)
    return _KEY.findall(found[1]) if found else []


def _renaming(missing: list[str], unexpected: list[str]) -> str:
    """What to do about the names, where it is plain."""
    wanted = set(missing)
    for suffix in {key.rpartition(".")[2] for key in missing}:
        if all(f"{key}.{suffix}" in wanted for key in unexpected):
            return f"Each key lacks .{suffix} at its end."
    for prefix in {key.partition(".")[0] for key in missing}:
        if all(f"{prefix}.{key}" in wanted for key in unexpected):
            return f"Each key lacks {prefix}. before it."
    return "The keys must be the module's own names, or the module's names those of the keys."


STATE_DICT: tuple[ExceptionKind, ...] = (
    kind(r"Error\(s\) in loading state_dict for (\w+):", _state_dict),
)
