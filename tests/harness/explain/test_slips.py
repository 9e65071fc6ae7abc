"""A course's slips: rows and words in addition to those of the engine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from grader.core.assignment import BadAssignment
from grader.explain.rewriting.generation import check_examples, edits_of
from grader.explain.rewriting.program.vocabulary import PLAIN, Nature
from grader.explain.rewriting.slips import FROZEN, HANDED_OUT, SLIPS, handed_out, load_slips

pytestmark = pytest.mark.unit

ROOT = Path(__file__).parents[3]
COURSES = [ROOT, ROOT / "examples/language_model"]
ROW = """
[[slip]]
subject = "how pixels are counted"
before = "$image.shape[0] * $n"
after = "$image.shape[0] * $image.shape[1]"
example = ["return image.shape[0] * side", "return image.shape[0] * image.shape[1]"]
"""


@pytest.fixture
def course(tmp_path):
    """A function that writes a course's slips and returns its folder."""

    def written(text: str) -> Path:
        (tmp_path / SLIPS).parent.mkdir(exist_ok=True)
        (tmp_path / SLIPS).write_text(text)
        return tmp_path

    return written


@pytest.mark.process(takes="a second")
@pytest.mark.parametrize("root", COURSES, ids=lambda root: root.name)
def test_each_row_of_a_course_does_what_its_example_says(root):
    """Nothing would check a row without an example."""
    slips = load_slips(root)
    assert len(slips.examples) == len(slips.rows) > 20
    check_examples(slips)


def test_a_course_row_adds_an_edit_that_the_engine_lacks(course):
    """An author adds five lines to cover a slip that the engine misses."""
    slips = load_slips(course(ROW))
    source = "def pixels(image, side):\n    return image.shape[0] * side\n"
    fixed = source.replace("* side", "* image.shape[1]")
    subjects = {edit.applied(source): edit.subject for edit in edits_of(source, slips=slips)}
    assert subjects[fixed] == "how pixels are counted"
    assert fixed not in [edit.applied(source) for edit in edits_of(source)]


def test_no_row_adds_a_keyword_that_the_call_already_has(course):
    """Such a program parses, but does not compile."""
    row = '[[slip]]\nsubject = "how the variance is taken"\nbefore = "$x.var($*axes)"\n'
    slips = load_slips(course(f'{row}after = "$x.var($*axes, unbiased=False)"\n'))
    for given, is_added in (("0", True), ("0, unbiased=True", False)):
        source = f"def variance(x):\n    return x.var({given})\n"
        made = [edit.applied(source) for edit in edits_of(source, slips=slips)]
        assert any(f"({given}, unbiased=False)" in one for one in made) is is_added
        for one in made:
            compile(one, "edited.py", "exec")


def test_a_course_vocabulary_defines_related_words(course):
    """The engine knows no colours."""
    words = '[words]\nexchanged = ["red green"]\nin_order = [["hue tone", "hues tones"]]\n'
    words += '[words.kinds]\nmask = "stencil"\n'
    spoken = load_slips(course(words)).vocabulary
    assert [one.kinship("red_sum", "green_sum") for one in (PLAIN, spoken)] == [1, 2]
    assert [one.nature_of("stencil") for one in (PLAIN, spoken)] == [None, Nature.MASK]
    assert [one.disorder(["tones", "hue"]) for one in (PLAIN, spoken)] == [0, 1]


@pytest.mark.parametrize("name", ["lr", "weight_decay", "step_size", "beta1", "beta_2"])
def test_the_settings_of_an_optimizer_are_numbers(name):
    """A `weight_decay` is no weight, and a `step_size` no size: each may stand for another."""
    assert PLAIN.nature_of(name) is Nature.NUMBER


def test_a_course_needs_no_slips(tmp_path):
    """The handout of such a course has none either."""
    assert not load_slips(tmp_path).rows
    assert handed_out(tmp_path) is None


def test_the_handout_has_the_same_rows_without_their_examples(course, tmp_path):
    """The same edits are tried at home; an example could show more than its row."""
    own = load_slips(course(ROW))
    text = handed_out(tmp_path)
    assert text is not None
    assert "example" not in text
    home = tmp_path / "home"
    (home / HANDED_OUT).parent.mkdir(parents=True)
    (home / HANDED_OUT).write_text(text)
    assert load_slips(home).rows == own.rows


def test_the_frozen_slips_of_the_root_are_up_to_date():
    """`grader freeze` writes this file; run it after each change of a row."""
    frozen = ROOT / "tests/public/fixtures" / FROZEN
    assert json.loads(frozen.read_text()) == json.loads(handed_out(ROOT) or "")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[[slip]]", "[[slips]]", "knows no 'slips': did you mean slip?"),
        ("[[slip]]", "[[slip]", "is not TOML"),
        ("example", "exmple", "knows no 'exmple': did you mean example?"),
        (
            '"$image.shape[0] * $n"',
            '"$image.shape[0"',
            "is not an expression or statement with gaps",
        ),
        (
            "subject =",
            'at = ["storred"]\nsubject =',
            "'storred' is not known: did you mean",
        ),
        ("subject =", 'where = { n = "sise" }\nsubject =', "'sise' is not known"),
        ("subject =", 'where = { m = "size" }\nsubject =', "where names $m, which is not a gap"),
        ("subject =", "cost = 9\nsubject =", "cost must be a number from 1 (likely)"),
        ("* side", "+ side", "no edit makes 'return image.shape[0] * image.shape[1]' of"),
        ('["return image.shape[0] * side", ', "[", "example must be two lines of code"),
        ("[[slip]]", "[words]\nexchanged = 3\n[[slip]]", "exchanged must be a list of texts"),
        ("[[slip]]", '[words.kinds]\nmask = "("\n[[slip]]', "kinds.mask is not a pattern"),
        ("[[slip]]", '[words.kinds]\nmask = "(?i)a"\n[[slip]]', "kinds.mask is not a pattern"),
    ],
)
def test_a_wrong_row_is_refused_with_its_place(course, old, new, said):
    """The author reads which row is wrong, and what to do."""
    with pytest.raises(BadAssignment) as raised:
        check_examples(load_slips(course(ROW.replace(old, new))))
    assert said in str(raised.value)
    assert str(raised.value).startswith("solutions/slips.toml")


@pytest.mark.parametrize("unit", ["_len", "_n_len", "_head", "_"])
def test_no_variable_name_causes_exponential_pattern_matching(unit):
    """A name that almost fits in exponentially many ways would otherwise take for ever."""
    words = load_slips(ROOT).vocabulary
    for count in (*range(1, 40), 10_000):
        assert words.nature_of(f"n{unit * count}x") in (None, Nature.SIZE)
