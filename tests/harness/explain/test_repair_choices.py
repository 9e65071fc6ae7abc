"""The choice among edits that fix a program, or none: silence is better than a wrong hint."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pytest

from grader.core.verdict import Aspect
from grader.core.wire.calls import Call
from grader.explain.line_words import subject_in_words, suspicion
from grader.explain.repair.choice import chosen
from grader.explain.repair.exercises import Changes, ExerciseRepair, Proved, proved
from grader.explain.repair.questions import CheckedCall
from grader.explain.repair.ranking import EditRanking
from grader.explain.repair.search import Cost, FileEdit, Lines, RepairEdit
from grader.explain.repair.sources import EditableSources
from grader.testing.outcome import Question
from tests.harness.undoing import ATTENTION, edits_of

pytestmark = pytest.mark.unit

FILE, ADAPTERS = "blocks.py", "adapters.py"
PROGRAM = """
def blocks(length, scale):
    middle = length // 2
    return [(0, middle), (middle, length)] if length > 1 else [(0, length)]

def total(parts):
    found = parts[0] * 3
    return found

def scores(q, k):
    return [
        q * 2,
        q * 2,
        k * 2,
    ]

def alias(parts):
    weights = parts
    return weights * 2

def shifted(parts):
    moved = parts + 1
    if len(parts) > 1:
        hidden = moved * 2
    return moved

def size(parts):
    result = abs(parts)
    return result

def turned(x):
    sin, cos = x
    return sin * 3, cos

def halves(sin_x, cos_x):
    return (sin_x, cos_x), (sin_x, cos_x), (cos_x, sin_x)

def named(upper_x, lower_x):
    upper = lower_x
    return upper, upper_x, lower_x

def entries(d, qkv_bias, out_bias):
    return {
        "query": Layer(d, bias=qkv_bias),
        "output": Layer(d, bias=qkv_bias),
    }

def bounded(length, width):
    near = length + 1
    far = length * width
    return near, far

def compared(q, k):
    return scores(q, k)
"""
FIRST, SECOND = frozenset({"run_a"}), frozenset({"run_b"})


@pytest.fixture(name="sources")
def _sources(tmp_path):
    (tmp_path / FILE).write_text(PROGRAM)
    return EditableSources.below(tmp_path, ATTENTION)


def mends(*wanted: str, exercises: frozenset[str] = FIRST) -> list[RepairEdit]:
    """Returns edits of the program, each by the line that it produces."""
    found = {}
    for edit in edits_of(PROGRAM):
        line = edit.applied(PROGRAM).splitlines()[edit.line - 1].strip()
        found.setdefault(line, RepairEdit(FileEdit(FILE, edit), 1.0, exercises, frozenset()))
    return [found[one] for one in wanted]


CONTRARY = "return [(0, middle), (middle, length)] if length < 1 else [(0, length)]"
DROPPED = "return [(0, length)]"


def test_a_condition_that_matters_is_told(sources):
    """Only the opposite condition makes this program right."""
    choice = chosen(mends(CONTRARY), sources, ADAPTERS)
    assert choice is not None
    assert choice.places[0].source.endswith("if length > 1 else [(0, length)]")


def test_a_condition_that_only_keeps_calls_from_what_is_wrong_is_not_told(sources):
    """If the program is right without the condition, the error is in the code behind it."""
    assert chosen(mends(CONTRARY, DROPPED), sources, ADAPTERS) is None


def test_queries_and_keys_that_stand_in_order_are_not_to_be_exchanged(sources):
    """Such a swap only compensates for another swap, which no edit undid."""
    assert chosen(mends("return scores(k, q)"), sources, ADAPTERS) is None


def test_a_line_of_its_own_comes_before_one_of_several_that_are_the_same(sources):
    """Lines that are repeated are meant to be equal."""
    choice = chosen(mends("q * 3,", "k * 3,"), sources, ADAPTERS)
    assert choice is not None
    assert [one.source for one in choice.places] == ["k * 2,", "q * 2,"]


def test_a_variable_that_is_another_s_second_name_is_likelier(sources):
    """A plain second name for a value hints at a forgotten operation."""
    forgotten = "weights = parts.softmax(-1)", "return (weights * 2).softmax(-1)"
    choice = chosen(mends(*forgotten), sources, ADAPTERS)
    assert choice is not None
    assert [one.source for one in choice.places] == ["weights = parts"]


def test_a_value_that_goes_nowhere_is_likelier(sources):
    """A value that is never read was probably meant for a variable that is read."""
    choice = chosen(mends("moved = parts * 1", "moved = moved * 2"), sources, ADAPTERS)
    assert choice is not None
    assert [one.source for one in choice.places] == ["hidden = moved * 2"]


def test_what_is_to_be_done_to_a_value_is_told_where_the_value_is_made(sources):
    """The line that only returns the variable would also do, but it is not named."""
    choice = chosen(mends("return -result", "result = -abs(parts)"), sources, ADAPTERS)
    assert choice is not None
    assert choice.places[0].source == "result = abs(parts)"


def weights(sources: EditableSources, *wanted: str) -> list[float]:
    """Returns how much the ranking changes each edit's cost; negative means likelier."""
    weighing = EditRanking(sources, ADAPTERS)
    return [weighing.weight(one.made) - one.made.edit.cost for one in mends(*wanted)]


