"""Submissions with the same code: the second reuses the first one's explanation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.slips_corpus import build, load
from grader.core.assignment import Settings
from grader.core.evidence import Evidence, Repair
from grader.core.explanation import Told, Words
from grader.explain.explainer.explanation_cache import ExplanationCache, digest_below
from grader.grading.job.client import JobClient
from grader.grading.options import Task
from grader.intake.entry import Entry
from tests.harness.conftest import write_files
from tests.harness.marks import rest_slow
from tests.harness.waiting import PATIENCE

pytestmark = pytest.mark.unit

ROOT = Path(__file__).parents[3]
# A package, a notebook, several files, and an exception that is raised.
SLIPS = {
    "two_files": "two_files/mask-not-passed-1",
    "fused_package": "fused_package/",
    "notebook_and_module": "notebook_and_module/",
    "raises": "loaded_modules/",
}
DOUBLES = {"adapters.py": "SCALE = 2\n\ndef run_double(x):\n    return x * SCALE\n"}


@pytest.fixture(scope="module")
def client() -> Iterator[JobClient]:
    settings = Settings(
        str(ROOT), 3, (), "adapters.py", 60.0, 2048, "suite", explain_seconds=PATIENCE
    )
    (client,) = JobClient.several(settings, 1, submissions=1)
    yield client
    client.close()


def without_costs(words: Words) -> Words:
    """Returns the words without the number of edits and calls and the seconds they cost."""
    repairs = tuple(replace(one, edits=0, seconds=0.0) for one in words.evidence.repairs)
    return replace(words, evidence=replace(words.evidence, repairs=repairs))


@pytest.mark.process
@pytest.mark.parametrize("kind", rest_slow(SLIPS, 4))
def test_a_copy_gets_the_explanation_that_it_would_get_alone(client, kind, tmp_path):
    """The words are those of the first submission, and no edit is tried for the copy."""
    style, _, name = SLIPS[kind].partition("/")
    slip = next(
        one for one in load([style]) if one.id.endswith(name) and one.raises == (kind == "raises")
    )
    first, copy = (Entry(one, build(slip, tmp_path / one)) for one in ("first", "copy"))
    # After a grading the explainer is a new process, which has no cached explanations.
    graded = client.grade(Task(copy, 0, "copy", ""))
    alone = client.explain(first, client.grade(Task(first, 0, "first", "")))
    again = client.explain(copy, graded)
    assert again.tests
    assert again == without_costs(alone)
    assert any(one.edits for one in alone.evidence.repairs)


def test_words_are_used_again_for_equal_files_and_verdicts(tmp_path):
    """Their repairs cost nothing the second time."""
    files = []
    for name in ("one", "two"):
        write_files(tmp_path / name, DOUBLES)
        files.append(digest_below(tmp_path / name))
    one, two = files
    evidence = Evidence(repairs=(Repair(("run_double",), (("adapters.py", 2),), 9, 0.5),))
    words = Words({"a test": Told("wrong (adapters.py:4)")}, evidence=evidence)
    cache = ExplanationCache()
    cache.learn("verdicts", one, words)
    assert cache.words("other verdicts", two) is None
    assert cache.words("verdicts", b"other files") is None
    assert cache.words("verdicts", two) == without_costs(words)


@pytest.mark.parametrize(
    "files",
    [
        {"adapters.py": DOUBLES["adapters.py"].replace("2", "3")},
        {"adapters.py": "# mine\n" + DOUBLES["adapters.py"]},
        {"adapters.py": DOUBLES["adapters.py"].replace("= 2", "= 2  # mine")},
        {"adapters.py": DOUBLES["adapters.py"].replace("x *", "x  *")},
        DOUBLES | {"notes.txt": "# mine"},
        DOUBLES | {"more.py": ""},
        {"Adapters.py": DOUBLES["adapters.py"]},
    ],
)
def test_any_difference_in_code_or_its_places_is_another_submission(tmp_path, files):
    """Words about code never reach the author of other code, or of another layout of it."""
    write_files(tmp_path / "one", files)
    write_files(tmp_path / "two", DOUBLES)
    assert digest_below(tmp_path / "one") != digest_below(tmp_path / "two")


def test_comments_in_brackets_and_strings_make_another_submission(tmp_path):
    """Messages quote the lines of a statement up to its last bracket."""
    for kind in ("found = [\n    1,\n    # {}\n    2,\n]\n", 'TEXT = """\n# {}\n"""\n'):
        digests = set()
        for name in ("one", "two"):
            write_files(tmp_path / name, {"adapters.py": kind.format(name)})
            digests.add(digest_below(tmp_path / name))
        assert len(digests) == 2


def test_comments_that_move_no_code_make_no_other_submission(tmp_path):
    """Copied code often differs in the author's name alone."""
    code = DOUBLES["adapters.py"]
    for name, comment in (("one", "# by one"), ("two", "# by two")):
        write_files(tmp_path / name, {"adapters.py": f"{comment}\n{code}{comment}\n\n"})
    assert digest_below(tmp_path / "one") == digest_below(tmp_path / "two")


def test_very_large_files_are_explained_without_the_cache(tmp_path):
    """The digest reads a bounded number of bytes."""
    write_files(tmp_path, DOUBLES | {"large.bin": "x" * 2**24})
    assert digest_below(tmp_path) is None


def test_comments_count_in_more_code_than_the_digest_may_parse(tmp_path):
    """Parsing takes a thousand times the memory of the code."""
    long = "x = 1\n" * 40_000
    for name in ("one", "two"):
        write_files(tmp_path / name, {"a.py": long, "b.py": f"{long}# by {name}\n"})
    assert digest_below(tmp_path / "one") != digest_below(tmp_path / "two")
