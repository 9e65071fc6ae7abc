"""Submissions that differ only in comments: the second reuses the first one's explanation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.slips_corpus import build, load
from grader.core.assignment import Settings
from grader.core.evidence import Evidence, Repair
from grader.core.explanation import Told, Words
from grader.core.verdict import Grade, GradeStatus, Where
from grader.explain.explainer.explanation_cache import ExplanationCache, SubmissionProgram
from grader.grading.coordinator import ExplanationQueue
from grader.grading.job.client import JobClient
from grader.grading.options import ExplanationTask, Task
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
DOUBLES = '"""Doubles."""\nSCALE = 2\n\ndef run_double(x):\n    return x * SCALE\n'


def commented(folder: Path) -> Path:
    """Adds comments and a longer docstring to the same code."""
    for file in folder.rglob("*.py"):
        text = re.sub(r'^"""', '"""Mine. ', file.read_text("utf-8"))
        text = re.sub(r"^(def |class |import |from )", r"# Now this.\n\n\1", text, flags=re.M)
        file.write_text(f"# Handed in by me.\n{text}", "utf-8")
    return folder


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
    repairs = tuple(replace(one, edits=0, calls=0, seconds=0.0) for one in words.evidence.repairs)
    return replace(words, evidence=replace(words.evidence, repairs=repairs))


@pytest.mark.process
@pytest.mark.parametrize("kind", rest_slow(SLIPS, 4))
def test_a_commented_copy_gets_the_explanation_that_it_would_get_alone(client, kind, tmp_path):
    """Line numbers and quotes are those of the copy, though no edit is tried for the copy."""
    style, _, name = SLIPS[kind].partition("/")
    slip = next(
        one for one in load([style]) if one.id.endswith(name) and one.raises == (kind == "raises")
    )
    first = Entry("first", build(slip, tmp_path / "first"))
    copy = Entry("copy", commented(build(slip, tmp_path / "copy")))
    graded = client.grade(Task(copy, 0, "copy", ""))
    alone = client.explain(copy, graded)
    # After a grading the explainer is a new process, which has no cached explanations.
    of_first = client.explain(first, client.grade(Task(first, 0, "first", "")))
    again = client.explain(copy, graded)
    assert without_costs(again) == without_costs(alone)
    assert again.tests.keys() == of_first.tests.keys() != set()
    assert any(one.edits for one in alone.evidence.repairs)
    assert not any(one.edits for one in again.evidence.repairs)
    assert [one.where for one in again.tests.values()] != [
        one.where for one in of_first.tests.values()
    ]


def likeness(folder: Path, **files: str | bytes) -> bytes:
    """Returns the likeness of a submission with these files."""
    for name, content in files.items():
        file = folder / name.replace("__", ".")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    program = SubmissionProgram.below(folder)
    assert program is not None
    return program.likeness


@pytest.mark.parametrize(
    "text",
    [
        f"# By me.\n\n{DOUBLES}",
        DOUBLES.replace("Doubles.", "Twice\nthe same."),
        DOUBLES.replace('"""Doubles."""\n', ""),
        DOUBLES.replace("SCALE\n", "SCALE  # which is 2\n").replace("SCALE = 2", "SCALE  =  2"),
        DOUBLES.replace("\n", "\r\n"),
    ],
)
def test_comments_docstrings_and_spaces_do_not_change_the_likeness(tmp_path, text):
    """Students change these parts when they copy a program."""
    expected = likeness(tmp_path / "one", adapters__py=DOUBLES)
    assert likeness(tmp_path / "other", adapters__py=text) == expected


@pytest.mark.parametrize(
    "files",
    [
        {"adapters__py": DOUBLES.replace("2", "3")},
        {"adapters__py": DOUBLES.replace("2", "2.0")},
        {"adapters__py": DOUBLES.replace("SCALE\n", "SCALE; 'not a docstring'\n")},
        {"adapters__py": DOUBLES.replace("x * SCALE", "x * (\n        SCALE)")},
        {"adapters__py": "# coding: latin-1\nSCALE = 'ä'\n"},
        {"adapters__py": DOUBLES, "more__py": ""},
        {"adapters__py": DOUBLES, "weights__bin": b"\0"},
        {"adapters__py": DOUBLES + "def\n"},
        {"Adapters__py": DOUBLES},
    ],
)
def test_any_other_difference_changes_the_likeness(tmp_path, files):
    """A student's copy never gets the original's explanation once its code or data differ.

    The original never gets the copy's explanation either. Other line breaks also make another
    program, because another line could be the wrong one.
    """
    assert likeness(tmp_path / "one", **files) != likeness(tmp_path / "two", adapters__py=DOUBLES)


def test_a_changed_byte_in_a_data_file_changes_the_likeness(tmp_path):
    """A submission may load its behaviour from a data file."""
    with_data = [
        likeness(tmp_path / str(number), adapters__py=DOUBLES, table__bin=bytes([number]))
        for number in range(2)
    ]
    assert with_data[0] != with_data[1]


def test_form_feeds_and_unicode_separators_in_strings_end_no_line(tmp_path):
    """Lines are counted as Python counts them; `str.splitlines` would count more."""
    text = f"NAME = 'a\x0c\x85\u2028b'\n{DOUBLES}"
    write_files(tmp_path / "one", {"adapters.py": text})
    write_files(tmp_path / "two", {"adapters.py": f"#\n{text}"})
    one, two = SubmissionProgram.below(tmp_path / "one"), SubmissionProgram.below(tmp_path / "two")
    assert one is not None
    assert two is not None
    assert one.likeness == two.likeness
    assert one.counterpart("adapters.py", 6, two) == 7


@pytest.mark.parametrize("file", ["deep.py", "large.py", "large.bin"])
def test_huge_or_deeply_nested_sources_are_not_read_as_programs(tmp_path, file):
    """A source that is deeply nested or very long is explained without the cache."""
    contents = {
        "deep.py": "-" * 50_000 + "1",
        "large.py": "x = 1\n" * 50_000,
        "large.bin": "x" * 2**24,
    }
    write_files(tmp_path, {"adapters.py": DOUBLES, file: contents[file]})
    program = SubmissionProgram.below(tmp_path)
    assert program is None or set(program.files) == {"adapters.py"}


def words_with(message: str, printed: str = "") -> Words:
    """Returns words for one test, with a proved line."""
    repairs = (Repair(("run_double",), (("adapters.py", 2),), 9, 9, 0.5),)
    evidence = Evidence(printed=printed, repairs=repairs)
    return Words({"a test": Told(message, where=Where("adapters.py", 5))}, evidence=evidence)


def adapted_words(folder: Path, text: str, words: Words) -> Words | None:
    """Returns the words that the cache adapts from `DOUBLES` to another text, or None."""
    write_files(folder / "one", {"adapters.py": DOUBLES})
    write_files(folder / "two", {"adapters.py": text})
    one, two = SubmissionProgram.below(folder / "one"), SubmissionProgram.below(folder / "two")
    assert one is not None
    assert two is not None
    cache = ExplanationCache()
    cache.learn("verdicts", one, words)
    assert cache.words("other verdicts", two) is None
    return cache.words("verdicts", two)


def test_a_reused_explanation_follows_every_line_that_it_names(tmp_path):
    """Line numbers move in the message, its place and its repairs; the costs become zero."""
    words = words_with("(adapters.py:5: return x * SCALE) | or adapters.py:2: SCALE = 2")
    again = adapted_words(tmp_path, f"# By me.\n{DOUBLES}", words)
    assert again is not None
    assert again.tests["a test"] == Told(
        "(adapters.py:6: return x * SCALE) | or adapters.py:3: SCALE = 2",
        where=Where("adapters.py", 6),
    )
    assert again.evidence.repairs == (Repair(("run_double",), (("adapters.py", 3),), 0, 0, 0.0),)


@pytest.mark.parametrize(
    ("message", "printed"),
    [
        ("adapters.py:1: no code", ""),
        ("somewhere.py:5", ""),
        ("    | adapters.py:5", ""),
        ("wrong", 'File "adapters.py", line 5, in run_double'),
        ("wrong", "adapters.py:5: UserWarning"),
    ],
)
def test_an_explanation_with_untraceable_lines_is_not_reused(tmp_path, message, printed):
    """The copy is explained from scratch, because printed text may name lines in any form."""
    assert adapted_words(tmp_path, f"# By me.\n{DOUBLES}", words_with(message, printed)) is None


def test_an_explanation_that_quotes_a_changed_comment_is_not_reused(tmp_path):
    """An explanation that quotes a line with another student's comment is not reused."""
    text = DOUBLES.replace("* SCALE\n", "* SCALE  # mine\n")
    assert (
        adapted_words(tmp_path, text, words_with("wrong (adapters.py:5: return x * SCALE)")) is None
    )


