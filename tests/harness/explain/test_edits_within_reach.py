"""The share of the corpus's slips that one edit undoes."""

from __future__ import annotations

import ast

import pytest

from tests.harness.corpus.programs import slips, texts
from tests.harness.marks import rest_slow
from tests.harness.undoing import edits_of

pytestmark = pytest.mark.unit

WITHIN_REACH = 0.5


@pytest.mark.process(takes="a second")
@pytest.mark.parametrize("every", rest_slow([5, 1], [5]))
def test_slips_of_the_corpus_lie_within_reach(every):
    """At least half of the wrong programs that differ in one line are one edit away."""
    found = []
    for slip in [*slips()][::every]:
        right, wrong = texts(slip.style), texts(slip.style, slip.edits)
        for file in right:
            pairs = list(zip(right[file].split("\n"), wrong[file].split("\n"), strict=False))
            changed = {place for place, (one, other) in enumerate(pairs, 1) if one != other}
            if len(changed) == 1:
                wanted = ast.dump(ast.parse(right[file]))
                edited = (one.applied(wrong[file]) for one in edits_of(wrong[file], changed))
                found.append(any(ast.dump(ast.parse(text)) == wanted for text in edited))
    assert sum(found) >= WITHIN_REACH * len(found)
