"""Clusters of wrong answers, and the file with their names."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
import torch

from grader.core.explanation import WrongAnswer, WrongAnswers
from grader.core.verdict import Aspect, Diagnosis
from grader.core.wire.calls import Call
from grader.explain.explainer.unknown import nameless
from grader.explain.mistakes.clusters import clusters_of
from grader.explain.mistakes.named_mistakes import (
    FILE,
    BadNames,
    NamedMistake,
    checked_id,
    named,
    read_names,
    write_file,
)
from grader.explain.mistakes.prediction import Numbers
from grader.testing.outcome import Observation

pytestmark = pytest.mark.unit


def answers(
    *numbers: float,
    exercise: str = "run",
    test: str = "t",
    size: int = 1,
    suspicion: str | None = None,
) -> WrongAnswers:
    """Returns one wrong answer to an exercise."""
    one = WrongAnswer(test, 0, True, (len(numbers),), numbers, (1.3e-6, 1e-5), "x", size)
    return WrongAnswers(exercise, (one,), suspicion)


def test_clusters_come_by_size_then_by_member_then_by_exercise():
    """Each submission is a member once."""
    wrong = {
        "a": [answers(1.0), answers(9.0, exercise="run_b")],
        "b": [answers(2.0)],
        "c": [answers(2.0)],
        "d": [answers(1.0, exercise="run_b")],
    }
    found = [(one.exercise, one.members) for one in clusters_of(wrong)]
    assert found == [("run", ["b", "c"]), ("run", ["a"]), ("run_b", ["a"]), ("run_b", ["d"])]


class OnesAreRight:
    """Stands for a catalogue of mistakes."""

    def right(self, seen: Observation) -> Numbers:
        return Numbers(torch.ones(seen.value.shape))


@pytest.mark.parametrize(
    ("asked", "given", "is_like"),
    [
        (torch.float32, torch.bfloat16, False),
        (torch.float32, torch.float16, False),
        (torch.float32, torch.float32, True),
        (torch.bfloat16, torch.bfloat16, True),
    ],
)
def test_a_coarse_answer_to_fine_inputs_gets_no_name_by_its_coarseness(asked, given, is_like):
    """The instructor's name of another mistake would be told to its authors."""

    def wrong(value: float, dtype: torch.dtype) -> WrongAnswers:
        call = Call("run", {"x": torch.ones(3, dtype=asked)})
        own = torch.full((3,), value, dtype=dtype)
        seen = Observation("t", 0, Aspect.VALUES, call, own)
        (found,) = nameless(OnesAreRight(), {"run": [seen]})
        return found

    known = NamedMistake(Diagnosis("m", "It is wrong.", "Why?"), wrong(1.25, asked))
    near = 1.25 if is_like else 1.25 + 2**-7
    given_name = named([known], {"alice": [wrong(near, given)]})
    assert bool(given_name) is is_like


@pytest.mark.parametrize(("place", "is_kept"), [(0, True), (2, False), (27, False), (29, True)])
def test_an_answer_whose_kept_numbers_are_right_is_in_no_cluster(place, is_kept):
    """Another mistake, at another place between them, would have the same kept numbers."""
    own = torch.ones(30)
    own[place] = 2.0
    seen = Observation("t", 0, Aspect.VALUES, Call("run", {"x": torch.ones(30)}), own)
    assert bool(nameless(OnesAreRight(), {"run": [seen]})) is is_kept


def test_thousands_of_clusters_without_a_common_cause_take_seconds():
    """Most wrong answers of a large class are those of one submission alone."""
    names = [f"run_{number}" for number in range(60)]
    wrong = {
        f"{who}": [
            answers(who + 0.5, exercise=name, suspicion=f"a number: {who} {name}") for name in names
        ]
        for who in range(60)
    }
    began = time.process_time()
    assert len(clusters_of(wrong)) == 60 * 60
    assert time.process_time() - began < 10