def test_what_goes_together_likely_stands_in_the_order_of_other_places(sources):
    """A program that writes `sin, cos` everywhere but once is probably wrong at that one place."""
    restored, exchanged = weights(
        sources,
        "return (sin_x, cos_x), (sin_x, cos_x), (sin_x, cos_x)",
        "return (cos_x, sin_x), (sin_x, cos_x), (cos_x, sin_x)",
    )
    assert restored < 0 < exchanged


def test_a_variable_is_likelier_made_of_what_is_called_like_it(sources):
    """`upper` is likelier made of `upper_x` than of `lower_x`."""
    called_alike, negative = weights(sources, "upper = upper_x", "return -upper, upper_x, lower_x")
    assert called_alike < 0 == negative


def test_an_entry_is_likelier_made_of_what_is_called_like_it(sources):
    """`out_bias` abbreviates the bias of `output`."""
    mended = ('"query": Layer(d, bias=out_bias),', '"output": Layer(d, bias=out_bias),')
    of_another, called_alike = weights(sources, *mended)
    assert called_alike < of_another


def test_a_slip_and_a_change_on_another_line_are_both_told(sources):
    """A low cost alone does not rule out the only other line."""
    slip, change = "near = length - 1", "far = length / width"
    choice = chosen(mends(slip, change), sources, ADAPTERS)
    assert choice is not None
    assert len(choice.places) == 2


def told_of(one: Proved | None, test: str) -> str:
    """Returns the words for a test."""
    assert one is not None
    return one.in_words(test)


def test_an_exercise_that_one_of_two_edits_fixes_has_one_mistake(sources):
    """An exercise that builds on it has two mistakes; each message counts its own."""
    first, second = mends("near = length - 1", "far = length / width")
    choice = chosen([first], sources, ADAPTERS)
    assert choice is not None
    beside = replace(choice, besides=second.made)

    def passing(changes: Changes) -> set[str]:
        edits = sum(map(len, changes.values()))
        return {"test a"} if edits == 1 else {"test a", "test b"}

    of_one = proved("run_a", beside, {"test a"}, passing)
    assert told_of(of_one, "test a").count(" alone fixes the exercise.") == 1
    of_two = proved("run_b", beside, {"test a", "test b"}, passing)
    assert "This is one of two mistakes." in told_of(of_two, "test b")


def test_an_exercise_is_fixed_if_all_tests_that_failed_ran_with_the_edit(sources):
    """A test that fails only for new inputs, or did not end, may still fail."""
    choice = chosen(mends("near = length - 1"), sources, ADAPTERS)
    assert choice is not None
    whole = Proved(choice, frozenset({"test a"}), frozenset())
    assert " alone fixes the exercise." in whole.in_words("test a")
    part = replace(whole, others=frozenset({"test b"}))
    assert "fixes this test." in part.in_words("test a")


@dataclass
class Found:
    """A search's result: likely edits, unlikely ones, and the lines that wrong calls pass."""

    found: Sequence[RepairEdit]
    passed: Mapping[str, Lines]
    unlikely: Sequence[RepairEdit] = ()
    cost: Cost = field(default_factory=Cost)
    left_out: int = 0
    sufficed: list[bool] = field(default_factory=list)

    def mends(
        self, _sources: EditableSources, suffice: Callable[[Sequence[RepairEdit]], bool]
    ) -> Sequence[RepairEdit]:
        """Returns the edits that were found."""
        self.sufficed.append(suffice(self.found))
        return self.found if self.sufficed[-1] else [*self.found, *self.unlikely]


def asked(*names: str) -> dict[str, list[CheckedCall]]:
    """Returns a wrong call of each exercise."""
    call = Call("run", {})
    return {
        name: [CheckedCall(name, Question("test", 0, Aspect.VALUES, call), right=False)]
        for name in names
    }


def told(
    sources: EditableSources,
    by_exercise: Mapping[str, Sequence[RepairEdit]],
    lines: Mapping[str, Lines],
    unlikely: Sequence[RepairEdit] = (),
):
    """Returns the exercises for which a line is named, with its number."""
    mender = ExerciseRepair(
        sources,
        ADAPTERS,
        lambda exercise, besides, _: Found(
            by_exercise.get(exercise, ()) if besides is None else by_exercise.get("second", ()),
            lines,
            unlikely if exercise == "run_a" else (),
        ),
    )
    return {
        name: attempt.choice.places[0].line
        for attempt in mender.attempts(asked("run_a", "run_b"))
        if attempt.choice is not None
        for name in attempt.mended
    }


