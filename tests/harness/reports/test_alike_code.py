"""The code that similarity compares: its tokens, fingerprints, ranked pairs and shared lines."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from grader.intake.discovery import single
from grader.reports.similarity.process import tokens, windows
from grader.reports.similarity.sources import (
    MOST_FILES,
    MOST_TOKENS,
    ComparedFile,
    ComparedSources,
    Numbers,
    Pair,
    SourcesClient,
    lines_of,
    ranked,
)
from tests.harness.conftest import write_files

pytestmark = pytest.mark.unit

NOTHING = np.empty(0, np.int64)


@pytest.mark.parametrize(
    ("source", "compared"),
    [
        ("x = 1", "Assign name 0"),
        ("x.y = 1", "Assign name x 0"),
        ("del t, x.y", "Delete name name x"),
        ("def f(a):\n    return g(a)", "FunctionDef name name Return g name"),
        ("class C(Base): pass", "ClassDef name Base Pass"),
        ("for i in items: f(i)", "For name items f name"),
        ("import numpy as np, torch.fft\nnp.exp(torch.abs(x))", "exp abs x"),
        ("from math import sqrt as root\nroot(x)", "sqrt x"),
        ("from torch.nn import functional as F\nF.softmax(x)", "softmax x"),
        ("from .mine import helper\nhelper(x)", "x"),
        ("x@y", "x MatMult y"),
        ("-x if x > y else y", "IfExp x Gt y USub x y"),
        ("x = 0x1f + 1e-3  # two", "Assign name 0 Add 0"),
        ("x = 'a\\nb' 'c'", "Assign name text"),
        ("f('a', dim=b'b')", "f text dim text"),
        ("f(None, True)", "f None True"),
        ('"""Why."""\nx = 1', "Assign name 0"),
        ("def f(a: int, *, b: str = 'x') -> float: pass", "FunctionDef name name name text Pass"),
        ("y: int = 2", "Assign name 0"),
        ("def f(a) )", ""),
    ],
)
def test_each_program_is_compared_by_these_tokens(source: str, compared: str):
    """A program's own names are one token; imports, annotations and brackets are none."""
    assert " ".join(token.text for token in tokens([source])[0]) == compared


def test_warnings_about_a_submissions_code_are_not_shown(recwarn: pytest.WarningsRecorder):
    """A student's invalid escape is nothing to the instructor."""
    assert len(tokens(["x = '\\d' is 3"])[0]) == 5
    assert not recwarn.list


def test_names_of_one_file_are_a_programs_own_in_every_file():
    """A copy that is split into two files has the same tokens."""
    one, other = tokens(["def f(a): pass", "b = f(3)"])
    assert [token.text for token in one] == ["FunctionDef", "name", "name", "Pass"]
    assert [token.text for token in other] == ["Assign", "name", "name", "0"]


def test_a_fingerprint_knows_its_first_and_last_line():
    """A window of tokens begins in one line and may end in a later one."""
    (found,) = tokens(["\n\nx = (\n    1)\ny = 2"])
    assert [token.line for token in found] == [3, 3, 4, 5, 5, 5]
    assert [*windows(found, 4)] == [
        ("Assign name 0 Assign", 3, 5),
        ("name 0 Assign name", 3, 5),
        ("0 Assign name 0", 4, 5),
    ]
    assert [*windows(found, 7)] == []


def test_lines_of_shared_fingerprints_are_those_between_first_and_last():
    """A process under a submission's control may tell any number of lines."""
    first, last = np.array([1, 2, 3]), np.array([1, 9, 1 << 60])
    both = ComparedSources((ComparedFile("a.py", "", np.array([7, 8, 9]), first, last, ""),) * 2)
    assert lines_of(both, {7}) == {(0, 1), (1, 1)}
    assert lines_of(both, {8}) == {(place, line) for place in (0, 1) for line in range(2, 10)}
    assert len(lines_of(both, {9})) == 402
    assert lines_of(both, ()) == frozenset()


def test_pairs_are_ranked_by_the_rarity_of_what_they_share():
    """The weight of a fingerprint is log((submissions + 1) / those that have it).

    A similarity is the shared weight over the smaller submission's weight and 0.3 of the median.
    """
    prints: list[Numbers] = [np.array(own) for own in ([1, 2, 3], [2, 3, 4], [5], [1, 2, 3])]
    found = ranked(prints, 3, NOTHING, 5)
    two, three, one = math.log(5 / 2), math.log(5 / 3), math.log(5)
    ann, bob = two + 2 * three, 2 * three + one
    near, far = ann / (1.3 * ann), 2 * three / (1.3 * ann)
    expected = [
        Pair(0, 3, near, 1.0, 1.0),
        Pair(0, 1, far, 2 * three / ann, 2 * three / bob),
        Pair(1, 3, far, 2 * three / bob, 2 * three / ann),
    ]
    assert [(pair.one, pair.other) for pair in found.pairs] == [(0, 3), (0, 1), (1, 3)]
    for pair, known in zip(found.pairs, expected, strict=True):
        told = (pair.similarity, pair.share_of_one, pair.share_of_other)
        assert told == pytest.approx(
            (known.similarity, known.share_of_one, known.share_of_other), rel=1e-5
        )
    assert found.nearest == pytest.approx((near, far, 0.0), rel=1e-5)
    assert found.rare == {1, 2, 3}
    assert [(pair.one, pair.other) for pair in ranked(prints, 3, NOTHING, 2).pairs] == [
        (0, 3),
        (0, 1),
    ]
    without = ranked(prints, 3, np.array([2, 3]), 5)
    assert [(pair.one, pair.other) for pair in without.pairs] == [(0, 3)]
    assert without.rare == {1}
    everybody = [np.array([1, 2])] * 2 + [np.array([2])] * 2
    assert ranked(everybody, 4, NOTHING, 5).rare == {1}


