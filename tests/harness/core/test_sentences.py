"""The catalogue of all sentences for users: each follows the rules of docs/style.md."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.harness.sentences import (
    RULED_OUT,
    Sentence,
    catalogue,
    example,
    sentences_in,
    sentences_of_page,
    sentences_of_script,
    sentences_of_table,
    sentences_of_template,
)

pytestmark = pytest.mark.process(takes="four seconds")

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def sentences() -> Sequence[Sentence]:
    """The catalogue, which takes seconds to read."""
    return [*catalogue(ROOT)]


def test_every_sentence_keeps_the_rules(sentences):
    """A sentence is short, begins well and uses the field's words.

    A new message is checked from its first day.
    """
    wrong = [
        f"{one.path}:{one.line}: {fault}: {one.text}" for one in sentences for fault in one.faults()
    ]
    assert wrong == []


def test_the_catalogue_holds_messages_and_pages(sentences):
    """A catalogue without files would pass every check."""
    paths = {one.path for one in sentences}
    assert {
        "solutions/mistakes/rope.py",
        "examples/language_model/solutions/mistakes/rope.py",
        "grader/reports/pages/templates/submission.html.jinja",
        "grader/reports/pages/assets/pictures.js",
        "grader/explain/exceptions/sizes.py",
        "grader/explain/line_words.py",
        "grader/home/summary.py",
        "grader/testing/differences.py",
        "grader/cli/commands/decide.py",
        "grader/explain/repair/earlier_calls.py",
        "grader/explain/rewriting/rules/operators.toml",
        "grader/sandbox/usage_watch.py",
        "grader/worker/loading.py",
        "grader/authoring/template/README.md.template",
        "README.md",
        "CONTRIBUTING.md",
        "docs/students.md",
        "docs/security.md",
        "grader/worker/README.md",
    } <= paths
    assert len(sentences) > 2000


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("What it hides is seen by all.", "begins with What"),
        ("- **Of all these**, one is right.", "begins with Of"),
        (" ".join(["word"] * 26), "26 words, 25 at most"),
        ("Your keys and values have changed places.", "'changed places': say 'swapped'"),
        ("Look at the file (a.py, line 7) again.", "', line 7': say 'path:line'"),
    ],
)
def test_each_broken_style_rule_is_reported(text, fault):
    """The fault says which word to use instead."""
    assert [*Sentence("a.py", 1, text).faults()] == [fault]


def test_texts_are_split_into_sentences_with_gaps_for_filled_in_values(tmp_path):
    """Docstrings are left out, because users do not read them."""
    file = tmp_path / "words.py"
    file.write_text(
        '"""A docstring that nobody but an author reads."""\n'
        'said = f"The axis {axis} is wrong. Check the shape of it."\n'
    )
    assert [one.text for one in sentences_in(file, tmp_path)] == [
        "The axis {} is wrong.",
        "Check the shape of it.",
    ]


def test_an_example_shows_a_sentence_with_its_gaps_filled():
    """An example has its gaps filled; a text with the gaps themselves does not count."""
    sentence = Sentence("a.py", 1, "The axis {} is wrong, not {}.")
    texts = ["The axis {} is wrong, not {}.", "so: The axis -2 is wrong, not -1. Look"]
    assert example(sentence, texts) == "The axis -2 is wrong, not -1."
    assert example(sentence, texts[:1]) == ""


def test_docs_style_lists_every_ruled_out_word():
    """The page and the list of words agree."""
    page = (ROOT / "docs" / "style.md").read_text("utf-8")
    assert [said for said in RULED_OUT.values() if said.split()[0] not in page] == []


def test_a_template_is_read_without_its_markup(tmp_path):
    """Each element is a text of its own, and each filled-in value is a gap."""
    file = tmp_path / "page.html.jinja"
    file.write_text(
        '{% if x %}<p class="a b c d">Fix the {{ name }} of <b>your</b> mask.</p>{% endif %}\n'
        "<li>The first of them all</li><li>The second of them all</li>\n"
    )
    assert [(one.line, one.text) for one in sentences_of_template(file, tmp_path)] == [
        (1, "Fix the {} of your mask."),
        (2, "The first of them all"),
        (2, "The second of them all"),
    ]


def test_a_page_is_read_without_its_code(tmp_path):
    """List entries and table cells are texts of their own, and headings are left out."""
    file = tmp_path / "page.md"
    file.write_text(
        "# The title of this page\n\nRun `pytest` in this\nfolder first.\n\n"
        "    what is typed here is code\n\n```\nand so is this here\n```\n"
        "- the first entry of all\n- the second entry of all\n"
    )
    assert [(one.line, one.text) for one in sentences_of_page(file, tmp_path)] == [
        (3, "Run {} in this folder first."),
        (11, "- the first entry of all"),
        (12, "- the second entry of all"),
    ]


def test_only_the_texts_of_a_toml_table_are_read(tmp_path):
    """Keys and short words are left out."""
    file = tmp_path / "slips.toml"
    file.write_text('subject = "the place of the rotation"\ncost = 1\nkind = "tensor"\n')
    assert [one.text for one in sentences_of_table(file, tmp_path)] == ["the place of the rotation"]


def test_only_the_texts_of_a_script_are_read(tmp_path):
    """Names of elements and single words are left out."""
    file = tmp_path / "page.js"
    file.write_text(
        'show("th", `Half took at most ${seconds} seconds`, "The values as a table");\n'
    )
    assert [one.text for one in sentences_of_script(file, tmp_path)] == [
        "Half took at most {} seconds",
        "The values as a table",
    ]