def test_an_id_follows_from_the_answers_alone():
    """Rounding, the class and the members do not matter; the exercise and the values do."""

    def id_of(one: WrongAnswers) -> str:
        (group,) = clusters_of({"a": [one]})
        return group.id

    first = id_of(answers(1.0, float("inf")))
    assert len(first) == 6
    assert id_of(answers(1.0000001, float("inf"))) == first
    others = [
        answers(1.0, 2.0),
        answers(1.0, float("inf"), exercise="run_b"),
        answers(1.0, float("inf"), test="u"),
    ]
    assert len({first, *map(id_of, others)}) == 4


def test_a_cluster_tells_its_tests_and_its_smallest_case():
    """A test with several calls is told once."""
    one = answers(1.0, size=5).answers[0]
    several = (one, replace(one, call=1, size=3), replace(one, test="u", size=4))
    (group,) = clusters_of({"a": [WrongAnswers("run", several)]})
    assert group.tests == ["t", "u"]
    assert group.smallest.size == 3


def test_the_most_frequent_suspicion_counts():
    """Members without one say nothing."""
    said = ["line 3", None, "line 4", "line 4"]
    (group,) = clusters_of({str(n): [answers(1.0, suspicion=one)] for n, one in enumerate(said)})
    assert group.suspicion == "line 4"
    (silent,) = clusters_of({"a": [answers(1.0)]})
    assert silent.suspicion is None


@pytest.mark.parametrize(
    ("second", "exercise", "members", "is_one"),
    [
        ("line 3", "run_b", "ab", True),
        ("line 3", "run_b", "a", True),
        ("line 4", "run_b", "ab", False),
        (None, "run_b", "ab", False),
        ("line 3", "run_b", "ac", False),
        ("line 3", "run_b", "abc", True),
        ("line 3", "run", "a", False),
    ],
)
def test_clusters_of_one_line_and_the_same_members_are_one(second, exercise, members, is_one):
    """A line that spoils two exercises is one cause for those submissions."""
    wrong = {name: [answers(1.0, suspicion="line 3")] for name in "ab"} | {"c": []}
    for name in members:
        wrong[name] = [*wrong[name], answers(5.0, exercise=exercise, suspicion=second)]
    groups = clusters_of(wrong)
    assert len(groups) == (1 if is_one else 2)
    if is_one:
        together = [groups[0], *groups[0].also]
        assert {one.exercise for one in together} == {"run", exercise}


def test_a_third_exercise_of_one_cause_is_told_with_the_first():
    """Two clusters of one exercise are never one cause."""
    line = {"suspicion": "line 3"}
    wrong = {
        "a": [answers(1.0, **line), *(answers(1.0, exercise=f"run_{n}", **line) for n in "bc")],
        "b": [answers(1.0, **line), answers(2.0, exercise="run_b", **line)],
    }
    first, *others = clusters_of(wrong)
    assert [one.exercise for one in first.also] == ["run_b", "run_c"]
    assert [(one.exercise, one.members) for one in others] == [("run_b", ["b"])]


HALF = NamedMistake(
    Diagnosis("half", 'Half "is" missing.', "Where?"), answers(1.0, float("nan"), size=2)
)


def test_names_are_read_as_they_were_written(tmp_path):
    """An empty folder has none."""
    assert read_names(tmp_path) == []
    other = replace(HALF, diagnosis=replace(HALF.diagnosis, mistake="other-one"))
    write_file(tmp_path / FILE, [HALF, other])
    first, second = read_names(tmp_path)
    assert first.diagnosis == HALF.diagnosis
    assert first.exercise == "run"
    assert repr(first.answers) == repr(HALF.answers)
    assert second.diagnosis.mistake == "other-one"
    assert [one.name for one in tmp_path.iterdir()] == ["mistakes.toml"]
    with pytest.raises(BadNames, match="cannot be written"):
        write_file(tmp_path / "nowhere" / FILE, [HALF])