def test_other_submissions_are_compared_only_with_the_class():
    """Last year's class had its own comparison."""
    found = ranked([np.array([1, 2])] * 3, 1, NOTHING, 5)
    assert [(pair.one, pair.other) for pair in found.pairs] == [(0, 1), (0, 2)]


def test_a_class_without_any_code_has_no_pairs():
    """A class of stubs is no error."""
    assert ranked([], 0, NOTHING, 5).nearest == ()
    found = ranked([NOTHING, NOTHING], 2, NOTHING, 5)
    assert (found.pairs, found.nearest, found.rare) == ((), (0.0, 0.0), frozenset())


def test_thousands_of_shared_fingerprints_are_all_counted():
    """They are added up in blocks."""
    many = np.arange(10_000)
    found = ranked([many, many, np.array([20_000])], 3, NOTHING, 5)
    ((one, other, similarity),) = [(p.one, p.other, p.similarity) for p in found.pairs]
    assert (one, other) == (0, 1)
    assert similarity == pytest.approx(1 / 1.3, rel=1e-5)


def test_the_fingerprints_of_all_files_are_each_told_once():
    files = [
        ComparedFile(name, "", np.array([5, 3]), np.array([1, 2]), np.array([1, 2]), "")
        for name in ("a.py", "b.py")
    ]
    assert ComparedSources(tuple(files)).prints.tolist() == [3, 5]
    assert ComparedSources().prints.tolist() == []


@pytest.mark.parametrize(
    ("row", "is_accepted"),
    [
        ([("a", "", "", [])] * MOST_FILES, True),
        ([("a", "", "", [])] * (MOST_FILES + 1), False),
        ([("a", "", "", [[1, 1, 1]] * MOST_TOKENS)], True),
        ([("a", "", "", [[1, 1, 1]] * (MOST_TOKENS + 1))], False),
        ([("a", "", "x" * ((1 << 20) + 1), [])], False),
        ([("a", "", "", [[1, 1]])], False),
        ("abc", False),
    ],
)
def test_an_answer_beyond_the_bounds_is_refused(row: object, is_accepted: bool):
    """The process that parses submissions may be under a submission's control."""
    if is_accepted:
        assert ComparedSources.from_json(row).files
        return
    with pytest.raises((LookupError, TypeError, ValueError)):
        ComparedSources.from_json(row)


@pytest.mark.process
def test_files_and_cells_with_code_are_read_up_to_the_bounds(tmp_path: Path):
    """Handed-out, empty, too long and other files are left out."""
    cells = [{"cell_type": "code", "source": text} for text in ("a = 1", "b = 2 + 3")]
    notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    code = "x = f(1)\ny = g(\n    2)"
    write_files(
        tmp_path / "own",
        {
            "b.py": code,
            "empty.py": "\n",
            "given.py": "z = 3\n",
            "n.ipynb": json.dumps(notebook),
            "odd.ipynb": "{}",
            "text.txt": code,
            "__pycache__/c.py": code,
        },
    )
    write_files(tmp_path / "given", {"given.py": "\nz = 3\n\n"})
    write_files(tmp_path / "long", {"a.py": code, "b.py": "x = '" + "a" * (1 << 20) + "'"})

    with SourcesClient() as client:

        def read(name: str, *given: str) -> ComparedSources:
            (into := tmp_path / f"into-{name}").mkdir()
            return client.read(single(tmp_path / name), into, given)

        (handed_out,) = read("given").files
        own = read("own", handed_out.digest)
        long = read("long")
    assert [(file.name, file.text.strip()) for file in own.files] == [
        ("b.py", code),
        ("n.ipynb/cell 1", "a = 1"),
        ("n.ipynb/cell 2", "b = 2 + 3"),
    ]
    prints = [[*zip(file.first.tolist(), file.last.tolist(), strict=True)] for file in own.files]
    # Eight tokens: four in line 1, three in line 2 and one in line 3.
    assert prints == [[(1, 2), (1, 2), (1, 2), (1, 3)], [], [(1, 1)]]
    assert [(file.name, file.text) for file in long.files] == [("a.py", code)]
