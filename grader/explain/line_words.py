"""The sentences about lines whose change was seen to make failed tests pass."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

_NUMBER, _NUMBERS = "a number", "a constant"
_MISSING, _NOT_HERE = " that is missing", " that may not belong there"
_UNUSED = ", which is never used"
_CALL = f"a call{_MISSING}"
_CALLED = re.compile(r"\b(\w+)\(")


def suspicion(subjects: Sequence[str], places: Sequence[str]) -> str:
    """Returns the sentence that points at a line: "A constant in positions.py:75 looks wrong."

    Each subject, like "a number" or "the sign of a term", belongs to the place at its index.
    """
    subject = subjects[0]
    where = " or ".join(places)
    if not all(subjects):
        return f"Check {where}."
    if len({*subjects}) > 1:
        each = zip(subjects, places, strict=True)
        return f"Check {', or '.join(f'{_to_check(one)} at {place}' for one, place in each)}."
    if subject == _NUMBER:
        return f"A constant in {where} looks wrong."
    if subject.endswith(_MISSING):
        return f"{_begun(subject.removesuffix(_MISSING))} may be missing at {where}."
    if subject.endswith(_NOT_HERE):
        return f"{_begun(subject.removesuffix(_NOT_HERE))} may not belong at {where}."
    if subject.endswith(_UNUSED):
        return f"{subject.removesuffix(_UNUSED)} is never used: check {where}."
    return f"Check {_to_check(subject)} at {where}."


def subject_in_words(subject: str, before: str, after: str) -> str:
    """Returns the subject of an edit, and names the call if one is missing.

    Compares the line `before` and `after` the edit. For example: "a call of `softmax` that is
    missing". Returns "" if the edit adds several calls or none.
    """
    if subject != _CALL:
        return subject
    added = Counter(_CALLED.findall(after)) - Counter(_CALLED.findall(before))
    return f"a call of `{next(iter(added))}`{_MISSING}" if added.total() == 1 else ""


def proof(
    places: Sequence[str], sources: Sequence[str], is_all: bool, are_several: bool = False
) -> str:
    """Returns the sentence that says which change was seen to fix tests, and the source below.

    `places` are alternatives, each with its source. Without `is_all`, some tests of the exercise
    stay wrong or did not run; another change of the line may fix them. If they `are_several`, a
    place is of lines that change together.
    """
    is_one = len(places) == 1
    which = places[0] if is_one else "one of these lines"
    alone = " together" if are_several else " alone"
    alone = alone if is_one and (is_all or are_several) else ""
    tests = "all failed tests of the exercise" if is_all else "this test"
    told = sources if is_one else map(": ".join, zip(places, sources, strict=True))
    return "\n    ".join([f"Changing {which}{alone} fixes {tests}.", *told])


def _to_check(subject: str) -> str:
    """Returns what to check: "whether a factor is missing" of "a factor that is missing"."""
    for ending, words in ((_MISSING, "is missing"), (_NOT_HERE, "belongs there")):
        if subject.endswith(ending):
            return f"whether {subject.removesuffix(ending)} {words}"
    return re.sub(rf"^{_NUMBER}\b", _NUMBERS, subject)


def _begun(text: str) -> str:
    return text[:1].upper() + text[1:]