FACTOR = "found = (parts[0] * 3) / 2"
SHARED = {"run_a": frozenset({(FILE, 7)}), "run_b": frozenset({(FILE, 7), (FILE, 8)})}
APART = {"run_a": frozenset({(FILE, 7)}), "run_b": frozenset({(FILE, 18)})}


def test_what_leaves_wrong_what_runs_the_same_lines_mends_by_chance(sources):
    """A large edit that fixes one exercise, but not another on the same lines, is not the slip."""
    assert told(sources, {"run_a": mends(FACTOR)}, SHARED) == {}


def test_what_leaves_wrong_what_runs_other_lines_is_told(sources):
    """An exercise that runs other lines has its own mistake."""
    assert told(sources, {"run_a": mends(FACTOR)}, APART) == {"run_a": 7}


def test_a_plain_slip_is_told_whatever_else_is_wrong(sources):
    """Several mistakes in one program are common."""
    plain = mends("found = parts[0] * 4")
    assert told(sources, {"run_a": plain}, SHARED) == {"run_a": 7}


def test_what_is_in_doubt_for_one_exercise_is_so_for_those_that_the_same_edit_mends(sources):
    """If three lines could be wrong, none is named, not even where only one of them was tried."""
    three = ("found = parts[0] * 4", "return weights * 3", "k * 3,")
    every, one = (mends(*lines, exercises=FIRST | SECOND) for lines in (three, three[:1]))
    assert told(sources, {"run_a": every, "run_b": one}, SHARED) == {}


def test_what_was_held_back_is_told_where_a_plain_slip_beside_it_mends_the_rest(sources):
    """The two mistakes together explain every wrong exercise."""
    both = mends("return weights * 3", exercises=FIRST | SECOND)
    found = told(sources, {"run_a": mends(FACTOR), "second": both}, SHARED)
    assert found == {"run_a": 7, "run_b": 19}


def test_where_likely_edits_tell_no_line_the_unlikely_ones_are_tried(sources):
    """An edit that only avoids the wrong code does not end the search."""
    unlikely = mends("found = parts[0] * 4")
    by_chance = {"run_a": mends(CONTRARY, DROPPED)}
    assert told(sources, by_chance, APART) == {}
    assert told(sources, by_chance, APART, unlikely) == {"run_a": 7}


def test_where_likely_edits_tell_a_line_no_others_are_tried(sources):
    """More trials would only cost time."""
    plain, other = mends("found = parts[0] * 4"), mends("return weights * 3")
    assert told(sources, {"run_a": plain}, APART, other) == {"run_a": 7}


def searched(sources: EditableSources, lines: Mapping[str, Lines], *names: str) -> dict[str, bool]:
    """Returns the exercises that are searched without success, and whether unlikely edits too."""
    searches: dict[str, Found] = {}
    mender = ExerciseRepair(
        sources, ADAPTERS, lambda name, *_: searches.setdefault(name, Found((), lines))
    )
    list(mender.attempts(asked(*names)))
    return {name: True not in one.sufficed for name, one in searches.items()}


def test_what_runs_lines_of_what_nothing_mends_is_soon_searched_no_more(sources):
    """One slip that no edit undoes affects every exercise that builds on it."""
    names = ("run_a", "run_b", "run_c", "run_d", "run_e")
    shared = frozenset({(FILE, 7)})
    lines = dict.fromkeys(names, shared) | {"run_e": frozenset({(FILE, 18)})}
    every = {"run_a": True, "run_b": False, "run_c": False, "run_e": True}
    assert searched(sources, lines, *names) == every


def test_a_call_that_is_missing_is_told_by_name_or_not_at_all():
    """The words "a call" without a name help no student, and a replaced call is not missing."""
    name = subject_in_words("a call that is missing", "return x / s", "return x.exp() / s")
    assert suspicion([name], ["a.py:3"]) == "A call of `exp` seems to be missing at a.py:3."
    two = subject_in_words("a call that is missing", "y = x", "y = x.exp().sum()")
    other = subject_in_words("a call that is missing", "y = x", "y = (-x)")
    assert {suspicion([one], ["a.py:3"]) for one in (two, other)} == {"Check a.py:3."}
    assert suspicion([name, other], ["a.py:3", "b.py:4"]) == "Check a.py:3 or b.py:4."


def test_lines_with_two_subjects_are_told_each_with_its_own():
    """The two places make one sentence, also if something is missing at one of them."""
    said = "Check a constant at a.py:3, or whether a factor is missing at b.py:4."
    assert suspicion(["a number", "a factor that is missing"], ["a.py:3", "b.py:4"]) == said