def test_a_text_that_is_not_utf8_is_refused_and_the_earlier_file_stays(tmp_path):
    """A shell with another encoding gives such texts."""
    write_file(tmp_path / FILE, [HALF])
    odd = replace(HALF, diagnosis=replace(HALF.diagnosis, hint="Why\udcff?"))
    with pytest.raises(BadNames, match="a text of this mistake is not UTF-8"):
        write_file(tmp_path / FILE, [odd])
    assert [one.diagnosis.hint for one in read_names(tmp_path)] == [HALF.diagnosis.hint]


TABLE = """\
[[mistake]]
id = "half"
exercise = "run"
sentence = "Half."
hint = "Why?"

[[mistake.answer]]
test = "t"
call = 0
plain = true
shape = [1]
numbers = [1.0]
tolerance = [1e-6, 1e-5]
inputs = "x"
size = 1
"""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[mistake", "is not TOML"),
        ("\\xff", "is not TOML"),
        (f"other = 1\n{TABLE}", "knows no 'other': there is \\[\\[mistake\\]\\]"),
        (TABLE.replace("[[mistake]]", "[mistake]").partition("\n\n")[0], "in two brackets"),
        ("mistake = [1]\n", "a mistake must be a table"),
        (
            TABLE.replace("hint", "hnit"),
            "mistake 1: a mistake has no 'hnit': there is id, exercise",
        ),
        (
            f"\n{TABLE}".replace('"Half."', '" "'),
            'mistake 1: this mistake needs sentence = "…"',
        ),
        (TABLE.replace('"Half."', "3"), "mistake 1: this mistake needs sentence"),
        (
            TABLE.replace('id = "half"', 'id = "Half!"'),
            "mistake 1: 'Half!' is not an id of a mistake",
        ),
        (
            TABLE.replace('"run"', r'"run\nimport os"'),
            r"mistake 1: 'run\\nimport os' is not a name of an exercise",
        ),
        (TABLE.replace("numbers = [1.0]", 'numbers = ["x"]'), "an answer of this mistake is"),
        (TABLE.partition("\n\n")[0], "has no answers by which it could be known"),
        (TABLE + TABLE, "mistake 2: 'half' is there twice for run"),
    ],
)
def test_a_damaged_file_of_names_is_refused_with_its_place(tmp_path, text, said):
    """The place is the number of the mistake."""
    file = tmp_path / "mistakes.toml"
    file.write_bytes(text.encode() if "xff" not in text else b"\xff")
    with pytest.raises(BadNames, match=said):
        read_names(tmp_path)


def test_a_mistake_may_be_named_in_two_exercises(tmp_path):
    """Only within one exercise is the name unique."""
    (tmp_path / "mistakes.toml").write_text(TABLE + TABLE.replace('"run"', '"run_b"'))
    assert [one.exercise for one in read_names(tmp_path)] == ["run", "run_b"]


def test_a_folder_in_the_place_of_the_file_is_refused(tmp_path):
    """The message says why it cannot be read."""
    (tmp_path / "mistakes.toml").mkdir()
    with pytest.raises(BadNames, match="cannot be read: Is a directory"):
        read_names(tmp_path)


def test_wrong_answers_that_show_a_named_mistake_get_its_name():
    """The exercise and the values must both match."""
    one = replace(HALF, answers=answers(1.0))
    wrong = {
        "a": [answers(1.000001), answers(1.0, exercise="run_b")],
        "b": [answers(2.0)],
    }
    assert named([one], wrong) == [("a", "run", HALF.diagnosis)]


@pytest.mark.parametrize("text", ["no-scale", "half", "scale-by-d_k", "2"])
def test_an_id_is_words_and_hyphens(text):
    """Underscores stand within later words."""
    assert checked_id(text) == text
    for bad in (f"{text}-", f"-{text}", text + " x", "No", ""):
        with pytest.raises(BadNames, match="is not an id of a mistake"):
            checked_id(bad)