def explanation_task(name: str, verdicts: bytes) -> ExplanationTask:
    grade = Grade(name, GradeStatus.GRADED, 0, 1, 0, "", "", 0.0, None, {}, ())
    return ExplanationTask(Entry(name, Path(name)), lambda: grade, verdicts)


def test_an_explainer_prefers_submissions_with_equal_verdicts():
    """An explainer stays with equal verdicts, where its cache helps, and no explainer is idle."""
    turns = ExplanationQueue(
        explanation_task(f"{kind}{n}", kind.encode()) for n in range(3) for kind in "abb"
    )
    taken = [turns.take(who).entry.name[0] for who in ("me", "you", "me", "you", "you", "me")]
    assert taken == ["b", "a", "b", "a", "a", "b"]
    assert [turns.take(who).entry.name[0] for who in ("you", "me", "you")] == ["b", "b", "b"]


def test_a_reused_explanation_follows_all_lines_of_one_change(tmp_path):
    """A change of several lines names the file once."""
    text = DOUBLES.replace("def run", "# Twice.\ndef run")
    words = words_with("Changing adapters.py:2, 4 and 5 fixes this test.")
    again = adapted_words(tmp_path, f"# By me.\n{text}", words)
    assert again is not None
    assert again.tests["a test"].message == "Changing adapters.py:3, 6 and 7 fixes this test."
