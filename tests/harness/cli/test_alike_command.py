"""`grader alike` prints the pairs that are most alike, and where their pages lie."""

from __future__ import annotations

import dataclasses
import textwrap
from pathlib import Path

import pytest

from grader.core.assignment import find_assignment
from grader.core.submission import Author
from grader.reports.similarity.comparison import compare
from grader.results.store import Store
from tests.harness.conftest import write_files
from tests.harness.intake_batches import batch
from tests.harness.own_command import grader_here

pytestmark = pytest.mark.process

OWN = """
    def helper_{n}(values):
        result = []
        for place, value in enumerate(values):
            if value > {n} and place % 3 == {n}:
                result.append(value ** 2 - place * {n})
            elif value < -{n}:
                result.insert(0, abs(value) + {n})
        return sorted(result, reverse=True)[:{n} + 1]

    def run_double(x):
        return x * 2 if x.ndim > {n} else x + x
    """


@pytest.fixture(scope="module")
def out(tiny, tmp_path_factory) -> Path:
    """The results of a class in which ann and bob have the same program."""
    folder = tmp_path_factory.mktemp("alike")
    other = "import math\n\ndef run_double(x):\n    y = math.pi * x\n    return 2 * y / math.pi\n"
    programs = {"ann": OWN.format(n=1), "bob": OWN.format(n=1), "cy": other}
    for name, text in programs.items():
        write_files(folder / "class", {f"{name}/adapters.py": f"# 4\n{textwrap.dedent(text)}"})
    write_files(folder / "other", {"dan/adapters.py": OWN.format(n=1)})
    batch(tiny, [folder / "class"], folder / "out")
    return folder / "out"


def test_the_most_alike_pairs_are_printed_first(out, tiny):
    """The progress is on standard error. The pages lie in a folder of the results."""
    done = grader_here("alike", out, "--assignment", tiny)
    assert done.returncode == 0, done.stderr
    first, *_, usual, last = done.stdout.splitlines()
    found = compare(Store.read(out), find_assignment(tiny))
    assert first == f"{round(100 * found.pairs[0].pair.similarity):3} %  ann and bob"
    assert usual == (
        f"a submission and the nearest other one are usually {round(100 * found.usual)} % alike"
    )
    assert last == f"alike: {out / 'alike' / 'index.html'}"
    assert (out / "alike" / "index.html").exists()
    assert done.stderr.splitlines()[-1] == "3/3: 3 read"


def test_another_class_is_compared_too_and_named_as_the_origin(out, tiny, tmp_path):
    """`--out` says where the pages go."""
    words = ("--with", out.parent / "other", "--out", tmp_path / "pages")
    done = grader_here("alike", out, "--assignment", tiny, *words)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0].endswith(" %  ann and bob")
    assert " %  ann and dan (other)\n" in done.stdout
    assert done.stdout.splitlines()[-1] == f"alike: {tmp_path / 'pages' / 'index.html'}"
    assert (tmp_path / "pages" / "index.html").exists()


def test_an_anonymous_comparison_prints_numbers(out, tiny):
    """The numbers are those of the anonymous report; its pages have a folder of their own."""
    with Store.open(out, "tiny") as store:
        store.set_people(dataclasses.replace(store.people, authors={"ann": (Author("Ann Ash"),)}))
    done = grader_here("alike", out, "--assignment", tiny, "--anonymous")
    assert done.returncode == 0, done.stderr
    assert "names, ids and addresses of the class are replaced by numbers" in done.stderr
    numbers = Store.read(out).numbers()
    first = done.stdout.splitlines()[0].partition(" %  ")[2]
    assert {*first.split(" and ")} == {f"Submission {numbers[name]}" for name in ("ann", "bob")}
    assert done.stdout.splitlines()[-1] == f"alike: {out / 'alike-anonymous' / 'index.html'}"
