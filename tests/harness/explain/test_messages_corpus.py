"""A sample of the corpus of slips: the messages say what a tutor would say."""

from __future__ import annotations

import pytest

from benchmarks.messages import RIGHT, WRONG, in_class
from benchmarks.messages_corpus import load
from tests.harness.marks import rest_slow

pytestmark = pytest.mark.unit

SAMPLE = (
    "step_by_step/dtype-half-1",
    "step_by_step/tuple-returned-1",
    "step_by_step/name-typo-1",
    "step_by_step/print-instead-of-return-1",
    "step_by_step/list-plus-int-1",
    "method_chains/in-place-input-1",
    "step_by_step/attribute-of-none-1",
    "loaded_modules/no-grad-1",
    "two_files/keyword-typo-1",
    "two_files/max-returns-pair-1",
)


def test_every_slip_of_the_corpus_fits_its_program():
    """The corpus has at least 250 slips, each with a sentence and a line."""
    corpus = load()
    assert len(corpus) >= 250
    assert len({told.slip.kind for told in corpus}) >= 100


@pytest.mark.process
@pytest.mark.parametrize("sample", rest_slow([SAMPLE[::5], SAMPLE], [SAMPLE[::5]]), ids=len)
def test_messages_of_a_sample_match_the_tutors(sample):
    """The message has the tutor's sentence and line, and nothing that misleads."""
    reads = in_class([told for told in load() if told.slip.id in sample], jobs=1)
    outcomes = {one.told.slip.id: one.outcome for one in reads}
    assert len(outcomes) == len(sample)
    assert WRONG not in outcomes.values(), outcomes
    assert list(outcomes.values()).count(RIGHT) >= len(sample) - 1, outcomes
